//! Big-endian words at an offset; a word beyond the end is absent, never a panic.

/// The word at `at`.
pub(super) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..at + 4)?
        .first_chunk()
        .map(|word| u32::from_be_bytes(*word))
}

/// The half word at `at`.
pub(super) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..at + 2)?
        .first_chunk()
        .map(|word| u16::from_be_bytes(*word))
}

/// Writes consecutive words from `at`; those beyond the end are left out.
pub(super) fn put_words(out: &mut [u8], at: usize, words: &[u32]) {
    for (target, word) in out
        .get_mut(at..)
        .unwrap_or_default()
        .chunks_exact_mut(4)
        .zip(words)
    {
        target.copy_from_slice(&word.to_be_bytes());
    }
}
