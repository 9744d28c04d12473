//! Many datagrams with few system calls, from one buffer and into one.
//!
//! A [`Batch`] holds datagrams of one length, each with its own content. If the system supports it (UDP_SEGMENT,
//! Linux 4.18), it takes dozens of them in one buffer, and segments it in the device, or not at all on a veth pair
//! whose other end takes them joined. That is faster than any sender of single packets could be, so it is only used
//! for a load without a pace, and [`Batch::segmented`] reports it. A [`Receiver`] takes all waiting datagrams at
//! once, and splits joined ones.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::ops::Range;
use std::os::fd::AsFd;

use crate::sys::{Destination, Messages, Piece};

mod receiver;

pub use receiver::{Datagram, Datagrams, Receiver, lengthen_queue};

/// Most bytes of one buffer. The system takes twice as much (an IPv4 packet), but such a sender is faster than any
/// receiver on the same machine can copy, and the rest is lost.
const MOST_PIECE_BYTES: usize = 32_768;
/// Most datagrams of one buffer, for the same reason; the system takes 64, since Linux 6.9 128 (UDP_MAX_SEGMENTS).
const MOST_SEGMENTS: usize = 32;
/// Most messages of one system call; more gain nothing.
const MOST_MESSAGES: usize = 64;

/// Datagrams to be sent. It allocates only in [`Batch::new`].
pub struct Batch {
    buf: Vec<u8>,
    datagram_bytes: usize,
    messages: Messages,
    /// Whether a call waits for space, up to the socket's timeout.
    waits: bool,
    /// Datagrams of one buffer; 1 if the system does not segment.
    per_piece: usize,
    segmented: bool,
    /// Send the next datagram alone, so that the following call returns its error.
    alone: bool,
    /// An error that the system returned after datagrams had been sent.
    pending: Option<io::Error>,
}

impl Batch {
    /// Space for `most` datagrams of `datagram_bytes`, each at least 1. With `gso` the system may get many in one
    /// buffer.
    pub fn new(datagram_bytes: usize, most: usize, gso: bool) -> Batch {
        let (datagram_bytes, most) = (datagram_bytes.max(1), most.max(1));
        Batch {
            buf: vec![0; datagram_bytes * most],
            datagram_bytes,
            messages: Messages::new(most.min(MOST_MESSAGES)),
            waits: true,
            per_piece: match gso {
                true => (MOST_PIECE_BYTES / datagram_bytes).clamp(1, MOST_SEGMENTS),
                false => 1,
            },
            segmented: false,
            alone: false,
            pending: None,
        }
    }

    /// Make a full queue an error ([`io::ErrorKind::WouldBlock`]) instead of a wait, so that the caller can separate waiting
    /// from working.
    #[must_use]
    pub fn without_waiting(mut self) -> Batch {
        self.waits = false;
        self
    }

    /// Number of datagrams that fit.
    pub fn most(&self) -> usize {
        self.buf.len() / self.datagram_bytes
    }

    /// The bytes of a datagram.
    ///
    /// # Panics
    /// If it has fewer datagrams.
    pub fn slot_mut(&mut self, at: usize) -> &mut [u8] {
        &mut self.buf[at * self.datagram_bytes..][..self.datagram_bytes]
    }

    /// Whether the system has taken several datagrams in one buffer so far.
    pub const fn segmented(&self) -> bool {
        self.segmented
    }

    /// Send datagrams on a connected socket, or to an address; returns how many were sent, from the first on. If not
    /// all, call it again for the rest, which returns the reason. Buffers that the system does not segment are sent
    /// one by one.
    ///
    /// # Errors
    /// The system's error for the first datagram, in which case none was sent.
    ///
    /// # Panics
    /// If the batch has fewer datagrams.
    pub fn send(
        &mut self,
        socket: &UdpSocket,
        to: Option<SocketAddr>,
        slots: Range<usize>,
    ) -> io::Result<usize> {
        if let Some(error) = self.pending.take() {
            return Err(error);
        }
        let mut sent = 0;
        while sent < slots.len() {
            let rest = slots.start + sent..slots.end;
            match self.send_some(socket, to, rest) {
                Ok((done, all)) => {
                    sent += done;
                    if !all {
                        break;
                    }
                }
                Err(error) if self.per_piece > 1 && is_refusal_to_cut(&error) => self.per_piece = 1,
                Err(error) if sent == 0 => return Err(error),
                Err(error) => {
                    self.pending = Some(error);
                    break;
                }
            }
        }
        Ok(sent)
    }

    /// One system call; returns how many were sent, and whether these are all.
    fn send_some(
        &mut self,
        socket: &UdpSocket,
        to: Option<SocketAddr>,
        slots: Range<usize>,
    ) -> io::Result<(usize, bool)> {
        let (bytes, per_piece) = (self.datagram_bytes, self.per_piece);
        // The system drops an error after the first message, and a network error is returned only with the message
        // after its cause. With one message a call, the next call returns it.
        let slots = match std::mem::take(&mut self.alone) {
            true => slots.start..slots.end.min(slots.start + per_piece),
            false => slots.start..slots.end.min(slots.start + per_piece * MOST_MESSAGES),
        };
        let pieces = slots.clone().step_by(per_piece).map(|at| Piece {
            start: at * bytes,
            len: (slots.end - at).min(per_piece) * bytes,
        });
        let segment = u16::try_from(bytes).ok().filter(|_| per_piece > 1);
        let to = Destination {
            address: to,
            segment,
        };
        let messages = slots.len().div_ceil(per_piece);
        let sent = self
            .messages
            .send(socket.as_fd(), &self.buf, pieces, to, self.waits)?;
        let done = (sent * per_piece).min(slots.len());
        self.segmented |= per_piece > 1 && done > 1;
        self.alone = sent < messages;
        Ok((done, sent == messages))
    }
}

