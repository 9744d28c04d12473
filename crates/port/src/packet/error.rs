//! Errors of the portable path, each with the fix.

use std::io;

use wirelab_trial::system_error::system_fix;
use wirelab_trial::{NodeError, Unsupported};

use crate::iface::{IfaceError, PortName};
use crate::job::SendReport;
use crate::netns::{NetNsError, Privilege, PrivilegedWork};

/// An error of the portable path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PacketError {
    /// The interface is unknown, down, without carrier, or its MTU is too small.
    #[error(transparent)]
    Iface(#[from] IfaceError),
    /// The port's namespace cannot be entered.
    #[error(transparent)]
    NetNs(#[from] NetNsError),
    /// A capability is missing.
    #[error(transparent)]
    Privilege(#[from] Privilege),
    /// The portable path does not support the request.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The kernel refused to set up the socket.
    #[error(
        "{port}: the kernel refused {what}: {source}; fix: {}",
        system_fix(source)
    )]
    Setup {
        /// The port.
        port: PortName,
        /// The setting.
        what: &'static str,
        /// Its error.
        source: io::Error,
    },
    /// Even the smallest ring is not available.
    #[error(
        "{port}: no memory for a ring of {bytes} bytes: {source}; fix: stop other captures, or raise the memory limit of this process or container"
    )]
    NoMemory {
        /// The port.
        port: PortName,
        /// The smallest size tried.
        bytes: usize,
        /// The kernel's error.
        source: io::Error,
    },
    /// A run ended early by an error; what was done until then is kept.
    #[error("{port}: sending broke off after {} frames: {source}; fix: {}", partial.emitted_frames, fix(source, port))]
    Broken {
        /// The port.
        port: PortName,
        /// The kernel's error.
        source: io::Error,
        /// The report until then.
        partial: Box<SendReport>,
    },
    /// The thread of a sender or checker died.
    #[error("{port}: the {what} died, and its results are lost; fix: run it again")]
    Died {
        /// The port.
        port: PortName,
        /// Name of the thread.
        what: &'static str,
    },
}

fn fix(source: &io::Error, port: &PortName) -> String {
    let command = |rest: &str| format!("`{}`", port.ip_command(rest));
    match source.raw_os_error() {
        Some(libc::ENETDOWN) => command(&format!("link set dev {} up", port.interface)),
        Some(libc::ENOBUFS | libc::EAGAIN) => format!(
            "check what holds its queue, `{}`, and whether the other end is up",
            port.command("tc", &format!("-s qdisc show dev {}", port.interface))
        ),
        _ => system_fix(source).to_owned(),
    }
}

impl PacketError {
    /// A set-up error, by the kernel's reason.
    pub(super) fn setup(port: &PortName, what: &'static str, source: io::Error) -> PacketError {
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => Privilege::new(
                format!("to open a packet socket on {port}"),
                PrivilegedWork::Packet,
            )
            .into(),
            _ => PacketError::Setup {
                port: port.clone(),
                what,
                source,
            },
        }
    }
}

impl From<PacketError> for NodeError {
    fn from(error: PacketError) -> NodeError {
        match error {
            PacketError::Unsupported(unsupported) => NodeError::Unsupported(unsupported),
            PacketError::Privilege(_) => NodeError::Privilege(error.to_string()),
            _ => NodeError::Failed(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port() -> PortName {
        "lab-node/n0".parse().unwrap()
    }

    #[test]
    fn a_missing_capability_is_named_with_the_fix() {
        let error = PacketError::setup(
            &port(),
            "a socket",
            io::Error::from_raw_os_error(libc::EPERM),
        );
        let text = error.to_string();
        assert!(text.contains("CAP_NET_RAW"), "{text}");
        assert!(matches!(NodeError::from(error), NodeError::Privilege(_)));
    }

    #[test]
    fn a_broken_run_says_how_far_it_came_and_what_to_do() {
        let error = PacketError::Broken {
            port: port(),
            source: io::Error::from_raw_os_error(libc::ENETDOWN),
            partial: Box::new(SendReport {
                emitted_frames: 7,
                ..SendReport::default()
            }),
        };
        let text = error.to_string();
        assert!(text.contains("after 7 frames"), "{text}");
        assert!(
            text.contains("`sudo ip -n lab-node link set dev n0 up`"),
            "{text}"
        );
    }
}
