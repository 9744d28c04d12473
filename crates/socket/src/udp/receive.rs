//! The receiver of a UDP flow.

use std::io;
use std::net::{IpAddr, UdpSocket};

use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use wirelab_trial::host_clock::now_ns;
use wirelab_trial::job::Judge;
use wirelab_trial::{Cancel, HoldWatch, format};
use wirelab_wire::check::classify_data;
use wirelab_wire::{Header, Layer, Verdict};

use super::drops::Drops;
use super::{PATIENCE, is_not_yet};
use crate::batch::{Datagram, Receiver};
use crate::flow::{Capture, Expect, FlowProgress, MOST_BYTES, MOST_CAPTURES, Reception, checked};
use crate::stamps::{self, CardClock, KernelClock};

/// Bytes of the socket's queue: what arrives at full speed during a pause of the receiver of some ms.
const QUEUE_BYTES: usize = 8 << 20;
/// Bytes of the queue with the privilege to exceed the system's limit: a host with busy processors pauses a receiver for tens
/// of ms.
const LONG_QUEUE_BYTES: usize = 32 << 20;
/// Datagrams fetched at once, each with its own stamp.
const SINGLE: usize = 32;
/// Buffers fetched at once, each of datagrams that the system joined.
const PIECES: usize = 16;
/// No datagram for this long after the end means that all have arrived, in ns.
const QUIET_NS: u64 = 50_000_000;
/// Longest time to follow a flow that does not end (RFC 2544, 23: two seconds), in ns. A slow receiver still reads
/// what arrived before and waits in its queue.
const LONGEST_TAIL_NS: u64 = 2_000_000_000;
/// Longest time to read the queue after the end, in ns.
const LONGEST_READ_NS: u64 = 30_000_000_000;

/// The source of a flow.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The sender's address; datagrams of others are foreign. `None` accepts all.
    pub ip: Option<IpAddr>,
    /// Source ports of earlier runs at that address: test frames from there are late ones of those runs.
    pub earlier_ports: Vec<u16>,
}

impl From<Option<IpAddr>> for Source {
    fn from(ip: Option<IpAddr>) -> Source {
        Source {
            ip,
            earlier_ports: Vec::new(),
        }
    }
}

/// Check a flow of test frames until `cancel` is set and nothing has arrived for 50 ms. With `from`, datagrams of
/// other addresses are foreign, and a damaged magic from it is a damaged header of the flow. If the sender may start
/// before this call, [`prepare`] the socket and use [`receive_from`].
///
/// # Errors
/// An invalid size of a test frame, or the socket's error before the first datagram. A later error is in
/// [`Reception::failure`].
pub fn receive(
    socket: &UdpSocket,
    from: Option<IpAddr>,
    expect: &Expect,
    live: &FlowProgress,
    cancel: &Cancel,
) -> io::Result<Reception> {
    receive_from(socket, prepare(socket), from.into(), expect, live, cancel)
}

/// Like [`receive`], for a prepared socket and with late frames of earlier runs counted separately.
///
/// # Errors
/// As [`receive`].
pub fn receive_from(
    socket: &UdpSocket,
    ready: Ready,
    from: Source,
    expect: &Expect,
    live: &FlowProgress,
    cancel: &Cancel,
) -> io::Result<Reception> {
    checked(expect.datagram_bytes)?;
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut receiver = match expect.captures {
        0 => Receiver::joining(socket, PIECES),
        _ => Receiver::new(SINGLE, MOST_BYTES as usize),
    };
    let mut checking = Checking::new(socket, from, expect)?;
    checking.notes.extend(ready.note);
    let failure = follow(socket, &mut receiver, &mut checking, live, cancel);
    let dropped = Drops::of(socket).since_made(ready.before);
    let unread = checking.unread;
    let mut received = checking.finish(failure);
    let joined = expect.captures == 0;
    received.report.missed =
        dropped.of_flow(&received.report.counts, expect.datagram_bytes, joined);
    if unread {
        // The unread rest may be all that is missing.
        received.report.missed.at_most = u64::MAX;
    }
    Ok(received)
}

/// The state of a socket that was prepared for a flow.
#[derive(Clone, Debug)]
pub struct Ready {
    /// The drops of its queue from here on are certain.
    pub(crate) before: Drops,
    /// What is wrong with its queue, if anything.
    pub(crate) note: Option<String>,
}

/// Prepare a socket to receive a flow: a queue that is long enough for a paused receiver, and time stamps. On a busy
/// host a receiver's thread may start long after its sender, so call it before the sender may start.
pub fn prepare(socket: &UdpSocket) -> Ready {
    let before = Drops::of(socket);
    stamps::stamp_arrivals(socket);
    Ready {
        before,
        note: enlarge_queue(socket),
    }
}

/// Make the queue long enough for a paused receiver; returns a note if it stays short.
pub fn enlarge_queue(socket: &UdpSocket) -> Option<String> {
    let bytes = getsockopt(socket, sockopt::RcvBuf).unwrap_or(0);
    // The kernel doubles the requested size for its own bookkeeping (socket(7)).
    if bytes >= 2 * QUEUE_BYTES {
        return None;
    }
    let forced = setsockopt(socket, sockopt::RcvBufForce, &LONG_QUEUE_BYTES);
    let _ = forced.or_else(|_| setsockopt(socket, sockopt::RcvBuf, &QUEUE_BYTES));
    let got = getsockopt(socket, sockopt::RcvBuf).unwrap_or(0);
    (got < 2 * QUEUE_BYTES).then(|| {
        format!(
            "the socket's queue has {got} bytes instead of {}; fix: raise net.core.rmem_max if bursts are missed",
            2 * QUEUE_BYTES
        )
    })
}

