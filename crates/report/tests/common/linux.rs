//! Worked results of a Linux node: stages of two ways, unloaded and beside other traffic.

use wirelab_statistics::random::SplitMix64;
use wirelab_trial::node_path::{Background, Path, Wait};
use wirelab_trial::stage::functions::CallPaths;
use wirelab_trial::*;

/// Stages of frames received through the stack: names, and ns at length 64 and for each further byte.
const STACK: [(&str, f64, f64); 7] = [
    ("wire to interrupt", 900.0, 0.05),
    ("interrupt to driver", 310.0, 0.0),
    ("driver to stack", 620.0, 0.02),
    ("stack to socket", 1450.0, 0.0),
    ("socket to copy", 2100.0, 0.0),
    ("copy to call", 480.0, 0.31),
    ("call to application", 240.0, 0.0),
];
const FAST: [(&str, f64, f64); 3] = [
    ("wire to interrupt", 900.0, 0.05),
    ("interrupt to driver", 330.0, 0.0),
    ("driver to application", 1180.0, 0.12),
];
const SENT: [(&str, f64, f64); 4] = [
    ("application to call", 210.0, 0.0),
    ("call to queue", 1230.0, 0.28),
    ("queue to driver", 340.0, 0.0),
    ("driver to wire", 700.0, 0.06),
];

/// A series around `ns`: most frames near it, some later, a few very late.
fn series(name: &str, ns: f64, random: &mut SplitMix64, frames: u64) -> Series {
    let clock = Clock {
        owner: Owner::Node,
        ..Clock::TESTER_NS
    };
    let mut out = SeriesBuilder::new(super::series_name(name), clock, 0);
    let mut unit = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    for _ in 0..frames {
        // The sum of a few is nearly normal.
        let near = (0..4).map(|_| unit()).sum::<f64>() / 4.0 - 0.5;
        let late = match unit() {
            u if u < 0.004 => 9.0 * unit(),
            u if u < 0.03 => 0.5,
            _ => 0.0,
        };
        out.push((ns * (1.0 + 0.3 * near + late)) as u64);
    }
    out.finish()
}

fn observation(
    way: (Path, Option<Background>),
    direction: Direction,
    length: u32,
    stages: &[(&str, f64, f64)],
    random: &mut SplitMix64,
) -> Observation {
    let (path, background) = way;
    let trial = Trial {
        framing: Framing {
            layer: Layer::UdpIpv4,
            vlan_tags: 0,
        },
        size: Size::new(SizeUnit::Length, length),
        load: Load::FrameRate {
            frames_per_s: 1000.0,
        },
        extent: Extent::Frames { frames: 512 },
        path: Some(path),
        wait: Some(Wait::Spin),
        rule: (path == Path::FastTrack).then(|| "port=1026".to_owned()),
        background,
        ..super::trial(46, direction, 1, None)
    };
    let mut o = super::observation(trial, "lab:", "linux");
    let setup = [
        ("probes", "raw"),
        ("probes_why", "fentry: refused by this host (EPERM)"),
        ("xdp", "native"),
        ("function.in.driver", "XDP program"),
        ("cpus", "1"),
        ("receive_cpus", "any"),
    ];
    o.node.setup = setup.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let mut flow = super::flow("b", direction, &o.sizes, 1000.0, None);
    flow.sent_frames = Field::measured(512);
    flow.counts = Field::measured(Counts {
        received_frames: 512,
        good_frames: 512,
        distinct_sequences: 512,
        ..Counts::default()
    });
    let slower = if background.is_some() && path == Path::Stack {
        1.7
    } else {
        1.0
    };
    flow.series = stages
        .iter()
        .map(|(name, ns, byte)| {
            let ns = (ns + byte * f64::from(length - 64)) * slower;
            series(name, ns, random, 512)
        })
        .collect();
    flow.counters = [
        ("probe_cost_ns.in.driver", 92),
        ("probe_taken.in.driver", 512),
        ("napi_poll_frames_max", 3),
    ]
    .map(|(name, n)| (name.to_owned(), Field::measured(n)))
    .into();
    if path == Path::FastTrack {
        let name = "fast_track_matched_frames".to_owned();
        flow.counters.insert(name, Field::measured(512));
    }
    o.flows = vec![flow];
    o
}

