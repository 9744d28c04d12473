//! What can go wrong with a board, each with the way out.

use std::path::PathBuf;

use crate::catalogue;

/// An error about a board.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// There is no such board.
    #[error("there is no board '{name}'; there are {}", catalogue::names())]
    Unknown {
        /// What was asked.
        name: String,
    },
    /// The firmware is not there.
    #[error(
        "the image {file} of board {board} is not there (looked for in {}); build it with `make firmware`, or name one with --image FILE or WIRELAB_FIRMWARE=FOLDER",
        list(.searched)
    )]
    NoImage {
        /// The board.
        board: String,
        /// The file's name.
        file: String,
        /// Where it was looked for.
        searched: Vec<PathBuf>,
    },
    /// The file is no firmware for the board.
    #[error("{}: {why}; an image is a 32-bit little-endian Arm ELF executable, as `make firmware` builds it", .path.display())]
    BadImage {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
    shown.join(", ")
}
