//! Trials that a host held up: how they are judged, repeated, and void where none succeeds.

use crate::common::{MS, SECOND, flow, observation, paced, sender, trial};
use wirelab_trial::Counter;
use wirelab_trial::WarningCode;
use wirelab_trial::held::NODE_SENDER_HELD;
use wirelab_trial::*;

#[test]
fn a_trial_that_sent_a_part_of_its_time_was_held_up() {
    // 544 datagrams at 49,000/s are 11 of 300 ms, and by their own times they kept the rate.
    let trial = trial(paced(49_000.0), 300);
    let seen = observation(&trial, flow(544, 49_000.0, Some(49_000.0)));
    let why = seen.tester_held_up().unwrap();
    assert_eq!(
        why,
        "the tester's sender (to eth0) was held up by its own host for 289 ms of 300 ms"
    );
    let whole = observation(&trial, flow(14_700, 49_000.0, Some(49_000.0)));
    assert_eq!(whole.tester_held_up(), None);
}

#[test]
fn a_stop_at_maximum_load_is_one_of_the_tester() {
    // A second of three without a frame.
    let trial = trial(Load::Max, 3_000);
    let mut stopped = flow(920_121, 306_707.0, None);
    assert_eq!(observation(&trial, stopped.clone()).tester_held_up(), None);
    sender(&mut stopped).slipped_ps = Field::measured(SECOND);
    let unknown = observation(&trial, stopped.clone()).tester_held_up();
    assert_eq!(unknown, None, "it may have been back-pressure");
    sender(&mut stopped).blocked_ps = Field::measured(0);
    assert!(
        observation(&trial, stopped.clone())
            .tester_held_up()
            .is_some()
    );
    // One long gap of all that 16 frames have together, each a 16th of it.
    let gaps = |gap_ns: &[u64]| Field::measured(Histogram::of(Some(1_000), gap_ns.iter().copied()));
    let mut shared = stopped.clone();
    sender(&mut shared).gap = gaps(&[200, SECOND / 1_000 / 16]);
    let alone = observation(&trial, shared.clone()).tester_held_up();
    assert_eq!(alone, None, "63 ms of three seconds");
    let frames = Field::measured(16);
    shared
        .counters
        .insert(Counter::SHARED_TIME.word().to_owned(), frames);
    assert!(observation(&trial, shared).tester_held_up().is_some());
    // A node's sender is none of the tester's, but both ends of ports are.
    stopped.direction = Direction::Transmit;
    let mut seen = observation(&trial, stopped);
    assert_eq!(seen.tester_held_up(), None);
    seen.node.node_type = "ports".to_owned();
    assert!(seen.tester_held_up().is_some());
}

#[test]
fn a_node_that_tells_that_its_host_stopped_its_sender_is_asked_again() {
    let trial = trial(Load::Max, 3_000);
    let mut stopped = flow(920_121, 306_707.0, None);
    stopped.direction = Direction::Transmit;
    sender(&mut stopped).slipped_ps = Field::measured(SECOND);
    sender(&mut stopped).blocked_ps = Field::measured(0);
    let mut seen = observation(&trial, stopped);
    assert_eq!(seen.node_held_up(), None, "one that is slow by itself");
    let mut tells = |ns: u64| {
        let told = Field::measured(ns);
        seen.counters.insert(NODE_SENDER_HELD.to_owned(), told);
        seen.node_held_up()
    };
    assert_eq!(tells(299_000_000), None, "within the tolerance");
    assert_eq!(
        tells(1_000_000_000).unwrap(),
        "the node's own host held its sender up for 1,000 ms of 3,000 ms"
    );
    assert_eq!(seen.tester_held_up(), None);
    seen.node.node_type = "ports".to_owned();
    assert_eq!(seen.node_held_up(), None, "the tester's own");
}

#[test]
fn a_node_that_tells_that_its_host_stopped_its_receiver_is_asked_again() {
    let mut trial = trial(Load::Max, 300);
    let mut stopped = flow(10_000, 33_333.0, None);
    stopped.checker_held_up_ps = Field::measured(SECOND / 10);
    let why = |trial: &Trial, flow: &FlowObservation| {
        observation(trial, flow.clone())
            .node_held_up()
            .map(|why| why.contains("receiver up for 100 ms of 300 ms"))
    };
    assert_eq!(why(&trial, &stopped), None, "all waited in its queue");
    let mut counts = *stopped.counts.value().unwrap();
    counts.lost_frames = 1;
    let lossy = FlowObservation {
        counts: Field::measured(counts),
        ..stopped.clone()
    };
    assert_eq!(why(&trial, &lossy), Some(true), "its queue overflowed");
    trial.framing.layer = Layer::TcpIpv4;
    assert_eq!(why(&trial, &stopped), Some(true), "a stream waits for it");
}

