//! Firmware images: where they are searched, and what is checked before an emulator gets one.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use wirelab_trial::images;

use crate::{BoardError, BoardInfo};

/// Largest image in bytes: no board here has more memory for code and data.
const MOST_BYTES: u64 = 64 << 20;
/// Size of the header of a 32-bit ELF file (System V ABI, figure 4-3).
const HEADER_BYTES: usize = 52;
/// Size of a program header of such a file.
const SEGMENT_BYTES: usize = 32;

/// An image that was found and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The file.
    pub path: PathBuf,
    /// Its contents.
    pub bytes: Vec<u8>,
}

impl Image {
    /// The image of a board: `given`, or the board's default where it is installed.
    ///
    /// # Errors
    /// [`BoardError::NoImage`], which names the searched folders; [`BoardError::BadImage`].
    pub fn find(board: &BoardInfo, given: Option<&Path>) -> Result<Image, BoardError> {
        let path = match given {
            Some(path) if path.is_file() => path.to_owned(),
            Some(path) => {
                let file = path.file_name().unwrap_or(path.as_os_str());
                // A bare name is relative to the working directory, and the message shows that.
                let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
                return Err(BoardError::NoImage {
                    board: board.name.to_owned(),
                    file: file.to_string_lossy().into_owned(),
                    searched: vec![whole.parent().unwrap_or(&whole).to_owned()],
                });
            }
            None => installed(board, board.images[0])?,
        };
        Image::read(&path)
    }

    /// Reads a file and checks that an emulator can load it.
    ///
    /// # Errors
    /// [`BoardError::BadImage`] with what is wrong.
    pub fn read(path: &Path) -> Result<Image, BoardError> {
        let bad = |why: String| BoardError::BadImage {
            path: path.to_owned(),
            why,
        };
        let file = File::open(path).map_err(|e| bad(e.to_string()))?;
        let mut bytes = Vec::new();
        let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|e| bad(e.to_string()))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(bad(format!("it has more than {MOST_BYTES} bytes")));
        }
        check(&bytes).map_err(|why| bad(why.to_owned()))?;
        Ok(Image {
            path: path.to_owned(),
            bytes,
        })
    }
}

/// The file of a built or installed image.
///
/// # Errors
/// [`BoardError::NoImage`]
pub fn installed(board: &BoardInfo, file: &str) -> Result<PathBuf, BoardError> {
    images::installed(file).map_err(|searched| BoardError::NoImage {
        board: board.name.to_owned(),
        file: file.to_owned(),
        searched,
    })
}

/// Checks that bytes are an executable for Arm whose segments and entry match its headers.
fn check(bytes: &[u8]) -> Result<(), &'static str> {
    let Some(header) = bytes.get(..HEADER_BYTES) else {
        return Err("it is too short for an ELF file");
    };
    let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let word = |from: &[u8], at: usize| {
        u32::from_le_bytes([from[at], from[at + 1], from[at + 2], from[at + 3]])
    };
    if header[..4] != *b"\x7fELF" {
        return Err("it is not an ELF file");
    }
    if (header[4], header[5]) != (1, 1) {
        return Err("it is not 32-bit and little-endian");
    }
    // e_type ET_EXEC, e_machine EM_ARM.
    if (half(16), half(18)) != (2, 40) {
        return Err("it is not an executable for Arm");
    }
    let (entry, table) = (word(header, 24), word(header, 28) as usize);
    let (each, count) = (usize::from(half(42)), usize::from(half(44)));
    if each != SEGMENT_BYTES {
        return Err("its program headers have a wrong size");
    }
    let segments = table
        .checked_add(each * count)
        .and_then(|end| bytes.get(table..end))
        .ok_or("its program headers are not in the file")?;
    let mut entered = false;
    for segment in segments.chunks_exact(SEGMENT_BYTES) {
        // p_type PT_LOAD.
        if word(segment, 0) != 1 {
            continue;
        }
        let (offset, address) = (u64::from(word(segment, 4)), word(segment, 8));
        let (in_file, in_memory) = (word(segment, 16), word(segment, 20));
        if offset + u64::from(in_file) > bytes.len() as u64 {
            return Err("a segment is truncated");
        }
        if in_file > in_memory || address.checked_add(in_memory).is_none() {
            return Err("a segment does not fit the memory");
        }
        // Bit 0 of an entry marks Thumb code.
        let into = (entry & !1).checked_sub(address);
        entered |= into.is_some_and(|into| into < in_file);
    }
    match entered {
        true => Ok(()),
        false => Err("its entry is in no segment that it loads"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    /// A header, one segment of eight bytes at 0x100000, entry at its start.
    fn elf() -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES + SEGMENT_BYTES];
        bytes[..6].copy_from_slice(b"\x7fELF\x01\x01");
        let mut put = |at: usize, value: u32| {
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        };
        put(16, 40 << 16 | 2);
        put(24, 0x10_0000);
        put(28, HEADER_BYTES as u32);
        put(42, 1 << 16 | SEGMENT_BYTES as u32);
        for (at, value) in [(0, 1), (4, 84), (8, 0x10_0000), (16, 8), (20, 64)] {
            put(HEADER_BYTES + at, value);
        }
        bytes.extend_from_slice(b"firmware");
        bytes
    }

    #[test]
    fn a_whole_image_is_taken() {
        assert_eq!(check(&elf()), Ok(()));
    }

    #[test]
    fn what_is_no_image_is_refused_with_the_reason() {
        let with = |at: usize, byte: u8| {
            let mut bytes = elf();
            bytes[at] = byte;
            bytes
        };
        for (bytes, why) in [
            (Vec::new(), "too short"),
            (with(0, b'M'), "not an ELF"),
            (with(4, 2), "not 32-bit"),
            (with(18, 62), "for Arm"),
            (with(31, 0xFF), "not in the file"),
            (with(42, 0), "wrong size"),
            (with(HEADER_BYTES + 7, 0xFF), "truncated"),
            (with(HEADER_BYTES + 11, 0xFF), "entry is in no"),
            (with(HEADER_BYTES + 20, 4), "fit the memory"),
            (with(26, 0x11), "entry is in no"),
            (with(44, 0), "entry is in no"),
        ] {
            let error = check(&bytes).unwrap_err();
            assert!(error.contains(why), "{error} for {why}");
        }
    }

    #[test]
    fn no_cut_and_no_flipped_byte_makes_the_check_panic() {
        let whole = elf();
        for cut in 0..whole.len() {
            assert!(check(&whole[..cut]).is_err(), "{cut}");
        }
        for at in 0..whole.len() {
            for byte in [0, 1, 0x7F, 0x80, 0xFF] {
                let mut bytes = whole.clone();
                bytes[at] = byte;
                let _ = check(&bytes);
            }
        }
    }

    #[test]
    fn a_missing_image_says_where_it_was_looked_for_and_how_to_build_it() {
        let board = catalogue::find("zynq7000").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let error = Image::find(board, Some(&folder.path().join("x.elf"))).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("x.elf") && text.contains("make firmware"),
            "{text}"
        );
        assert!(
            text.contains(&folder.path().display().to_string()),
            "{text}"
        );
    }
}
