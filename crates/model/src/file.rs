//! A node file: parameters with units and sources, stages over resources, and the paths frames take through them.
//!
//! The format is described in `docs/nodes/README.md`.

mod check;
mod expr;
mod read;
mod set;
mod unit;

use std::collections::BTreeMap;

use wirelab_trial::nearest::did_you_mean;
use wirelab_trial::observation::Spans;
use wirelab_trial::{Buffers, Direction, Layer, Path, Trial, Wait};

pub use crate::net::Edge;
pub use check::{Problem, Step};
pub use expr::SizeExpr;
pub use read::{MAX_FILE_BYTES, fuzz_node_file};
pub use set::SetError;
pub use unit::{Kind, Unit};

/// What is known of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeFile {
    /// The node's name, as the command line takes it.
    pub name: String,
    /// One line that says what it is.
    pub title: String,
    /// More about it.
    pub about: Option<String>,
    /// The document that describes the node.
    pub source: String,
    /// Number of its ports.
    pub ports: u32,
    /// Largest frame without VLAN tags in bytes with FCS.
    pub max_frame_bytes: u32,
    /// Set-up keys of its description: core, clock, memory and what else is known.
    pub setup: BTreeMap<String, String>,
    /// Parameters by name.
    pub parameters: BTreeMap<String, Parameter>,
    /// Published figures that parameters were calibrated from, by name.
    pub calibrations: BTreeMap<String, Calibration>,
    /// Name of the parameter that is the link's rate.
    pub link: Option<String>,
    /// Resources by name.
    pub resources: BTreeMap<String, ResourceDecl>,
    /// Stages by name.
    pub stages: BTreeMap<String, StageDecl>,
    /// Ways through the node; the first that fits a trial is taken.
    pub paths: Vec<PathDecl>,
    /// How frames come on a receive path.
    pub arrivals: ArrivalsDecl,
    /// What a test tool imposes.
    pub tool: ToolDecl,
    /// Changes of the structure that can be asked for by name.
    pub alternatives: Vec<Alternative>,
    /// What `--set` changed since the file was read, in order.
    pub changes: Vec<String>,
    /// The way through the node that `--set` asks for, in place of the trial's.
    pub asked_path: Option<Path>,
    /// The way to wait that `--set` asks for, in place of the trial's.
    pub asked_wait: Option<Wait>,
}

/// A figure with its unit and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// In `unit`; finite and not negative.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// The clock parameter that a unit in `clk` counts.
    pub clock: Option<String>,
    /// Where it comes from.
    pub provenance: Provenance,
    /// More about it.
    pub about: Option<String>,
}

/// Where a figure comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// A source that can be looked up.
    Source(String),
    /// Names of the calibrations it was derived from.
    CalibratedFrom(Vec<String>),
    /// Given by hand with `--set`.
    Set,
}

/// A published figure that parameters were calibrated from: never shown as predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The figure in words.
    pub what: String,
    /// `STUDY/ROW/METRIC` where a study holds the figure.
    pub cell: Option<String>,
    /// The trial that gave the figure.
    pub trial: Option<Trial>,
    /// Which metric of that trial: `time`, `cpu_load`, `latency`.
    pub metric: Option<String>,
    /// The capture point, for a latency; `None` for all of the trial.
    pub point: Option<String>,
}

/// Something that one stage at a time can hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceDecl {
    /// More about it.
    pub about: Option<String>,
    /// Whether each port has its own.
    pub per_port: bool,
}

/// A stage: what it holds, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct StageDecl {
    /// The resource it holds; `None` for a mere delay.
    pub resource: Option<String>,
    /// Among stages that wait for one resource the lowest goes first.
    pub priority: u8,
    /// Where its structure comes from.
    pub provenance: Provenance,
    /// More about it.
    pub about: Option<String>,
    /// What its cost is the sum of.
    pub cost: Vec<Cost>,
    /// Factor of the cost; 1 unless `--set stage.NAME=xFACTOR` changed it.
    pub scale: f64,
    /// How its cost scatters.
    pub spread: Option<SpreadDecl>,
    /// The parameter with the shortest time between two starts.
    pub paced: Option<String>,
    /// The parameter with the time between two looks.
    pub polled: Option<String>,
    /// Whether a frame that finds no other token is lost.
    pub drops: bool,
}

