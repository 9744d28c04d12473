//! What came of a trial: counts, times, series, and what the tester itself could do.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelab_wire::Sizes;

use crate::clock::ClockKind;
use crate::field::Field;
use crate::node::Description;
use crate::series::{Histogram, Series};
use crate::trial::{Direction, Trial};

/// Whether an observation can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// The trial ran to its end.
    Complete,
    /// It ended early; what was seen until then is kept.
    Partial {
        /// Why it ended.
        why: String,
    },
    /// It must not be used, e.g. because a frame of a buffer scenario was bad.
    Void {
        /// Why not.
        why: String,
    },
}

impl Status {
    /// The user ended the trial.
    pub fn cancelled() -> Status {
        Status::Partial {
            why: "ended by the user; what was seen until then is kept".to_owned(),
        }
    }
}

/// What an elapsed time spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spans {
    /// First preamble to the end of the last frame's gap; from a capture (t_last − t_first)·N/(N−1).
    Wire,
    /// The pulse of a pin.
    Pin,
    /// The call that sent the frames.
    Call,
}

/// A time and what it spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Elapsed {
    /// Picoseconds.
    pub ps: u64,
    /// What they span.
    pub spans: Spans,
    /// Real or simulated time. Never instructions: those are no time, and stand in a series of their own.
    pub clock: ClockKind,
}

/// Frames of one flow as its receiver counted them. Each frame of the flow is exactly one of good,
/// header-corrupt, truncated, stale and corrupted; duplicated and reordered are counted in addition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Frames of the flow that arrived, in whatever state.
    pub received_frames: u64,
    /// Every byte right.
    pub good_frames: u64,
    /// Test header damaged; nothing in it was used.
    pub header_corrupt_frames: u64,
    /// Shorter than the header says.
    pub truncated_frames: u64,
    /// Intact content of another sequence.
    pub stale_frames: u64,
    /// A wrong byte in the LFSR part.
    pub corrupted_frames: u64,
    /// Copies of a sequence that had arrived before (RFC 5560).
    pub duplicated_frames: u64,
    /// Arrived after a later sequence (RFC 4737).
    pub reordered_frames: u64,
    /// Largest reordering extent in frames (RFC 4737, 4.2.2).
    pub reordering_extent_frames: u64,
    /// So late that the window no longer tells duplicate from reordered.
    pub too_late_frames: u64,
    /// Different sequences that arrived with an intact header.
    pub distinct_sequences: u64,
    /// Sequences sent that never arrived with an intact header, and that nobody missed: sent − distinct − missed.
    pub lost_frames: u64,
    /// Sequences that arrived, as far as is known, and that the tester's own queue dropped before anybody counted
    /// them: the tester's loss, kept apart from that of the path and the node.
    #[serde(default)]
    pub missed_frames: u64,
    /// Frames on the port that are not of the flow.
    pub foreign_frames: u64,
    /// Payload bytes (what follows the Ethernet header and its tags) of the good frames: those whose test header and
    /// LFSR part were compared byte by byte.
    pub verified_payload_bytes: u64,
    /// Repeating frames whose slot did not follow the one before; 0 for all other flows.
    #[serde(default)]
    pub order_breaks: u64,
}

impl Counts {
    /// The count identity: distinct + missed + lost = sent, and the states add up to what was received.
    ///
    /// # Errors
    /// Which sum does not hold, with its numbers.
    pub fn check_identity(&self, sent: u64) -> Result<(), String> {
        // Counts may come from a hostile file: their sums need not fit.
        let sum = |counts: &[u64]| counts.iter().copied().map(u128::from).sum::<u128>();
        if sum(&[
            self.distinct_sequences,
            self.missed_frames,
            self.lost_frames,
        ]) != u128::from(sent)
        {
            return Err(format!(
                "distinct {} + missed {} + lost {} is not sent {sent}",
                self.distinct_sequences, self.missed_frames, self.lost_frames
            ));
        }
        let states = sum(&[
            self.good_frames,
            self.header_corrupt_frames,
            self.truncated_frames,
            self.stale_frames,
            self.corrupted_frames,
        ]);
        if states != u128::from(self.received_frames) {
            return Err(format!(
                "good and bad frames are {states}, received {}",
                self.received_frames
            ));
        }
        let tracked = sum(&[
            self.distinct_sequences,
            self.duplicated_frames,
            self.too_late_frames,
            self.header_corrupt_frames,
        ]);
        if tracked != u128::from(self.received_frames) {
            return Err(format!(
                "distinct {} + duplicated {} + too late {} + header-corrupt {} is not received {}",
                self.distinct_sequences,
                self.duplicated_frames,
                self.too_late_frames,
                self.header_corrupt_frames,
                self.received_frames
            ));
        }
        Ok(())
    }

