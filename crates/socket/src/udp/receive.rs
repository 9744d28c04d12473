//! The receiver of a UDP flow.

use std::io;
use std::net::{IpAddr, UdpSocket};

use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use wirelab_trial::Cancel;
use wirelab_trial::host_clock::now_ns;
use wirelab_trial::job::Judge;
use wirelab_wire::check::classify_data;
use wirelab_wire::{Layer, Verdict};

use super::drops::Drops;
use super::{PATIENCE, is_not_yet};
use crate::batch::{Datagram, Receiver};
use crate::flow::{Capture, Expect, Live, MOST_BYTES, MOST_CAPTURES, Seen, checked};
use crate::stamps::{self, KernelClock};

/// Bytes of the socket's queue: what comes at full speed while the receiver is held up for some ms.
const QUEUE_BYTES: usize = 8 << 20;
/// Datagrams fetched at once, each with its own stamp.
const SINGLE: usize = 32;
/// Pieces fetched at once, each of datagrams that the system joined.
const PIECES: usize = 16;
/// No datagram for so long after the end means that all have come, in ns.
const QUIET_NS: u64 = 50_000_000;
/// Longest time to follow a flow that does not end (RFC 2544, 23: two seconds), in ns.
const LONGEST_TAIL_NS: u64 = 2_000_000_000;

/// Check a flow of test frames until `cancel` is set and nothing has come for 50 ms. With `from`, datagrams from
/// elsewhere are foreign, and a damaged magic from there is a damaged header of the flow.
///
/// # Errors
/// A size that is no test frame's, or what the socket says before anything came. What ends a flow that runs is in
/// [`Seen::failure`].
pub fn receive(
    socket: &UdpSocket,
    from: Option<IpAddr>,
    expect: &Expect,
    live: &Live,
    cancel: &Cancel,
) -> io::Result<Seen> {
    checked(expect.datagram_bytes)?;
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    // Before anything that takes time: what the queue drops from here on is told.
    let before = Drops::of(socket);
    let notes = prepare(socket).into_iter().collect();
    let mut receiver = match expect.captures {
        0 => Receiver::joining(socket, PIECES),
        _ => Receiver::new(SINGLE, MOST_BYTES as usize),
    };
    let mut checking = Checking::new(socket, from, expect)?;
    checking.notes = notes;
    let failure = follow(socket, &mut receiver, &mut checking, live, cancel);
    let missed = Drops::of(socket).since(before);
    let mut seen = checking.finish(failure);
    seen.report.missed_frames = missed;
    Ok(seen)
}

/// Make a socket ready to receive a flow: a queue long enough for a receiver that is held up, and time stamps. What
/// is wrong if it cannot be had. [`receive`] does it too; call it before where the sender may start before that.
pub fn prepare(socket: &UdpSocket) -> Option<String> {
    stamps::stamp_arrivals(socket);
    enlarge_queue(socket)
}

/// A queue long enough for a receiver that is held up; what is wrong if there is none.
pub(crate) fn enlarge_queue(socket: &UdpSocket) -> Option<String> {
    let bytes = getsockopt(socket, sockopt::RcvBuf).unwrap_or(0);
    // The kernel doubles what is asked, for its own book-keeping (socket(7)).
    if bytes >= 2 * QUEUE_BYTES {
        return None;
    }
    let forced = setsockopt(socket, sockopt::RcvBufForce, &QUEUE_BYTES);
    let _ = forced.or_else(|_| setsockopt(socket, sockopt::RcvBuf, &QUEUE_BYTES));
    let got = getsockopt(socket, sockopt::RcvBuf).unwrap_or(0);
    (got < 2 * QUEUE_BYTES).then(|| {
        format!(
            "the socket's queue has {got} bytes, {} were asked; raise net.core.rmem_max if bursts are missed",
            2 * QUEUE_BYTES
        )
    })
}

