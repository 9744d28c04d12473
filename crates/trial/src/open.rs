//! How a node is opened: the purpose of a command, and why there may be no node.

use std::path::PathBuf;

use crate::node::NodeError;
use crate::node_name::NameError;
use crate::words::words;

/// The path of frames through this host's kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Path {
    /// The fast path where it works, else the portable one.
    #[default]
    Auto,
    /// The fast path or nothing.
    Xdp,
    /// The portable path.
    Packet,
}

words!(Path, "path",
    "auto" => Path::Auto, "xdp" => Path::Xdp, "packet" => Path::Packet);

/// How frames between ports of this host are sent and received, beside what trials request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortsOptions {
    /// The path through the kernel.
    pub path: Path,
    /// How often a trial with buffers is repeated; its median and spread are the result.
    pub buffer_runs: u32,
    /// Whether to record the latency of timed frames.
    pub latency: bool,
}

impl Default for PortsOptions {
    fn default() -> PortsOptions {
        PortsOptions {
            path: Path::Auto,
            buffer_runs: 200,
            latency: true,
        }
    }
}

/// The purpose of opening a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// Trials of any kind.
    #[default]
    Trials,
    /// Only echoes: the node returns what it receives.
    Echoes,
    /// The stages inside the node.
    Stages {
        /// Use the node's own clock, even if it could count instructions.
        by_clock: bool,
        /// How the XDP program of a Linux node is attached: auto, native, generic or off.
        xdp: String,
    },
}

/// The console of a board, by which its test program is started, stopped and read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleOptions {
    /// The console: `serial:…`, `tcp:…`, `unix:…`, `ssh:…` or `exec:…`.
    pub console: String,
    /// The profile: its name or its file, with `,NAME=VALUE` after it.
    pub profile: String,
}

/// The options of a command for the node that it opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// The purpose.
    pub purpose: Purpose,
    /// Largest payload in bytes that will be sent, for the MTU of a lab that is made.
    pub payload: u32,
    /// Firmware in place of the node's own.
    pub image: Option<PathBuf>,
    /// Changes of a model, `PATH=VALUE` each; other types have nothing to change.
    pub set: Vec<String>,
    /// For frames between ports of this host.
    pub ports: PortsOptions,
    /// Whether the peer may be behind a router, or have a public address.
    pub routed: bool,
    /// The console of a board.
    pub console: Option<ConsoleOptions>,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            purpose: Purpose::Trials,
            payload: 1500,
            image: None,
            set: Vec::new(),
            ports: PortsOptions::default(),
            routed: false,
            console: None,
        }
    }
}

/// Why a node cannot be opened. Each text names the thing and the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// No node has that name.
    #[error("{0}")]
    Unknown(String),
    /// The name or an option is wrong, or they contradict each other.
    #[error("{0}")]
    Usage(String),
    /// A privilege is missing.
    #[error("{0}")]
    Privilege(String),
    /// The node exists, and did not start or does not answer.
    #[error("{0}")]
    Failed(String),
}

impl OpenError {
    /// A wrong name or option, from another error.
    pub fn usage(error: impl std::fmt::Display) -> OpenError {
        OpenError::Usage(error.to_string())
    }

    /// A node that did not start, from another error.
    pub fn failed(error: impl std::fmt::Display) -> OpenError {
        OpenError::Failed(error.to_string())
    }
}

impl From<NameError> for OpenError {
    fn from(error: NameError) -> OpenError {
        OpenError::usage(error)
    }
}

impl From<NodeError> for OpenError {
    fn from(error: NodeError) -> OpenError {
        let text = error.to_string();
        match error {
            NodeError::Unsupported(_) | NodeError::BadTrial(_) => OpenError::Usage(text),
            NodeError::Privilege(_) => OpenError::Privilege(text),
            NodeError::Failed(_) => OpenError::Failed(text),
        }
    }
}
