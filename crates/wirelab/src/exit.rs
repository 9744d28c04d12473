//! How a command ends: 0 done, 1 a trial failed or a limit was missed, 2 bad usage or missing privilege.

use std::fmt;

use wirelab_port::lab::LabError;
use wirelab_store::StoreError;
use wirelab_trial::{NameError, NodeError, OpenError};

/// The end of a command that ran.
pub enum Outcome {
    /// Success.
    Done,
    /// A trial failed or a limit was missed; the output says which.
    Missed,
    /// The exit status of another command that ran for the user.
    Code(u8),
}

impl Outcome {
    /// Done if `passed`.
    pub fn of(passed: bool) -> Outcome {
        if passed {
            Outcome::Done
        } else {
            Outcome::Missed
        }
    }
}

/// Why a command did not run to its end.
#[derive(Debug)]
pub enum Failure {
    /// A request that is impossible or contradicts itself.
    Usage(String),
    /// A privilege is missing.
    Privilege(String),
    /// It began and failed.
    Failed(String),
}

impl Failure {
    pub fn usage(text: impl fmt::Display) -> Failure {
        Failure::Usage(text.to_string())
    }

    pub fn failed(text: impl fmt::Display) -> Failure {
        Failure::Failed(text.to_string())
    }

    pub fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) | Failure::Privilege(_) => 2,
            Failure::Failed(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Usage(text) | Failure::Privilege(text) | Failure::Failed(text)) = self;
        f.write_str(text)
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Failure {
        match error {
            OpenError::Unknown(text) | OpenError::Usage(text) => Failure::Usage(text),
            OpenError::Privilege(text) => Failure::Privilege(text),
            OpenError::Failed(text) => Failure::Failed(text),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        match error.is_usage() {
            true => Failure::usage(error),
            false => Failure::failed(error),
        }
    }
}

impl From<NodeError> for Failure {
    fn from(error: NodeError) -> Failure {
        OpenError::from(error).into()
    }
}

impl From<NameError> for Failure {
    fn from(error: NameError) -> Failure {
        OpenError::from(error).into()
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Failure {
        OpenError::from(error).into()
    }
}

/// A value that a command needs, or the reason to end.
pub type Fallible<T> = std::result::Result<T, Failure>;

/// The result of every command.
pub type Result = std::result::Result<Outcome, Failure>;
