//! The result of a test at client and server: its legs, each in one direction, and the error, if any.

use std::net::SocketAddr;
use std::{fmt, io};

use wirelab_socket::mtu::fragments;
use wirelab_trial::Holds;
use wirelab_trial::slices::Slices;

use super::datagram::Generation;
use super::enhanced::{EnhancedColumns, Reads, Transit};
use super::intervals::Span;
use super::progress::Stall;
use super::receive::{Received, Receiver};
use super::report::ServerReport;
use super::send::Sent;
use super::sent::not_kept;
use super::stream::Pace;
use super::sums::sum_of;
use super::table::{Datagrams, Id, Row};
use crate::options::RefusedOption;
use crate::queue::{Queue, too_slow};

/// Most lines of an outcome. A longer test needs longer intervals, or must handle its lines as they arrive.
pub const MOST_ROWS: usize = 100_000;

/// One direction of a test, as this end saw it.
#[derive(Clone, Debug, PartialEq)]
pub enum Leg {
    /// Bytes written to TCP.
    TcpSent {
        /// From the first write to the end of the last.
        span: Span,
        /// Application bytes.
        bytes: u64,
        /// Writes.
        writes: u64,
        /// Retransmitted segments; `None` where the system does not report them.
        retransmits: Option<u64>,
        /// When the peer had read everything and closed, by the clock of the span; `None` where the client did not wait
        /// for it or it did not happen. Until then bytes are in buffers, so a short test over a slow path looks faster
        /// than the path.
        read_ns: Option<u64>,
        /// The longest pause in which the peer took none of the data, if long enough to report.
        stall: Option<Stall>,
        /// How well the rate was kept; `None` where no rate was requested.
        pace: Option<Box<Pace>>,
        /// Pauses of the sender by its host at full rate, and time of back-pressure.
        holds: Holds,
    },
    /// Bytes read from TCP.
    TcpReceived {
        /// From the first to the last.
        span: Span,
        /// Application bytes.
        bytes: u64,
        /// Reads and their sizes.
        reads: Reads,
        /// One-way times of the writes, where requested (`--trip-times`) and both clocks are synchronized.
        transit: Option<Transit>,
        /// Time in ns in which its own host paused the receiver, where measured.
        held_up_ns: Option<u64>,
        /// Distribution of its bytes over time.
        slices: Slices,
    },
    /// Datagrams sent.
    UdpSent(Box<Sent>),
    /// Datagrams received.
    UdpReceived(Box<UdpReceived>),
}

/// Datagrams received, in wirelab's count.
#[derive(Clone, Debug, PartialEq)]
pub struct UdpReceived {
    /// From the first to the last datagram.
    pub span: Span,
    /// Counts of the datagrams that arrived.
    pub received: Received,
    /// RFC 1889 jitter in ps; `None` where the sender writes no times, so the value would be meaningless.
    pub jitter_ps: Option<u64>,
    /// The jitter that iperf would show, in ms.
    pub iperf_jitter_ms: f64,
    /// One-way times, valid if both clocks are synchronized; `None` where they are implausible.
    pub transit: Option<Transit>,
    /// How often the sender's clock was stepped while it sent.
    pub clock_steps: u64,
    /// Bytes of the longest datagram.
    pub longest_bytes: u64,
    /// MTU in bytes of the local path to the sender, where known: longer datagrams arrive in fragments.
    pub mtu_bytes: Option<u32>,
    /// Packets of the longest datagram on a path with that MTU.
    pub fragments: u32,
    /// Numbers missing at the end that may be data or final datagrams.
    pub unattributed: u64,
    /// Datagrams of other flows on a socket made for this flow.
    pub foreign: u64,
    /// Time in ns in which its own host paused the receiver, where measured.
    pub held_up_ns: Option<u64>,
    /// Distribution of its arrivals over time.
    pub slices: Slices,
    /// Whether the final datagram arrived, or more than was requested; else, losses at the end are unknown.
    pub finished: bool,
    /// The sender's generation.
    pub generation: Generation,
}