/// Fetch datagrams until the end; returns the error that ended it early.
fn follow(
    socket: &UdpSocket,
    receiver: &mut Receiver,
    checking: &mut Checking,
    live: &FlowProgress,
    cancel: &Cancel,
) -> Option<io::Error> {
    let (mut ended_ns, mut last_ns, mut arrived_ns) = (None, 0, 0);
    loop {
        let mut empty = false;
        let began_ns = now_ns();
        checking.watch.tick(began_ns);
        match receiver.receive(socket) {
            Ok(datagrams) => {
                last_ns = now_ns();
                let mut first_arrival_ns = None;
                for datagram in datagrams {
                    let arrival_ns = checking.take(&datagram, last_ns);
                    first_arrival_ns.get_or_insert(arrival_ns);
                    arrived_ns = arrival_ns;
                }
                let idle_ns = first_arrival_ns.unwrap_or(last_ns).saturating_sub(began_ns);
                checking.watch.waited(began_ns, last_ns, idle_ns);
                live.tell(checking.judge.received(), checking.bytes, last_ns);
            }
            Err(error) if is_not_yet(&error) => {
                empty = true;
                checking.watch.idle(began_ns, now_ns(), PATIENCE);
            }
            // An ICMP message about a datagram sent on the same socket; the sender gets it too.
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
        // A receiver that was paused for longer than that may have a full queue.
        if empty && now.saturating_sub(ended.max(last_ns)) >= QUIET_NS {
            return None;
        }
        let overdue = now - ended >= LONGEST_READ_NS;
        if overdue || arrived_ns.saturating_sub(ended) >= LONGEST_TAIL_NS {
            checking.unread = true;
            return None;
        }
    }
}

/// The state of the flow so far.
struct Checking {
    judge: Judge,
    from: Option<IpAddr>,
    /// Ports of that address whose frames belong to earlier runs.
    earlier_ports: Vec<u16>,
    stream: u8,
    /// IP and UDP headers, so that payload is counted as on all other paths.
    header_bytes: u64,
    bytes: u64,
    clock: KernelClock,
    card: CardClock,
    watch: HoldWatch,
    began_ns: u64,
    /// Whether the queue may hold more.
    unread: bool,
    /// No stamp is older than this, see [`OLDER_NS`].
    earliest_ns: u64,
    wanted: usize,
    captures: Vec<Capture>,
    refusals: u64,
    notes: Vec<String>,
}

/// How much older a stamp may be than the previous one, in ns: datagrams may arrive on several processors, and the
/// first may have waited in the queue.
const OLDER_NS: u64 = 1_000_000_000;

impl Checking {
    fn new(socket: &UdpSocket, from: Source, expect: &Expect) -> io::Result<Checking> {
        let layer = match socket.local_addr()?.is_ipv6() {
            true => Layer::UdpIpv6,
            false => Layer::UdpIpv4,
        };
        let wanted = expect.captures.min(MOST_CAPTURES) as usize;
        let now = now_ns();
        Ok(Checking {
            judge: Judge::new(None, 1),
            from: from.ip.map(|ip| ip.to_canonical()),
            earlier_ports: from.earlier_ports,
            stream: expect.stream,
            header_bytes: u64::from(layer.header_bytes()),
            bytes: 0,
            clock: KernelClock::new(now),
            card: CardClock::default(),
            watch: HoldWatch::start(HoldWatch::RECEIVER),
            began_ns: now,
            unread: false,
            earliest_ns: now.saturating_sub(OLDER_NS),
            wanted,
            captures: Vec::with_capacity(wanted),
            refusals: 0,
            notes: Vec::new(),
        })
    }

    /// Judge a datagram that is there at `now_ns`; returns its arrival time in ns.
    #[inline]
    fn take(&mut self, datagram: &Datagram<'_>, now_ns: u64) -> u64 {
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
        let stamp = match (stamp, datagram.device_ns) {
            (Some(kernel_ns), Some(device_ns)) if self.card.stamps_all() => {
                Some(self.card.system_ns(device_ns, kernel_ns))
            }
            (stamp, _) => {
                self.card.missed();
                stamp
            }
        };
        if let Some(stamp) = stamp {
            self.earliest_ns = self.earliest_ns.max(stamp.saturating_sub(OLDER_NS));
        }
        let bytes = datagram.bytes.len() as u64;
        let arrival = stamp.unwrap_or(now_ns);
        if ours
            && self.earlier_ports.contains(&datagram.from.port())
            && Header::parse(datagram.bytes).is_ok()
        {
            self.judge.take_of_another_run();
            return arrival;
        }
        if !self
            .judge
            .take(verdict, bytes + self.header_bytes, Some(arrival))
        {
            return arrival;
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
        arrival
    }

    fn finish(mut self, failure: Option<io::Error>) -> Reception {
        let mut report = self.judge.finish_apart();
        report.was_held(self.watch.finish());
        report.watched_ns = Some(now_ns().saturating_sub(self.began_ns));
        self.notes.extend(self.clock.note());
        if self.refusals > 0 {
            self.notes.push(format!(
                "the peer refused {} sent on this socket",
                format::count(self.refusals, "datagram")
            ));
        }
        report.notes.extend(self.notes);
        Reception {
            report,
            captures: self.captures,
            sent_back_frames: 0,
            by_card: self.card.stamped_all(),
            failure,
        }
    }
}
