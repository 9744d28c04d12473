//! A histogram for hot paths: log-linear buckets, a few ns per sample, without allocation.

use crate::series::{BUCKETS, Histogram, bucket_of};

/// Counts samples in log-linear buckets (see [`bucket_of`]) with their exact smallest, largest and sum.
#[derive(Clone, Debug)]
pub struct LogLinear {
    counts: Box<[u64]>,
    least: u64,
    most: u64,
    sum: u128,
}

impl Default for LogLinear {
    fn default() -> LogLinear {
        LogLinear::new()
    }
}

impl LogLinear {
    /// No sample yet.
    pub fn new() -> LogLinear {
        LogLinear {
            counts: vec![0; BUCKETS].into_boxed_slice(),
            least: u64::MAX,
            most: 0,
            sum: 0,
        }
    }

    /// Adds one sample.
    #[inline]
    pub fn record(&mut self, ticks: u64) {
        self.counts[bucket_of(ticks)] += 1;
        self.least = self.least.min(ticks);
        self.most = self.most.max(ticks);
        self.sum += u128::from(ticks);
    }

    /// The histogram of the samples so far, of a clock with `tick_ps` picoseconds per tick.
    pub fn histogram(&self, tick_ps: Option<u64>) -> Histogram {
        Histogram::from_log_linear(tick_ps, &self.counts, self.least, self.most, self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_found_again_to_the_width_of_a_bucket() {
        let mut samples = LogLinear::new();
        assert_eq!(samples.histogram(None).count, 0);
        for ticks in [0, 63, 1_000, 1_000_000, u64::MAX] {
            samples.record(ticks);
        }
        let histogram = samples.histogram(Some(1000));
        assert_eq!((histogram.count, histogram.min_ticks), (5, 0));
        assert_eq!(histogram.max_ticks, u64::MAX);
        let median = histogram.percentile(50.0).unwrap();
        assert!((1_000..1_032).contains(&median), "{median}");
    }
}
