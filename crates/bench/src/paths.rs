//! Compares paths through a node, from trials that alternated: the fast track with the stack, and the cost of
//! measuring.

use serde::Serialize;
use wirelab_statistics::bootstrap::CONFIDENCE;
use wirelab_trial::measuring::Overhead;
use wirelab_trial::series::nearest_rank;
use wirelab_trial::stage::{CapturePoint, delays_of};
use wirelab_trial::{
    Background, Direction, Extent, Observation, Path, Probes, Ratio, Series, Status, Summary,
    Trial, Wait,
};

mod background;
mod verdict;

pub use background::{LossFree, loss_free};
pub use verdict::{
    Answer, Claim, ClaimVerdict, FRAMES_FOR_P99, FRAMES_OF_A_P99, LEAST_BLOCKS,
    LEAST_FRAMES_FOR_P99, NotDecided,
};
pub use wirelab_trial::BackgroundResult;

/// Seed of the bootstrap, so that a file always gives the same interval.
const SEED: u64 = 6;
/// Picoseconds in a nanosecond.
const NS_PS: f64 = 1e3;

/// One path's delay from driver to application.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathFigures {
    /// Frames.
    pub frames: u64,
    /// Median in ns.
    pub median_ns: f64,
    /// 99th percentile in ns.
    pub p99_ns: f64,
    /// Frames that overtook another of their flow.
    pub reordered_frames: Option<u64>,
    /// Frames that did not arrive.
    pub lost_frames: Option<u64>,
    /// The background traffic that arrived, where some was requested.
    pub background: Option<BackgroundResult>,
}

/// The stack and the fast track under the same conditions, in the same run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathComparison {
    /// Length of the frames in bytes, without FCS.
    pub length_bytes: u32,
    /// How the application waited, on both paths.
    pub wait: Option<Wait>,
    /// The background traffic.
    pub background: Option<Background>,
    /// Through the stack.
    pub stack: PathFigures,
    /// Past the stack.
    pub fast_track: PathFigures,
    /// Pairs of blocks, one of each path.
    pub blocks: u64,
    /// The fast track's median over the stack's, all blocks together, with its interval over the pairs of blocks.
    pub median_ratio: Option<Ratio>,
    /// Ratio of the 99th percentiles within each pair of blocks of at least [`FRAMES_OF_A_P99`] frames: their median,
    /// with its interval from order statistics. A stall of the host worsens a few blocks of either path, however long
    /// it is.
    pub p99_ratio: Option<Ratio>,
    /// Whether the fast track achieves its purpose.
    pub verdict: ClaimVerdict,
}

/// Every pair of trials that differ only in the fast track; the delay is that from the driver to the application.
pub fn beside(observations: &[Observation]) -> Vec<PathComparison> {
    let like = |trial: &Trial| Trial {
        path: Some(Path::FastTrack),
        rule: None,
        ..trial.clone()
    };
    let is = |path: Path| move |o: &&Observation| o.trial.path == Some(path) && usable(o);
    let stacks: Vec<&Observation> = observations.iter().filter(is(Path::Stack)).collect();
    let fast: Vec<&Observation> = observations.iter().filter(is(Path::FastTrack)).collect();
    distinct(&stacks)
        .into_iter()
        .filter_map(|trial| {
            let of = |all: &[&Observation]| -> Vec<Observation> {
                let mine = all.iter().filter(|o| like(&o.trial) == like(trial));
                mine.map(|o| (*o).clone()).collect()
            };
            pair(&of(&stacks), &of(&fast))
        })
        .collect()
}

fn usable(observation: &Observation) -> bool {
    let probes_off = observation.trial.probes == Some(Probes::Off);
    observation.status == Status::Complete && !probes_off
}

/// Each trial once, in the order of its first block.
fn distinct<'a>(observations: &[&'a Observation]) -> Vec<&'a Trial> {
    let mut trials: Vec<&Trial> = Vec::new();
    for observation in observations {
        if !trials.contains(&&observation.trial) {
            trials.push(&observation.trial);
        }
    }
    trials
}

