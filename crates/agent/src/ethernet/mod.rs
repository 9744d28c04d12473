//! Ethernet trials on the interface of the node: source, sink and echo of test frames, to and from one address.
//!
//! Source and sink are those of the portable path (`wirelab_port::packet`). With capture points, frames pass one by
//! one through their own socket, which the kernel timestamps.

mod capture;
mod echo;
mod link;
mod paced;
mod singly;

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

use wirelab_control::value::Mac;
use wirelab_port::iface::Interface;
use wirelab_port::inject::Schedule;
use wirelab_port::job::{CheckJob, SendJob};
use wirelab_port::packet::{CheckOptions, Checker, SendOptions, send};
use wirelab_socket::flow::{Expect, FlowProgress, Offer, Reception, Sent};
use wirelab_socket::serve::CountingSocket;
use wirelab_trial::job::{CheckReport, Pace, SendReport};
use wirelab_trial::{Buffers, Cancel, Direction, Wait};
use wirelab_wire::{Flow, FrameSpec, Sizes, Transport};

use crate::engine::{TrialWork, Work, WorkReport};
use crate::meter::stamp;
use crate::udp::{AFTER_REPLY, sink_singly, wait};
use link::TestSocket;

/// Bytes of the receive ring: 0.08 s of the smallest frames at 1 M frames/s.
const RING_BYTES: usize = 16 << 20;
/// Interval between two readings of a checker's progress.
const LOOK: Duration = Duration::from_millis(5);

/// A requested Ethernet trial.
#[derive(Debug)]
pub struct EthernetTrial {
    pub direction: Direction,
    pub interface: Interface,
    pub peer: Mac,
    pub sizes: Option<Sizes>,
    pub offer: Option<Offer>,
    pub expect: Expect,
    /// The stream of the frames to send back; frames of other streams are foreign. `None` if the peer names none.
    pub echo_stream: Option<u8>,
    pub buffers: Option<Buffers>,
    pub expected_frames: Option<u64>,
    /// How to wait for frames that are taken one by one, and a second socket that the same loop serves.
    pub one_by_one: Option<(Wait, Option<CountingSocket>)>,
}

