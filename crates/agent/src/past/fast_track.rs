//! The fast track: frames that match a rule go from the driver to the application past the stack. The loop that
//! serves sockets serves them too, and they are verified like all others.

use std::io;
use std::net::UdpSocket;
use std::os::fd::BorrowedFd;

use wirelab_port::ebpf::Mode;
use wirelab_socket::flow::Expect;
use wirelab_socket::serve::{self, CountingSocket, Inlet, UdpInlet, Watching};
use wirelab_stages::{FastTrack, FastTrackCounters, FastTrackOptions, StagesError, Store};
use wirelab_trial::Wait;
use wirelab_trial::host_clock::now_ns;
use wirelab_wire::check::{Location, classify_data, locate};
use wirelab_wire::rule::Rules;
use wirelab_wire::{Flow, Verdict};

use super::{FastTrackTrial, failed};
use crate::engine::Work;
use crate::udp::{background, of_served};

/// Frames that the socket of a queue holds: 4 MiB of locked memory; the usual limit is 8 MiB.
const FRAMES: u32 = 2048;
/// Bytes of the Ethernet header.
const ETHERNET: usize = 14;

/// What a trial on the fast track needs.
pub struct Track {
    pub rules: Rules,
    pub expect: Expect,
    pub wait: Wait,
    pub beside: Option<CountingSocket>,
    /// Keeps the flow's UDP port, so that the kernel answers a frame on the stack with no ICMP message.
    pub holder: Option<UdpSocket>,
    /// If no rule names the flow's port: the port that a rule names, and the socket for the flow's frames that pass the
    /// stack. The same loop serves this socket.
    pub apart: Option<(u16, UdpInlet)>,
}

/// Open the fast track and plan its work; also its program's mode, and notes for the reader. Frames take it from now
/// on.
///
/// # Errors
/// [`StagesError`]: what is missing, and the fix.
pub fn receive(
    past: &FastTrackTrial,
    track: Track,
    store: Option<&Store>,
) -> Result<(Work, Option<Mode>, Option<String>), StagesError> {
    let options = FastTrackOptions {
        xdp: past.xdp,
        frames: FRAMES,
        patience: serve::PATIENCE,
        ..FastTrackOptions::default()
    };
    let fast = FastTrack::open(&past.port, &track.rules, &options, store)?;
    let mode = fast.node().mode();
    let remark = fast.node().remark().map(str::to_owned);
    let Track {
        expect,
        wait,
        mut beside,
        holder,
        apart,
        ..
    } = track;
    let flow = |udp_port| Flow {
        source: Some(past.peer.0),
        udp_port,
        stream: Some(expect.stream),
        dscp: None,
    };
    let (other_port, stack) = apart.unzip();
    let mut inlet = FastInlet {
        fast,
        judge: Frames {
            peer: past.peer.0,
            flow: flow(past.udp_port),
            other: other_port.map(flow),
            header_bytes: u64::from(past.layer.header_bytes()),
        },
        stack,
    };
    let work: Work = Box::new(move |live, cancel| {
        let mut watching = Watching::new(expect.captures, live);
        let failure = serve::run(&mut inlet, wait, beside.as_mut(), &mut watching, cancel);
        let counted = inlet.fast.counters().map_err(failed)?;
        drop((inlet, holder));
        let mut report = of_served(watching.finish(failure), 0);
        report.counters = counters(&counted);
        report
            .counters
            .extend(beside.as_ref().map(background).unwrap_or_default());
        Ok(report)
    });
    Ok((work, mode, remark))
}

fn counters(counted: &FastTrackCounters) -> Vec<(&'static str, u64)> {
    vec![
        ("fast_track_matched_frames", counted.node.all_matched()),
        ("fast_track_passed_frames", counted.node.passed),
        ("fast_track_no_socket_frames", counted.node.no_socket),
        ("fast_track_received_frames", counted.received_frames),
        ("fast_track_ring_full_frames", counted.ring_full_frames),
        ("fast_track_dropped_frames", counted.dropped_frames),
    ]
}

/// Frames of the fast track, read in place.
struct FastInlet {
    fast: FastTrack,
    judge: Frames,
    /// Frames of the flow that match no rule.
    stack: Option<UdpInlet>,
}

/// The layout of the flow's frames.
struct Frames {
    peer: [u8; 6],
    flow: Flow,
    /// The same layout with the port that a rule names, if that is another one.
    other: Option<Flow>,
    /// IP and UDP headers, so that payload is counted as on all other paths.
    header_bytes: u64,
}

impl Frames {
    #[inline]
    fn show(&self, frame: &[u8], watching: &mut Watching<'_>) {
        let at_ns = now_ns();
        let ours = frame.get(6..12) == Some(&self.peer[..]);
        let found = locate(frame, &self.flow);
        let found = found.or_else(|| locate(frame, self.other.as_ref()?));
        let found = found.filter(|_| ours);
        let (verdict, bytes) = match found {
            None => (Verdict::Foreign, frame.len().saturating_sub(ETHERNET)),
            Some(Location { offset, end }) => {
                let data = &frame[offset..end];
                (classify_data(data, self.flow.stream, ours), data.len())
            }
        };
        let bytes = bytes as u64;
        watching.frame(verdict, bytes + self.header_bytes, bytes, at_ns);
    }
}

impl FastInlet {
    /// Look at all waiting frames of the fast track and one of the stack, since a call returns one.
    fn look(&mut self, watching: &mut Watching<'_>) -> io::Result<usize> {
        let FastInlet { fast, judge, stack } = self;
        let taken = fast.receive_now(|frame| judge.show(frame, watching));
        match stack.as_mut().map(|stack| stack.take(false, watching)) {
            None => Ok(taken),
            Some(Ok(through)) => Ok(taken + through),
            Some(Err(error)) if taken == 0 => Err(error),
            // The error repeats at the next call.
            Some(Err(_)) => Ok(taken),
        }
    }
}

impl Inlet for FastInlet {
    fn sleep(&self, beside: BorrowedFd<'_>) {
        let stack = self.stack.iter().map(UdpInlet::fd);
        serve::sleep(self.fast.fds().chain(stack).chain([beside]));
    }

    fn take(&mut self, sleep: bool, watching: &mut Watching<'_>) -> io::Result<usize> {
        let looked = self.look(watching);
        if !sleep || matches!(looked, Ok(1..)) {
            return looked;
        }
        serve::sleep(self.fast.fds().chain(self.stack.iter().map(UdpInlet::fd)));
        self.look(watching)
    }
}
