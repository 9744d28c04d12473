//! What can go wrong when one looks into a node, in words that name the thing and the fix.

use std::io;
use std::path::PathBuf;

use wirelab_port::iface::IfaceError;
use wirelab_port::netns::{NetNsError, Work};
use wirelab_port::xdp::XdpError;
use wirelab_trial::NodeError;

/// Why points could not be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StagesError {
    /// A privilege is missing.
    #[error("{}", wirelab_port::netns::Privilege::new(format!("for {what}"), Work::Stages))]
    Privilege {
        /// What was tried.
        what: String,
    },
    /// The host does not let programs trace its kernel in this way, though they have the privilege.
    #[error("{what}: this host refuses it ({why}); {way_out}")]
    Refused {
        /// What was tried.
        what: String,
        /// What the kernel said.
        why: String,
        /// What works instead.
        way_out: &'static str,
    },
    /// The kernel's types are needed to find the fields of its structures.
    #[error(
        "no description of the kernel's types (BTF) at {path}: {why}; boot a kernel built with CONFIG_DEBUG_INFO_BTF, \
         or name a file that was made for this kernel"
    )]
    Btf {
        /// Where it was looked for.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The clock of the kernel's programs is not that of this process.
    #[error(
        "the clock of this process is {offset_ns} ns from that of the kernel's programs: it runs in a time namespace \
         (see /proc/self/timens_offsets), so that times of the application and of the kernel cannot be joined; start it \
         outside of one"
    )]
    Clock {
        /// How far this process is ahead, in nanoseconds.
        offset_ns: i64,
    },
    /// What was asked contradicts itself.
    #[error("{0}")]
    BadOptions(String),
    /// The XDP program of the port.
    #[error(transparent)]
    Xdp(#[from] XdpError),
    /// The port is not usable.
    #[error(transparent)]
    Iface(#[from] IfaceError),
    /// The namespace cannot be entered.
    #[error(transparent)]
    NetNs(#[from] NetNsError),
    /// libbpf or the kernel refused.
    #[error("{what}: {source}")]
    Kernel {
        /// What was tried.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
}

/// What it means for a trial.
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
    /// What the kernel said while `what` was tried.
    pub(crate) fn kernel(what: impl Into<String>, source: io::Error) -> StagesError {
        let what = what.into();
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => StagesError::Privilege { what },
            _ => StagesError::Kernel { what, source },
        }
    }

    /// What libbpf said while `what` was tried.
    pub(crate) fn libbpf(what: impl Into<String>, error: &libbpf_rs::Error) -> StagesError {
        let source = match error.kind() {
            libbpf_rs::ErrorKind::PermissionDenied => io::Error::from_raw_os_error(libc::EPERM),
            _ => io::Error::other(error.to_string()),
        };
        StagesError::kernel(what, source)
    }
}
