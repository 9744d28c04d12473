//! The tracker against a naive model that keeps every arrival and knows the unwrapped sequences.

use std::collections::HashSet;

use proptest::prelude::*;
use wirelab_trial::tracker::{Event, Tracker, WINDOW};

/// RFC 4737 and RFC 5560 by the letter: a list of all arrivals, searched from the front.
#[derive(Default)]
struct Naive {
    arrivals: Vec<i64>,
    seen: HashSet<i64>,
    next: i64,
}

impl Naive {
    fn observe(&mut self, sequence: i64) -> Event {
        self.arrivals.push(sequence);
        if sequence < 0 || self.next - sequence > WINDOW as i64 {
            return Event::TooLate;
        }
        if !self.seen.insert(sequence) {
            return Event::Duplicate;
        }
        if sequence < self.next {
            let earliest = self.arrivals.iter().position(|a| *a > sequence).unwrap();
            return Event::Reordered {
                extent: (self.arrivals.len() - 1 - earliest) as u64,
            };
        }
        let missing = (sequence - self.next) as u64;
        self.next = sequence + 1;
        match missing {
            0 => Event::InOrder,
            missing => Event::Gap { missing },
        }
    }
}

/// Where the next arrival lies, seen from the next expected sequence.
fn moves() -> impl Strategy<Value = Vec<i64>> {
    let near_window = WINDOW as i64 - 3..WINDOW as i64 + 3;
    let one = prop_oneof![
        20 => Just(0i64),
        6 => 1i64..10,
        8 => -12i64..0,
        2 => near_window.clone(),
        3 => near_window.prop_map(|d| -d),
        2 => -70_000i64..70_000,
        1 => 1_000_000i64..(1 << 31),
        1 => -(1i64 << 31)..-1_000_000,
    ];
    prop::collection::vec(one, 1..400)
}

fn compare(start: i64, moves: &[i64]) -> Result<(), TestCaseError> {
    let (mut naive, mut tracker) = (Naive::default(), Tracker::new());
    let mut sum = [0u64; 4];
    let mut max_extent = 0;
    // Jumps of 2^31 − 1 carry the flow close to the start that is wanted.
    let mut lead_in = Vec::new();
    while naive.next + lead_in.len() as i64 * (1 << 30) < start {
        lead_in.push((1i64 << 30) - 1);
    }
    for ahead in lead_in.iter().chain(moves) {
        let sequence = naive.next + ahead;
        let expected = naive.observe(sequence);
        prop_assert_eq!(tracker.observe(sequence as u32), expected);
        match expected {
            Event::InOrder | Event::Gap { .. } => sum[0] += 1,
            Event::Duplicate => sum[1] += 1,
            Event::Reordered { extent } => {
                sum[2] += 1;
                max_extent = max_extent.max(extent);
            }
            Event::TooLate => sum[3] += 1,
        }
    }
    prop_assert_eq!(tracker.distinct(), naive.seen.len() as u64);
    prop_assert_eq!(tracker.distinct(), sum[0] + sum[2]);
    prop_assert_eq!(tracker.duplicated(), sum[1]);
    prop_assert_eq!(tracker.reordered(), sum[2]);
    prop_assert_eq!(tracker.max_extent(), max_extent);
    prop_assert_eq!(tracker.too_late(), sum[3]);
    prop_assert_eq!(tracker.received(), naive.arrivals.len() as u64);
    prop_assert_eq!(
        tracker.lost(naive.next as u64),
        naive.next as u64 - tracker.distinct()
    );
    Ok(())
}

proptest! {
    #[test]
    fn like_the_model_from_the_start(moves in moves()) {
        compare(0, &moves)?;
    }

    #[test]
    fn like_the_model_across_the_wrap(moves in moves()) {
        compare(1 << 32, &moves)?;
    }
}

#[test]
fn the_wrap_itself() {
    let mut tracker = Tracker::new();
    for sequence in [0x7FFF_FFFF, 0xFFFF_FFFDu32] {
        assert!(matches!(tracker.observe(sequence), Event::Gap { .. }));
    }
    assert_eq!(tracker.observe(0xFFFF_FFFE), Event::InOrder);
    assert_eq!(tracker.observe(0), Event::Gap { missing: 1 });
    assert_eq!(tracker.observe(0xFFFF_FFFF), Event::Reordered { extent: 1 });
    assert_eq!(tracker.observe(1), Event::InOrder);
    assert_eq!(tracker.observe(0xFFFF_FFFE), Event::Duplicate);
    assert_eq!(tracker.next(), (1 << 32) + 2);
}

#[test]
fn a_long_flow_in_order_is_clean() {
    let mut tracker = Tracker::new();
    for sequence in 0..300_000 {
        assert_eq!(tracker.observe(sequence), Event::InOrder);
    }
    assert_eq!((tracker.distinct(), tracker.lost(300_000)), (300_000, 0));
}
