//! What can go wrong with a capture, and how a capture ends.
//!
//! An error says which file, where in it, and what to do. A capture that is cut off or damaged is no error:
//! what lies before the cut is judged, and [`End`] says where and why reading stopped.

use std::fmt;
use std::io;

use serde::Serialize;

/// Why a capture could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be opened or made.
    #[error("cannot open {name}: {source}")]
    Open {
        /// The file.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// The file is there already.
    #[error("{name} exists and is not overwritten: choose another name, or ask for --overwrite")]
    Exists {
        /// The file.
        name: String,
    },
    /// The first bytes are not those of a capture.
    #[error("{name} is not a capture: {why}")]
    NotACapture {
        /// The file.
        name: String,
        /// What was found and what to do.
        why: String,
    },
    /// Reading failed in the middle.
    #[error(
        "reading {name} failed at byte {offset} (block {block}): {source}; \
         copy the file to a sound disk and verify it again"
    )]
    Read {
        /// The file.
        name: String,
        /// Offset in bytes of the block that could not be read.
        offset: u64,
        /// Its number, counted from 1.
        block: u64,
        /// What the system said.
        source: io::Error,
    },
    /// Writing failed. What was written before is a readable capture.
    #[error(
        "writing {name} failed: {source}; the first {frames} frames ({bytes} bytes) are safely in the file, \
         which was cut back to its last whole block; free some space or choose another disk"
    )]
    Write {
        /// The file.
        name: String,
        /// Frames that are safely in the file.
        frames: u64,
        /// Length of the readable file in bytes.
        bytes: u64,
        /// What the system said.
        source: io::Error,
    },
    /// What was asked of the writer or the generator cannot be done.
    #[error("{name}: {why}")]
    Asked {
        /// The file.
        name: String,
        /// What is wrong with it and what would be right.
        why: String,
    },
}

/// How reading a capture ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum End {
    /// With the last whole block.
    Whole,
    /// In the middle of a block: the file is cut off.
    Cut {
        /// Offset in bytes of the block that is cut.
        offset: u64,
        /// Its number, counted from 1.
        block: u64,
        /// Bytes of it that are there.
        bytes: u64,
    },
    /// At a block that makes no sense; nothing behind it can be trusted.
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
                 frame before it was judged; let the capture finish, or take it again"
            ),
            End::Damaged { offset, block, why } => write!(
                f,
                "damaged at byte {offset}, block {block}: {why}; every frame before it was judged; \
                 take the capture again"
            ),
        }
    }
}
