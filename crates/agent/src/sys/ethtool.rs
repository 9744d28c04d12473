//! The ioctls of linux/ethtool.h that report how an interface is set up.
#![allow(unsafe_code)]

use std::io;
use std::mem;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// ioctl number of linux/sockios.h.
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// Commands of linux/ethtool.h.
const ETHTOOL_GCOALESCE: u32 = 0x0e;
const ETHTOOL_GRINGPARAM: u32 = 0x10;
const ETHTOOL_GRXCSUM: u32 = 0x14;
const ETHTOOL_GTXCSUM: u32 = 0x16;
const ETHTOOL_GSG: u32 = 0x18;
const ETHTOOL_GTSO: u32 = 0x1e;
const ETHTOOL_GGRO: u32 = 0x2b;

/// Words of `struct ethtool_coalesce`, and where `rx_coalesce_usecs` is.
const COALESCE_WORDS: usize = 23;
const RX_USECS: usize = 1;
/// Words of `struct ethtool_ringparam`, and where `rx_pending` and `tx_pending` are.
const RING_WORDS: usize = 9;
const RX_PENDING: usize = 5;
const TX_PENDING: usize = 8;

/// Descriptors in use.
#[derive(Clone, Copy, Debug)]
pub struct RingSizes {
    pub rx: u32,
    pub tx: u32,
}

/// Asks the driver of one interface, in the network namespace of the thread that opened it.
pub struct Ethtool {
    socket: UdpSocket,
    name: [libc::c_char; libc::IFNAMSIZ],
}

impl Ethtool {
    pub fn open(interface: &str) -> io::Result<Ethtool> {
        let mut name = [0; libc::IFNAMSIZ];
        // The last byte stays zero, as the kernel expects.
        if interface.len() >= name.len() {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        for (to, from) in name.iter_mut().zip(interface.bytes()) {
            *to = libc::c_char::from_ne_bytes([from]);
        }
        // The ioctl works on any socket; no datagram is sent on this one.
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        Ok(Ethtool { socket, name })
    }

    pub fn checksum_tx(&self) -> Option<bool> {
        self.flag(ETHTOOL_GTXCSUM)
    }
    pub fn checksum_rx(&self) -> Option<bool> {
        self.flag(ETHTOOL_GRXCSUM)
    }
    pub fn scatter_gather(&self) -> Option<bool> {
        self.flag(ETHTOOL_GSG)
    }
    pub fn segmentation_tx(&self) -> Option<bool> {
        self.flag(ETHTOOL_GTSO)
    }
    pub fn joining_rx(&self) -> Option<bool> {
        self.flag(ETHTOOL_GGRO)
    }
    pub fn ring(&self) -> Option<RingSizes> {
        let words: [u32; RING_WORDS] = self.ask(ETHTOOL_GRINGPARAM)?;
        let ring = RingSizes {
            rx: words[RX_PENDING],
            tx: words[TX_PENDING],
        };
        (ring.rx > 0 || ring.tx > 0).then_some(ring)
    }
    pub fn interrupt_pacing_us(&self) -> Option<u32> {
        let words: [u32; COALESCE_WORDS] = self.ask(ETHTOOL_GCOALESCE)?;
        Some(words[RX_USECS])
    }

    /// `struct ethtool_value`: command and reply.
    fn flag(&self, command: u32) -> Option<bool> {
        let words: [u32; 2] = self.ask(command)?;
        Some(words[1] != 0)
    }

    /// `N` must be the number of words of the command's structure; the callers above ensure that.
    fn ask<const N: usize>(&self, command: u32) -> Option<[u32; N]> {
        let mut words = [0; N];
        words[0] = command;
        // SAFETY: all-zero is a valid ifreq: an empty name, and a union of integers, bytes and a null pointer.
        let mut request: libc::ifreq = unsafe { mem::zeroed() };
        request.ifr_name = self.name;
        request.ifr_ifru.ifru_data = (&raw mut words).cast();
        // SAFETY: `request` outlives the call and points to `words`, which have the length of the command's
        // structure. The kernel writes only inside it.
        let result = unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
        (result >= 0).then_some(words)
    }
}
