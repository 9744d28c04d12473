//! Judges each frame of a flow at a checker: its verdict, order and time.

use wirelab_wire::header::TIME_MODULUS;
use wirelab_wire::{Flags, Header, Verdict};

use super::{CheckReport, Missed};
use crate::clock::Clock;
use crate::counts::Counts;
use crate::format;
use crate::jitter::Jitter;
use crate::series::SeriesBuilder;
use crate::series_name::FixedSeries;
use crate::slices::{Marks, Totals};
use crate::tracker::{SlotTracker, Tracker};

/// How the order of a flow is followed.
#[derive(Debug)]
enum Order {
    Sequences(Tracker),
    Slots(SlotTracker),
}

/// Counts, orders and times the frames of one flow, whatever carries them, and reports the result.
#[derive(Debug)]
pub struct Judge {
    counts: Counts,
    order: Order,
    /// The transmit time in ns from which frames belong to this run, where known.
    since_ns: Option<u64>,
    /// Selects the timed frames: those whose number has no bit in common with this mask.
    mask: u64,
    first: Option<(u64, u64)>,
    last: Option<(u64, u64)>,
    /// Progress of the flow over time, and the last arrival in ns.
    marks: Marks,
    last_arrival_ns: u64,
    jitter: Jitter,
    latency: SeriesBuilder,
    /// Frames of the flow without a usable time of the tester's clock.
    untimed: u64,
    /// Frames that arrived before their own transmit time.
    early: u64,
    /// Repeating frames where none were announced, or the other way round.
    mixed: u64,
}

impl Judge {
    /// A flow of which nothing has arrived, with the number of slots where its frames repeat. One frame in `time_every`
    /// (rounded up to a power of two) is timed.
    pub fn new(slots: Option<u32>, time_every: u32) -> Judge {
        Judge {
            counts: Counts::default(),
            order: match slots {
                Some(slots) => Order::Slots(SlotTracker::new(slots)),
                None => Order::Sequences(Tracker::new()),
            },
            since_ns: None,
            mask: u64::from(time_every.max(1).next_power_of_two()) - 1,
            first: None,
            last: None,
            marks: Marks::new(),
            last_arrival_ns: 0,
            jitter: Jitter::new(),
            latency: SeriesBuilder::new(FixedSeries::LATENCY, Clock::TESTER_NS, 0),
            untimed: 0,
            early: 0,
            mixed: 0,
        }
    }

    /// Frames that the sender stamped before `since_ns` of its own clock belong to another run, and are counted
    /// separately.
    #[must_use]
    pub fn sent_since(self, since_ns: Option<u64>) -> Judge {
        Judge { since_ns, ..self }
    }

    /// Frames of other runs so far.
    pub fn other_run(&self) -> u64 {
        self.counts.other_run_frames
    }

    /// Records a frame whose path shows that it belongs to another run.
    pub fn take_of_another_run(&mut self) {
        self.counts.other_run_frames += 1;
    }

    /// Foreign frames so far.
    pub fn foreign(&self) -> u64 {
        self.counts.foreign_frames
    }

    /// Arrival of the first timed frame in ns, if one has come.
    pub fn first_ns(&self) -> Option<u64> {
        self.first.map(|(ns, _)| ns)
    }

    /// Frames of the flow so far.
    pub fn received(&self) -> u64 {
        self.counts.received_frames
    }

    /// Records a frame with this verdict and payload (after the Ethernet header and its tags, in bytes), and with its
    /// arrival time `arrival_ns` (CLOCK_MONOTONIC) if known; returns whether it belongs to the flow.
    #[inline]
    pub fn take(&mut self, verdict: Verdict, payload_bytes: u64, arrival_ns: Option<u64>) -> bool {
        let counts = &mut self.counts;
        if let (Some(since), Some(header)) = (self.since_ns, verdict.header())
            && was_sent_before(header, since)
        {
            counts.other_run_frames += 1;
            return false;
        }
        let header = match verdict {
            Verdict::Foreign => {
                counts.foreign_frames += 1;
                return false;
            }
            Verdict::HeaderCorrupt => {
                counts.header_corrupt_frames += 1;
                None
            }
            Verdict::Truncated(header) => {
                counts.truncated_frames += 1;
                Some(header)
            }
            Verdict::Stale { header, .. } => {
                counts.stale_frames += 1;
                Some(header)
            }
            Verdict::Corrupted(header) => {
                counts.corrupted_frames += 1;
                Some(header)
            }
            Verdict::Good(header) => {
                counts.good_frames += 1;
                counts.verified_payload_bytes += payload_bytes;
                Some(header)
            }
        };
        if let Some(arrival) = arrival_ns {
            self.arrived(arrival);
        }
        let number = self.counts.received_frames;
        self.counts.received_frames += 1;
        if number & self.mask == 0 {
            self.time(number, arrival_ns, header.as_ref());
        }
        if let Some(header) = header {
            self.place(&header);
        }
        true
    }

