//! Explains the speed of a node, as plain data: a model or measurements compute it, a report draws it.
//!
//! Field names are stable and say their unit; the JSON of an [`Explanation`] is made of them. Times of a closed form
//! are means over whole circuits, so they need not be whole picoseconds.

use serde::Serialize;

use crate::field::Kind;
use crate::node_path::Wait;
use crate::trial::{Direction, Trial};
use wirelab_wire::{Layer, SizeUnit, Sizes};

/// How a period was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The maximum cycle ratio of the marked graph, exactly.
    ClosedForm,
    /// Frames simulated one by one.
    Simulation,
}

/// What limits, as a word for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// The link.
    Wire,
    /// One resource of the node that is never idle.
    Resource,
    /// No resource: each frame waits for an earlier one, because too few are in flight.
    InFlight,
    /// The shortest time between two starts of a paced or polled stage.
    Pace,
    /// The load: nothing in the node limits.
    Load,
    /// Frames are lost before or in the node.
    Loss,
}

/// What limits, with sentences for a reader.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// The kind of limit.
    pub kind: LimitKind,
    /// The resource, stage or place that limits.
    pub name: String,
    /// The limit in a few words, the same in every report.
    pub words: String,
    /// One sentence.
    pub answer: String,
    /// Further facts that a user needs to act on it, one sentence each.
    pub because: Vec<String>,
}

/// The origin of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// A source that can be looked up.
    Sourced,
    /// Derived from published or measured figures.
    Calibrated,
    /// Set by the user.
    Set,
}

/// A parameter of a cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UsedParameter {
    /// Its name in the node file.
    pub name: String,
    /// Value with unit, as in the file.
    pub value: String,
    /// Where it comes from.
    pub provenance: Provenance,
    /// The source, or the calibrations, in words.
    pub from: String,
}

/// A term of a stage's cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CostTerm {
    /// `constant`, `bytes`, `accesses` or `link`.
    pub law: String,
    /// In words, e.g. `379 words x 4.5 clk at 100 MHz`.
    pub words: String,
    /// Its cost.
    pub cost_ps: u64,
    /// Its parameters.
    pub parameters: Vec<UsedParameter>,
}

/// A stage in the steady state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageShare {
    /// Its name.
    pub name: String,
    /// The resource it holds; `None` for a pure delay.
    pub resource: Option<String>,
    /// Its cost per frame.
    pub cost_ps: u64,
    /// Its cost over the period, 0 to 1; a delay that several frames share may exceed 1.
    pub share_ratio: f64,
    /// Whether it is critical for the period.
    pub critical: bool,
    /// How much it may grow before the period does; 0 on the critical circuit, `None` where only the simulation gives
    /// the period.
    pub may_grow_ps: Option<u64>,
    /// Mean time that a frame waits before it; `None` where the closed form gives the period.
    pub waits_ps: Option<f64>,
    /// The terms of its cost.
    pub terms: Vec<CostTerm>,
}

/// How busy a resource is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResourceUse {
    /// Its name.
    pub name: String,
    /// Share of the time in which a stage holds it, 0 to 1.
    pub busy_ratio: f64,
}

/// Stages that each wait for the one before, in a circle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Circuit {
    /// Its stages in order.
    pub stages: Vec<String>,
    /// Sum of their costs.
    pub cost_ps: u64,
    /// Frames that may be in it at once.
    pub tokens: u64,
    /// Cost over tokens: the period if only this circuit limited.
    pub period_ps: f64,
    /// The meaning of the tokens: a place of the node file, or a resource.
    pub closed_by: String,
    /// The circuit in words.
    pub words: String,
}

/// Work that is hidden behind a wait.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hidden {
    /// Stages of one resource, or one delay, that do not affect the period.
    pub stages: Vec<String>,
    /// Critical stages that run at the same time.
    pub behind: Vec<String>,
    /// How much they may grow together before that limits; `None` where only the simulation gives the period.
    pub may_grow_ps: Option<u64>,
    /// In words.
    pub words: String,
}

