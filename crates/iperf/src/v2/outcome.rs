//! What client and server say of a test: its legs, each in one direction, and what went wrong.

use std::net::SocketAddr;
use std::{fmt, io};

use super::datagram::Generation;
use super::intervals::Span;
use super::receive::{Received, Receiver};
use super::send::Sent;
use super::table::{Datagrams, Id, Row};

/// One direction of a test, as this end saw it.
#[derive(Clone, Debug, PartialEq)]
pub enum Leg {
    /// Bytes written to TCP.
    TcpSent {
        /// From the first write to the end of the last.
        span: Span,
        /// Application bytes.
        bytes: u64,
    },
    /// Bytes read from TCP.
    TcpReceived {
        /// From the first to the last.
        span: Span,
        /// Application bytes.
        bytes: u64,
    },
    /// Datagrams sent.
    UdpSent(Box<Sent>),
    /// Datagrams received.
    UdpReceived(Box<UdpReceived>),
}

/// Datagrams received, in our own counting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UdpReceived {
    /// From the first to the last datagram.
    pub span: Span,
    /// What arrived.
    pub received: Received,
    /// RFC 1889 jitter in ps; `None` where the sender writes no times, so that it would mean nothing.
    pub jitter_ps: Option<u64>,
    /// What iperf would show as jitter, in ms.
    pub iperf_jitter_ms: f64,
    /// Numbers missing at the end that may be data or final datagrams.
    pub unattributed: u64,
    /// Whether the final datagram came; without it, losses at the end are not known.
    pub finished: bool,
    /// The kind of sender.
    pub generation: Generation,
}

impl UdpReceived {
    /// What a receiver says.
    pub fn of(receiver: &Receiver) -> UdpReceived {
        UdpReceived {
            span: Span {
                start_ns: receiver.start_ns(),
                end_ns: receiver.last_ns(),
            },
            received: receiver.received(),
            jitter_ps: receiver.jitter_ps(),
            iperf_jitter_ms: receiver.iperf_jitter_ms(),
            unattributed: receiver.unattributed(),
            finished: receiver.is_finished(),
            generation: receiver.generation(),
        }
    }

    /// What a reader of the figures must know.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.jitter_ps.is_none() {
            notes.push(
                "the jitter column means nothing: the sender writes no times into its datagrams, so it shows their spacing"
                    .to_owned(),
            );
        }
        if !self.finished {
            notes.push(
                "no final datagram came: losses after the last datagram are not known".to_owned(),
            );
        }
        if self.unattributed > 0 {
            notes.push(format!(
                "{} numbers are missing at the end: datagrams, or final ones, since iperf numbers both",
                self.unattributed
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
    /// The line of the table for the whole leg.
    pub fn row(&self, id: Id) -> Row {
        let (seconds, bytes, datagrams) = match self {
            Leg::TcpSent { span, bytes } | Leg::TcpReceived { span, bytes } => {
                (span.seconds(), *bytes, None)
            }
            Leg::UdpSent(sent) => (sent.duration_ns as f64 / 1e9, sent.bytes, None),
            Leg::UdpReceived(udp) => (
                udp.span.seconds(),
                udp.received.bytes,
                Some(datagrams(&udp.received, udp.iperf_jitter_ms)),
            ),
        };
        Row {
            id,
            start_s: 0.0,
            end_s: seconds,
            bytes,
            datagrams,
        }
    }
}

/// The columns of a line for datagrams.
pub(super) fn datagrams(received: &Received, jitter_ms: f64) -> Datagrams {
    Datagrams {
        jitter_ms,
        lost: received.lost,
        total: received.sent(),
        out_of_order: received.reordered,
    }
}

/// What went wrong, and the way out.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// A socket could not be bound.
    #[error("cannot listen on {address}: {source}; name another port, or end what uses it")]
    Bind {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// No connection.
    #[error(
        "cannot reach {peer}: {source}; is an iperf 2 server running there (iperf -s, with -u for UDP)?"
    )]
    Connect {
        /// Whom.
        peer: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The peer went away during the test; what was measured until then is kept.
    #[error("{peer} is gone: {source}; the figures are those until then")]
    Gone {
        /// Who.
        peer: SocketAddr,
        /// What the socket said.
        source: io::Error,
    },
    /// Nothing came back.
    #[error(
        "nothing came back from {peer} on port {port}: its iperf may not know this mode, or a firewall or NAT is between; -R uses the same connection"
    )]
    NothingBack {
        /// Who should have.
        peer: SocketAddr,
        /// Where.
        port: u16,
    },
    /// Not built.
    #[error("{0}")]
    Unsupported(&'static str),
}

/// A test: what was measured, and what went wrong, if anything.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The legs, in the order in which they ended.
    pub legs: Vec<(Id, Leg)>,
    /// What went wrong.
    pub trouble: Option<Trouble>,
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
