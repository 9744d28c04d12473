//! The body of a stage's samples: its median, its scatter and the uncertainty of the median, independent of the tail.
//!
//! On a general-purpose operating system a few frames in a thousand meet an interrupt, another process or a timer in the middle
//! of a stage. One such time of 4 ms among 512 moves the mean of a 1 µs stage by 8 µs, and the median by nothing. So a stage's
//! time is its median. Its σ is the distance from the median down to the 15.87 % point, which is the standard deviation of a
//! normal body; the points above include the tail. Samples far beyond are reported as the tail: a share of the frames.

use wirelab_trial::Series;
use wirelab_trial::stage::{CapturePoint, Delay};

use super::shape::median;

/// Consecutive parts of a series, whose medians show how much the median scatters.
const PARTS: usize = 8;
/// Fewest samples of a part: the median of fewer is unreliable.
const PART_SAMPLES: usize = 16;
/// Percentile one standard deviation below the median of a normal body.
const ONE_SIGMA_BELOW: f64 = 15.87;
/// Standard deviations beyond which a sample belongs to the tail: one in 1.7 million of a normal body.
const TAIL_SIGMA: f64 = 5.0;

/// Statistics of a stage at one size from one observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Body {
    /// The median in ns.
    pub(super) median_ns: f64,
    /// Standard deviation of the body in ns.
    pub(super) sigma_ns: f64,
    /// Standard error of the median in ns, and its degrees of freedom, where there are enough samples.
    pub(super) stderr: Option<(f64, usize)>,
    /// Kept samples beyond the body.
    pub(super) tail: u64,
    /// Kept samples.
    pub(super) kept: u64,
}

impl Body {
    /// The body of a series; `None` where it has no time or no samples.
    pub(super) fn of(series: &Series) -> Option<Body> {
        let tick_ns = series.clock.tick_ps? as f64 / 1e3;
        let at = |percent: f64| Some(series.percentile(percent)? as f64 * tick_ns);
        let (median_ns, low) = (at(50.0)?, at(ONE_SIGMA_BELOW)?);
        let resolution_ns = tick_ns * series.clock.resolution_ticks.max(1) as f64;
        let sigma_ns = (median_ns - low).max(0.0);
        let ticks = &series.raw_ticks;
        let beyond = median_ns + TAIL_SIGMA * sigma_ns.max(resolution_ns);
        let tail = ticks.iter().filter(|t| **t as f64 * tick_ns > beyond);
        let sound = median_ns.is_finite() && median_ns >= 0.0 && sigma_ns.is_finite();
        sound.then(|| Body {
            median_ns,
            sigma_ns,
            stderr: stderr(ticks, tick_ns, resolution_ns),
            tail: tail.count() as u64,
            kept: ticks.len() as u64,
        })
    }
}

/// The standard error of the median, from the medians of consecutive parts, so that drift during a trial counts too.
fn stderr(ticks: &[u64], tick_ns: f64, resolution_ns: f64) -> Option<(f64, usize)> {
    let parts = PARTS.min(ticks.len() / PART_SAMPLES);
    if parts < 2 {
        return None;
    }
    let in_ns = |part: &[u64]| part.iter().map(|t| *t as f64 * tick_ns).collect();
    let middles: Vec<f64> = ticks
        .chunks(ticks.len().div_ceil(parts))
        .map(|part| median(in_ns(part)))
        .collect();
    Some(stderr_of(&middles, resolution_ns))
}

/// The standard error of the mean of some figures, and its degrees of freedom; never below the resolution (a uniform
/// error of one tick has a variance of a twelfth).
pub(super) fn stderr_of(figures: &[f64], resolution_ns: f64) -> (f64, usize) {
    let n = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / n;
    let squares: f64 = figures.iter().map(|f| (f - mean).powi(2)).sum();
    let freedom = figures.len().saturating_sub(1).max(1);
    let variance = squares / freedom as f64 / n + resolution_ns.powi(2) / 12.0;
    (variance.sqrt(), freedom)
}

/// The median of the frames' own times between driver and application, in ns. `None` where it was not measured frame by
/// frame.
pub(super) fn inside_ns(delays: &[Delay], receive: bool) -> Option<f64> {
    let stages = || delays.iter().filter(|d| !d.figures.cumulated);
    let (first, last) = (stages().next()?, stages().next_back()?);
    let ends = match receive {
        true => (CapturePoint::DRIVER.word(), last.figures.to.as_str()),
        false => (first.figures.from.as_str(), CapturePoint::DRIVER.word()),
    };
    let of = |d: &&Delay| (d.figures.from.as_str(), d.figures.to.as_str()) == ends;
    let found = delays.iter().find(of)?;
    let tick_ns = found.figures.tick_ps? as f64 / 1e3;
    Some(found.figures.median_ticks as f64 * tick_ns)
}