/// A frame in a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageBox {
    /// The stage.
    pub stage: String,
    /// Number of the first frame it takes; `None` where it takes none.
    pub frame: Option<u64>,
    /// Frames it takes at once.
    pub frames: u32,
    /// Its start; may be before the picture.
    pub start_ps: u64,
    /// Its end; may be after the picture.
    pub end_ps: u64,
    /// Whether the stage is on the critical circuit.
    pub critical: bool,
}

impl StageBox {
    /// The frames in it, e.g. `12` or `12-19`; empty where it takes none.
    pub fn frame_words(&self) -> String {
        match (self.frame, self.frames) {
            (None, _) => String::new(),
            (Some(first), 0 | 1) => first.to_string(),
            (Some(first), n) => format!("{first}-{}", first.saturating_add(u64::from(n) - 1)),
        }
    }
}

/// The work of one resource; a delay without a resource has its own lanes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lane {
    /// The resource, or the stage without one.
    pub name: String,
    /// In order of their start; boxes of one lane do not overlap.
    pub boxes: Vec<StageBox>,
}

/// Two periods of the steady state; if the node is idle for most of that, the time in which it works.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timeline {
    /// Left edge, simulated time.
    pub start_ps: u64,
    /// Right edge.
    pub end_ps: u64,
    /// The period.
    pub period_ps: f64,
    /// One for each resource in use.
    pub lanes: Vec<Lane>,
}

/// The law of a ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CeilingLaw {
    /// The link: bits of data over bits of the link.
    Wire,
    /// A cost of each frame, independent of its size.
    PerPacket,
    /// A cost of each byte.
    PerByte,
}

/// The most that one law allows at each size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ceiling {
    /// Its resource or other origin.
    pub name: String,
    /// Its law.
    pub law: CeilingLaw,
    /// Cost of each frame for [`CeilingLaw::PerPacket`], of each byte for [`CeilingLaw::PerByte`]; 0 for the wire.
    pub cost_ps: f64,
    /// Size in bytes and bit/s, by size.
    pub curve: Vec<(u32, f64)>,
}

/// The result for one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RooflinePoint {
    /// Size in bytes, in the unit of the roofline.
    pub bytes: u32,
    /// Bit/s of data of that unit.
    pub bits_per_s: f64,
    /// Measured, predicted or calibrated.
    pub kind: Kind,
    /// As the node sees it.
    pub direction: Direction,
    /// What limits it, in a few words.
    pub limited_by: String,
}

/// Bit/s as a function of size, under the ceilings of the node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Roofline {
    /// The unit of the sizes, payload or datagram.
    pub unit: SizeUnit,
    /// Ceilings.
    pub ceilings: Vec<Ceiling>,
    /// Points, by size.
    pub points: Vec<RooflinePoint>,
}

/// The explanation of a model's result in one trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The node.
    pub node: String,
    /// The node in one line.
    pub title: String,
    /// The requested trial.
    pub trial: Trial,
    /// Sizes of the frames that are really sent.
    pub sizes: Sizes,
    /// How the period was found.
    pub basis: Basis,
    /// Predicted, or calibrated where the model was fitted to this very trial.
    pub kind: Kind,
    /// Time between two frames of a flow on average.
    pub period_ps: f64,
    /// Frames/s of each flow.
    pub frames_per_s: f64,
    /// Bit/s of each flow: payload on Ethernet, application data on UDP and TCP.
    pub bits_per_s: f64,
    /// Bits on the link over the link rate, 0 to 1; `None` without a link.
    pub link_use_ratio: Option<f64>,
    /// Share of frames that are lost, 0 to 1.
    pub loss_ratio: f64,
    /// The limit of the rate.
    pub limit: Limit,
    /// The circuit that defines the period; `None` where only the simulation gives it.
    pub circuit: Option<Circuit>,
    /// What would limit if the critical circuit did not, slowest first.
    pub next: Vec<Circuit>,
    /// Every stage, in the order in which a frame meets them.
    pub stages: Vec<StageShare>,
    /// Every resource.
    pub resources: Vec<ResourceUse>,
    /// What is hidden behind what.
    pub hidden: Vec<Hidden>,
    /// Further notes: a raised datagram, what the model leaves out.
    pub notes: Vec<String>,
    /// Two periods.
    pub timeline: Timeline,
    /// The packet roofline.
    pub roofline: Roofline,
}

