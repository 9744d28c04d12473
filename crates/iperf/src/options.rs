//! Options of each socket of a test: where it is bound, and what is set on it.
//!
//! Both generations make their sockets with it, so each option has the same meaning in both.

use std::fs::read_to_string;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};

use nix::sys::socket::{SockaddrStorage, bind, setsockopt, sockopt};

mod name;
mod tos;

pub use name::{Name, NameError};
pub use tos::{TosError, parse_dscp, parse_tos};

/// The congestion control algorithms that this system has loaded.
const ALGORITHMS: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Options of each socket of a test; all unset by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Address that a client sends from (`-B`); by default that of the route.
    pub address: Option<IpAddr>,
    /// Port that a client's first stream sends from (`-B ADDRESS:PORT`, `--cport`), with the next ports for further
    /// streams; 0 for any.
    pub port: u16,
    /// Interface for all traffic (`-B ADDRESS%DEVICE`).
    pub device: Option<Name>,
    /// Largest TCP segment in bytes (`-M`).
    pub mss_bytes: Option<u32>,
    /// Whether TCP sends short segments immediately (`-N`).
    pub no_delay: bool,
    /// The type of service of sent packets (`-S`): the byte of the IP header, DSCP in its upper six bits.
    pub tos: Option<u8>,
    /// TCP's congestion control (`-Z`, in iperf3 `-C`).
    pub congestion: Option<Name>,
}

/// An option that the system refuses.
#[derive(Debug, thiserror::Error)]
#[error("this system refuses {option} {value}: {source}; fix: {fix}")]
pub struct RefusedOption {
    /// The option.
    pub option: &'static str,
    /// Its requested value.
    pub value: String,
    /// The reason.
    pub source: io::Error,
    fix: String,
}

impl SocketOptions {
    /// All unset.
    pub const NONE: SocketOptions = SocketOptions {
        address: None,
        port: 0,
        device: None,
        mss_bytes: None,
        no_delay: false,
        tos: None,
        congestion: None,
    };

    /// Sets the options of a TCP socket before it is bound, connected or listens.
    ///
    /// # Errors
    /// [`RefusedOption`] for the first option that the system refuses.
    pub(crate) fn apply_stream(&self, socket: &impl AsFd, ipv6: bool) -> Result<(), RefusedOption> {
        if let Some(bytes) = self.mss_bytes {
            let set = setsockopt(socket, sockopt::TcpMaxSeg, &bytes);
            refused("--mss", bytes, set, || "give 88 to 32767 bytes".to_owned())?;
        }
        if self.no_delay {
            let set = setsockopt(socket, sockopt::TcpNoDelay, &true);
            refused("--no-delay", "", set, || "leave it out".to_owned())?;
        }
        if let Some(algorithm) = self.congestion {
            let set = setsockopt(socket, sockopt::TcpCongestion, &algorithm.as_str().into());
            refused("--congestion", algorithm, set, other_algorithms)?;
        }
        self.apply_datagram(socket, ipv6)
    }

    /// Sets the options of a UDP socket, before it is bound.
    ///
    /// # Errors
    /// [`RefusedOption`] for the first option that the system refuses.
    pub(crate) fn apply_datagram(
        &self,
        socket: &impl AsFd,
        ipv6: bool,
    ) -> Result<(), RefusedOption> {
        if let Some(device) = self.device {
            let set = setsockopt(socket, sockopt::BindToDevice, &device.as_str().into());
            refused("the interface", device, set, || {
                "name an interface of this host (ip link), or leave it out".to_owned()
            })?;
        }
        match self.tos {
            Some(tos) => set_tos(socket, ipv6, tos),
            None => Ok(()),
        }
    }

    /// Binds the socket of a client's stream number `index` (from 0) towards `peer`, where an address or a port is
    /// chosen; else the system chooses.
    ///
    /// # Errors
    /// [`RefusedOption`] where the address or the port is not available.
    pub(crate) fn bind_client(
        &self,
        socket: &impl AsFd,
        peer: SocketAddr,
        index: u32,
    ) -> Result<(), RefusedOption> {
        if self.address.is_none() && self.port == 0 {
            return Ok(());
        }
        let local = self.local(peer, index)?;
        let fd = socket.as_fd().as_raw_fd();
        let set = bind(fd, &SockaddrStorage::from(local));
        refused("--bind", local, set, || {
            "give an address of this host (ip address), of the family of the server's, and a port that is free"
                .to_owned()
        })
    }

