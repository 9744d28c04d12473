//! Echo: a node sends test frames back, and the tester measures the time (`docs/latency.md`).
//!
//! [`probe`] sends on a schedule that does not depend on replies. So a stalled node still gets frames, and each that
//! had to wait counts with its full wait. A tester that waits for a reply before the next frame, as [`ping_pong`]
//! does, has only one frame in a stall (G. Tene: coordinated omission). The round trip therefore counts from the time
//! at which a frame was *due*; the time from its sending is shown beside it.
//!
//! Half a round trip is not a one-way latency, because it is unknown how the two directions share it.

mod ledger;
mod open_loop;
mod ping_pong;
mod probe;
mod reflect;
mod stream;

pub use ping_pong::{PingPong, ping_pong};
pub use probe::probe;
pub use reflect::reflect;
pub use stream::{Blocks, stream_probe};

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};

pub use wirelab_trial::Wait;
use wirelab_trial::job::{CheckReport, SendReport};
use wirelab_trial::{Cancel, Field, Histogram, Pdv, Series};

use crate::flow::{FlowProgress, Offer};

/// The clock that recorded the times of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// The network device, at both ends of the round trip.
    Hardware,
    /// The kernel, next to the driver (SO_TIMESTAMPING, software stamps).
    Kernel,
    /// The application: just before it sends and just after it received.
    Application,
}

impl Stamps {
    /// The word in results.
    pub const fn name(self) -> &'static str {
        match self {
            Stamps::Hardware => "hardware",
            Stamps::Kernel => "kernel",
            Stamps::Application => "application",
        }
    }
}

/// The percentiles of an echo latency that reports show: median to 99.99 %, and the maximum.
pub const PERCENTILES: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 100.0];

/// The result of a probe.
#[derive(Debug)]
pub struct EchoReport {
    /// Frames sent, and how the schedule was kept.
    pub sent: SendReport,
    /// Counts of the replies, and their jitter (RFC 3550) over the round trip. A loss may be in either direction.
    pub received: CheckReport,
    /// From the time each frame was due to the arrival of its echo, in ns. Reports show this latency.
    pub round_trip: Series,
    /// The clock of the arrivals in [`EchoReport::round_trip`].
    pub arrivals: Stamps,
    /// From the sending of each frame to the arrival of its echo, in ns.
    pub from_sending: Series,
    /// The clock of both times in [`EchoReport::from_sending`].
    pub stamps: Stamps,
    /// How late each frame was handed over, in ns: the tester's own part of [`EchoReport::round_trip`].
    pub lateness: Histogram,
    /// The tester's round trip to itself over loopback, from the time due, with the same size and wait mode.
    pub floor: Field<Series>,
    /// How the tester waited.
    pub wait: Wait,
    /// The error that ended it early. The results until then are kept.
    pub failure: Option<io::Error>,
}

impl EchoReport {
    /// All series, for an observation: round trip, round trip from sending, and the floor if measured.
    pub fn series(&self) -> Vec<Series> {
        let floor = self.floor.value().cloned();
        let mut series = vec![self.round_trip.clone(), self.from_sending.clone()];
        series.extend(floor);
        series.retain(|s| s.histogram.count > 0);
        series
    }

    /// Delay variation of the round trip against its smallest (RFC 5481); `None` without replies.
    pub fn pdv(&self) -> Option<Pdv> {
        Pdv::of(&self.round_trip)
    }
}

/// The tester's own floor: round trips to its own reflector over loopback, measured like those of a node.
///
/// It is the lowest latency that a node without delay could show, with a reflector in an application of this host.
pub fn floor(offer: &Offer, ipv6: bool, wait: Wait, cancel: &Cancel) -> Field<Series> {
    open_loop::floor_field(measure_floor(offer, ipv6, wait, cancel))
}

fn measure_floor(offer: &Offer, ipv6: bool, wait: Wait, cancel: &Cancel) -> io::Result<Series> {
    let bind = || match ipv6 {
        false => UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)),
        true => UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)),
    };
    let (tester, mirror) = (bind()?, bind()?);
    tester.connect(mirror.local_addr()?)?;
    // Two spinning threads need two cores; on one, each would wait for the other's time slice.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let own = if cores < 2 { Wait::Sleep } else { wait };
    let source = tester.local_addr()?.ip();
    let reflector = |over: &Cancel| {
        let _ = reflect(
            &mirror,
            Some(source),
            None,
            own,
            &FlowProgress::default(),
            over,
        );
    };
    let probed = |offer: &Offer| probe::run(&tester, offer, own, cancel);
    open_loop::floor(offer, reflector, probed)
}
