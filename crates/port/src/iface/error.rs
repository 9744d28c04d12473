//! Errors of an interface, each with the fix.

use wirelab_trial::system_error::system_fix;

use super::PortName;
use crate::netns::{NetNsError, Privilege, known_names};

/// An error of an interface.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IfaceError {
    /// Its namespace cannot be opened or entered.
    #[error(transparent)]
    NetNs(#[from] NetNsError),
    /// A capability is missing.
    #[error(transparent)]
    Privilege(#[from] Privilege),
    /// No interface of that name.
    #[error("there is no interface '{port}'; fix: {}", known_names(.known))]
    Unknown {
        /// The requested port.
        port: PortName,
        /// The interfaces that exist in that namespace.
        known: Vec<String>,
    },
    /// It is down.
    #[error("{port} is down; fix: bring it up with `{}`", .port.ip_command(&format!("link set dev {} up", .port.interface)))]
    Down {
        /// The port.
        port: PortName,
    },
    /// It has no carrier.
    #[error(
        "{port} has no carrier: the other end does not answer; fix: check the cable, and that the other end is up (see `{}`)",
        .port.ip_command(&format!("link show dev {}", .port.interface))
    )]
    NoCarrier {
        /// The port.
        port: PortName,
    },
    /// Its MTU does not allow a length.
    #[error(
        "length {length} does not fit {port}, whose MTU is {mtu}; fix: set an MTU of {needed} with `{}`",
        .port.ip_command(&format!("link set dev {} mtu {needed}", .port.interface))
    )]
    MtuTooSmall {
        /// The port.
        port: PortName,
        /// The requested length in bytes, without FCS.
        length: u32,
        /// The MTU in bytes.
        mtu: u32,
        /// The MTU that this length needs.
        needed: u32,
    },
    /// Another run uses the port.
    #[error("{port} is in use by another run of wirelab ({holder}); fix: wait for it, or stop it")]
    InUse {
        /// The port.
        port: PortName,
        /// The other run, as far as known.
        holder: String,
    },
    /// The port's lock could not be taken for another reason.
    #[error(
        "the lock of {port} could not be taken: {source}; fix: {}",
        system_fix(source)
    )]
    Lock {
        /// The port.
        port: PortName,
        /// The system's error.
        source: std::io::Error,
    },
    /// The kernel did not answer a question about it.
    #[error(
        "the {what} of {port} could not be read: {source}; fix: {}",
        system_fix(source)
    )]
    Ask {
        /// The port.
        port: PortName,
        /// What was requested.
        what: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// The interfaces of a namespace could not be listed.
    #[error(
        "the interfaces of {namespace} could not be listed: {source}; fix: {}",
        system_fix(source)
    )]
    List {
        /// The namespace.
        namespace: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A feature could not be set.
    #[error(
        "{feature} of {interface} could not be set: {source}; fix: {}",
        system_fix(source)
    )]
    Feature {
        /// The interface.
        interface: String,
        /// The feature.
        feature: String,
        /// The system's error.
        source: std::io::Error,
    },
}
