//! Queries of the kernel over netlink (linux/netlink.h). Replies are bounded and parsed field by field.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};

/// Types of replies, and flags of requests.
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;

/// Length of `struct nlmsghdr`.
const HEADER: usize = 16;

/// Most datagrams of a reply: an interface has at most a few thousand queues, and a datagram holds many.
const MOST_DATAGRAMS: usize = 1024;
/// Bytes of the largest datagram of a reply.
const DATAGRAM: usize = 65_536;

/// A socket for queries in the calling thread's network namespace.
///
/// # Errors
/// The system's error.
pub fn open(protocol: SockProtocol) -> io::Result<OwnedFd> {
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        protocol,
    )?;
    setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::seconds(2))?;
    Ok(socket)
}

/// A socket that receives the messages of these groups of rtnetlink(7), one bit each, in the calling thread's
/// namespace.
///
/// # Errors
/// The system's error.
pub fn listen(groups: u32) -> io::Result<OwnedFd> {
    let socket = open(SockProtocol::NetlinkRoute)?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, groups))?;
    Ok(socket)
}

/// The messages that arrived since the last call, without their netlink headers. Messages that the socket's buffer
/// could not hold are missing.
pub fn heard(socket: &OwnedFd) -> Vec<Vec<u8>> {
    let (mut all, mut buffer) = (Vec::new(), vec![0; DATAGRAM]);
    for _ in 0..MOST_DATAGRAMS {
        match recv(socket.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(size) => _ = take(buffer.get(..size).unwrap_or_default(), &mut all),
            Err(Errno::ENOBUFS | Errno::EINTR) => {}
            Err(_) => break,
        }
    }
    all
}

/// A query.
#[derive(Clone, Copy, Debug)]
pub struct NetlinkQuery<'a> {
    /// Its type, or the number of its family.
    pub kind: u16,
    /// Whether it lists all objects, so the reply may have many datagrams.
    pub all: bool,
    /// The structure at the start of this type.
    pub head: &'a [u8],
    pub attributes: &'a [u8],
}

impl NetlinkQuery<'_> {
    /// The messages of the reply, without their netlink headers.
    ///
    /// # Errors
    /// The error in the kernel's reply, or that of the socket.
    pub fn ask(&self, socket: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
        send(socket.as_raw_fd(), &self.bytes(), MsgFlags::empty())?;
        let mut all = Vec::new();
        let mut buffer = vec![0; DATAGRAM];
        for _ in 0..MOST_DATAGRAMS {
            let size = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            let is_complete = take(buffer.get(..size).ok_or_else(cut_short)?, &mut all)?;
            if is_complete || !self.all {
                return Ok(all);
            }
        }
        Err(io::Error::other("the kernel's reply has no end"))
    }

    fn bytes(&self) -> Vec<u8> {
        let length = (HEADER + self.head.len() + self.attributes.len()) as u32;
        let flags = NLM_F_REQUEST | if self.all { NLM_F_DUMP } else { 0 };
        let mut bytes = Vec::with_capacity(length as usize);
        bytes.extend(length.to_ne_bytes());
        bytes.extend(self.kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        // Sequence and port: one request is pending at a time, and the kernel fills in the port.
        bytes.extend([0; 8]);
        bytes.extend(self.head);
        bytes.extend(self.attributes);
        bytes
    }
}

/// Splits one datagram and appends its messages; returns whether it ends the reply.
fn take(mut datagram: &[u8], all: &mut Vec<Vec<u8>>) -> io::Result<bool> {
    while datagram.len() >= HEADER {
        let part = || {
            let length = number32(datagram)? as usize;
            let kind = number16(datagram.get(4..)?)?;
            Some((length, kind, datagram.get(HEADER..length)?))
        };
        let (length, kind, message) = part().ok_or_else(cut_short)?;
        match kind {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                let errno = number32(message).ok_or_else(cut_short)? as i32;
                return Err(io::Error::from_raw_os_error(errno.wrapping_neg()));
            }
            _ => all.push(message.to_vec()),
        }
        datagram = datagram
            .get(length.next_multiple_of(4)..)
            .unwrap_or_default();
    }
    Ok(false)
}

fn cut_short() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the kernel's reply is truncated",
    )
}

/// The value of the first attribute of this type.
pub fn find(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
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

/// An attribute with its padding.
pub fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let mut bytes = Vec::with_capacity(length + 3);
    bytes.extend((length as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(length.next_multiple_of(4), 0);
    bytes
}

/// The number at the front.
pub fn number16(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?))
}

/// The number at the front.
pub fn number32(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?))
}

/// The number at the front.
pub fn number64(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?))
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

    /// A message as the kernel sends it.
    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let request = NetlinkQuery {
            kind,
            all: false,
            head: body,
            attributes: &[],
        };
        let mut bytes = request.bytes();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn an_answer_ends_with_its_last_message_or_an_error() {
        let mut all = Vec::new();
        let two = [message(7, b"odd"), message(8, b"")].concat();
        assert!(!take(&two, &mut all).unwrap());
        assert_eq!(all, [b"odd".to_vec(), Vec::new()]);
        let done = [
            message(7, b"more"),
            message(NLMSG_DONE, b""),
            message(7, b""),
        ]
        .concat();
        assert!(take(&done, &mut all).unwrap());
        assert_eq!(all.len(), 3);
        let refused = message(NLMSG_ERROR, &(-libc::ENODEV).to_ne_bytes());
        let error = take(&refused, &mut all).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
        assert!(take(&two[..18], &mut all).is_err(), "cut short");
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic_or_hang(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = find(&bytes, 4).and_then(number64);
            let _ = take(&bytes, &mut Vec::new());
        }
    }
}
