//! Tracks the sequence numbers of one flow: in order, duplicate, late or missing.
//!
//! Duplicates follow RFC 5560 (a duplicate never hides a loss), reordering and its extent RFC 4737 (4.1 and
//! 4.2.2). The eBPF checker follows the same rules; `spec/test-frame.md` states them for every implementation.

/// Sequences that are remembered; an older frame counts as too late.
pub const WINDOW: u64 = 65_536;

/// The kind of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The next expected sequence.
    InOrder,
    /// A later one: the sequences between are missing until they arrive.
    Gap {
        /// Number of missing sequences.
        missing: u64,
    },
    /// A sequence that had arrived before.
    Duplicate,
    /// A sequence that was missing; RFC 4737 calls it reordered.
    Reordered {
        /// Frames from the earliest arrival with a larger sequence to this one (RFC 4737, 4.2.2).
        extent: u64,
    },
    /// Older than the window, or before sequence 0: whether it is a duplicate is unknown.
    TooLate,
}

/// The sequences of one flow, which starts at 0 and may wrap at 2³².
///
/// Only frames with an intact header are observed. A frame in order costs a bit; a jump costs at most the window,
/// however far it goes; nothing is allocated after [`Tracker::new`].
#[derive(Clone, Debug)]
pub struct Tracker {
    next: u64,
    received: u64,
    distinct: u64,
    duplicated: u64,
    reordered: u64,
    max_extent: u64,
    too_late: u64,
    /// A bit for each of the last [`WINDOW`] sequences: whether it arrived.
    arrived: Box<[u64]>,
    /// For each of them that is missing: the index of the arrival that skipped it.
    jumped_at: Box<[u64]>,
}

impl Default for Tracker {
    fn default() -> Tracker {
        Tracker::new()
    }
}

impl Tracker {
    /// A flow of which nothing has arrived.
    pub fn new() -> Tracker {
        Tracker {
            next: 0,
            received: 0,
            distinct: 0,
            duplicated: 0,
            reordered: 0,
            max_extent: 0,
            too_late: 0,
            arrived: vec![0; WINDOW as usize / 64].into_boxed_slice(),
            jumped_at: vec![0; WINDOW as usize].into_boxed_slice(),
        }
    }

    /// Records one arrival with an intact header.
    pub fn observe(&mut self, sequence: u32) -> Event {
        let index = self.received;
        self.received += 1;
        // The 32 bits on the wire are extended to the sequence nearest to the expected one.
        let ahead = sequence.wrapping_sub(self.next as u32) as i32;
        if ahead >= 0 {
            return self.advance(index, ahead as u64);
        }
        let age = u64::from(ahead.unsigned_abs());
        if age > WINDOW || age > self.next {
            self.too_late += 1;
            return Event::TooLate;
        }
        let slot = slot_of(self.next - age);
        let (word, bit) = (slot / 64, 1u64 << (slot % 64));
        if self.arrived[word] & bit != 0 {
            self.duplicated += 1;
            return Event::Duplicate;
        }
        self.arrived[word] |= bit;
        self.distinct += 1;
        self.reordered += 1;
        let extent = index - self.jumped_at[slot];
        self.max_extent = self.max_extent.max(extent);
        Event::Reordered { extent }
    }

    fn advance(&mut self, index: u64, missing: u64) -> Event {
        if missing > 0 {
            // The arrival itself takes the newest position in the window.
            let kept = missing.min(WINDOW - 1);
            self.forget(self.next + missing - kept, kept as usize, index);
        }
        let slot = slot_of(self.next + missing);
        self.arrived[slot / 64] |= 1 << (slot % 64);
        self.next += missing + 1;
        self.distinct += 1;
        match missing {
            0 => Event::InOrder,
            missing => Event::Gap { missing },
        }
    }

    /// Marks `count` sequences from `first` as missing since the arrival `index`.
    fn forget(&mut self, first: u64, count: usize, index: u64) {
        let start = slot_of(first);
        let end = start + count;
        let window = WINDOW as usize;
        for (from, to) in [(start, end.min(window)), (0, end.saturating_sub(window))] {
            self.jumped_at[from..to.max(from)].fill(index);
            let mut at = from;
            while at < to {
                let bits = (64 - at % 64).min(to - at);
                self.arrived[at / 64] &= !((u64::MAX >> (64 - bits)) << (at % 64));
                at += bits;
            }
        }
    }

    /// Observed frames, in any order and including duplicates.
    pub const fn received(&self) -> u64 {
        self.received
    }
    /// Different sequences that arrived, without those that were too late.
    pub const fn distinct(&self) -> u64 {
        self.distinct
    }
    /// Duplicates of sequences that had arrived before.
    pub const fn duplicated(&self) -> u64 {
        self.duplicated
    }
    /// Sequences that arrived after a larger one.
    pub const fn reordered(&self) -> u64 {
        self.reordered
    }
    /// The largest reordering extent in frames.
    pub const fn max_extent(&self) -> u64 {
        self.max_extent
    }
    /// Frames older than the window.
    pub const fn too_late(&self) -> u64 {
        self.too_late
    }
    /// The sequence after the highest that arrived, not wrapped.
    pub const fn next(&self) -> u64 {
        self.next
    }
    /// Sequences that never arrived, of `sent` that the sender used.
    pub const fn lost(&self, sent: u64) -> u64 {
        sent.saturating_sub(self.distinct)
    }
}

const fn slot_of(sequence: u64) -> usize {
    (sequence % WINDOW) as usize
}

