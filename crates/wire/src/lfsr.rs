//! The LFSR payload: one canonical stream of 32-bit words that every generator and checker shares.
//!
//! Sequence number `n` starts at word `n mod 4096`, so consecutive frames differ by one word, and a frame's content
//! shows its sequence. The polynomial is x³²+x⁷+x⁶+x²+1 in Galois form, that of the Ethernet FMC throughput design;
//! see `spec/test-frame.md`.

/// First word of the canonical stream.
pub const SEED: u32 = 0xFFFF_FFFF;
/// Number of different start words; sequence `n` starts at word `n % START_WORDS`.
pub const START_WORDS: usize = 4096;
/// Longest LFSR part in bytes: a jumbo frame with a payload of 9,216 bytes less the test header.
pub const MAX_BYTES: usize = 9216 - crate::header::LEN;

const WINDOW_WORDS: usize = START_WORDS + MAX_BYTES.div_ceil(4);

/// One Galois step: shift left, and if a one leaves at the top, add the polynomial.
pub const fn step(x: u32) -> u32 {
    if x & 0x8000_0000 != 0 {
        ((x ^ 0x62) << 1) | 1
    } else {
        x << 1
    }
}

/// The effect of eight steps on the byte that leaves at the top (the linear part of eight steps at once).
const LEAP8: [u32; 256] = {
    let mut table = [0u32; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut x = (byte as u32) << 24;
        let mut i = 0;
        while i < 8 {
            x = step(x);
            i += 1;
        }
        table[byte] = x;
        byte += 1;
    }
    table
};

/// The word after `x` in the canonical stream: 32 steps further.
pub const fn next_word(mut x: u32) -> u32 {
    let mut i = 0;
    while i < 4 {
        x = (x << 8) ^ LEAP8[(x >> 24) as usize];
        i += 1;
    }
    x
}

/// The canonical stream from word 0 on, big-endian, long enough for the longest frame from the last start.
pub static WINDOW: [u8; WINDOW_WORDS * 4] = {
    let mut bytes = [0u8; WINDOW_WORDS * 4];
    let mut x = SEED;
    let mut word = 0;
    while word < WINDOW_WORDS {
        let be = x.to_be_bytes();
        let mut i = 0;
        while i < 4 {
            bytes[word * 4 + i] = be[i];
            i += 1;
        }
        x = next_word(x);
        word += 1;
    }
    bytes
};

/// The LFSR part of the frame with `sequence`, `len` bytes long.
///
/// # Panics
/// If `len` is larger than [`MAX_BYTES`]; check sizes before building frames.
pub fn payload(sequence: u32, len: usize) -> &'static [u8] {
    assert!(
        len <= MAX_BYTES,
        "LFSR part of {len} bytes is longer than {MAX_BYTES}"
    );
    let start = start_word(sequence) * 4;
    &WINDOW[start..start + len]
}

/// The start word (0 to 4095) of a sequence number.
pub const fn start_word(sequence: u32) -> usize {
    sequence as usize % START_WORDS
}

/// The start word of the stream that `bytes` match to the end, if they have at least one word.
///
/// This distinguishes a stale frame (intact content of another sequence) from a corrupted one. It searches all start
/// words, and is meant for the rare frame that did not match.
pub fn find_start(bytes: &[u8]) -> Option<u16> {
    if bytes.len() < 4 || bytes.len() > MAX_BYTES {
        return None;
    }
    (0..START_WORDS)
        .find(|&word| WINDOW[word * 4..word * 4 + bytes.len()] == *bytes)
        .map(|word| word as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn leap_equals_32_single_steps() {
        let mut x = SEED;
        for _ in 0..10_000 {
            let slow = (0..32).fold(x, |x, _| step(x));
            assert_eq!(next_word(x), slow);
            x = slow;
        }
    }

    #[test]
    fn first_words_are_those_of_the_specification() {
        let words: std::vec::Vec<u32> = WINDOW
            .chunks(4)
            .take(4)
            .map(|w| u32::from_be_bytes(w.try_into().unwrap()))
            .collect();
        let mut expected = std::vec![SEED];
        for _ in 0..3 {
            expected.push((0..32).fold(*expected.last().unwrap(), |x, _| step(x)));
        }
        assert_eq!(words, expected);
        assert_eq!(words[0], 0xFFFF_FFFF);
    }

    #[test]
    fn start_words_are_distinct_and_no_single_bit_apart() {
        // A one-bit error in a four-byte LFSR part must not look like another sequence's content.
        let words: HashSet<u32> = WINDOW
            .chunks(4)
            .take(START_WORDS)
            .map(|w| u32::from_be_bytes(w.try_into().unwrap()))
            .collect();
        assert_eq!(words.len(), START_WORDS);
        for w in &words {
            for bit in 0..32 {
                assert!(!words.contains(&(w ^ (1 << bit))), "{w:08x} bit {bit}");
            }
        }
    }

    #[test]
    fn polynomial_is_primitive() {
        // Order 2^32-1 = 3·5·17·257·65537: x^(order/p) must differ from 1 for every prime factor p.
        fn mul(a: u32, b: u32) -> u32 {
            (0..32).rev().fold(0u32, |acc, i| {
                let acc = if acc & 0x8000_0000 != 0 {
                    (acc << 1) ^ 0xC5
                } else {
                    acc << 1
                };
                if b >> i & 1 == 1 { acc ^ a } else { acc }
            })
        }
        fn pow(mut base: u32, mut exp: u64) -> u32 {
            let mut acc = 1u32;
            while exp > 0 {
                if exp & 1 == 1 {
                    acc = mul(acc, base);
                }
                base = mul(base, base);
                exp >>= 1;
            }
            acc
        }
        let order = u64::from(u32::MAX);
        assert_eq!(pow(2, order), 1);
        for p in [3u64, 5, 17, 257, 65537] {
            assert_ne!(pow(2, order / p), 1, "order divides (2^32-1)/{p}");
        }
    }

    #[test]
    fn find_start_finds_each_start_and_refuses_others() {
        for word in [0usize, 1, 77, 4095] {
            assert_eq!(
                find_start(&WINDOW[word * 4..word * 4 + 28]),
                Some(word as u16)
            );
        }
        let mut bad = [0u8; 28];
        bad.copy_from_slice(&WINDOW[400..428]);
        bad[27] ^= 1;
        assert_eq!(find_start(&bad), None);
        assert_eq!(find_start(&WINDOW[..3]), None);
        assert_eq!(payload(4096, 8), payload(0, 8));
    }
}
