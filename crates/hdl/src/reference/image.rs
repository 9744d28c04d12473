//! Programs of the reference node: the loadable segments of an ELF file, word by word.

use thiserror::Error;

/// Bytes of the node's memory, which begins at address 0.
pub const RAM_BYTES: usize = 1 << 20;

/// Most program headers of a file: linkers write a few.
const MAX_SEGMENTS: usize = 64;
/// `e_machine` of RISC-V (RISC-V ELF psABI, "File Header").
const RISC_V: u16 = 243;

/// Why a file is not a program for the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ImageError {
    /// Not ELF, or truncated.
    #[error("not an ELF file, or a truncated one: {0} is missing; fix: link it again")]
    Cut(&'static str),
    /// ELF for another machine.
    #[error(
        "this ELF file is not a program for the reference node (32-bit little-endian RISC-V executable): {0}; fix: build it with -march=rv32im"
    )]
    Foreign(&'static str),
    /// More segments than any linker writes.
    #[error(
        "{0} program headers; at most {MAX_SEGMENTS} are allowed; fix: link it into fewer segments"
    )]
    Segments(usize),
    /// A segment outside the memory.
    #[error(
        "segment {index} ({bytes} bytes at {address:#010x}) does not fit the memory, 1 MiB from address 0; fix: link it to addresses below 1 MiB"
    )]
    Outside {
        /// The index of the program header, from 0.
        index: usize,
        /// Its physical address.
        address: u32,
        /// Its size in memory.
        bytes: u32,
    },
    /// Nothing to load.
    #[error("the file has no segment to load; fix: link it as an executable")]
    Empty,
}

fn half(file: &[u8], at: usize) -> Result<u16, ImageError> {
    let bytes = file.get(at..).and_then(|rest| rest.first_chunk());
    bytes
        .map(|bytes| u16::from_le_bytes(*bytes))
        .ok_or(ImageError::Cut("the header"))
}

fn word(file: &[u8], at: usize) -> Result<u32, ImageError> {
    let bytes = file.get(at..).and_then(|rest| rest.first_chunk());
    bytes
        .map(|bytes| u32::from_le_bytes(*bytes))
        .ok_or(ImageError::Cut("a header"))
}

/// The memory filled with a program's segments, up to the last byte of any: words in the order of their addresses,
/// with zeros between segments.
///
/// # Errors
/// If the file is not such a program, or does not fit the memory.
pub fn words(file: &[u8]) -> Result<Vec<u32>, ImageError> {
    if file.get(..4) != Some(b"\x7fELF") {
        return Err(ImageError::Cut("its mark"));
    }
    if file.get(4..6) != Some(&[1, 1]) {
        return Err(ImageError::Foreign("class or byte order"));
    }
    if half(file, 18)? != RISC_V {
        return Err(ImageError::Foreign("another processor"));
    }
    if half(file, 16)? != 2 {
        return Err(ImageError::Foreign("not linked to fixed addresses"));
    }
    let table = word(file, 28)? as usize;
    let size = usize::from(half(file, 42)?);
    let count = usize::from(half(file, 44)?);
    if count > MAX_SEGMENTS {
        return Err(ImageError::Segments(count));
    }
    let mut memory = Vec::new();
    for index in 0..count {
        segment(file, table.saturating_add(index * size), index, &mut memory)?;
    }
    if memory.is_empty() {
        return Err(ImageError::Empty);
    }
    memory.resize(memory.len().next_multiple_of(4), 0);
    let words = memory.chunks_exact(4);
    Ok(words
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect())
}

fn segment(
    file: &[u8],
    header: usize,
    index: usize,
    memory: &mut Vec<u8>,
) -> Result<(), ImageError> {
    let field = |n: usize| word(file, header.saturating_add(4 * n));
    let (kind, offset, address) = (field(0)?, field(1)? as usize, field(3)?);
    let (stored, bytes) = (field(4)? as usize, field(5)?);
    if kind != 1 || stored == 0 {
        return Ok(());
    }
    let data = offset
        .checked_add(stored)
        .and_then(|end| file.get(offset..end))
        .ok_or(ImageError::Cut("a segment"))?;
    let begin = address as usize;
    // Zeroed data follow the stored ones, so they must fit as well.
    let end = begin.checked_add(stored.max(bytes as usize));
    if end.is_none_or(|end| end > RAM_BYTES) {
        return Err(ImageError::Outside {
            index,
            address,
            bytes,
        });
    }
    memory.resize(memory.len().max(begin + stored), 0);
    memory[begin..begin + stored].copy_from_slice(data);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(address: u32, stored: u32, bytes: u32) -> Vec<u8> {
        let mut file = vec![0; 52 + 32];
        file[..6].copy_from_slice(b"\x7fELF\x01\x01");
        file[16..20].copy_from_slice(&[2, 0, 243, 0]);
        file[28..32].copy_from_slice(&52_u32.to_le_bytes());
        file[42..46].copy_from_slice(&[32, 0, 1, 0]);
        for (n, value) in [1, 84, 0, address, stored, bytes].into_iter().enumerate() {
            file[52 + 4 * n..56 + 4 * n].copy_from_slice(&u32::to_le_bytes(value));
        }
        file.extend((1..=stored.min(64)).map(|n| n as u8));
        file
    }

    #[test]
    fn a_segment_is_placed_and_filled_up_to_a_word() {
        assert_eq!(
            words(&program(4, 5, 5)),
            Ok(vec![0, 0x0403_0201, 0x0000_0005])
        );
    }

    #[test]
    fn what_does_not_fit_or_is_cut_off_is_refused() {
        let outside = |address, stored, bytes| words(&program(address, stored, bytes));
        let fits = RAM_BYTES as u32 - 8;
        assert!(outside(fits, 8, 8).is_ok());
        for refused in [
            outside(fits, 8, 9),
            outside(u32::MAX - 3, 4, 4),
            outside(fits + 1, 8, 0),
        ] {
            assert!(matches!(refused, Err(ImageError::Outside { .. })));
        }
        let whole = program(0, 8, 8);
        for length in 0..whole.len() {
            assert!(words(&whole[..length]).is_err(), "{length}");
        }
        assert_eq!(words(&program(0, 0, 8)), Err(ImageError::Empty));
    }

    #[test]
    fn a_program_for_another_machine_is_named() {
        let mut arm = program(0, 4, 4);
        arm[18] = 40;
        assert_eq!(words(&arm), Err(ImageError::Foreign("another processor")));
        let mut wide = program(0, 4, 4);
        wide[4] = 2;
        assert_eq!(
            words(&wide),
            Err(ImageError::Foreign("class or byte order"))
        );
    }
}
