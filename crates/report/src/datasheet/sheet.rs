//! A datasheet as plain data: what the page shows, with the unit in each name and the kind of each figure. Its JSON is
//! stable: fields may be added, none is renamed.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use wirelab_trial::search::{Limit, Outcome};
use wirelab_trial::{ClockKind, Direction, Field, Kind, Layer, Load, SeriesName};

use crate::interval::Intervals;
use crate::limited::Limited;
use crate::row::StatusWord;

/// Word that marks a datasheet's JSON.
pub const FORMAT: &str = "wirelab-datasheet";
/// Version of the JSON.
pub const VERSION: u32 = 1;

/// The datasheets of a results file, one for each node in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Datasheet {
    /// [`FORMAT`].
    pub format: &'static str,
    /// [`VERSION`].
    pub version: u32,
    /// Version of wirelab that measured.
    pub wirelab_version: String,
    /// The command that made the results.
    pub command: Vec<String>,
    /// When the run was begun, ns since 1970.
    pub created_unix_ns: u64,
    /// Whether the run was ended before its plan was done.
    pub interrupted: bool,
    /// Whether nothing of the run failed, as its exit status says.
    pub passed: bool,
    /// A sheet for each node.
    pub sheets: Vec<Sheet>,
}

/// The page of one node.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sheet {
    /// The node's name.
    pub node: String,
    /// Its node type.
    pub node_kind: String,
    /// Whether an iperf 2 client can measure it.
    #[serde(skip)]
    pub answers_iperf: bool,
    /// Set-up keys as the node reported them.
    pub setup: BTreeMap<String, String>,
    /// Link rate in bit/s, where there is one.
    pub link_bits_per_s: Option<u64>,
    /// Delay between driver and application, with the PHY's term beside it.
    pub layer2_latency: Vec<Latency>,
    /// Bandwidth of Ethernet trials.
    pub layer2_throughput: Vec<Rate>,
    /// TCP; a trial of both directions at once has two entries.
    pub tcp: Vec<Rate>,
    /// UDP, by size of datagram.
    pub udp: Vec<UdpSize>,
    /// Round trips.
    pub echo: Vec<Echo>,
    /// What is missing from the page, and why.
    pub absent: Vec<Absent>,
    /// What a reader must know, each once.
    pub warnings: Vec<Notice>,
}

/// A section without figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Absent {
    /// Name of the section.
    pub section: &'static str,
    /// The reason.
    pub why: String,
}

/// A warning and the trials that it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Notice {
    /// A stable word.
    pub code: String,
    /// The problem.
    pub text: String,
    /// What to do.
    pub fix: String,
    /// Numbers of the trials, from 1.
    pub trials: Vec<usize>,
}

/// The load of a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateLoad {
    /// As its trial requested it.
    Requested(Load),
    /// One that a search chose, whose trial is not in the results.
    Searched,
}

impl RateLoad {
    /// The load that its trial requested.
    pub const fn requested(self) -> Option<Load> {
        match self {
            RateLoad::Requested(load) => Some(load),
            RateLoad::Searched => None,
        }
    }

    /// What marks a figure among those at other loads; nothing at the highest.
    pub fn below_max(self) -> Option<String> {
        match self {
            RateLoad::Requested(Load::Max) => None,
            load => Some(load.key()),
        }
    }

    /// As reports write it: a bit rate as its number of bit/s.
    pub fn key(self) -> String {
        match self {
            RateLoad::Requested(load) => load.key(),
            RateLoad::Searched => "searched".to_owned(),
        }
    }
}

impl Serialize for RateLoad {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.key())
    }
}

