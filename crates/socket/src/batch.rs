//! Many datagrams with few system calls, out of one buffer and into one.
//!
//! A [`Batch`] holds datagrams of one length, each with its own content. Where the system can (UDP_SEGMENT, Linux
//! 4.18), it takes dozens of them in one piece and cuts them late: in the device, or not at all on a veth pair whose
//! other end takes them joined. That is faster than any sender of single packets could be, so it is only for a load
//! without pace, and [`Batch::segmented`] says whether it was done. A [`Receiver`] takes what is there at once, and
//! takes joined datagrams apart.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::ops::Range;
use std::os::fd::AsFd;

use crate::sys::{self, Messages, Piece, To};

/// Most bytes of datagrams that the system takes in one piece: an IPv4 packet without its headers.
const MOST_PIECE_BYTES: usize = 65_507;
/// Most datagrams of one piece: Linux has this as UDP_MAX_SEGMENTS, and 64 before 6.9.
const MOST_SEGMENTS: [usize; 2] = [128, 64];
/// Most messages of one system call; with more, the gain of one call for all is used up.
const MOST_MESSAGES: usize = 64;
/// Bytes between two places of a receiver, so that they do not fall on the same lines of a cache.
const GAP: usize = 192;

/// Datagrams to be sent. Nothing is allocated after [`Batch::new`].
pub struct Batch {
    buf: Vec<u8>,
    datagram_bytes: usize,
    messages: Messages,
    /// Datagrams of one piece; 1 where the system does not cut.
    per_piece: usize,
    segmented: bool,
    /// The next datagram goes alone, so that the call after it can say what went wrong.
    alone: bool,
    /// What the system said after datagrams had been sent.
    pending: Option<io::Error>,
}

impl Batch {
    /// Room for `most` datagrams of `datagram_bytes`, at least one of at least a byte. With `gso` the system may get
    /// many in one piece.
    pub fn new(datagram_bytes: usize, most: usize, gso: bool) -> Batch {
        let (datagram_bytes, most) = (datagram_bytes.max(1), most.max(1));
        Batch {
            buf: vec![0; datagram_bytes * most],
            datagram_bytes,
            messages: Messages::new(most.min(MOST_MESSAGES)),
            per_piece: match gso {
                true => segments(datagram_bytes, MOST_SEGMENTS[0]),
                false => 1,
            },
            segmented: false,
            alone: false,
            pending: None,
        }
    }

    /// Datagrams that there is room for.
    pub fn most(&self) -> usize {
        self.buf.len() / self.datagram_bytes
    }

    /// The bytes of a datagram.
    ///
    /// # Panics
    /// Where there is no room for so many.
    pub fn slot_mut(&mut self, at: usize) -> &mut [u8] {
        &mut self.buf[at * self.datagram_bytes..][..self.datagram_bytes]
    }

    /// Whether the system got several datagrams in one piece so far.
    pub const fn segmented(&self) -> bool {
        self.segmented
    }

    /// Send datagrams on a connected socket, or to an address; how many of the first were sent. Where it is less than
    /// all, call it again for the rest: then it says why. What the system does not cut is sent one by one.
    ///
    /// # Errors
    /// What the system says of the first datagram, of which then nothing was sent.
    ///
    /// # Panics
    /// Where there is no room for so many.
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
                Err(error) if self.per_piece > 1 && is_refusal_to_cut(&error) => self.cut_less(),
                Err(error) if sent == 0 => return Err(error),
                Err(error) => {
                    self.pending = Some(error);
                    break;
                }
            }
        }
        Ok(sent)
    }

    /// One system call; how many were sent, and whether that is all that it was given.
    fn send_some(
        &mut self,
        socket: &UdpSocket,
        to: Option<SocketAddr>,
        slots: Range<usize>,
    ) -> io::Result<(usize, bool)> {
        let (bytes, per_piece) = (self.datagram_bytes, self.per_piece);
        // An error behind the first message is lost in the system, and one of the network strikes only the message
        // after that which caused it: with one message in a call, the next call says it.
        let slots = match std::mem::take(&mut self.alone) {
            true => slots.start..slots.end.min(slots.start + per_piece),
            false => slots.start..slots.end.min(slots.start + per_piece * MOST_MESSAGES),
        };
        let pieces = slots.clone().step_by(per_piece).map(|at| Piece {
            start: at * bytes,
            len: (slots.end - at).min(per_piece) * bytes,
        });
        let segment = u16::try_from(bytes).ok().filter(|_| per_piece > 1);
        let to = To {
            address: to,
            segment,
        };
        let messages = slots.len().div_ceil(per_piece);
        let sent = self.messages.send(socket.as_fd(), &self.buf, pieces, to)?;
        let done = (sent * per_piece).min(slots.len());
        self.segmented |= per_piece > 1 && done > 1;
        self.alone = sent < messages;
        Ok((done, sent == messages))
    }

    /// Give the system fewer datagrams in a piece, in the end one.
    fn cut_less(&mut self) {
        let fewer = segments(self.datagram_bytes, MOST_SEGMENTS[1]);
        self.per_piece = if self.per_piece > fewer { fewer } else { 1 };
    }
}

/// Datagrams of a piece; 1 where a piece has no room for two.
fn segments(datagram_bytes: usize, most: usize) -> usize {
    (MOST_PIECE_BYTES / datagram_bytes).clamp(1, most)
}

