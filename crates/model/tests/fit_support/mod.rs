//! Observations made by hand, for the tests of `fit`.

use wirelab_model::fit::{Fit, FitOptions, Fitted, fit};
use wirelab_statistics::random::SplitMix64;
use wirelab_trial::{
    Clock, ClockKind, CpuLoad, Description, Direction, Extent, Field, FlowObservation, Framing,
    Layer, Load, Observation, Owner, Path, Series, SeriesBuilder, SeriesName, Size, SizeUnit,
    Status, TesterObservation, Trial, Wait,
};

/// The node's clock with a tick of a nanosecond.
pub const NODE_NS: Clock = Clock {
    kind: ClockKind::Wall,
    tick_ps: Some(1000),
    resolution_ticks: 1,
    owner: Owner::Node,
};

/// What a test says of an observation.
#[derive(Clone, Debug)]
pub struct ObservationSpec {
    pub layer: Layer,
    pub direction: Direction,
    pub bytes: u32,
    pub load: Load,
    pub frames: u64,
    pub frames_per_s: f64,
    pub loss_ratio: f64,
    pub busy: Option<f64>,
    pub baseline: f64,
    pub link: Option<u64>,
    pub series: Vec<Series>,
}

impl ObservationSpec {
    pub fn new(
        layer: Layer,
        direction: Direction,
        bytes: u32,
        frames_per_s: f64,
    ) -> ObservationSpec {
        ObservationSpec {
            layer,
            direction,
            bytes,
            load: Load::Max,
            frames: 100_000,
            frames_per_s,
            loss_ratio: 0.0,
            busy: None,
            baseline: 0.0,
            link: None,
            series: Vec::new(),
        }
    }

    pub fn busy(mut self, load: Load, busy: f64) -> ObservationSpec {
        (self.load, self.busy) = (load, Some(busy));
        self
    }

    pub fn trial(&self) -> Trial {
        let unit = if self.layer == Layer::Ethernet {
            SizeUnit::Length
        } else {
            SizeUnit::Datagram
        };
        Trial {
            link_bits_per_s: self.link,
            ..Trial::new(
                Framing {
                    layer: self.layer,
                    vlan_tags: 0,
                },
                self.direction,
                Size::new(unit, self.bytes),
                self.load,
                Extent::Frames {
                    frames: self.frames,
                },
            )
        }
    }

    pub fn observation(&self) -> Observation {
        let trial = self.trial();
        let sizes = trial.size.resolve(trial.framing).unwrap();
        let none = || "not seen";
        let load = self.busy.map(|busy_ratio| CpuLoad {
            busy_ratio,
            idle_baseline_ratio: Some(self.baseline),
            shared: false,
            interval: None,
        });
        Observation {
            flows: vec![FlowObservation {
                port: "node".to_owned(),
                direction: self.direction,
                stream: 0,
                sent_frames: Field::measured(self.frames),
                counts: Field::absent(none()),
                elapsed: Field::absent(none()),
                frames_per_s: Field::measured(self.frames_per_s),
                payload_bits_per_s: Field::absent(none()),
                link_bits_per_s: Field::absent(none()),
                efficiency: Field::absent(none()),
                goodput_bits_per_s: Field::absent(none()),
                loss_ratio: Field::measured(self.loss_ratio),
                loss_ratio_at_most: None,
                intervals: wirelab_trial::FlowIntervals::default(),
                over_time: wirelab_trial::OverTime::default(),
                checker_held_up_ps: Field::absent(none()),
                jitter_ps: Field::absent(none()),
                sender: Field::absent(none()),
                receiver_path: "test".to_owned(),
                series: Vec::new(),
                counters: Default::default(),
            }],
            sizes,
            trial,
            node: Description {
                name: "bench:1".to_owned(),
                ..Description::default()
            },
            status: Status::Complete,
            started_unix_ns: Field::absent(none()),
            cpu_load: Field::measured_or(load, none()),
            busy_over_time: Vec::new(),
            series: self.series.clone(),
            counters: Default::default(),
            tester: TesterObservation::new(Field::absent(none()), Field::measured(false)),
            warnings: Vec::new(),
        }
    }
}

