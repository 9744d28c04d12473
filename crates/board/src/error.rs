//! Errors about a board, each with its fix.

use std::path::PathBuf;

use wirelab_control::ClientError;
use wirelab_port::lab::LabError;
use wirelab_port::tap::TapError;
use wirelab_trial::system_error::system_fix;
use wirelab_trial::{NodeError, OpenError};

/// An error about a board.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// There is no such board.
    #[error("there is no board '{name}'; {meant}fix: write one of {names}")]
    Unknown {
        /// The requested name.
        name: String,
        /// A name that is near it, as a question.
        meant: String,
        /// All names there are.
        names: String,
    },
    /// The firmware does not exist.
    #[error(
        "the image {file} of board {board} does not exist (searched: {}); fix: build it with `make firmware`, or name one with --image FILE or WIRELAB_FIRMWARE=FOLDER",
        list(.searched)
    )]
    NoImage {
        /// The board.
        board: String,
        /// The file's name.
        file: String,
        /// The searched folders.
        searched: Vec<PathBuf>,
    },
    /// The file is not firmware for the board.
    #[error("{}: {why}; fix: give a 32-bit little-endian Arm ELF executable, as `make firmware` builds it", .path.display())]
    BadImage {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The firmware is up, but it is not a node.
    #[error("{}: it is up, but {source}", .path.display())]
    NoNode {
        /// The file.
        path: PathBuf,
        /// The error of its control protocol.
        source: ClientError,
    },
    /// QEMU is not installed, as [`crate::qemu::missing`] says it.
    #[error("{0}")]
    NoQemu(String),
    /// Another emulator runs it.
    #[error("board {name} runs in wirelab itself, not in QEMU; fix: measure it as board:{name}")]
    NotQemu {
        /// The board.
        name: String,
    },
    /// It does not start.
    #[error("board {board} with {} was not ready within {seconds} s; fix: give firmware that prints a line `READY …` on its UART; {console}", .image.display())]
    NeverUp {
        /// The board.
        board: String,
        /// How long the caller waited, in seconds.
        seconds: f64,
        /// The firmware.
        image: PathBuf,
        /// The end of its console.
        console: String,
    },
    /// Its emulator ended.
    #[error(
        "board {board} has ended ({how}); fix: see what it printed last, and repair the firmware; {console}"
    )]
    Died {
        /// The board.
        board: String,
        /// How its process ended.
        how: String,
        /// The end of its console.
        console: String,
    },
    /// Its namespaces are not available.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// Its interface is not available.
    #[error(transparent)]
    Tap(#[from] TapError),
    /// The system refused something else.
    #[error("{what}: {source}; fix: {}", system_fix(source))]
    Io {
        /// The attempted action or its object.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
}

impl BoardError {
    /// Whether a missing capability is the reason.
    pub fn is_privilege(&self) -> bool {
        match self {
            BoardError::Lab(error) => error.is_privilege(),
            BoardError::Tap(error) => error.is_privilege(),
            _ => false,
        }
    }
}

/// The error for a trial.
impl From<BoardError> for NodeError {
    fn from(error: BoardError) -> NodeError {
        let text = error.to_string();
        match error {
            error if error.is_privilege() => NodeError::Privilege(text),
            BoardError::NeverUp { .. } | BoardError::Died { .. } | BoardError::Io { .. } => {
                NodeError::Failed(text)
            }
            // A missing board, image or QEMU was wrong before anything ran.
            _ => NodeError::BadTrial(text),
        }
    }
}

impl From<BoardError> for OpenError {
    fn from(error: BoardError) -> OpenError {
        NodeError::from(error).into()
    }
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
    shown.join(", ")
}
