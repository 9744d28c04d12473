//! Both ends of a TCP flow without I/O: how much, when the next write is due, and the lines of `-i`.

use std::time::Duration;

use wirelab_trial::Histogram;
use wirelab_trial::slices::{Marks, Slices, Totals};

use super::amount::{Amount, Rate};
use super::enhanced::Reads;
use super::intervals::{Intervals, Span};
use super::schedule::Schedule;
use crate::sending::SendOptions;

/// Default bytes of a write: 128 KiB, as iperf.
pub const WRITE_BYTES: u32 = 128 * 1024;

/// Counts the bytes of one flow, and those of each interval.
#[derive(Clone, Debug)]
pub struct Meter {
    start_ns: u64,
    last_ns: u64,
    bytes: u64,
    taken_bytes: u64,
    calls: Reads,
    taken_calls: Reads,
    intervals: Intervals,
    /// Progress of the bytes over time.
    marks: Marks,
}

impl Meter {
    /// A flow that starts at `start_ns` of any steady clock, with a line every `every_ns`, or 0 for none.
    pub fn new(start_ns: u64, every_ns: u64) -> Meter {
        Meter {
            start_ns,
            last_ns: start_ns,
            bytes: 0,
            taken_bytes: 0,
            calls: Reads::default(),
            taken_calls: Reads::default(),
            intervals: Intervals::new(start_ns, every_ns),
            marks: Marks::new(),
        }
    }

    /// Records bytes that one call moved at `now_ns`.
    pub fn add(&mut self, bytes: usize, now_ns: u64) {
        if self.marks.is_due(now_ns) {
            self.marks.come_to(now_ns, self.totals());
        }
        self.bytes += bytes as u64;
        self.calls.add(bytes, WRITE_BYTES as usize);
        self.last_ns = self.last_ns.max(now_ns);
    }

    /// A stream has no sequence numbers.
    fn totals(&self) -> Totals {
        Totals {
            amount: self.bytes,
            ..Totals::default()
        }
    }

    /// Distribution of the bytes over time.
    pub fn slices(&self) -> Slices {
        self.marks.clone().finish(self.last_ns, self.totals())
    }

    /// Calls so far.
    pub const fn calls(&self) -> Reads {
        self.calls
    }

    /// Calls since the last call of this function.
    pub fn calls_of_interval(&mut self) -> Reads {
        let calls = self.calls.since(&self.taken_calls);
        self.taken_calls = self.calls;
        calls
    }

    /// The next interval that has ended by `now_ns`, and its bytes; call it before adding what happens at `now_ns`.
    pub fn over(&mut self, now_ns: u64) -> Option<(Span, u64)> {
        let span = self.intervals.over(now_ns)?;
        Some((span, self.take_bytes()))
    }

    /// The partial interval at the end of the flow, and its bytes, if it is long enough for a line; call it when
    /// [`Meter::over`] returns `None`.
    pub fn rest(&mut self) -> Option<(Span, u64)> {
        let span = self.intervals.rest(self.last_ns)?;
        Some((span, self.take_bytes()))
    }

    fn take_bytes(&mut self) -> u64 {
        let bytes = self.bytes - self.taken_bytes;
        self.taken_bytes = self.bytes;
        bytes
    }

    /// Extends the flow to `now_ns`, though the last call moved nothing.
    pub fn until(&mut self, now_ns: u64) {
        self.last_ns = self.last_ns.max(now_ns);
    }

    /// All bytes, from the start to the last of them, or to the end of the flow.
    pub const fn total(&self) -> (Span, u64) {
        let span = Span {
            start_ns: self.start_ns,
            end_ns: self.last_ns,
        };
        (span, self.bytes)
    }
}

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamStep {
    /// Write at most this many bytes, and report them to [`StreamSender::wrote`].
    Write(usize),
    /// Nothing is due before this time.
    Wait {
        /// In ns of the caller's clock.
        until_ns: u64,
    },
    /// All is written.
    Done,
}

/// How well a TCP sender kept the requested rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// Pauses after which the schedule moved.
    pub slips: u64,
    /// Their time in ns, in which nothing was offered.
    pub slipped_ns: u64,
    /// Most writes that began back to back to catch up after a pause; 1 where none did.
    pub longest_burst: u64,
    /// Gaps between the beginnings of writes, in ticks of 1 ns.
    pub gaps: Histogram,
}

/// The sending end of a TCP flow.
#[derive(Clone, Debug)]
pub struct StreamSender {
    amount: Amount,
    length_bytes: usize,
    schedule: Option<Schedule>,
    /// Its latest end, even if some of an amount of bytes is left.
    end_ns: u64,
    bytes: u64,
    /// Bytes of the write that has begun.
    left: usize,
}

