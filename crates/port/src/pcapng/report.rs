//! The judge's result for a capture: per flow, for the file, and the first findings in detail.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use wirelab_trial::counted::but_for_zeros;
use wirelab_trial::format::count;
use wirelab_trial::{CountedRows, Counts, Histogram};
use wirelab_wire::Mac;

use super::error::End;
use super::interface::Interface;

/// Most findings and gaps that are kept in detail.
pub const FINDINGS: usize = 16;
/// Most flows that are shown without a fault.
const MOST_CLEAN: usize = 16;
/// Most different lengths that are kept of each flow.
pub const LENGTHS: usize = 16;

/// The lengths (frames without FCS) of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lengths {
    /// Smallest length in bytes.
    pub min_bytes: u32,
    /// Largest length in bytes.
    pub max_bytes: u32,
    /// Different lengths in bytes, ascending, the first [`LENGTHS`] that occurred.
    pub distinct_bytes: Vec<u32>,
    /// Whether there were more.
    pub more: bool,
}

/// Whether the slots of repeating frames were in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SlotReport {
    /// Slots K: as given, or highest slot + 1.
    pub slots: u32,
    /// Frames whose slot did not follow the previous one.
    pub order_breaks: u64,
    /// Skipped slots: at least this many frames are missing, unless frames were swapped.
    pub skipped: u64,
}

/// One flow: frames of one stream from one source address on one interface, in one section of the file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowReport {
    /// Index in [`VerifyReport::interfaces`].
    pub interface: u32,
    /// Source MAC address.
    pub source: [u8; 6],
    /// Stream number.
    pub stream: u8,
    /// The frames that arrived. `received_frames` does not include [`FlowReport::cut_by_snaplen_frames`].
    /// `lost_frames` is relative to `sent_frames` if given, else to the range of sequences seen.
    pub counts: Counts,
    /// Frames that are right as far as the capture has them; their sequence is tracked.
    pub cut_by_snaplen_frames: u64,
    /// Number of sequences sent, if given.
    pub sent_frames: Option<u64>,
    /// First and highest sequence seen, not wrapped; absent for repeating frames.
    pub sequences: Option<(u64, u64)>,
    /// Sequences at or above the given number of sent ones.
    pub beyond_sent_sequences: u64,
    /// Present if the frames repeat; then `distinct_sequences` is the number of intact headers.
    pub slots: Option<SlotReport>,
    /// Time of the earliest frame in ps since 1970; absent if the capture has no times.
    pub first_time_ps: Option<i128>,
    /// Time of the latest frame in ps since 1970.
    pub last_time_ps: Option<i128>,
    /// Elapsed on the wire in ps, measured: (t_last − t_first)·N/(N−1); absent for fewer than two frames with a time.
    pub elapsed_ps: Option<u64>,
    /// Frames whose time is before that of the previous frame.
    pub time_backwards_frames: u64,
    /// Lengths of the frames on the link.
    pub lengths: Lengths,
    /// Sum of the lengths in bytes, without FCS.
    pub length_bytes: u64,
    /// Sum of the payloads in bytes.
    pub payload_bytes: u64,
    /// Time from the start of each frame to the start of the next, in ns.
    pub gap: Histogram,
}

impl FlowReport {
    /// Frames of the flow with an intact header, in any state.
    pub fn tracked_frames(&self) -> u64 {
        self.counts.received_frames + self.cut_by_snaplen_frames - self.counts.header_corrupt_frames
    }

    /// Frames/s, measured from the times of the capture.
    pub fn frames_per_s(&self) -> Option<f64> {
        self.per_second(self.tracked_frames() as f64)
    }

    /// Payload bit/s, measured.
    pub fn payload_bits_per_s(&self) -> Option<f64> {
        self.per_second(self.payload_bytes as f64 * 8.0)
    }

    /// Link bit/s, measured: with FCS, and the standard's preamble and gap.
    pub fn link_bits_per_s(&self) -> Option<f64> {
        let bytes = self.length_bytes + self.tracked_frames() * (4 + 8 + 12);
        self.per_second(bytes as f64 * 8.0)
    }

    fn per_second(&self, amount: f64) -> Option<f64> {
        self.elapsed_ps
            .filter(|&ps| ps > 0)
            .map(|ps| amount * 1e12 / ps as f64)
    }

    /// The frames by what was found about them, the good ones first.
    pub fn found(&self) -> Vec<(&'static str, u64)> {
        let mut all = self.counts.found();
        all.insert(1, ("lost", self.counts.lost_frames));
        all.push(("truncated by the capture", self.cut_by_snaplen_frames));
        all
    }

