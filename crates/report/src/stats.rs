//! Figures taken from histograms: percentiles, several histograms as one, bins for a picture.

use wirelab_trial::{ClockKind, Histogram, Series};

/// The value, in ticks, below or at which `share` of the samples of a series lie: exact where all samples are at
/// hand, else to the resolution of the histogram; `None` without samples.
pub fn percentile(series: &Series, share: f64) -> Option<u64> {
    if !complete(series) {
        return bucket_percentile(&series.histogram, share);
    }
    let mut sorted = series.raw_ticks.to_vec();
    sorted.sort_unstable();
    let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

/// Whether all samples of a series are at hand.
pub fn complete(series: &Series) -> bool {
    let raw = &series.raw_ticks;
    !series.sampled && !raw.is_empty() && raw.len() as u64 == series.histogram.count
}

fn bucket_percentile(histogram: &Histogram, share: f64) -> Option<u64> {
    let total = total(histogram);
    let rank = (share * total as f64).ceil().max(1.0) as u128;
    let mut counted = 0u128;
    for (value, count) in &histogram.buckets {
        counted += u128::from(*count);
        if counted >= rank && *count > 0 {
            // A bucket is known by its upper end, which may lie above the largest sample.
            return Some((*value).min(histogram.max_ticks));
        }
    }
    None
}

/// Samples in the buckets.
fn total(histogram: &Histogram) -> u128 {
    histogram.buckets.iter().map(|(_, n)| u128::from(*n)).sum()
}

/// Samples of one kind of clock as values in picoseconds, or in instructions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Whether values are instructions; otherwise picoseconds.
    pub instructions: bool,
    /// Value and how often it occurred, not sorted.
    pub values: Vec<(f64, u64)>,
}

