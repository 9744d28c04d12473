//! Interarrival jitter of RFC 3550 (6.4.1, and A.8 in its integer form).

use wirelab_wire::header::TIME_MODULUS;

/// The jitter of one flow: J += (|D| − J)/16, where D is the change of transit time from one frame to the next.
///
/// An offset between the two clocks has no effect, because only changes of the transit time count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Jitter {
    last_transit_ns: Option<u64>,
    /// Sixteen times the estimate, as in RFC 3550 A.8.
    scaled_ns: u64,
}

impl Jitter {
    /// No frame yet.
    pub const fn new() -> Jitter {
        Jitter {
            last_transit_ns: None,
            scaled_ns: 0,
        }
    }

    /// Records a frame, in order of arrival: the sender's time in ns modulo 2⁴⁸ and the arrival time in ns.
    pub fn observe(&mut self, sent_ns: u64, received_ns: u64) {
        let transit = received_ns.wrapping_sub(sent_ns) % TIME_MODULUS;
        if let Some(last) = self.last_transit_ns.replace(transit) {
            let change = transit.wrapping_sub(last) % TIME_MODULUS;
            let magnitude = change.min(TIME_MODULUS - change);
            self.scaled_ns = self.scaled_ns + magnitude - ((self.scaled_ns + 8) >> 4);
        }
    }

    /// Forgets the last frame, e.g. after a step of the sender's clock: the estimate stays, and the next frame only
    /// starts again.
    pub const fn restart(&mut self) {
        self.last_transit_ns = None;
    }

    /// The estimate in ns, 0 after a single frame; `None` before any.
    pub const fn ns(&self) -> Option<u64> {
        match self.last_transit_ns {
            Some(_) => Some(self.scaled_ns >> 4),
            None => None,
        }
    }

    /// The estimate in ps, including the sixteenths.
    pub const fn ps(&self) -> Option<u64> {
        match self.last_transit_ns {
            Some(_) => Some(self.scaled_ns * 125 / 2),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_steady_flow_has_none_whatever_the_offset() {
        let mut jitter = Jitter::new();
        assert_eq!(jitter.ns(), None);
        for i in 0..100u64 {
            // The sender's clock wraps on the way.
            let sent = (TIME_MODULUS - 50_000 + i * 1_000) % TIME_MODULUS;
            jitter.observe(sent, 7 + i * 1_000);
        }
        assert_eq!((jitter.ns(), jitter.ps()), (Some(0), Some(0)));
    }

    #[test]
    fn the_first_steps_by_hand() {
        let mut jitter = Jitter::new();
        jitter.observe(0, 100);
        jitter.observe(1_000, 1_260);
        assert_eq!(jitter.ns(), Some(10), "160 / 16");
        jitter.observe(2_000, 2_100);
        // 160 + 160 − (160 + 8)/16 = 310 sixteenths
        assert_eq!((jitter.ns(), jitter.ps()), (Some(19), Some(19_375)));
    }

    proptest! {
        #[test]
        fn like_the_formula_in_floating_point(
            delays in prop::collection::vec(0u64..1_000_000, 2..300), start in 0..TIME_MODULUS, offset: u32,
        ) {
            let mut jitter = Jitter::new();
            let (mut exact, mut last) = (0.0f64, None);
            for (i, delay) in delays.iter().enumerate() {
                let sent = start + i as u64 * 5_000;
                jitter.observe(sent % TIME_MODULUS, sent + u64::from(offset) + delay);
                if let Some(last) = last.replace(*delay as f64) {
                    exact += ((*delay as f64 - last).abs() - exact) / 16.0;
                }
            }
            // Rounding by half a sixteenth a step adds up to less than 1 ns.
            prop_assert!((jitter.ns().unwrap() as f64 - exact).abs() < 2.0);
        }
    }
}