/// Whether the system cannot segment: an unknown option, datagrams longer than the path's MTU, a device without
/// checksums.
fn is_refusal_to_cut(error: &io::Error) -> bool {
    let refusals = [
        libc::EINVAL,
        libc::EIO,
        libc::EMSGSIZE,
        libc::EOPNOTSUPP,
        libc::ENOPROTOOPT,
    ];
    error
        .raw_os_error()
        .is_some_and(|code| refusals.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn pair(ip: &str) -> (UdpSocket, UdpSocket) {
        let [a, b] = [0; 2].map(|_: i32| UdpSocket::bind((ip, 0)).unwrap());
        a.connect(b.local_addr().unwrap()).unwrap();
        b.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        (a, b)
    }

    fn number(batch: &mut Batch, first: u32) {
        for at in 0..batch.most() {
            let slot = batch.slot_mut(at);
            slot.fill(at as u8);
            slot[..4].copy_from_slice(&(first + at as u32).to_be_bytes());
        }
    }

    /// Send in rounds that fit the receiver's queue; each datagram arrives once, with its own content.
    fn round_trips(batch: &mut Batch, a: &UdpSocket, b: &UdpSocket, receiver: &mut Receiver) {
        let most = batch.most();
        let mut expected = 0u32;
        for round in 0..20 {
            number(batch, round * most as u32);
            let mut sent = 0;
            while sent < most {
                sent += batch.send(a, None, sent..most).unwrap();
            }
            while (expected as usize) < (round as usize + 1) * most {
                for datagram in receiver.receive(b).unwrap() {
                    assert_eq!(datagram.from, a.local_addr().unwrap());
                    let at = expected as usize % most;
                    assert_eq!(&datagram.bytes[..4], &expected.to_be_bytes());
                    assert_eq!(datagram.bytes.len(), batch.datagram_bytes);
                    assert!(datagram.bytes[4..].iter().all(|byte| *byte == at as u8));
                    assert!(!datagram.truncated && datagram.kernel_ns.is_none());
                    expected += 1;
                }
            }
        }
        b.set_nonblocking(true).unwrap();
        assert!(receiver.receive(b).is_err(), "no copies");
        b.set_nonblocking(false).unwrap();
    }

    #[test]
    fn each_datagram_arrives_with_its_own_content() {
        for (gso, joining, bytes) in [
            (false, false, 64),
            (false, true, 1470),
            (true, false, 1470),
            (true, true, 64),
            (true, true, 1470),
        ] {
            let (a, b) = pair("127.0.0.1");
            let mut batch = Batch::new(bytes, 50, gso);
            let mut receiver = match joining {
                true => Receiver::joining(&b, 8),
                false => Receiver::new(16, 2048),
            };
            round_trips(&mut batch, &a, &b, &mut receiver);
            if !gso {
                assert!(!batch.segmented());
            }
        }
    }

    #[test]
    fn a_path_that_refuses_to_cut_gets_single_datagrams() {
        let (a, b) = pair("127.0.0.1");
        // Longer than any path's MTU, and two in a buffer: no system segments that.
        let mtu = crate::mtu::path_mtu(&a).unwrap().unwrap() as usize;
        let bytes = if mtu < 16_000 { mtu + 100 } else { 16_400 };
        let mut batch = Batch::new(bytes, 3, true);
        round_trips(&mut batch, &a, &b, &mut Receiver::joining(&b, 4));
        assert!(!batch.segmented());
    }

    #[test]
    fn to_an_address_and_truncated() {
        let (a, b) = pair("127.0.0.1");
        let back = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = back.local_addr().unwrap();
        let mut batch = Batch::new(100, 2, false);
        assert_eq!(batch.send(&b, Some(to), 0..2).unwrap(), 2);
        back.set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let mut receiver = Receiver::new(1, 60);
        for _ in 0..2 {
            let datagrams = receiver.receive(&back).unwrap();
            assert!(datagrams.full());
            for datagram in datagrams {
                assert_eq!((datagram.bytes.len(), datagram.truncated), (60, true));
                assert_eq!(datagram.from, b.local_addr().unwrap());
            }
        }
        drop(a);
    }

    #[test]
    fn a_closed_port_is_reported_at_the_end() {
        let (a, b) = pair("127.0.0.1");
        drop(b);
        let mut batch = Batch::new(100, 8, false);
        let refused = (0..1000).find_map(|_| batch.send(&a, None, 0..8).err());
        assert_eq!(refused.unwrap().kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn over_ipv6_where_there_is_any() {
        if UdpSocket::bind("[::1]:0").is_err() {
            return;
        }
        let (a, b) = pair("::1");
        let mut batch = Batch::new(500, 20, true);
        round_trips(&mut batch, &a, &b, &mut Receiver::joining(&b, 4));
    }
}