impl UdpReceived {
    /// The result of a receiver.
    pub fn of(receiver: &Receiver) -> UdpReceived {
        UdpReceived {
            span: Span {
                start_ns: receiver.start_ns(),
                end_ns: receiver.last_ns(),
            },
            received: receiver.received(),
            jitter_ps: receiver.jitter_ps(),
            iperf_jitter_ms: receiver.iperf_jitter_ms(),
            transit: receiver.transit(),
            clock_steps: receiver.clock_steps(),
            longest_bytes: receiver.longest_bytes(),
            mtu_bytes: None,
            fragments: 1,
            unattributed: receiver.unattributed(),
            foreign: 0,
            held_up_ns: None,
            slices: receiver.slices(),
            finished: receiver.is_finished(),
            generation: receiver.generation(),
        }
    }

    /// Adds the MTU of the local path to the sender.
    #[must_use]
    pub fn with_mtu(mut self, mtu_bytes: Option<u32>, ipv6: bool) -> UdpReceived {
        let longest = u32::try_from(self.longest_bytes).unwrap_or(u32::MAX);
        self.mtu_bytes = mtu_bytes;
        self.fragments = mtu_bytes.map_or(1, |mtu| fragments(longest, mtu, ipv6));
        self
    }

    /// Adds the datagrams that this host dropped.
    #[must_use]
    pub(crate) fn with_queue(self, queue: &Queue<'_>) -> UdpReceived {
        let received = self.received;
        // The datagrams missing after the last number may be those that were certainly dropped.
        let others = !self.finished
            || self.unattributed > 0
            || received.duplicated > 0
            || received.ignored > 0;
        UdpReceived {
            received: received.with_missed(queue.missed(self.longest_bytes, others)),
            foreign: queue.foreign(),
            ..self
        }
    }

    /// Notes for the reader of the figures.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.received.unseen_by_us() > 0 {
            notes.push(too_slow(
                self.received.missed,
                self.received.unseen_by_us(),
                self.received.lost,
            ));
        }
        if let (Some(mtu), 2..) = (self.mtu_bytes, self.fragments) {
            notes.push(format!(
                "fragmented: datagrams of {} bytes come in {} packets on a path with an MTU of {mtu} bytes, and one that is lost loses the datagram; fix: ask for shorter ones (-l)",
                self.longest_bytes, self.fragments
            ));
        }
        if self.jitter_ps.is_none() {
            notes.push(
                "the jitter column means nothing: the sender writes no times into its datagrams, so it shows their spacing"
                    .to_owned(),
            );
        }
        if self.clock_steps > 0 {
            notes.push(format!(
                "the sender's clock was set {} times while it sent: the jitter leaves that out",
                self.clock_steps
            ));
        }
        if !self.finished {
            notes.push(
                "no final datagram arrived: losses after the last datagram are unknown".to_owned(),
            );
        }
        if self.unattributed > 0 {
            notes.push(format!(
                "{} numbers are missing at the end: datagrams, or final ones, since iperf numbers both",
                self.unattributed
            ));
        }
        if self.foreign > 0 {
            notes.push(format!(
                "{} datagrams of others arrived at the same port and fill the same queue: nothing shows whose datagrams it dropped",
                self.foreign
            ));
        }
        if self.received.duplicated > 0 {
            notes.push(format!(
                "{} duplicates: iperf counts them as out of order, and takes each from the losses",
                self.received.duplicated
            ));
        }
        notes
    }
}

impl Leg {
    /// The table line for the whole leg.
    pub fn row(&self, id: Id) -> Row {
        let (seconds, bytes, more) = match self {
            Leg::TcpSent {
                span,
                bytes,
                writes,
                retransmits,
                ..
            } => {
                let more = EnhancedColumns::Writes {
                    writes: *writes,
                    retransmits: *retransmits,
                };
                (span.seconds(), *bytes, more)
            }
            Leg::TcpReceived {
                span,
                bytes,
                reads,
                transit,
                ..
            } => {
                let more = match transit {
                    Some(_) => EnhancedColumns::Bursts(*reads, *transit),
                    None => EnhancedColumns::Reads(*reads),
                };
                (span.seconds(), *bytes, more)
            }
            Leg::UdpSent(sent) => {
                let (writes, errors) = (sent.datagrams, sent.refused);
                let seconds = sent.duration_ns as f64 / 1e9;
                (
                    seconds,
                    sent.bytes,
                    EnhancedColumns::Packets { writes, errors },
                )
            }
            Leg::UdpReceived(udp) => {
                let seconds = udp.span.seconds();
                (
                    seconds,
                    udp.received.bytes,
                    EnhancedColumns::Latency(udp.transit),
                )
            }
        };
        let datagrams = match self {
            Leg::UdpReceived(udp) => {
                let jitter = (udp.iperf_jitter_ms, udp.jitter_ps);
                Some(datagrams(&udp.received, jitter))
            }
            _ => None,
        };
        Row {
            bytes,
            datagrams,
            more: Some(more),
            ..Row::new(id, 0.0, seconds)
        }
    }