impl Samples {
    /// The samples of histograms of the same clock kind taken together; `None` where there are none.
    pub fn of<'a>(
        kind: Option<ClockKind>,
        histograms: impl Iterator<Item = &'a Histogram>,
    ) -> Option<Samples> {
        let mut samples = Samples {
            instructions: kind == Some(ClockKind::Instructions),
            values: Vec::new(),
        };
        for histogram in histograms {
            // Without a tick there is no time to show, whatever the clock's name.
            let scale = match (samples.instructions, histogram.tick_ps) {
                (true, _) => 1.0,
                (false, Some(tick)) => tick as f64,
                (false, None) => continue,
            };
            let buckets = histogram.buckets.iter().filter(|(_, n)| *n > 0);
            samples.values.extend(buckets.map(|(ticks, n)| {
                // A bucket is known by its upper end, which may lie above the largest sample.
                let ticks = (*ticks).min(histogram.max_ticks);
                (ticks as f64 * scale, *n)
            }));
        }
        (!samples.values.is_empty()).then_some(samples)
    }

    /// The samples of a series, exact where all are at hand; `None` where there are none.
    pub fn of_series(series: &Series) -> Option<Samples> {
        let kind = Some(series.clock.kind);
        if !complete(series) {
            return Samples::of(kind, std::iter::once(&series.histogram));
        }
        let each = Histogram {
            tick_ps: series.clock.tick_ps,
            buckets: series.raw_ticks.iter().map(|t| (*t, 1)).collect(),
            max_ticks: u64::MAX,
            ..Histogram::default()
        };
        Samples::of(kind, std::iter::once(&each))
    }

    /// Smallest and largest value.
    pub fn range(&self) -> (f64, f64) {
        let start = (f64::INFINITY, 0.0f64);
        let fold = |(low, high): (f64, f64), (v, _): &(f64, u64)| (low.min(*v), high.max(*v));
        self.values.iter().fold(start, fold)
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        let count = |sum: u64, (_, n): &(f64, u64)| sum.saturating_add(*n);
        self.values.iter().fold(0, count)
    }

    /// The same samples from the smallest to the largest.
    #[must_use]
    pub fn sorted(&self) -> Samples {
        let mut sorted = self.clone();
        sorted.values.sort_by(|a, b| a.0.total_cmp(&b.0));
        sorted
    }

    /// The value below or at which `share` of the samples lie.
    pub fn percentile(&self, share: f64) -> f64 {
        self.sorted().of_sorted(share)
    }

    /// As [`Samples::percentile`], of sorted samples.
    pub fn of_sorted(&self, share: f64) -> f64 {
        let total: u128 = self.values.iter().map(|(_, n)| u128::from(*n)).sum();
        let rank = (share * total as f64).ceil().max(1.0) as u128;
        let mut counted = 0u128;
        for (value, n) in &self.values {
            counted += u128::from(*n);
            if counted >= rank {
                return *value;
            }
        }
        self.range().1
    }

    /// Counts in `bins` steps of equal width on a logarithmic scale from `low` to `high`, which are above 0;
    /// values outside fall into the first or the last.
    pub fn log_bins(&self, low: f64, high: f64, bins: usize) -> Vec<u64> {
        let mut out = vec![0u64; bins];
        let span = (high / low).ln();
        for (value, n) in &self.values {
            let place = ((value / low).ln() / span * bins as f64).floor();
            // A value of 0 gives minus infinity, which the conversion saturates to the first bin.
            let at = (place.max(0.0) as usize).min(bins.saturating_sub(1));
            out[at] = out[at].saturating_add(*n);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram() -> Histogram {
        Histogram {
            tick_ps: Some(1000),
            buckets: vec![(10, 90), (100, 9), (1000, 1)].into(),
            count: 100,
            min_ticks: 10,
            max_ticks: 1000,
            mean_ticks: 28.0,
            stddev_ticks: 100.0,
        }
    }

    #[test]
    fn percentiles_of_buckets() {
        let mut h = histogram();
        assert_eq!(bucket_percentile(&h, 0.5), Some(10));
        assert_eq!(bucket_percentile(&h, 0.9), Some(10));
        assert_eq!(bucket_percentile(&h, 0.99), Some(100));
        assert_eq!(bucket_percentile(&h, 1.0), Some(1000));
        h.max_ticks = 990;
        assert_eq!(bucket_percentile(&h, 1.0), Some(990));
        assert_eq!(bucket_percentile(&Histogram::default(), 0.5), None);
    }

    #[test]
    fn percentiles_are_exact_where_all_samples_are_at_hand() {
        let mut series = Series {
            name: wirelab_trial::FixedSeries::LATENCY.into(),
            kind: wirelab_trial::Kind::Measured,
            clock: wirelab_trial::Clock::TESTER_NS,
            raw_ticks: vec![30, 10, 20].into(),
            sampled: false,
            histogram: Histogram {
                buckets: vec![(15, 1), (25, 1), (35, 1)].into(),
                count: 3,
                max_ticks: 30,
                ..Histogram::default()
            },
            percentiles: Default::default(),
            intervals: wirelab_trial::PercentileIntervals::default(),
        };
        assert_eq!(percentile(&series, 0.5), Some(20));
        series.sampled = true;
        assert_eq!(percentile(&series, 0.5), Some(25));
        series.raw_ticks.clear();
        assert_eq!(percentile(&series, 1.0), Some(30));
    }

    #[test]
    fn bins_hold_every_sample() {
        let h = histogram();
        let samples = Samples::of(Some(ClockKind::Wall), [&h, &h].into_iter()).unwrap();
        assert_eq!(samples.count(), 200);
        assert_eq!(samples.range(), (10e3, 1e6));
        assert_eq!(samples.log_bins(10e3, 1e6, 2), [180, 20]);
        assert_eq!(samples.sorted().of_sorted(0.5), 10e3);
        assert_eq!(samples.sorted().of_sorted(0.999), 1e6);
    }

    #[test]
    fn instructions_are_never_time() {
        let h = Histogram {
            tick_ps: None,
            ..histogram()
        };
        assert_eq!(Samples::of(Some(ClockKind::Wall), [&h].into_iter()), None);
        let samples = Samples::of(Some(ClockKind::Instructions), [&h].into_iter()).unwrap();
        assert!(samples.instructions);
        assert_eq!(samples.range(), (10.0, 1000.0));
    }
}