    /// The address to bind stream number `index` (from 0) to, towards `peer`.
    fn local(&self, peer: SocketAddr, index: u32) -> Result<SocketAddr, RefusedOption> {
        let any = match peer {
            SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
        };
        let port = match self.port {
            0 => Ok(0),
            first => u16::try_from(u32::from(first).saturating_add(index)),
        };
        let port = port.map_err(|_| RefusedOption {
            option: "the port of --bind",
            value: self.port.to_string(),
            source: io::Error::other("each stream takes a port, and these end at 65535"),
            fix: "give a lower one".to_owned(),
        })?;
        Ok(SocketAddr::new(self.address.unwrap_or(any), port))
    }
}

/// Sets the type of service of sent packets; an IPv6 socket that also carries IPv4 needs it for both headers.
///
/// # Errors
/// [`RefusedOption`] where the system refuses it.
pub(crate) fn set_tos(socket: &impl AsFd, ipv6: bool, tos: u8) -> Result<(), RefusedOption> {
    let value = i32::from(tos);
    let of_ipv4 = setsockopt(socket, sockopt::Ipv4Tos, &value);
    let set = match ipv6 {
        true => setsockopt(socket, sockopt::Ipv6TClass, &value),
        false => of_ipv4,
    };
    refused("--tos", format_args!("{tos:#04x}"), set, || {
        "give another one, or leave it out".to_owned()
    })
}

fn refused(
    option: &'static str,
    value: impl std::fmt::Display,
    result: nix::Result<()>,
    fix: impl FnOnce() -> String,
) -> Result<(), RefusedOption> {
    result.map_err(|error| RefusedOption {
        option,
        value: value.to_string(),
        source: error.into(),
        fix: fix(),
    })
}

/// Whether the system has a congestion control algorithm without loading a module; `true` where that is unknown.
pub(crate) fn is_at_hand(algorithm: &Name) -> bool {
    read_to_string(ALGORITHMS).map_or(true, |known| {
        known
            .split_whitespace()
            .any(|name| name == algorithm.as_str())
    })
}

fn other_algorithms() -> String {
    match read_to_string(ALGORITHMS) {
        Ok(known) => format!(
            "this system has {}; load another as root (modprobe tcp_NAME)",
            known.trim()
        ),
        Err(_) => "leave it out".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use nix::sys::socket::getsockopt;

    use super::*;

    fn name(text: &str) -> Option<Name> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn the_system_has_what_was_chosen() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let chosen = SocketOptions {
            mss_bytes: Some(1000),
            no_delay: true,
            tos: Some(0xb8),
            congestion: name("reno"),
            device: name("lo"),
            ..SocketOptions::NONE
        };
        chosen.apply_stream(&socket, false).unwrap();
        assert_eq!(getsockopt(&socket, sockopt::TcpMaxSeg), Ok(1000));
        assert_eq!(getsockopt(&socket, sockopt::TcpNoDelay), Ok(true));
        assert_eq!(getsockopt(&socket, sockopt::Ipv4Tos), Ok(0xb8));
        let algorithm = getsockopt(&socket, sockopt::TcpCongestion).unwrap();
        assert!(algorithm.to_str().unwrap().starts_with("reno"));
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        chosen.apply_datagram(&datagrams, false).unwrap();
        assert_eq!(getsockopt(&datagrams, sockopt::Ipv4Tos), Ok(0xb8));
    }

    #[test]
    fn what_the_system_refuses_is_named_with_a_fix() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let said =
            |chosen: SocketOptions| chosen.apply_stream(&socket, false).unwrap_err().to_string();
        let error = said(SocketOptions {
            mss_bytes: Some(20),
            ..SocketOptions::NONE
        });
        assert!(
            error.starts_with("this system refuses --mss 20: "),
            "{error}"
        );
        assert!(error.ends_with("fix: give 88 to 32767 bytes"), "{error}");
        let error = said(SocketOptions {
            congestion: name("nonesuch"),
            ..SocketOptions::NONE
        });
        assert!(error.contains("--congestion nonesuch: "), "{error}");
        assert!(error.contains("fix: this system has "), "{error}");
        let error = said(SocketOptions {
            device: name("nonesuch"),
            ..SocketOptions::NONE
        });
        assert!(
            error.contains("the interface nonesuch: No such device"),
            "{error}"
        );
    }

    #[test]
    fn each_stream_has_its_own_port() {
        let chosen = SocketOptions {
            port: 65_534,
            ..SocketOptions::NONE
        };
        let peer = SocketAddr::from(([127, 0, 0, 1], 5001));
        assert_eq!(chosen.local(peer, 1).unwrap().to_string(), "0.0.0.0:65535");
        let error = chosen.local(peer, 2).unwrap_err().to_string();
        assert!(error.contains("end at 65535; fix: give a lower"), "{error}");
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let elsewhere = SocketOptions {
            address: Some([203, 0, 113, 9].into()),
            ..SocketOptions::NONE
        };
        let error = elsewhere.bind_client(&socket, peer, 0).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("refuses --bind 203.0.113.9:0: "), "{error}");
    }
}
