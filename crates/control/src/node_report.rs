//! A node's description of itself, and its report after a trial: counters, CPU load and capture points. Missing parts
//! are left out.

use std::collections::BTreeMap;

use wirelab_trial::job::CheckReport;
use wirelab_trial::stage::{self, PointTimes};
use wirelab_trial::{Capabilities, Counts, CpuLoad, Field, Series};

use crate::client::{Client, ClientError, PointRecords};
use crate::message::Identity;
use crate::slices;
use crate::transport::Transport;

/// Most cores that are queried.
const MOST_CORES: u32 = 1024;
/// Most capture points that are queried.
const MOST_POINTS: u32 = 64;
/// Most counters that are kept.
const MOST_COUNTERS: usize = 512;
/// Most set-up keys that are kept: each observation holds them.
const MOST_KEYS: usize = 256;

/// The report of a node.
#[derive(Debug)]
pub struct NodeReport {
    /// Counters by the names of the protocol.
    pub counters: BTreeMap<String, u64>,
    /// Busy share of its cores.
    pub load: Field<CpuLoad>,
    /// The records of its capture points, in their order.
    pub points: Vec<PointTimes>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl NodeReport {
    /// An empty report, and why.
    pub fn nothing(why: &str) -> NodeReport {
        NodeReport {
            counters: BTreeMap::new(),
            load: Field::absent(why),
            points: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Requests everything about a trial. A part that fails is left out with a note.
    pub fn ask<T: Transport>(control: &mut Client<T>, trial: u32, captures: bool) -> NodeReport {
        let mut report = NodeReport::nothing("the node reports none");
        match control.counters(trial, 0) {
            Ok(counters) => report.counters = counters.into_iter().take(MOST_COUNTERS).collect(),
            Err(error) => report.notes.push(format!("no counters: {error}")),
        }
        report.load = load(control, trial);
        if captures {
            match points(control, trial) {
                Ok(points) => {
                    report.points = points.iter().map(PointRecords::times).collect();
                }
                Err(error) => report.notes.push(format!("no captures: {error}")),
            }
        }
        report
    }

    /// Removes the points of a stream, and returns the times between them. Omissions are added to the notes.
    pub fn stages_of(&mut self, stream: u8) -> Vec<Series> {
        let all = std::mem::take(&mut self.points).into_iter();
        let (mine, others) = all.partition(|point| point.stream == stream);
        self.points = others;
        let stages = stage::between(&mine, &mut self.notes).into_iter();
        stages.map(|(_, series)| series).collect()
    }
}

/// The set-up keys.
///
/// # Errors
/// As [`Client::setup`].
pub fn setup<T: Transport>(
    control: &mut Client<T>,
) -> Result<BTreeMap<String, String>, ClientError> {
    Ok(control.setup()?.into_iter().take(MOST_KEYS).collect())
}

/// The capabilities that a node declares, over a link of this many bit/s, if known.
pub fn capabilities(node: &Identity, link_bits_per_s: Option<u64>) -> Capabilities {
    Capabilities {
        layers: node.layers.clone(),
        directions: node.directions.clone(),
        buffers: node.buffers.clone(),
        paths: node
            .paths
            .iter()
            .filter_map(|path| path.of_a_trial())
            .collect(),
        ports: 1,
        min_frame_bytes: node.min_frame_bytes,
        max_frame_bytes: node.max_frame_bytes,
        link_bits_per_s,
    }
}

/// The load of all cores together.
fn load<T: Transport>(control: &mut Client<T>, trial: u32) -> Field<CpuLoad> {
    let mut all = Vec::new();
    loop {
        let core = all.len() as u32;
        match control.load(trial, core) {
            Ok(load) => {
                let cores = load.cores.min(MOST_CORES);
                all.push(load);
                if core + 1 >= cores {
                    break;
                }
            }
            Err(ClientError::Refused { refusal, .. }) => {
                let why = refusal
                    .why
                    .unwrap_or_else(|| refusal.code.word().to_owned());
                return Field::absent(format!("the node reports no CPU load: {why}"));
            }
            Err(error) => return Field::absent(format!("the node reports no CPU load: {error}")),
        }
    }
    let sum = |get: fn(&crate::message::CpuLoad) -> Option<u64>| -> Option<u128> {
        all.iter().map(|load| get(load).map(u128::from)).sum()
    };
    let share = |busy: Option<u128>, window: Option<u128>| {
        let (busy, window) = (busy?, window?);
        (window > 0).then(|| (busy as f64 / window as f64).min(1.0))
    };
    let busy = share(sum(|l| Some(l.busy_ticks)), sum(|l| Some(l.window_ticks)));
    let idle = share(sum(|l| l.idle_busy_ticks), sum(|l| l.idle_window_ticks));
    let shared = all.iter().any(|load| load.shared);
    match busy {
        None => Field::absent("no time lies between the first frame and the last"),
        Some(busy_ratio) => Field::measured(CpuLoad {
            busy_ratio,
            idle_baseline_ratio: idle,
            shared,
            interval: None,
        }),
    }
}

/// The records of all capture points, in their order.
///
/// # Errors
/// As [`Client::captures`].
pub fn points<T: Transport>(
    control: &mut Client<T>,
    trial: u32,
) -> Result<Vec<PointRecords>, ClientError> {
    let mut all = Vec::new();
    loop {
        let point = control.captures(trial, all.len() as u32)?;
        let points = point.point.points.min(MOST_POINTS);
        all.push(point);
        if all.len() as u32 >= points {
            return Ok(all);
        }
    }
}

/// The counts of a node that checks frames, from its counters; or the missing counter.
///
/// # Errors
/// The name of the counter.
pub fn counts(counters: &BTreeMap<String, u64>) -> Result<Counts, &'static str> {
    let get = |name: &'static str| counters.get(name).copied().ok_or(name);
    Ok(Counts {
        received_frames: get("received_frames")?,
        good_frames: get("good_frames")?,
        header_corrupt_frames: get("header_corrupt_frames")?,
        truncated_frames: get("truncated_frames")?,
        stale_frames: get("stale_frames")?,
        corrupted_frames: get("corrupted_frames")?,
        duplicated_frames: get("duplicated_frames")?,
        reordered_frames: get("reordered_frames")?,
        reordering_extent_frames: get("reordering_extent_frames").unwrap_or(0),
        too_late_frames: get("too_late_frames")?,
        distinct_sequences: get("distinct_sequences")?,
        lost_frames: 0,
        missed_frames: 0,
        lost_or_missed_frames: 0,
        foreign_frames: get("foreign_frames").unwrap_or(0),
        other_run_frames: get("other_run_frames").unwrap_or(0),
        verified_payload_bytes: get("verified_payload_bytes").unwrap_or(0),
        order_breaks: 0,
    })
}

/// The report of the node's receiver in the form of a checker's. Where the node has no times, `span_ps` is the time
/// from the first frame to the end of the last one's gap.
pub fn report(
    counters: &BTreeMap<String, u64>,
    counts: Counts,
    span_ps: Option<u64>,
) -> CheckReport {
    let received = counts.received_frames;
    let get = |name: &str| counters.get(name).copied();
    let times = get("received_first_ns").zip(get("received_last_ns"));
    let (first, last) = match (times, span_ps) {
        (Some((first, last)), _) => (Some((first, 0)), Some((last, received.saturating_sub(1)))),
        (None, Some(ps)) => (Some((0, 0)), Some((ps / 1000, received))),
        (None, None) => (None, None),
    };
    CheckReport {
        counts,
        first: first.filter(|_| received > 1),
        last: last.filter(|_| received > 1),
        slices: slices::reported(counters),
        // Any value of the node must fit when it is converted to ps.
        jitter_ns: get("received_jitter_ns").map(|ns| ns.min(u64::MAX / 1000)),
        watched_ns: get("watched_ns"),
        held_up_ns: get("received_held_up_ns"),
        // Drops of the node's own queue are the node's losses and never `missed`, because they determine its receive
        // rate.
        ..CheckReport::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_trial::WarningCode;

    /// The counters of a flow beside the number of its frames.
    const COUNTS: [&str; 9] = [
        "good_frames",
        "header_corrupt_frames",
        "truncated_frames",
        "stale_frames",
        "corrupted_frames",
        "duplicated_frames",
        "reordered_frames",
        "too_late_frames",
        "distinct_sequences",
    ];

    #[test]
    fn a_counter_that_is_not_there_is_not_zero() {
        let mut counters = BTreeMap::from([("received_frames".to_owned(), 7)]);
        assert_eq!(counts(&counters), Err("good_frames"));
        for name in COUNTS {
            assert!(counts(&counters).is_err(), "{name}");
            counters.insert(name.to_owned(), 7);
        }
        assert_eq!(counts(&counters).unwrap().good_frames, 7);
    }

    #[test]
    fn rates_come_from_the_nodes_own_times() {
        let counts = Counts {
            received_frames: 101,
            ..Counts::default()
        };
        let times = BTreeMap::from([
            ("received_first_ns".to_owned(), 5_000_000_000),
            ("received_last_ns".to_owned(), 5_100_000_000),
        ]);
        assert_eq!(report(&times, counts, None).frames_per_s(), Some(1000.0));
        let none = BTreeMap::new();
        let spanned = report(&none, counts, Some(101_000_000_000));
        assert_eq!(spanned.frames_per_s(), Some(1000.0));
        assert_eq!(report(&none, counts, None).frames_per_s(), None);
    }
    #[test]
    fn a_hostile_node_makes_no_sum_overflow() {
        let others = [
            "received_frames",
            "received_last_ns",
            "received_jitter_ns",
            "received_held_up_ns",
            "watched_ns",
        ];
        let mut counters: BTreeMap<String, u64> = COUNTS
            .iter()
            .chain(&others)
            .map(|name| ((*name).to_owned(), u64::MAX))
            .collect();
        counters.insert("received_first_ns".to_owned(), 0);
        for at in 0..40 {
            for what in ["ns", "frames", "passed"] {
                counters.insert(format!("slice_{what}.{at:02}"), u64::MAX - at);
            }
        }
        let received = report(&counters, counts(&counters).unwrap(), Some(u64::MAX));
        let framing = wirelab_wire::Framing::default();
        let size = wirelab_wire::Size::new(wirelab_wire::SizeUnit::Frame, 64);
        let request = wirelab_trial::job::FlowRequest {
            port: String::new(),
            direction: wirelab_trial::Direction::Receive,
            stream: 0,
            layer: framing.layer,
            sizes: size.resolve(framing).unwrap(),
            link: None,
            frames_per_s: None,
            from: String::new(),
            to: String::new(),
            sender_path: String::new(),
            receiver_path: String::new(),
            ledger: None,
        };
        let sent = wirelab_trial::job::SendReport {
            sequences: u64::MAX,
            ..wirelab_trial::job::SendReport::default()
        };
        let flow = wirelab_trial::job::flow_observation(&request, &sent, received.clone());
        assert!(flow.intervals.loss_ratio.is_none_or(|i| i.high <= 1.0));
        let sent = wirelab_trial::job::SendReport::default();
        let warnings = wirelab_trial::job::flow_warnings(&request, &sent, &received);
        assert!(warnings.iter().any(|w| w.is(WarningCode::IDENTITY)));
        let flow = wirelab_trial::job::flow_observation(&request, &sent, received);
        assert_eq!(flow.loss_ratio.value(), None, "nothing was sent");
    }
}