    /// Check the count identity, with the frames that the snap length cut included.
    ///
    /// # Errors
    /// The sum that does not hold.
    pub fn check_identity(&self) -> Result<(), String> {
        let cut = self.cut_by_snaplen_frames;
        let counts = Counts {
            received_frames: self.counts.received_frames + cut,
            good_frames: self.counts.good_frames + cut,
            ..self.counts
        };
        let sent = counts.distinct_sequences + counts.lost_frames;
        let expected = match (self.sent_frames, self.sequences) {
            (Some(sent), _) => sent.max(counts.distinct_sequences),
            (None, Some((first, highest))) => highest - first + 1,
            (None, None) => sent,
        };
        counts.check_identity(expected)
    }

    /// Whether every frame is there and right. Frames that the snap length cut do not count as right.
    pub fn is_clean(&self) -> bool {
        self.counts.is_clean()
            && self.cut_by_snaplen_frames == 0
            && self.beyond_sent_sequences == 0
            && self.slots.is_none_or(|slots| slots.order_breaks == 0)
    }
}

/// What is wrong with one frame, or with its position among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fault {
    /// Test header damaged.
    HeaderCorrupt,
    /// Shorter than its header says.
    Truncated,
    /// Intact content of another sequence.
    Stale {
        /// Start word of the content: its sequence modulo 4096.
        start_word: u16,
    },
    /// A wrong byte in the LFSR part.
    Corrupted,
    /// A sequence that had already arrived.
    Duplicated,
    /// Arrived after a later sequence.
    Reordered {
        /// RFC 4737 extent in frames.
        extent: u64,
    },
    /// Too late to classify.
    TooLate,
    /// Missing sequences before it, which may arrive later.
    Gap {
        /// Number of missing sequences.
        missing: u64,
    },
    /// A repeating frame whose slot does not follow the previous one.
    SlotOrder {
        /// Skipped slots, as known at that point; 0 if the slot repeats or does not exist.
        skipped: u32,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::HeaderCorrupt => f.write_str("header-corrupt"),
            Fault::Truncated => f.write_str("truncated"),
            Fault::Stale { start_word } => {
                write!(f, "stale, content of sequence {start_word} mod 4096")
            }
            Fault::Corrupted => f.write_str("corrupted"),
            Fault::Duplicated => f.write_str("duplicated"),
            Fault::Reordered { extent } => {
                write!(f, "reordered, extent {}", count(*extent, "frame"))
            }
            Fault::TooLate => f.write_str("too late"),
            Fault::Gap { missing } => {
                write!(f, "{} missing before it", count(*missing, "sequence"))
            }
            Fault::SlotOrder { skipped: 0 } => f.write_str("slot does not follow the previous one"),
            Fault::SlotOrder { skipped } => {
                write!(
                    f,
                    "{} skipped before it",
                    count(u64::from(*skipped), "slot")
                )
            }
        }
    }
}

/// The first wrong byte of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WrongByte {
    /// Offset in bytes from the start of the frame.
    pub offset: u32,
    /// The expected byte.
    pub expected: u8,
    /// The actual byte.
    pub got: u8,
}

/// One finding, with the numbers that locate the frame in Wireshark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Number of the frame in the file, counted from 1.
    pub frame: u64,
    /// Its time in ps since 1970, if it has one.
    pub time_ps: Option<i128>,
    /// Index of its interface.
    pub interface: u32,
    /// Its stream; absent if the header is not intact.
    pub stream: Option<u8>,
    /// Its sequence; absent if the header is not intact.
    pub sequence: Option<u32>,
    /// What is wrong.
    pub fault: Fault,
    /// The first wrong byte, for wrong content.
    pub wrong_byte: Option<WrongByte>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "frame {}", self.frame)?;
        if let (Some(stream), Some(sequence)) = (self.stream, self.sequence) {
            write!(f, ", stream {stream}, sequence {sequence}")?;
        }
        write!(f, ": {}", self.fault)?;
        if let Some(byte) = self.wrong_byte {
            let WrongByte {
                offset,
                expected,
                got,
            } = byte;
            write!(f, "; byte {offset} is {got:02x}, not {expected:02x}")?;
        }
        Ok(())
    }
}

