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
use wirelab_trial::{Buffers, Direction, Layer, Path, SeriesName, Trial, Wait};

pub use check::{KeyOrItem, Problem};
pub use expr::SizeExpr;
pub use read::{MAX_FILE_BYTES, fuzz_node_file};
pub use set::SetError;
pub use unit::{CountedThing, Kind, Unit};
pub use wirelab_sim::net::Edge;

/// A node file, read and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeFile {
    /// The node's name, as the command line takes it.
    pub name: String,
    /// One line about the node.
    pub title: String,
    /// Further text.
    pub about: Option<String>,
    /// The document that describes the node.
    pub source: String,
    /// Number of its ports.
    pub ports: u32,
    /// Largest frame without VLAN tags in bytes with FCS.
    pub max_frame_bytes: u32,
    /// Set-up keys of its description: core, clock, memory and other facts.
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
    /// Paths through the node; the first that fits a trial is used.
    pub paths: Vec<PathDecl>,
    /// How frames arrive on a receive path.
    pub arrivals: ArrivalsDecl,
    /// Conditions of a test tool.
    pub tool: ToolDecl,
    /// Changes of the structure that can be requested by name.
    pub alternatives: Vec<Alternative>,
    /// Changes by `--set` since the file was read, in order.
    pub changes: Vec<String>,
    /// The path that `--set` selects, in place of the trial's.
    pub set_path_to: Option<Path>,
    /// The wait method that `--set` selects, in place of the trial's.
    pub set_wait_to: Option<Wait>,
}

/// A figure with its unit and source.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// In `unit`; finite and not negative.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// The clock parameter whose periods a unit in `clk` counts.
    pub clock: Option<String>,
    /// Its source.
    pub provenance: Provenance,
    /// The published figures that were known when this value was chosen among those that its source allows: it is a
    /// choice, and agreement with these figures is not evidence for it.
    pub chosen_after: Option<String>,
    /// How far each cause of uncertainty moves it, in `unit`: half of a 95 % interval. Parameters with a common cause
    /// move together; [`OWN`] is a parameter's own cause. Empty if nothing is known.
    pub plus_minus: BTreeMap<String, f64>,
    /// Further text.
    pub about: Option<String>,
}

/// The cause of uncertainty that a parameter has in common with no other.
pub const OWN: &str = "";

/// Where a figure comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// A document or standard.
    Source(String),
    /// Names of the calibrations it was derived from.
    CalibratedFrom(Vec<String>),
    /// Given by hand with `--set`.
    Set,
}

/// A metric that parameters can be calibrated from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalibratedMetric {
    /// The time of a frame, so the frames/s.
    Time,
    /// The CPU load.
    CpuLoad,
    /// The latency at a capture point.
    Latency,
}

impl CalibratedMetric {
    /// All of them, in the order of refusals.
    pub const ALL: [CalibratedMetric; 3] = [
        CalibratedMetric::Time,
        CalibratedMetric::CpuLoad,
        CalibratedMetric::Latency,
    ];

    /// Its word in node files.
    pub const fn word(self) -> &'static str {
        match self {
            CalibratedMetric::Time => "time",
            CalibratedMetric::CpuLoad => "cpu_load",
            CalibratedMetric::Latency => "latency",
        }
    }
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
    /// Which metric of that trial.
    pub metric: Option<CalibratedMetric>,
    /// The capture point, for a latency; `None` for all of the trial.
    pub point: Option<String>,
}

/// Something that one stage at a time can hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceDecl {
    /// Further text.
    pub about: Option<String>,
    /// Whether each port has its own.
    pub per_port: bool,
}

/// A stage: the resource it holds, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct StageDecl {
    /// The resource it holds; `None` for a pure delay.
    pub resource: Option<String>,
    /// Among stages that wait for one resource the lowest value goes first.
    pub priority: u8,
    /// Source of its structure.
    pub provenance: Provenance,
    /// Further text.
    pub about: Option<String>,
    /// The terms of its cost.
    pub cost: Vec<Cost>,
    /// Factor of the cost; 1 unless `--set stage.NAME=xFACTOR` changed it.
    pub scale: f64,
    /// The spread of its cost.
    pub spread: Option<SpreadDecl>,
    /// The parameter with the shortest time between two starts.
    pub paced: Option<String>,
    /// The parameter with the time between two looks.
    pub polled: Option<String>,
    /// Whether a frame is lost if another token is missing.
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
        /// Number of accesses.
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

/// The spread of a cost, as a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpreadDecl {
    /// Normal, with this σ.
    Normal(String),
    /// Uniform, over this whole width.
    Uniform(String),
}

