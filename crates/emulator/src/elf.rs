//! Programs in ELF files: loads their segments at their physical addresses, as a flash tool does, and finds functions.

use crate::memory::Memory;

/// Most program headers of a file: linkers write a handful.
const MAX_SEGMENTS: usize = 64;

/// Why a file is not a program for this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// Not ELF, or truncated.
    #[error("not an ELF file, or a truncated one: {0} is missing")]
    Cut(&'static str),
    /// ELF for another machine.
    #[error(
        "this ELF file is not a program for a Cortex-M3 (32-bit little-endian ARM executable): {0}"
    )]
    Foreign(&'static str),
    /// More segments than any linker writes.
    #[error("{0} program headers; the maximum is {MAX_SEGMENTS}")]
    Segments(usize),
    /// A segment outside the memories.
    #[error(
        "segment {index} ({bytes} bytes at {address:#010x}) does not fit the memories: flash 0 to 512 KB, SRAM 32 KB at 0x10000000, 32 KB at 0x2007c000"
    )]
    Outside {
        /// Which program header, from 0.
        index: usize,
        /// Its physical address.
        address: u32,
        /// Its size in memory.
        bytes: u32,
    },
    /// Nothing to load.
    #[error("the file has no segment to load")]
    Empty,
}

fn half(file: &[u8], at: usize, what: &'static str) -> Result<u16, ElfError> {
    let bytes = file.get(at..).and_then(|rest| rest.first_chunk());
    bytes
        .map(|bytes| u16::from_le_bytes(*bytes))
        .ok_or(ElfError::Cut(what))
}

fn word(file: &[u8], at: usize, what: &'static str) -> Result<u32, ElfError> {
    let bytes = file.get(at..).and_then(|rest| rest.first_chunk());
    bytes
        .map(|bytes| u32::from_le_bytes(*bytes))
        .ok_or(ElfError::Cut(what))
}

/// Loads a program; returns the lowest address loaded, which holds its vector table.
///
/// # Errors
///
/// Where the file is not such a program or does not fit the memories.
pub fn load(file: &[u8], memory: &mut Memory) -> Result<u32, ElfError> {
    if file.get(..4) != Some(b"\x7fELF") {
        return Err(ElfError::Cut("its mark"));
    }
    if file.get(4..6) != Some(&[1, 1]) {
        return Err(ElfError::Foreign("class or byte order"));
    }
    if half(file, 18, "the header")? != 40 {
        return Err(ElfError::Foreign("another processor"));
    }
    if half(file, 16, "the header")? != 2 {
        return Err(ElfError::Foreign("not linked to fixed addresses"));
    }
    let table = word(file, 28, "the header")? as usize;
    let size = half(file, 42, "the header")? as usize;
    let count = half(file, 44, "the header")? as usize;
    if count > MAX_SEGMENTS {
        return Err(ElfError::Segments(count));
    }
    if count > 0 && size < 32 {
        return Err(ElfError::Foreign("wrong size of the program headers"));
    }
    let mut lowest = None;
    for index in 0..count {
        let at = table
            .checked_add(index * size)
            .ok_or(ElfError::Cut("a program header"))?;
        if let Some(address) = segment(file, at, index, memory)? {
            lowest = Some(lowest.map_or(address, |lowest: u32| lowest.min(address)));
        }
    }
    lowest.ok_or(ElfError::Empty)
}

/// Loads one segment; returns its address if it is loadable.
fn segment(
    file: &[u8],
    at: usize,
    index: usize,
    memory: &mut Memory,
) -> Result<Option<u32>, ElfError> {
    let field = |n: usize| word(file, at.saturating_add(4 * n), "a program header");
    let (kind, offset, virtual_address, address) =
        (field(0)?, field(1)? as usize, field(2)?, field(3)?);
    let (stored, bytes) = (field(4)? as usize, field(5)?);
    if kind != 1 || bytes == 0 {
        return Ok(None);
    }
    let outside = ElfError::Outside {
        index,
        address,
        bytes,
    };
    if stored > bytes as usize {
        return Err(outside);
    }
    let end = offset
        .checked_add(stored)
        .ok_or(ElfError::Cut("a segment"))?;
    let data = file.get(offset..end).ok_or(ElfError::Cut("a segment"))?;
    // Zeroed data are only at the virtual address; the program's start-up code clears them.
    if memory.bytes(virtual_address, bytes as usize).is_none() || !memory.load(address, data) {
        return Err(outside);
    }
    Ok((stored > 0).then_some(address))
}

/// Most symbols that are searched.
const MAX_SYMBOLS: usize = 100_000;

/// The address (without Thumb's bit 0) and size in bytes of the function `name`, if the file has it.
pub fn symbol(file: &[u8], name: &str) -> Option<(u32, u32)> {
    let what = "";
    let sections = word(file, 32, what).ok()? as usize;
    let size = half(file, 46, what).ok()? as usize;
    let field = |index: usize, n: usize| {
        let at = sections
            .checked_add(index.checked_mul(size)?)?
            .checked_add(4 * n)?;
        word(file, at, what).ok().map(|value| value as usize)
    };
    let count = half(file, 48, what).ok()? as usize;
    let table = (0..count).find(|index| field(*index, 1) == Some(2))?;
    let (offset, bytes, strings) = (
        field(table, 4)?,
        field(table, 5)?,
        field(field(table, 6)?, 4)?,
    );
    (0..(bytes / 16).min(MAX_SYMBOLS)).find_map(|n| {
        let at = offset.checked_add(16 * n)?;
        let begin = strings.checked_add(word(file, at, what).ok()? as usize)?;
        let found = file.get(begin..)?.strip_prefix(name.as_bytes())?.first() == Some(&0);
        // The type "function" in the low bits of the 13th byte.
        (found && file.get(at + 12)? & 15 == 2).then_some(())?;
        Some((
            word(file, at + 4, what).ok()? & !1,
            word(file, at + 8, what).ok()?,
        ))
    })
}
