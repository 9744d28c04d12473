//! The tester at line 0: it sends a frame, waits for its echo, and compares every byte.

use std::net::Ipv4Addr;

use wirelab_trial::job::{CheckReport, Judge, SendReport};
use wirelab_trial::series::{HistogramBuilder, SeriesBuilder};
use wirelab_trial::{Cancel, Clock, ClockKind, FixedSeries, NodeError, Owner, Sizes};
use wirelab_wire::{Flags, Flow, FrameSpec, Header, Overhead, Transport, Verdict, classify, fcs};

use super::plan::ReferenceTrial;
use super::{REST_CLOCKS, TESTER_IP};
use crate::reference::{CLOCKS_PER_BYTE, REFERENCE_CLOCK_PS, Reference, TimedFrame};

/// The tester's address, which occurs only on this line.
const TESTER_MAC: [u8; 6] = [0x02, 0x57, 0x4C, 55, 0, 1];
/// The tester's UDP port.
const TESTER_PORT: u16 = 40_001;
/// Stream of the tester's frames.
pub const STREAM: u8 = 0;
/// Clocks after which a frame is lost: 10 ms, a hundred times an echo's delay.
const ANSWER_CLOCKS: u64 = 1_000_000;
/// Sequence of the warm-up frame, which is not counted.
pub const WARM_UP: u32 = 0;
/// Clocks between two checks for a cancel during a rest: about 30 ms of the host's time.
const SLICE_CLOCKS: u64 = 65_536;
/// A prime number of delays before the next frame, in clocks: each of 0 to 520 occurs once, then each of the next 521,
/// and so on.
const DISTANCES: u64 = 521;
/// Step between the delays of consecutive frames, so that neighbours differ: about 0.38 of [`DISTANCES`] and not near
/// a multiple of the line's byte.
const DISTANCE_STEP: u64 = 197;
/// The line's clock as the tester reads it.
const SIMULATED: Clock = Clock {
    kind: ClockKind::Simulated,
    tick_ps: Some(REFERENCE_CLOCK_PS),
    resolution_ticks: 1,
    owner: Owner::Tester,
};

/// The node's addresses on the line.
#[derive(Clone, Copy, Debug)]
pub struct NodeAddress {
    /// Its Ethernet address.
    pub mac: [u8; 6],
    /// Its IPv4 address.
    pub ip: Ipv4Addr,
}

/// Echoes, one after the other.
pub struct Echoes {
    spec: FrameSpec,
    sizes: Sizes,
    interval_clocks: u64,
    /// Frames of the trial in earlier parts.
    ahead: u64,
    /// Clocks of a frame on the line.
    line_clocks: u64,
    flow: Flow,
    judge: Judge,
    latency: SeriesBuilder,
    gaps: HistogramBuilder,
    /// Used sequences.
    pub sent: u64,
    first_ps: Option<u64>,
    last_ps: u64,
}

impl Echoes {
    /// Nothing has been sent yet; `ahead` frames of the trial are in earlier parts.
    pub fn new(plan: &ReferenceTrial, to: NodeAddress, ahead: u64) -> Echoes {
        Echoes {
            spec: FrameSpec {
                destination: to.mac,
                source: TESTER_MAC,
                vlans: [None; 2],
                transport: Transport::UdpIpv4 {
                    addresses: [TESTER_IP, to.ip],
                    ports: [TESTER_PORT, plan.node_port],
                },
                dscp: 0,
            },
            sizes: plan.resolved.sizes,
            interval_clocks: plan.interval_clocks,
            ahead,
            line_clocks: CLOCKS_PER_BYTE * Overhead::default().link_bytes(&plan.resolved.sizes),
            flow: Flow {
                source: Some(to.mac),
                udp_port: TESTER_PORT,
                stream: Some(STREAM),
                dscp: None,
            },
            judge: Judge::new(None, 1),
            latency: SeriesBuilder::new(FixedSeries::LATENCY, SIMULATED, 0),
            gaps: HistogramBuilder::new(),
            sent: 0,
            first_ps: None,
            last_ps: 0,
        }
    }

    /// Sends a frame that is not counted.
    ///
    /// # Errors
    /// If it does not return unchanged.
    pub fn warm_up(&mut self, node: &mut Reference, cancel: &Cancel) -> Result<(), NodeError> {
        let begun = node.clocks();
        let content = self.send(node, WARM_UP);
        let back = self.wait(node, |echoes, back| {
            is_good(echoes.verdict(back, &content), WARM_UP)
        });
        while node.take_received().is_some() {}
        self.rest(node, begun, back.as_ref(), cancel);
        back.map(|_| ()).ok_or_else(|| {
            NodeError::Failed(
                "hdl:reference: the first frame did not return unchanged within 10 ms of simulated time; fix: give a program that returns frames"
                    .to_owned(),
            )
        })
    }

