//! The AHB matrix: each slave serves one access at a time, so that masters wait for each other.

use crate::map::{SLAVES, Slave};

/// Cycles that are remembered before the latest booked one.
const WINDOW: u64 = 128;

/// The booked cycles of one slave. Bookings are only nearly in order of time: an instruction books all its accesses
/// before a DMA access that happens during it.
#[derive(Clone, Copy, Debug, Default)]
struct Calendar {
    /// The cycle of bit 0.
    base: u64,
    taken: u128,
}

impl Calendar {
    /// Books `cycles` (1 to 32) in a row, not before `not_before`; returns the first.
    fn book(&mut self, not_before: u64, cycles: u32) -> u64 {
        let mut start = not_before.max(self.base);
        let wanted = (1u128 << cycles) - 1;
        loop {
            let end = start + u64::from(cycles);
            if end > self.base + WINDOW {
                let base = end - WINDOW / 2;
                let shift = base - self.base;
                self.taken = if shift < WINDOW {
                    self.taken >> shift
                } else {
                    0
                };
                self.base = base;
                start = start.max(base);
            }
            let at = (start - self.base) as u32;
            let clash = (self.taken >> at) & wanted;
            if clash == 0 {
                self.taken |= wanted << at;
                return start;
            }
            start += u64::from(128 - clash.leading_zeros());
        }
    }
}

/// The slaves' calendars.
#[derive(Clone, Debug, Default)]
pub struct Matrix {
    slaves: [Calendar; SLAVES],
}

impl Matrix {
    /// Books `cycles` (1 to 32) of `slave` in a row, no earlier than `not_before`; returns the first.
    pub fn book(&mut self, slave: Slave, not_before: u64, cycles: u32) -> u64 {
        self.slaves[slave as usize].book(not_before, cycles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slave_serves_one_access_at_a_time() {
        let mut matrix = Matrix::default();
        assert_eq!(matrix.book(Slave::AhbBank0, 10, 2), 10);
        assert_eq!(matrix.book(Slave::AhbBank0, 10, 1), 12);
        assert_eq!(matrix.book(Slave::AhbBank0, 11, 2), 13);
        assert_eq!(
            matrix.book(Slave::AhbBank1, 10, 2),
            10,
            "another slave is free"
        );
    }

    #[test]
    fn a_late_booking_still_gets_the_gap_that_was_free() {
        let mut matrix = Matrix::default();
        assert_eq!(matrix.book(Slave::LocalSram, 20, 1), 20);
        assert_eq!(matrix.book(Slave::LocalSram, 15, 2), 15);
        assert_eq!(
            matrix.book(Slave::LocalSram, 18, 3),
            21,
            "two free cycles are not three"
        );
    }

    #[test]
    fn far_jumps_of_time_forget_the_past() {
        let mut matrix = Matrix::default();
        assert_eq!(matrix.book(Slave::Flash, u64::MAX / 2, 4), u64::MAX / 2);
        assert!(matrix.book(Slave::Flash, 3, 4) > u64::MAX / 2 - 128);
    }
}
