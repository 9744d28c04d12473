//! The gain of each change to a node, as plain data: a model computes it, a report shows it.
//!
//! Field names are stable and say their unit; the JSON of a [`Whatif`] is made of them.

use serde::Serialize;

use crate::explanation::Basis;
use crate::field::Kind;
use crate::trial::Trial;
use crate::words::words;
use wirelab_wire::Sizes;

/// What changes are ranked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aim {
    /// More frames/s.
    Throughput,
    /// Less loss, then less CPU load, at a given load.
    Load,
    /// Less time to a capture point.
    Latency,
}

words!(Aim, "order of --by",
    "throughput" => Aim::Throughput, "load" => Aim::Load, "latency" => Aim::Latency);

/// The figure of a gain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gain {
    /// Frames/s that pass, of all flows together.
    FramesPerS,
    /// Share of frames that are lost.
    Loss,
    /// CPU load.
    CpuLoad,
    /// Mean latency at the capture point.
    Latency,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// One more token: a second frame in flight where there was one, a descriptor, a buffer, a client.
    Token,
    /// An alternative that the node file names.
    Alternative,
    /// A clock 20 % faster.
    Clock,
    /// A stage in half the time.
    Stage,
    /// An assignment by the user.
    Own,
    /// Two changes at once.
    Pair,
}

/// Mean time to a capture point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointLatency {
    /// The capture point.
    pub point: String,
    /// Mean in ps.
    pub mean_ps: f64,
    /// Predicted, or calibrated where the model was fitted to this figure.
    pub kind: Kind,
}

/// The node's result, before or after a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhatifFigures {
    /// Frames/s that pass, of all flows together.
    pub frames_per_s: f64,
    /// Bit/s of all flows together: payload on Ethernet, application data on UDP and TCP.
    pub bits_per_s: f64,
    /// Predicted, or calibrated where the model was fitted to this trial's time; for rate and loss.
    pub kind: Kind,
    /// Share of frames that are lost, 0 to 1.
    pub loss_ratio: f64,
    /// CPU load, 0 to 1; `None` where the model does not say which resource is the CPU.
    pub cpu_load_ratio: Option<f64>,
    /// Predicted, or calibrated where the model was fitted to this trial's CPU load.
    pub cpu_load_kind: Kind,
    /// Latency of one frame at a time, or at the trial's load, at each capture point.
    pub latency: Vec<PointLatency>,
    /// Whether rates come from the closed form or the simulation.
    pub basis: Basis,
    /// What limits the rate of the first flow, in a few words: those of its explanation.
    pub limited_by: String,
}

/// A change, and its gain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Its kind.
    pub kind: ChangeKind,
    /// In words.
    pub what: String,
    /// Its assignments, each as a shell takes one `--set`.
    pub set: Vec<String>,
    /// The figure of the gain.
    pub gain: Gain,
    /// Improvement of the figure, in percent of its old value; negative where it is worse.
    pub gain_percent: f64,
    /// The node's result with the change.
    pub after: WhatifFigures,
    /// Why it gains nothing or costs something.
    pub why_not: Option<String>,
}

/// A change that could not be tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Untried {
    /// The change in words.
    pub what: String,
    /// The reason.
    pub why: String,
}

/// Every tried change of a node in one trial, the best first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Whatif {
    /// The node.
    pub node: String,
    /// The node in one line.
    pub title: String,
    /// The requested trial.
    pub trial: Trial,
    /// Sizes of the frames that are really sent.
    pub sizes: Sizes,
    /// The criterion for the ranking.
    pub aim: Aim,
    /// The capture point they are ranked by, where it is latency.
    pub point: Option<String>,
    /// The node's result without changes.
    pub baseline: WhatifFigures,
    /// Single changes, the best first.
    pub singles: Vec<Change>,
    /// Pairs of the best singles, the best first.
    pub pairs: Vec<Change>,
    /// Changes that do not fit this trial.
    pub untried: Vec<Untried>,
    /// Further notes for the reader.
    pub notes: Vec<String>,
}

impl Whatif {
    /// Pretty-printed JSON with a line end.
    pub fn to_json(&self) -> String {
        crate::explanation::json(self)
    }

    /// These results with only the best `top` changes that gain, and with all that do not; 0 keeps all.
    #[must_use]
    pub fn best(&self, top: usize) -> Whatif {
        let mut whatif = self.clone();
        if top == 0 {
            return whatif;
        }
        for changes in [&mut whatif.singles, &mut whatif.pairs] {
            let mut gaining = 0;
            changes.retain(|change| {
                gaining += usize::from(change.why_not.is_none());
                change.why_not.is_some() || gaining <= top
            });
        }
        whatif
    }
}