/// One term of a stage's cost: the three laws, and the wire, which is a copy at the link's rate.
#[derive(Clone, Debug, PartialEq)]
pub enum Cost {
    /// A constant: the parameter's value.
    Constant {
        /// A parameter in time or `clk`.
        parameter: String,
    },
    /// Bytes at the rate of a copy kind, in whole units of that kind.
    Bytes {
        /// How many bytes.
        bytes: SizeExpr,
        /// A parameter in time or `clk` per byte, halfword or word, or in bit/s.
        rate: String,
    },
    /// Accesses to a kind of memory.
    Accesses {
        /// How many.
        accesses: SizeExpr,
        /// A parameter in time or `clk`.
        latency: String,
    },
    /// Bytes at the link's rate.
    Link {
        /// How many bytes.
        bytes: SizeExpr,
    },
}

/// How a cost scatters, by parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpreadDecl {
    /// Normal with this σ.
    Normal(String),
    /// Even over this whole width.
    Uniform(String),
}

/// One way through the node.
#[derive(Clone, Debug, PartialEq)]
pub struct PathDecl {
    /// Its name.
    pub name: String,
    /// The layers it takes.
    pub layers: Vec<Layer>,
    /// Transmit or receive.
    pub direction: Direction,
    /// The kinds of buffers it is; empty where that is not said.
    pub buffers: Vec<Buffers>,
    /// The way through the node that it is; `None` where that is not said.
    pub path: Option<Path>,
    /// How the application waits; `None` where that is not said.
    pub wait: Option<Wait>,
    /// Largest size it takes in bytes of the layer's data (datagram, on Ethernet length); `None` takes every size.
    pub up_to_bytes: Option<u32>,
    /// Whether a trial that names no buffers takes it.
    pub default: bool,
    /// Names of its stages, first to last.
    pub stages: Vec<String>,
    /// The stage that is the wire.
    pub wire: String,
    /// What its elapsed time spans.
    pub spans: Spans,
    /// The resource whose use is its CPU load.
    pub load: Option<LoadDecl>,
    /// Whether the CPU polls while it waits, so that its load is 100 %.
    pub busy_wait: bool,
    /// Places beside those that frames go through.
    pub rooms: Vec<Room>,
    /// Capture points: a latency each.
    pub points: Vec<PointDecl>,
    /// Samplers.
    pub probes: Vec<ProbeDecl>,
}

/// The CPU load of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadDecl {
    /// The resource.
    pub resource: String,
    /// The parameter with the load of an idle node.
    pub idle: Option<String>,
}

/// A place with tokens, usually leading back: descriptors, buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// What its tokens are.
    pub name: String,
    /// The stage that puts tokens in.
    pub from: String,
    /// The stage that takes them.
    pub to: String,
    /// The parameter with the tokens at the start.
    pub tokens: String,
}

/// Start or end of a stage in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// The stage.
    pub stage: String,
    /// Which end of it.
    pub edge: Edge,
}

/// From one instant of a frame's way to a later one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointDecl {
    /// Its name, e.g. `Rx PBUF`.
    pub name: String,
    /// Where the time begins.
    pub from: At,
    /// Where it is taken.
    pub to: At,
}

/// A sampler: sees an instant of each frame in whole ticks of its clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeDecl {
    /// Its name.
    pub name: String,
    /// The instant.
    pub at: At,
    /// The parameter that is its clock.
    pub clock: String,
}

/// How frames come from the tester's side; names of parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrivalsDecl {
    /// Frames in a burst.
    pub burst: Option<String>,
    /// Share of frames lost before they reach the node.
    pub lost_before: Option<String>,
}

/// What a test tool imposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolDecl {
    /// The parameter with the smallest datagram it sends.
    pub min_datagram: Option<String>,
    /// The parameter with the first identifier it uses.
    pub first_id: Option<String>,
    /// Whether its datagrams carry the time they were sent.
    pub timestamps: bool,
    /// Time between reports of its server, in ps.
    pub interval_ps: Option<u64>,
}

/// A change of the structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// Its name.
    pub name: String,
    /// What it is, in words.
    pub what: String,
    /// Stages that another takes the place of; `None` leaves the stage out.
    pub replace: BTreeMap<String, Option<String>>,
    /// Assignments as `--set` takes them.
    pub set: Vec<String>,
}

impl Default for ToolDecl {
    fn default() -> Self {
        ToolDecl {
            min_datagram: None,
            first_id: None,
            timestamps: true,
            interval_ps: None,
        }
    }
}

