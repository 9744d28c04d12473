//! TAP devices: an interface whose other end is a file descriptor of this process.
//!
//! Frames that the kernel sends on the interface are read here, and frames written here are received on it. So an
//! emulated board or a simulated MAC gets a link to the kernel, and senders and checkers of [`crate::packet`] work on
//! the interface as on any other.

mod sys;

use std::io;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use wirelab_trial::system_error::system_fix;

use crate::iface::{Interface, Mac, PortName};
use crate::netns::{NetNsError, Privilege, PrivilegedWork};

/// Possible MTUs of a TAP device, in bytes: from the minimum of IPv4 (RFC 791) to 65,535 less an Ethernet header
/// (`tun_net_init` of Linux, drivers/net/tun.c).
pub const MTU_BYTES: RangeInclusive<u32> = 68..=65_521;

/// Start of the Ethernet address of the tester's end of an emulated board's TAP: 02:57:4C as in labs (locally
/// administered, "WL"), and a byte that no lab has.
pub const BOARD_MAC: [u8; 4] = [0x02, 0x57, 0x4C, 55];

/// Whether an interface is a TAP to an emulated board.
pub fn leads_to_board(interface: &Interface) -> bool {
    interface.driver.as_deref() == Some("tun") && interface.mac.0.starts_with(&BOARD_MAC)
}

/// The description of a TAP device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapSpec {
    /// Its name and its namespace.
    pub port: PortName,
    /// Its Ethernet address on the kernel's side; `None` for the kernel's choice.
    pub mac: Option<Mac>,
    /// Its MTU in bytes, one of [`MTU_BYTES`].
    pub mtu: u32,
    /// Its IPv4 address on the kernel's side, in a network of 24 bits.
    pub address: Option<Ipv4Addr>,
    /// Frames that may wait for the reader of the other end; `None` for the kernel's default. Further frames are
    /// dropped, and counted as the interface's transmit drops.
    pub queue_frames: Option<u32>,
}

impl TapSpec {
    /// A device with an MTU of 1500, the kernel's choice of Ethernet address and queue, and no IP address.
    pub fn new(port: PortName) -> TapSpec {
        TapSpec {
            port,
            mac: None,
            mtu: 1500,
            address: None,
            queue_frames: None,
        }
    }
}

/// A TAP device that is removed when this value is dropped.
#[derive(Debug)]
pub struct TapPort {
    port: PortName,
    device: sys::Device,
}

/// An error of a TAP device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TapError {
    /// The namespace cannot be entered.
    #[error(transparent)]
    NetNs(#[from] NetNsError),
    /// A capability is missing.
    #[error(transparent)]
    Privilege(#[from] Privilege),
    /// This host has no TAP devices.
    #[error(
        "/dev/net/tun cannot be opened: {0}; fix: load the driver with `sudo modprobe tun`, or pass the device to the container (`--device /dev/net/tun`)"
    )]
    NoDriver(io::Error),
    /// An interface of that name exists.
    #[error("{port} exists already and is in use; fix: choose another name, or remove it with `{}`", .port.ip_command(&format!("link del {}", .port.interface)))]
    Exists {
        /// The port.
        port: PortName,
    },
    /// The kernel refused a step of making it.
    #[error(
        "{port}: the kernel refused {what}: {source}; fix: {}",
        system_fix(source)
    )]
    Setup {
        /// The port.
        port: PortName,
        /// The step.
        what: &'static str,
        /// Its error.
        source: io::Error,
    },
}

impl TapError {
    /// Whether a missing capability is the reason.
    pub fn is_privilege(&self) -> bool {
        match self {
            TapError::Privilege(_) => true,
            TapError::NetNs(error) => error.is_privilege(),
            _ => false,
        }
    }
}

impl TapPort {
    /// Makes the device in its port's namespace and brings it up.
    ///
    /// # Errors
    /// [`TapError::NoDriver`], [`TapError::Exists`], [`TapError::Privilege`] (CAP_NET_ADMIN), and [`TapError::Setup`]
    /// with the kernel's error, e.g. for an MTU that it does not allow.
    pub fn create(spec: &TapSpec) -> Result<TapPort, TapError> {
        let port = &spec.port;
        let made = port.netns()?.run_in(|| sys::Device::create(spec))?;
        let device = made.map_err(|(what, source)| match source.raw_os_error() {
            Some(libc::EPERM) => Privilege::new(
                format!("to make the TAP device {port}"),
                PrivilegedWork::Interface,
            )
            .into(),
            Some(libc::EBUSY | libc::EEXIST) => TapError::Exists { port: port.clone() },
            _ if what == sys::OPENING => TapError::NoDriver(source),
            _ => TapError::Setup {
                port: port.clone(),
                what,
                source,
            },
        })?;
        Ok(TapPort {
            port: port.clone(),
            device,
        })
    }

    /// The interface on the kernel's side.
    pub fn port(&self) -> &PortName {
        &self.port
    }

    /// The next frame that the kernel sent (destination address first, without FCS), as its length in `buffer`;
    /// `None` if none arrived within `patience`. Without `patience` it waits forever. A frame longer than the buffer
    /// is cut.
    ///
    /// # Errors
    /// The kernel's error, e.g. that the interface was removed.
    pub fn read_frame(
        &self,
        buffer: &mut [u8],
        patience: Option<Duration>,
    ) -> io::Result<Option<usize>> {
        loop {
            match nix::unistd::read(self.device.as_fd(), buffer) {
                Ok(length) => return Ok(Some(length)),
                Err(Errno::EAGAIN) => {
                    if !self.wait(PollFlags::POLLIN, patience)? {
                        return Ok(None);
                    }
                }
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Let the interface receive a frame (destination address first, without FCS).
    ///
    /// # Errors
    /// The kernel's error, e.g. `EINVAL` for less than an Ethernet header and `EIO` for an interface that is down.
    pub fn write_frame(&self, frame: &[u8]) -> io::Result<()> {
        loop {
            match nix::unistd::write(self.device.as_fd(), frame) {
                Ok(_) => return Ok(()),
                Err(Errno::EAGAIN) => {
                    self.wait(PollFlags::POLLOUT, None)?;
                }
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn wait(&self, events: PollFlags, patience: Option<Duration>) -> io::Result<bool> {
        let timeout = match patience {
            None => PollTimeout::NONE,
            Some(time) => PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX),
        };
        match poll(&mut [PollFd::new(self.device.as_fd(), events)], timeout) {
            Ok(count) => Ok(count > 0),
            Err(Errno::EINTR) => Ok(true),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl AsFd for TapPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
