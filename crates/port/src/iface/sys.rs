//! The ioctls that query an interface (netdevice(7), linux/ethtool.h), on a socket of its namespace.
#![allow(unsafe_code)]

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use super::IfaceError;
use crate::netns::NetNs;

/// Commands of linux/ethtool.h.
const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GLINK: u32 = 0x0a;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const ETHTOOL_GET_TS_INFO: u32 = 0x41;
const ETHTOOL_GLINKSETTINGS: u32 = 0x4c;

/// `SPEED_UNKNOWN` of linux/ethtool.h.
const SPEED_UNKNOWN: u32 = u32::MAX;

/// Most words that three link-mode masks can have: the count is a signed byte.
const MOST_MASK_WORDS: usize = 3 * 127;

/// Features that ethtool's one-value commands switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    TxChecksum,
    ScatterGather,
    Tso,
    Gso,
    Gro,
}

impl Feature {
    fn set_command(self) -> u32 {
        match self {
            Feature::TxChecksum => 0x17,
            Feature::ScatterGather => 0x19,
            Feature::Tso => 0x1f,
            Feature::Gso => 0x24,
            Feature::Gro => 0x2c,
        }
    }
}

/// Queues in use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channels {
    pub tx: u32,
    pub rx: u32,
}

/// A socket for queries; it belongs to the namespace in which it was opened.
pub(crate) struct ControlSocket(OwnedFd);

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

/// `struct ethtool_channels`.
#[repr(C)]
struct ChannelsInfo {
    command: u32,
    most: [u32; 4],
    rx: u32,
    tx: u32,
    other: u32,
    combined: u32,
}

/// `struct ethtool_link_settings` with space for its masks.
#[repr(C)]
struct LinkSettings {
    command: u32,
    speed: u32,
    bytes: [u8; 7],
    mask_words: i8,
    more: [u8; 4],
    reserved: [u32; 7],
    masks: [u32; MOST_MASK_WORDS],
}

/// `struct ethtool_ts_info`.
#[repr(C)]
struct TimestampInfo {
    command: u32,
    so_timestamping: u32,
    phc_index: i32,
    tx_types: u32,
    tx_reserved: [u32; 3],
    rx_filters: u32,
    rx_reserved: [u32; 3],
}

/// `struct hwtstamp_config` of linux/net_tstamp.h.
#[repr(C)]
#[derive(Default)]
struct TimestampConfig {
    flags: i32,
    tx_type: i32,
    rx_filter: i32,
}

/// What an interface can stamp (linux/ethtool.h), in the bits of linux/net_tstamp.h.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamping {
    pub so_timestamping: u32,
    pub phc_index: i32,
    pub tx_types: u32,
    pub rx_filters: u32,
}

impl ControlSocket {
    /// What the interface can stamp, as `ethtool -T` shows.
    pub(crate) fn stamping(&self, name: &str) -> Option<Stamping> {
        let mut info = TimestampInfo {
            command: ETHTOOL_GET_TS_INFO,
            so_timestamping: 0,
            phc_index: -1,
            tx_types: 0,
            tx_reserved: [0; 3],
            rx_filters: 0,
            rx_reserved: [0; 3],
        };
        self.ethtool(name, &mut info).ok()?;
        Some(Stamping {
            so_timestamping: info.so_timestamping,
            phc_index: info.phc_index,
            tx_types: info.tx_types,
            rx_filters: info.rx_filters,
        })
    }

    /// The present hardware timestamping: transmit type and receive filter.
    pub(crate) fn stamps_on(&self, name: &str) -> Option<(i32, i32)> {
        let mut config = TimestampConfig::default();
        self.with_data(name, SIOCGHWTSTAMP, &mut config).ok()?;
        Some((config.tx_type, config.rx_filter))
    }

    /// Sets transmit type and receive filter, which needs CAP_NET_ADMIN; returns the values that the driver chose.
    pub(crate) fn set_stamps(&self, name: &str, stamps: (i32, i32)) -> io::Result<(i32, i32)> {
        let mut config = TimestampConfig {
            flags: 0,
            tx_type: stamps.0,
            rx_filter: stamps.1,
        };
        self.with_data(name, SIOCSHWTSTAMP, &mut config)?;
        Ok((config.tx_type, config.rx_filter))
    }

    pub(crate) fn open(namespace: &NetNs) -> Result<ControlSocket, IfaceError> {
        let opened = namespace.run_in(|| {
            socket(
                AddressFamily::Inet,
                SockType::Datagram,
                SockFlag::SOCK_CLOEXEC,
                None,
            )
        })?;
        opened.map(ControlSocket).map_err(|errno| IfaceError::List {
            namespace: namespace.label(),
            source: errno.into(),
        })
    }

    pub(crate) fn index(&self, name: &str) -> io::Result<u32> {
        let request = self.ask(name, libc::SIOCGIFINDEX)?;
        // SAFETY: after SIOCGIFINDEX the kernel has filled this member, and any bits are a valid integer.
        Ok(unsafe { request.ifr_ifru.ifru_ifindex }.unsigned_abs())
    }

