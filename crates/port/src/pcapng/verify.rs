//! The judge: checks that every frame of a capture is there and right.
//!
//! One pass. Only its source address distinguishes a frame with a damaged magic from a foreign one. Such frames are
//! counted by source, and resolved at the end, when the sources of the test flows are known.

use super::error::CaptureError;
use super::interface::LINKTYPE_ETHERNET;
use super::judge::{self, Judged};
use super::reader::{CaptureReader, CapturedFrame};
use super::report::{
    FINDINGS, Fault, Finding, FlowReport, LENGTHS, Lengths, SlotReport, VerifyReport, WrongByte,
};
use super::slots::Slots;
use hdrhistogram::Histogram as Hdr;
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;
use std::time::Instant;
use wirelab_trial::job::was_sent_before;
use wirelab_trial::tracker::WINDOW;
use wirelab_trial::{Counts, Event, Histogram, SlotEvent, Tracker};
use wirelab_wire::{Flags, Flow, Header, Verdict};

/// Most flows of a section that are tracked; each costs 0.5 MB.
const MAX_FLOWS: usize = 256;
/// Most source addresses for which damaged frames are counted.
const MAX_SENDERS: usize = 4096;

/// Options of the judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyOptions {
    /// Destination UDP port of test frames; 0 for the standard one (5003).
    pub udp_port: u16,
    /// The only stream to judge; others are foreign.
    pub stream: Option<u8>,
    /// Number of frames sent on each flow, from sequence 0 on. With it, losses at both ends are found.
    pub sent: Option<u64>,
    /// Slots K of repeating frames; by default the highest slot + 1.
    pub slots: Option<u32>,
}

/// Judge the capture at `path`; `-` is the standard input.
///
/// # Errors
/// [`CaptureError`] if the file cannot be read or is not a capture. A truncated or damaged file is not an error: the
/// report's `end` describes it, and the frames before are judged.
pub fn verify(path: &Path, options: &VerifyOptions) -> Result<VerifyReport, CaptureError> {
    if path == Path::new("-") {
        return judge_all(
            CaptureReader::new("standard input", io::stdin().lock())?,
            options,
        );
    }
    judge_all(CaptureReader::open(path)?, options)
}

/// Judge a capture called `name`, read from `source`.
///
/// # Errors
/// As [`verify`].
pub fn verify_from(
    name: &str,
    source: impl Read,
    options: &VerifyOptions,
) -> Result<VerifyReport, CaptureError> {
    judge_all(CaptureReader::new(name, source)?, options)
}

/// Read and judge hostile bytes: the entry for fuzzing. It never panics.
pub fn fuzz_capture(bytes: &[u8]) {
    for sent in [None, Some(3)] {
        let options = VerifyOptions {
            sent,
            ..VerifyOptions::default()
        };
        if let Ok(report) = verify_from("fuzz", bytes, &options) {
            assert!(report.bytes <= bytes.len() as u64);
            for flow in &report.flows {
                if let Err(broken) = flow.check_identity() {
                    panic!("{broken}: {flow:?}");
                }
            }
        }
    }
}

fn judge_all<R: Read>(
    mut reader: CaptureReader<R>,
    options: &VerifyOptions,
) -> Result<VerifyReport, CaptureError> {
    let start = Instant::now();
    let mut judge = Judge::new(*options);
    while let Some(frame) = reader.next_frame()? {
        judge.take(&frame);
    }
    let mut report = judge.finish(&reader);
    report.call_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Ok(report)
}

/// The damaged frames of one source address on one interface.
#[derive(Default)]
struct Sender {
    /// Certainly damaged test frames: the magic is right, the checksum is wrong.
    header_corrupt: u64,
    /// Damaged if this source sends test frames, otherwise foreign.
    doubtful: u64,
    /// The first of the doubtful frames.
    findings: Vec<Finding>,
}

struct Judge {
    options: VerifyOptions,
    flow: Flow,
    /// Flows of the sections before.
    ended: Vec<FlowReport>,
    section: u32,
    flows: Vec<FlowState>,
    index: HashMap<Key, usize>,
    /// The flow of the previous frame, to which the next one usually belongs.
    recent: Option<usize>,
    senders: HashMap<(u32, [u8; 6]), Sender>,
    foreign: u64,
    cut_in_header: u64,
    other_link_type: u64,
    untracked: u64,
    other_run: u64,
    /// Header-corrupt frames of sources beyond the limit.
    unattributed: u64,
    findings: Vec<Finding>,
    gaps: Vec<Finding>,
}