    /// Records the arrival of a frame of the flow, before it is in any total.
    #[inline]
    fn arrived(&mut self, arrival_ns: u64) {
        if self.marks.is_due(arrival_ns) {
            let totals = self.totals();
            self.marks.come_to(arrival_ns, totals);
        }
        self.last_arrival_ns = self.last_arrival_ns.max(arrival_ns);
    }

    /// The progress of the flow. A slot is not a sequence: which frames are missing is unknown.
    fn totals(&self) -> Totals {
        let (distinct, passed) = match &self.order {
            Order::Sequences(tracker) => (tracker.distinct(), tracker.next()),
            Order::Slots(_) => (0, 0),
        };
        Totals {
            amount: self.counts.received_frames,
            distinct,
            passed,
        }
    }

    fn place(&mut self, header: &Header) {
        let repeating = header.flags.contains(Flags::REPEATING);
        match &mut self.order {
            Order::Sequences(tracker) => {
                self.mixed += u64::from(repeating);
                tracker.observe(header.sequence);
            }
            Order::Slots(slots) => {
                self.mixed += u64::from(!repeating);
                slots.observe(header.sequence);
            }
        }
    }

    fn time(&mut self, number: u64, arrival_ns: Option<u64>, header: Option<&Header>) {
        let Some(arrival) = arrival_ns else {
            self.untimed += 1;
            return;
        };
        match &mut self.first {
            // Frames that were fetched together share a time: all had arrived by then.
            Some((first, until)) if *first == arrival => *until = number,
            Some(_) => {}
            None => self.first = Some((arrival, number)),
        }
        self.last = Some((arrival, number));
        let Some(header) = header.filter(|h| is_timed(h)) else {
            self.untimed += 1;
            return;
        };
        self.jitter.observe(header.time_ns, arrival);
        let latency = arrival.wrapping_sub(header.time_ns) % TIME_MODULUS;
        if latency < TIME_MODULUS / 2 {
            self.latency.push(latency);
        } else {
            self.early += 1;
        }
    }

    /// The report of a checker that need not share a clock with the sender: apparent latencies are left out. The jitter
    /// stays, because an offset between two clocks does not change it.
    pub fn finish_apart(mut self) -> CheckReport {
        self.early = 0;
        CheckReport {
            series: Vec::new(),
            ..self.finish()
        }
    }

    /// The report, as far as frames show it.
    pub fn finish(self) -> CheckReport {
        let mut counts = self.counts;
        let mut notes = Vec::new();
        match &self.order {
            Order::Sequences(tracker) => {
                counts.distinct_sequences = tracker.distinct();
                counts.duplicated_frames = tracker.duplicated();
                counts.reordered_frames = tracker.reordered();
                counts.reordering_extent_frames = tracker.max_extent();
                counts.too_late_frames = tracker.too_late();
            }
            Order::Slots(slots) => {
                counts.distinct_sequences = slots.received();
                counts.order_breaks = slots.order_breaks();
                if slots.order_breaks() > 0 {
                    notes.push(format!(
                        "slots of repeating frames did not follow one another {} (at least {} passed over)",
                        format::count(slots.order_breaks(), "time"), format::count(slots.skipped(), "frame")
                    ));
                }
            }
        }
        if self.mixed > 0 {
            notes.push(format!(
                "{} announced as a sequence repeated, or the reverse",
                format::count(self.mixed, "frame")
            ));
        }
        if self.early > 0 {
            notes.push(format!(
                "{} arrived before the time of sending: sender and checker do not share a clock, and this latency was left out",
                format::count(self.early, "frame")
            ));
        }
        let totals = self.totals();
        let slices = self.marks.finish(self.last_arrival_ns, totals);
        let every_frame_timed = self.mask == 0 && self.untimed == 0;
        CheckReport {
            counts,
            first: self.first,
            last: self.last,
            slices,
            jitter_ns: self.jitter.ns().filter(|_| every_frame_timed),
            series: match self.latency.count() {
                0 => Vec::new(),
                _ => vec![self.latency.finish()],
            },
            missed: Missed::default(),
            held_up_ns: None,
            held_long_ns: 0,
            watched_ns: None,
            notes,
        }
    }
}

