//! Two paths of one trial in turn: the frames of a fast track's flow come in pairs, one of each through the stack, so
//! that every disturbance of the node affects both paths.

use wirelab_socket::udp::is_second;
use wirelab_trial::stage::{self, CapturePoint, PointTimes};
use wirelab_trial::{
    Counter, CounterKind, Counts, Direction, Extent, Field, FlowIntervals, FlowObservation, Layer,
    Load, Observation, Path, PointCounter, Tracker, Trial, Warning,
};

use super::node_path::rule_ports;
use super::plan::TO_NODE;

/// Paths that alternate.
const PATHS: u64 = 2;
/// The receiver of the frames.
const RECEIVER: &str = "node; frames in turn with the other path";
/// Why figures of a single path are absent.
const IN_TURN: &str = "frames of two paths were sent in turn";

/// The path of a frame.
const fn path_of(sequence: u32) -> Path {
    match is_second(sequence) {
        false => Path::Stack,
        true => Path::FastTrack,
    }
}

/// The trial that runs this one and its twin on the other path in turn, at twice the rate. `None` without a rule of a UDP port,
/// a background and a rate, or with more frames than a node keeps times of.
pub fn both(trial: &Trial, captures: u32) -> Option<Trial> {
    let paired = matches!(trial.path, Some(Path::Stack | Path::FastTrack));
    let udp = matches!(trial.framing.layer, Layer::UdpIpv4 | Layer::UdpIpv6);
    let (Load::FrameRate { frames_per_s }, Extent::Frames { frames }) = (trial.load, trial.extent)
    else {
        return None;
    };
    let named = !rule_ports(trial).ok()?.is_empty();
    let frames = frames.checked_mul(PATHS)?;
    let beside = trial.background.is_some() && trial.direction == Direction::Receive;
    let fits = paired && udp && named && beside;
    (fits && frames <= u64::from(captures)).then(|| Trial {
        path: Some(Path::FastTrack),
        load: Load::FrameRate {
            frames_per_s: frames_per_s * PATHS as f64,
        },
        extent: Extent::Frames { frames },
        ..trial.clone()
    })
}

/// The observations of both paths, that of `trial` first.
pub fn split(trial: &Trial, both: &Observation, points: &[PointTimes]) -> [Observation; 2] {
    let other = match trial.path {
        Some(Path::Stack) => Path::FastTrack,
        _ => Path::Stack,
    };
    let on = |path| Trial {
        path: Some(path),
        ..trial.clone()
    };
    let [own, mut kept] = [trial.clone(), on(other)].map(|trial| one(trial, both, points));
    // The halves of a pair are only repeated together, whatever delayed the tester.
    let attempts = Field::measured(1);
    kept.counters
        .insert(Counter::ATTEMPTS.word().to_owned(), attempts);
    [own, kept]
}

/// The observation of one path, taken from that of both paths.
fn one(trial: Trial, both: &Observation, points: &[PointTimes]) -> Observation {
    let path = trial.path.unwrap_or(Path::Stack);
    let mut mine = both.clone();
    mine.trial = trial;
    mine.cpu_load = Field::absent(IN_TURN);
    mine.busy_over_time.clear();
    // The capture points see both paths, and are reported once.
    let is_mine = |name: &str| {
        let of_points = PointCounter::of(name).is_some();
        let foreign = match Counter::of(name) {
            Some(known) => known.kind() == CounterKind::FastTrack || known == Counter::UNSEEN,
            None => of_points,
        };
        path == Path::FastTrack || !foreign
    };
    mine.counters.retain(|name, _| is_mine(name));
    let points: Vec<PointTimes> = points.iter().map(|point| on_path(point, path)).collect();
    let mut notes = Vec::new();
    for flow in mine.flows.iter_mut().filter(|f| f.stream == TO_NODE) {
        flow.counters.retain(|name, _| is_mine(name));
        tell(flow, path, &points, &mut notes);
    }
    mine.warnings
        .extend(notes.into_iter().map(Warning::of_node));
    mine
}

fn on_path(point: &PointTimes, path: Path) -> PointTimes {
    let mut mine = point.clone();
    mine.times
        .retain(|(sequence, _)| path_of(*sequence) == path);
    mine
}

