//! The tester at the board's wire: it checks every frame from the board, and sends frames to it.

use std::collections::HashMap;

use wirelab_emulator::emac::{Arrival, SentFrame};
use wirelab_emulator::lpc1768::Lpc1768;
use wirelab_port::inject::Schedule;
use wirelab_trial::job::{CheckReport, Judge, SendReport};
use wirelab_trial::series::{HistogramBuilder, SeriesBuilder};
use wirelab_trial::{Clock, ClockKind, FixedSeries, Owner, Series};
use wirelab_wire::check::{Flow, Verdict, classify};
use wirelab_wire::{Flags, FrameSpec, Header, Sizes, Transport};

use super::plan::{BoardTrial, TESTER, TO_NODE};

/// ps of the inter-packet gap at 100 Mbit/s: 96 bit times.
const GAP_PS: u64 = 960_000;
/// ps of a byte at 100 Mbit/s.
const BYTE_PS: u64 = 80_000;
/// Frames put on the wire in advance.
const AHEAD: usize = 64;

/// The emulator's clock as the tester reads it: whole ns.
pub const SIMULATED_NS: Clock = Clock {
    kind: ClockKind::Simulated,
    tick_ps: Some(1000),
    resolution_ticks: 10,
    owner: Owner::Tester,
};

/// Checks the frames from the board.
pub struct FrameChecker {
    flow: Flow,
    judge: Judge,
    payload_bytes: u64,
    gaps: HistogramBuilder,
    /// Number of frames.
    pub frames: u64,
    /// Frames with a wrong FCS, which no host would receive.
    pub bad_fcs: u64,
    /// Start of the first frame of the flow, in ps.
    pub first_ps: Option<u64>,
    /// End of the last frame in ps.
    pub last_ps: u64,
    before_ps: u64,
    latency: SeriesBuilder,
    /// Arrival times of the tester's frames, by sequence, from which echoes are measured.
    arrived: HashMap<u32, u64>,
}

impl FrameChecker {
    /// A watch that has seen nothing. `slots` where frames repeat.
    pub fn new(
        source: [u8; 6],
        stream: u8,
        slots: Option<u32>,
        payload_bytes: u64,
    ) -> FrameChecker {
        FrameChecker {
            flow: Flow {
                source: Some(source),
                udp_port: 0,
                stream: Some(stream),
                dscp: None,
            },
            judge: Judge::new(slots, 1),
            payload_bytes,
            gaps: HistogramBuilder::new(),
            frames: 0,
            bad_fcs: 0,
            first_ps: None,
            last_ps: 0,
            before_ps: 0,
            latency: SeriesBuilder::new(FixedSeries::LATENCY, SIMULATED_NS, 0),
            arrived: HashMap::new(),
        }
    }

    /// Records a frame from the board.
    pub fn take(&mut self, frame: &SentFrame) {
        self.frames += 1;
        if !frame.fcs_is_right() {
            self.bad_fcs += 1;
            return;
        }
        let bytes = frame.without_fcs();
        let verdict = classify(bytes, &self.flow);
        let header = match verdict {
            Verdict::Good(header) => Some(header),
            _ => None,
        };
        let arrival_ns = frame.start_ps / 1000;
        if !self
            .judge
            .take(verdict, self.payload_bytes, Some(arrival_ns))
        {
            return;
        }
        match self.first_ps {
            None => self.first_ps = Some(frame.start_ps),
            Some(_) => self.gaps.record((frame.start_ps - self.before_ps) / 1000),
        }
        (self.before_ps, self.last_ps) = (frame.start_ps, frame.end_ps);
        let arrived = header.and_then(|header| self.arrived.remove(&header.sequence));
        if let Some(arrived_ps) = arrived {
            self.latency
                .push(frame.start_ps.saturating_sub(arrived_ps) / 1000);
        }
    }

    /// From the first preamble to the end of the last frame's gap, in ps.
    pub fn wire_ps(&self) -> Option<u64> {
        let first = self.first_ps?;
        Some(self.last_ps + GAP_PS - first)
    }