/// Open what a trial needs and plan its work; frames are received from now on. `opened` gets the socket that receives
/// one by one, if there is one.
pub fn plan(
    mut trial: EthernetTrial,
    opened: &dyn Fn(BorrowedFd<'_>) -> io::Result<()>,
) -> io::Result<TrialWork> {
    let beside = trial.one_by_one.as_mut().and_then(|(_, b)| b.take());
    let receive = match (trial.direction, &trial.one_by_one) {
        (Direction::Transmit, _) => None,
        (Direction::Echo, _) => Some(echo::work(&trial)?),
        (Direction::Receive | Direction::Both, None) => Some(check(&trial)?),
        (Direction::Receive | Direction::Both, Some((wait, _))) => {
            let link = TestSocket::open(&trial.interface)?;
            opened(link.fd())?;
            let blocking = *wait == Wait::Sleep && beside.is_none();
            let inlet = singly::LinkInlet::new(link, trial.peer, trial.expect.stream, blocking);
            Some(sink_singly(Box::new(inlet), *wait, beside, trial.expect))
        }
    };
    let expected_frames = trial.expected_frames;
    let send = match (trial.offer, trial.sizes) {
        (Some(offer), Some(sizes)) => Some(source(trial, offer, sizes)?),
        _ => None,
    };
    Ok(TrialWork {
        send,
        receive,
        expected_frames,
        ..TrialWork::default()
    })
}

/// The layout of the frames that the node sends.
fn frame(trial: &EthernetTrial) -> FrameSpec {
    spec(&trial.interface, trial.peer, Transport::Ethernet)
}

/// Frames from the interface to a peer.
pub fn spec(interface: &Interface, peer: Mac, transport: Transport) -> FrameSpec {
    FrameSpec {
        destination: peer.0,
        source: interface.mac.0,
        vlans: [None, None],
        transport,
        dscp: 0,
    }
}

fn source(trial: EthernetTrial, offer: Offer, sizes: Sizes) -> io::Result<Work> {
    let paced = offer.pace != Pace::Max && trial.buffers.is_none();
    if paced && (trial.expect.captures > 0 || trial.one_by_one.is_some()) {
        let link = TestSocket::open(&trial.interface)?;
        let manner = paced::Manner {
            wanted: trial.expect.captures,
            stamps: trial.one_by_one.is_none(),
            wait: trial.one_by_one.as_ref().map_or(Wait::Sleep, |one| one.0),
        };
        return Ok(paced::work(link, frame(&trial), offer, sizes, manner));
    }
    let job = job(frame(&trial), &offer, sizes, trial.buffers);
    let port = trial.interface.port;
    Ok(sending(sizes.payload, move |cancel| {
        send(&port, &job, &SendOptions::default(), cancel).map_err(io::Error::other)
    }))
}

/// The generator's job for an offer.
pub fn job(frame: FrameSpec, offer: &Offer, sizes: Sizes, buffers: Option<Buffers>) -> SendJob {
    SendJob {
        frame,
        sizes,
        stream: offer.stream,
        with_time: offer.with_time,
        pace: offer.pace,
        extent: offer.extent,
        faults: Schedule::default(),
        buffers,
    }
}

/// The work of a generator. It starts after the peer has its reply. `bytes` of each frame are counted.
pub fn sending(
    bytes: u32,
    run: impl FnOnce(&Cancel) -> io::Result<SendReport> + Send + 'static,
) -> Work {
    Box::new(move |live, cancel| {
        wait(AFTER_REPLY, cancel);
        stamp(live);
        let report = run(cancel)?;
        report_sent(live, &report, u64::from(bytes));
        Ok(WorkReport::sent(Sent {
            report,
            ..Sent::default()
        }))
    })
}

/// Report the end of a sender.
pub fn report_sent(live: &FlowProgress, report: &SendReport, payload: u64) {
    live.first_ns.store(report.first_ns, Ordering::Relaxed);
    live.last_ns.store(report.last_ns, Ordering::Relaxed);
    live.frames.store(report.emitted_frames, Ordering::Relaxed);
    live.bytes.store(
        report.emitted_frames.saturating_mul(payload),
        Ordering::Relaxed,
    );
}

fn check(trial: &EthernetTrial) -> io::Result<Work> {
    let job = CheckJob {
        flow: Flow {
            source: Some(trial.peer.0),
            udp_port: 0,
            stream: Some(trial.expect.stream),
            dscp: None,
        },
        slots: None,
        time_every: 1,
    };
    let options = CheckOptions {
        ring_bytes: Some(RING_BYTES),
        one_flow_at_a_time: true,
        ..CheckOptions::default()
    };
    let checker = Checker::start(&trial.interface.port, &job, options).map_err(io::Error::other)?;
    let capturing = (trial.expect.captures > 0)
        .then(|| TestSocket::open(&trial.interface))
        .transpose()?;
    let (peer, expect) = (trial.peer, trial.expect);
    Ok(Box::new(move |live, cancel| {
        let captures = std::thread::scope(|scope| {
            let capture = |link: TestSocket| {
                scope.spawn(move || capture::arrivals(&link, peer, &expect, cancel))
            };
            let captures = capturing.map(capture);
            watch(&checker, live, cancel);
            captures
                .map(|thread| thread.join().unwrap_or_default())
                .unwrap_or_default()
        });
        let report = checker.finish(Duration::ZERO).map_err(io::Error::other)?;
        report_received(live, &report);
        Ok(WorkReport::received(Reception {
            report,
            captures,
            ..Reception::default()
        }))
    }))
}

/// Report a checker's progress until the trial is over.
fn watch(checker: &Checker, live: &FlowProgress, cancel: &Cancel) {
    while !cancel.is_cancelled() {
        std::thread::sleep(LOOK);
        let frames = checker.received_frames();
        if frames != live.frames.load(Ordering::Relaxed) {
            live.frames.store(frames, Ordering::Relaxed);
            stamp(live);
        }
    }
}

fn report_received(live: &FlowProgress, report: &CheckReport) {
    live.frames
        .store(report.counts.received_frames, Ordering::Relaxed);
    live.bytes
        .store(report.counts.verified_payload_bytes, Ordering::Relaxed);
    for (time, cell) in [(report.first, &live.first_ns), (report.last, &live.last_ns)] {
        if let Some((ns, _)) = time {
            cell.store(ns, Ordering::Relaxed);
        }
    }
}
