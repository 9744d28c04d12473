//! One flow of a capture while it is read: states, sequences, times, sizes.

use hdrhistogram::Histogram as Hdr;
use wirelab_trial::tracker::WINDOW;
use wirelab_trial::{Counts, Event, Histogram, SlotEvent, Tracker};
use wirelab_wire::Header;

use super::reader::CapturedFrame;
use super::report::{Fault, FlowReport, LENGTHS, Lengths, SlotReport};
use super::slots::Slots;
use super::verify::VerifyOptions;

/// What tells one flow from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub interface: u32,
    pub source: [u8; 6],
    pub stream: u8,
    pub repeating: bool,
}

/// The state of a frame with an intact header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Good,
    Truncated,
    Stale,
    Corrupted,
    CutBySnaplen,
}

/// How the order of a flow is followed.
enum Order {
    Sequences(Sequences),
    Slots(Slots),
}

/// Sequences from wherever the capture began.
struct Sequences {
    tracker: Tracker,
    /// Sequence that the tracker sees as 0.
    base: u32,
    /// Lowest sequence that the tracker has seen.
    lowest: Option<u64>,
}

/// A flow that is being followed.
pub(super) struct FlowState {
    pub key: Key,
    counts: Counts,
    cut: u64,
    order: Order,
    times: Times,
    lengths: Lengths,
    last_length: u32,
    length_bytes: u64,
    payload_bytes: u64,
}

impl FlowState {
    pub(super) fn new(key: Key, first_sequence: u32, options: &VerifyOptions) -> FlowState {
        let order = if key.repeating {
            Order::Slots(Slots::new(options.slots))
        } else {
            Order::Sequences(Sequences::new(first_sequence, options.sent.is_some()))
        };
        FlowState {
            key,
            counts: Counts::default(),
            cut: 0,
            order,
            times: Times::new(),
            lengths: Lengths::default(),
            last_length: 0,
            length_bytes: 0,
            payload_bytes: 0,
        }
    }

    /// Count one frame; what its place among the others is, if it is not the next one.
    #[inline]
    pub(super) fn observe(
        &mut self,
        frame: &CapturedFrame,
        header: &Header,
        state: State,
    ) -> Option<Fault> {
        let length = frame.original_len;
        let payload = u64::from(length).saturating_sub(ethernet_header(frame.bytes));
        match state {
            State::Good => {
                self.counts.good_frames += 1;
                self.counts.verified_payload_bytes += payload;
            }
            State::Truncated => self.counts.truncated_frames += 1,
            State::Stale => self.counts.stale_frames += 1,
            State::Corrupted => self.counts.corrupted_frames += 1,
            State::CutBySnaplen => self.cut += 1,
        }
        self.length_bytes += u64::from(length);
        self.payload_bytes += payload;
        if length != self.last_length {
            self.note_length(length);
        }
        if let Some(time) = frame.time_ps {
            self.times.observe(time);
        }
        match &mut self.order {
            Order::Sequences(sequences) => sequences.observe(header.sequence),
            Order::Slots(slots) => match slots.observe(header.sequence) {
                SlotEvent::InOrder => None,
                SlotEvent::Skip { skipped } => Some(Fault::SlotOrder { skipped }),
                SlotEvent::Repeat | SlotEvent::Unknown => Some(Fault::SlotOrder { skipped: 0 }),
            },
        }
    }

    fn note_length(&mut self, length: u32) {
        self.last_length = length;
        let lengths = &mut self.lengths;
        if lengths.distinct_bytes.is_empty() {
            lengths.min_bytes = length;
        }
        lengths.min_bytes = lengths.min_bytes.min(length);
        lengths.max_bytes = lengths.max_bytes.max(length);
        if let Err(at) = lengths.distinct_bytes.binary_search(&length) {
            if lengths.distinct_bytes.len() < LENGTHS {
                lengths.distinct_bytes.insert(at, length);
            } else {
                lengths.more = true;
            }
        }
    }

    /// The flow's report, with the header-corrupt frames that are its own.
    pub(super) fn report(self, header_corrupt: u64, options: &VerifyOptions) -> FlowReport {
        let mut counts = self.counts;
        counts.header_corrupt_frames = header_corrupt;
        let states = counts.good_frames + counts.truncated_frames + counts.stale_frames;
        let received = states + counts.corrupted_frames;
        counts.received_frames = received + header_corrupt;
        let (mut sequences, mut slots, mut beyond) = (None, None, 0);
        match &self.order {
            Order::Sequences(order) => {
                sequences = order.fill(&mut counts, options.sent);
                let highest = sequences.map_or(0, |(_, highest)| highest + 1);
                beyond = options.sent.map_or(0, |sent| highest.saturating_sub(sent));
            }
            Order::Slots(order) => {
                counts.distinct_sequences = received + self.cut;
                counts.lost_frames = options
                    .sent
                    .map_or(0, |sent| sent.saturating_sub(counts.distinct_sequences));
                let settled = order.settle(options.slots);
                slots = Some(SlotReport {
                    slots: settled.slots,
                    order_breaks: settled.order_breaks,
                    skipped: settled.skipped,
                });
            }
        }
        FlowReport {
            interface: self.key.interface,
            source: self.key.source,
            stream: self.key.stream,
            counts,
            cut_by_snaplen_frames: self.cut,
            sent_frames: options.sent,
            sequences,
            beyond_sent_sequences: beyond,
            slots,
            first_time_ps: self.times.first,
            last_time_ps: self.times.last,
            elapsed_ps: self.times.elapsed(),
            time_backwards_frames: self.times.backwards,
            lengths: self.lengths,
            length_bytes: self.length_bytes,
            payload_bytes: self.payload_bytes,
            gap: self.times.gap(),
        }
    }
}