#[test]
fn one_that_a_nodes_host_spoils_each_time_is_kept_and_not_void() {
    let mut held = good();
    held.direction = Direction::Transmit;
    let mut node = listed(vec![held]);
    node.node_held_ns = 200_000_000;
    let mut retrying = Retrying::new(&mut node);
    let seen = ask(&mut retrying);
    assert_eq!(seen.status, Status::Complete);
    let attempts = *seen.counters[Counter::ATTEMPTS.word()].value().unwrap();
    assert!(attempts >= 3, "{attempts}");
    for _ in 0..20 {
        ask(&mut retrying);
    }
    assert!(node.asked <= 3 * 10 + 18, "{}", node.asked);
}

#[test]
fn a_checker_that_stood_still_spoils_what_it_saw() {
    let trial = trial(Load::Max, 3_000);
    let mut seen = observation(&trial, flow(1_000_000, 333_333.0, None));
    seen.flows[0].checker_held_up_ps = Field::measured(SECOND);
    assert_eq!(seen.tester_held_up(), None, "the node's own checker");
    seen.flows[0].direction = Direction::Transmit;
    assert_eq!(seen.tester_held_up(), None, "all waited in its queue");
    let mut counts = *seen.flows[0].counts.value().unwrap();
    counts.lost_or_missed_frames = 1;
    seen.flows[0].counts = Field::measured(counts);
    let why = seen.tester_held_up().expect("its queue overflowed");
    assert!(
        why.contains("checker (from eth0)") && why.contains("1,000 ms of 3,000 ms"),
        "{why}"
    );
    seen.flows[0].counts = Field::absent("not counted");
    assert!(seen.tester_held_up().is_some(), "it is unknown");
    seen.flows[0].checker_held_up_ps = Field::measured(SECOND / 4);
    assert_eq!(seen.tester_held_up(), None, "within the tolerance");
}

#[test]
fn back_pressure_is_no_hold_and_no_failure_of_the_tester() {
    // 27,600 asked, 8,256 taken by the path, which blocked the sender the rest of the time.
    let trial = trial(paced(27_600.0), 1_000);
    let mut flow = flow(8_256, 8_256.0, Some(27_600.0));
    assert!(flow.sender_was_slow());
    sender(&mut flow).blocked_ps = Field::measured(7 * SECOND / 10);
    assert!(flow.was_held_back() && !flow.sender_was_slow());
    assert_eq!(observation(&trial, flow.clone()).tester_held_up(), None);
    // Blocked for a moment does not explain it.
    sender(&mut flow).blocked_ps = Field::measured(SECOND / 10);
    assert!(!flow.was_held_back() && flow.sender_was_slow());
    // A hold of 150 ms, of which 100 were caught up with in a burst that filled the queue for a moment.
    let mut burst = self::flow(6_840, 6_840.0, Some(7_200.0));
    sender(&mut burst).slipped_ps = Field::measured(52 * MS);
    sender(&mut burst).blocked_ps = Field::measured(35 * MS);
    assert!(!burst.was_held_back() && burst.sender_was_slow());
    // A path that took nothing any more after a tenth of the time.
    let mut blocked = self::flow(826, 8_256.0, Some(8_256.0));
    sender(&mut blocked).blocked_ps = Field::measured(9 * SECOND / 10);
    assert_eq!(observation(&trial, blocked).tester_held_up(), None);
}

#[test]
fn a_sender_that_is_only_slow_has_many_short_gaps() {
    let trial = trial(paced(1e6), 1_000);
    let mut slow = flow(500_000, 500_000.0, Some(1e6));
    sender(&mut slow).slipped_ps = Field::measured(SECOND / 2);
    sender(&mut slow).blocked_ps = Field::measured(0);
    sender(&mut slow).gap = Field::measured(Histogram::of(Some(1_000), [2_000; 1_000]));
    assert_eq!(observation(&trial, slow.clone()).tester_held_up(), None);
    let gaps = [2_000; 1_000].into_iter().chain([500_000_000]);
    sender(&mut slow).gap = Field::measured(Histogram::of(Some(1_000), gaps));
    assert!(observation(&trial, slow).tester_held_up().is_some());
}

