//! A series of ticks with its clock: raw up to 65,536 samples, beyond that a histogram and a reservoir.

use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::column::Column;
use crate::field::Kind;
use crate::interval::PercentileIntervals;
use crate::series_name::{FixedSeries, SeriesName};
use crate::stage::StageName;
use wirelab_statistics::random::SplitMix64;
pub use wirelab_statistics::summary::nearest_rank;

/// Raw samples kept of each series.
pub const RAW_SAMPLES: usize = 65_536;

/// A histogram of ticks: how often each value occurred, to the resolution of its buckets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Histogram {
    /// Picoseconds a tick; `None` where ticks are instructions.
    pub tick_ps: Option<u64>,
    /// Highest value of each bucket that is not empty, and its count, ascending.
    pub buckets: Column<(u64, u64)>,
    /// Samples.
    pub count: u64,
    /// Smallest sample in ticks.
    pub min_ticks: u64,
    /// Largest sample in ticks.
    pub max_ticks: u64,
    /// Mean in ticks.
    pub mean_ticks: f64,
    /// Standard deviation in ticks.
    pub stddev_ticks: f64,
}

/// Percentiles of a series in ticks, so that its text shows them; those that its samples are too few for are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Percentiles {
    /// The median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ticks: Option<u64>,
    /// The 90th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ticks: Option<u64>,
    /// The 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ticks: Option<u64>,
    /// The 99.9th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_9_ticks: Option<u64>,
}

impl Percentiles {
    /// The percentiles of a series, as [`Series::percentile`] has them.
    pub fn of(series: &Series) -> Percentiles {
        let mut sorted = match series.sampled {
            true => Vec::new(),
            false => series.raw_ticks.to_vec(),
        };
        sorted.sort_unstable();
        let of = |percent: f64, least: u64| {
            if series.histogram.count < least {
                return None;
            }
            match nearest_rank(percent, sorted.len() as u64) {
                Some(rank) => sorted.get(rank as usize - 1).copied(),
                None => series.histogram.percentile(percent),
            }
        };
        Percentiles {
            p50_ticks: of(50.0, 2),
            p90_ticks: of(90.0, 10),
            p99_ticks: of(99.0, 100),
            p99_9_ticks: of(99.9, 1_000),
        }
    }

    /// Whether all are absent.
    pub fn is_empty(&self) -> bool {
        *self == Percentiles::default()
    }
}

/// A series: raw samples in order of arrival, or histogram and reservoir.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Series {
    /// What was measured.
    #[serde(flatten)]
    pub name: SeriesName,
    /// The origin of its samples.
    pub kind: Kind,
    /// The clock of its ticks.
    pub clock: Clock,
    /// Raw samples in ticks and in order of arrival: all of them, or a seeded reservoir where `sampled` is set.
    pub raw_ticks: Column<u64>,
    /// Whether `raw_ticks` is a reservoir of a longer series.
    pub sampled: bool,
    /// All samples.
    pub histogram: Histogram,
    /// Its percentiles in a written file; empty in memory, where they are computed, unless a file stated others.
    #[serde(default, skip_serializing_if = "Percentiles::is_empty")]
    pub percentiles: Percentiles,
    /// The intervals of its percentiles, within its run.
    #[serde(default, skip_serializing_if = "PercentileIntervals::is_empty")]
    pub intervals: PercentileIntervals,
}

/// Two histograms with different ticks, which cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "histograms with ticks of {0:?} ps and {1:?} ps cannot be added: their clocks are not the same"
)]
pub struct TickMismatch(pub Option<u64>, pub Option<u64>);

impl Histogram {
    /// The histogram of some samples.
    pub fn of(tick_ps: Option<u64>, ticks: impl IntoIterator<Item = u64>) -> Histogram {
        let mut builder = HistogramBuilder::new();
        for tick in ticks {
            builder.record(tick);
        }
        builder.finish(tick_ps)
    }

    /// The histogram of counts in log-linear buckets (see [`bucket_of`]), as the eBPF programs keep them, with the
    /// exact smallest, largest and sum of the samples.
    ///
    /// The mean is exact; the standard deviation assumes samples in the middle of their buckets.
    pub fn from_log_linear(
        tick_ps: Option<u64>,
        counts: &[u64],
        min_ticks: u64,
        max_ticks: u64,
        sum_ticks: u128,
    ) -> Histogram {
        let filled = || counts.iter().take(BUCKETS).enumerate().filter(|b| *b.1 > 0);
        let count: u64 = filled().map(|b| *b.1).sum();
        if count == 0 {
            return Histogram {
                tick_ps,
                ..Histogram::default()
            };
        }
        let mean_ticks = sum_ticks as f64 / count as f64;
        let squares: f64 = filled()
            .map(|(bucket, n)| {
                let low = lowest_of(bucket).max(min_ticks) as f64;
                let high = highest_of(bucket).min(max_ticks) as f64;
                *n as f64 * ((low + high) / 2.0 - mean_ticks).powi(2)
            })
            .sum();
        Histogram {
            tick_ps,
            buckets: filled().map(|(b, n)| (highest_of(b), *n)).collect(),
            count,
            min_ticks,
            max_ticks,
            mean_ticks,
            stddev_ticks: stddev(squares, count),
        }
    }

