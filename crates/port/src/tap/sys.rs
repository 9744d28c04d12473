//! The ioctls that make a TAP device (linux/if_tun.h, netdevice(7)).
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::mem;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use super::TapSpec;

/// Name of the first step of [`Device::create`].
pub(super) const OPENING: &str = "the driver";

/// The mask of a network of 24 bits.
const MASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 0);

/// The open device; closing it removes the interface.
#[derive(Debug)]
pub(super) struct Device(File);

impl Device {
    /// Makes the device in the namespace of the calling thread; an error names the step that failed.
    pub(super) fn create(spec: &TapSpec) -> Result<Device, (&'static str, io::Error)> {
        let step = |what| move |error| (what, error);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")
            .map_err(step(OPENING))?;
        let mut request = named(&spec.port.interface);
        // Frames without a packet header; an existing device is not opened.
        request.ifr_ifru.ifru_flags =
            (libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_TUN_EXCL) as libc::c_short;
        ask(&file, libc::TUNSETIFF, &mut request).map_err(step("the device"))?;
        let control = socket(
            AddressFamily::Inet,
            SockType::Datagram,
            SockFlag::SOCK_CLOEXEC,
            None,
        )
        .map_err(|errno| ("a socket", errno.into()))?;
        if let Some(mac) = spec.mac {
            let mut request = named(&spec.port.interface);
            // SAFETY: all zeros is a valid address.
            let mut address: libc::sockaddr = unsafe { mem::zeroed() };
            address.sa_family = libc::ARPHRD_ETHER;
            for (to, from) in address.sa_data.iter_mut().zip(mac.0) {
                *to = from as libc::c_char;
            }
            request.ifr_ifru.ifru_hwaddr = address;
            ask(&control, libc::SIOCSIFHWADDR, &mut request).map_err(step("the address"))?;
        }
        let mut request = named(&spec.port.interface);
        request.ifr_ifru.ifru_mtu = i32::try_from(spec.mtu).unwrap_or(i32::MAX);
        ask(&control, libc::SIOCSIFMTU, &mut request).map_err(step("the MTU"))?;
        if let Some(frames) = spec.queue_frames {
            let mut request = named(&spec.port.interface);
            request.ifr_ifru.ifru_metric = i32::try_from(frames).unwrap_or(i32::MAX);
            ask(&control, libc::SIOCSIFTXQLEN, &mut request).map_err(step("the queue"))?;
        }
        if let Some(address) = spec.address {
            let mut request = named(&spec.port.interface);
            request.ifr_ifru.ifru_addr = internet(address);
            ask(&control, libc::SIOCSIFADDR, &mut request).map_err(step("the IP address"))?;
            let mut request = named(&spec.port.interface);
            request.ifr_ifru.ifru_netmask = internet(MASK);
            ask(&control, libc::SIOCSIFNETMASK, &mut request).map_err(step("the network"))?;
        }
        let mut request = named(&spec.port.interface);
        ask(&control, libc::SIOCGIFFLAGS, &mut request).map_err(step("reading its flags"))?;
        // SAFETY: SIOCGIFFLAGS has written this field.
        let flags = unsafe { request.ifr_ifru.ifru_flags };
        request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as libc::c_short;
        ask(&control, libc::SIOCSIFFLAGS, &mut request).map_err(step("bringing it up"))?;
        Ok(Device(file))
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A request about an interface; `PortName` guarantees that the name fits.
fn named(interface: &str) -> libc::ifreq {
    // SAFETY: all zeros is a valid request.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name[..room].iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request
}

/// An IPv4 address as a request holds it (ip(7): port, then address in network order).
fn internet(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: all zeros is a valid address.
    let mut out: libc::sockaddr = unsafe { mem::zeroed() };
    out.sa_family = libc::AF_INET as libc::sa_family_t;
    for (to, from) in out.sa_data[2..6].iter_mut().zip(address.octets()) {
        *to = from as libc::c_char;
    }
    out
}

fn ask(file: &impl AsRawFd, command: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: the command takes an `ifreq`, which outlives the call and ends with a zero byte.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), command, &raw mut *request) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