impl Judge {
    fn new(options: VerifyOptions) -> Judge {
        Judge {
            options,
            flow: Flow {
                source: None,
                udp_port: options.udp_port,
                stream: options.stream,
                dscp: None,
            },
            ended: Vec::new(),
            section: 0,
            flows: Vec::new(),
            index: HashMap::new(),
            recent: None,
            senders: HashMap::new(),
            foreign: 0,
            cut_in_header: 0,
            other_link_type: 0,
            untracked: 0,
            other_run: 0,
            unattributed: 0,
            findings: Vec::new(),
            gaps: Vec::new(),
        }
    }

    #[inline]
    fn take(&mut self, frame: &CapturedFrame) {
        if frame.section != self.section {
            self.settle();
            self.section = frame.section;
        }
        if frame.link_type != LINKTYPE_ETHERNET {
            self.other_link_type += 1;
            return;
        }
        match judge::judge(frame.bytes, frame.original_len, &self.flow) {
            Judged::Verdict(Verdict::Good(header)) => self.observe(frame, &header, State::Good),
            Judged::CutBySnaplen(header) => self.observe(frame, &header, State::CutBySnaplen),
            Judged::CutInHeader => self.cut_in_header += 1,
            Judged::Verdict(verdict) => self.bad(frame, verdict),
        }
    }

    #[cold]
    fn bad(&mut self, frame: &CapturedFrame, verdict: Verdict) {
        match verdict {
            Verdict::Good(header) => self.observe(frame, &header, State::Good),
            Verdict::Foreign => self.foreign_or_damaged(frame),
            Verdict::HeaderCorrupt => {
                self.keep(finding(frame, None, Fault::HeaderCorrupt));
                match self.sender(frame) {
                    Some(sender) => sender.header_corrupt += 1,
                    None => self.unattributed += 1,
                }
            }
            Verdict::Truncated(header) => {
                self.keep(finding(frame, Some(&header), Fault::Truncated));
                self.observe(frame, &header, State::Truncated);
            }
            Verdict::Stale { header, start_word } => {
                self.wrong_content(frame, &header, Fault::Stale { start_word });
                self.observe(frame, &header, State::Stale);
            }
            Verdict::Corrupted(header) => {
                self.wrong_content(frame, &header, Fault::Corrupted);
                self.observe(frame, &header, State::Corrupted);
            }
        }
    }

    /// Count a frame that is foreign unless its source also sends test frames.
    fn foreign_or_damaged(&mut self, frame: &CapturedFrame) {
        let Some(source) = source(frame) else {
            self.foreign += 1;
            return;
        };
        let ours = Flow {
            source: Some(source),
            ..self.flow
        };
        let judged = judge::judge(frame.bytes, frame.original_len, &ours);
        if judged != Judged::Verdict(Verdict::HeaderCorrupt) {
            self.foreign += 1;
            return;
        }
        let Some(sender) = self.sender(frame) else {
            self.foreign += 1;
            return;
        };
        sender.doubtful += 1;
        if sender.findings.len() < FINDINGS {
            sender
                .findings
                .push(finding(frame, None, Fault::HeaderCorrupt));
        }
    }

    /// The entry of a frame's source; `None` beyond the limit.
    fn sender(&mut self, frame: &CapturedFrame) -> Option<&mut Sender> {
        let key = (frame.interface, source(frame)?);
        if self.senders.len() >= MAX_SENDERS && !self.senders.contains_key(&key) {
            return None;
        }
        Some(self.senders.entry(key).or_default())
    }

    #[inline]
    fn observe(&mut self, frame: &CapturedFrame, header: &Header, state: State) {
        if let Some(since_ns) = frame.sent_since_ns
            && was_sent_before(header, since_ns)
        {
            self.other_run += 1;
            return;
        }
        let key = Key {
            interface: frame.interface,
            source: source(frame).unwrap_or_default(),
            stream: header.stream,
            repeating: header.flags.contains(Flags::REPEATING),
        };
        let at = match self.recent {
            Some(at) if self.flows[at].key == key => at,
            _ => match self.find_flow(key, header.sequence) {
                Some(at) => at,
                None => {
                    self.untracked += 1;
                    return;
                }
            },
        };
        self.recent = Some(at);
        if let Some(fault) = self.flows[at].observe(frame, header, state) {
            let found = finding(frame, Some(header), fault);
            match fault {
                Fault::Gap { .. } if self.gaps.len() < FINDINGS => self.gaps.push(found),
                Fault::Gap { .. } => {}
                _ => self.keep(found),
            }
        }
    }

