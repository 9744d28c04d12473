//! Queries the generic netlink family `netdev` (linux/netdev.h, Linux 6.8 or newer) for the threads of an interface's
//! NAPIs. A kernel without the family gives `None`.

use std::os::fd::OwnedFd;

use nix::sys::socket::SockProtocol;

use crate::netlink::{self, NetlinkQuery, attribute, find, number16, number32};

/// linux/genetlink.h.
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
/// linux/netdev.h.
const NETDEV_CMD_NAPI_GET: u8 = 11;
const NETDEV_A_NAPI_IFINDEX: u16 = 1;
const NETDEV_A_NAPI_PID: u16 = 4;

/// Length of `struct genlmsghdr`.
const GENERIC: usize = 4;

/// The threads of the NAPIs of interface number `index` in the calling thread's namespace, as process numbers; `None`
/// if this kernel does not report them.
pub(super) fn napi_threads(index: u32) -> Option<Vec<i32>> {
    let socket = netlink::open(SockProtocol::NetlinkGeneric).ok()?;
    let name = attribute(CTRL_ATTR_FAMILY_NAME, b"netdev\0");
    let answer = ask(&socket, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, false, &name)?;
    let family = answer
        .iter()
        .find_map(|message| number16(find(message, CTRL_ATTR_FAMILY_ID)?))?;
    let which = attribute(NETDEV_A_NAPI_IFINDEX, &index.to_ne_bytes());
    let answer = ask(&socket, family, NETDEV_CMD_NAPI_GET, true, &which)?;
    Some(
        answer
            .iter()
            .filter_map(|message| number32(find(message, NETDEV_A_NAPI_PID)?))
            .filter_map(|pid| i32::try_from(pid).ok())
            .collect(),
    )
}

/// The attributes of each message of the reply; `None` for an error or a short reply.
fn ask(
    socket: &OwnedFd,
    family: u16,
    command: u8,
    all: bool,
    attributes: &[u8],
) -> Option<Vec<Vec<u8>>> {
    let head: [u8; GENERIC] = [command, 1, 0, 0];
    let request = NetlinkQuery {
        kind: family,
        all,
        head: &head,
        attributes,
    };
    let answer = request.ask(socket).ok()?;
    let attributes = |message: &Vec<u8>| message.get(GENERIC..).map(<[u8]>::to_vec);
    answer.iter().map(attributes).collect()
}
