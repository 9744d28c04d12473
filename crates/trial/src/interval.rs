//! The confidence interval of a figure: over the repeats of a trial, or within one run.
//!
//! An interval within one run is taken from its sub-intervals ([`wirelab_statistics::bootstrap`]). It shows how much the figure
//! would vary with the events during this run, not with differences between runs.

use serde::{Deserialize, Serialize};

use crate::counts::Counts;
use crate::slices::{Slice, Slices};
use wirelab_statistics::bootstrap::{CONFIDENCE, FEWEST_PARTS, Spread, spread};
use wirelab_statistics::summary::Summary;
use wirelab_statistics::summary::nearest_rank;

/// The basis of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IntervalBasis {
    /// The repeats of a trial.
    Repeats,
    /// The sub-intervals of one run, without the differences between runs.
    WithinRun,
    /// The stated uncertainty of a model's parameters, without what the model leaves out.
    Parameters,
}

impl IntervalBasis {
    /// The word for a reader.
    pub const fn words(self) -> &'static str {
        match self {
            IntervalBasis::Repeats => "over repeats",
            IntervalBasis::WithinRun => "within one run",
            IntervalBasis::Parameters => "over the model's parameters",
        }
    }

    /// The word for scripts, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            IntervalBasis::Repeats => "repeats",
            IntervalBasis::WithinRun => "within_run",
            IntervalBasis::Parameters => "parameters",
        }
    }
}

/// An interval in the unit of its figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Stated {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence, 0 to 1.
    pub confidence: f64,
    /// Its basis.
    pub over: IntervalBasis,
    /// Number of repeats, of sub-intervals of the run, or of causes of uncertainty.
    pub parts: u32,
}

impl Stated {
    /// The interval of the mean of repeats; `None` for a single one. No figure of a trial is below 0.
    pub fn of_repeats(summary: &Summary) -> Option<Stated> {
        let interval = summary.mean_interval?;
        Some(Stated {
            low: interval.low.max(0.0),
            high: interval.high,
            confidence: interval.confidence,
            over: IntervalBasis::Repeats,
            parts: u32::try_from(summary.count).unwrap_or(u32::MAX),
        })
    }

    /// The interval from one end to the other, for a model with `causes` causes of uncertainty. No figure of a trial is below
    /// 0.
    pub fn of_parameters(low: f64, high: f64, causes: u32) -> Stated {
        Stated {
            over: IntervalBasis::Parameters,
            ..Stated::within(low, high, causes)
        }
    }

    /// The interval from one end to the other, within one run. No figure of a trial is below 0.
    fn within(low: f64, high: f64, parts: u32) -> Stated {
        Stated {
            low: low.max(0.0),
            high,
            confidence: CONFIDENCE,
            over: IntervalBasis::WithinRun,
            parts,
        }
    }

    /// The interval of the figure times `factor`, which is at least 0.
    #[must_use]
    pub fn times(self, factor: f64) -> Stated {
        Stated {
            low: self.low * factor,
            high: self.high * factor,
            ..self
        }
    }

    /// The interval of a sum: the ends are added, because the same cause may have slowed both flows. `None` where the
    /// bases differ.
    pub fn plus(self, other: Stated) -> Option<Stated> {
        (self.over == other.over).then(|| Stated {
            low: self.low + other.low,
            high: self.high + other.high,
            confidence: self.confidence.min(other.confidence),
            over: self.over,
            parts: self.parts.min(other.parts),
        })
    }
}

/// The intervals of a flow's figures; `None` where the run was too short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FlowIntervals {
    /// Of the frames/s that arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames_per_s: Option<Stated>,
    /// Of the payload bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_bits_per_s: Option<Stated>,
    /// Of the link bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_bits_per_s: Option<Stated>,
    /// Of the application bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_bits_per_s: Option<Stated>,
    /// Of the share of sent sequences that were lost, 0 to 1; where the loss is a range, it covers both ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_ratio: Option<Stated>,
}

impl FlowIntervals {
    /// Whether all are `None`.
    pub fn is_empty(&self) -> bool {
        *self == FlowIntervals::default()
    }

    /// Removes those of the rates.
    pub fn without_rates(&mut self) {
        *self = FlowIntervals {
            loss_ratio: self.loss_ratio,
            ..FlowIntervals::default()
        };
    }
}

impl Slices {
    /// The interval of a rate of this flow, from the distribution of its arrivals over time.
    pub fn of_rate(&self, rate: f64) -> Option<Stated> {
        let part = |slice: &Slice| (slice.amount as f64, slice.ns as f64);
        let parts: Vec<(f64, f64)> = self.all.iter().map(part).collect();
        let spread = spread(&parts).filter(|spread| spread.estimate > 0.0)?;
        // A timed rate does not count the frames that arrived with the first; the rest shows its variation.
        let share = |off: f64| rate * off / spread.estimate;
        Some(Stated::within(
            rate - share(spread.below),
            rate + share(spread.above),
            spread.parts,
        ))
    }

