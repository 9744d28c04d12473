//! What capture points cost: whose counters are taken, and which attempt of the trials on a warm node.

use crate::common::SimulatedNode;
use wirelab_bench::costs::{point_costs, warm};
use wirelab_trial::*;

fn trial(probes: Probes, length: u32) -> Trial {
    Trial {
        probes: Some(probes),
        ..Trial::new(
            Framing::default(),
            Direction::Receive,
            Size::new(SizeUnit::Length, length),
            Load::FrameRate {
                frames_per_s: 1000.0,
            },
            Extent::Frames { frames: 8 },
        )
    }
}

/// An observation whose point costs `median` ns, and at which so many frames passed in a second.
fn observed(trial: &Trial, point: &str, median: u64, rate: f64) -> Observation {
    let plain = Trial {
        probes: None,
        ..trial.clone()
    };
    let mut observation = SimulatedNode::new(1e6)
        .run(&plain, &(), &Cancel::new())
        .unwrap();
    observation.trial = trial.clone();
    observation.flows.truncate(1);
    observation.flows[0].frames_per_s = Field::measured(rate);
    for (name, ns) in [
        ("probe_cost_q1_ns", median - 10),
        ("probe_cost_ns", median),
        ("probe_cost_q3_ns", median + 30),
        ("probe_clock_ns", 31),
    ] {
        let counters = &mut observation.flows[0].counters;
        counters.insert(format!("{name}.{point}"), Field::measured(ns));
    }
    observation
}

#[test]
fn each_point_is_taken_once_from_the_first_trial_with_probes_that_has_it() {
    let (off, small, large) = (
        trial(Probes::Off, 64),
        trial(Probes::Raw, 64),
        trial(Probes::Raw, 1024),
    );
    let mut untold = observed(&small, "in.call", 500, 1e3);
    untold.flows[0].counters.remove("probe_clock_ns.in.call");
    let all = [
        observed(&off, "in.stack", 20, 1e3),
        observed(&small, "in.stack", 200, 1e3),
        observed(&large, "in.stack", 900, 1e3),
        observed(&large, "in.socket", 120, 1e3),
    ];
    let costs = point_costs(&all, CostLoad::Trial);
    let read: Vec<_> = costs
        .iter()
        .map(|c| (&*c.point, c.q1_ns, c.median_ns, c.q3_ns, c.length_bytes))
        .collect();
    assert_eq!(
        read,
        [
            ("in.stack", 190, 200, 230, 64),
            ("in.socket", 110, 120, 150, 1024)
        ]
    );
    assert!(costs.iter().all(|c| c.at == CostLoad::Trial));
    assert_eq!((costs[0].clock_ns, costs[0].frames_per_s), (31, Some(1e3)));
    assert_eq!(
        point_costs(&[untold], CostLoad::Trial),
        [],
        "an incomplete cost is left out"
    );
}

/// Gives one attempt after the other, and nothing more.
struct Attempts {
    rates: Vec<(f64, u64)>,
    asked: Vec<Trial>,
}

impl Node for Attempts {
    fn describe(&self) -> Description {
        SimulatedNode::new(1e6).describe()
    }

    fn run(
        &mut self,
        trial: &Trial,
        _: &dyn Progress,
        _: &Cancel,
    ) -> Result<Observation, NodeError> {
        let (rate, median) = self.rates[self.asked.len()];
        self.asked.push(trial.clone());
        Ok(observed(trial, "in.stack", median, rate))
    }
}

/// The median that was taken, and the attempts that it took.
fn taken(rates: &[(f64, u64)]) -> (Option<u64>, usize) {
    let mut node = Attempts {
        rates: rates.to_vec(),
        asked: Vec::new(),
    };
    let costs = warm(&mut node, &trial(Probes::Raw, 64), &Cancel::new()).unwrap();
    let warm = costs.iter().all(|c| c.at == CostLoad::Warm);
    let load = |t: &Trial| {
        matches!(t.load, Load::FrameRate { frames_per_s } if frames_per_s >= 10_000.0)
            && t.probes == Some(Probes::Raw)
    };
    assert!(warm && node.asked.iter().all(load));
    (costs.first().map(|c| c.median_ns), node.asked.len())
}

#[test]
fn the_fastest_of_three_attempts_is_taken_and_the_first_that_keeps_up_is_enough() {
    assert_eq!(taken(&[(19_900.0, 80)]), (Some(80), 1));
    assert_eq!(taken(&[(4e3, 300), (18_100.0, 90)]), (Some(90), 2));
    let slow = [(5e3, 200), (7e3, 150), (6e3, 60)];
    assert_eq!(taken(&slow), (Some(150), 3), "not the cheapest");
}