    /// How the board sent, measured on the wire, and what the checker saw.
    pub fn finish(self) -> (SendReport, CheckReport) {
        let sent = SendReport {
            emitted_frames: self.judge.received(),
            first_ns: self.first_ps.unwrap_or(0) / 1000,
            last_ns: self.before_ps / 1000,
            gap: self.gaps.finish(Some(1000)),
            ..SendReport::default()
        };
        let latency = (self.latency.count() > 0).then(|| self.latency.finish());
        let mut received = self.judge.finish_apart();
        received.series.extend(latency);
        (sent, received)
    }
}

/// Puts the frames of a trial on the wire to the board, at their due times.
pub struct Offer<'a> {
    faults: &'a Schedule,
    spec: FrameSpec,
    sizes: Sizes,
    interval_ps: u64,
    start_ps: u64,
    emissions: u64,
    next: u64,
    buffer: Vec<u8>,
    first_ps: u64,
    before_ps: u64,
    last_ps: u64,
    gaps: HistogramBuilder,
}

impl<'a> Offer<'a> {
    /// The frames of `plan` to the board's address, the first of them at `start_ps`.
    pub fn new(plan: &'a BoardTrial, to: [u8; 6], start_ps: u64) -> Offer<'a> {
        Offer {
            faults: &plan.faults,
            spec: FrameSpec {
                destination: to,
                source: TESTER,
                vlans: [None, None],
                transport: Transport::Ethernet,
                dscp: 0,
            },
            sizes: plan.resolved.sizes,
            interval_ps: plan.interval_ps(),
            start_ps,
            emissions: plan.faults.emissions(plan.sequences),
            next: 0,
            buffer: vec![0; plan.resolved.sizes.length as usize],
            first_ps: 0,
            before_ps: 0,
            last_ps: 0,
            gaps: HistogramBuilder::new(),
        }
    }

    /// Whether all frames are on the wire.
    pub const fn is_done(&self) -> bool {
        self.next >= self.emissions
    }

    /// Frames that were put on the wire.
    pub const fn emitted(&self) -> u64 {
        self.next
    }

    /// When the last frame put on the wire has arrived, in ps.
    pub const fn last_ps(&self) -> u64 {
        self.last_ps
    }

    /// Puts the next frames on the wire; `watch` records when they arrive.
    pub fn feed(&mut self, board: &mut Lpc1768, watch: &mut FrameChecker) {
        for _ in 0..AHEAD {
            let soon_ps = board.time_ps() + AHEAD as u64 * self.interval_ps;
            if self.is_done() || self.due_ps() > soon_ps {
                return;
            }
            self.one(board, watch);
        }
    }

    fn due_ps(&self) -> u64 {
        self.start_ps + self.next.saturating_mul(self.interval_ps)
    }

    fn one(&mut self, board: &mut Lpc1768, watch: &mut FrameChecker) {
        let (sequence, mutation) = self.faults.get(self.next);
        let free_ps = board.emac(|emac| emac.wire_free_ps()) + GAP_PS;
        let start_ps = self.due_ps().max(board.time_ps()).max(free_ps);
        let header = Header {
            flags: Flags::TIME_VALID,
            stream: TO_NODE,
            sequence,
            time_ns: start_ps / 1000,
            lfsr_len: 0,
        };
        let length = self.spec.build(&self.sizes, &header, &mut self.buffer);
        let offset = self.spec.header_offset();
        let length = mutation.apply(&mut self.buffer[..length], offset);
        let arrival = Arrival::good(start_ps, &self.buffer[..length]);
        let end_ps = start_ps + (8 + arrival.bytes.len() as u64) * BYTE_PS;
        // The wire is free at this time, and few frames are queued.
        if board.arrive(arrival).is_err() {
            return;
        }
        watch.arrived.entry(sequence).or_insert(end_ps);
        if self.next == 0 {
            self.first_ps = start_ps;
        } else {
            self.gaps.record((start_ps - self.before_ps) / 1000);
        }
        (self.before_ps, self.last_ps) = (start_ps, end_ps);
        self.next += 1;
    }

    /// The report of what was offered.
    pub fn finish(self) -> SendReport {
        SendReport {
            emitted_frames: self.next,
            sequences: self.faults.sequences_used(self.next),
            first_ns: self.first_ps / 1000,
            last_ns: self.before_ps / 1000,
            gap: self.gaps.finish(Some(1000)),
            ..SendReport::default()
        }
    }
}

/// Times of the emulator are simulated, although the firmware cannot know that.
pub fn simulated(mut series: Series) -> Series {
    series.clock.kind = ClockKind::Simulated;
    series
}