    /// The interval of the loss of a flow with so many sent sequences, from the distribution of missing sequences over
    /// the run, around both the certain and the possible loss.
    ///
    /// Without a loss, and always at least, the upper end is three more lost sequences (the rule of three: J. A.
    /// Hanley, A. Lippman-Hand, If nothing goes wrong, is everything all right?, JAMA 249, 1983), which is valid for
    /// independent single losses. `None` where there is a loss at an unknown time of the run.
    pub fn of_loss(&self, counts: &Counts, sent: u64) -> Option<Stated> {
        if sent == 0 || self.all.len() < FEWEST_PARTS {
            return None;
        }
        let share = |frames: u64| frames as f64 / sent as f64;
        let lost = share(counts.lost_frames);
        let at_most = share(counts.lost_frames_at_most());
        let unseen = sent.saturating_sub(counts.distinct_sequences);
        let (off, parts) = match unseen {
            0 => (None, self.all.len() as u32),
            _ => {
                let off = self.losses(sent)?;
                (Some(off), off.parts)
            }
        };
        let three = (3.0 / sent as f64).min(1.0);
        let (below, above) = off.map_or((0.0, 0.0), |off| (off.below, off.above));
        let high = at_most + above.max(three);
        Some(Stated::within(lost - below, high.min(1.0), parts))
    }

    /// The spread of the share of missing sequences. Those after the last arrival belong to the last slice.
    fn losses(&self, sent: u64) -> Option<Spread> {
        // A hostile node may report any number.
        let passed = self.all.iter().map(|slice| slice.passed);
        let passed = passed.fold(0, u64::saturating_add);
        if passed == 0 {
            return None;
        }
        let part = |slice: &Slice| {
            let passed = slice.passed as f64;
            (passed - slice.distinct as f64, passed)
        };
        let mut parts: Vec<(f64, f64)> = self.all.iter().map(part).collect();
        let rest = sent.saturating_sub(passed) as f64;
        if let Some(last) = parts.last_mut() {
            *last = (last.0 + rest, last.1 + rest);
        }
        spread(&parts)
    }
}

/// The intervals of a series' percentiles, in its ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PercentileIntervals {
    /// Of the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ticks: Option<Stated>,
    /// Of the 90th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ticks: Option<Stated>,
    /// Of the 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ticks: Option<Stated>,
    /// Of the 99.9th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_9_ticks: Option<Stated>,
}

/// Number of sub-intervals of a series, each with equally many samples.
const CHUNKS: usize = 64;
/// Fewest samples of a sub-interval.
const FEWEST_SAMPLES: usize = 8;
/// Fewest samples beyond a percentile, on either side: with fewer its position is unknown.
const FEWEST_BEYOND: f64 = 5.0;

impl PercentileIntervals {
    /// From samples in their order of arrival.
    ///
    /// The variation over the run of the share of samples up to a percentile gives the neighbouring percentiles that
    /// enclose it: R. S. Woodruff, Confidence intervals for medians and other position measures, JASA 47 (1952).
    pub fn of(in_order: &[u64]) -> PercentileIntervals {
        let chunks = CHUNKS.min(in_order.len() / FEWEST_SAMPLES);
        if chunks < FEWEST_PARTS {
            return PercentileIntervals::default();
        }
        let mut sorted = in_order.to_vec();
        sorted.sort_unstable();
        let n = in_order.len();
        let chunks: Vec<&[u64]> = (0..chunks)
            .map(|at| &in_order[at * n / chunks..(at + 1) * n / chunks])
            .collect();
        let of = |percent: f64| percentile(&chunks, &sorted, percent);
        PercentileIntervals {
            p50_ticks: of(50.0),
            p90_ticks: of(90.0),
            p99_ticks: of(99.0),
            p99_9_ticks: of(99.9),
        }
    }

    /// Widens each interval to contain the displayed percentile, which may be from more samples than the interval.
    pub fn hold(&mut self, shown: impl Fn(f64) -> Option<u64>) {
        for (percent, interval) in [
            (50.0, &mut self.p50_ticks),
            (90.0, &mut self.p90_ticks),
            (99.0, &mut self.p99_ticks),
            (99.9, &mut self.p99_9_ticks),
        ] {
            if let (Some(interval), Some(ticks)) = (interval, shown(percent)) {
                interval.low = interval.low.min(ticks as f64);
                interval.high = interval.high.max(ticks as f64);
            }
        }
    }

    /// Whether all are `None`.
    pub fn is_empty(&self) -> bool {
        *self == PercentileIntervals::default()
    }

    /// Each by its percentile, 0 to 100.
    pub const fn each(&self) -> [(f64, Option<Stated>); 4] {
        [
            (50.0, self.p50_ticks),
            (90.0, self.p90_ticks),
            (99.0, self.p99_ticks),
            (99.9, self.p99_9_ticks),
        ]
    }
}

fn percentile(chunks: &[&[u64]], sorted: &[u64], percent: f64) -> Option<Stated> {
    let n = sorted.len();
    let share = percent / 100.0;
    if n as f64 * share.min(1.0 - share) < FEWEST_BEYOND {
        return None;
    }
    let at = sorted[nearest_rank(percent, n as u64)? as usize - 1];
    // Equal samples lie on both sides of the percentile: the variation with them and without them counts.
    let with = off(chunks, |ticks| ticks <= at)?;
    let without = off(chunks, |ticks| ticks < at)?;
    let below = with.below.max(without.below);
    let above = with.above.max(without.above);
    let low = (n as f64 * (share - below)).floor();
    let high = (n as f64 * (share + above)).floor() + 1.0;
    if low < 1.0 || high > n as f64 {
        return None;
    }
    let ticks = |rank: f64| sorted[rank as usize - 1] as f64;
    Some(Stated::within(ticks(low), ticks(high), with.parts))
}

/// The spread of the share of samples that `is_in`.
fn off(chunks: &[&[u64]], is_in: impl Fn(u64) -> bool) -> Option<Spread> {
    let part = |chunk: &&[u64]| {
        let inside = chunk.iter().filter(|ticks| is_in(**ticks)).count();
        (inside as f64, chunk.len() as f64)
    };
    let parts: Vec<(f64, f64)> = chunks.iter().map(part).collect();
    spread(&parts)
}
