//! Attaching an XDP program to a port that has none.

use std::os::fd::BorrowedFd;

use super::sys::{self, XdpLink};
use crate::iface::{Interface, PortName};
use crate::xdp::XdpError;

/// Where a program is attached in the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// In the driver, before the kernel allocates a socket buffer for the frame.
    #[default]
    Native,
    /// After the driver, for drivers without native XDP. It is slower, because the frame was already copied.
    Generic,
}

/// `XDP_FLAGS_SKB_MODE` and `XDP_FLAGS_DRV_MODE` of linux/if_link.h.
const FLAGS_GENERIC: u32 = 1 << 1;
const FLAGS_NATIVE: u32 = 1 << 2;

/// Attach an XDP program to `port` by a link, which ends with its value and with the process. It never replaces
/// another program.
///
/// # Errors
/// [`XdpError::Occupied`] names the program that is attached; other variants name what is missing.
pub fn attach(port: &PortName, program: BorrowedFd<'_>, mode: Mode) -> Result<XdpLink, XdpError> {
    let interface = Interface::query(port)?;
    interface.require_up()?;
    let flags = match mode {
        Mode::Native => FLAGS_NATIVE,
        Mode::Generic => FLAGS_GENERIC,
    };
    let (there, link) = port.netns()?.run_in(|| {
        let there = sys::attached_program(interface.index);
        let free = there.is_none();
        (
            there,
            free.then(|| sys::attach(program, interface.index, flags)),
        )
    })?;
    let occupied = |id: u32| XdpError::Occupied {
        port: port.clone(),
        program: sys::program_name(id).unwrap_or_else(|| "unnamed".to_owned()),
        id,
    };
    match (there, link) {
        (Some(id), _) => Err(occupied(id)),
        (None, Some(Ok(link))) => Ok(link),
        // Another program was attached after the check above.
        (None, Some(Err(e))) if e.raw_os_error() == Some(libc::EBUSY) => Err(occupied(0)),
        // veth returns this error if a frame of its MTU does not fit a page.
        (None, Some(Err(e))) if e.raw_os_error() == Some(libc::ERANGE) => {
            Err(XdpError::Unsupported {
                what: "attaching an XDP program",
                why: format!(
                    "the MTU of {port} or its peer, {}, is too large for XDP",
                    interface.mtu
                ),
            })
        }
        (None, Some(Err(e))) => Err(XdpError::kernel("attaching an XDP program", e)),
        (None, None) => unreachable!("attached or not"),
    }
}

/// The name and id of the XDP program on a port, if there is one.
///
/// # Errors
/// [`XdpError::NetNs`] or [`XdpError::Iface`] if the port cannot be inspected.
pub fn program_on(port: &PortName) -> Result<Option<(String, u32)>, XdpError> {
    let interface = Interface::query(port)?;
    let id = port
        .netns()?
        .run_in(|| sys::attached_program(interface.index))?;
    Ok(id.map(|id| {
        (
            sys::program_name(id).unwrap_or_else(|| "unnamed".to_owned()),
            id,
        )
    }))
}
