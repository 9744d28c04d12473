//! Trials of which the tester's own queue dropped what the node sent: they are repeated, at maximum load with less.

use crate::common::{flow, observation, paced, trial};
use wirelab_trial::Counter;
use wirelab_trial::WarningCode;
use wirelab_trial::*;

/// A node that sends 200,000 frames/s at maximum load and no more than `most` at a pace, to a tester that takes `flooded`
/// of the one, and whose queue holds what comes at most at `holds`.
struct Sender {
    flooded: f64,
    most: f64,
    holds: f64,
    node_type: &'static str,
    asked: Vec<Load>,
}

impl Node for Sender {
    fn describe(&self) -> Description {
        Description::default()
    }

    fn run(
        &mut self,
        trial: &Trial,
        _: &dyn Progress,
        _: &Cancel,
    ) -> Result<Observation, NodeError> {
        self.asked.push(trial.load);
        let rate = match trial.load {
            Load::FrameRate { frames_per_s } => frames_per_s,
            _ => 200_000.0,
        };
        let taken = match trial.load {
            Load::Max => self.flooded,
            _ => rate.min(self.most),
        };
        let mut flow = flow((rate * 0.3) as u64, taken, None);
        flow.direction = trial.direction;
        if rate > self.holds {
            flow.loss_ratio_at_most = Some(0.5);
        }
        let mut seen = observation(trial, flow);
        seen.node.node_type = self.node_type.to_owned();
        Ok(seen)
    }
}

fn at_full_speed(
    holds: f64,
    node_type: &'static str,
    direction: Direction,
) -> (Observation, Vec<Load>) {
    let node = Sender {
        holds,
        node_type,
        ..SENDER
    };
    asked_of(node, direction)
}

const SENDER: Sender = Sender {
    flooded: 100_000.0,
    most: 100_000.0,
    holds: 0.0,
    node_type: "node",
    asked: Vec::new(),
};

fn asked_of(mut node: Sender, direction: Direction) -> (Observation, Vec<Load>) {
    let asked = Trial {
        direction,
        ..trial(Load::Max, 300)
    };
    let seen = Retrying::new(&mut node).run(&asked, &(), &Cancel::new());
    (seen.unwrap(), node.asked)
}

#[test]
fn a_tester_that_a_flood_overwhelms_is_asked_how_much_it_takes_of_a_steady_load() {
    let flooded = Sender {
        flooded: 10_000.0,
        holds: 70_000.0,
        ..SENDER
    };
    let (seen, asked) = asked_of(flooded, Direction::Transmit);
    let steps = [8_000.0, 16_000.0, 32_000.0, 64_000.0, 128_000.0];
    assert_eq!(asked[1..], steps.map(paced));
    assert_eq!(seen.flows[0].frames_per_s, Field::measured(64_000.0));
    assert_eq!(seen.counters[Counter::ATTEMPTS.word()], Field::measured(6));
    let warning = &seen.warnings[0];
    assert!(warning.text.contains("64,000 frames/s"), "{}", warning.text);

    let slow_node = Sender {
        flooded: 10_000.0,
        most: 20_000.0,
        holds: 70_000.0,
        ..SENDER
    };
    let (seen, asked) = asked_of(slow_node, Direction::Transmit);
    assert_eq!(asked.len(), 4, "it sends no more than at the third");
    assert_eq!(seen.flows[0].frames_per_s, Field::measured(20_000.0));
}

#[test]
fn what_the_testers_queue_cannot_hold_is_asked_for_at_a_lower_load() {
    let (seen, asked) = at_full_speed(70_000.0, "node", Direction::Transmit);
    assert_eq!(asked, [Load::Max, paced(80_000.0), paced(64_000.0)]);
    assert_eq!(seen.trial.load, Load::Max, "the request");
    assert_eq!(seen.status, Status::Complete);
    assert_eq!(seen.flows[0].frames_per_s, Field::measured(64_000.0));
    assert_eq!(seen.flows[0].loss_ratio_at_most, None, "nothing is unknown");
    assert_eq!(seen.tester.was_limit, Field::measured(true));
    assert_eq!(seen.counters[Counter::ATTEMPTS.word()], Field::measured(3));
    let warning = &seen.warnings[0];
    assert!(warning.is(WarningCode::TESTER_LOWERED_LOAD));
    assert!(warning.text.contains("64,000 frames/s"), "{}", warning.text);
}

#[test]
fn a_tester_that_is_always_too_slow_has_bounds_of_the_full_load() {
    let (seen, asked) = at_full_speed(0.0, "node", Direction::Transmit);
    assert_eq!(asked.len(), 4);
    assert_eq!(seen.trial.load, Load::Max);
    assert_eq!(seen.flows[0].frames_per_s, Field::measured(100_000.0));
    assert_eq!(seen.flows[0].loss_ratio_at_most, Some(0.5));
    assert!(seen.flows[0].tester_dropped() && seen.warnings.is_empty());
}

#[test]
fn a_load_that_the_tester_offers_is_not_lowered() {
    for (node_type, direction) in [
        ("ports", Direction::Transmit),
        ("node", Direction::Receive),
        ("node", Direction::Both),
    ] {
        let (_, asked) = at_full_speed(0.0, node_type, direction);
        assert_eq!(asked, [Load::Max], "{node_type} {direction:?}");
    }
}

#[test]
fn a_paced_trial_that_the_testers_queue_dropped_of_is_asked_again() {
    let mut node = SENDER;
    let asked = Trial {
        direction: Direction::Transmit,
        ..trial(paced(1000.0), 300)
    };
    let seen = Retrying::new(&mut node).run(&asked, &(), &Cancel::new());
    assert_eq!(node.asked, [paced(1000.0); 3]);
    assert!(seen.unwrap().flows[0].tester_dropped());
}
