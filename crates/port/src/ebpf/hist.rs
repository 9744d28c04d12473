//! The histogram that eBPF programs keep: `struct wl_hist` of bpf/test_frame.h.

use wirelab_trial::Histogram;

/// Log-linear buckets of a histogram.
const HIST_BUCKETS: usize = 2048;

/// Values that a program counted, in the log-linear buckets of [`Histogram::from_log_linear`].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Hist {
    /// Number of values.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The smallest value.
    pub min: u64,
    /// The largest value.
    pub max: u64,
    /// Values in each bucket.
    pub buckets: [u64; HIST_BUCKETS],
}

impl Hist {
    /// As a histogram. Ticks of time values are nanoseconds.
    pub fn histogram(&self) -> Histogram {
        Histogram::from_log_linear(
            Some(1000),
            &self.buckets,
            self.min,
            self.max,
            self.sum.into(),
        )
    }
}