/// Answers from a list, then repeats its last entry.
struct Listed {
    flows: Vec<FlowObservation>,
    asked: usize,
    own: bool,
    node_held_ns: u64,
}

impl Node for Listed {
    fn describe(&self) -> Description {
        Description::default()
    }

    fn run(
        &mut self,
        trial: &Trial,
        _: &dyn Progress,
        _: &Cancel,
    ) -> Result<Observation, NodeError> {
        let at = self.asked.min(self.flows.len() - 1);
        self.asked += 1;
        let mut seen = observation(trial, self.flows[at].clone());
        if self.node_held_ns > 0 {
            let told = Field::measured(self.node_held_ns);
            seen.counters.insert(NODE_SENDER_HELD.to_owned(), told);
        }
        if self.own {
            let counted = Field::measured(1);
            seen.counters
                .insert(Counter::ATTEMPTS.word().to_owned(), counted);
        }
        Ok(seen)
    }
}

fn listed(flows: Vec<FlowObservation>) -> Listed {
    Listed {
        flows,
        asked: 0,
        own: false,
        node_held_ns: 0,
    }
}

fn held() -> FlowObservation {
    flow(544, 49_000.0, Some(49_000.0))
}

fn good() -> FlowObservation {
    flow(14_700, 49_000.0, Some(49_000.0))
}

fn ask(node: &mut dyn Node) -> Observation {
    let trial = trial(paced(49_000.0), 300);
    node.run(&trial, &(), &Cancel::new()).unwrap()
}

#[test]
fn a_trial_that_was_held_up_is_asked_again_and_says_so() {
    let mut node = listed(vec![held(), held(), good()]);
    let seen = ask(&mut Retrying::new(&mut node));
    assert_eq!(seen.status, Status::Complete);
    assert_eq!(seen.counters[Counter::ATTEMPTS.word()], Field::measured(3));
    assert_eq!(seen.flows[0].sent_frames, Field::measured(14_700));
}

#[test]
fn one_that_is_not_available_is_void_and_holds_no_figure() {
    let mut node = listed(vec![held()]);
    let seen = ask(&mut Retrying::new(&mut node));
    let Status::Void { why } = &seen.status else {
        panic!("{:?}", seen.status)
    };
    assert!(why.contains("289 ms of 300 ms, in the last of "), "{why}");
    assert!(node.asked >= 3);
    assert!(seen.is_void_by_tester() && !seen.passed());
    assert!(seen.warnings[0].is(WarningCode::TESTER_HELD_UP));
    let flow = &seen.flows[0];
    for figure in [
        &flow.frames_per_s,
        &flow.payload_bits_per_s,
        &flow.link_bits_per_s,
        &flow.efficiency,
        &flow.goodput_bits_per_s,
        &flow.loss_ratio,
    ] {
        assert_eq!(figure, &Field::absent(why));
    }
    assert_eq!(flow.counts, Field::absent(why));
    assert_eq!(flow.jitter_ps, Field::absent(why));
    assert_eq!(seen.tester.was_limit, Field::measured(true));
    assert_eq!(seen.tester_held_up(), None, "what is void is judged once");
}

#[test]
fn a_host_that_is_busy_all_the_time_is_asked_once_a_trial() {
    let mut node = listed(vec![held()]);
    let mut retrying = Retrying::new(&mut node);
    for _ in 0..20 {
        assert!(ask(&mut retrying).is_void_by_tester());
    }
    // Three trials at most ten times, and the rest once.
    assert!(node.asked <= 3 * 10 + 17, "{}", node.asked);
}

#[test]
fn one_half_of_a_pair_is_void_without_another_attempt() {
    let mut node = listed(vec![held(), good()]);
    node.own = true;
    assert!(ask(&mut Retrying::new(&mut node)).is_void_by_tester());
    assert_eq!(node.asked, 1);
}

#[test]
fn a_rate_missed_by_a_little_is_asked_again_and_kept() {
    let slow = flow(14_500, 48_333.0, Some(49_000.0));
    let mut node = listed(vec![slow.clone()]);
    let seen = ask(&mut Retrying::new(&mut node));
    assert_eq!(seen.status, Status::Complete);
    assert_eq!(seen.counters[Counter::ATTEMPTS.word()], Field::measured(3));
    let mut lossy = slow;
    lossy.loss_ratio = Field::measured(0.1);
    let mut node = listed(vec![lossy]);
    assert!(
        !ask(&mut Retrying::new(&mut node))
            .counters
            .contains_key(Counter::ATTEMPTS.word())
    );
}
