//! The notes of a run of stages beside its tables: where each part ran, and how the paths compare.

use wirelab_trial::counter::Counter;
use wirelab_trial::format::{integer, time_f};
use wirelab_trial::{Description, Observation, Path, Probes, Ratio, Trial, pooled};

use crate::paths::{
    Answer, BackgroundResult, ClaimVerdict, FRAMES_FOR_P99, LEAST_FRAMES_FOR_P99, NotDecided,
    PathComparison, PathFigures, beside,
};

/// Set-up keys: the cores of the node's application, and of its receive work.
const CPUS: &str = "cpus";
const RECEIVE_CPUS: &str = "receive_cpus";
/// The counters of a fast track.
const OF_FAST_TRACK: [Counter; 5] = [
    Counter::FAST_TRACK_MATCHED,
    Counter::FAST_TRACK_PASSED,
    Counter::FAST_TRACK_NO_SOCKET,
    Counter::FAST_TRACK_RING_FULL,
    Counter::FAST_TRACK_DROPPED,
];
/// Picoseconds in a nanosecond.
const NS_PS: f64 = 1e3;

/// Sentences for the reader, which the results file keeps.
pub fn notes(node: &Description, observations: &[Observation]) -> Vec<String> {
    let mut notes = vec![placement(node)];
    notes.extend(beside(observations).iter().map(against));
    let whole = pooled(observations);
    let on_paths = whole
        .iter()
        .filter(|o| o.trial.path.is_some() && o.trial.probes != Some(Probes::Off));
    notes.extend(on_paths.map(polls));
    notes
}

/// Where each part runs.
fn placement(node: &Description) -> String {
    let key = |name: &str| node.setup.get(name).map(String::as_str);
    let application = match key(CPUS) {
        Some(cores) => format!("the node's application runs on core {cores}"),
        None => "the node does not report where its application runs".to_owned(),
    };
    let receive = match key(RECEIVE_CPUS) {
        Some("any") | None => {
            "its receive work is not steered: on veth it runs on the sender's core, for every path alike".to_owned()
        }
        Some(cores) => format!("its receive work after the driver is steered to core {cores}"),
    };
    format!("{application}; {receive}")
}

/// The result of a pair of paths, and whether the fast track serves its purpose.
fn against(pair: &PathComparison) -> String {
    let PathComparison {
        stack, fast_track, ..
    } = pair;
    let time = |ns: f64| time_f(ns * NS_PS);
    format!(
        "{}, driver to application: fast track {} median, {} p99; stack {} and {}; median {}, p99 {} (95 % intervals \
         over {} pairs of blocks, {} and {} frames; that of the p99 is the median of the blocks'); {}{}",
        conditions(pair),
        time(fast_track.median_ns),
        time(fast_track.p99_ns),
        time(stack.median_ns),
        time(stack.p99_ns),
        ratio(pair.median_ratio),
        ratio(pair.p99_ratio),
        pair.blocks,
        integer(fast_track.frames),
        integer(stack.frames),
        verdict(pair),
        order(stack, fast_track)
    )
}

fn ratio(ratio: Option<Ratio>) -> String {
    match ratio {
        Some(Ratio { ratio, interval }) => {
            // Near 1 the third decimal decides.
            let places = if (ratio - 1.0).abs() < 0.02 { 3 } else { 2 };
            let (low, high) = (interval.low, interval.high);
            format!("ratio {ratio:.places$} ({low:.places$} to {high:.places$})")
        }
        None => "no ratio".to_owned(),
    }
}

/// The claim, and what the run shows.
fn verdict(pair: &PathComparison) -> String {
    let ClaimVerdict { claim, answer, .. } = &pair.verdict;
    let answer = match answer {
        Answer::Holds => "holds".to_owned(),
        Answer::DoesNotHold => "does not hold".to_owned(),
        Answer::NotDecided { why } => format!("not decided ({})", undecided(why, pair)),
    };
    format!("{}: {answer}{}", claim.words(), counts_for(pair))
}

