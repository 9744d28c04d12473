//! The frame check sequence of Ethernet (IEEE 802.3, 3.2.9): CRC-32, as the MAC makes and checks it.

/// CRC-32 with the generator of IEEE 802.3, bits least significant first: 0xEDB88320.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 256 {
        let mut crc = n as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                0xEDB8_8320 ^ (crc >> 1)
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[n] = crc;
        n += 1;
    }
    table
};

fn register(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |crc, byte| {
        TABLE[usize::from((crc as u8) ^ byte)] ^ (crc >> 8)
    })
}

/// The four bytes that follow `frame` on the wire, in their order there.
pub fn fcs(frame: &[u8]) -> [u8; 4] {
    (!register(frame)).to_le_bytes()
}

/// `frame`, which ends before its FCS, with the FCS.
pub fn with_fcs(frame: &[u8]) -> Vec<u8> {
    [frame, &fcs(frame)].concat()
}

/// Whether the last four bytes are the FCS of those before.
pub fn is_right(frame: &[u8]) -> bool {
    frame.len() > 4 && fcs(&frame[..frame.len() - 4]) == frame[frame.len() - 4..]
}

/// The receiver's hash of an address: bits 31 to 23 of its CRC, of which bits 28 to 23 choose one of the 64 bits of the
/// hash filter (UM10360, chapter 10, imperfect filtering).
pub fn hash_bits(address: [u8; 6]) -> u32 {
    // The CRC of the manual is taken before it is inverted and in the order of the generator's powers.
    register(&address).reverse_bits() >> 23
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_crc() {
        assert_eq!(fcs(b"123456789"), 0xCBF4_3926_u32.to_le_bytes());
    }

    #[test]
    fn a_right_fcs_is_found_and_a_wrong_bit_too() {
        let mut frame = with_fcs(&[0x55; 60]);
        assert_eq!(frame.len(), 64);
        assert!(is_right(&frame));
        frame[20] ^= 4;
        assert!(!is_right(&frame));
        assert!(!is_right(&[1, 2, 3, 4]));
    }

    #[test]
    fn a_hash_has_nine_bits() {
        assert!(hash_bits([0x01, 0, 0x5E, 0, 0, 1]) < 512);
    }
}
