//! The loss curve of RFC 2544, 26.3: from the highest load down, until nothing is lost twice in a row.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelab_trial::{Extent, Field, Load, Sizes, Trial};

use super::asker::{Asker, Asking};
use super::goal::{SearchError, check_limits, check_trial};
use super::result::{SearchEnded, TrialRecord};

/// Successive trials without loss that end the curve (RFC 2544, 26.3).
const WITHOUT_LOSS: u32 = 2;

/// How to take a loss curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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

    fn check(&self) -> Result<(), SearchError> {
        let bad = |field, why| Err(SearchError::Goal { field, why });
        if self.trial_ps == 0 {
            return bad("trial_ps", "a trial lasts some time: give e.g. 1s");
        }
        if !(0.1..=10.0).contains(&self.step_percent) {
            return bad("step_percent", "it is from 0.1 to 10 (RFC 2544, 26.3)");
        }
        check_limits(1, self.max_time_ps)
    }
}

/// One load of the curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossPoint {
    /// Load in percent of the highest.
    pub load_percent: f64,
    /// Load on each flow in frames/s.
    pub load_frames_per_s: f64,
    /// Share of frames that did not arrive, 0 to 1; absent where the tester did not offer the load.
    pub loss_ratio: Field<f64>,
}

/// What came of a loss curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveResult {
    /// The node's name.
    pub node: String,
    /// The trial that was given; its load and extent were replaced.
    pub trial: Trial,
    /// All four sizes of its frames.
    pub sizes: Sizes,
    /// How it was taken.
    pub curve: LossCurve,
    /// 100 %: the load of the trial, or what the link carries, in frames/s of each flow.
    pub max_load_frames_per_s: f64,
    /// The curve, highest load first.
    pub points: Vec<LossPoint>,
    /// Whether the last two points lost nothing, as RFC 2544 asks; `false` also where the loads ran out.
    pub ends_without_loss: bool,
    /// Every trial in its order.
    pub trials: Vec<TrialRecord>,
    /// Time of all trials as asked, in ps.
    pub asked_ps: u64,
    /// How it ended.
    pub ended: SearchEnded,
}

/// Take the loss curve of a node: 100 % is the load of `trial`, or what the link carries where that is `max`.
///
/// # Errors
/// [`SearchError`] before the first trial, [`SearchError::NoLinkRate`] where neither load nor link is known.
pub fn loss_curve(
    asking: Asking<'_>,
    trial: &Trial,
    curve: &LossCurve,
) -> Result<CurveResult, SearchError> {
    curve.check()?;
    check_trial(trial)?;
    let sizes = trial.sizes()?;
    let steps = (100.0 / curve.step_percent).ceil() as u64;
    // Each point may have a trial without a result before the one that counts.
    let limits = (2 * steps, curve.max_time_ps);
    let mut asker = Asker::new(asking, "loss curve", trial, sizes, limits);
    let asked = trial
        .load
        .frames_per_s(&sizes, trial.framing.layer, asker.link)?;
    let carried = asker.link.map(|link| link.frames_per_s(&sizes));
    let max = asked.or(carried).ok_or(SearchError::NoLinkRate)?;
    asker.at_most_ps = curve.trial_ps.saturating_mul(steps).min(curve.max_time_ps);
    let mut points = Vec::new();
    let mut without_loss = 0;
    let mut ended = SearchEnded::Done;
    for step in 0..steps {
        let load_percent = 100.0 - step as f64 * curve.step_percent;
        match point(&mut asker, curve.trial_ps, load_percent, max) {
            Ok(point) => {
                let lossless = point.loss_ratio.value() == Some(&0.0);
                without_loss = if lossless { without_loss + 1 } else { 0 };
                points.push(point);
            }
            Err(why) => {
                ended = why;
                break;
            }
        }
        if without_loss == WITHOUT_LOSS {
            break;
        }
    }
    Ok(CurveResult {
        node: asker.description.name,
        trial: trial.clone(),
        sizes,
        curve: curve.clone(),
        max_load_frames_per_s: max,
        points,
        ends_without_loss: without_loss == WITHOUT_LOSS,
        trials: asker.records,
        asked_ps: asker.asked_ps,
        ended,
    })
}

fn point(
    asker: &mut Asker,
    trial_ps: u64,
    load_percent: f64,
    max: f64,
) -> Result<LossPoint, SearchEnded> {
    let frames_per_s = max * load_percent / 100.0;
    let extent = Extent::Time { time_ps: trial_ps };
    let told = asker.ask(Load::FrameRate { frames_per_s }, extent, trial_ps)?;
    Ok(LossPoint {
        load_percent,
        load_frames_per_s: frames_per_s,
        loss_ratio: if told.tester_was_limit {
            Field::absent("the tester did not offer this load")
        } else {
            Field::Observed {
                value: told.loss_ratio,
                kind: told.kind,
            }
        },
    })
}