impl StreamSender {
    /// A flow that starts at `now_ns`, in writes of `length_bytes`.
    pub fn new(
        amount: Amount,
        rate: Rate,
        sending: SendOptions,
        length_bytes: u32,
        now_ns: u64,
    ) -> StreamSender {
        let interval = rate.interval_ps(length_bytes.max(1));
        StreamSender {
            amount,
            length_bytes: length_bytes.max(1) as usize,
            schedule: interval.map(|ps| Schedule::of(now_ns, Some(ps), sending.strict_gaps)),
            end_ns: amount.ns().map_or(u64::MAX, |ns| now_ns.saturating_add(ns)),
            bytes: 0,
            left: 0,
        }
    }

    /// The same flow, which ends `longest` after `now_ns` at the latest: a peer that requests many bytes and reads none
    /// must not keep its slot forever.
    #[must_use]
    pub fn within(mut self, longest: Duration, now_ns: u64) -> StreamSender {
        let longest_ns = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
        self.end_ns = self.end_ns.min(now_ns.saturating_add(longest_ns));
        self
    }

    /// The action at `now_ns`.
    pub fn step(&mut self, now_ns: u64) -> StreamStep {
        if now_ns >= self.end_ns {
            return StreamStep::Done;
        }
        let most = match self.amount {
            Amount::Bytes(all) => all.saturating_sub(self.bytes),
            Amount::Time { .. } => u64::MAX,
        };
        if most == 0 {
            return StreamStep::Done;
        }
        if self.left == 0 {
            if let Some(schedule) = &mut self.schedule {
                let due_ns = schedule.due_ns();
                if now_ns < due_ns {
                    let until_ns = due_ns.min(self.end_ns);
                    return StreamStep::Wait { until_ns };
                }
                schedule.leaves(now_ns);
            }
            self.left = self.length_bytes;
        }
        StreamStep::Write(usize::try_from(most).unwrap_or(usize::MAX).min(self.left))
    }

    /// How much of the current write is written: 0 for one that is next.
    pub const fn offset(&self) -> usize {
        self.length_bytes - self.left
    }

    /// Whether a rate was requested.
    pub const fn is_paced(&self) -> bool {
        self.schedule.is_some()
    }

    /// Records that the path took nothing for this many ns.
    pub fn was_blocked(&mut self, ns: u64) {
        if let Some(schedule) = &mut self.schedule {
            schedule.was_blocked(ns);
        }
    }

    /// How well a rate was kept, where one was requested.
    pub fn pace(&self) -> Option<Box<Pace>> {
        let schedule = self.schedule.as_ref()?;
        Some(Box::new(Pace {
            slips: schedule.slips(),
            slipped_ns: schedule.slipped_ns(),
            longest_burst: schedule.longest_burst().unwrap_or(1),
            gaps: schedule.gaps(),
        }))
    }

    /// Records written bytes.
    pub fn wrote(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.left = self.left.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_to_the_last() {
        let mut sender =
            StreamSender::new(Amount::Bytes(1000), Rate::Max, SendOptions::DEFAULT, 400, 0);
        assert_eq!(sender.step(0), StreamStep::Write(400));
        sender.wrote(150);
        assert_eq!(
            sender.step(0),
            StreamStep::Write(250),
            "the rest of a short write"
        );
        assert_eq!(sender.offset(), 150);
        sender.wrote(250);
        sender.step(0);
        sender.wrote(400);
        assert_eq!(
            (sender.step(0), sender.offset()),
            (StreamStep::Write(200), 0)
        );
        sender.wrote(200);
        assert_eq!(sender.step(0), StreamStep::Done);
        assert_eq!(sender.pace(), None, "no rate was requested");
    }

    #[test]
    fn a_paced_flow_ends_on_time() {
        let amount = Amount::Time { centiseconds: 1 };
        let rate = Rate::BitsPerS(2_000_000);
        // 1000 bytes every 4 ms.
        let mut sender = StreamSender::new(amount, rate, SendOptions::DEFAULT, 1000, 0);
        let (mut now, mut writes) = (0, 0);
        loop {
            match sender.step(now) {
                StreamStep::Write(bytes) => {
                    sender.wrote(bytes);
                    writes += 1;
                }
                StreamStep::Wait { until_ns } => now = until_ns,
                StreamStep::Done => break,
            }
        }
        assert_eq!((now, writes), (10_000_000, 3));
        let pace = sender.pace().unwrap();
        assert_eq!(
            (pace.slips, pace.gaps.count, pace.gaps.max_ticks),
            (0, 2, 4_000_000)
        );
    }

    #[test]
    fn intervals_and_total() {
        let mut meter = Meter::new(100, 1000);
        meter.add(7, 500);
        assert_eq!(meter.over(1099), None);
        let span = |start_ns, end_ns| Span { start_ns, end_ns };
        assert_eq!(meter.over(2200), Some((span(100, 1100), 7)));
        assert_eq!(meter.over(2200), Some((span(1100, 2100), 0)));
        assert_eq!(meter.over(2200), None);
        meter.add(5, 2200);
        assert_eq!(meter.rest(), None, "too short for a line");
        meter.add(1, 2400);
        assert_eq!(meter.rest(), Some((span(2100, 2400), 6)));
        assert_eq!(meter.total(), (span(100, 2400), 13));
    }
}