/// Fetch datagrams until the end; what ended it early.
fn follow(
    socket: &UdpSocket,
    receiver: &mut Receiver,
    checking: &mut Checking,
    live: &Live,
    cancel: &Cancel,
) -> Option<io::Error> {
    let (mut ended_ns, mut last_ns) = (None, 0);
    loop {
        match receiver.receive(socket) {
            Ok(datagrams) => {
                last_ns = now_ns();
                for datagram in datagrams {
                    checking.take(&datagram, last_ns);
                }
                live.tell(checking.judge.received(), checking.bytes, last_ns);
            }
            Err(error) if is_not_yet(&error) => {}
            // An ICMP message about a datagram that was sent on the same socket: its sender is told too.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                checking.refusals += 1;
            }
            Err(error) => return Some(error),
        }
        if !cancel.is_cancelled() {
            continue;
        }
        let now = now_ns();
        let ended = *ended_ns.get_or_insert(now);
        if now.saturating_sub(ended.max(last_ns)) >= QUIET_NS || now - ended >= LONGEST_TAIL_NS {
            return None;
        }
    }
}

/// What is known of the flow so far.
struct Checking {
    judge: Judge,
    from: Option<IpAddr>,
    stream: u8,
    /// IP and UDP headers, so that payload is counted as on all other ways to receive.
    header_bytes: u64,
    bytes: u64,
    clock: KernelClock,
    /// No stamp is older than this, see [`OLDER_NS`].
    earliest_ns: u64,
    wanted: usize,
    captures: Vec<Capture>,
    refusals: u64,
    notes: Vec<String>,
}

/// What a stamp may be older than the one before it: datagrams may come on several processors, and the first may
/// have waited in the queue before anybody fetched it. In ns.
const OLDER_NS: u64 = 1_000_000_000;

impl Checking {
    fn new(socket: &UdpSocket, from: Option<IpAddr>, expect: &Expect) -> io::Result<Checking> {
        let layer = match socket.local_addr()?.is_ipv6() {
            true => Layer::UdpIpv6,
            false => Layer::UdpIpv4,
        };
        let wanted = expect.captures.min(MOST_CAPTURES) as usize;
        let now = now_ns();
        Ok(Checking {
            judge: Judge::new(None, 1),
            from: from.map(|ip| ip.to_canonical()),
            stream: expect.stream,
            header_bytes: u64::from(layer.header_bytes()),
            bytes: 0,
            clock: KernelClock::new(now),
            earliest_ns: now.saturating_sub(OLDER_NS),
            wanted,
            captures: Vec::with_capacity(wanted),
            refusals: 0,
            notes: Vec::new(),
        })
    }

    #[inline]
    fn take(&mut self, datagram: &Datagram<'_>, now_ns: u64) {
        let ours = self
            .from
            .is_some_and(|from| datagram.from.ip().to_canonical() == from);
        let verdict = match self.from {
            Some(_) if !ours => Verdict::Foreign,
            _ => classify_data(datagram.bytes, Some(self.stream), ours),
        };
        let stamp = datagram
            .kernel_ns
            .and_then(|ns| self.clock.monotonic(ns, self.earliest_ns, now_ns));
        if let Some(stamp) = stamp {
            self.earliest_ns = self.earliest_ns.max(stamp.saturating_sub(OLDER_NS));
        }
        let bytes = datagram.bytes.len() as u64;
        let arrival = stamp.unwrap_or(now_ns);
        if !self
            .judge
            .take(verdict, bytes + self.header_bytes, Some(arrival))
        {
            return;
        }
        self.bytes += bytes;
        let room = self.captures.len() < self.wanted;
        if let (true, Some(driver_ns), Verdict::Good(header)) = (room, stamp, verdict) {
            self.captures.push(Capture {
                sequence: header.sequence,
                driver_ns,
                application_ns: now_ns,
            });
        }
    }

    fn finish(mut self, failure: Option<io::Error>) -> Seen {
        let mut report = self.judge.finish_apart();
        self.notes.extend(self.clock.note());
        if self.refusals > 0 {
            self.notes.push(format!(
                "the peer refused {} datagrams that were sent on this socket",
                self.refusals
            ));
        }
        report.notes.extend(self.notes);
        Seen {
            report,
            captures: self.captures,
            sent_back_frames: 0,
            failure,
        }
    }
}
