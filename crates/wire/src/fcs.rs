//! The frame check sequence of Ethernet (IEEE 802.3, 3.2.9): CRC-32, as a MAC computes and checks it.

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

/// The shift register of a MAC after `bytes`, not yet inverted.
pub fn register(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |crc, byte| {
        TABLE[usize::from((crc as u8) ^ byte)] ^ (crc >> 8)
    })
}

/// The four bytes that follow `frame` (destination address first) on the wire, in wire order.
pub fn fcs(frame: &[u8]) -> [u8; 4] {
    (!register(frame)).to_le_bytes()
}

/// Whether the last four bytes are the FCS of those before.
pub fn is_right(frame: &[u8]) -> bool {
    frame
        .split_last_chunk::<4>()
        .is_some_and(|(bytes, last)| !bytes.is_empty() && fcs(bytes) == *last)
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
        let mut frame = [0x55; 64];
        let check = fcs(&frame[..60]);
        frame[60..].copy_from_slice(&check);
        assert!(is_right(&frame));
        frame[20] ^= 4;
        assert!(!is_right(&frame));
        assert!(!is_right(&[1, 2, 3, 4]));
    }
}