/// Whether the system says that it cannot cut: an unknown option, more segments than it knows, datagrams longer than
/// the path's MTU, a device without checksums.
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

/// One datagram that came.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Its content, as far as there was room.
    pub bytes: &'a [u8],
    /// Who sent it.
    pub from: SocketAddr,
    /// When the system got it, CLOCK_REALTIME in ns, where the socket is set to tell (SO_TIMESTAMPNS or
    /// SO_TIMESTAMPING). Datagrams that came joined share one time.
    pub kernel_ns: Option<u64>,
    /// Whether it was longer than the room.
    pub truncated: bool,
}

/// Takes many datagrams at once. Nothing is allocated after [`Receiver::new`].
pub struct Receiver {
    buf: Vec<u8>,
    room: usize,
    messages: Messages,
    came: usize,
}

impl Receiver {
    /// Room for `most` datagrams at once (at most 64), of at most `bytes` each; what is longer is cut.
    pub fn new(most: usize, bytes: usize) -> Receiver {
        let most = most.clamp(1, MOST_MESSAGES);
        Receiver {
            buf: vec![0; most * (bytes.next_multiple_of(64) + GAP)],
            room: bytes,
            messages: Messages::new(most),
            came: 0,
        }
    }

    /// Let the system hand over datagrams of one flow joined, where it has them so (UDP_GRO, Linux 5.0), with room for
    /// `most` of such pieces. Where it cannot, they come one by one.
    pub fn joining(socket: &UdpSocket, most: usize) -> Receiver {
        // Without it, all goes on as before.
        let _ = sys::set_option(socket.as_fd(), sys::UDP_GRO, 1);
        Receiver::new(most, 65_536)
    }

    /// Wait for a datagram, as long as the socket's deadline says, and take what else is there.
    ///
    /// # Errors
    /// What the system says; a deadline that passed is an error too.
    pub fn receive(&mut self, socket: &UdpSocket) -> io::Result<Datagrams<'_>> {
        self.take(socket, true)
    }

    /// Take what is there, without waiting.
    ///
    /// # Errors
    /// What the system says; nothing there is [`io::ErrorKind::WouldBlock`].
    pub fn receive_now(&mut self, socket: &UdpSocket) -> io::Result<Datagrams<'_>> {
        self.take(socket, false)
    }

    fn take(&mut self, socket: &UdpSocket, wait: bool) -> io::Result<Datagrams<'_>> {
        let stride = self.stride();
        self.came = 0;
        self.came =
            self.messages
                .receive(socket.as_fd(), &mut self.buf, self.room, stride, wait)?;
        Ok(Datagrams {
            receiver: self,
            message: 0,
            rest: None,
        })
    }

    const fn stride(&self) -> usize {
        self.room.next_multiple_of(64) + GAP
    }
}

/// The datagrams of one [`Receiver::receive`], in the order in which they came.
pub struct Datagrams<'a> {
    receiver: &'a Receiver,
    message: usize,
    /// What is left of a piece, and the length of its datagrams.
    rest: Option<(Datagram<'a>, usize)>,
}

impl Datagrams<'_> {
    /// Whether there was room for no more, so that others may be waiting.
    pub fn full(&self) -> bool {
        self.receiver.came == self.receiver.buf.len() / self.receiver.stride()
    }
}

impl<'a> Iterator for Datagrams<'a> {
    type Item = Datagram<'a>;

    fn next(&mut self) -> Option<Datagram<'a>> {
        if let Some((rest, bytes)) = self.rest.take() {
            return Some(self.split(rest, bytes));
        }
        while self.message < self.receiver.came {
            let at = self.message;
            self.message += 1;
            let Some(arrived) = self.receiver.messages.arrived(at) else {
                continue;
            };
            let whole = &self.receiver.buf[at * self.receiver.stride()..];
            let datagram = Datagram {
                bytes: &whole[..arrived.len.min(self.receiver.room)],
                from: arrived.from,
                kernel_ns: arrived.kernel_ns,
                truncated: arrived.truncated,
            };
            return Some(self.split(datagram, arrived.segment.unwrap_or(usize::MAX)));
        }
        None
    }
}

impl<'a> Datagrams<'a> {
    fn split(&mut self, piece: Datagram<'a>, bytes: usize) -> Datagram<'a> {
        if piece.bytes.len() <= bytes {
            return piece;
        }
        let (first, rest) = piece.bytes.split_at(bytes);
        self.rest = Some((
            Datagram {
                bytes: rest,
                ..piece
            },
            bytes,
        ));
        Datagram {
            bytes: first,
            truncated: false,
            ..piece
        }
    }
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

    /// Send in rounds that the receiver's queue can hold; each arrives once, with its own content.
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
        // Longer than any path's MTU, and two in a piece: no system cuts that.
        let mtu = crate::mtu::path_mtu(&a).unwrap().unwrap() as usize;
        let bytes = if mtu < 32_000 { mtu + 100 } else { 32_753 };
        let mut batch = Batch::new(bytes, 3, true);
        round_trips(&mut batch, &a, &b, &mut Receiver::joining(&b, 4));
        assert!(mtu >= 32_000 || !batch.segmented());
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
    fn a_closed_port_is_told_in_the_end() {
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