    fn find_flow(&mut self, key: Key, sequence: u32) -> Option<usize> {
        if let Some(&at) = self.index.get(&key) {
            return Some(at);
        }
        let at = self.flows.len();
        if at == MAX_FLOWS {
            return None;
        }
        self.flows
            .push(FlowState::new(key, sequence, &self.options));
        self.index.insert(key, at);
        Some(at)
    }

    fn wrong_content(&mut self, frame: &CapturedFrame, header: &Header, fault: Fault) {
        let mut found = finding(frame, Some(header), fault);
        found.wrong_byte = judge::first_wrong_byte(frame.bytes, &self.flow, header).map(
            |(offset, expected, got)| WrongByte {
                offset,
                expected,
                got,
            },
        );
        self.keep(found);
    }

    fn keep(&mut self, finding: Finding) {
        if self.findings.len() < FINDINGS {
            self.findings.push(finding);
        }
    }

    /// At the end of a section, attribute its damaged frames.
    fn settle(&mut self) {
        let mut per_sender: HashMap<(u32, [u8; 6]), u32> = HashMap::new();
        for flow in &self.flows {
            *per_sender
                .entry((flow.key.interface, flow.key.source))
                .or_default() += 1;
        }
        let mut own: HashMap<(u32, [u8; 6]), u64> = HashMap::new();
        for (key, sender) in std::mem::take(&mut self.senders) {
            let mut bad = sender.header_corrupt;
            let flows = per_sender.get(&key).copied().unwrap_or(0);
            if flows > 0 {
                bad += sender.doubtful;
                self.findings.extend(sender.findings);
            } else {
                self.foreign += sender.doubtful;
            }
            match flows {
                1 => _ = own.insert(key, bad),
                _ => self.unattributed += bad,
            }
        }
        self.findings.sort_by_key(|finding| finding.frame);
        self.findings.truncate(FINDINGS);
        let mut flows = std::mem::take(&mut self.flows);
        flows.sort_by_key(|flow| flow.key);
        let options = self.options;
        self.ended.extend(flows.into_iter().map(|flow| {
            let key = (flow.key.interface, flow.key.source);
            flow.report(own.remove(&key).unwrap_or(0), &options)
        }));
        self.index.clear();
        self.recent = None;
    }

    fn finish<R: Read>(mut self, reader: &CaptureReader<R>) -> VerifyReport {
        self.settle();
        let flows = self.ended;
        VerifyReport {
            name: reader.name().to_owned(),
            format: reader.format(),
            end: reader.end().cloned().unwrap_or(super::End::Whole),
            interfaces: reader.interfaces().to_vec(),
            blocks: reader.blocks(),
            frames: reader.frames(),
            bytes: reader.bytes(),
            foreign_frames: self.foreign,
            unattributed_header_corrupt_frames: self.unattributed,
            cut_in_header_frames: self.cut_in_header,
            other_link_type_frames: self.other_link_type,
            untracked_frames: self.untracked,
            other_run_frames: self.other_run,
            findings: self.findings,
            gaps: self.gaps,
            verified_payload_bytes: flows.iter().map(|f| f.counts.verified_payload_bytes).sum(),
            flows,
            call_ns: 0,
        }
    }
}

fn source(frame: &CapturedFrame) -> Option<[u8; 6]> {
    frame.bytes.get(6..12)?.try_into().ok()
}

fn finding(frame: &CapturedFrame, header: Option<&Header>, fault: Fault) -> Finding {
    Finding {
        frame: frame.number,
        time_ps: frame.time_ps,
        interface: frame.interface,
        stream: header.map(|h| h.stream),
        sequence: header.map(|h| h.sequence),
        fault,
        wrong_byte: None,
    }
}

/// The identity of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub interface: u32,
    pub source: [u8; 6],
    pub stream: u8,
    pub repeating: bool,
}

/// The state of a frame with an intact header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Good,
    Truncated,
    Stale,
    Corrupted,
    CutBySnaplen,
}

/// How the order of a flow is tracked.
enum Order {
    Sequences(Sequences),
    Slots(Slots),
}

/// Sequences from the start of the capture.
struct Sequences {
    tracker: Tracker,
    /// Sequence that is 0 for the tracker.
    base: u32,
    /// Lowest sequence of the tracker.
    lowest: Option<u64>,
}

/// A tracked flow.
pub(super) struct FlowState {
    pub key: Key,
    counts: Counts,
    cut: u64,
    order: Order,
    times: Times,
    lengths: Lengths,
    last_length: u32,
    length_bytes: u64,
    payload_bytes: u64,
}

