//! The loss curve of RFC 2544, 26.3: parameters and results.

use serde::{Deserialize, Serialize};
use wirelab_wire::Sizes;

use super::rates::{SearchEnded, TrialRecord};
use crate::field::Field;
use crate::trial::Trial;

/// Parameters of a loss curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LossCurve {
    /// Length of each trial, in ps.
    pub trial_ps: u64,
    /// Step from load to load in percent of the highest, 0.1 to 10 (RFC 2544: at most 10 %).
    pub step_percent: f64,
    /// Most time of all trials together, in ps.
    pub max_time_ps: u64,
}

impl LossCurve {
    /// Steps of 10 %, at most an hour.
    pub const fn new(trial_ps: u64) -> LossCurve {
        LossCurve {
            trial_ps,
            step_percent: 10.0,
            max_time_ps: 3_600_000_000_000_000,
        }
    }
}

/// One load of the curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LossPoint {
    /// Load in percent of the highest.
    pub load_percent: f64,
    /// Load on each flow in frames/s.
    pub load_frames_per_s: f64,
    /// Where the path held the sender back: the frames/s of the slowest sent flow. It is the load of the point.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub held_back_at_frames_per_s: Option<f64>,
    /// Share of the sent frames that did not arrive, 0 to 1; absent where the tester did not offer the load.
    pub loss_ratio: Field<f64>,
}

/// The result of a loss curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CurveResult {
    /// The node's name.
    pub node: String,
    /// The given trial; its load and extent are replaced.
    pub trial: Trial,
    /// All four sizes of its frames.
    pub sizes: Sizes,
    /// Its parameters.
    pub curve: LossCurve,
    /// 100 %: the load of the trial, or what the link carries, in frames/s of each flow.
    pub max_load_frames_per_s: f64,
    /// The curve, highest load first.
    pub points: Vec<LossPoint>,
    /// Whether the last two points have no loss, as RFC 2544 requires; `false` also where the loads ended, or were held
    /// back.
    pub ends_without_loss: bool,
    /// Every trial in its order.
    pub trials: Vec<TrialRecord>,
    /// Requested time of all trials, in ps.
    pub asked_ps: u64,
    /// How it ended.
    pub ended: SearchEnded,
}
