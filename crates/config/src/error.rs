//! What is wrong with a file, and where.

use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The result of reading a file.
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
        /// The key, e.g. `matrix.load`, or `TOML` for a syntax error.
        field: String,
        /// What is wrong, and the fix.
        what: String,
    },
    /// The file is longer than the limit.
    #[error("{}: too long for {kind}: at most {} KiB are read; fix: split it into several files", file.display(), limit_bytes / 1024)]
    TooLong {
        /// The file.
        file: PathBuf,
        /// Its type, e.g. `a plan`.
        kind: &'static str,
        /// The limit in bytes.
        limit_bytes: u64,
    },
    /// The file cannot be read.
    #[error("cannot read {}: {source}; fix: name a text file that can be read", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// The text of a file of at most `limit_bytes`; `kind` is its type, e.g. `a plan`.
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
                "it is not UTF-8 text (byte {})",
                e.utf8_error().valid_up_to()
            ),
        ))
    })
}
