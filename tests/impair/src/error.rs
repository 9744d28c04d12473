//! Errors of the start of an impairer.

use wirelab_port::iface::{IfaceError, PortName};
use wirelab_port::netns::{NetNsError, Privilege};

/// An error of the impairer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImpairError {
    /// The request is impossible.
    #[error("impairment '{field}': {why}")]
    Spec {
        /// The field.
        field: &'static str,
        /// What is wrong and what is allowed.
        why: String,
    },
    /// A capability is missing.
    #[error(transparent)]
    Privilege(#[from] Privilege),
    /// An error of a namespace.
    #[error(transparent)]
    NetNs(#[from] NetNsError),
    /// An error of a port.
    #[error(transparent)]
    Iface(#[from] IfaceError),
    /// A raw socket could not be opened.
    #[error("a raw socket on {port} could not be opened: {what}: {source}")]
    Socket {
        /// The port.
        port: PortName,
        /// The step that failed.
        what: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// A thread could not be started.
    #[error("a thread for the impairer could not be started: {0}")]
    Thread(std::io::Error),
}