/// Why it is not decided, and what to do.
fn undecided(why: &NotDecided, pair: &PathComparison) -> String {
    let frames = pair.stack.frames.max(pair.fast_track.frames);
    match why {
        NotDecided::Interval { of } => format!(
            "the interval of the {of} holds {}: request more frames, e.g. --count {}",
            pair.verdict.claim.most(),
            4 * frames.next_power_of_two().max(FRAMES_FOR_P99 / 4)
        ),
        NotDecided::FewBlocks { blocks } => format!(
            "{blocks} pairs of blocks give no interval: request a number of frames that 8 divides, e.g. --count \
             {FRAMES_FOR_P99}"
        ),
        NotDecided::FewFrames { frames } => format!(
            "{frames} frames have too few beyond their p99: request at least --count {LEAST_FRAMES_FOR_P99}"
        ),
        NotDecided::Unlike {
            stack_frames_per_s,
            fast_track_frames_per_s,
        } => format!(
            "the background ran at {} frames/s beside the stack and at {} beside the fast track: request a smaller one, \
             or repeat when the machine is idle",
            rate(*stack_frames_per_s),
            rate(*fast_track_frames_per_s)
        ),
        NotDecided::NoRatio => {
            "a path has no figure above 0: request more frames with --count".to_owned()
        }
    }
}

/// The background that a verdict is valid for, if it differs from the requested one.
fn counts_for(pair: &PathComparison) -> String {
    let both = pair.stack.background.zip(pair.fast_track.background);
    match both {
        // Already said if the two differ.
        _ if matches!(
            pair.verdict.answer,
            Answer::NotDecided {
                why: NotDecided::Unlike { .. }
            }
        ) =>
        {
            String::new()
        }
        Some((stack, fast)) if pair.verdict.background_missed_its_rate => format!(
            ", for the background that really ran: {} frames/s beside the stack and {} beside the fast track, not the {} \
             requested",
            rate(stack.frames_per_s),
            rate(fast.frames_per_s),
            rate(stack.asked_frames_per_s)
        ),
        _ => String::new(),
    }
}

fn rate(frames_per_s: f64) -> String {
    integer(frames_per_s.round() as u64)
}

fn conditions(pair: &PathComparison) -> String {
    let wait = pair
        .wait
        .map_or("sleep".to_owned(), |wait| wait.to_string());
    let load = match pair.background {
        Some(background) => format!("beside {background}"),
        None => "unloaded".to_owned(),
    };
    format!("length {}, {wait}, {load}", pair.length_bytes)
}

/// Whether the order within the flow was kept, as far as it was counted.
fn order(stack: &PathFigures, fast_track: &PathFigures) -> String {
    match (fast_track.reordered_frames, stack.reordered_frames) {
        (Some(fast), Some(stack)) => format!("; reordered {fast} and {stack}"),
        _ => String::new(),
    }
}

/// The driver's polls on a path, and what the fast track matched.
fn polls(whole: &Observation) -> String {
    let of = |counter: Counter| find(whole, counter.word());
    let mut parts = Vec::new();
    if let (Some(median), Some(most)) = (of(Counter::NAPI_MEDIAN), of(Counter::NAPI_MAX)) {
        let p99 = of(Counter::NAPI_P99).map_or(String::new(), |n| format!(", p99 {n}"));
        parts.push(format!(
            "frames of a poll of the driver: median {median}{p99}, most {most}"
        ));
    }
    for counter in OF_FAST_TRACK {
        let words = counter.meaning();
        parts.extend(of(counter).map(|n| format!("{} {words}", integer(n))));
    }
    parts.extend(
        BackgroundResult::of(std::slice::from_ref(whole))
            .as_ref()
            .map(background),
    );
    let text = match parts.is_empty() {
        true => "the node reports neither polls nor matches".to_owned(),
        false => parts.join(", "),
    };
    format!(
        "{}: {text}",
        path_in_words(&whole.trial, whole.sizes.length)
    )
}

/// The background that really ran beside a flow.
fn background(result: &BackgroundResult) -> String {
    let frames = |n: Option<u64>| n.map_or("unknown".to_owned(), integer);
    format!(
        "background: {} frames/s sent of {} requested, {} sent, {} received, {} lost",
        rate(result.frames_per_s),
        rate(result.asked_frames_per_s),
        integer(result.sent_frames),
        frames(result.received_frames),
        frames(result.lost_frames)
    )
}

