//! Line-rate arithmetic: the maximum of a link, for any rate, size, gap and preamble.

use crate::size::Sizes;

/// Picoseconds in a second.
pub const PS_PER_S: u128 = 1_000_000_000_000;

/// Bytes that a frame costs on the wire besides itself (IEEE 802.3: 8 B preamble with SFD, 12 B gap).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Overhead {
    /// Preamble with start-of-frame delimiter in bytes.
    pub preamble: u32,
    /// Inter-packet gap in bytes.
    pub gap: u32,
}

impl Default for Overhead {
    fn default() -> Self {
        Overhead {
            preamble: 8,
            gap: 12,
        }
    }
}

impl Overhead {
    /// Bytes of a frame on the wire: preamble, frame with FCS, gap.
    pub const fn link_bytes(self, sizes: &Sizes) -> u64 {
        self.preamble as u64 + sizes.frame as u64 + self.gap as u64
    }

    /// Payload bits over link bits, 0 to 1.
    pub fn efficiency(self, sizes: &Sizes) -> f64 {
        f64::from(sizes.payload) / self.link_bytes(sizes) as f64
    }
}

/// A link: its rate in bit/s and the overhead of each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LineRate {
    /// Link rate in bit/s, never 0.
    bits_per_s: u64,
    /// Overhead of each frame.
    pub overhead: Overhead,
}

impl LineRate {
    /// A link of `bits_per_s` with the standard's preamble and gap; `None` for a rate of 0.
    pub const fn new(bits_per_s: u64) -> Option<LineRate> {
        if bits_per_s == 0 {
            return None;
        }
        Some(LineRate {
            bits_per_s,
            overhead: Overhead {
                preamble: 8,
                gap: 12,
            },
        })
    }

    /// The same link with another overhead.
    pub const fn with_overhead(self, overhead: Overhead) -> LineRate {
        LineRate { overhead, ..self }
    }

    /// Link rate in bit/s.
    pub const fn bits_per_s(self) -> u64 {
        self.bits_per_s
    }

    /// Highest frame rate in frames/s (RFC 2544 appendix B: rate / (link bytes · 8)).
    pub fn frames_per_s(self, sizes: &Sizes) -> f64 {
        self.bits_per_s as f64 / (8 * self.overhead.link_bytes(sizes)) as f64
    }

    /// Whole frames that fit in one second, as in published tables (148,809 for 64 bytes at 100 Mbit/s).
    pub const fn whole_frames_per_s(self, sizes: &Sizes) -> u64 {
        self.bits_per_s / (8 * self.overhead.link_bytes(sizes))
    }

    /// Payload bytes per second from whole frames, as in published tables.
    pub const fn payload_bytes_per_s(self, sizes: &Sizes) -> u64 {
        self.whole_frames_per_s(sizes) * sizes.payload as u64
    }

    /// Time of a frame on the wire, from the preamble to the end of the gap, in ps, rounded to the nearest.
    pub const fn frame_time_ps(self, sizes: &Sizes) -> u64 {
        self.bytes_time_ps(self.overhead.link_bytes(sizes))
    }

    /// Time of `bytes` on the wire in ps, rounded to the nearest; saturates.
    pub const fn bytes_time_ps(self, bytes: u64) -> u64 {
        let rate = self.bits_per_s as u128;
        let ps = (bytes as u128 * 8 * PS_PER_S + rate / 2) / rate;
        if ps > u64::MAX as u128 {
            u64::MAX
        } else {
            ps as u64
        }
    }

    /// Cycles that a CPU at `cpu_hz` has for each frame at the highest frame rate.
    pub fn cycles_per_frame(self, sizes: &Sizes, cpu_hz: u64) -> f64 {
        cpu_hz as f64 / self.frames_per_s(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::{Framing, Size, SizeUnit};
    use proptest::prelude::*;

    fn payload(bytes: u32) -> Sizes {
        Size::new(SizeUnit::Payload, bytes)
            .resolve(Framing::default())
            .unwrap()
    }

    #[test]
    fn nxp_limits_at_100_mbit() {
        let link = LineRate::new(100_000_000).unwrap();
        assert_eq!(link.whole_frames_per_s(&payload(46)), 148_809);
        assert_eq!(link.whole_frames_per_s(&payload(1500)), 8_127);
        assert_eq!(link.payload_bytes_per_s(&payload(46)), 6_845_214);
        assert_eq!(link.payload_bytes_per_s(&payload(1500)), 12_190_500);
        // 12,304 cycles of a 100 MHz Cortex-M3 for each 1514-byte length.
        assert!((link.cycles_per_frame(&payload(1500), 100_000_000) - 12_304.0).abs() < 1e-9);
        assert_eq!(link.frame_time_ps(&payload(1500)), 123_040_000);
    }

    #[test]
    fn ethernet_fmc_efficiencies() {
        for (bytes, percent) in [
            (66, 63.46),
            (438, 92.02),
            (810, 95.52),
            (1182, 96.89),
            (1498, 97.53),
        ] {
            let got = 100.0 * Overhead::default().efficiency(&payload(bytes));
            assert!((got - percent).abs() < 0.005, "{bytes}: {got}");
        }
    }

    #[test]
    fn rfc_2544_frame_rates() {
        let rates = [
            (64, 148_809),
            (128, 84_459),
            (256, 45_289),
            (512, 23_496),
            (1024, 11_973),
            (1280, 9_615),
        ];
        for (frame, fps) in rates {
            let sizes = Size::new(SizeUnit::Frame, frame)
                .resolve(Framing::default())
                .unwrap();
            assert_eq!(
                LineRate::new(100_000_000)
                    .unwrap()
                    .whole_frames_per_s(&sizes),
                fps
            );
            assert_eq!(
                LineRate::new(10_000_000_000)
                    .unwrap()
                    .whole_frames_per_s(&sizes)
                    / 100,
                fps
            );
        }
    }

    proptest! {
        #[test]
        fn time_and_rate_are_inverse(rate in 1_000u64..400_000_000_000, bytes in 46u32..9000, gap in 0u32..1000) {
            let link = LineRate::new(rate).unwrap().with_overhead(Overhead { preamble: 8, gap });
            let s = payload(bytes);
            let product = link.frames_per_s(&s) * link.frame_time_ps(&s) as f64 / 1e12;
            prop_assert!((product - 1.0).abs() < 1e-3);
            prop_assert!(link.whole_frames_per_s(&s) as f64 <= link.frames_per_s(&s) + 1e-6);
        }

        #[test]
        fn efficiency_grows_with_payload(bytes in 46u32..9000) {
            let o = Overhead::default();
            prop_assert!(o.efficiency(&payload(bytes)) < o.efficiency(&payload(bytes + 1)));
        }

        #[test]
        fn nothing_overflows(rate in 1u64.., bytes: u32, preamble: u32, gap: u32) {
            let link = LineRate::new(rate).unwrap().with_overhead(Overhead { preamble, gap });
            let _ = (link.frame_time_ps(&payload(bytes)), link.payload_bytes_per_s(&payload(bytes)));
        }
    }
}
