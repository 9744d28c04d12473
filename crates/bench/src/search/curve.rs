//! The loss curve of RFC 2544, 26.3: from the highest load down, until two successive loads have no loss.

use wirelab_trial::search::{CurveResult, LossCurve, LossPoint, SearchEnded};
use wirelab_trial::{Extent, Field, Load, Trial};

use super::asker::{Asker, SearchContext};
use super::reading::{Loss, TrialReading};
use super::refuse::{SearchError, check_limits, check_trial};

/// Successive trials without loss that end the curve (RFC 2544, 26.3).
const WITHOUT_LOSS: u32 = 2;

/// Measures the loss curve of a node: 100 % is the load of `trial`, or what the link carries where that is `max`.
///
/// # Errors
/// [`SearchError`] before the first trial, [`SearchError::NoLinkRate`] where neither load nor link is known.
pub fn loss_curve(
    context: SearchContext<'_>,
    trial: &Trial,
    curve: &LossCurve,
) -> Result<CurveResult, SearchError> {
    check(curve)?;
    check_trial(trial)?;
    let sizes = trial.sizes()?;
    let steps = (100.0 / curve.step_percent).ceil() as u64;
    // Each point may have a trial without a result before the valid one.
    let limits = (2 * steps, curve.max_time_ps);
    let mut asker = Asker::new(context, "loss curve", trial, sizes, limits);
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
                let offered = point.held_back_at_frames_per_s.is_none();
                let lossless = offered && point.loss_ratio.value() == Some(&0.0);
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
    let mut point = LossPoint {
        load_percent,
        load_frames_per_s: frames_per_s,
        held_back_at_frames_per_s: None,
        loss_ratio: Field::absent("the tester did not offer this load"),
    };
    match asker.ask(Load::FrameRate { frames_per_s }, extent, trial_ps) {
        Err(ended) => match asker.held_up() {
            Some(why) if matches!(ended, SearchEnded::Failed { .. }) => {
                point.loss_ratio = Field::absent(why);
            }
            _ => return Err(ended),
        },
        Ok(reading) => {
            point.held_back_at_frames_per_s =
                reading.sent_frames_per_s.filter(|_| reading.held_back);
            if !reading.tester_was_limit {
                point.loss_ratio = loss(&reading);
            }
        }
    }
    Ok(point)
}

/// The loss at the offered load; frames that the path did not take were not offered.
fn loss(reading: &TrialReading) -> Field<f64> {
    let Loss { ratio, at_most } = reading.loss_of_sent;
    if reading.loss_of_sent.is_in_doubt() {
        return Field::absent(format!(
            "the tester's own queue dropped frames: between {ratio:.4} and {at_most:.4} were lost"
        ));
    }
    if reading.held_back && ratio > 0.0 && reading.held_back_at().is_none() {
        return Field::absent(
            "the path held the flows back to different loads, so their loss has no single load",
        );
    }
    Field::Observed {
        value: ratio,
        kind: reading.kind,
    }
}

fn check(curve: &LossCurve) -> Result<(), SearchError> {
    let bad = |field, why| Err(SearchError::Goal { field, why });
    if curve.trial_ps == 0 {
        return bad("trial_ps", "a trial must take some time; fix: give e.g. 1s");
    }
    if !(0.1..=10.0).contains(&curve.step_percent) {
        return bad(
            "step_percent",
            "it is not one of RFC 2544, 26.3; fix: give 0.1 to 10",
        );
    }
    check_limits(1, curve.max_time_ps)
}
