//! Errors of tracing a node, each with the fix.

use std::io;
use std::path::PathBuf;

use wirelab_port::iface::IfaceError;
use wirelab_port::netns::{NetNsError, PrivilegedWork};
use wirelab_port::xdp::XdpError;
use wirelab_trial::NodeError;
use wirelab_trial::system_error::system_fix;

/// Why points cannot be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StagesError {
    /// A privilege is missing.
    #[error("{}", wirelab_port::netns::Privilege::new(format!("for {what}"), PrivilegedWork::Stages))]
    Privilege {
        /// The action.
        what: String,
    },
    /// The host does not let programs trace its kernel in this way, although they have the privilege.
    #[error("{what}: this host refuses it ({why}); fix: {fix}")]
    Refused {
        /// The action.
        what: String,
        /// The kernel's reason.
        why: String,
        /// The alternative.
        fix: &'static str,
    },
    /// The description of the kernel's types (BTF) is missing or invalid.
    #[error(
        "no description of the kernel's types (BTF) at {path}: {why}; fix: boot a kernel built with CONFIG_DEBUG_INFO_BTF, \
         or name a file that was made for this kernel"
    )]
    Btf {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The clock of the kernel's programs is not that of this process.
    #[error(
        "the clock of this process is {offset_ns} ns from that of the kernel's programs: it runs in a time namespace \
         (see /proc/self/timens_offsets), so times of the application and of the kernel cannot be compared; fix: start it \
         outside of one"
    )]
    Clock {
        /// How far this process is ahead, in nanoseconds.
        offset_ns: i64,
    },
    /// The options contradict each other.
    #[error("{0}")]
    BadOptions(String),
    /// An error of the port's XDP program.
    #[error(transparent)]
    Xdp(#[from] XdpError),
    /// The port is not usable.
    #[error(transparent)]
    Iface(#[from] IfaceError),
    /// The namespace cannot be entered.
    #[error(transparent)]
    NetNs(#[from] NetNsError),
    /// libbpf or the kernel refused.
    #[error("{what}: {source}; fix: {}", system_fix(source))]
    Kernel {
        /// The action.
        what: String,
        /// The kernel's error.
        source: io::Error,
    },
}

/// The error for a trial.
impl From<StagesError> for NodeError {
    fn from(error: StagesError) -> NodeError {
        let text = error.to_string();
        match error {
            StagesError::Privilege { .. } => NodeError::Privilege(text),
            StagesError::Kernel { .. } => NodeError::Failed(text),
            _ => NodeError::BadTrial(text),
        }
    }
}

impl StagesError {
    /// The kernel's error while it tried `what`.
    pub(crate) fn kernel(what: impl Into<String>, source: io::Error) -> StagesError {
        let what = what.into();
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => StagesError::Privilege { what },
            _ => StagesError::Kernel { what, source },
        }
    }

    /// libbpf's error while it tried `what`.
    pub(crate) fn libbpf(what: impl Into<String>, error: &libbpf_rs::Error) -> StagesError {
        let source = match error.kind() {
            libbpf_rs::ErrorKind::PermissionDenied => io::Error::from_raw_os_error(libc::EPERM),
            _ => io::Error::other(error.to_string()),
        };
        StagesError::kernel(what, source)
    }
}
