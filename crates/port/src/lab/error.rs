//! Errors of a lab, each with the fix.

use std::fmt::Display;

use wirelab_trial::OpenError;
use wirelab_trial::system_error::system_fix;

use crate::iface::IfaceError;
use crate::netns::{NetNsError, Privilege, ToolError, known_names};

/// An error of a lab.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// The request is invalid.
    #[error("{why}")]
    Spec {
        /// What is wrong, and the fix.
        why: String,
    },
    /// A lab of that name exists.
    #[error("lab {name} exists already{why}; fix: {fix}")]
    Exists {
        /// Its name.
        name: String,
        /// Its owner, if another process made it.
        why: String,
        /// What to do about it.
        fix: String,
    },
    /// A namespace that is not wirelab's has the name.
    #[error(
        "network namespace {namespace} exists already and is not part of a lab; fix: choose another name for the lab, or delete it with `sudo ip netns del {namespace}`"
    )]
    NamespaceTaken {
        /// The namespace.
        namespace: String,
    },
    /// No lab of that name.
    #[error("there is no lab '{name}'; fix: {}", known_names(.known))]
    Unknown {
        /// The given name.
        name: String,
        /// The existing labs.
        known: Vec<String>,
    },
    /// No lab of that name is up to take down, nor any other.
    #[error("no lab is up, so there is no '{name}' to take down; fix: leave 'lab down' out")]
    NoneUp {
        /// The given name.
        name: String,
    },
    /// The lab belongs to a running process.
    #[error(
        "lab {name} belongs to process {pid}, which is running; fix: end that process, and the lab ends with it"
    )]
    InUse {
        /// Its name.
        name: String,
        /// The process.
        pid: u32,
    },
    /// The links did not come up.
    #[error(
        "{port} did not come up within {seconds} s; fix: see `ip -n {namespace} link` and the kernel's log"
    )]
    NotUp {
        /// The interface.
        port: String,
        /// Its namespace.
        namespace: String,
        /// The time limit, in seconds.
        seconds: u64,
    },
    /// The kernel has neither shaper.
    #[error(
        "this kernel has neither TBF nor HTB (modules sch_tbf, sch_htb), so {port} cannot be shaped; fix: let the sender's pacing keep the rate"
    )]
    NoShaper {
        /// The interface.
        port: String,
    },
    /// Receive threads cannot be set up or found.
    #[error("{what} of {port}: {why}")]
    Napi {
        /// The action.
        what: &'static str,
        /// The interface.
        port: String,
        /// Why not, and the fix.
        why: String,
    },
    /// The list of labs cannot be read or written.
    #[error("the list of labs in {}: {what}: {source}; fix: {}", .folder.display(), system_fix(source))]
    Registry {
        /// Where it is.
        folder: std::path::PathBuf,
        /// The action.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The list has no folder.
    #[error(transparent)]
    Runtime(#[from] wirelab_cores::runtime::RuntimeError),
    /// A capability is missing.
    #[error(transparent)]
    Privilege(#[from] Privilege),
    /// An error of a namespace.
    #[error(transparent)]
    NetNs(#[from] NetNsError),
    /// An error of an interface.
    #[error(transparent)]
    Iface(#[from] IfaceError),
    /// A tool is missing or failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The system refused something else.
    #[error("{what}: {source}; fix: {}", system_fix(source))]
    Io {
        /// The action.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
}

impl LabError {
    /// Whether a missing capability is the reason.
    pub fn is_privilege(&self) -> bool {
        match self {
            LabError::Privilege(_) | LabError::Tool(ToolError::Privilege(_)) => true,
            LabError::NetNs(error) => error.is_privilege(),
            _ => false,
        }
    }

    pub(super) fn io(what: impl Display, source: std::io::Error) -> LabError {
        LabError::Io {
            what: what.to_string(),
            source,
        }
    }
}

/// A lab's error as that of opening its node.
impl From<LabError> for OpenError {
    fn from(error: LabError) -> OpenError {
        match error.is_privilege() {
            true => OpenError::Privilege(error.to_string()),
            false => OpenError::Usage(error.to_string()),
        }
    }
}