/// The stages of a path, and the counts of its frames.
fn tell(flow: &mut FlowObservation, path: Path, points: &[PointTimes], notes: &mut Vec<String>) {
    let mine: Vec<PointTimes> = points
        .iter()
        .filter(|point| point.stream == flow.stream && !point.times.is_empty())
        .cloned()
        .collect();
    let stages = stage::between(&mine, notes).into_iter();
    flow.series = stages.map(|(_, series)| series).collect();
    RECEIVER.clone_into(&mut flow.receiver_path);
    flow.without_rates(IN_TURN);
    flow.intervals = FlowIntervals::default();
    flow.jitter_ps = Field::absent(IN_TURN);
    flow.sender = Field::absent(IN_TURN);
    flow.sent_frames = flow.sent_frames.clone().map(|sent| sent_of(sent, path));
    let application = mine
        .iter()
        .rev()
        .find(|point| point.name == CapturePoint::APPLICATION.word());
    let taken = application.map_or(&[][..], |point| &point.times);
    flow.counts = counts(flow, taken);
    flow.loss_ratio = match (flow.counts.value(), flow.sent_frames.value()) {
        (Some(counts), Some(sent)) if *sent > 0 => {
            Field::measured(counts.lost_frames as f64 / *sent as f64)
        }
        _ => Field::absent(IN_TURN),
    };
}

/// How many of the first `sent` frames take a path: a pair has one frame of each path.
fn sent_of(sent: u64, path: Path) -> u64 {
    let odd_one = u32::try_from(sent).ok().and_then(|n| n.checked_sub(1));
    let is_left = sent % PATHS == 1 && odd_one.is_some_and(|last| path_of(last) == path);
    sent / PATHS + u64::from(is_left)
}

/// The counts of a path's frames, in the order in which the application got them. The node verified them all.
fn counts(flow: &FlowObservation, taken: &[(u32, u64)]) -> Field<Counts> {
    let (both, sent) = match (flow.counts.value(), flow.sent_frames.value()) {
        (Some(both), Some(sent)) => (*both, *sent),
        _ => return flow.counts.clone(),
    };
    if both.good_frames != both.received_frames {
        return Field::absent("frames were damaged, and it is unknown which path they took");
    }
    let mut tracker = Tracker::new();
    for (sequence, _) in taken {
        tracker.observe(sequence / PATHS as u32);
    }
    let received = taken.len() as u64;
    let bytes = both.verified_payload_bytes / both.received_frames.max(1);
    Field::measured(Counts {
        received_frames: received,
        good_frames: received,
        distinct_sequences: tracker.distinct(),
        duplicated_frames: tracker.duplicated(),
        reordered_frames: tracker.reordered(),
        reordering_extent_frames: tracker.max_extent(),
        too_late_frames: tracker.too_late(),
        lost_frames: sent.saturating_sub(tracker.distinct()),
        verified_payload_bytes: bytes * received,
        ..Counts::default()
    })
}

#[cfg(test)]
mod tests {
    use wirelab_trial::ResultsFile;

    use super::*;

    #[test]
    fn the_half_of_a_pair_that_is_kept_is_not_asked_again_and_the_other_may_be() {
        let text = include_str!("../../../../spec/examples/iperf.json");
        let both = &ResultsFile::parse(text).unwrap().observations[0];
        for path in [Path::Stack, Path::FastTrack] {
            let trial = Trial {
                path: Some(path),
                ..both.trial.clone()
            };
            let [own, kept] = split(&trial, both, &[]);
            assert_eq!(own.trial, trial);
            assert_eq!(own.counters.get(Counter::ATTEMPTS.word()), None);
            assert_ne!(kept.trial.path, own.trial.path);
            assert_eq!(
                kept.counters.get(Counter::ATTEMPTS.word()),
                Some(&Field::measured(1))
            );
        }
    }

    #[test]
    fn each_pair_has_a_frame_of_either_way_and_which_is_first_changes() {
        let paths: Vec<Path> = (0..8).map(path_of).collect();
        for pair in paths.chunks(2) {
            assert_ne!(pair[0], pair[1]);
        }
        assert_eq!(
            paths
                .iter()
                .step_by(2)
                .filter(|w| **w == Path::Stack)
                .count(),
            2
        );
        for sent in 0..=8 {
            for path in [Path::Stack, Path::FastTrack] {
                let mine = paths.iter().take(sent).filter(|w| **w == path).count();
                assert_eq!(sent_of(sent as u64, path), mine as u64, "{sent}, {path}");
            }
        }
    }
}