/// Both paths, unloaded and beside other traffic, and what is sent.
pub fn ways() -> ResultsFile {
    let mut random = SplitMix64::new(1026);
    let beside = Background {
        load: Load::FrameRate {
            frames_per_s: 50_000.0,
        },
        size: Background::SIZE,
    };
    let mut all = Vec::new();
    for background in [None, Some(beside)] {
        for length in [64, 256, 1024] {
            for (path, stages) in [(Path::Stack, &STACK[..]), (Path::FastTrack, &FAST[..])] {
                let way = (path, background);
                let direction = Direction::Receive;
                all.push(observation(way, direction, length, stages, &mut random));
            }
            if background.is_none() {
                let way = (Path::Stack, None);
                let direction = Direction::Transmit;
                all.push(observation(way, direction, length, &SENT, &mut random));
            }
        }
    }
    let mut file = super::file(all);
    file.command = ["wirelab", "stages", "lab:", "--fast-track", "port=1026"]
        .map(str::to_owned)
        .to_vec();
    file.measuring = Some(Measuring {
        call_paths: Vec::new(),
        overheads: vec![Overhead {
            what: "round trip".to_owned(),
            path: "stack, spin".to_owned(),
            length_bytes: 64,
            runs: 7,
            on_ns: 21_340.0,
            off_ns: 20_870.0,
            low_ns: -120.0,
            high_ns: 980.0,
        }],
        costs: vec![
            cost("in.driver", CostLoad::Warm, [71, 80, 91]),
            cost("out.queue", CostLoad::Warm, [70, 81, 101]),
            cost("in.driver", CostLoad::Trial, [151, 203, 1271]),
            cost("in.call", CostLoad::Trial, [655, 783, 895]),
        ],
        notes: vec![
            "The driver's work is on core 0 and the application on core 1, in both directions."
                .to_owned(),
        ],
    });
    file
}

/// One way, as a node without a fast track has it.
pub fn stack() -> ResultsFile {
    let mut file = ways();
    file.observations
        .retain(|o| o.trial.path == Some(Path::Stack) && o.trial.background.is_none());
    file
}

/// Counted instructions, all frames alike but one.
pub fn counted() -> ResultsFile {
    let mut all = Vec::new();
    for length in [64, 256] {
        let trial = Trial {
            size: Size::new(SizeUnit::Length, length),
            ..super::trial(46, Direction::Both, 1, None)
        };
        let mut o = super::observation(trial, "board:zynq7000", "board");
        let clock = Clock {
            kind: ClockKind::Instructions,
            tick_ps: None,
            resolution_ticks: 1,
            owner: Owner::Node,
        };
        let stage = |name: &str, n: u64| {
            let mut series = SeriesBuilder::new(super::series_name(name), clock, 0);
            (0..99).for_each(|_| series.push(n + u64::from(length)));
            series.push(4 * n);
            series.finish()
        };
        let names = [
            (
                Direction::Receive,
                ["interrupt to driver", "driver to application"],
            ),
            (
                Direction::Transmit,
                ["application to driver", "driver to mac"],
            ),
        ];
        o.flows = names
            .map(|(direction, names)| {
                let mut flow = super::flow("m", direction, &o.sizes, 1000.0, None);
                flow.series = names.map(|name| stage(name, 1200)).to_vec();
                flow
            })
            .to_vec();
        all.push(o);
    }
    super::file(all)
}

/// The same with the paths of calls in which they ran.
pub fn called() -> ResultsFile {
    let mut file = counted();
    let stage = |to: &str, paths: &[(&str, u64)]| CallPaths {
        direction: Direction::Receive,
        length_bytes: 64,
        from: "interrupt".to_owned(),
        to: to.to_owned(),
        frames: 100,
        instructions: paths
            .iter()
            .map(|(path, n)| ((*path).to_owned(), *n))
            .collect(),
    };
    file.measuring = Some(Measuring {
        call_paths: vec![
            stage("driver", &[("irq;rx", 40_000), ("irq;rx;copy", 60_000)]),
            stage("application", &[("poll;input", 20_000)]),
        ],
        ..Measuring::default()
    });
    file
}

fn cost(point: &str, at: CostLoad, [q1_ns, median_ns, q3_ns]: [u64; 3]) -> PointCost {
    let (frames_per_s, passed) = match at {
        CostLoad::Warm => (20_000.0, Some(19_840.4)),
        CostLoad::Trial => (1_000.0, None),
    };
    PointCost {
        point: point.to_owned(),
        at,
        load: Load::FrameRate { frames_per_s },
        frames_per_s: passed,
        length_bytes: 64,
        q1_ns,
        median_ns,
        q3_ns,
        clock_ns: 31,
    }
}