impl NodeFile {
    /// `trial` with what `--set` asks in place of it.
    pub(crate) fn asked(&self, trial: &Trial) -> Trial {
        Trial {
            path: self.asked_path.or(trial.path),
            wait: self.asked_wait.or(trial.wait),
            ..trial.clone()
        }
    }

    /// Whether everything that `--set` changed is which of the file's paths is taken.
    pub(crate) fn is_as_read(&self) -> bool {
        let choice = |change: &String| {
            let key = change.split('=').next().unwrap_or_default().trim();
            matches!(key, "path" | "wait") && !self.parameters.contains_key(key)
        };
        self.changes.iter().all(choice)
    }

    /// The parameter `name`, which a checked file has.
    ///
    /// # Errors
    /// [`Problem`] where the file was changed by hand since.
    pub(crate) fn parameter(&self, name: &str) -> Result<&Parameter, String> {
        self.parameters
            .get(name)
            .ok_or_else(|| missing("parameter", name, self.parameters.keys()))
    }

    /// The period of a clock in ps: of a parameter in Hz its inverse, of one in time itself.
    pub(crate) fn period_ps(&self, name: &str) -> Result<f64, String> {
        let clock = self.parameter(name)?;
        let period = match clock.unit.kind {
            Kind::Frequency => 1e12 / (clock.value * clock.unit.factor),
            Kind::Time => clock.value * clock.unit.factor,
            _ => {
                return Err(format!(
                    "invalid clock '{name}': its unit is {}, write one of Hz, kHz, MHz, GHz, or a period in ns",
                    clock.unit.name
                ));
            }
        };
        if period.is_finite() && period > 0.0 {
            Ok(period)
        } else {
            Err(format!(
                "the clock '{name}' stands still: its value is {}",
                clock.value
            ))
        }
    }

    /// What a parameter in time or `clk` is in ps.
    pub(crate) fn time_ps(&self, name: &str) -> Result<f64, String> {
        let parameter = self.parameter(name)?;
        match parameter.unit.kind {
            Kind::Time => Ok(parameter.value * parameter.unit.factor),
            Kind::Clocks => Ok(parameter.value * self.clock_of(name, parameter)?),
            _ => Err(wrong_unit(
                name,
                parameter.unit,
                "a time: ps, ns, us, ms, s or clk",
            )),
        }
    }

    /// The shortest time between two of something, in ps: of a parameter in time, `clk` or Hz.
    pub(crate) fn pace_ps(&self, name: &str) -> Result<f64, String> {
        let parameter = self.parameter(name)?;
        let pace = match parameter.unit.kind {
            Kind::Frequency => self.period_ps(name)?,
            _ => self.time_ps(name)?,
        };
        if pace >= 1.0 {
            Ok(pace)
        } else {
            Err(format!(
                "'{name}' is less than a picosecond: write a longer time, or leave it out"
            ))
        }
    }

    /// The period of the clock that `parameter`, called `name`, counts.
    pub(crate) fn clock_of(&self, name: &str, parameter: &Parameter) -> Result<f64, String> {
        let clock = parameter.clock.as_deref().ok_or_else(|| {
            format!("'{name}' counts clk of no clock: add clock = \"NAME\" with the parameter that is its clock")
        })?;
        self.period_ps(clock)
    }
}

/// That a unit does not fit its use.
pub(crate) fn wrong_unit(name: &str, unit: Unit, wanted: &str) -> String {
    format!("'{name}' is in {}, and here stands {wanted}", unit.name)
}

/// Says that `name` does not exist, and which names do.
fn missing<'k>(kind: &str, name: &str, all: impl Iterator<Item = &'k String>) -> String {
    let all: Vec<&str> = all.map(String::as_str).collect();
    let shown: String = name.chars().take(64).collect();
    if all.is_empty() {
        return format!("there is no {kind} '{shown}', and no other: add it to the file");
    }
    let meant = did_you_mean(name, all.iter().copied());
    if all.len() == 1 {
        return format!(
            "there is no {kind} '{shown}': {meant}There is {} alone",
            all[0]
        );
    }
    let more = if all.len() > 12 { ", ..." } else { "" };
    format!(
        "there is no {kind} '{shown}': {meant}There are {}{more}",
        all[..all.len().min(12)].join(", ")
    )
}