/// The figures of one direction of a trial. Where a trial was repeated, the one with the median bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// Numbers of the trials, from 1; the first is the one that is shown.
    pub trials: Vec<usize>,
    /// `complete`, `partial`, or `void`.
    pub status: StatusWord,
    /// Layer.
    pub layer: Layer,
    /// The requested direction, as the node sees it.
    pub trial_direction: Direction,
    /// The direction of these figures.
    pub direction: Direction,
    /// Bytes of the frame with FCS.
    pub frame_bytes: u32,
    /// Bytes of the payload.
    pub payload_bytes: u32,
    /// Bytes of application data, as requested.
    pub datagram_bytes: Option<u32>,
    /// The requested load; JSON has its key.
    pub load: RateLoad,
    /// Bit/s offered: the requested rate if the sender kept it, otherwise the achieved one. On UDP and TCP application bits,
    /// on Ethernet payload bits.
    pub offered_bits_per_s: Field<f64>,
    /// Bit/s that the sender achieved, if it reported that, else what was offered; pictures use it.
    #[serde(skip)]
    pub sent_bits_per_s: Field<f64>,
    /// Bit/s that arrived, counted in the same way.
    pub bits_per_s: Field<f64>,
    /// Frames/s that arrived.
    pub frames_per_s: Field<f64>,
    /// Share of frames that certainly were lost, 0 to 1.
    pub loss_ratio: Field<f64>,
    /// The largest possible share of lost frames, if that is larger: the tester's own queue dropped frames, and how
    /// many cannot be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_ratio_at_most: Option<f64>,
    /// Intervals of `bits_per_s`, `frames_per_s` and `loss_ratio`: over the repeats, or within the one run that there is.
    #[serde(skip_serializing_if = "Intervals::is_empty")]
    pub intervals: Intervals,
    /// RFC 3550 jitter in ps.
    pub jitter_ps: Field<u64>,
    /// Busy share of the node's CPU, 0 to 1.
    pub cpu_busy_ratio: Field<f64>,
    /// Busy share of the idle node, 0 to 1.
    pub cpu_idle_ratio: Field<f64>,
    /// Whether tester and node shared a core, so that the load is not the node's alone.
    pub cpu_shared: bool,
    /// Frames/s over what the link carries, 0 to 1.
    pub of_line_rate_ratio: Field<f64>,
    /// Frames/s that the tester reached against itself.
    pub tester_ceiling_frames_per_s: Field<f64>,
    /// Whether the tester, not the node, was the limit.
    pub tester_was_limit: Field<bool>,
    /// Whether the tester's receiver missed frames, so that the loss is not the node's alone.
    pub tester_missed_frames: bool,
    /// Whether the node's own host held its sender or receiver up: an idle node may be faster and lose less.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub node_held_up: bool,
    /// What limited the rate.
    pub limited: Limited,
}

/// The result of a search for one bound of loss.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchedRate {
    /// Highest share of lost frames that was allowed, 0 to 1.
    pub allowed_loss_ratio: f64,
    /// Length of a full trial in ps.
    pub trial_ps: u64,
    /// Trials that were run for it.
    pub trials_asked: u64,
    /// How far the goal was followed.
    pub outcome: Outcome,
    /// The limit of the rate.
    pub limited_by: Field<Limit>,
    /// How far the bounds are apart: (upper − lower) / upper.
    pub width_ratio: Field<f64>,
    /// The figures of the trial at the relevant lower bound; without that trial, bandwidth and frames/s are the conditional
    /// throughput of RFC 9971.
    pub rate: Rate,
    /// The conditional throughput: the rate that pages show.
    #[serde(skip)]
    pub found_frames_per_s: Field<f64>,
}

/// All figures of one size of datagram.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UdpSize {
    /// UDP over IPv4 or IPv6.
    pub layer: Layer,
    /// Bytes of the datagram, as requested.
    pub datagram_bytes: u32,
    /// Receive trials of a given rate, slowest first.
    pub receive: Vec<Rate>,
    /// Receive trials of the searches, slowest first; pictures show them.
    #[serde(skip)]
    pub searched: Vec<Rate>,
    /// The highest rate at the loss that was allowed, where one was searched.
    pub receive_max: Option<SearchedRate>,
    /// The highest rate without loss, where it was searched.
    pub receive_no_loss: Option<SearchedRate>,
    /// At maximum load of the tester, if that was requested.
    pub receive_at_max_load: Option<Rate>,
    /// At maximum load of the node.
    pub transmit_max: Option<Rate>,
    /// Why there is no searched rate, where a search could not begin or did not end.
    pub search_refused: Option<String>,
}

