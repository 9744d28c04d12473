//! The results of a rate search: plain data with the unit in each name, every figure with its kind.

use serde::{Deserialize, Serialize};
use wirelab_wire::Sizes;

use super::goal::{Goal, Search};
use crate::field::Field;
use crate::trial::Trial;

/// The origin of the highest load of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MaxLoadSource {
    /// What the link carries.
    Link,
    /// The load of the given trial.
    Asked,
    /// The rate of the tester against itself.
    TesterCeiling,
    /// The sent rate at load `max`, because nothing else is known.
    MaxTrial,
}

/// The highest allowed load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MaxLoad {
    /// Frames/s on each flow.
    pub frames_per_s: f64,
    /// Its origin.
    pub set_by: MaxLoadSource,
}

/// A short record of a trial of a search; its observation went to the sink.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrialRecord {
    /// Requested load on each flow in frames/s; `None` at load `max`.
    pub load_frames_per_s: Option<f64>,
    /// Requested length, in ps; for a burst its time at line rate.
    pub trial_ps: u64,
    /// Frames sent on all flows.
    pub sent_frames: Field<u64>,
    /// Share of frames that did not arrive, 0 to 1, of the flow with the largest. Where the node sends, or the path
    /// held the sender back, requested frames that were not sent count as lost.
    pub loss_ratio: Field<f64>,
    /// Frames/s that arrived, of the slowest flow.
    pub forwarding_frames_per_s: Field<f64>,
    /// Whether the tester fell behind the load or was at its ceiling: such a trial shows nothing about the node.
    pub tester_was_limit: bool,
    /// Whether the path held a sender back: the load was not offered, and the loss ratio is of the sent frames.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub held_back: bool,
    /// Why the trial has no result.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub problem: Option<String>,
}

/// What limits the rate of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The node loses more above it.
    Node,
    /// The link carries no more.
    Link,
    /// The search had no higher load.
    Asked,
    /// The tester offers no more; the node may be faster.
    Tester,
    /// The link or the node holds the sender back; they carry what they take.
    Path,
}

/// The outcome for a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The bounds lie within the goal's width, or the highest load meets the goal.
    Found,
    /// Even the smallest load loses more: there is no such rate.
    NoLowerBound,
    /// The tester could not offer even the smallest load.
    TesterTooSlow,
    /// The search ended early, or the tester offered no load between the bounds; the bounds are what is known.
    Unfinished,
}

/// The result for one goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GoalResult {
    /// The goal.
    pub goal: Goal,
    /// Its outcome.
    pub outcome: Outcome,
    /// What limits it; absent where the outcome is not `found`, except for an unfinished one that the tester left wide.
    pub limited_by: Field<Limit>,
    /// Largest load on each flow, in frames/s, that meets the goal below the upper bound (RFC 9971).
    pub relevant_lower_bound_frames_per_s: Field<f64>,
    /// Smallest load on each flow, in frames/s, that does not meet it (RFC 9971).
    pub relevant_upper_bound_frames_per_s: Field<f64>,
    /// (upper − lower) / upper, as reached.
    pub width_ratio: Field<f64>,
    /// The result: frames/s of each flow that arrived at the relevant lower bound, in the worst trial that the exceed
    /// ratio leaves (RFC 9971). Absent where the search ended early: then there are only the bounds.
    pub conditional_throughput_frames_per_s: Field<f64>,
    /// The same in payload bits per second (what follows the Ethernet header).
    pub conditional_throughput_payload_bits_per_s: Field<f64>,
    /// The same in application bits per second; absent on Ethernet trials.
    pub conditional_throughput_goodput_bits_per_s: Field<f64>,
    /// Full trials at the relevant lower bound.
    pub lower_bound_trials: u64,
    /// Trials for this goal, short ones included.
    pub trials: u64,
    /// Whether a load above the relevant upper bound meets the goal: the loss does not grow with the load.
    pub not_monotone: bool,
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SearchEnded {
    /// It ended normally.
    Done,
    /// Cancelled from outside.
    Interrupted,
    /// The limit of trials was reached.
    TrialLimit,
    /// The next trial would have exceeded the limit of time.
    TimeLimit,
    /// The node cannot do such trials; the field and the fix are in the text.
    Unsupported {
        /// The reason.
        why: String,
    },
    /// No further trial could have succeeded, or an observation could not be kept.
    Failed {
        /// The reason.
        why: String,
    },
}

/// The result of a rate search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SearchResult {
    /// The node's name.
    pub node: String,
    /// The given trial; its load and extent are replaced.
    pub trial: Trial,
    /// All four sizes of its frames.
    pub sizes: Sizes,
    /// Goals and limits.
    pub search: Search,
    /// Smallest allowed load on each flow, in frames/s; `None` where the search ended before it was known.
    pub min_load_frames_per_s: Option<f64>,
    /// Highest allowed load; `None` where the search ended before it was known.
    pub max_load: Option<MaxLoad>,
    /// One result for each goal, in the order of the goals.
    pub goals: Vec<GoalResult>,
    /// Every trial in its order, warm-up not included.
    pub trials: Vec<TrialRecord>,
    /// Requested time of all trials, warm-up included, in ps.
    pub asked_ps: u64,
    /// How it ended.
    pub ended: SearchEnded,
}