/// The kind of an arrival of a repeating frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotEvent {
    /// The slot after the last one, or the first arrival.
    InOrder,
    /// Another slot: at least so many frames are missing; any multiple of the number of slots may be lost in addition.
    Skip {
        /// Skipped slots.
        skipped: u32,
    },
    /// The same slot again: a duplicate, or a loss of one frame less than there are slots, or more.
    Repeat,
    /// A slot that the sender does not have.
    Unknown,
}

/// Frames in slots 0…K−1 that are sent repeatedly, so that their sequence is the slot.
///
/// Slots must follow one another modulo K, from any start. A slot number does not identify its round: a loss of exactly
/// K frames leaves no trace here, and a repeated slot may be a duplicate or a loss of K−1. So the flow's loss is always
/// computed from numbers, sent − received, and this order check is additional.
#[derive(Clone, Copy, Debug)]
pub struct SlotTracker {
    slots: u32,
    last: Option<u32>,
    received: u64,
    skipped: u64,
    order_breaks: u64,
}

impl SlotTracker {
    /// A flow of `slots` slots (at least 1) of which nothing has arrived.
    pub fn new(slots: u32) -> SlotTracker {
        SlotTracker {
            slots: slots.max(1),
            last: None,
            received: 0,
            skipped: 0,
            order_breaks: 0,
        }
    }

    /// Records one arrival with an intact header.
    pub fn observe(&mut self, slot: u32) -> SlotEvent {
        self.received += 1;
        if slot >= self.slots {
            self.order_breaks += 1;
            return SlotEvent::Unknown;
        }
        let Some(last) = self.last.replace(slot) else {
            return SlotEvent::InOrder;
        };
        let expected = if last + 1 == self.slots { 0 } else { last + 1 };
        if slot == expected {
            return SlotEvent::InOrder;
        }
        self.order_breaks += 1;
        if slot == last {
            return SlotEvent::Repeat;
        }
        let skipped = if slot > expected {
            slot - expected
        } else {
            self.slots - expected + slot
        };
        self.skipped += u64::from(skipped);
        SlotEvent::Skip { skipped }
    }

    /// Frames observed.
    pub const fn received(&self) -> u64 {
        self.received
    }
    /// Skipped slots: at least as many frames are missing, unless frames were swapped.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }
    /// Arrivals whose slot did not follow the previous one; 0 for a faultless flow.
    pub const fn order_breaks(&self) -> u64 {
        self.order_breaks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_by_its_name() {
        let mut t = Tracker::new();
        let story = [
            (0, Event::InOrder),
            (1, Event::InOrder),
            (1, Event::Duplicate),
            (5, Event::Gap { missing: 3 }),
            (6, Event::InOrder),
            (3, Event::Reordered { extent: 2 }),
            (3, Event::Duplicate),
            (2, Event::Reordered { extent: 4 }),
            (u32::MAX, Event::TooLate),
            (7, Event::InOrder),
        ];
        for (sequence, event) in story {
            assert_eq!(t.observe(sequence), event, "sequence {sequence}");
        }
        assert_eq!((t.received(), t.distinct(), t.duplicated()), (10, 7, 2));
        assert_eq!((t.reordered(), t.max_extent(), t.too_late()), (2, 4, 1));
        assert_eq!(
            (t.lost(8), t.next()),
            (1, 8),
            "sequence 4 is lost, although two duplicates came"
        );
    }

    #[test]
    fn the_edge_of_the_window() {
        let mut t = Tracker::new();
        assert_eq!(t.observe(65_536), Event::Gap { missing: 65_536 });
        assert_eq!(t.observe(0), Event::TooLate);
        assert_eq!(t.observe(1), Event::Reordered { extent: 2 });
        assert_eq!(t.observe(65_537), Event::InOrder);
        assert_eq!(t.observe(1), Event::TooLate);
        assert_eq!(t.observe(2), Event::Reordered { extent: 5 });
    }

    #[test]
    fn a_flow_starts_at_zero() {
        let mut t = Tracker::new();
        assert_eq!(t.observe(u32::MAX), Event::TooLate);
        assert_eq!(t.observe(0x8000_0000), Event::TooLate);
        assert_eq!(t.observe(2), Event::Gap { missing: 2 });
        assert_eq!(t.observe(0), Event::Reordered { extent: 1 });
    }

    #[test]
    fn the_farthest_jump_forgets_everything_once() {
        let mut t = Tracker::new();
        t.observe(0);
        let jump = 0x7FFF_FFFF;
        assert_eq!(
            t.observe(jump + 1),
            Event::Gap {
                missing: u64::from(jump)
            }
        );
        assert_eq!(t.observe(jump), Event::Reordered { extent: 1 });
        assert_eq!(t.observe(jump + 1 - 65_535), Event::Reordered { extent: 2 });
        assert_eq!(t.observe(jump + 1 - 65_536), Event::TooLate);
        assert_eq!(t.lost(1 << 31), (1 << 31) - 4);
    }

    #[test]
    fn slots_follow_one_another() {
        let mut t = SlotTracker::new(4);
        let story = [
            (2, SlotEvent::InOrder),
            (3, SlotEvent::InOrder),
            (0, SlotEvent::InOrder),
            (2, SlotEvent::Skip { skipped: 1 }),
            (1, SlotEvent::Skip { skipped: 2 }),
            (1, SlotEvent::Repeat),
            (4, SlotEvent::Unknown),
            (2, SlotEvent::InOrder),
        ];
        for (slot, event) in story {
            assert_eq!(t.observe(slot), event, "slot {slot}");
        }
        assert_eq!((t.received(), t.skipped(), t.order_breaks()), (8, 3, 4));
        let mut one = SlotTracker::new(1);
        assert_eq!(
            [one.observe(0), one.observe(0)],
            [SlotEvent::InOrder, SlotEvent::InOrder]
        );
    }
}