/// Delay between the driver and the application of the node, one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Numbers of the trials, from 1.
    pub trials: Vec<usize>,
    /// As the node sees it.
    pub direction: Direction,
    /// Length of the frames in bytes, without FCS.
    pub length_bytes: u32,
    /// Frames that were captured.
    pub samples: u64,
    /// The node's own stage.
    #[serde(skip)]
    pub stage: Option<SeriesName>,
    /// Median of the node's own stages, in ps.
    pub node_ps: Field<u64>,
    /// Shortest, in ps.
    pub node_min_ps: Field<u64>,
    /// 99th percentile, in ps.
    pub node_p99_ps: Field<u64>,
    /// Longest, in ps.
    pub node_max_ps: Field<u64>,
    /// Intervals of `node_ps` and `node_p99_ps`, within the run.
    #[serde(skip_serializing_if = "Intervals::is_empty")]
    pub intervals: Intervals,
    /// Delay of the PHY, from its datasheet or the model, in ps.
    pub phy_ps: Field<u64>,
    /// Both together.
    pub total: Total,
}

/// A sum of figures that may be of several kinds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Total {
    /// The sum.
    Sum {
        /// In ps.
        value_ps: u64,
        /// The weakest kind of its parts.
        kind: Kind,
        /// Kinds of its parts.
        kinds: Vec<Kind>,
        /// Its parts, each with its kind, if the kinds differ.
        #[serde(skip_serializing_if = "Option::is_none")]
        parts: Option<SumParts>,
    },
    /// There is no sum, and why.
    Absent {
        /// The reason.
        absent: String,
    },
}

/// The parts of a sum whose kinds differ: the node's own time and its PHY's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SumParts {
    /// The kinds of the node's time and of the PHY's.
    pub kinds: [Kind; 2],
    /// The source of the PHY's time.
    pub of_phy: String,
}

impl SumParts {
    /// The kinds, for a reader.
    pub fn kinds(&self) -> String {
        let [node, phy] = self.kinds;
        format!("{node} + {phy}")
    }
}

impl std::fmt::Display for SumParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.kinds(), self.of_phy)
    }
}

/// As its text.
impl Serialize for SumParts {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Round trips of one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Echo {
    /// Numbers of the trials, from 1.
    pub trials: Vec<usize>,
    /// Layer.
    pub layer: Layer,
    /// Bytes of the frame with FCS.
    pub frame_bytes: u32,
    /// The requested size, in `size_unit`.
    pub size_bytes: u32,
    /// What `size_bytes` counts: `frame`, `length`, `payload` or `datagram`.
    pub size_unit: &'static str,
    /// Bytes of the datagram; none on Ethernet.
    pub datagram_bytes: Option<u32>,
    /// The requested load.
    pub load: String,
    /// The requested background; none without load.
    pub background: Option<String>,
    /// Requested frames/s of the background.
    pub background_asked_frames_per_s: Field<f64>,
    /// Frames/s of the background that the tester sent.
    pub background_frames_per_s: Field<f64>,
    /// Share of the background that did not arrive, 0 to 1.
    pub background_loss_ratio: Field<f64>,
    /// Round trips that were taken.
    pub samples: u64,
    /// Whether the times are those of a simulation.
    pub clock: Option<ClockKind>,
    /// Shortest in ps.
    pub min_ps: Field<u64>,
    /// Median in ps.
    pub p50_ps: Field<u64>,
    /// 90th percentile in ps.
    pub p90_ps: Field<u64>,
    /// 99th percentile in ps.
    pub p99_ps: Field<u64>,
    /// 99.9th percentile in ps.
    pub p99_9_ps: Field<u64>,
    /// 99.99th percentile in ps.
    pub p99_99_ps: Field<u64>,
    /// Longest in ps.
    pub max_ps: Field<u64>,
    /// Intervals of `p50_ps`, `p90_ps`, `p99_ps`, `p99_9_ps` and `loss_ratio`, within the run.
    #[serde(skip_serializing_if = "Intervals::is_empty")]
    pub intervals: Intervals,
    /// Mean in ps.
    pub mean_ps: Field<f64>,
    /// RFC 3550 jitter in ps.
    pub jitter_ps: Field<u64>,
    /// Delay variation of RFC 5481 at 99.9 %, in ps.
    pub pdv_p99_9_ps: Field<u64>,
    /// Share of probes that certainly did not come back, 0 to 1.
    pub loss_ratio: Field<f64>,
    /// The largest share that may not have come back, where that is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_ratio_at_most: Option<f64>,
    /// Median of the tester's own round trip against itself, in ps.
    pub floor_p50_ps: Field<u64>,
    /// 99th percentile of the same, in ps.
    pub floor_p99_ps: Field<u64>,
    /// Busy share of the node's CPU, 0 to 1.
    pub cpu_busy_ratio: Field<f64>,
}
