//! When frames arrive: the nth burst at the whole ps below n bursts over the rate, in integers, so without drift.

use crate::net::Arrivals;

/// Picoseconds in a second.
const PS_PER_S: u128 = 1_000_000_000_000;

/// The instants at which frames arrive.
#[derive(Clone, Debug)]
pub struct ArrivalClock {
    burst: u32,
    /// Distance of bursts: whole ps, and a remainder over `parts`.
    step_ps: u64,
    step_rest: u64,
    parts: u64,
    next_ps: u64,
    rest: u64,
    /// Share lost before the node, in units of 2⁻³².
    lost_share: u64,
    lost_rest: u64,
}

impl ArrivalClock {
    /// Begins at 0. The arrivals must have passed the net's check.
    pub fn new(arrivals: &Arrivals) -> ArrivalClock {
        // A rate of at most 10¹² in 64 bits is mantissa · 2^-shift, exactly.
        let (mantissa, shift) = dyadic(arrivals.frames_per_s);
        let step = (u128::from(arrivals.burst) * PS_PER_S) << shift;
        let whole = step / u128::from(mantissa);
        ArrivalClock {
            burst: arrivals.burst,
            step_ps: u64::try_from(whole).unwrap_or(u64::MAX),
            step_rest: (step % u128::from(mantissa)) as u64,
            parts: mantissa,
            next_ps: 0,
            rest: 0,
            // Rounded up, so that a share such as 2.5 % loses the 25th of 1000 and not the one after.
            lost_share: (arrivals.lost_before_ratio * 4_294_967_296.0).ceil() as u64,
            lost_rest: 0,
        }
    }

    /// Frames that arrive together.
    pub fn burst(&self) -> u32 {
        self.burst
    }

    /// Returns the instant of the next burst in ps, and moves on to the one after.
    pub fn next_ps(&mut self) -> u64 {
        let now = self.next_ps;
        self.next_ps = self.next_ps.saturating_add(self.step_ps);
        self.rest += self.step_rest;
        if self.rest >= self.parts {
            self.rest -= self.parts;
            self.next_ps = self.next_ps.saturating_add(1);
        }
        now
    }

    /// Whether the next frame is lost before it reaches the node; the losses are evenly spread.
    pub fn next_is_lost(&mut self) -> bool {
        self.lost_rest += self.lost_share;
        let lost = self.lost_rest >= 1 << 32;
        self.lost_rest &= (1 << 32) - 1;
        lost
    }
}

/// A positive number from 2^-64 to 2⁵³ as mantissa · 2^-shift.
fn dyadic(figure: f64) -> (u64, u32) {
    let bits = figure.to_bits();
    let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    let shift = 1075 - ((bits >> 52) & 0x7FF) as u32;
    let even = mantissa.trailing_zeros().min(shift);
    (mantissa >> even, shift - even)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(frames_per_s: f64, burst: u32, lost_before_ratio: f64) -> ArrivalClock {
        ArrivalClock::new(&Arrivals {
            frames_per_s,
            burst,
            lost_before_ratio,
        })
    }

    #[test]
    fn the_instants_do_not_drift() {
        let mut third = clock(3.0, 1, 0.0);
        let instants: Vec<u64> = (0..4).map(|_| third.next_ps()).collect();
        assert_eq!(
            instants,
            [0, 333_333_333_333, 666_666_666_666, 1_000_000_000_000]
        );
        // 0.75 frames/s, and bursts of 3: every 4 s.
        let mut slow = clock(0.75, 3, 0.0);
        assert_eq!((slow.next_ps(), slow.next_ps()), (0, 4_000_000_000_000));
        let mut many = clock(148_809.0, 1, 0.0);
        let last = (0..=1_488_090).map(|_| many.next_ps()).last();
        assert_eq!(last, Some(10_000_000_000_000));
    }

    #[test]
    fn the_slowest_and_largest_bursts_fit() {
        let mut slow = clock(1e-3, 1 << 20, 0.0);
        assert_eq!(slow.next_ps(), 0);
        assert_eq!(slow.next_ps(), u64::MAX);
        let mut fast = clock(1e12, 1, 0.0);
        assert_eq!((fast.next_ps(), fast.next_ps()), (0, 1));
    }

    #[test]
    fn losses_before_are_even() {
        let mut quarter = clock(1.0, 1, 0.25);
        let lost: Vec<usize> = (0..12).filter(|_| quarter.next_is_lost()).collect();
        assert_eq!(lost, [3, 7, 11]);
        let (mut all, mut none) = (clock(1.0, 1, 1.0), clock(1.0, 1, 0.0));
        assert!((0..9).all(|_| all.next_is_lost() && !none.next_is_lost()));
    }
}
