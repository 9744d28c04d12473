//! The tester's side of a trial on a wire: it builds each frame, and judges each that arrives.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wirelab_control::message::{Start, Started};
use wirelab_control::value::Mac;
use wirelab_port::wire::FrameWire;
use wirelab_socket::Progressing;
use wirelab_socket::flow::{FlowProgress, Offer, Reception, Sent};
use wirelab_trial::host_clock::{now_ns, wait_until};
use wirelab_trial::job::{CheckReport, Judge, Pace};
use wirelab_trial::system_error::system_fix;
use wirelab_trial::{Cancel, Direction, FixedSeries, Layer, NodeError, Sizes, TrialField};
use wirelab_wire::header::UDP_PORT;
use wirelab_wire::{Flags, Flow, FrameSpec, Header, Transport, classify};

use super::super::flows::{Sides, Work, WorkResult};
use super::super::plan::NodeTrial;
use super::{Ends, PATH, SharedWire, arp};

/// Without a frame for this long after the end, all have arrived.
const QUIET: Duration = Duration::from_millis(30);
/// The same for echoes, which travel in both directions.
const QUIET_ECHO: Duration = Duration::from_millis(200);
/// How much longer to follow a flow that does not end.
const LONGEST_TAIL: Duration = Duration::from_secs(10);
/// Time between checks whether to end.
const LOOK: Duration = Duration::from_millis(2);
/// Pause on a full wire.
const NAP: Duration = Duration::from_micros(50);

/// A trial's handle of a wire.
#[derive(Clone)]
pub struct WireHandle {
    shared: Arc<SharedWire>,
    ends: Ends,
}

/// Judges frames until this value is dropped.
pub struct Judging {
    shared: Arc<SharedWire>,
    state: Arc<Mutex<State>>,
}

struct State {
    judge: Option<Judge>,
    last_ns: u64,
}

impl Drop for Judging {
    fn drop(&mut self) {
        *self.shared.taker() = None;
    }
}

impl WireHandle {
    pub(super) fn new(shared: Arc<SharedWire>, ends: Ends) -> WireHandle {
        WireHandle { shared, ends }
    }

    /// Sends the node the destination of its frames, and starts to judge if something will arrive.
    ///
    /// # Errors
    /// [`NodeError::Unsupported`] for layers that need a stack on the tester's side.
    pub fn prepare(
        &self,
        plan: &NodeTrial,
        start: &mut Start,
    ) -> Result<Option<Judging>, NodeError> {
        let layer = plan.resolved.trial.framing.layer;
        if !matches!(layer, Layer::Ethernet | Layer::UdpIpv4) {
            let why = "this board is on a wire whose frames wirelab builds, which carries only Ethernet and UDP over IPv4; fix: run it with sudo, and it gets an interface of this host (TAP) and all layers";
            return Err(NodeError::unsupported(TrialField::Layer, why));
        }
        start.peer_mac = Some(Mac(self.ends.tester_mac));
        if layer == Layer::UdpIpv4 {
            start.peer_ip = Some(self.ends.tester_ip.into());
            start.peer_port = Some(UDP_PORT);
            // Otherwise the node's first datagrams would wait for its own ARP request, or get lost.
            let learnt = self.shared.frames.send(&arp::request(&self.ends));
            learnt.map_err(|e| {
                NodeError::Failed(format!(
                    "the wire to the node: {e}; fix: {}",
                    system_fix(&e)
                ))
            })?;
        }
        let stream = match plan.resolved.trial.direction {
            Direction::Receive => return Ok(None),
            Direction::Echo => plan.streams.to_node,
            Direction::Transmit | Direction::Both => plan.streams.from_node,
        };
        Ok(Some(self.judge(plan, stream)))
    }

    fn judge(&self, plan: &NodeTrial, stream: u8) -> Judging {
        let flow = Flow {
            source: Some(self.ends.node_mac),
            udp_port: UDP_PORT,
            stream: Some(stream),
            dscp: None,
        };
        // Frames of another layer do not belong to this trial.
        let ethertype = match plan.resolved.trial.framing.layer {
            Layer::Ethernet => None,
            _ => Some([8, 0]),
        };
        let every = if plan.resolved.frames_per_s.is_some() {
            1
        } else {
            16
        };
        let state = Arc::new(Mutex::new(State {
            judge: Some(Judge::new(None, every)),
            last_ns: 0,
        }));
        let of_taker = Arc::clone(&state);
        *self.shared.taker() = Some(Box::new(move |frame, arrival_ns| {
            if ethertype.is_some_and(|wanted| frame.get(12..14) != Some(&wanted)) {
                return;
            }
            let verdict = classify(frame, &flow);
            let mut state = of_taker.lock().unwrap_or_else(|e| e.into_inner());
            let payload = frame.len().saturating_sub(14) as u64;
            let taken = state
                .judge
                .as_mut()
                .is_some_and(|judge| judge.take(verdict, payload, Some(arrival_ns)));
            if taken {
                state.last_ns = arrival_ns;
            }
        }));
        Judging {
            shared: Arc::clone(&self.shared),
            state,
        }
    }

