//! The result of a trial: counts, times, series, and the limits of the tester itself.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use wirelab_wire::Sizes;

use crate::clock::ClockKind;
use crate::counter::Counter;
use crate::counts::{Counts, Ledger};
use crate::description::Description;
use crate::field::Field;
use crate::interval::{FlowIntervals, Stated};
use crate::over_time::{BusyOverTime, OverTime};
use crate::series::{Histogram, Series};
use crate::trial::{Direction, Trial};
use crate::warning_code::WarningCode;

/// Whether an observation is usable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// The trial ran to its end.
    Complete,
    /// It ended early; what was measured until then is kept.
    Partial {
        /// Why it ended.
        why: String,
    },
    /// It must not be used, e.g. because a frame of a buffer scenario was bad.
    Void {
        /// The reason.
        why: String,
    },
}

impl Status {
    /// The user ended the trial.
    pub fn cancelled() -> Status {
        Status::Partial {
            why: "ended by the user; what was measured until then is kept".to_owned(),
        }
    }
}

/// What an elapsed time spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Elapsed {
    /// Picoseconds.
    pub ps: u64,
    /// What they span.
    pub spans: Spans,
    /// Real or simulated time. Never instructions: those are not a time, and have their own series.
    pub clock: ClockKind,
}

/// The report of a flow's sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SenderObservation {
    /// The path of sent frames: `xdp`, `packet`, or a node's own word.
    pub path: String,
    /// Requested frames/s of the sender; absent at maximum load.
    pub asked_frames_per_s: Field<f64>,
    /// Frames/s it achieved, from its own frame times.
    pub achieved_frames_per_s: Field<f64>,
    /// Whether it kept the rate within 0.5 %.
    pub kept_rate: Field<bool>,
    /// Gaps between the starts of successive frames, by the sender's clock.
    pub gap: Field<Histogram>,
    /// Number of pauses of the sender by its own host, at any load.
    pub slips: Field<u64>,
    /// Sum of those pauses in ps.
    pub slipped_ps: Field<u64>,
    /// Time in ps of back-pressure: the achieved load is then the path's.
    #[serde(default = "not_reported")]
    pub blocked_ps: Field<u64>,
    /// Most frames sent back to back, faster than the pace, to catch up after a pause; 1 where none were.
    #[serde(default = "not_reported")]
    pub longest_burst_frames: Field<u64>,
    /// Whether the kernel copied the data of sent frames.
    pub kernel_copied: Field<bool>,
    /// The faults of an injector, where requested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ledger: Option<Ledger>,
}

fn not_reported() -> Field<u64> {
    Field::absent("not reported by the wirelab that wrote this")
}

/// One flow of a trial: one sending and one receiving port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FlowObservation {
    /// The node's port, e.g. `lab-node/n0`.
    pub port: String,
    /// As the node sees it; transmit or receive.
    pub direction: Direction,
    /// Stream number in the test header.
    pub stream: u8,
    /// Sequences the sender used.
    pub sent_frames: Field<u64>,
    /// The receiver's counts.
    pub counts: Field<Counts>,
    /// From the first preamble to the last gap unless `spans` differs.
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
    /// Share of sent sequences that certainly were lost, 0 to 1.
    pub loss_ratio: Field<f64>,
    /// The largest share that may have been lost, where that is more: some sequences were lost or dropped by the
    /// tester's own queue, and which of the two is unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loss_ratio_at_most: Option<f64>,
    /// The intervals of rates and loss, within this run.
    #[serde(skip_serializing_if = "FlowIntervals::is_empty", default)]
    pub intervals: FlowIntervals,
    /// What arrived in each slice of the run.
    #[serde(skip_serializing_if = "OverTime::is_empty", default)]
    pub over_time: OverTime,
    /// RFC 3550 interarrival jitter in ps.
    pub jitter_ps: Field<u64>,
    /// The sender's report.
    pub sender: Field<SenderObservation>,
    /// The path of received and checked frames: `xdp`, `packet`, or a node's own word.
    pub receiver_path: String,
    /// Time in ps in which its own host paused the checker.
    #[serde(default = "not_reported")]
    pub checker_held_up_ps: Field<u64>,
    /// Latency and other series of this flow.
    pub series: Vec<Series>,
    /// Further counters of this flow by name, e.g. what an iperf server reports: it checks no content, so its
    /// numbers are no [`Counts`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub counters: BTreeMap<String, Field<u64>>,
}

