//! Asks the generic netlink family `netdev` (linux/netdev.h, Linux 6.8 or newer) for the threads of an
//! interface's NAPIs. Messages are bounded and read field by field; a kernel without the family gives `None`.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, setsockopt, socket,
    sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};

/// linux/netlink.h and linux/genetlink.h.
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
/// linux/netdev.h.
const NETDEV_CMD_NAPI_GET: u8 = 11;
const NETDEV_A_NAPI_IFINDEX: u16 = 1;
const NETDEV_A_NAPI_PID: u16 = 4;

/// Length of `struct nlmsghdr` and of `struct genlmsghdr`.
const HEADER: usize = 16;
const GENERIC: usize = 4;

/// Most datagrams of an answer: an interface has at most some thousand queues, and a datagram holds many.
const MOST_DATAGRAMS: usize = 1024;

/// The threads of the NAPIs of interface number `index` in the calling thread's namespace, as process numbers;
/// `None` if this kernel does not say.
pub(super) fn napi_threads(index: u32) -> Option<Vec<i32>> {
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkGeneric,
    )
    .ok()?;
    setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::seconds(2)).ok()?;
    let name = attribute(CTRL_ATTR_FAMILY_NAME, b"netdev\0");
    let answer = ask(&socket, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0, &name)?;
    let family = answer
        .iter()
        .find_map(|message| number16(find(message, CTRL_ATTR_FAMILY_ID)?))?;
    let which = attribute(NETDEV_A_NAPI_IFINDEX, &index.to_ne_bytes());
    let answer = ask(&socket, family, NETDEV_CMD_NAPI_GET, NLM_F_DUMP, &which)?;
    Some(
        answer
            .iter()
            .filter_map(|message| number32(find(message, NETDEV_A_NAPI_PID)?))
            .filter_map(|pid| i32::try_from(pid).ok())
            .collect(),
    )
}

/// Sends a request and returns the attributes of each message of the answer; `None` for an error.
fn ask(
    socket: &OwnedFd,
    family: u16,
    command: u8,
    flags: u16,
    attributes: &[u8],
) -> Option<Vec<Vec<u8>>> {
    let length = u32::try_from(HEADER + GENERIC + attributes.len()).ok()?;
    let mut request = Vec::new();
    request.extend(length.to_ne_bytes());
    request.extend(family.to_ne_bytes());
    request.extend((NLM_F_REQUEST | flags).to_ne_bytes());
    // Sequence and port: one request is under way at a time, and the kernel fills in the port.
    request.extend([0; 8]);
    request.extend([command, 1, 0, 0]);
    request.extend(attributes);
    send(socket.as_raw_fd(), &request, MsgFlags::empty()).ok()?;
    let mut all = Vec::new();
    let mut buffer = vec![0; 65_536];
    for _ in 0..MOST_DATAGRAMS {
        let size = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty()).ok()?;
        match messages(buffer.get(..size)?, &mut all)? {
            Answer::Complete => return Some(all),
            Answer::More if flags & NLM_F_DUMP == 0 => return Some(all),
            Answer::More => {}
        }
    }
    None
}

enum Answer {
    Complete,
    More,
}

/// Takes one datagram apart and appends the attributes of its messages; `None` for an error or a short one.
fn messages(mut datagram: &[u8], all: &mut Vec<Vec<u8>>) -> Option<Answer> {
    while datagram.len() >= HEADER {
        let length = number32(&datagram[..4])? as usize;
        let kind = number16(&datagram[4..6])?;
        let message = datagram.get(HEADER..length)?;
        match kind {
            NLMSG_DONE => return Some(Answer::Complete),
            NLMSG_ERROR => return None,
            _ => all.push(message.get(GENERIC..)?.to_vec()),
        }
        datagram = datagram
            .get(length.next_multiple_of(4)..)
            .unwrap_or_default();
    }
    Some(Answer::More)
}

/// The value of the first attribute of this type.
fn find(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    while attributes.len() >= 4 {
        let length = usize::from(number16(&attributes[..2])?);
        let kind = number16(&attributes[2..4])?;
        let value = attributes.get(4..length)?;
        if kind == wanted {
            return Some(value);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let mut bytes = Vec::with_capacity(length + 3);
    bytes.extend((length as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(length.next_multiple_of(4), 0);
    bytes
}

fn number16(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?))
}

fn number32(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn attributes_are_found_behind_others() {
        let mut bytes = attribute(1, b"odd");
        bytes.extend(attribute(4, &7u32.to_ne_bytes()));
        assert_eq!(find(&bytes, 4).and_then(number32), Some(7));
        assert_eq!(find(&bytes, 5), None);
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic_or_hang(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut all = Vec::new();
            let _ = messages(&bytes, &mut all);
            let _ = find(&bytes, 4);
        }
    }
}
