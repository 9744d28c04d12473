//! Errors of a capture, and how a capture ends.
//!
//! An error names the file, the position in it, and the fix. A truncated or damaged capture is not an error: what
//! lies before the damage is judged, and [`End`] says where and why reading stopped.

use std::fmt;
use std::io;

use serde::Serialize;

/// Why a capture could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be opened or made.
    #[error("cannot open {name}: {source}; fix: check the path and its permissions")]
    Open {
        /// The file.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// The file exists.
    #[error("{name} exists and is not overwritten; fix: choose another name, or give --overwrite")]
    Exists {
        /// The file.
        name: String,
    },
    /// The first bytes are not those of a capture.
    #[error("{name} is not a capture: {why}")]
    NotACapture {
        /// The file.
        name: String,
        /// What it seems to be, and the fix.
        why: String,
    },
    /// Reading failed in the middle.
    #[error(
        "reading {name} failed at byte {offset} (block {block}): {source}; \
         fix: copy the file to a sound disk and verify it again"
    )]
    Read {
        /// The file.
        name: String,
        /// Offset in bytes of the block that could not be read.
        offset: u64,
        /// Its number, counted from 1.
        block: u64,
        /// The system's error.
        source: io::Error,
    },
    /// Writing failed. What was written before is a readable capture.
    #[error(
        "writing {name} failed: {source}; the first {frames} frames ({bytes} bytes) are safely in the file, \
         which was truncated to its last whole block; fix: free some space or choose another disk"
    )]
    Write {
        /// The file.
        name: String,
        /// Frames that are safely in the file.
        frames: u64,
        /// Length of the readable file in bytes.
        bytes: u64,
        /// The system's error.
        source: io::Error,
    },
    /// The writer or the generator does not support the request.
    #[error("{name}: {why}")]
    BadRequest {
        /// The file.
        name: String,
        /// What is wrong, and the fix.
        why: String,
    },
}

/// How a capture ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum End {
    /// With the last whole block.
    Whole,
    /// In the middle of a block: the file is truncated.
    Cut {
        /// Offset in bytes of the truncated block.
        offset: u64,
        /// Its number, counted from 1.
        block: u64,
        /// Bytes of it in the file.
        bytes: u64,
    },
    /// At an invalid block; nothing after it can be trusted.
    Damaged {
        /// Offset in bytes of the block.
        offset: u64,
        /// Its number, counted from 1.
        block: u64,
        /// What is wrong with it.
        why: String,
    },
}

impl End {
    /// Whether the capture was read to its end.
    pub fn is_whole(&self) -> bool {
        *self == End::Whole
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Whole => f.write_str("read to its end"),
            End::Cut {
                offset,
                block,
                bytes,
            } => write!(
                f,
                "cut off in block {block} at byte {offset} ({bytes} bytes of the block are there): every whole \
                 frame before it was judged; fix: let the capture finish, or record it again"
            ),
            End::Damaged { offset, block, why } => write!(
                f,
                "damaged at byte {offset}, block {block}: {why}; every frame before it was judged; \
                 fix: record the capture again"
            ),
        }
    }
}