/// The judge's result for a capture. Every figure is measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VerifyReport {
    /// The file.
    pub name: String,
    /// Its format.
    pub format: &'static str,
    /// How reading ended.
    pub end: End,
    /// Its interfaces.
    pub interfaces: Vec<Interface>,
    /// Its flows, by interface, source address and stream.
    pub flows: Vec<FlowReport>,
    /// Blocks read.
    pub blocks: u64,
    /// Frames read, of all types.
    pub frames: u64,
    /// Bytes of the file that were read.
    pub bytes: u64,
    /// Frames that belong to no test flow.
    pub foreign_frames: u64,
    /// Header-corrupt frames that cannot be attributed to one flow: their source sent several streams, or nothing
    /// intact.
    pub unattributed_header_corrupt_frames: u64,
    /// Possible test frames that the capture cut so short that their header is not complete.
    pub cut_in_header_frames: u64,
    /// Frames on interfaces that are not Ethernet; they are not judged.
    pub other_link_type_frames: u64,
    /// Frames of flows beyond the limit (256); they are judged but not tracked.
    pub untracked_frames: u64,
    /// Late test frames: they were sent in an earlier run than that of their section.
    pub other_run_frames: u64,
    /// The first wrong frames.
    pub findings: Vec<Finding>,
    /// The first gaps. Not every gap is a loss.
    pub gaps: Vec<Finding>,
    /// Payload bytes of frames in which every byte was compared.
    pub verified_payload_bytes: u64,
    /// Time that verifying took, in ns (`call`, the tester's clock).
    pub call_ns: u64,
}

impl VerifyReport {
    /// Frames of all test flows.
    pub fn test_frames(&self) -> u64 {
        let flows = self.flows.iter();
        flows
            .map(|f| f.counts.received_frames + f.cut_by_snaplen_frames)
            .sum::<u64>()
            + self.unattributed_header_corrupt_frames
            + self.cut_in_header_frames
            + self.untracked_frames
    }

    /// Whether the capture is whole and has test frames, all of which are there and right.
    pub fn is_clean(&self) -> bool {
        self.end.is_whole()
            && !self.flows.is_empty()
            && self.flows.iter().all(FlowReport::is_clean)
            && self.unattributed_header_corrupt_frames
                + self.cut_in_header_frames
                + self.untracked_frames
                == 0
    }

    /// Bytes of the file verified per second.
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 * 1e9 / self.call_ns.max(1) as f64
    }

    /// The frames of the capture; of those without a flow, all that are not 0.
    pub fn rows(&self) -> CountedRows {
        let rows = vec![
            ("in the capture", self.frames),
            ("of test flows", self.test_frames()),
            ("foreign", self.foreign_frames),
            (
                "header-corrupt, of an unknown flow",
                self.unattributed_header_corrupt_frames,
            ),
            (
                "truncated by the capture within their header",
                self.cut_in_header_frames,
            ),
            ("of flows beyond the tracked ones", self.untracked_frames),
            ("late, of an earlier run", self.other_run_frames),
            ("dropped by the capture itself", self.dropped_by_capture()),
        ];
        but_for_zeros(rows, 3)
    }

    /// The flows for a reader: all with a fault, and of many clean ones, as in a capture of many runs, the first.
    pub fn shown_flows(&self) -> Vec<&FlowReport> {
        let mut shown = Vec::new();
        for flow in &self.flows {
            if shown.len() < MOST_CLEAN || !flow.is_clean() {
                shown.push(flow);
            }
        }
        shown
    }

    /// What a reader must know of the capture: how it ended, how many flows are not shown, and the first findings.
    pub fn remarks(&self) -> Vec<String> {
        let cut = (!self.end.is_whole()).then(|| self.end.to_string());
        let others = (self.flows.len() - self.shown_flows().len()) as u64;
        let others = (others > 0).then(|| {
            let more = count(others, "more flow");
            format!("{more}, in which every frame is present and right")
        });
        let findings = self.findings.iter().chain(&self.gaps);
        let findings = findings.map(ToString::to_string);
        cut.into_iter().chain(others).chain(findings).collect()
    }

    /// The verdict, and how fast it was found.
    pub fn verdict(&self) -> String {
        let words = match self.test_frames() {
            _ if self.is_clean() => "every frame is present and right",
            0 => "NOT clean: it has no test frame",
            _ => "NOT clean",
        };
        let rate = self.bytes_per_s() / 1e9;
        format!("{words}; verified at {rate:.2} GB/s (measured)")
    }

    /// A flow's name among those of the capture.
    pub fn name_of(&self, flow: &FlowReport) -> String {
        let run = match self.runs() {
            0 | 1 => String::new(),
            _ => format!("section {}: ", self.section_of(flow) + 1),
        };
        format!("{run}stream {} from {}", flow.stream, Mac(flow.source))
    }

    /// Number of sections with a flow.
    pub fn runs(&self) -> usize {
        let sections = self.flows.iter().map(|flow| self.section_of(flow));
        sections.collect::<BTreeSet<_>>().len()
    }

    /// The section of a flow, counted from 0.
    pub fn section_of(&self, flow: &FlowReport) -> u32 {
        let interface = self.interfaces.get(flow.interface as usize);
        interface.map_or(0, |interface| interface.section)
    }

    /// Frames that the capturing program reports as lost; a loss in a flow may be one of them.
    pub fn dropped_by_capture(&self) -> u64 {
        self.interfaces.iter().map(|i| i.dropped_by_capture).sum()
    }
}