fn pair(stack: &[Observation], fast: &[Observation]) -> Option<PathComparison> {
    let (driver, application) = (
        CapturePoint::DRIVER.word(),
        CapturePoint::APPLICATION.word(),
    );
    let samples = |all: &[Observation]| -> Vec<Vec<u64>> {
        let each = all.iter().filter_map(|o| delay(o, driver, application));
        each.map(|series| series.raw_ticks.into()).collect()
    };
    let pairs: Vec<(Vec<u64>, Vec<u64>)> = samples(fast).into_iter().zip(samples(stack)).collect();
    let (stack_figures, fast_figures) = (figures(stack)?, figures(fast)?);
    let trial = &stack.first()?.trial;
    let mut pair = PathComparison {
        length_bytes: stack[0].sizes.length,
        wait: trial.wait,
        background: trial.background,
        stack: stack_figures,
        fast_track: fast_figures,
        blocks: pairs.len() as u64,
        median_ratio: Ratio::of_percentiles(&pairs, 50.0, CONFIDENCE, SEED),
        p99_ratio: p99_ratio(&pairs),
        verdict: ClaimVerdict::none(),
    };
    pair.verdict = ClaimVerdict::of(&pair);
    Some(pair)
}

/// The median of the ratios of the 99th percentiles within pairs of blocks; `None` for fewer than two pairs, or a
/// percentile of 0.
fn p99_ratio(pairs: &[(Vec<u64>, Vec<u64>)]) -> Option<Ratio> {
    let of = |(fast, stack): &(Vec<u64>, Vec<u64>)| {
        let [fast, stack] = [p99(fast)?, p99(stack)?];
        (fast > 0 && stack > 0).then(|| fast as f64 / stack as f64)
    };
    let ratios: Option<Vec<f64>> = large(pairs).iter().map(of).collect();
    let summary = Summary::of(&ratios?, CONFIDENCE)?;
    Some(Ratio {
        ratio: summary.median,
        interval: summary.median_interval?,
    })
}

/// Merges consecutive pairs of blocks until each has enough frames for a 99th percentile; the last one includes the
/// rest.
fn large(pairs: &[(Vec<u64>, Vec<u64>)]) -> Vec<(Vec<u64>, Vec<u64>)> {
    let is_large =
        |pair: &(Vec<u64>, Vec<u64>)| pair.0.len().min(pair.1.len()) as u64 >= FRAMES_OF_A_P99;
    let mut all: Vec<(Vec<u64>, Vec<u64>)> = Vec::new();
    for (fast, stack) in pairs {
        if all.last().is_none_or(is_large) {
            all.push((Vec::new(), Vec::new()));
        }
        if let Some(last) = all.last_mut() {
            last.0.extend(fast);
            last.1.extend(stack);
        }
    }
    if let [.., before, last] = &mut all[..] {
        if !is_large(last) {
            before.0.append(&mut last.0);
            before.1.append(&mut last.1);
            all.pop();
        }
    }
    all
}

fn p99(ticks: &[u64]) -> Option<u64> {
    let mut sorted = ticks.to_vec();
    sorted.sort_unstable();
    let rank = nearest_rank(99.0, sorted.len() as u64)?;
    sorted
        .get(usize::try_from(rank).ok()?.checked_sub(1)?)
        .copied()
}

fn figures(blocks: &[Observation]) -> Option<PathFigures> {
    let whole = wirelab_trial::pooled(blocks);
    let [whole] = &whole[..] else { return None };
    let series = delay(
        whole,
        CapturePoint::DRIVER.word(),
        CapturePoint::APPLICATION.word(),
    )?;
    let counts = whole.flows.iter().find_map(|flow| flow.counts.value());
    Some(PathFigures {
        frames: series.histogram.count,
        median_ns: median_ns(&series)?,
        p99_ns: ns(&series, 99.0)?,
        reordered_frames: counts.map(|c| c.reordered_frames),
        lost_frames: counts.map(|c| c.lost_frames),
        background: BackgroundResult::of(blocks),
    })
}

