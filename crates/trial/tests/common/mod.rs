//! What the tests of trials that a host spoilt share: a trial and its observation.

use std::collections::BTreeMap;

use wirelab_trial::*;

pub const MS: u64 = 1_000_000_000;
pub const SECOND: u64 = 1_000 * MS;

pub fn trial(load: Load, ms: u64) -> Trial {
    Trial::new(
        Framing {
            layer: Layer::UdpIpv4,
            vlan_tags: 0,
        },
        Direction::Receive,
        Size::new(SizeUnit::Datagram, 512),
        load,
        Extent::Time { time_ps: ms * MS },
    )
}

pub fn flow(sent: u64, achieved: f64, asked: Option<f64>) -> FlowObservation {
    let counts = Counts {
        received_frames: sent,
        good_frames: sent,
        distinct_sequences: sent,
        ..Counts::default()
    };
    let unseen = || Field::absent("not seen");
    FlowObservation {
        port: "eth0".to_owned(),
        direction: Direction::Receive,
        stream: 0,
        sent_frames: Field::measured(sent),
        counts: Field::measured(counts),
        elapsed: Field::absent("not seen"),
        frames_per_s: Field::measured(achieved),
        payload_bits_per_s: Field::measured(achieved * 8.0 * 540.0),
        link_bits_per_s: Field::measured(achieved * 8.0 * 578.0),
        efficiency: Field::absent("not seen"),
        goodput_bits_per_s: Field::measured(achieved * 8.0 * 512.0),
        loss_ratio: Field::measured(0.0),
        loss_ratio_at_most: None,
        intervals: wirelab_trial::FlowIntervals::default(),
        over_time: wirelab_trial::OverTime::default(),
        jitter_ps: Field::measured(1),
        sender: Field::measured(SenderObservation {
            path: "socket".to_owned(),
            asked_frames_per_s: Field::measured_or(asked, "maximum load"),
            achieved_frames_per_s: Field::measured(achieved),
            kept_rate: Field::measured_or(asked.map(|a| achieved >= 0.995 * a), "none asked"),
            gap: Field::absent("not seen"),
            slips: unseen(),
            slipped_ps: unseen(),
            blocked_ps: unseen(),
            longest_burst_frames: unseen(),
            kernel_copied: Field::absent("not seen"),
            ledger: None,
        }),
        receiver_path: "socket".to_owned(),
        checker_held_up_ps: unseen(),
        series: Vec::new(),
        counters: BTreeMap::new(),
    }
}

pub fn observation(trial: &Trial, flow: FlowObservation) -> Observation {
    Observation {
        trial: trial.clone(),
        sizes: trial.sizes().unwrap(),
        node: Description {
            name: "node:peer".to_owned(),
            node_type: "node".to_owned(),
            ..Description::default()
        },
        status: Status::Complete,
        started_unix_ns: Field::measured(1),
        flows: vec![flow],
        cpu_load: Field::absent("not seen"),
        busy_over_time: Vec::new(),
        series: Vec::new(),
        counters: BTreeMap::new(),
        tester: TesterObservation::of_trial(trial.load != Load::Max, false),
        warnings: Vec::new(),
    }
}

pub fn sender(flow: &mut FlowObservation) -> &mut SenderObservation {
    match &mut flow.sender {
        Field::Observed { value, .. } => value,
        Field::Absent { absent } => panic!("{absent}"),
    }
}

pub fn paced(rate: f64) -> Load {
    Load::FrameRate { frames_per_s: rate }
}