/// Whether the tester sent a frame before this time in ns. Times in headers are modulo 2⁴⁸, so half of the range (39
/// hours) counts as before.
pub fn was_sent_before(header: &Header, since_ns: u64) -> bool {
    is_timed(header) && header.time_ns.wrapping_sub(since_ns) % TIME_MODULUS >= TIME_MODULUS / 2
}

/// Whether a frame carries its transmit time by the tester's clock.
fn is_timed(header: &Header) -> bool {
    header.flags.contains(Flags::TIME_VALID) && !header.flags.contains(Flags::NODE_CLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good(sequence: u32, time_ns: u64) -> Verdict {
        Verdict::Good(Header {
            flags: Flags::TIME_VALID,
            stream: 0,
            sequence,
            time_ns,
            lfsr_len: 46,
        })
    }

    #[test]
    fn frames_that_share_the_first_time_are_no_part_of_the_rate() {
        let mut judge = Judge::new(None, 1);
        for n in 0..1_000u32 {
            let arrival = 1_000 + u64::from(n / 100) * 1_000_000;
            judge.take(good(n, 0), 60, Some(arrival));
        }
        let report = judge.finish_apart();
        assert_eq!(report.first, Some((1_000, 99)));
        // 900 frames in the 9 ms after the first hundred had come.
        assert_eq!(report.frames_per_s(), Some(100_000.0));
    }

    #[test]
    fn frames_of_another_run_are_in_no_other_count() {
        let since = TIME_MODULUS + 50;
        let mut judge = Judge::new(None, 1).sent_since(Some(since));
        // Late frames of the run before: in order, with the highest sequence, and across the modulus.
        for (n, sent) in [(0, 49), (7, 0), (u32::MAX, TIME_MODULUS - 1)] {
            assert!(!judge.take(good(n, sent), 60, Some(since)));
        }
        for n in 0..3 {
            assert!(judge.take(good(n, 50 + u64::from(n)), 60, Some(since + 9)));
        }
        let untimed = Header {
            flags: Flags::NONE,
            stream: 0,
            sequence: 3,
            time_ns: 0,
            lfsr_len: 46,
        };
        assert!(
            judge.take(Verdict::Good(untimed), 60, None),
            "the time of sending is unknown"
        );
        let counts = judge.finish().with_sent(4).counts;
        assert!(
            counts.is_clean() && counts.received_frames == 4,
            "{counts:?}"
        );
        assert_eq!(counts.other_run_frames, 3);
        assert_eq!(counts.check_identity(4), Ok(()));
    }

    #[test]
    fn checkers_with_a_clock_of_their_own_keep_jitter_and_tell_no_latency() {
        let mut shared = Judge::new(None, 1);
        let mut apart = Judge::new(None, 1);
        for n in 0..3u32 {
            // The sender's clock is a second ahead.
            let (sent, arrived) = (1_000_000_000 + u64::from(n) * 100, u64::from(n) * 130);
            assert!(shared.take(good(n, sent), 60, Some(sent + 7)));
            assert!(apart.take(good(n, sent), 60, Some(arrived)));
        }
        assert!(!apart.take(Verdict::Foreign, 60, None));
        assert_eq!(shared.finish().series[0].raw_ticks, [7, 7, 7]);
        let report = apart.finish_apart().with_sent(4);
        assert!(report.series.is_empty() && report.notes.is_empty());
        // |D| = 30 twice: 30/16, then 30/16 + (30 − 30/16)/16 = 3.6 ns.
        assert_eq!(report.jitter_ns, Some(3));
        let counts = report.counts;
        assert_eq!((counts.received_frames, counts.foreign_frames), (3, 1));
        assert_eq!(counts.verified_payload_bytes, 180);
        assert_eq!(counts.check_identity(4), Ok(()));
    }
}
