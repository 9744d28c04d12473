//! An explanation made by hand: a node that copies and sends one after the other.

use wirelab_trial::explanation::*;
use wirelab_trial::{Direction, Extent, Framing, Kind, Layer, Load, Size, SizeUnit, Trial, Wait};

fn stage_box(stage: &str, frame: u64, start_us: u64, end_us: u64, critical: bool) -> StageBox {
    StageBox {
        stage: stage.to_owned(),
        frame: Some(frame),
        frames: 1,
        start_ps: start_us * 1_000_000,
        end_ps: end_us * 1_000_000,
        critical,
    }
}

fn share(name: &str, resource: &str, us: u64, period_us: f64) -> StageShare {
    StageShare {
        name: name.to_owned(),
        resource: Some(resource.to_owned()),
        cost_ps: us * 1_000_000,
        share_ratio: us as f64 / period_us,
        critical: true,
        may_grow_ps: Some(0),
        waits_ps: None,
        terms: vec![CostTerm {
            law: "constant".to_owned(),
            words: format!("{us} us"),
            cost_ps: us * 1_000_000,
            parameters: vec![UsedParameter {
                name: format!("{name}-time"),
                value: format!("{us} us"),
                provenance: Provenance::Calibrated,
                from: "Table 1".to_owned(),
            }],
        }],
    }
}

fn circuit(words: &str, us: u64) -> Circuit {
    Circuit {
        stages: vec!["copy".to_owned(), "wire".to_owned()],
        cost_ps: us * 1_000_000,
        tokens: 1,
        period_ps: us as f64 * 1e6,
        closed_by: "frames in flight".to_owned(),
        words: words.to_owned(),
    }
}

/// A node that copies for 80 us and sends for 120 us, one after the other.
pub fn serial() -> Explanation {
    let trial = Trial {
        link_bits_per_s: Some(100_000_000),
        ..Trial::new(
            Framing::default(),
            Direction::Transmit,
            Size::new(SizeUnit::Payload, 1500),
            Load::Max,
            Extent::Frames { frames: 50 },
        )
    };
    let wire = |size: u32| (size, 1e8 * f64::from(size) / f64::from(size + 38));
    let sizes = [46u32, 200, 600, 1500];
    let point = |bytes: u32, bits_per_s| RooflinePoint {
        bytes,
        bits_per_s,
        kind: Kind::Predicted,
        direction: Direction::Transmit,
        limited_by: "serialization: room for 1 frame (frames in flight)".to_owned(),
    };
    Explanation {
        node: "example".to_owned(),
        title: "A board with one frame in flight".to_owned(),
        sizes: trial.sizes().unwrap(),
        trial,
        basis: Basis::ClosedForm,
        kind: Kind::Predicted,
        period_ps: 200e6,
        frames_per_s: 5_000.0,
        bits_per_s: 60e6,
        link_use_ratio: Some(0.615_2),
        loss_ratio: 0.0,
        limit: Limit {
            kind: LimitKind::InFlight,
            name: "frames in flight".to_owned(),
            words: "serialization: room for 1 frame (frames in flight)".to_owned(),
            answer: "Each frame waits for the one before it.".to_owned(),
            because: vec![
                "copy takes 80 µs, less than the 120 µs of wire, but the two do not overlap."
                    .to_owned(),
            ],
        },
        circuit: Some(circuit(
            "copy (80 µs, cpu) → wire (120 µs) → back: 200 µs a frame",
            200,
        )),
        next: vec![circuit("wire alone: 120 µs a frame", 120)],
        stages: vec![
            share("copy", "cpu", 80, 200.0),
            share("wire", "wire", 120, 200.0),
        ],
        resources: vec![
            ResourceUse {
                name: "cpu".to_owned(),
                busy_ratio: 0.4,
            },
            ResourceUse {
                name: "wire".to_owned(),
                busy_ratio: 0.6,
            },
        ],
        hidden: Vec::new(),
        notes: vec!["The CPU polls while it waits.".to_owned()],
        timeline: Timeline {
            start_ps: 1_000_000_000,
            end_ps: 1_400_000_000,
            period_ps: 200e6,
            lanes: vec![
                Lane {
                    name: "cpu".to_owned(),
                    boxes: vec![
                        stage_box("copy", 5, 1_000, 1_080, true),
                        stage_box("copy", 6, 1_200, 1_280, true),
                    ],
                },
                Lane {
                    name: "wire".to_owned(),
                    boxes: vec![
                        stage_box("wire", 5, 1_080, 1_200, true),
                        stage_box("status", 5, 1_200, 1_240, false),
                        stage_box("wire", 6, 1_280, 1_400, true),
                    ],
                },
            ],
        },
        roofline: Roofline {
            unit: SizeUnit::Payload,
            ceilings: vec![
                Ceiling {
                    name: "wire".to_owned(),
                    law: CeilingLaw::Wire,
                    cost_ps: 0.0,
                    curve: sizes.map(wire).to_vec(),
                },
                Ceiling {
                    name: "cpu".to_owned(),
                    law: CeilingLaw::PerByte,
                    cost_ps: 53e3,
                    curve: sizes.map(|size| (size, 8e12 / 53e3)).to_vec(),
                },
                Ceiling {
                    name: "cpu".to_owned(),
                    law: CeilingLaw::PerPacket,
                    cost_ps: 20e6,
                    curve: sizes
                        .map(|size| (size, f64::from(size) * 8e12 / 20e6))
                        .to_vec(),
                },
            ],
            points: vec![
                point(46, 12e6),
                point(200, 30e6),
                point(600, 50e6),
                point(1500, 60e6),
            ],
        },
    }
}

/// The same node as measurements show it.
pub fn gain(length_bytes: u32, measured_ps: Option<u64>) -> FastTrackGain {
    FastTrackGain {
        node: "node:board".to_owned(),
        layer: Layer::UdpIpv4,
        wait: Wait::Spin,
        length_bytes,
        stack_measured_ps: 3_400_000,
        predicted_ps: 1_200_000,
        measured_ps,
        predicted_gain_ps: 2_150_000,
        measured_gain_ps: measured_ps.map(|ps| 3_400_000 - ps as i64),
        error_percent: measured_ps.map(|ps| 100.0 * (1.2e6 / ps as f64 - 1.0)),
    }
}