    /// The smallest value that at least `percent` of the samples do not exceed (nearest rank), to the
    /// resolution of the buckets; `None` where there are no samples. 0 gives the smallest, 100 the largest.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let rank = nearest_rank(percent, self.count)?;
        let mut below = 0u64;
        let bucket = self.buckets.iter().find(|(_, count)| {
            below = below.saturating_add(*count);
            below >= rank
        });
        let value = bucket.map_or(self.max_ticks, |b| b.0);
        // Not `clamp`: a hostile file may have them in the wrong order.
        Some(value.max(self.min_ticks).min(self.max_ticks))
    }

    /// Adds the samples of another histogram with the same ticks. Mean and standard deviation are combined exactly (T.
    /// Chan, G. Golub, R. LeVeque: Updating Formulae, 1979).
    ///
    /// # Errors
    /// [`TickMismatch`] where neither is empty and their ticks differ.
    pub fn merge(&mut self, other: &Histogram) -> Result<(), TickMismatch> {
        if other.count == 0 {
            return Ok(());
        }
        if self.count == 0 {
            *self = other.clone();
            return Ok(());
        }
        if self.tick_ps != other.tick_ps {
            return Err(TickMismatch(self.tick_ps, other.tick_ps));
        }
        let (n, m) = (self.count as f64, other.count as f64);
        let apart = other.mean_ticks - self.mean_ticks;
        let squares = |h: &Histogram| h.stddev_ticks.powi(2) * (h.count as f64 - 1.0);
        let total = squares(self) + squares(other) + apart * apart * n * m / (n + m);
        self.mean_ticks += apart * m / (n + m);
        self.count = self.count.saturating_add(other.count);
        self.stddev_ticks = stddev(total, self.count);
        self.min_ticks = self.min_ticks.min(other.min_ticks);
        self.max_ticks = self.max_ticks.max(other.max_ticks);
        self.buckets.extend_from_slice(&other.buckets);
        self.buckets.sort_unstable_by_key(|b| b.0);
        self.buckets.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(later.1);
            }
            same
        });
        Ok(())
    }
}

impl Series {
    /// The points of a stage, if the series has the times of one.
    pub fn points(&self) -> Option<StageName<'_>> {
        self.name.points()
    }

    /// The probe, if the series has the times between frames at one.
    pub fn probe(&self) -> Option<&str> {
        self.name.probe()
    }

    /// Whether it has the times of whole runs.
    pub fn is_of_runs(&self) -> bool {
        self.name == FixedSeries::RUN_TIMES
    }

    /// Percentile as in [`Histogram::percentile`]; exact where all samples are kept.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        if self.sampled || self.raw_ticks.is_empty() {
            return self.histogram.percentile(percent);
        }
        let rank = nearest_rank(percent, self.raw_ticks.len() as u64)?;
        let mut ticks = self.raw_ticks.to_vec();
        Some(*ticks.select_nth_unstable(rank as usize - 1).1)
    }
}

fn stddev(squares: f64, count: u64) -> f64 {
    if count < 2 {
        0.0
    } else {
        (squares.max(0.0) / (count - 1) as f64).sqrt()
    }
}

/// Number of log-linear buckets that cover all of u64.
pub const BUCKETS: usize = 64 + 58 * 32;

/// The log-linear bucket of a value: values below 64 have one each, above that every power of two has 32 (so the error
/// is below 3.2 %).
pub const fn bucket_of(value: u64) -> usize {
    if value < 64 {
        return value as usize;
    }
    let exponent = value.ilog2();
    64 + (exponent as usize - 6) * 32 + ((value >> (exponent - 5)) & 31) as usize
}

/// The highest value of a log-linear bucket (an index below [`BUCKETS`]).
pub const fn highest_of(bucket: usize) -> u64 {
    if bucket < 64 {
        return bucket as u64;
    }
    let shift = (bucket - 64) / 32 + 1;
    lowest_of(bucket) | ((1 << shift) - 1)
}

/// The lowest value of a log-linear bucket (an index below [`BUCKETS`]).
pub const fn lowest_of(bucket: usize) -> u64 {
    if bucket < 64 {
        return bucket as u64;
    }
    let shift = (bucket - 64) / 32 + 1;
    (32 + (bucket as u64 - 64) % 32) << shift
}