/// A stage of a Linux node as it truly is: name, ns for each frame, ns for each byte of datagram, σ in ns.
pub type Truth = (&'static str, f64, f64, f64);

/// What a frame takes through the stack, woken from sleep.
pub const STACK: [Truth; 7] = [
    ("wire to interrupt", 2_000.0, 0.0, 150.0),
    ("interrupt to driver", 400.0, 0.1, 20.0),
    ("driver to stack", 700.0, 0.3, 30.0),
    ("stack to socket", 900.0, 0.0, 40.0),
    ("socket to copy", 6_000.0, 0.0, 300.0),
    ("copy to call", 500.0, 0.8, 30.0),
    ("call to application", 250.0, 0.0, 10.0),
];
/// The same past the stack: the hand-over costs 700 ns and 0.2 ns/byte.
pub const FAST: [Truth; 3] = [
    ("wire to interrupt", 2_000.0, 0.0, 150.0),
    ("interrupt to driver", 400.0, 0.1, 20.0),
    ("driver to application", 6_700.0, 0.2, 300.0),
];
/// What a frame takes where the node sends it.
pub const SENT: [Truth; 4] = [
    ("application to call", 200.0, 0.0, 10.0),
    ("call to queue", 1_200.0, 0.5, 50.0),
    ("queue to driver", 300.0, 0.0, 20.0),
    ("driver to wire", 900.0, 0.1, 60.0),
];
/// Lengths of the Zynq document.
pub const LENGTHS: [u32; 3] = [64, 256, 1024];

/// A standard normal figure, by the sum of twelve even ones.
pub fn normal(rng: &mut SplitMix64) -> f64 {
    (0..12).map(|_| rng.uniform()).sum::<f64>() - 6.0
}

/// 512 frames of `length` bytes through a Linux node with these stages, at a low load.
pub fn staged(
    stages: &[Truth],
    (path, wait): (Option<Path>, Option<Wait>),
    length: u32,
    seed: u64,
) -> Observation {
    let direction = match stages[0].0.starts_with("application") {
        true => Direction::Transmit,
        false => Direction::Receive,
    };
    let mut o = ObservationSpec::new(Layer::UdpIpv4, direction, length - 42, 1_000.0).observation();
    o.trial.size = Size::new(SizeUnit::Length, length);
    o.trial.load = Load::FrameRate {
        frames_per_s: 1_000.0,
    };
    o.trial.extent = Extent::Frames { frames: 512 };
    (o.trial.path, o.trial.wait) = (path, wait);
    "node:linux".clone_into(&mut o.node.name);
    let mut rng = SplitMix64::new(seed);
    let datagram = f64::from(length - 42);
    for (name, packet, byte, sigma) in stages {
        let mean = packet + byte * datagram;
        let times: Vec<u64> = (0..512)
            .map(|_| (mean + sigma * normal(&mut rng)).round().max(0.0) as u64)
            .collect();
        o.flows[0].series.push(series(name, times));
    }
    o
}

/// Both receive paths and the transmit path, at all three lengths.
pub fn linux(seed: u64) -> Vec<Observation> {
    let mut all = Vec::new();
    let ways: [(&[Truth], Option<Path>, Option<Wait>); 3] = [
        (&STACK, Some(Path::Stack), Some(Wait::Sleep)),
        (&FAST, Some(Path::FastTrack), Some(Wait::Sleep)),
        (&SENT, None, None),
    ];
    for (at, (stages, path, wait)) in ways.into_iter().enumerate() {
        for length in LENGTHS {
            let seed = seed * 1_000 + at as u64 * 100 + u64::from(length);
            all.push(staged(stages, (path, wait), length, seed));
        }
    }
    all
}

/// A captured series of these times.
pub fn series(name: &str, ns: impl IntoIterator<Item = u64>) -> Series {
    let name = SeriesName::parse(name).unwrap_or_else(|| SeriesName::Other(name.to_owned()));
    let mut builder = SeriesBuilder::new(name, NODE_NS, 1);
    ns.into_iter().for_each(|n| builder.push(n));
    builder.finish()
}

pub fn observations(seen: &[ObservationSpec]) -> Vec<Observation> {
    seen.iter().map(ObservationSpec::observation).collect()
}

pub fn fitted(seen: &[ObservationSpec]) -> Fit {
    fit(&observations(seen), &FitOptions::default()).unwrap()
}

pub fn parameter<'f>(fit: &'f Fit, name: &str) -> &'f Fitted {
    let found = fit.parameters.iter().find(|p| p.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:#?}", fit.parameters))
}

pub fn warned<'f>(fit: &'f Fit, code: &str) -> Vec<&'f str> {
    let of = fit.warnings.iter().filter(|w| w.code == code);
    of.map(|w| w.text.as_str()).collect()
}

pub fn codes(fit: &Fit) -> Vec<&str> {
    fit.warnings.iter().map(|w| w.code.as_str()).collect()
}

/// A relative difference.
pub fn off(a: f64, b: f64) -> f64 {
    (a / b - 1.0).abs()
}
