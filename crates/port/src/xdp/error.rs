//! Errors of the fast path, each with the fix.

use std::io;

use crate::iface::{IfaceError, PortName};
use crate::netns::{NetNsError, Privilege, PrivilegedWork, lacks};

/// Why the fast path did not work.
#[derive(Debug, thiserror::Error)]
pub enum XdpError {
    /// A privilege is missing.
    #[error("{}, or use the slower path with --path packet", Privilege::new(format!("for {what}"), PrivilegedWork::Xdp))]
    Privilege {
        /// The action.
        what: &'static str,
    },
    /// The kernel does not support it.
    #[error("{what}: {why}; fix: use the slower path, --path packet")]
    Unsupported {
        /// The action.
        what: &'static str,
        /// Why it does not work here.
        why: String,
    },
    /// Another XDP program is on the port.
    #[error(
        "{port} has an XDP program already ({program}, id {id}), and wirelab does not replace it; fix: end its owner, \
         detach it with `{}`, or choose another port",
        .port.ip_command(&format!("link set dev {} xdp off", .port.interface))
    )]
    Occupied {
        /// The port.
        port: PortName,
        /// Name of the other program.
        program: String,
        /// Its id.
        id: u32,
    },
    /// A frame does not fit the page of a live frame.
    #[error(
        "frames of length {length} are longer than the fast path's {max} bytes; fix: --path packet"
    )]
    TooLong {
        /// The requested length.
        length: u32,
        /// The maximum.
        max: u32,
    },
    /// The driver took none of the frames.
    #[error(
        "no frame left {port}: its driver refused all {frames} ({source}); a veth takes XDP frames only if its other \
         end has an XDP program or GRO; fix: --path packet"
    )]
    NothingLeft {
        /// The sending port.
        port: PortName,
        /// Frames that were handed to the driver.
        frames: u64,
        /// The driver's error.
        source: io::Error,
    },
    /// The job contradicts itself.
    #[error("{0}")]
    BadJob(String),
    /// The port is not usable.
    #[error(transparent)]
    Iface(#[from] IfaceError),
    /// The namespace cannot be entered.
    #[error(transparent)]
    NetNs(#[from] NetNsError),
    /// libbpf or the kernel refused.
    #[error(
        "{what}: {source}; fix: see the kernel's log (`sudo dmesg`), or use the slower path, --path packet"
    )]
    Kernel {
        /// The action.
        what: String,
        /// The kernel's error.
        source: io::Error,
    },
}

impl XdpError {
    /// The kernel's error while it tried `what`, by its number.
    pub fn kernel(what: &'static str, source: io::Error) -> XdpError {
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => XdpError::Privilege { what },
            // 524 is ENOTSUPP, which the kernel returns and the C library does not define.
            Some(libc::ENOSYS | libc::EOPNOTSUPP | 524) => XdpError::Unsupported {
                what,
                why: source.to_string(),
            },
            _ => XdpError::Kernel {
                what: what.to_owned(),
                source,
            },
        }
    }

    /// libbpf's error while it tried `what`, by its kind.
    pub fn libbpf(what: &'static str, error: libbpf_rs::Error) -> XdpError {
        let errno = match error.kind() {
            libbpf_rs::ErrorKind::PermissionDenied => Some(libc::EPERM),
            // The kernel's verifier reports some missing privileges in this way.
            libbpf_rs::ErrorKind::InvalidInput if lacks(PrivilegedWork::Xdp) => Some(libc::EPERM),
            libbpf_rs::ErrorKind::Unsupported => Some(libc::EOPNOTSUPP),
            _ => None,
        };
        match errno {
            Some(errno) => XdpError::kernel(what, io::Error::from_raw_os_error(errno)),
            None => XdpError::Kernel {
                what: what.to_owned(),
                source: io::Error::other(error.to_string()),
            },
        }
    }
}
