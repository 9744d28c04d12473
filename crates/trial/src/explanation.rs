//! Why a node does what it does, as plain data: a model or measurements fill it in, a report draws it.
//!
//! Field names are stable and say their unit; the JSON of an [`Explanation`] is made of them. Times of a closed form
//! are means of whole circuits, so they need not be whole picoseconds.

use serde::Serialize;

use crate::field::Kind;
use crate::trial::{Direction, Trial};
use crate::way::Wait;
use wirelab_wire::{Layer, SizeUnit, Sizes};

/// How a period was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The maximum cycle ratio of the marked graph, exactly.
    ClosedForm,
    /// Frames played one by one.
    Simulation,
}

/// What limits, in a word for scripts.
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
    /// Nothing in the node: no more is offered.
    Load,
    /// Frames are lost before or in the node.
    Loss,
}

/// What limits, and the sentences that say so.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// In a word.
    pub kind: LimitKind,
    /// The resource, the stage or the place it is.
    pub name: String,
    /// One sentence.
    pub answer: String,
    /// What else must be known to act on it, a sentence each.
    pub because: Vec<String>,
}

/// Where a parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// From a source that can be looked up.
    Sourced,
    /// Derived from published or measured figures.
    Calibrated,
    /// Given by hand.
    Set,
}

/// A parameter that a cost is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UsedParameter {
    /// Its name in the node file.
    pub name: String,
    /// Value with unit, as the file has them.
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
    /// What it is made of.
    pub parameters: Vec<UsedParameter>,
}

/// A stage in the steady state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageShare {
    /// Its name.
    pub name: String,
    /// What it holds; `None` for a mere delay.
    pub resource: Option<String>,
    /// Its cost a frame.
    pub cost_ps: u64,
    /// Its cost over the period, 0 to 1; a delay that several frames share may have more.
    pub share_ratio: f64,
    /// Whether the period is made of it.
    pub critical: bool,
    /// By how much it may grow before the period does; 0 on the critical circuit, `None` where only the simulation
    /// tells the period.
    pub may_grow_ps: Option<u64>,
    /// How long a frame waits before it on average; `None` where the closed form tells the period.
    pub waits_ps: Option<f64>,
    /// What its cost is the sum of.
    pub terms: Vec<CostTerm>,
}

/// How busy a resource is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResourceUse {
    /// Its name.
    pub name: String,
    /// Share of the time that a stage holds it, 0 to 1.
    pub busy_ratio: f64,
}

/// Stages of which each waits for the one before it, round to the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Circuit {
    /// Its stages in order.
    pub stages: Vec<String>,
    /// Sum of their costs.
    pub cost_ps: u64,
    /// Frames that may be in it at once.
    pub tokens: u64,
    /// Cost over tokens: the period it would have by itself.
    pub period_ps: f64,
    /// What the tokens are: a place of the node file, or a resource.
    pub closed_by: String,
    /// The circuit in words.
    pub words: String,
}

/// What works while something else is waited for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hidden {
    /// Stages of one resource, or one delay, that do not show in the period.
    pub stages: Vec<String>,
    /// Critical stages that run meanwhile.
    pub behind: Vec<String>,
    /// By how much they may grow together before that limits; `None` where only the simulation tells the period.
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
    /// When it begins; may be before the picture.
    pub start_ps: u64,
    /// When it ends; may be after the picture.
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

/// What one resource does; a delay without a resource has lanes of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lane {
    /// The resource, or the stage that needs none.
    pub name: String,
    /// In order of their start; boxes of one lane do not overlap.
    pub boxes: Vec<StageBox>,
}

/// Two periods of the steady state, or where a node rests for most of them, the time in which it works.
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

/// What a ceiling comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CeilingLaw {
    /// The link: bits of data over bits of the link.
    Wire,
    /// A cost of each frame whatever its size.
    PerPacket,
    /// A cost of each byte.
    PerByte,
}