    /// Whether nothing is wrong: every frame sent arrived once, in order, intact.
    pub fn is_clean(&self) -> bool {
        self.good_frames == self.received_frames
            && [
                self.lost_frames,
                self.missed_frames,
                self.duplicated_frames,
                self.reordered_frames,
                self.too_late_frames,
                self.order_breaks,
            ]
            .iter()
            .all(|n| *n == 0)
    }
}

/// What an injector did, in the receiver's terms: what a faultless path must show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// Sequences used, whether or not they left.
    pub sent_frames: u64,
    /// Sequences left out.
    pub dropped_frames: u64,
    /// Frames that left with a damaged header (copies counted).
    pub header_corrupt_frames: u64,
    /// Frames that left cut short (copies counted).
    pub truncated_frames: u64,
    /// Frames that left with another sequence's content (copies counted).
    pub stale_frames: u64,
    /// Frames that left with a damaged LFSR part (copies counted).
    pub corrupted_frames: u64,
    /// Second copies with an intact header.
    pub duplicated_frames: u64,
    /// Frames that a receiver sees after a later one.
    pub reordered_frames: u64,
    /// Sequences that no intact header carries.
    pub lost_frames: u64,
    /// Frames that left with a wrong FCS: a checker behind a MAC has no such count, so a node that has one compares it.
    #[serde(default, skip_serializing_if = "is_none_at_all")]
    pub bad_fcs_frames: u64,
}

const fn is_none_at_all(frames: &u64) -> bool {
    *frames == 0
}

impl Ledger {
    /// Where a receiver's counts differ from the ledger: field, ledger, counted.
    pub fn differences(&self, counts: &Counts) -> Vec<(&'static str, u64, u64)> {
        [
            (
                "header_corrupt_frames",
                self.header_corrupt_frames,
                counts.header_corrupt_frames,
            ),
            (
                "truncated_frames",
                self.truncated_frames,
                counts.truncated_frames,
            ),
            ("stale_frames", self.stale_frames, counts.stale_frames),
            (
                "corrupted_frames",
                self.corrupted_frames,
                counts.corrupted_frames,
            ),
            (
                "duplicated_frames",
                self.duplicated_frames,
                counts.duplicated_frames,
            ),
            (
                "reordered_frames",
                self.reordered_frames,
                counts.reordered_frames,
            ),
            ("lost_frames", self.lost_frames, counts.lost_frames),
        ]
        .into_iter()
        .filter(|(_, ledger, counted)| ledger != counted)
        .collect()
    }
}

/// How the sender of a flow did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SenderObservation {
    /// The path frames took out: `xdp`, `packet`, or a node's own word.
    pub path: String,
    /// Frames/s asked of the sender; absent at maximum load.
    pub asked_frames_per_s: Field<f64>,
    /// Frames/s it achieved, from its own frame times.
    pub achieved_frames_per_s: Field<f64>,
    /// Whether it kept the rate within 0.5 %.
    pub kept_rate: Field<bool>,
    /// Gaps between the starts of successive frames, by the sender's clock.
    pub gap: Field<Histogram>,
    /// How often the schedule was moved because the sender was held up.
    pub slips: Field<u64>,
    /// Sum of those holds in ps.
    pub slipped_ps: Field<u64>,
    /// Whether the kernel copied frame data on their way out.
    pub kernel_copied: Field<bool>,
    /// What an injector did, where faults were asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ledger: Option<Ledger>,
}

/// One flow of a trial: one sending and one receiving port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowObservation {
    /// The node's port, e.g. `lab-node/n0`.
    pub port: String,
    /// As the node sees it; transmit or receive.
    pub direction: Direction,
    /// Stream number in the test header.
    pub stream: u8,
    /// Sequences the sender used.
    pub sent_frames: Field<u64>,
    /// What the receiver counted.
    pub counts: Field<Counts>,
    /// First preamble to last gap unless it says otherwise.
    pub elapsed: Field<Elapsed>,
    /// Frames/s that arrived (RFC 2285 forwarding rate).
    pub frames_per_s: Field<f64>,
    /// Payload bits per second of verified frames.
    pub payload_bits_per_s: Field<f64>,
    /// Link bits per second, with preamble, FCS and gap.
    pub link_bits_per_s: Field<f64>,
    /// Payload bits over link bits at the link rate; absent without a link rate.
    pub efficiency: Field<f64>,
    /// Application bits per second; absent on Ethernet trials.
    pub goodput_bits_per_s: Field<f64>,
    /// Share of sent sequences that were lost, 0 to 1.
    pub loss_ratio: Field<f64>,
    /// RFC 3550 interarrival jitter in ps.
    pub jitter_ps: Field<u64>,
    /// How the sender did.
    pub sender: Field<SenderObservation>,
    /// The path frames were received and checked on: `xdp`, `packet`, or a node's own word.
    pub receiver_path: String,
    /// Latency and other series of this flow.
    pub series: Vec<Series>,
    /// Further counters of this flow by name, e.g. what an iperf server reports: it checks no content, so its
    /// numbers are no [`Counts`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub counters: BTreeMap<String, Field<u64>>,
}