    /// Notes for the reader of the figures.
    pub fn notes(&self) -> Vec<String> {
        match self {
            Leg::TcpSent {
                span, pace, stall, ..
            } => {
                let slips = pace.iter().filter(|pace| pace.slips > 0);
                let ns = span.end_ns.saturating_sub(span.start_ns);
                let slips = slips.map(|pace| not_kept(pace.slips, pace.slipped_ns, ns));
                slips.chain(stall.iter().map(Stall::note)).collect()
            }
            Leg::TcpReceived { .. } => Vec::new(),
            Leg::UdpSent(sent) => sent.notes(),
            Leg::UdpReceived(udp) => udp.notes(),
        }
    }

    /// Whether it is unknown what of it arrived.
    pub const fn is_unheard(&self) -> bool {
        matches!(self, Leg::UdpSent(sent) if sent.is_unheard())
    }

    /// Whether this end sent.
    pub const fn is_sent(&self) -> bool {
        matches!(self, Leg::TcpSent { .. } | Leg::UdpSent(_))
    }
}

impl ServerReport {
    /// The table line for the other end's report, in its own count.
    pub fn row(&self, id: Id) -> Row {
        Row {
            bytes: self.bytes,
            datagrams: Some(Datagrams {
                jitter_ms: self.jitter_us as f64 / 1e3,
                jitter_ps: Some(self.jitter_us.saturating_mul(1_000_000)),
                received: self.datagrams.saturating_sub(self.lost),
                lost: self.lost,
                total: self.datagrams,
                out_of_order: self.out_of_order,
            }),
            more: self
                .transit
                .map(|transit| EnhancedColumns::Latency(Some(transit))),
            ..Row::new(id, 0.0, self.duration_us as f64 / 1e6)
        }
    }
}

/// The columns of a line for datagrams; the jitter as iperf shows it in ms, and in ps where it is meaningful.
pub(super) fn datagrams(received: &Received, jitter: (f64, Option<u64>)) -> Datagrams {
    Datagrams {
        jitter_ms: jitter.0,
        jitter_ps: jitter.1,
        received: received.datagrams,
        lost: received.lost,
        total: received.sent(),
        out_of_order: received.reordered,
    }
}

/// An error and its fix.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// A socket could not be bound.
    #[error(
        "cannot listen on {address}: {source}; fix: give an address of this host, and a port that is free"
    )]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// The system refuses an option of a socket.
    #[error(transparent)]
    Refused(#[from] RefusedOption),
    /// No connection.
    #[error("cannot reach {peer}: {source}; fix: {}", fix(source))]
    Connect {
        /// The peer.
        peer: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// The peer disappeared during the test; what was measured before is kept.
    #[error(
        "{peer} is gone: {source}; the figures are those until then; fix: start its iperf again, and check its link"
    )]
    Gone {
        /// The peer.
        peer: SocketAddr,
        /// The error of the socket.
        source: io::Error,
    },
    /// Nothing came back.
    #[error(
        "nothing came back from {peer} on port {port}: its iperf may not have this mode, or refuses it (--receive-only), or a firewall or NAT is between; fix: {fix}"
    )]
    NothingBack {
        /// The peer.
        peer: SocketAddr,
        /// The port.
        port: u16,
        /// What to do in this mode.
        fix: &'static str,
    },
    /// A stream that the peer accepted and left unread.
    #[error(
        "{peer} takes connections and {}; fix: start an iperf 2 server there (iperf -s), or end what blocks it",
        left_unread(*unread, *for_s)
    )]
    NotReading {
        /// The peer.
        peer: SocketAddr,
        /// Bytes that it did not acknowledge; 0 where its system acknowledged everything, but the peer did not close.
        unread: u64,
        /// Duration in s.
        for_s: f64,
    },
    /// A peer that closed the connection immediately.
    #[error(
        "{0} closed the connection at once; fix: allow this host there (--allow), let the server send (without --receive-only), or give the node's token (iperf:HOST,token=FILE)"
    )]
    ClosedAtOnce(SocketAddr),
    /// An iperf3 server in place of one of iperf 2.
    #[error(
        "{0} is an iperf3 server; fix: use iperf3:HOST, or wirelab iperf -3 -c HOST, or start an iperf 2 server there (iperf -s) on another port"
    )]
    IsIperf3(SocketAddr),
    /// A program that is not iperf 2.
    #[error(
        "{0} says what no iperf 2 server says; fix: name the port of an iperf 2 server, or start one there (iperf -s)"
    )]
    NotIperf(SocketAddr),
    /// A peer that accepts data, and sends none of the answers of an iperf 2 server.
    #[error(
        "{0} takes what is sent, and answers neither the header of a test nor a request for traffic back, as any sink would; \
         fix: start an iperf 2 server there (iperf -s, with -u for UDP); where its iperf is one that never answers (NuttX, \
         ESP-IDF), name it iperf:HOST,silent; where a firewall of this host keeps its connection back out, open that"
    )]
    Silent(SocketAddr),
    /// Not implemented.
    #[error("{0}")]
    Unsupported(&'static str),
}