impl FlowObservation {
    /// A counter by its name, where it is known.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.get(name).and_then(Field::value).copied()
    }

    /// The share of frames lost, measured or predicted, where it is above 0.
    pub fn lost_share(&self) -> Option<f64> {
        let share = self.loss_ratio.value().copied();
        share.filter(|share| *share > 0.0)
    }

    /// Removes the rates of the flow, and says why.
    pub fn without_rates(&mut self, why: &str) {
        self.frames_per_s = Field::absent(why);
        self.payload_bits_per_s = Field::absent(why);
        self.link_bits_per_s = Field::absent(why);
        self.efficiency = Field::absent(why);
        self.goodput_bits_per_s = Field::absent(why);
        self.elapsed = Field::absent(why);
        self.intervals.without_rates();
        self.over_time = OverTime::default();
    }

    /// Whether a queue of the tester's own dropped frames of it, or may have.
    pub fn tester_dropped(&self) -> bool {
        let counts = self.counts.value();
        let missed = self.counter(Counter::CHECKER_MISSED.word());
        let departed = self.counter(Counter::DEPARTURE_UNKNOWN.word()).unwrap_or(0);
        counts.is_some_and(|c| c.missed_frames > 0 || c.lost_or_missed_frames > departed)
            // A peer that checks no content has no counts.
            || (self.loss_ratio_at_most.is_some() && departed == 0)
            || (counts.is_none() && missed.is_some_and(|missed| missed > 0))
    }

    /// Whether its sender fell behind the requested rate for a reason other than back-pressure.
    pub fn sender_was_slow(&self) -> bool {
        let kept = self.sender.value().and_then(|s| s.kept_rate.value());
        kept == Some(&false) && !self.was_held_back()
    }
}

/// Busy share of the node's CPU between first and last frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuLoad {
    /// 0 to 1.
    pub busy_ratio: f64,
    /// The idle baseline, 0 to 1: the busy share of the node without the trial. Absent where it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_baseline_ratio: Option<f64>,
    /// Whether tester and node shared a core, so the figure must not be used in a fit.
    pub shared: bool,
    /// The interval of the busy share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Stated>,
}

/// From this busy share of its idle baseline on, a node does other work beside the trial: a tenth of its cores is more
/// than the effect of the 10 ms steps in which a node reads its idle time, even on the shortest baseline.
pub const NODE_BUSY: f64 = 0.1;

/// From this busy share on, the node's CPU is what limited a figure.
pub const CPU_IS_LIMIT: f64 = 0.95;

/// A link that carries this share of its most is what limited a figure.
pub const WIRE_IS_LIMIT: f64 = 0.98;

/// Whether a node with this idle baseline, 0 to 1, does other work.
pub fn is_node_busy(idle_baseline_ratio: f64) -> bool {
    idle_baseline_ratio >= NODE_BUSY
}

impl CpuLoad {
    /// Whether the node's cores were busy before the trial: with other work, or because the node waits by spinning.
    pub fn was_busy_before(&self) -> bool {
        self.idle_baseline_ratio.is_some_and(is_node_busy)
    }
}

impl Observation {
    /// Whether it has a warning with this code.
    pub fn warned(&self, code: WarningCode) -> bool {
        self.warnings.iter().any(|warning| warning.is(code))
    }
}

/// Something that a reader must know, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Warning {
    /// A stable word for scripts, e.g. `sender-below-rate`; docs/warnings.md has all of them.
    pub code: String,
    /// What happened and why.
    pub text: String,
    /// What to do.
    #[serde(rename = "way_out")]
    pub fix: String,
}

impl Warning {
    /// A warning with this text.
    pub fn new(code: WarningCode, text: impl Into<String>, fix: impl Into<String>) -> Warning {
        Warning {
            code: code.word().to_owned(),
            text: text.into(),
            fix: fix.into(),
        }
    }