impl FlowObservation {
    /// Leave out how fast the flow went, and say why.
    pub fn without_rates(&mut self, why: &str) {
        self.frames_per_s = Field::absent(why);
        self.payload_bits_per_s = Field::absent(why);
        self.link_bits_per_s = Field::absent(why);
        self.efficiency = Field::absent(why);
        self.goodput_bits_per_s = Field::absent(why);
        self.elapsed = Field::absent(why);
    }

    /// Whether its sender said that it did not keep the rate asked.
    pub fn sender_was_slow(&self) -> bool {
        let kept = self.sender.value().and_then(|s| s.kept_rate.value());
        kept == Some(&false)
    }
}

/// Busy share of the node's CPU between first and last frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuLoad {
    /// 0 to 1.
    pub busy_ratio: f64,
    /// The idle baseline, 0 to 1: the busy share of the node without the trial. Absent where nobody saw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_baseline_ratio: Option<f64>,
    /// Whether tester and node shared a core, so that the figure must not feed a fit.
    pub shared: bool,
}

/// Something a reader must know, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// A stable word for scripts, e.g. `sender-below-rate`.
    pub code: String,
    /// What is the matter.
    pub text: String,
    /// What to do.
    pub way_out: String,
}

impl Warning {
    /// Code of [`Warning::of_node`].
    pub const NODE: &'static str = "node";

    /// A warning of these words.
    pub fn new(
        code: impl Into<String>,
        text: impl Into<String>,
        way_out: impl Into<String>,
    ) -> Warning {
        Warning {
            code: code.into(),
            text: text.into(),
            way_out: way_out.into(),
        }
    }

    /// What a node says of a trial's times in its own words: which point has none, or how one is to be read.
    pub fn of_node(note: impl Into<String>) -> Warning {
        let way_out =
            "nothing is wrong with what has figures; what it names has none, or is to be read so";
        Warning::new(Warning::NODE, note, way_out)
    }
}

/// What the tester could do on this host, and whether it was the limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TesterObservation {
    /// Frames/s of this size that the tester reached against itself.
    pub ceiling_frames_per_s: Field<f64>,
    /// Whether the tester, not the node, was the limit.
    pub was_limit: Field<bool>,
}

impl TesterObservation {
    /// Before the tester's ceiling is known: a paced trial tells whether the tester `held_up` its flows, one at
    /// maximum load does not.
    pub fn of_trial(paced: bool, held_up: bool) -> TesterObservation {
        TesterObservation {
            ceiling_frames_per_s: Field::absent("not measured in this run"),
            was_limit: match paced {
                true => Field::measured(held_up),
                false => Field::absent("needs the tester's ceiling"),
            },
        }
    }
}

/// What came of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// What was asked.
    pub trial: Trial,
    /// All four sizes of its frames.
    pub sizes: Sizes,
    /// The node as it described itself.
    pub node: Description,
    /// Complete, partial or void.
    #[serde(flatten)]
    pub status: Status,
    /// Start, ns since 1970.
    pub started_unix_ns: Field<u64>,
    /// Each flow.
    pub flows: Vec<FlowObservation>,
    /// Node CPU load.
    pub cpu_load: Field<CpuLoad>,
    /// Series of the trial as a whole: stages, pulses, repeated times.
    pub series: Vec<Series>,
    /// Further counters by name, e.g. of a node's MAC.
    pub counters: BTreeMap<String, Field<u64>>,
    /// The tester's own limits.
    pub tester: TesterObservation,
    /// What a reader must know.
    pub warnings: Vec<Warning>,
}

impl Observation {
    /// Whether it ran to its end and every flow is clean.
    pub fn passed(&self) -> bool {
        self.status == Status::Complete
            && self
                .flows
                .iter()
                .all(|f| f.counts.value().is_none_or(Counts::is_clean))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(n: u64) -> Counts {
        Counts {
            received_frames: n,
            good_frames: n,
            distinct_sequences: n,
            ..Counts::default()
        }
    }

    #[test]
    fn the_identity_holds_and_can_fail() {
        assert_eq!(clean(10).check_identity(10), Ok(()));
        assert!(
            clean(10)
                .check_identity(11)
                .unwrap_err()
                .contains("is not sent 11")
        );
        let counts = Counts {
            good_frames: 9,
            ..clean(10)
        };
        assert!(
            counts
                .check_identity(10)
                .unwrap_err()
                .contains("good and bad")
        );
        let counts = Counts {
            duplicated_frames: 1,
            ..clean(10)
        };
        assert!(
            counts
                .check_identity(10)
                .unwrap_err()
                .contains("duplicated 1")
        );
        assert!(!counts.is_clean());
    }

    #[test]
    fn a_ledger_that_differs_is_named() {
        let ledger = Ledger {
            sent_frames: 10,
            lost_frames: 1,
            ..Ledger::default()
        };
        assert_eq!(ledger.differences(&clean(10)), [("lost_frames", 1, 0)]);
    }
}