    pub(crate) fn flags(&self, name: &str) -> io::Result<i32> {
        let request = self.ask(name, libc::SIOCGIFFLAGS)?;
        // SAFETY: after SIOCGIFFLAGS the kernel has filled this member, and any bits are a valid integer.
        Ok(i32::from(unsafe { request.ifr_ifru.ifru_flags }))
    }

    pub(crate) fn mtu(&self, name: &str) -> io::Result<u32> {
        let request = self.ask(name, libc::SIOCGIFMTU)?;
        // SAFETY: after SIOCGIFMTU the kernel has filled this member, and any bits are a valid integer.
        Ok(unsafe { request.ifr_ifru.ifru_mtu }.unsigned_abs())
    }

    pub(crate) fn mac(&self, name: &str) -> io::Result<[u8; 6]> {
        let request = self.ask(name, libc::SIOCGIFHWADDR)?;
        // SAFETY: after SIOCGIFHWADDR the kernel has filled this member, and any bits are valid bytes.
        let data = unsafe { request.ifr_ifru.ifru_hwaddr }.sa_data;
        Ok(std::array::from_fn(|i| data[i].to_ne_bytes()[0]))
    }

    pub(crate) fn carrier(&self, name: &str) -> Option<bool> {
        let mut value = Value {
            command: ETHTOOL_GLINK,
            data: 0,
        };
        self.ethtool(name, &mut value).ok()?;
        Some(value.data != 0)
    }

    pub(crate) fn driver(&self, name: &str) -> Option<String> {
        let mut info = DriverInfo {
            command: ETHTOOL_GDRVINFO,
            driver: [0; 32],
            rest: [0; 160],
        };
        self.ethtool(name, &mut info).ok()?;
        let end = info
            .driver
            .iter()
            .position(|b| *b == 0)
            .unwrap_or(info.driver.len());
        let driver = String::from_utf8_lossy(&info.driver[..end]).into_owned();
        (!driver.is_empty()).then_some(driver)
    }

    /// bit/s as the driver reports; the caller decides whether the driver's value is valid.
    pub(crate) fn link_rate(&self, name: &str) -> Option<u64> {
        let mut settings = LinkSettings {
            command: ETHTOOL_GLINKSETTINGS,
            speed: 0,
            bytes: [0; 7],
            mask_words: 0,
            more: [0; 4],
            reserved: [0; 7],
            masks: [0; MOST_MASK_WORDS],
        };
        // The first call returns the number of mask words, negated; the second returns the settings.
        self.ethtool(name, &mut settings).ok()?;
        settings.mask_words = settings.mask_words.checked_neg()?;
        settings.command = ETHTOOL_GLINKSETTINGS;
        self.ethtool(name, &mut settings).ok()?;
        match settings.speed {
            0 | SPEED_UNKNOWN => None,
            megabits => Some(u64::from(megabits) * 1_000_000),
        }
    }

    pub(crate) fn channels(&self, name: &str) -> Option<Channels> {
        let mut info = ChannelsInfo {
            command: ETHTOOL_GCHANNELS,
            most: [0; 4],
            rx: 0,
            tx: 0,
            other: 0,
            combined: 0,
        };
        self.ethtool(name, &mut info).ok()?;
        Some(Channels {
            tx: info.tx.saturating_add(info.combined),
            rx: info.rx.saturating_add(info.combined),
        })
    }

    pub(crate) fn set_feature(&self, name: &str, feature: Feature, on: bool) -> io::Result<()> {
        let mut value = Value {
            command: feature.set_command(),
            data: on.into(),
        };
        self.ethtool(name, &mut value)
    }

    fn ask(&self, name: &str, command: libc::Ioctl) -> io::Result<libc::ifreq> {
        let mut request = request_for(name)?;
        // SAFETY: `request` is an initialised ifreq that outlives the call, and `command` reads and writes only an
        // ifreq.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), command, &raw mut request) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(request),
        }
    }

    /// `T` must be the structure of its command word; the callers above ensure that.
    fn ethtool<T>(&self, name: &str, argument: &mut T) -> io::Result<()> {
        self.with_data(name, SIOCETHTOOL, argument)
    }

    /// `T` must be the structure of this command; the callers above ensure that.
    fn with_data<T>(&self, name: &str, command: libc::Ioctl, argument: &mut T) -> io::Result<()> {
        let mut request = request_for(name)?;
        request.ifr_ifru.ifru_data = std::ptr::from_mut(argument).cast();
        // SAFETY: `request` outlives the call and points to `argument`, which is borrowed for it and is the structure
        // of the command. The kernel writes only inside it.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), command, &raw mut request) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

/// ioctl numbers of linux/sockios.h.
const SIOCETHTOOL: libc::Ioctl = 0x8946;
const SIOCSHWTSTAMP: libc::Ioctl = 0x89b0;
const SIOCGHWTSTAMP: libc::Ioctl = 0x89b1;

fn request_for(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all-zero is a valid ifreq: an empty name, and a union of integers, bytes and a null pointer.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    // The last byte stays zero, as the kernel expects.
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    Ok(request)
}