    /// A node's own note about a trial's times: which point has none, or how to interpret one.
    pub fn of_node(note: impl Into<String>) -> Warning {
        let fix = "nothing to do: the figures that are shown are valid; the note names those that are missing, or says how to interpret them";
        Warning::new(WarningCode::NODE, note, fix)
    }

    /// What happened and what to do, as an error says it.
    pub fn in_words(&self) -> String {
        format!("{}; fix: {}", self.text, self.fix)
    }

    /// Whether it has this code.
    pub fn is(&self, code: WarningCode) -> bool {
        self.code == code.word()
    }
}

/// What the tester could do on this host, and whether it was the limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TesterObservation {
    /// Frames/s of this size that the tester reached against itself, the best of several runs; never less than the
    /// fastest flow of the trial.
    pub ceiling_frames_per_s: Field<f64>,
    /// How much slower the second best run was, relative to the best, 0 to 1.
    #[serde(default = "no_ceiling")]
    pub ceiling_spread_ratio: Field<f64>,
    /// From this share below its ceiling on, the tester counts as the limit of a flow at maximum load, 0 to 1.
    #[serde(default = "no_ceiling")]
    pub ceiling_margin_ratio: Field<f64>,
    /// Whether the tester, not the node, was the limit.
    pub was_limit: Field<bool>,
}

fn no_ceiling() -> Field<f64> {
    Field::absent("no ceiling was measured")
}

impl TesterObservation {
    /// A tester without a known spread: its ceiling, and whether it was the limit.
    pub fn new(ceiling_frames_per_s: Field<f64>, was_limit: Field<bool>) -> TesterObservation {
        TesterObservation {
            ceiling_frames_per_s,
            ceiling_spread_ratio: no_ceiling(),
            ceiling_margin_ratio: no_ceiling(),
            was_limit,
        }
    }

    /// Before the tester's ceiling is known: a paced trial shows whether the tester `held_up` its flows, one at maximum
    /// load does not.
    pub fn of_trial(paced: bool, held_up: bool) -> TesterObservation {
        TesterObservation::new(
            Field::absent("not measured in this run"),
            match paced {
                true => Field::measured(held_up),
                false => Field::absent("needs the tester's ceiling"),
            },
        )
    }
}

/// The result of a trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Observation {
    /// The requested trial.
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
    /// How busy the node's cores and the tester's were over the run, where it was read.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub busy_over_time: Vec<BusyOverTime>,
    /// Series of the trial as a whole: stages, pulses, repeated times.
    pub series: Vec<Series>,
    /// Further counters by name, e.g. of a node's MAC.
    pub counters: BTreeMap<String, Field<u64>>,
    /// The tester's own limits.
    pub tester: TesterObservation,
    /// What a reader must know.
    pub warnings: Vec<Warning>,
}

/// By hand: a derived reader of flattened fields copies the whole observation before it reads it.
impl<'de> Deserialize<'de> for Observation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Observation, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Word {
            Complete,
            Partial,
            Void,
        }
        #[derive(Deserialize)]
        struct Flat {
            trial: Trial,
            sizes: Sizes,
            node: Description,
            status: Word,
            why: Option<String>,
            started_unix_ns: Field<u64>,
            flows: Vec<FlowObservation>,
            cpu_load: Field<CpuLoad>,
            #[serde(default)]
            busy_over_time: Vec<BusyOverTime>,
            series: Vec<Series>,
            counters: BTreeMap<String, Field<u64>>,
            tester: TesterObservation,
            warnings: Vec<Warning>,
        }
        let flat = Flat::deserialize(deserializer)?;
        let why = flat.why.ok_or_else(|| D::Error::missing_field("why"));
        Ok(Observation {
            trial: flat.trial,
            sizes: flat.sizes,
            node: flat.node,
            status: match flat.status {
                Word::Complete => Status::Complete,
                Word::Partial => Status::Partial { why: why? },
                Word::Void => Status::Void { why: why? },
            },
            started_unix_ns: flat.started_unix_ns,
            flows: flat.flows,
            cpu_load: flat.cpu_load,
            busy_over_time: flat.busy_over_time,
            series: flat.series,
            counters: flat.counters,
            tester: flat.tester,
            warnings: flat.warnings,
        })
    }
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