impl Trouble {
    /// The system's error, for callers that pass on only that.
    pub(super) fn into_io(self) -> io::Error {
        match self {
            Trouble::Bind { source, .. }
            | Trouble::Connect { source, .. }
            | Trouble::Gone { source, .. } => source,
            other => io::Error::other(other),
        }
    }

    /// Whether the answer is not from a working iperf 2 server: then no count means anything.
    pub const fn is_wrong_peer(&self) -> bool {
        matches!(
            self,
            Trouble::NotReading { .. }
                | Trouble::ClosedAtOnce(_)
                | Trouble::IsIperf3(_)
                | Trouble::NotIperf(_)
                | Trouble::Silent(_)
        )
    }
}

fn left_unread(unread: u64, for_s: f64) -> String {
    match unread {
        0 => format!(
            "did not read to the end: its system took all, and it did not close the connection within {for_s:.1} s"
        ),
        _ => format!("does not read: it left {unread} bytes unacknowledged for {for_s:.1} s"),
    }
}

fn fix(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NetworkUnreachable => {
            "give the interface an address of that network, or add a route (ip route add): this host has no route there"
        }
        io::ErrorKind::HostUnreachable => "switch the host on, and connect it to the same network",
        _ => "start an iperf 2 server there (iperf -s, with -u for UDP)",
    }
}

/// The result of a test: what was measured, and the error, if any.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The legs, in the order in which they ended.
    pub legs: Vec<(Id, Leg)>,
    /// The lines of `-i` and of sums, in the order in which their intervals ended; at most [`MOST_ROWS`]. A line of
    /// received datagrams has the losses, the reordering and the jitter of its interval.
    pub rows: Vec<Row>,
    /// The error.
    pub trouble: Option<Trouble>,
}

impl Outcome {
    /// The server's generation, as far as known.
    pub fn server(&self) -> Option<Generation> {
        self.legs.iter().find_map(|(_, leg)| match leg {
            Leg::UdpSent(sent) => sent.server,
            _ => None,
        })
    }

    /// The lines for all streams of each direction, this end's traffic first; empty for a single stream.
    pub fn sums(&self) -> Vec<Row> {
        let of = |sent: bool| {
            let legs = self.legs.iter().filter(|(_, leg)| leg.is_sent() == sent);
            let rows: Vec<Row> = legs.map(|(id, leg)| leg.row(*id)).collect();
            sum_of(&rows)
        };
        [true, false].into_iter().filter_map(of).collect()
    }
}

impl PartialEq for Trouble {
    fn eq(&self, other: &Trouble) -> bool {
        self.to_string() == other.to_string()
    }
}

impl fmt::Display for Leg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Leg::TcpSent { .. } => "TCP sent",
            Leg::TcpReceived { .. } => "TCP received",
            Leg::UdpSent(_) => "UDP sent",
            Leg::UdpReceived(_) => "UDP received",
        })
    }
}