impl Sequences {
    /// A capture may begin in the middle of a flow. Then the tracker's 0 is put half a window before the first
    /// frame, so that a frame which the first one overtook still counts as reordered.
    fn new(first: u32, from_zero: bool) -> Sequences {
        let base = if from_zero || u64::from(first) < WINDOW {
            0
        } else {
            first - WINDOW as u32 / 2
        };
        Sequences {
            tracker: Tracker::new(),
            base,
            lowest: None,
        }
    }

    #[inline]
    fn observe(&mut self, sequence: u32) -> Option<Fault> {
        let sequence = sequence.wrapping_sub(self.base);
        let event = self.tracker.observe(sequence);
        if event == Event::InOrder && self.lowest.is_some() {
            return None;
        }
        self.unusual(sequence, event)
    }

    fn unusual(&mut self, sequence: u32, event: Event) -> Option<Fault> {
        let next = self.tracker.next();
        let begins = self.lowest.is_none();
        if event != Event::TooLate {
            // At most half the number space away from `next`, as the tracker reads it.
            let ahead = sequence.wrapping_sub(next as u32) as i32;
            let unwrapped = next.saturating_add_signed(ahead.into());
            self.lowest = Some(
                self.lowest
                    .map_or(unwrapped, |lowest| lowest.min(unwrapped)),
            );
        }
        match event {
            Event::InOrder => None,
            // What came before the capture began is no gap in it.
            Event::Gap { .. } if begins => None,
            Event::Gap { missing } => Some(Fault::Gap { missing }),
            Event::Duplicate => Some(Fault::Duplicated),
            Event::Reordered { extent } => Some(Fault::Reordered { extent }),
            Event::TooLate => Some(Fault::TooLate),
        }
    }

    /// Fill in what the tracker knows; the lowest and the highest sequence seen.
    fn fill(&self, counts: &mut Counts, sent: Option<u64>) -> Option<(u64, u64)> {
        let tracker = &self.tracker;
        counts.distinct_sequences = tracker.distinct();
        counts.duplicated_frames = tracker.duplicated();
        counts.reordered_frames = tracker.reordered();
        counts.reordering_extent_frames = tracker.max_extent();
        counts.too_late_frames = tracker.too_late();
        let range = self.lowest.map_or(0, |lowest| tracker.next() - lowest);
        counts.lost_frames = tracker.lost(sent.unwrap_or(range));
        let base = u64::from(self.base);
        let lowest = self.lowest?;
        Some((base + lowest, base + tracker.next() - 1))
    }
}

/// The times of a flow's frames.
struct Times {
    first: Option<i128>,
    last: Option<i128>,
    before: i128,
    frames: u64,
    backwards: u64,
    gap: Hdr<u64>,
}

impl Times {
    fn new() -> Times {
        Times {
            first: None,
            last: None,
            before: 0,
            frames: 0,
            backwards: 0,
            // Three digits, as the contract's histograms; it grows with the largest gap.
            gap: Hdr::new(3).expect("three digits are allowed"), // `new` makes one that resizes itself
        }
    }

    #[inline]
    fn observe(&mut self, time: i128) {
        self.frames += 1;
        let (Some(first), Some(last)) = (self.first, self.last) else {
            self.first = Some(time);
            self.last = Some(time);
            self.before = time;
            return;
        };
        self.first = Some(first.min(time));
        self.last = Some(last.max(time));
        if time < self.before {
            self.backwards += 1;
        } else {
            self.note_gap(time - self.before);
        }
        self.before = time;
    }

    fn note_gap(&mut self, ps: i128) {
        // Below 2^64 ps (213 days) plain arithmetic does; a longer gap is kept as the longest there can be.
        let ns = u64::try_from(ps).map_or(u64::MAX / 1000, |ps| ps / 1000);
        self.gap
            .record(ns)
            .expect("a histogram that resizes itself takes any value");
    }

    /// (t_last − t_first)·N/(N−1) in ps.
    fn elapsed(&self) -> Option<u64> {
        let span = self.last? - self.first?;
        if self.frames < 2 {
            return None;
        }
        let n = i128::from(self.frames);
        u64::try_from(span.checked_mul(n)? / (n - 1)).ok()
    }

    fn gap(&self) -> Histogram {
        let gap = &self.gap;
        Histogram {
            tick_ps: Some(1000),
            buckets: gap
                .iter_recorded()
                .map(|v| (v.value_iterated_to(), v.count_since_last_iteration()))
                .collect(),
            count: gap.len(),
            min_ticks: if gap.is_empty() { 0 } else { gap.min() },
            max_ticks: gap.max(),
            mean_ticks: gap.mean(),
            stddev_ticks: gap.stdev(),
        }
    }
}

/// Bytes of Ethernet header and tags.
#[inline]
fn ethernet_header(frame: &[u8]) -> u64 {
    let mut at = 12;
    for _ in 0..2 {
        match frame.get(at..at + 2) {
            Some([0x81, 0x00] | [0x88, 0xA8]) => at += 4,
            _ => break,
        }
    }
    at as u64 + 2
}
