//! The frame check sequence of Ethernet, and the hash that the EMAC derives from the same register.

use wirelab_wire::fcs::register;
pub use wirelab_wire::fcs::{fcs, is_right};

/// Appends the FCS to `frame`.
pub fn with_fcs(frame: &[u8]) -> Vec<u8> {
    [frame, &fcs(frame)].concat()
}

/// The receiver's hash of an address: bits 31 to 23 of its CRC, of which bits 28 to 23 select one of the 64 bits of the
/// hash filter (UM10360, chapter 10, imperfect filtering).
pub fn hash_bits(address: [u8; 6]) -> u32 {
    // The manual's CRC is the value before the inversion, in the order of the generator's powers.
    register(&address).reverse_bits() >> 23
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_gets_the_fcs_that_is_right() {
        let frame = with_fcs(&[0x55; 60]);
        assert_eq!(frame.len(), 64);
        assert!(is_right(&frame));
    }

    #[test]
    fn a_hash_has_nine_bits() {
        assert!(hash_bits([0x01, 0, 0x5E, 0, 0, 1]) < 512);
    }
}
