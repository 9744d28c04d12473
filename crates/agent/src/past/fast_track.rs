//! The fast track: frames that a rule wants, from the driver to the application past the stack, served by the loop
//! that serves sockets, and verified like any others.

use std::io;
use std::net::UdpSocket;
use std::os::fd::BorrowedFd;

use wirelab_port::ebpf::Mode;
use wirelab_socket::flow::Expect;
use wirelab_socket::serve::{self, Beside, Inlet, UdpInlet, Watching};
use wirelab_stages::{FastTrack, FastTrackCounters, FastTrackOptions, StagesError, Store};
use wirelab_trial::Wait;
use wirelab_trial::host_clock::now_ns;
use wirelab_wire::check::{Location, classify_data, locate};
use wirelab_wire::rule::Rules;
use wirelab_wire::{Flow, Verdict};

use super::{Past, failed};
use crate::engine::Work;
use crate::udp::{background, of_served};

/// Frames that the socket of a queue holds: 4 MiB of memory, which is locked, and ordinary limits are 8 MiB.
const FRAMES: u32 = 2048;
/// Bytes of the Ethernet header.
const ETHERNET: usize = 14;

/// What a trial on the fast track is made of.
pub struct Track {
    pub rules: Rules,
    pub expect: Expect,
    pub wait: Wait,
    pub beside: Option<Beside>,
    /// Keeps the flow's UDP port: a frame that takes the stack after all is answered by no ICMP message.
    pub holder: Option<UdpSocket>,
    /// Where no rule names the flow's port: the port that one does name, and what takes the frames of the flow that go
    /// through the stack, in the same loop.
    pub apart: Option<(u16, UdpInlet)>,
}

/// Open the fast track and plan its work; also where its program sits, and what a reader must know of it. Frames that
/// come from now on take it.
///
/// # Errors
/// [`StagesError`]: what is missing, and the fix.
pub fn receive(
    past: &Past,
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
        let mut told = of_served(watching.finish(failure), 0);
        told.counters = counters(&counted);
        told.counters
            .extend(beside.as_ref().map(background).unwrap_or_default());
        Ok(told)
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

/// Frames of the fast track, each where it lies.
struct FastInlet {
    fast: FastTrack,
    judge: Frames,
    /// Frames of the flow that no rule wants.
    stack: Option<UdpInlet>,
}

/// What the frames of the flow are.
struct Frames {
    peer: [u8; 6],
    flow: Flow,
    /// The same to the port that a rule names, where that is another.
    other: Option<Flow>,
    /// IP and UDP headers, so that payload is counted as on all other ways to receive.
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
    /// What is there: of the fast track all, of the stack one frame, since a call brings one.
    fn look(&mut self, watching: &mut Watching<'_>) -> io::Result<usize> {
        let FastInlet { fast, judge, stack } = self;
        let taken = fast.receive_now(|frame| judge.show(frame, watching));
        match stack.as_mut().map(|stack| stack.take(false, watching)) {
            None => Ok(taken),
            Some(Ok(through)) => Ok(taken + through),
            Some(Err(error)) if taken == 0 => Err(error),
            // It is there the next time too.
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
