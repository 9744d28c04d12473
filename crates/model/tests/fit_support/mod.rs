//! Observations made by hand, for the tests of `fit`.
#![allow(dead_code, reason = "each test takes what it needs")]

use wirelab_model::fit::{Fit, FitOptions, Fitted, fit};
use wirelab_trial::{
    Clock, ClockKind, CpuLoad, Description, Direction, Extent, FaultRates, Field, FlowObservation,
    Framing, Layer, Load, Observation, Owner, Series, SeriesBuilder, Size, SizeUnit, Status,
    TesterObservation, Trial,
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
pub struct Seen {
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

impl Seen {
    pub fn new(layer: Layer, direction: Direction, bytes: u32, frames_per_s: f64) -> Seen {
        Seen {
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

    pub fn busy(mut self, load: Load, busy: f64) -> Seen {
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
            framing: Framing {
                layer: self.layer,
                vlan_tags: 0,
            },
            direction: self.direction,
            size: Size::new(unit, self.bytes),
            load: self.load,
            extent: Extent::Frames {
                frames: self.frames,
            },
            ports: 1,
            link_bits_per_s: self.link,
            buffers: None,
            faults: FaultRates::default(),
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
            series: self.series.clone(),
            counters: Default::default(),
            tester: TesterObservation {
                ceiling_frames_per_s: Field::absent(none()),
                was_limit: Field::measured(false),
            },
            warnings: Vec::new(),
        }
    }
}

/// A captured series of these times.
pub fn series(name: &str, ns: impl IntoIterator<Item = u64>) -> Series {
    let mut builder = SeriesBuilder::new(name, NODE_NS, 1);
    ns.into_iter().for_each(|n| builder.push(n));
    builder.finish()
}

pub fn observations(seen: &[Seen]) -> Vec<Observation> {
    seen.iter().map(Seen::observation).collect()
}

pub fn fitted(seen: &[Seen]) -> Fit {
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
