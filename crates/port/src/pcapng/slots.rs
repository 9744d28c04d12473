//! Checks the order of slots of repeating frames when the number of slots is not given.
//!
//! The number K is the highest slot + 1, which is known only at the end. What depends on K is summed in a form that
//! can be resolved then. A test compares it with `SlotTracker`, which gets K beforehand.

use wirelab_trial::{SlotEvent, SlotTracker};

/// Follows the slots of one flow.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slots {
    Known(SlotTracker),
    Learned(Learned),
}

/// The result for the slots of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    pub slots: u32,
    pub order_breaks: u64,
    pub skipped: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Learned {
    last: Option<u32>,
    highest: u32,
    repeats: u64,
    /// Jumps ahead, and the slots that they skipped.
    ahead: u64,
    ahead_skipped: u64,
    /// Jumps back, and the sum of `slot - last - 1` over them; adding K for each gives the skipped slots.
    back: u64,
    back_sum: i64,
    /// Jumps back from the highest slot so far to 0: in order, unless a higher slot follows.
    wraps: u64,
}

impl Slots {
    pub(super) fn new(known: Option<u32>) -> Slots {
        match known {
            Some(slots) => Slots::Known(SlotTracker::new(slots)),
            None => Slots::Learned(Learned::default()),
        }
    }

    pub(super) fn observe(&mut self, slot: u32) -> SlotEvent {
        match self {
            Slots::Known(tracker) => tracker.observe(slot),
            Slots::Learned(learned) => learned.observe(slot),
        }
    }

    pub(super) fn settle(&self, known: Option<u32>) -> Settled {
        match self {
            Slots::Known(tracker) => Settled {
                slots: known.unwrap_or(1).max(1),
                order_breaks: tracker.order_breaks(),
                skipped: tracker.skipped(),
            },
            Slots::Learned(learned) => learned.settle(),
        }
    }
}

impl Learned {
    /// The event of an arrival, by the slots known so far.
    fn observe(&mut self, slot: u32) -> SlotEvent {
        let Some(last) = self.last.replace(slot) else {
            self.highest = slot;
            return SlotEvent::InOrder;
        };
        if slot > self.highest {
            self.highest = slot;
            self.wraps = 0;
        }
        if slot == last {
            self.repeats += 1;
            return match self.highest {
                0 => SlotEvent::InOrder,
                _ => SlotEvent::Repeat,
            };
        }
        if slot > last {
            let skipped = slot - last - 1;
            self.ahead += u64::from(skipped > 0);
            self.ahead_skipped += u64::from(skipped);
            return event(skipped);
        }
        self.back += 1;
        self.back_sum += i64::from(slot) - i64::from(last) - 1;
        self.wraps += u64::from(slot == 0 && last == self.highest);
        event((u64::from(self.highest) + u64::from(slot) - u64::from(last)) as u32)
    }

    fn settle(&self) -> Settled {
        let slots = u64::from(self.highest) + 1;
        let repeats = if slots == 1 { 0 } else { self.repeats };
        let back = i128::from(self.back) * i128::from(slots) + i128::from(self.back_sum);
        Settled {
            slots: slots.min(u32::MAX.into()) as u32,
            order_breaks: repeats + self.ahead + self.back - self.wraps,
            skipped: self.ahead_skipped + back.max(0) as u64,
        }
    }
}

fn event(skipped: u32) -> SlotEvent {
    match skipped {
        0 => SlotEvent::InOrder,
        skipped => SlotEvent::Skip { skipped },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn learn(all: &[u32]) -> Settled {
        let mut slots = Slots::new(None);
        for &slot in all {
            slots.observe(slot);
        }
        slots.settle(None)
    }

    #[test]
    fn a_faultless_flow_has_no_breaks_wherever_it_starts() {
        let flow: Vec<u32> = (0..1000).map(|i| (i + 3) % 7).collect();
        let expected = Settled {
            slots: 7,
            order_breaks: 0,
            skipped: 0,
        };
        assert_eq!(learn(&flow), expected);
        assert_eq!(learn(&[0; 9]).order_breaks, 0, "one slot repeats itself");
    }

    #[test]
    fn a_missing_frame_is_one_break() {
        let flow: Vec<u32> = (0..100).filter(|i| *i != 45).map(|i| i % 10).collect();
        let expected = Settled {
            slots: 10,
            order_breaks: 1,
            skipped: 1,
        };
        assert_eq!(learn(&flow), expected);
    }

    #[test]
    fn the_largest_slots_do_not_overflow() {
        let settled = learn(&[u32::MAX, 0, u32::MAX, u32::MAX - 1, 0]);
        assert_eq!(settled.slots, u32::MAX);
        assert!(settled.order_breaks > 0);
    }

    proptest! {
        #[test]
        fn learning_the_number_gives_what_knowing_it_gives(
            flow in proptest::collection::vec(0u32..6, 1..60),
        ) {
            let slots = flow.iter().max().unwrap() + 1;
            let mut given = SlotTracker::new(slots);
            for &slot in &flow {
                given.observe(slot);
            }
            let expected = Settled {
                slots,
                order_breaks: given.order_breaks(),
                skipped: given.skipped(),
            };
            prop_assert_eq!(learn(&flow), expected);
        }
    }
}