    /// The tester's work in the started trial.
    pub fn sides<'a>(
        &self,
        plan: &'a NodeTrial,
        started: &Started,
        judging: Option<Judging>,
    ) -> Sides<'a> {
        let mut sides = Sides::default();
        if !plan.resolved.tester_sends() {
            sides.receive = judging.map(checking);
            return sides;
        }
        let (mirror, judging) = match plan.resolved.trial.direction {
            Direction::Echo => (judging, None),
            _ => (None, judging),
        };
        let (shared, spec) = (Arc::clone(&self.shared), self.spec(plan, started));
        sides.send = Some(Box::new(move |_: &FlowProgress, cancel: &Cancel| {
            let sent = send(
                &*shared.frames,
                &plan.offer(),
                &plan.resolved.sizes,
                &spec,
                cancel,
            );
            let received = mirror.map(|mirror| mirror.finish(QUIET_ECHO, true));
            let mut series = Vec::new();
            let received = received.map(|mut report| {
                series.append(&mut report.series);
                // The judge's latency is here the round trip, by one clock.
                series
                    .iter_mut()
                    .for_each(|s| s.name = FixedSeries::ROUND_TRIP.into());
                Reception {
                    report,
                    ..Reception::default()
                }
            });
            Ok(WorkResult {
                sent: Some(sent),
                received,
                series,
                path: Some(PATH.to_owned()),
                ..WorkResult::default()
            })
        }));
        sides.receive = judging.map(checking);
        sides
    }

    fn spec(&self, plan: &NodeTrial, started: &Started) -> FrameSpec {
        let Ends {
            node_mac,
            node_ip,
            tester_mac,
            tester_ip,
        } = self.ends;
        let transport = match plan.resolved.trial.framing.layer {
            Layer::Ethernet => Transport::Ethernet,
            _ => Transport::UdpIpv4 {
                addresses: [tester_ip, node_ip],
                ports: [UDP_PORT, started.node_port.unwrap_or(UDP_PORT)],
            },
        };
        FrameSpec {
            destination: node_mac,
            source: tester_mac,
            vlans: match plan.resolved.trial.framing.vlan_tags {
                0 => [None, None],
                1 => [Some(100), None],
                _ => [Some(100), Some(101)],
            },
            transport,
            dscp: plan.dscp,
        }
    }
}

impl Judging {
    /// Waits until nothing has arrived for `quiet`, and returns the report; with latencies if one clock gave both
    /// times.
    fn finish(self, quiet: Duration, one_clock: bool) -> CheckReport {
        let ns = |time: Duration| time.as_nanos() as u64;
        let begun = now_ns();
        loop {
            let last = self.lock().last_ns.max(begun);
            let now = now_ns();
            if now.saturating_sub(last) >= ns(quiet) || now - begun >= ns(LONGEST_TAIL) {
                break;
            }
            std::thread::sleep(LOOK);
        }
        let judge = self.lock().judge.take();
        judge.map_or_else(CheckReport::default, |judge| match one_clock {
            true => judge.finish(),
            false => judge.finish_apart(),
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// Judges until the flag is set.
fn checking<'a>(judging: Judging) -> Work<'a> {
    Box::new(move |_, cancel| {
        while !cancel.is_cancelled() {
            std::thread::sleep(LOOK);
        }
        Ok(WorkResult {
            received: Some(Reception {
                report: judging.finish(QUIET, false),
                ..Reception::default()
            }),
            path: Some(PATH.to_owned()),
            ..WorkResult::default()
        })
    })
}

/// Sends a flow, until its extent is reached or `cancel` is set.
pub(super) fn send(
    frames: &dyn FrameWire,
    offer: &Offer,
    sizes: &Sizes,
    spec: &FrameSpec,
    cancel: &Cancel,
) -> Sent {
    let paced = offer.pace != Pace::Max;
    let mut frame = vec![0; sizes.length as usize];
    let mut run = Progressing::new(offer, now_ns());
    let mut failure = None;
    while run.left() > 0 && !cancel.is_cancelled() {
        let due = run.due_ns();
        let now = match (due, paced) {
            (Some(due), _) => {
                let now = wait_until(due, cancel);
                if now < due {
                    break;
                }
                now
            }
            (None, true) => break,
            (None, false) => now_ns(),
        };
        if run.is_over(now) {
            break;
        }
        run.start(now);
        let header = Header {
            flags: if offer.with_time {
                Flags::TIME_VALID
            } else {
                Flags::NONE
            },
            stream: offer.stream,
            sequence: run.sequences as u32,
            time_ns: if offer.with_time { now } else { 0 },
            lfsr_len: 0,
        };
        let length = spec.build(sizes, &header, &mut frame);
        match offered(frames, &frame[..length], paced, cancel) {
            Ok(true) => {}
            Ok(false) => run.report.refused_frames += 1,
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
        run.frame(now);
    }
    let mut report = run.finish(now_ns());
    report.kernel_copied = Some(true);
    Sent {
        report,
        failure,
        ..Sent::default()
    }
}

/// Sends a frame; a frame without its own due time waits for room, as on a full link.
fn offered(frames: &dyn FrameWire, frame: &[u8], paced: bool, cancel: &Cancel) -> io::Result<bool> {
    loop {
        match frames.send(frame)? {
            true => return Ok(true),
            false if paced || cancel.is_cancelled() => return Ok(false),
            false => std::thread::sleep(NAP),
        }
    }
}
