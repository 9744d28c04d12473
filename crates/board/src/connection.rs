//! How a board is connected: by a TAP in a private lab, by a wire of Unix sockets, or not at all.

use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU8, Ordering};

use wirelab_port::iface::{Mac, PortName};
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_port::netns::NetNs;
use wirelab_port::tap::{BOARD_MAC, TapError, TapPort, TapSpec};
use wirelab_port::wire::UnixWire;

use crate::BoardError;
use crate::folder::Folder;
use crate::qemu::files;

/// The interface that leads to the board, in its namespace.
pub const TAP: &str = "tap0";
/// Frames that may queue for the board, 50 ms at 1500 bytes and 1 Gbit/s: a busy host may pause an emulator that long.
/// The kernel's default, 500, lasts 6 ms.
const QUEUE_FRAMES: u32 = 4_096;

/// The two ends of a board's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The board's Ethernet address, which holds its IPv4 address in its last four bytes.
    pub mac: Mac,
    /// The board's IPv4 address.
    pub ip: Ipv4Addr,
    /// The tester's Ethernet address.
    pub tester_mac: Mac,
    /// The tester's IPv4 address.
    pub tester_ip: Ipv4Addr,
}

impl Addresses {
    /// The next addresses in this process: bridged boards need different ones.
    pub fn next() -> Addresses {
        static NUMBER: AtomicU8 = AtomicU8::new(0);
        Addresses::of(NUMBER.fetch_add(1, Ordering::Relaxed))
    }

    /// The addresses of board number `n`.
    pub const fn of(n: u8) -> Addresses {
        let [a, b, c, d] = BOARD_MAC;
        Addresses {
            mac: Mac([0x02, 0, 10, 55, n, 2]),
            ip: Ipv4Addr::new(10, 55, n, 2),
            tester_mac: Mac([a, b, c, d, n, 1]),
            tester_ip: Ipv4Addr::new(10, 55, n, 1),
        }
    }
}

/// How to connect a board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connect {
    /// By a TAP where that is allowed, else by Unix sockets.
    #[default]
    Auto,
    /// By a TAP.
    Tap,
    /// By Unix sockets.
    Unix,
    /// Not connected, for work without traffic.
    Open,
}

/// The connection of a board.
#[derive(Debug)]
pub enum Connection {
    /// A TAP in a namespace, which is removed with this value.
    Tap {
        /// The namespaces.
        lab: EphemeralLab,
        /// The device's other end, until the emulator takes it.
        fd: Option<OwnedFd>,
    },
    /// Unix sockets.
    Unix {
        /// The tester's end.
        wire: Option<UnixWire>,
        /// Why it is not a TAP, where that was tried.
        instead: Option<String>,
    },
    /// Not connected.
    Open,
}

impl Connection {
    /// Makes the requested connection for a board.
    ///
    /// # Errors
    /// [`BoardError::Lab`], [`BoardError::Tap`], [`BoardError::Io`].
    pub fn make(
        connect: Connect,
        board: &str,
        addresses: &Addresses,
        folder: &Folder,
    ) -> Result<Connection, BoardError> {
        match connect {
            Connect::Open => Ok(Connection::Open),
            Connect::Unix => unix(folder, None),
            Connect::Tap => tap(board, addresses),
            Connect::Auto => match tap(board, addresses) {
                Err(error) if is_not_allowed(&error) => unix(folder, Some(error.to_string())),
                other => other,
            },
        }
    }

    /// The namespace that the board's TAP is in.
    ///
    /// # Errors
    /// [`BoardError::Lab`] if it is gone.
    pub fn namespace(&self) -> Result<Option<NetNs>, BoardError> {
        match self {
            Connection::Tap { lab, .. } => Ok(Some(lab.netns(Side::Tester)?)),
            _ => Ok(None),
        }
    }
}

impl Connection {
    /// Frames dropped before the board since its start, because its emulator did not take them in time; `None` where
    /// they are not counted.
    pub fn dropped_frames(&self) -> Option<u64> {
        let namespace = self.namespace().ok()??;
        let read = || std::fs::read_to_string("/proc/thread-self/net/dev");
        dropped(&namespace.run_in(read).ok()?.ok()?)
    }
}

/// The transmit drops of the TAP in /proc/net/dev: the fourth number of the second eight (proc(5)).
fn dropped(table: &str) -> Option<u64> {
    let numbers = table.lines().find_map(|line| {
        let (name, numbers) = line.split_once(':')?;
        (name.trim() == TAP).then_some(numbers)
    })?;
    numbers.split_whitespace().nth(8 + 3)?.parse().ok()
}

fn tap(board: &str, addresses: &Addresses) -> Result<Connection, BoardError> {
    let spec = LabSpec::unique(&format!("board-{board}"), 0);
    let lab = EphemeralLab::up(&spec)?;
    let namespace = spec.namespace(Side::Tester);
    let port = PortName::new(Some(&namespace), TAP).map_err(|e| BoardError::Io {
        what: format!("the name of {board}'s interface"),
        source: std::io::Error::other(e),
    })?;
    let tap = TapPort::create(&TapSpec {
        mac: Some(addresses.tester_mac),
        address: Some(addresses.tester_ip),
        queue_frames: Some(QUEUE_FRAMES),
        ..TapSpec::new(port)
    })?;
    let fd = tap.as_fd().try_clone_to_owned();
    let fd = fd.map_err(|source| BoardError::Io {
        what: format!("the interface of {board}"),
        source,
    })?;
    Ok(Connection::Tap { lab, fd: Some(fd) })
}

fn unix(folder: &Folder, instead: Option<String>) -> Result<Connection, BoardError> {
    let (own, other) = (
        folder.join(files::TESTER_WIRE),
        folder.join(files::BOARD_WIRE),
    );
    let wire = UnixWire::bind(&own, &other).map_err(|source| BoardError::Io {
        what: format!("the wire {}", own.display()),
        source,
    })?;
    Ok(Connection::Unix {
        wire: Some(wire),
        instead,
    })
}

/// Whether this user may not, or this host cannot, have a TAP.
fn is_not_allowed(error: &BoardError) -> bool {
    error.is_privilege() || matches!(error, BoardError::Tap(TapError::NoDriver(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_read_from_the_systems_table() {
        let table = "Inter-|   Receive                                                |  Transmit\n \
                     face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo\n\
                    \x20   lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
                    \x20 tap0: 100 2 0 0 0 0 0 0 900 7 0 8465 0 0 0 0\n";
        assert_eq!(dropped(table), Some(8465));
        assert_eq!(dropped("  tap0: 1 2"), None);
        assert_eq!(dropped(""), None);
    }

    #[test]
    fn the_ethernet_address_holds_the_ip_address() {
        for n in [0, 7, 255] {
            let of = Addresses::of(n);
            assert_eq!(of.mac.0[2..], of.ip.octets());
            assert_ne!(of.mac, of.tester_mac);
        }
        assert_ne!(Addresses::next(), Addresses::next());
    }
}
