//! Errors about a machine, each with its fix.

use std::path::PathBuf;

use wirelab_config::FileError;
use wirelab_port::lab::LabError;
use wirelab_port::tap::TapError;
use wirelab_trial::system_error::system_fix;
use wirelab_trial::{Direction, NodeError, OpenError};

/// An error about a machine in QEMU.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// No machine has that name.
    #[error(
        "unknown machine '{name}'; {meant}fix: write one of {names}, or a machine file that ends in .toml"
    )]
    Unknown {
        /// The name.
        name: String,
        /// The nearest one, as a question.
        meant: String,
        /// All names.
        names: String,
    },
    /// The machine file is invalid.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is no image.
    #[error(
        "{machine}: the image {image} does not exist (searched: {searched}); fix: build it, or name one with --image FILE"
    )]
    NoImage {
        /// The machine.
        machine: String,
        /// The image.
        image: String,
        /// Where it was searched.
        searched: String,
    },
    /// The image cannot be used.
    #[error("{}: {why}", .path.display())]
    BadImage {
        /// The image.
        path: PathBuf,
        /// What is wrong, and the fix.
        why: String,
    },
    /// A point is not in the image.
    #[error("{machine}: the point '{point}' of {frame_path}: {why}")]
    BadPoint {
        /// The machine.
        machine: String,
        /// The point.
        point: String,
        /// `receive` or `transmit`.
        frame_path: Direction,
        /// Why, and the fix.
        why: String,
    },
    /// QEMU does not start.
    #[error("{0}")]
    NoQemu(String),
    /// QEMU has no plugins.
    #[error(
        "{program} does not load plugins ({said}); fix: take a QEMU from 7.2 on that was built with plugins, as those of distributions are"
    )]
    NoPlugins {
        /// The program.
        program: String,
        /// What it says.
        said: String,
    },
    /// QEMU has ended.
    #[error(
        "{machine}: QEMU has ended ({how}); fix: see what it printed last, and check the arguments of the machine file; {console}"
    )]
    Ended {
        /// The machine.
        machine: String,
        /// Its exit status or signal, in words.
        how: String,
        /// The end of its console, and QEMU's message.
        console: String,
    },
    /// The expected event did not happen.
    #[error("{machine}: {what} within {seconds} s; {console}; fix: {fix}")]
    Silent {
        /// The machine.
        machine: String,
        /// What it did not do.
        what: String,
        /// How long the caller waited.
        seconds: f64,
        /// The end of its console.
        console: String,
        /// What to do.
        fix: String,
    },
    /// The network is not available.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// Its interface is not available.
    #[error(transparent)]
    Tap(#[from] TapError),
    /// The system refused something.
    #[error("{what}: {source}; fix: {}", system_fix(source))]
    Io {
        /// The attempted action or its object.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// Something else, with its fix.
    #[error("{0}")]
    Other(String),
}

impl MachineError {
    /// For `map_err`: the attempted action or its object.
    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> MachineError {
        let what = what.into();
        move |source| MachineError::Io { what, source }
    }

    fn is_privilege(&self) -> bool {
        match self {
            MachineError::Lab(error) => error.is_privilege(),
            MachineError::Tap(error) => error.is_privilege(),
            _ => false,
        }
    }
}

impl From<MachineError> for NodeError {
    fn from(error: MachineError) -> NodeError {
        let text = error.to_string();
        match error {
            error if error.is_privilege() => NodeError::Privilege(text),
            MachineError::Ended { .. } | MachineError::Silent { .. } | MachineError::Io { .. } => {
                NodeError::Failed(text)
            }
            _ => NodeError::BadTrial(text),
        }
    }
}

impl From<MachineError> for OpenError {
    fn from(error: MachineError) -> OpenError {
        NodeError::from(error).into()
    }
}