    /// Sends the next frame, waits until it has returned or is lost, and then until the next one is due or the run is
    /// cancelled.
    pub fn next(&mut self, node: &mut Reference, cancel: &Cancel) {
        let sequence = WARM_UP + 1 + self.sent as u32;
        let begun = node.clocks();
        let content = self.send(node, sequence);
        self.sent += 1;
        let mut good = false;
        let back = self.wait(node, |echoes, back| {
            let verdict = echoes.verdict(back, &content);
            good = is_good(verdict, sequence);
            verdict.is_some_and(|verdict| echoes.take(verdict, back))
        });
        if let Some(back) = back.as_ref().filter(|_| good) {
            self.time(node, back);
        }
        self.rest(node, begun, back.as_ref(), cancel);
    }

    /// Puts a frame on the line; returns the expected echo.
    fn send(&self, node: &mut Reference, sequence: u32) -> Vec<u8> {
        let header = Header {
            flags: Flags::TIME_VALID,
            stream: STREAM,
            sequence,
            time_ns: node.now_ps() / 1000 % wirelab_wire::header::TIME_MODULUS,
            lfsr_len: 0,
        };
        let mut frame = vec![0; self.sizes.length as usize];
        self.spec.build(&self.sizes, &header, &mut frame);
        let content = frame[self.spec.header_offset()..].to_vec();
        frame.extend(fcs::fcs(&frame));
        while node.take_received().is_some() {}
        node.send(&frame);
        content
    }

    /// The first returned frame for which `is_it` is true, if it arrives in time.
    fn wait(
        &mut self,
        node: &mut Reference,
        mut is_it: impl FnMut(&mut Self, &TimedFrame) -> bool,
    ) -> Option<TimedFrame> {
        let until = node.clocks() + ANSWER_CLOCKS;
        while node.clocks() < until {
            node.run_until(until - node.clocks(), |node| node.sent_frames() > 0);
            let back = node.take_sent()?;
            if is_it(self, &back) {
                return Some(back);
            }
        }
        None
    }

    /// Leaves the node idle until the next frame. Each frame of a trial, in any part, arrives at another phase of the
    /// byte clock and of the program's loop.
    fn rest(&self, node: &mut Reference, begun: u64, back: Option<&TimedFrame>, cancel: &Cancel) {
        let answered = back.map_or(node.clocks(), |back| back.start_ps / REFERENCE_CLOCK_PS);
        let next = (answered + REST_CLOCKS).saturating_sub(self.line_clocks);
        let next = next.max(begun + self.interval_clocks).max(node.clocks());
        let next = next + distance(self.ahead + self.sent);
        while node.clocks() < next && !cancel.is_cancelled() {
            node.run(SLICE_CLOCKS.min(next - node.clocks()));
        }
    }

    /// The verdict on a complete frame, if it must equal the sent one in every byte.
    fn verdict(&self, back: &TimedFrame, content: &[u8]) -> Option<Verdict> {
        if back.marked || !fcs::is_right(&back.bytes) {
            return None;
        }
        let bytes = &back.bytes[..back.bytes.len() - 4];
        let offset = self.spec.header_offset();
        Some(match classify(bytes, &self.flow) {
            Verdict::Good(header) if bytes.get(offset..) != Some(content) => {
                Verdict::Corrupted(header)
            }
            verdict => verdict,
        })
    }

    /// Counts a frame; returns whether it belongs to the flow.
    fn take(&mut self, verdict: Verdict, back: &TimedFrame) -> bool {
        let payload = u64::from(self.sizes.payload);
        let taken = self
            .judge
            .take(verdict, payload, Some(back.start_ps / 1000));
        if taken {
            match self.first_ps {
                None => self.first_ps = Some(back.start_ps),
                Some(_) => self.gaps.record((back.start_ps - self.last_ps) / 1000),
            }
            self.last_ps = back.start_ps;
        }
        taken
    }

    /// The delay of a frame from the last bit in to the first bit out (RFC 1242, 3.8: store and forward).
    fn time(&mut self, node: &mut Reference, back: &TimedFrame) {
        if let Some(sent) = node.take_received() {
            let ps = back.start_ps.saturating_sub(sent.end_ps);
            self.latency.push(ps / REFERENCE_CLOCK_PS);
        }
    }