/// One measured figure and its interpretation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// Number of the trial in the file, from 1.
    pub trial: usize,
    /// The node's port.
    pub port: String,
    /// Size in bytes, in the unit of the group's roofline.
    pub bytes: u32,
    /// Bit/s of data.
    pub bits_per_s: f64,
    /// Frames/s.
    pub frames_per_s: f64,
    /// Share of frames that were lost; `None` where it was not counted.
    pub loss_ratio: Option<f64>,
    /// CPU load of the node, 0 to 1; `None` where it is not known.
    pub cpu_ratio: Option<f64>,
    /// Where the figure comes from.
    pub kind: Kind,
    /// What limits it, where known.
    pub limit: Option<ReadingLimit>,
    /// A sentence: what limits it, or why that is unknown.
    pub words: String,
}

/// What limits a measured figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadingLimit {
    /// The link.
    Wire,
    /// A cost of each frame.
    PerPacket,
    /// A cost of each byte.
    PerByte,
    /// The node's CPU.
    Cpu,
    /// The tester, not the node.
    Tester,
    /// The offered load.
    Load,
}

/// Comparable readings: one node, one framing, one direction, one kind of buffers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReadingGroup {
    /// What the readings have in common, in words.
    pub title: String,
    /// Each figure, by size and load.
    pub readings: Vec<Reading>,
    /// Findings from all of them, one sentence each.
    pub findings: Vec<String>,
    /// Unknowns, each with what to measure.
    pub open: Vec<String>,
    /// Measured points under the ceilings found.
    pub roofline: Roofline,
}

/// The gain of the fast track at one size: predicted from the stages of the stack, and measured.
///
/// Times are medians, from the driver to the application.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FastTrackGain {
    /// The node's name.
    pub node: String,
    /// The layer.
    pub layer: Layer,
    /// How the application waits, the same on both paths.
    pub wait: Wait,
    /// Length of the frames in bytes, without FCS.
    pub length_bytes: u32,
    /// Through the stack, measured.
    pub stack_measured_ps: u64,
    /// Past the stack, predicted: through the stack minus the skipped stages. No measurement of the fast track is used.
    pub predicted_ps: u64,
    /// Past the stack, measured; `None` where that was not measured.
    pub measured_ps: Option<u64>,
    /// The time of the skipped stages: the predicted gain.
    pub predicted_gain_ps: u64,
    /// The measured gain, negative where the fast track is slower.
    pub measured_gain_ps: Option<i64>,
    /// Predicted over measured time past the stack minus 1, in percent.
    pub error_percent: Option<f64>,
}

/// An explanation of the nodes in a results file without a model of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultsExplanation {
    /// Comparable readings.
    pub groups: Vec<ReadingGroup>,
    /// Explanations by models, where the results are from models.
    pub models: Vec<Explanation>,
    /// Trials without an explanation, and why.
    pub left_out: Vec<String>,
    /// The gain of the fast track, where the stages of the stack were measured.
    pub fast_track: Vec<FastTrackGain>,
}

impl Explanation {
    /// Pretty-printed JSON with a line end.
    pub fn to_json(&self) -> String {
        json(self)
    }
}

impl ResultsExplanation {
    /// Pretty-printed JSON with a line end.
    pub fn to_json(&self) -> String {
        json(self)
    }
}

pub(crate) fn json(data: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(data).expect("plain data always serialise");
    text.push('\n');
    text
}