impl FlowState {
    pub(super) fn new(key: Key, first_sequence: u32, options: &VerifyOptions) -> FlowState {
        let order = if key.repeating {
            Order::Slots(Slots::new(options.slots))
        } else {
            Order::Sequences(Sequences::new(first_sequence, options.sent.is_some()))
        };
        FlowState {
            key,
            counts: Counts::default(),
            cut: 0,
            order,
            times: Times::new(),
            lengths: Lengths::default(),
            last_length: 0,
            length_bytes: 0,
            payload_bytes: 0,
        }
    }

    /// Count one frame; returns its order event, if it is not the next one.
    #[inline]
    pub(super) fn observe(
        &mut self,
        frame: &CapturedFrame,
        header: &Header,
        state: State,
    ) -> Option<Fault> {
        let length = frame.original_len;
        let payload = u64::from(length).saturating_sub(ethernet_header(frame.bytes));
        match state {
            State::Good => {
                self.counts.good_frames += 1;
                self.counts.verified_payload_bytes += payload;
            }
            State::Truncated => self.counts.truncated_frames += 1,
            State::Stale => self.counts.stale_frames += 1,
            State::Corrupted => self.counts.corrupted_frames += 1,
            State::CutBySnaplen => self.cut += 1,
        }
        self.length_bytes += u64::from(length);
        self.payload_bytes += payload;
        if length != self.last_length {
            self.note_length(length);
        }
        if let Some(time) = frame.time_ps {
            self.times.observe(time);
        }
        match &mut self.order {
            Order::Sequences(sequences) => sequences.observe(header.sequence),
            Order::Slots(slots) => match slots.observe(header.sequence) {
                SlotEvent::InOrder => None,
                SlotEvent::Skip { skipped } => Some(Fault::SlotOrder { skipped }),
                SlotEvent::Repeat | SlotEvent::Unknown => Some(Fault::SlotOrder { skipped: 0 }),
            },
        }
    }

    fn note_length(&mut self, length: u32) {
        self.last_length = length;
        let lengths = &mut self.lengths;
        if lengths.distinct_bytes.is_empty() {
            lengths.min_bytes = length;
        }
        lengths.min_bytes = lengths.min_bytes.min(length);
        lengths.max_bytes = lengths.max_bytes.max(length);
        if let Err(at) = lengths.distinct_bytes.binary_search(&length) {
            if lengths.distinct_bytes.len() < LENGTHS {
                lengths.distinct_bytes.insert(at, length);
            } else {
                lengths.more = true;
            }
        }
    }

    /// The flow's report, with its own header-corrupt frames.
    pub(super) fn report(self, header_corrupt: u64, options: &VerifyOptions) -> FlowReport {
        let mut counts = self.counts;
        counts.header_corrupt_frames = header_corrupt;
        let states = counts.good_frames + counts.truncated_frames + counts.stale_frames;
        let received = states + counts.corrupted_frames;
        counts.received_frames = received + header_corrupt;
        let (mut sequences, mut slots, mut beyond) = (None, None, 0);
        match &self.order {
            Order::Sequences(order) => {
                sequences = order.fill(&mut counts, options.sent);
                let highest = sequences.map_or(0, |(_, highest)| highest + 1);
                beyond = options.sent.map_or(0, |sent| highest.saturating_sub(sent));
            }
            Order::Slots(order) => {
                counts.distinct_sequences = received + self.cut;
                counts.lost_frames = options
                    .sent
                    .map_or(0, |sent| sent.saturating_sub(counts.distinct_sequences));
                let settled = order.settle(options.slots);
                slots = Some(SlotReport {
                    slots: settled.slots,
                    order_breaks: settled.order_breaks,
                    skipped: settled.skipped,
                });
            }
        }
        FlowReport {
            interface: self.key.interface,
            source: self.key.source,
            stream: self.key.stream,
            counts,
            cut_by_snaplen_frames: self.cut,
            sent_frames: options.sent,
            sequences,
            beyond_sent_sequences: beyond,
            slots,
            first_time_ps: self.times.first,
            last_time_ps: self.times.last,
            elapsed_ps: self.times.elapsed(),
            time_backwards_frames: self.times.backwards,
            lengths: self.lengths,
            length_bytes: self.length_bytes,
            payload_bytes: self.payload_bytes,
            gap: self.times.gap(),
        }
    }
}

impl Sequences {
    /// A capture may begin in the middle of a flow. The tracker's 0 is then half a window before the first frame, so
    /// that a frame which the first one overtook still counts as reordered.
    fn new(first: u32, from_zero: bool) -> Sequences {
        let base = if from_zero || u64::from(first) < WINDOW {
            0
        } else {
            first - WINDOW as u32 / 2
        };
        Sequences {
            tracker: Tracker::new(),
            base,
            lowest: None,
        }
    }