    /// The reports of sender and checker.
    pub fn finish(self) -> (SendReport, CheckReport) {
        let sent = SendReport {
            emitted_frames: self.sent,
            sequences: self.sent,
            first_ns: self.first_ps.unwrap_or(0) / 1000,
            last_ns: self.last_ps / 1000,
            gap: self.gaps.finish(Some(1000)),
            ..SendReport::default()
        };
        let mut received = self.judge.finish_apart();
        if self.latency.count() > 0 {
            received.series.push(self.latency.finish());
        }
        (sent, received)
    }
}

/// The delay before a frame of a trial, in clocks; all differ.
const fn distance(frame: u64) -> u64 {
    frame / DISTANCES * DISTANCES + frame % DISTANCES * DISTANCE_STEP % DISTANCES
}

fn is_good(verdict: Option<Verdict>, sequence: u32) -> bool {
    matches!(verdict, Some(Verdict::Good(header)) if header.sequence == sequence)
}

/// Resolves the node's Ethernet address, as a host does first; the node then knows the tester's.
///
/// # Errors
/// If there is no reply.
pub fn resolve(node: &mut Reference, ip: Ipv4Addr) -> Result<NodeAddress, NodeError> {
    // ARP (RFC 826): a request for IPv4 over Ethernet.
    let mut request = [[0xFF; 6], TESTER_MAC].concat();
    request.extend([0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1]);
    request.extend(TESTER_MAC);
    request.extend(TESTER_IP.octets());
    request.extend([0; 6]);
    request.extend(ip.octets());
    request.resize(60, 0);
    request.extend(fcs::fcs(&request));
    node.send(&request);
    let until = node.clocks() + ANSWER_CLOCKS;
    while node.clocks() < until {
        node.run_until(until - node.clocks(), |node| node.sent_frames() > 0);
        let Some(frame) = node.take_sent() else { break };
        let Some(reply) = frame.bytes.get(..42) else {
            continue;
        };
        let is_reply = reply[12..14] == [0x08, 0x06] && reply[20..22] == [0, 2];
        if is_reply && reply[28..32] == ip.octets() {
            let mut mac = [0; 6];
            mac.copy_from_slice(&reply[22..28]);
            return Ok(NodeAddress { mac, ip });
        }
    }
    Err(NodeError::Failed(format!(
        "hdl:reference: the program does not answer ARP for {ip}: fix: load a node of the control protocol with a stack"
    )))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use wirelab_trial::{Direction, Extent, Framing, Layer, Size, SizeUnit, Trial};

    use super::super::plan::{MOST_CAPTURED_FRAMES, tests::identity};
    use super::*;
    use crate::reference::{Attachment, Straps};

    #[test]
    fn no_two_frames_of_a_trial_are_put_off_alike() {
        let all: BTreeSet<u64> = (0..MOST_CAPTURED_FRAMES).map(distance).collect();
        assert_eq!(all.len() as u64, MOST_CAPTURED_FRAMES);
        // Every phase of the byte clock, and none much more often than another.
        for frames in [512, MOST_CAPTURED_FRAMES] {
            let even = frames / CLOCKS_PER_BYTE;
            for offset in 0..CLOCKS_PER_BYTE {
                let there =
                    (0..frames).filter(|frame| distance(*frame) % CLOCKS_PER_BYTE == offset);
                let there = there.count() as u64;
                assert!((even - 8..=even + 8).contains(&there), "{offset}: {there}");
            }
        }
    }

    #[test]
    fn a_rest_ends_where_the_next_frame_is_due_or_when_the_user_wants_it() {
        let frames = Extent::Frames { frames: 3 };
        let framing = Framing {
            layer: Layer::UdpIpv4,
            vlan_tags: 0,
        };
        let size = Size::new(SizeUnit::Length, 64);
        let load = "500pps".parse().unwrap();
        let trial = Trial::new(framing, Direction::Echo, size, load, frames);
        let plan = super::super::plan::plan(&trial, &identity()).unwrap();
        let to = NodeAddress {
            mac: [2; 6],
            ip: TESTER_IP,
        };
        let echoes = Echoes::new(&plan, to, 0);
        let mut node = Reference::new(Straps::new(Attachment::LiteDevice));
        let cancel = Cancel::new();
        echoes.rest(&mut node, 0, None, &cancel);
        assert_eq!(node.clocks(), 200_000);
        cancel.cancel();
        echoes.rest(&mut node, 200_000, None, &cancel);
        assert!(node.clocks() <= 200_000 + SLICE_CLOCKS, "{}", node.clocks());
    }
}
