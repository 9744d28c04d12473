//! What is wrong with a file, and where.

use std::io::Read as _;
use std::path::{Path, PathBuf};

/// What reading a file gives.
pub type Read<T> = Result<T, FileError>;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Something in the file is wrong.
    #[error("{file}:{line}:{column}: {field}: {what}")]
    At {
        /// The file's name.
        file: String,
        /// Line, counted from 1.
        line: usize,
        /// Column in characters, counted from 1.
        column: usize,
        /// The key, e.g. `matrix.load`, or `TOML` where the file is none.
        field: String,
        /// What is wrong and what to write instead.
        what: String,
    },
    /// Longer than is read.
    #[error("{}: too long for {kind}: at most {} KiB are read, split it into several files", file.display(), limit_bytes / 1024)]
    TooLong {
        /// The file.
        file: PathBuf,
        /// What it should be, e.g. `a plan`.
        kind: &'static str,
        /// Bytes that are read.
        limit_bytes: u64,
    },
    /// The file cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// The text of a file of at most `limit_bytes`; `kind` says what it should be, e.g. `a plan`.
///
/// # Errors
/// [`FileError::Unreadable`] and [`FileError::TooLong`].
pub fn read_text(path: &Path, kind: &'static str, limit_bytes: u64) -> Read<String> {
    let unreadable = |source| FileError::Unreadable {
        file: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(limit_bytes + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() as u64 > limit_bytes {
        return Err(FileError::TooLong {
            file: path.to_owned(),
            kind,
            limit_bytes,
        });
    }
    String::from_utf8(bytes).map_err(|e| {
        unreadable(std::io::Error::new(
            std::io::ErrorKind::InvalidData,
            format!(
                "it is no UTF-8 text (byte {})",
                e.utf8_error().valid_up_to()
            ),
        ))
    })
}
