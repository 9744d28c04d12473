//! The lines of `-i`: what the streams counted between two looks.

use std::time::Duration;

use super::stream::Running;
use super::test::{Counted, Interval};

/// The most intervals that are kept; a test of a day has 86,400 of a second.
const MAX_INTERVALS: usize = 100_000;

pub(super) struct Watch {
    every_ns: u64,
    last_ns: u64,
    due_ns: u64,
    before: Vec<Counted>,
    pub(super) intervals: Vec<Interval>,
}

impl Watch {
    pub(super) fn new(every: Duration) -> Watch {
        let every_ns = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
        Watch {
            every_ns,
            last_ns: 0,
            due_ns: every_ns,
            before: Vec::new(),
            intervals: Vec::new(),
        }
    }

    /// Close the interval if it is over. Counts and times are both of the moment of the look, so that they agree.
    pub(super) fn look(&mut self, now_ns: u64, streams: &[Running]) {
        if self.every_ns > 0 && now_ns >= self.due_ns {
            let whole = now_ns / self.every_ns;
            self.due_ns = (whole + 1).saturating_mul(self.every_ns);
            self.close(now_ns, streams);
        }
    }

    /// Close the last interval, unless it is a mere rest of a twentieth.
    pub(super) fn last(&mut self, now_ns: u64, streams: &[Running]) {
        if self.every_ns > 0 && now_ns.saturating_sub(self.last_ns) > self.every_ns / 20 {
            self.close(now_ns, streams);
        }
    }

    fn close(&mut self, now_ns: u64, streams: &[Running]) {
        if self.intervals.len() >= MAX_INTERVALS {
            return;
        }
        self.before.resize(streams.len(), Counted::default());
        let now = streams.iter().map(|stream| stream.meter.counted());
        let pairs: Vec<_> = self.before.iter().copied().zip(now).collect();
        self.before = pairs.iter().map(|(_, now)| *now).collect();
        self.intervals.push(Interval {
            start_ns: self.last_ns,
            end_ns: now_ns,
            streams: pairs,
        });
        self.last_ns = now_ns;
    }
}