/// The delay between two points of a trial's path, for frames that passed both.
fn delay(observation: &Observation, from: &str, to: &str) -> Option<Series> {
    let mut all = delays_of(observation).into_iter();
    let found = all.find(|d| d.figures.from == from && d.figures.to == to);
    found.map(|delay| delay.series)
}

fn ns(series: &Series, percent: f64) -> Option<f64> {
    Some(series.percentile(percent)? as f64 * series.clock.tick_ps? as f64 / NS_PS)
}

fn median_ns(series: &Series) -> Option<f64> {
    ns(series, 50.0)
}

/// The cost of measuring: the same delay by the application's own times only, with the probes on and off, in trials
/// that alternated. Only where tester and node read one clock.
pub fn overheads(observations: &[Observation]) -> Vec<Overhead> {
    let complete = |o: &&Observation| o.status == Status::Complete;
    let off: Vec<&Observation> = observations
        .iter()
        .filter(complete)
        .filter(|o| o.trial.probes == Some(Probes::Off))
        .collect();
    let trials = distinct(&off).into_iter();
    trials
        .filter_map(|trial| overhead(observations, trial))
        .collect()
}

fn overhead(observations: &[Observation], off: &Trial) -> Option<Overhead> {
    let (wire, application) = (CapturePoint::WIRE.word(), CapturePoint::APPLICATION.word());
    let (from, to) = match off.direction {
        Direction::Transmit => (application, wire),
        _ => (wire, application),
    };
    let like = |trial: &Trial| Trial {
        probes: off.probes,
        ..trial.clone()
    };
    let medians = |on: bool| -> Vec<f64> {
        let mine = |o: &&Observation| {
            let same = like(&o.trial) == *off && o.status == Status::Complete;
            same && (o.trial.probes != Some(Probes::Off)) == on
        };
        let blocks = observations.iter().filter(mine);
        blocks
            .filter_map(|o| median_ns(&delay(o, from, to)?))
            .collect()
    };
    let (with, without) = (medians(true), medians(false));
    let differences: Vec<f64> = with
        .iter()
        .zip(&without)
        .map(|(on, off)| on - off)
        .collect();
    let interval = Summary::of(&differences, CONFIDENCE)?.median_interval?;
    let length_bytes = observations.iter().find(|o| o.trial == *off)?.sizes.length;
    Some(Overhead {
        what: format!("{from} to {to}"),
        path: path_in_words(off),
        length_bytes,
        runs: differences.len() as u32,
        on_ns: Summary::of(&with, CONFIDENCE)?.median,
        off_ns: Summary::of(&without, CONFIDENCE)?.median,
        low_ns: interval.low,
        high_ns: interval.high,
    })
}

fn path_in_words(trial: &Trial) -> String {
    let path = trial.path.unwrap_or(Path::Stack);
    match trial.wait {
        Some(wait) => format!("{path}, {wait}"),
        None => path.to_string(),
    }
}

/// The number of blocks of equal size for a number of frames: `usual`, or the nearest fewer that fit, and more where a
/// block would exceed `most` frames. If no number of blocks up to twice the needed one fits, the error has the nearest
/// numbers of frames that can be divided, the smaller first.
///
/// # Errors
/// Two numbers of frames to request instead.
pub fn blocks(frames: u64, usual: u32, most: u64) -> Result<u32, [u64; 2]> {
    let (usual, most) = (u64::from(usual.max(1)), most.max(1));
    let least = frames.div_ceil(most).max(1);
    let fits = |blocks: &u64| frames % blocks == 0;
    let found = match least <= usual {
        true => (least..=usual).rev().find(fits),
        false => (least..=2 * least).find(fits),
    };
    let fewest = least.max(usual);
    let each = frames / fewest;
    let next = [each * fewest, (each + 1) * fewest].map(|frames| frames.min(most * fewest));
    found
        .and_then(|blocks| u32::try_from(blocks).ok())
        .ok_or(next)
}

/// The frames of one block.
pub fn block(frames: u64, blocks: u32) -> Extent {
    let frames = frames / u64::from(blocks.max(1));
    Extent::Frames { frames }
}