/// One path through the node.
#[derive(Clone, Debug, PartialEq)]
pub struct PathDecl {
    /// Its name.
    pub name: String,
    /// The layers it serves.
    pub layers: Vec<Layer>,
    /// Transmit or receive.
    pub direction: Direction,
    /// Its kinds of buffers; empty where the file does not say.
    pub buffers: Vec<Buffers>,
    /// Its kernel path; `None` where the file does not say.
    pub path: Option<Path>,
    /// How the application waits; `None` where the file does not say.
    pub wait: Option<Wait>,
    /// Largest size it serves, in bytes of the layer's data (datagram, on Ethernet length); `None` serves every size.
    pub up_to_bytes: Option<u32>,
    /// Whether it serves a trial that names no buffers.
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
    /// Whether the limit of its rate at full speed is unknown.
    pub limit_unknown: bool,
    /// Places beside those that carry frames.
    pub rooms: Vec<TokenPool>,
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
pub struct TokenPool {
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
pub struct StageEdge {
    /// The stage.
    pub stage: String,
    /// Which end of it.
    pub edge: Edge,
}

/// A latency of each frame: from one instant to a later one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointDecl {
    /// Its name, e.g. `Rx PBUF`, or a stage between two points.
    pub name: SeriesName,
    /// Where the time begins.
    pub from: StageEdge,
    /// Where the time ends.
    pub to: StageEdge,
}

/// A sampler: sees an instant of each frame in whole ticks of its clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeDecl {
    /// Its name.
    pub name: String,
    /// The instant.
    pub at: StageEdge,
    /// The parameter that is its clock.
    pub clock: String,
}

/// How frames arrive from the tester's side; names of parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrivalsDecl {
    /// Frames in a burst.
    pub burst: Option<String>,
    /// Share of frames lost before they reach the node.
    pub lost_before: Option<String>,
}

/// Conditions of a test tool.
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
    /// Its description.
    pub what: String,
    /// Stages to replace, each with its replacement; `None` leaves the stage out.
    pub replace: BTreeMap<String, Option<String>>,
    /// Assignments in the syntax of `--set`.
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
    /// `trial` with the path and wait that `--set` selects.
    pub(crate) fn with_set(&self, trial: &Trial) -> Trial {
        Trial {
            path: self.set_path_to.or(trial.path),
            wait: self.set_wait_to.or(trial.wait),
            ..trial.clone()
        }
    }

    /// Whether `--set` changed only the selection of the path.
    pub(crate) fn is_as_read(&self) -> bool {
        let choice = |change: &String| {
            let key = change.split('=').next().unwrap_or_default().trim();
            // What is lost before the node is a condition of the trial, not another node.
            self.arrivals.lost_before.as_deref() == Some(key)
                || matches!(key, "path" | "wait") && !self.parameters.contains_key(key)
        };
        self.changes.iter().all(choice)
    }

    /// The parameter `name`, which exists in a checked file.
    ///
    /// # Errors
    /// [`Problem`] where the file was changed in code since.
    pub(crate) fn parameter(&self, name: &str) -> Result<&Parameter, String> {
        self.parameters
            .get(name)
            .ok_or_else(|| missing("parameter", name, self.parameters.keys()))
    }

    /// The period of a clock in ps, from a parameter in Hz or in time.
    pub(crate) fn period_ps(&self, name: &str) -> Result<f64, String> {
        let clock = self.parameter(name)?;
        let period = match clock.unit.kind {
            Kind::Frequency => 1e12 / (clock.value * clock.unit.factor),
            Kind::Time => clock.value * clock.unit.factor,
            _ => {
                return Err(format!(
                    "invalid clock '{name}': its unit is {}; fix: write one of Hz, kHz, MHz, GHz, or a period in ns",
                    clock.unit.name
                ));
            }
        };
        if period.is_finite() && period > 0.0 {
            Ok(period)
        } else {
            Err(format!(
                "the clock '{name}' stands still, its value is {}; fix: write a rate above 0",
                clock.value
            ))
        }
    }

    /// A parameter in time or `clk`, in ps.
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

    /// The shortest time between two events, in ps, from a parameter in time, `clk` or Hz.
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
                "'{name}' is less than a picosecond; fix: write a longer time, or leave it out"
            ))
        }
    }

    /// The period of the clock of `parameter`, which is called `name`.
    pub(crate) fn clock_of(&self, name: &str, parameter: &Parameter) -> Result<f64, String> {
        let clock = parameter.clock.as_deref().ok_or_else(|| {
            format!("'{name}' counts clk of no clock; fix: add clock = \"NAME\" with the parameter that is its clock")
        })?;
        self.period_ps(clock)
    }
}

/// The message for a unit that does not fit its use.
pub(crate) fn wrong_unit(name: &str, unit: Unit, wanted: &str) -> String {
    format!("'{name}' is in {}; fix: write {wanted}", unit.name)
}

/// How many names a message lists; the files of `nodes/` have fewer of each.
const MOST_NAMES: usize = 48;

/// The message that `name` does not exist, with the names that do.
fn missing<'k>(kind: &str, name: &str, all: impl Iterator<Item = &'k String>) -> String {
    let all: Vec<&str> = all.map(String::as_str).collect();
    let shown: String = name.chars().take(64).collect();
    if all.is_empty() {
        return format!("there is no {kind} '{shown}', and the file has none; fix: add it");
    }
    let meant = did_you_mean(name, all.iter().copied());
    let more = match all.len() > MOST_NAMES {
        true => format!(", or another of the file's {}", all.len()),
        false => String::new(),
    };
    format!(
        "there is no {kind} '{shown}'; {meant}fix: write one of {}{more}",
        all[..all.len().min(MOST_NAMES)].join(", ")
    )
}
