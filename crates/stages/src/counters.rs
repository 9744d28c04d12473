//! The counts of a tracer, by the names of a node's counters (`spec/node-control.md`).

use wirelab_trial::Histogram;
use wirelab_trial::counter::Counter;

use crate::store::Cost;
use crate::tracer::Tracer;

impl Tracer {
    /// The counts of each point, the cost of a record there, and the driver's polls. Counts of points that were not
    /// traced are absent, not 0.
    pub fn counters(&self) -> Vec<(String, u64)> {
        let mut all = Vec::new();
        for info in self.points() {
            let counted = info.counts.each().into_iter().filter(|(_, n)| *n > 0);
            all.extend(counted.map(|(count, n)| (info.point.counter(count), n)));
        }
        all.extend(self.costs().iter().flat_map(Cost::counters));
        polls(&self.polls(), &mut all);
        all
    }
}

/// Frames of a poll, their mean in thousandths; nothing if no poll took a frame of the flow.
fn polls(polls: &Histogram, all: &mut Vec<(String, u64)>) {
    if polls.count == 0 {
        return;
    }
    let mut put = |counter: Counter, value: u64| all.push((counter.word().to_owned(), value));
    put(Counter::NAPI_POLLS, polls.count);
    put(
        Counter::NAPI_MEAN,
        (polls.mean_ticks * 1000.0).round() as u64,
    );
    for (counter, percent) in [(Counter::NAPI_MEDIAN, 50.0), (Counter::NAPI_P99, 99.0)] {
        if let Some(frames) = polls.percentile(percent) {
            put(counter, frames);
        }
    }
    put(Counter::NAPI_MAX, polls.max_ticks);
}

#[cfg(test)]
mod tests {
    use wirelab_trial::{Clock, Owner, SeriesBuilder, SeriesName};

    use super::*;

    fn poll_counters(frames: &[u64]) -> Vec<(String, u64)> {
        let clock = Clock {
            owner: Owner::Node,
            ..Clock::TESTER_NS
        };
        let mut series = SeriesBuilder::new(SeriesName::Other("polls".to_owned()), clock, 0);
        frames.iter().for_each(|n| series.push(*n));
        let mut all = Vec::new();
        polls(&series.finish().histogram, &mut all);
        all
    }

    #[test]
    fn polls_that_took_no_frame_are_not_seen_and_no_zeros() {
        assert_eq!(poll_counters(&[]), []);
        let expected = [
            ("napi_polls", 4),
            ("napi_poll_frames_mean_milli", 2250),
            ("napi_poll_frames_median", 1),
            ("napi_poll_frames_p99", 6),
            ("napi_poll_frames_max", 6),
        ];
        let expected = expected.map(|(name, n)| (name.to_owned(), n));
        assert_eq!(poll_counters(&[1, 1, 1, 6]), expected);
    }
}