/// The most that one law lets through at each size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ceiling {
    /// The resource or what else it is of.
    pub name: String,
    /// Its law.
    pub law: CeilingLaw,
    /// Cost of each frame for [`CeilingLaw::PerPacket`], of each byte for [`CeilingLaw::PerByte`]; 0 for the wire.
    pub cost_ps: f64,
    /// Size in bytes and bit/s, by size.
    pub curve: Vec<(u32, f64)>,
}

/// What came of one size.
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
    /// What limits it, in few words.
    pub limited_by: String,
}

/// Bit/s against size under the ceilings of the node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Roofline {
    /// What the sizes count, payload or datagram.
    pub unit: SizeUnit,
    /// Ceilings.
    pub ceilings: Vec<Ceiling>,
    /// Points, by size.
    pub points: Vec<RooflinePoint>,
}

/// Why a model does what it does in one trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The node.
    pub node: String,
    /// The node in a line.
    pub title: String,
    /// What was asked.
    pub trial: Trial,
    /// Sizes of the frames that are really sent.
    pub sizes: Sizes,
    /// Where the period comes from.
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
    /// What limits.
    pub limit: Limit,
    /// The circuit that makes the period; `None` where only the simulation tells it.
    pub circuit: Option<Circuit>,
    /// What would limit if the critical circuit did not, slowest first.
    pub next: Vec<Circuit>,
    /// Every stage, in order of a frame's way.
    pub stages: Vec<StageShare>,
    /// Every resource.
    pub resources: Vec<ResourceUse>,
    /// What is hidden behind what.
    pub hidden: Vec<Hidden>,
    /// What a reader must know beside: a raised datagram, what the model leaves out.
    pub notes: Vec<String>,
    /// Two periods.
    pub timeline: Timeline,
    /// The packet roofline.
    pub roofline: Roofline,
}

/// One measured figure and what can be said of it.
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
    /// Share of frames that were lost; `None` where nobody counted.
    pub loss_ratio: Option<f64>,
    /// CPU load of the node, 0 to 1; `None` where it is not known.
    pub cpu_ratio: Option<f64>,
    /// Where the figure comes from.
    pub kind: Kind,
    /// What limits it, in a word, where that can be told.
    pub limit: Option<ReadingLimit>,
    /// A sentence: what limits it, or why that cannot be told.
    pub words: String,
}

/// What a measured figure is limited by.
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
    /// No more was offered.
    Load,
}

/// Readings that can be compared: one node, one framing, one direction, one kind of buffers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReadingGroup {
    /// What the readings have in common, in words.
    pub title: String,
    /// Each figure, by size and load.
    pub readings: Vec<Reading>,
    /// What can be said of them together, a sentence each.
    pub findings: Vec<String>,
    /// What cannot be told from them, and what to measure for it.
    pub open: Vec<String>,
    /// Measured points under the ceilings that were found.
    pub roofline: Roofline,
}

/// What the fast track gains at one size: as the stages of the stack predict it, and as it was measured.
///
/// Times are middles, from the driver to the application.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FastTrackGain {
    /// The node's name.
    pub node: String,
    /// The layer.
    pub layer: Layer,
    /// How the application waits, both ways alike.
    pub wait: Wait,
    /// Length of the frames in bytes, without FCS.
    pub length_bytes: u32,
    /// Through the stack, measured.
    pub stack_measured_ps: u64,
    /// Past the stack, predicted: through the stack less the stages that are skipped. Nothing that was measured of the
    /// fast track has a part in it.
    pub predicted_ps: u64,
    /// Past the stack, measured; `None` where that was not measured.
    pub measured_ps: Option<u64>,
    /// What the skipped stages take: the gain that is predicted.
    pub predicted_gain_ps: u64,
    /// The gain that was measured, below 0 where the fast track is slower.
    pub measured_gain_ps: Option<i64>,
    /// Predicted over measured time past the stack less 1, in percent.
    pub error_percent: Option<f64>,
}

/// What a results file says of its nodes without a model of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultsExplanation {
    /// Comparable readings.
    pub groups: Vec<ReadingGroup>,
    /// Explanations by models, where the results came from such.
    pub models: Vec<Explanation>,
    /// Trials of which nothing can be said, and why.
    pub left_out: Vec<String>,
    /// What the fast track gains, where the stages of the stack were measured.
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