/// Collects samples into a histogram of three significant digits (an HDR histogram; G. Tene) with exact
/// smallest, largest, mean and standard deviation, in bounded memory.
#[derive(Clone, Debug)]
pub struct HistogramBuilder {
    hdr: hdrhistogram::Histogram<u64>,
    count: u64,
    min: u64,
    max: u64,
    mean: f64,
    squares: f64,
}

impl Default for HistogramBuilder {
    fn default() -> HistogramBuilder {
        HistogramBuilder::new()
    }
}

impl HistogramBuilder {
    /// No sample yet.
    pub fn new() -> HistogramBuilder {
        HistogramBuilder {
            hdr: hdrhistogram::Histogram::new(3).expect("three digits are allowed"),
            count: 0,
            min: u64::MAX,
            max: 0,
            mean: 0.0,
            squares: 0.0,
        }
    }

    /// Adds one sample.
    pub fn record(&mut self, ticks: u64) {
        // It resizes automatically and refuses only where usize is too small for its index; no sample is ever lost.
        if self.hdr.record(ticks).is_err() {
            self.hdr.saturating_record(ticks);
        }
        self.count += 1;
        self.min = self.min.min(ticks);
        self.max = self.max.max(ticks);
        // B. P. Welford, Technometrics 4 (1962): the sum of squares does not cancel.
        let before = ticks as f64 - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (ticks as f64 - self.mean);
    }

    /// The histogram of the samples so far.
    pub fn finish(&self, tick_ps: Option<u64>) -> Histogram {
        if self.count == 0 {
            return Histogram {
                tick_ps,
                ..Histogram::default()
            };
        }
        Histogram {
            tick_ps,
            buckets: self
                .hdr
                .iter_recorded()
                .map(|step| (step.value_iterated_to(), step.count_at_value()))
                .collect(),
            count: self.count,
            min_ticks: self.min,
            max_ticks: self.max,
            mean_ticks: self.mean,
            stddev_ticks: stddev(self.squares, self.count),
        }
    }
}

/// Collects the samples of a [`Series`] in bounded memory.
#[derive(Clone, Debug)]
pub struct SeriesBuilder {
    name: SeriesName,
    clock: Clock,
    raw: Vec<u64>,
    /// The number of each sample in `raw`, counted from 1, once it is a reservoir.
    numbers: Vec<u64>,
    histogram: HistogramBuilder,
    rng: SplitMix64,
}

impl SeriesBuilder {
    /// An empty series; `seed` decides which samples a long series keeps.
    pub fn new(name: impl Into<SeriesName>, clock: Clock, seed: u64) -> SeriesBuilder {
        SeriesBuilder {
            name: name.into(),
            clock,
            raw: Vec::new(),
            numbers: Vec::new(),
            histogram: HistogramBuilder::new(),
            rng: SplitMix64::new(seed),
        }
    }

    /// Adds one sample. Beyond [`RAW_SAMPLES`] every sample has the same chance to be kept (algorithm R; J. Vitter, ACM
    /// TOMS 11 (1985)).
    pub fn push(&mut self, ticks: u64) {
        self.histogram.record(ticks);
        if self.raw.len() < RAW_SAMPLES {
            self.raw.push(ticks);
            return;
        }
        if self.numbers.is_empty() {
            self.numbers.extend(1..=RAW_SAMPLES as u64);
        }
        let place = self.rng.below(self.histogram.count) as usize;
        if let Some(kept) = self.raw.get_mut(place) {
            *kept = ticks;
            self.numbers[place] = self.histogram.count;
        }
    }

    /// Samples taken so far.
    pub const fn count(&self) -> u64 {
        self.histogram.count
    }

    /// The series, measured unless its kind is changed afterwards, with the intervals of its percentiles. The kept
    /// samples are in their order of arrival.
    pub fn finish(self) -> Series {
        let mut series = self.finish_without_intervals();
        series.intervals = PercentileIntervals::of(&series.raw_ticks);
        if series.sampled {
            let Series {
                intervals,
                histogram,
                ..
            } = &mut series;
            intervals.hold(|percent| histogram.percentile(percent));
        }
        series
    }

    /// As [`SeriesBuilder::finish`], without intervals, which take most of the time: those of a run do not apply to a model's
    /// samples.
    pub fn finish_without_intervals(mut self) -> Series {
        if !self.numbers.is_empty() {
            let mut in_order: Vec<(u64, u64)> = self.numbers.into_iter().zip(self.raw).collect();
            in_order.sort_unstable();
            self.raw = in_order.into_iter().map(|(_, ticks)| ticks).collect();
        }
        Series {
            histogram: self.histogram.finish(self.clock.tick_ps),
            sampled: self.histogram.count > self.raw.len() as u64,
            name: self.name,
            kind: Kind::Measured,
            clock: self.clock,
            percentiles: Percentiles::default(),
            intervals: PercentileIntervals::default(),
            raw_ticks: self.raw.into(),
        }
    }
}
