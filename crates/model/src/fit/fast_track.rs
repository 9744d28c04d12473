//! What a fast track past the stack would gain, predicted from the stack's stages alone, and beside it what was measured.

use wirelab_trial::explanation::FastTrackGain;
use wirelab_trial::{Direction, Path};

use super::chain::{Chain, ChainStage};
use super::gather::{Gathered, Point, Way};
use super::node_text::{Text, quoted};
use super::shape::median;
use super::ways::WayFit;

/// The points of a received frame from the driver on, in order.
const ORDER: [&str; 6] = ["driver", "stack", "socket", "copy", "call", "application"];
/// The points between which the application is waited for: the frame lies in the socket's queue until it looks.
const WAIT: (&str, &str) = ("socket", "copy");

/// Whether a received frame on the fast track has no such stage: it lies behind the driver, and nobody waits in it for
/// the application, which has to be waited for on any way.
fn is_skipped(stage: &ChainStage) -> bool {
    let place = |point: &str| ORDER.iter().position(|p| *p == point);
    let wait = (place(WAIT.0), place(WAIT.1));
    match (place(&stage.from), place(&stage.to)) {
        (Some(from), Some(to)) => !(Some(from) <= wait.0 && Some(to) >= wait.1),
        _ => false,
    }
}

/// Whether a way is that of the stack, and has stages that a fast track skips and one that it does not.
fn may_be_skipped(way: &WayFit) -> Option<&Chain> {
    let chain = way.chain.as_ref()?;
    let inside = chain.inside(true);
    let skips = inside.iter().any(is_skipped) && !inside.iter().all(is_skipped);
    (way.way.receive && way.way.path() == Path::Stack && skips).then_some(chain)
}

/// The alternative that leaves the skipped stages out, for `whatif` to try.
pub(super) fn past_the_stack(out: &mut Text, said: &[&WayFit]) {
    let mut left_out = Vec::new();
    for way in said {
        let stages = may_be_skipped(way).into_iter().flat_map(|c| c.inside(true));
        let name = way.way.name();
        left_out.extend(
            stages
                .filter(|s| is_skipped(s))
                .map(|s| format!("{} = \"\"", quoted(&format!("{name}-{}", s.key)))),
        );
    }
    if left_out.is_empty() {
        return;
    }
    out.line("[[alternative]]\nname = \"past-the-stack\"");
    out.line(
        "what = \"a fast track: the frame is handed over in the driver, at no cost of its own, and the stack's stages \
         are left out\"",
    );
    out.line(&format!("replace = {{ {} }}\n", left_out.join(", ")));
}

/// The gain at each size: of the stack's stages what is skipped, and what was measured on the fast track with the same
/// way to wait.
pub(super) fn gains(
    ways: &[WayFit],
    gathered: &Gathered,
    notes: &mut Vec<String>,
) -> Vec<FastTrackGain> {
    let points = &gathered.points[..];
    let mut out = Vec::new();
    for (way, chain) in ways
        .iter()
        .filter_map(|w| Some((w.way, may_be_skipped(w)?)))
    {
        let fast = way.on(Path::FastTrack);
        for trial in &chain.trials {
            let Ok(sizes) = trial.sizes() else { continue };
            let bytes = f64::from(sizes.datagram.unwrap_or(sizes.length));
            let Some(stack_ns) = inside_ns(points, way, bytes) else {
                continue;
            };
            let skipped = chain.inside(true).iter().filter(|s| is_skipped(s));
            let gain_ns: f64 = skipped.map(|s| s.at_ns(bytes)).sum();
            // From what the frames themselves took: medians of stages that scatter askew do not add up to it.
            let predicted_ns = (stack_ns - gain_ns).max(0.0);
            let measured_ns = inside_ns(points, fast, bytes);
            out.push(FastTrackGain {
                node: gathered.node.clone(),
                layer: trial.framing.layer,
                wait: way.wait(),
                length_bytes: sizes.length,
                stack_measured_ps: ps(stack_ns),
                predicted_ps: ps(predicted_ns),
                measured_ps: measured_ns.map(ps),
                predicted_gain_ps: ps(gain_ns),
                measured_gain_ps: measured_ns.map(|m| ((stack_ns - m) * 1e3).round() as i64),
                error_percent: measured_ns
                    .filter(|m| *m > 0.0)
                    .map(|m| 100.0 * (predicted_ns / m - 1.0)),
            });
        }
    }
    let measured = |p: &&Point| p.trial.path == Some(Path::FastTrack) && p.inside_ns.is_some();
    let alone = points.iter().filter(measured).any(|p| {
        p.trial.direction == Direction::Receive
            && !points
                .iter()
                .any(|other| other.way == p.way.on(Path::Stack))
    });
    if alone {
        notes.push(
            "the fast track was measured with a way to wait for which the stack was not: these are not compared"
                .to_owned(),
        );
    }
    out
}

/// The middle of the observations of a way at a size.
fn inside_ns(points: &[Point], way: Way, bytes: f64) -> Option<f64> {
    let same = points.iter().filter(|p| p.way == way && p.bytes == bytes);
    let found: Vec<f64> = same.filter_map(|p| p.inside_ns).collect();
    (!found.is_empty()).then(|| median(found))
}

fn ps(ns: f64) -> u64 {
    (ns * 1e3).round() as u64
}