fn path_in_words(trial: &Trial, length: u32) -> String {
    let path = trial.path.unwrap_or(Path::Stack);
    let wait = trial.wait.map_or(String::new(), |wait| format!(", {wait}"));
    let background = trial.background;
    let load = background.map_or("unloaded".to_owned(), |b| format!("beside {b}"));
    format!("{path}, length {length}{wait}, {load}")
}

/// A counter of the node, of the trial or of a flow.
fn find(observation: &Observation, name: &str) -> Option<u64> {
    let prefixed = format!("node_{name}");
    let flows = observation.flows.iter().map(|flow| &flow.counters);
    let all = std::iter::once(&observation.counters).chain(flows);
    let found = all.filter_map(|c| c.get(name).or_else(|| c.get(&prefixed)));
    found.filter_map(|field| field.value().copied()).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::Claim;
    use wirelab_trial::{Interval, Wait};

    fn pair(answer: Answer, sent_frames_per_s: f64) -> PathComparison {
        let background_result = BackgroundResult {
            asked_frames_per_s: 50_000.0,
            frames_per_s: sent_frames_per_s,
            sent_frames: 100_000,
            received_frames: Some(99_990),
            lost_frames: Some(10),
        };
        let path_figures = |median_ns| PathFigures {
            frames: 2_048,
            median_ns,
            p99_ns: 4.0 * median_ns,
            reordered_frames: Some(0),
            lost_frames: Some(0),
            background: Some(background_result),
        };
        let ratio = |ratio| {
            let interval = Interval {
                low: ratio - 0.1,
                high: ratio + 0.1,
                confidence: 0.95,
            };
            Some(Ratio { ratio, interval })
        };
        PathComparison {
            length_bytes: 64,
            wait: Some(Wait::Spin),
            background: Some("50kpps".parse().unwrap()),
            stack: path_figures(2_000.0),
            fast_track: path_figures(1_000.0),
            blocks: 8,
            median_ratio: ratio(0.5),
            p99_ratio: ratio(0.95),
            verdict: ClaimVerdict {
                claim: Claim::MedianAndP99NotAbove,
                answer,
                background_missed_its_rate: background_result.missed_its_rate(),
            },
        }
    }

    fn has(pair: &PathComparison, all: &[&str]) {
        let text = against(pair);
        for words in all {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn a_verdict_is_reported_with_its_intervals_and_what_to_do() {
        let interval = NotDecided::Interval { of: "p99" };
        let undecided = pair(Answer::NotDecided { why: interval }, 49_900.0);
        has(
            &undecided,
            &[
                "median ratio 0.50 (0.40 to 0.60), p99 ratio 0.95 (0.85 to 1.05)",
                "8 pairs of blocks, 2,048 and 2,048 frames",
                "not above the stack's: not decided (the interval of the p99 holds 1: request more frames, e.g. --count 8192)",
            ],
        );
        assert!(!against(&undecided).contains("really ran"));
        let few = NotDecided::FewFrames { frames: 64 };
        let few = pair(Answer::NotDecided { why: few }, 50_000.0);
        has(&few, &["64 frames have too few", "--count 1000"]);
        has(
            &pair(Answer::Holds, 50_000.0),
            &["not above the stack's: holds; "],
        );
    }

    #[test]
    fn a_verdict_says_for_which_background_it_counts() {
        let missed = pair(Answer::DoesNotHold, 31_000.0);
        has(
            &missed,
            &[
                "does not hold, for the background that really ran: 31,000 frames/s beside the stack",
                "not the 50,000 requested",
            ],
        );
        let text = background(&missed.stack.background.unwrap());
        assert_eq!(
            text,
            "background: 31,000 frames/s sent of 50,000 requested, 100,000 sent, 99,990 received, 10 lost"
        );
        let unlike = NotDecided::Unlike {
            stack_frames_per_s: 31_000.0,
            fast_track_frames_per_s: 45_000.0,
        };
        let unlike = pair(Answer::NotDecided { why: unlike }, 31_000.0);
        has(&unlike, &["31,000 frames/s beside the stack and at 45,000"]);
        assert!(!against(&unlike).contains("really ran"), "said once");
    }
}
