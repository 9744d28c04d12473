//! The lines of `-i`: the counts of the streams between two checks.

use std::time::Duration;

use super::stream::Running;
use super::test::{EventSink, Interval, StreamCounts, TestEvent};

/// Most intervals that are kept; a test of a day has 86,400 of a second.
const MAX_INTERVALS: usize = 100_000;

pub(super) struct IntervalReporter<'a> {
    tell: EventSink<'a>,
    every_ns: u64,
    /// Start of the counted part.
    began_ns: u64,
    omitting: bool,
    last_ns: u64,
    due_ns: u64,
    before: Vec<StreamCounts>,
    /// Counts of each stream at the end of the omitted start.
    omitted: Vec<StreamCounts>,
    intervals: Vec<Interval>,
}

impl<'a> IntervalReporter<'a> {
    pub(super) fn new(
        every: Duration,
        omitting: bool,
        tell: EventSink<'a>,
    ) -> IntervalReporter<'a> {
        let every_ns = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
        IntervalReporter {
            tell,
            every_ns,
            began_ns: 0,
            omitting,
            last_ns: 0,
            due_ns: every_ns,
            before: Vec::new(),
            omitted: Vec::new(),
            intervals: Vec::new(),
        }
    }

    /// Reports an event that is not an interval.
    pub(super) fn tell(&mut self, event: TestEvent<'_>) {
        (self.tell)(event);
    }

    /// Closes the interval if it is over. Counts and times are both from the time of the check, so that they agree.
    pub(super) fn look(&mut self, now_ns: u64, streams: &[Running]) {
        if self.every_ns > 0 && now_ns >= self.due_ns {
            let since_ns = now_ns - self.began_ns;
            let next = (since_ns / self.every_ns + 1).saturating_mul(self.every_ns);
            self.due_ns = self.began_ns.saturating_add(next);
            self.close(now_ns, streams);
        }
    }

    /// Ends the omitted start: the counted part begins here.
    pub(super) fn begin(&mut self, now_ns: u64, streams: &[Running]) {
        self.last(now_ns, streams);
        self.omitting = false;
        self.omitted = streams
            .iter()
            .map(|stream| stream.meter.counted())
            .collect();
        self.before.clone_from(&self.omitted);
        (self.began_ns, self.last_ns) = (now_ns, now_ns);
        self.due_ns = now_ns.saturating_add(self.every_ns);
    }

    /// Closes the last interval, unless it is shorter than a twentieth.
    pub(super) fn last(&mut self, now_ns: u64, streams: &[Running]) {
        if self.every_ns > 0 && now_ns.saturating_sub(self.last_ns) > self.every_ns / 20 {
            self.close(now_ns, streams);
        }
    }

    fn close(&mut self, now_ns: u64, streams: &[Running]) {
        self.before.resize(streams.len(), StreamCounts::default());
        let now = streams.iter().map(|stream| stream.meter.counted());
        let pairs: Vec<_> = self.before.iter().copied().zip(now).collect();
        self.before = pairs.iter().map(|(_, now)| *now).collect();
        let interval = Interval {
            start_ns: self.last_ns - self.began_ns,
            end_ns: now_ns - self.began_ns,
            omitted: self.omitting,
            streams: pairs,
        };
        self.last_ns = now_ns;
        (self.tell)(TestEvent::Interval(&interval));
        if self.intervals.len() < MAX_INTERVALS {
            self.intervals.push(interval);
        }
    }

    /// Start of the counted part, in ns after data began to flow; where the test ended earlier, all of it counts.
    pub(super) const fn began_ns(&self) -> u64 {
        self.began_ns
    }

    /// The intervals, the counts to subtract from each stream, and the receiver of later events.
    pub(super) fn finish(
        self,
        streams: usize,
    ) -> (Vec<Interval>, Vec<StreamCounts>, EventSink<'a>) {
        let mut omitted = self.omitted;
        omitted.resize(streams, StreamCounts::default());
        (self.intervals, omitted, self.tell)
    }
}