    #[inline]
    fn observe(&mut self, sequence: u32) -> Option<Fault> {
        let sequence = sequence.wrapping_sub(self.base);
        let event = self.tracker.observe(sequence);
        if event == Event::InOrder && self.lowest.is_some() {
            return None;
        }
        self.unusual(sequence, event)
    }

    fn unusual(&mut self, sequence: u32, event: Event) -> Option<Fault> {
        let next = self.tracker.next();
        let begins = self.lowest.is_none();
        if event != Event::TooLate {
            // At most half the number space away from `next`, as the tracker interprets it.
            let ahead = sequence.wrapping_sub(next as u32) as i32;
            let unwrapped = next.saturating_add_signed(ahead.into());
            self.lowest = Some(
                self.lowest
                    .map_or(unwrapped, |lowest| lowest.min(unwrapped)),
            );
        }
        match event {
            Event::InOrder => None,
            // Sequences before the start of the capture are not a gap.
            Event::Gap { .. } if begins => None,
            Event::Gap { missing } => Some(Fault::Gap { missing }),
            Event::Duplicate => Some(Fault::Duplicated),
            Event::Reordered { extent } => Some(Fault::Reordered { extent }),
            Event::TooLate => Some(Fault::TooLate),
        }
    }

    /// Fill in the tracker's counts; returns the lowest and the highest sequence seen.
    fn fill(&self, counts: &mut Counts, sent: Option<u64>) -> Option<(u64, u64)> {
        let tracker = &self.tracker;
        counts.distinct_sequences = tracker.distinct();
        counts.duplicated_frames = tracker.duplicated();
        counts.reordered_frames = tracker.reordered();
        counts.reordering_extent_frames = tracker.max_extent();
        counts.too_late_frames = tracker.too_late();
        let range = self.lowest.map_or(0, |lowest| tracker.next() - lowest);
        counts.lost_frames = tracker.lost(sent.unwrap_or(range));
        let base = u64::from(self.base);
        let lowest = self.lowest?;
        Some((base + lowest, base + tracker.next() - 1))
    }
}

/// The times of a flow's frames.
struct Times {
    first: Option<i128>,
    last: Option<i128>,
    before: i128,
    frames: u64,
    backwards: u64,
    gap: Hdr<u64>,
}

impl Times {
    fn new() -> Times {
        Times {
            first: None,
            last: None,
            before: 0,
            frames: 0,
            backwards: 0,
            // Three digits, as in all histograms here; it grows with the largest gap.
            gap: Hdr::new(3).expect("three digits are allowed"), // `new` makes one that resizes itself
        }
    }

    #[inline]
    fn observe(&mut self, time: i128) {
        self.frames += 1;
        let (Some(first), Some(last)) = (self.first, self.last) else {
            self.first = Some(time);
            self.last = Some(time);
            self.before = time;
            return;
        };
        self.first = Some(first.min(time));
        self.last = Some(last.max(time));
        if time < self.before {
            self.backwards += 1;
        } else {
            self.note_gap(time - self.before);
        }
        self.before = time;
    }

    fn note_gap(&mut self, ps: i128) {
        // Below 2^64 ps (213 days) plain arithmetic suffices; a longer gap saturates.
        let ns = u64::try_from(ps).map_or(u64::MAX / 1000, |ps| ps / 1000);
        self.gap
            .record(ns)
            .expect("a histogram that resizes itself takes any value");
    }

    /// (t_last − t_first)·N/(N−1) in ps.
    fn elapsed(&self) -> Option<u64> {
        let span = self.last? - self.first?;
        if self.frames < 2 {
            return None;
        }
        let n = i128::from(self.frames);
        u64::try_from(span.checked_mul(n)? / (n - 1)).ok()
    }

    fn gap(&self) -> Histogram {
        let gap = &self.gap;
        Histogram {
            tick_ps: Some(1000),
            buckets: gap
                .iter_recorded()
                .map(|v| (v.value_iterated_to(), v.count_since_last_iteration()))
                .collect(),
            count: gap.len(),
            min_ticks: if gap.is_empty() { 0 } else { gap.min() },
            max_ticks: gap.max(),
            mean_ticks: gap.mean(),
            stddev_ticks: gap.stdev(),
        }
    }
}

/// Bytes of Ethernet header and tags.
#[inline]
fn ethernet_header(frame: &[u8]) -> u64 {
    let mut at = 12;
    for _ in 0..2 {
        match frame.get(at..at + 2) {
            Some([0x81, 0x00] | [0x88, 0xA8]) => at += 4,
            _ => break,
        }
    }
    at as u64 + 2
}
