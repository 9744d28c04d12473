//! Shared by the tests of the tracer: a lab, an application on the node that answers each datagram, and a tester that
//! sends test frames from a plain socket.

#[path = "../../../port/tests/common/sys.rs"]
#[allow(dead_code, reason = "the tests of ports use the rest")]
mod packet;
mod sys;

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wirelab_port::iface::PortName;
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_stages::{Choice, FlowFilter, Point, PointInfo, StagesError, Tracer, TracerOptions};
use wirelab_trial::host_clock::now_ns;
use wirelab_wire::{Flags, Header};

pub use crate::common::frames::{Dice, HEADER, built, mutated, specs};
pub use crate::common::{lab, lab_of, until};
pub use packet::RawSocket;
pub use sys::{send_spliced, take_long};

/// The port of the node's application.
pub const PORT: u16 = 7000;
/// A port of another application.
pub const OTHER: u16 = 7001;

pub fn node(lab: &EphemeralLab) -> PortName {
    lab.port(0, Side::Node).unwrap()
}

/// Raw tracepoints, which every host allows; WIRELAB_PROBES=fentry for a host that allows more.
pub fn choice() -> Choice {
    let word = std::env::var("WIRELAB_PROBES");
    word.map_or(Choice::Raw, |word| word.parse().unwrap())
}

pub fn options(port: &PortName) -> TracerOptions {
    TracerOptions {
        port: port.clone(),
        filter: FlowFilter {
            udp_ports: vec![PORT],
            one_clock: true,
            ..FlowFilter::default()
        },
        capacity: 65_536,
        choice: choice(),
        xdp: wirelab_stages::Xdp::Auto,
        btf: None,
    }
}

/// The set that sees each frame at its socket: before Linux 6.3 only functions.
pub fn every_point(port: &PortName) -> TracerOptions {
    TracerOptions {
        choice: Choice::Auto,
        ..options(port)
    }
}

pub fn socket(lab: &EphemeralLab, side: Side, port: u16) -> UdpSocket {
    let address = SocketAddr::from((lab.address(0, side), port));
    let bound = lab.netns(side).unwrap();
    let socket = bound.run_in(|| UdpSocket::bind(address)).unwrap().unwrap();
    let patience = Some(Duration::from_secs(20));
    socket.set_read_timeout(patience).unwrap();
    socket
}

/// The datagram of sequence `sequence`, of `len` bytes, stamped now.
pub fn datagram(stream: u8, sequence: u32, len: usize) -> Vec<u8> {
    let mut bytes = vec![0x5A; len];
    let header = Header {
        flags: Flags::TIME_VALID,
        stream,
        sequence,
        time_ns: now_ns(),
        lfsr_len: 0,
    };
    header.emit(bytes.first_chunk_mut().unwrap());
    bytes
}

/// An application on the node that answers each datagram on stream 1, until it is stopped.
pub struct Echo {
    thread: Option<JoinHandle<Vec<u32>>>,
    stop: std::sync::Arc<AtomicBool>,
}

impl Echo {
    pub fn start(socket: UdpSocket, spin: bool) -> Echo {
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        socket.set_nonblocking(spin).unwrap();
        let patience = Some(Duration::from_millis(20));
        socket.set_read_timeout(patience).unwrap();
        let run = move || {
            let mut room = [0; 2048];
            let mut seen = Vec::new();
            while !told.load(Ordering::Relaxed) {
                let Ok((len, from)) = socket.recv_from(&mut room) else {
                    continue;
                };
                let header = Header::parse(&room).unwrap();
                seen.push(header.sequence);
                let answer = datagram(1, header.sequence, len);
                socket.send_to(&answer, from).unwrap();
            }
            seen
        };
        Echo {
            thread: Some(thread::spawn(run)),
            stop,
        }
    }

    /// The sequences it received.
    pub fn stop(mut self) -> Vec<u32> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

/// Send `count` frames one by one, each after the answer to the previous one.
pub fn ping_pong(lab: &EphemeralLab, tester: &UdpSocket, count: u32, len: usize) {
    let to = SocketAddr::from((lab.address(0, Side::Node), PORT));
    let mut room = [0; 2048];
    for sequence in 0..count {
        tester.send_to(&datagram(0, sequence, len), to).unwrap();
        let (got, _) = tester.recv_from(&mut room).unwrap();
        assert_eq!(Header::parse(&room[..got]).unwrap().sequence, sequence);
    }
}

/// The counts of a point; zeros if it is absent.
pub fn info(tracer: &Tracer, point: Point) -> PointInfo {
    let points = tracer.points();
    let of = points.into_iter().find(|i| i.point == point);
    of.unwrap_or_else(|| panic!("no point {point:?}"))
}

/// Print the tracer's notes, for readers of the test's output.
pub fn print(tracer: &Tracer) {
    for info in tracer.points() {
        println!("{info:?}");
    }
    for cost in tracer.costs() {
        println!("{:?} of {} frames", cost.counters(), cost.all.count);
    }
    println!("{:?}", tracer.notes());
}

/// Frames of the flow that a point accounts for.
pub fn accounted(tracer: &Tracer, point: Point) -> u64 {
    let info = info(tracer, point);
    info.counts.taken + info.counts.unmatched + info.counts.dropped + info.counts.unseen
}

/// The sequences of a point's records on a stream, in the order of recording.
pub fn sequences(tracer: &Tracer, point: &str, stream: u8) -> Vec<u32> {
    let times = tracer.times();
    let of = times.iter().find(|t| t.name == point && t.stream == stream);
    of.map_or_else(Vec::new, |t| t.times.iter().map(|r| r.0).collect())
}

pub fn said(result: Result<Tracer, StagesError>) -> String {
    result.err().expect("refused").to_string()
}
