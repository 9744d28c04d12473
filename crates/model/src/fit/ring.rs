//! The depth of the receive ring, from short overloaded trials: frames that were neither served nor lost are in the
//! ring.

use wirelab_trial::{Interval, WarningCode};

use super::Fitted;
use super::figures::Report;
use super::gather::{FitPoint, PathKey};

/// A trial is short if it takes at most this share of the time of the trial that shows the service rate. The ring then
/// holds a much larger part of its frames.
const SHORT: f64 = 0.1;
/// Uncertainty of service and offered rate, where repeats do not show a larger one.
const RATE_ERROR: f64 = 0.005;
/// Largest relative half width of a depth that is still reported.
const ANSWER: f64 = 0.5;

/// The result of one trial: the depth with its half width, or a lower bound.
struct Bound {
    depth: f64,
    half: f64,
    lost: bool,
}

/// Descriptors of the ring of a receive path, where the observations show it. `limited` are the long overloaded trials.
///
/// In a trial of n frames, offered at λ and served at μ < λ, the backlog at its end is n·(1 − μ/λ) − lost. If frames
/// were lost, the ring was full; else it is at least as deep.
pub(super) fn ring_depth(
    key: PathKey,
    points: &[FitPoint],
    limited: &[&FitPoint],
    report: &mut Report,
) -> Option<f64> {
    let bounds: Vec<Bound> = points.iter().filter_map(|p| bound(p, limited)).collect();
    let least = bounds.iter().map(|b| b.depth - b.half).fold(0.0, f64::max);
    let full = bounds.iter().filter(|b| b.lost);
    let most = full
        .clone()
        .map(|b| b.depth + b.half)
        .fold(f64::INFINITY, f64::min);
    let best = full.min_by(|a, b| a.half.total_cmp(&b.half));
    let name = key.name();
    let Some(best) = best.filter(|b| b.depth > 0.0 && b.half <= ANSWER * b.depth) else {
        let known = if least >= 1.0 {
            format!("it holds at least {least:.0} frames")
        } else {
            "nothing is known about it".to_owned()
        };
        report.warn(
            WarningCode::RING_UNKNOWN,
            format!("{name}: the observations do not show how deep the receive ring is: {known}"),
            "measure overload with few frames too, e.g. 50, 100 and 200 frames beside a long trial at the same load",
        );
        return None;
    };
    if least > most {
        report.warn(
            WarningCode::RING_CONTRADICTION,
            format!("{name}: some trials show a ring of at least {least:.0} frames, others of at most {most:.0}"),
            "look for bursts of the sender in its gaps",
        );
    }
    let depth = best.depth.round().max(1.0);
    report.parameters.push(Fitted {
        name: format!("{name}-ring"),
        value: depth,
        unit: "descriptors".to_owned(),
        interval: Some(Interval {
            low: least.min(depth),
            high: most.max(depth),
            confidence: report.confidence,
        }),
        how: "frames neither served nor lost when a short overloaded trial ends; the interval is a bound, no t".to_owned(),
        ..Fitted::default()
    });
    Some(depth)
}

fn bound(point: &FitPoint, limited: &[&FitPoint]) -> Option<Bound> {
    let sent = point.sent_frames? as f64;
    let offered = point.offered_frames_per_s?;
    let loss_ratio = point.loss_ratio.filter(|_| !point.loss_is_a_range)?;
    let lost = loss_ratio * sent;
    let same = limited
        .iter()
        .filter(|p| p.bytes == point.bytes && p.flows == point.flows);
    let long: Vec<(f64, f64)> = same
        .filter_map(|p| {
            Some((
                p.frames_per_s?,
                p.sent_frames? as f64 / p.offered_frames_per_s?,
            ))
        })
        .collect();
    let seconds = sent / offered;
    let n = long.len() as f64;
    let served_per_s = long.iter().map(|l| l.0).sum::<f64>() / n;
    let long_seconds = long.iter().map(|l| l.1).sum::<f64>() / n;
    if long.is_empty() || seconds > SHORT * long_seconds || offered <= served_per_s {
        return None;
    }
    let spread = long
        .iter()
        .map(|l| (l.0 / served_per_s - 1.0).abs())
        .fold(0.0, f64::max);
    let backlog = sent - served_per_s * seconds - lost;
    // The long trial's time may include the time to empty the ring, so its rate may be off by that much.
    let unsure = seconds / long_seconds * backlog.abs();
    Some(Bound {
        depth: backlog,
        half: 1.0 + unsure + 2.0 * served_per_s * seconds * spread.max(RATE_ERROR),
        lost: lost >= 1.0,
    })
}
