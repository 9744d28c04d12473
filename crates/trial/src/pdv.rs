//! Delay variation of RFC 5481: PDV against the smallest delay, and IPDV from one frame to the next.

use serde::Serialize;

use crate::series::{Histogram, HistogramBuilder, Series};

/// Packet delay variation: delay minus the smallest delay of the same flow (RFC 5481, 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pdv {
    /// Median in ticks.
    pub p50_ticks: u64,
    /// 99th percentile in ticks.
    pub p99_ticks: u64,
    /// 99.9th percentile in ticks: the PDV of RFC 8219 (7.3.1).
    pub p99_9_ticks: u64,
    /// Largest in ticks.
    pub max_ticks: u64,
}

impl Pdv {
    /// The delay variation of a latency series; `None` where it is empty.
    pub fn of(latency: &Series) -> Option<Pdv> {
        let (min, max) = (latency.histogram.min_ticks, latency.histogram.max_ticks);
        let above = |p| Some(latency.percentile(p)?.saturating_sub(min));
        Some(Pdv {
            p50_ticks: above(50.0)?,
            p99_ticks: above(99.0)?,
            p99_9_ticks: above(99.9)?,
            max_ticks: max.saturating_sub(min),
        })
    }
}

/// Inter-packet delay variation (RFC 5481, 4.1; RFC 3393): delay minus that of the frame with the previous sequence.
///
/// A frame whose predecessor was lost, or arrived later, has none.
#[derive(Clone, Debug, Default)]
pub struct Ipdv {
    last: Option<(u64, u64)>,
    max_ticks: i64,
    min_ticks: i64,
    magnitude: HistogramBuilder,
}

impl Ipdv {
    /// No frame yet.
    pub fn new() -> Ipdv {
        Ipdv::default()
    }

    /// Records a frame: its sequence, not wrapped, and its delay in ticks. Returns its IPDV in ticks.
    pub fn observe(&mut self, sequence: u64, delay_ticks: u64) -> Option<i64> {
        let (last_sequence, last_delay) = self.last.replace((sequence, delay_ticks))?;
        if last_sequence.checked_add(1) != Some(sequence) {
            return None;
        }
        let bound = i128::from(i64::MAX);
        let change = i128::from(delay_ticks) - i128::from(last_delay);
        let change = change.clamp(-bound, bound) as i64;
        self.max_ticks = self.max_ticks.max(change);
        self.min_ticks = self.min_ticks.min(change);
        self.magnitude.record(change.unsigned_abs());
        Some(change)
    }

    /// The most negative IPDV in ticks, 0 where none was.
    pub const fn min_ticks(&self) -> i64 {
        self.min_ticks
    }

    /// The most positive IPDV in ticks, 0 where none was.
    pub const fn max_ticks(&self) -> i64 {
        self.max_ticks
    }

    /// The magnitudes |IPDV|, of a clock with `tick_ps` picoseconds a tick.
    pub fn magnitude(&self, tick_ps: Option<u64>) -> Histogram {
        self.magnitude.finish(tick_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::series::SeriesBuilder;
    use crate::series_name::FixedSeries;

    #[test]
    fn pdv_is_counted_from_the_smallest_delay() {
        let mut latency = SeriesBuilder::new(FixedSeries::LATENCY, Clock::TESTER_NS, 1);
        assert_eq!(Pdv::of(&latency.clone().finish()), None);
        for delay in 1..=1000 {
            latency.push(5_000 + delay);
        }
        let pdv = Pdv::of(&latency.finish()).unwrap();
        assert_eq!(
            (pdv.p50_ticks, pdv.p99_ticks, pdv.p99_9_ticks, pdv.max_ticks),
            (499, 989, 998, 999)
        );
    }

    #[test]
    fn ipdv_needs_the_frame_before() {
        let mut ipdv = Ipdv::new();
        assert_eq!(ipdv.observe(0, 100), None);
        assert_eq!(ipdv.observe(1, 130), Some(30));
        assert_eq!(ipdv.observe(2, 90), Some(-40));
        assert_eq!(ipdv.observe(4, 500), None, "3 is missing");
        assert_eq!(ipdv.observe(3, 100), None, "and comes too late");
        assert_eq!((ipdv.min_ticks(), ipdv.max_ticks()), (-40, 30));
        let magnitude = ipdv.magnitude(Some(1000));
        assert_eq!((magnitude.count, magnitude.max_ticks), (2, 40));
        assert_eq!(ipdv.observe(4, u64::MAX), Some(i64::MAX));
    }
}
