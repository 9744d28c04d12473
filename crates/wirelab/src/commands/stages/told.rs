//! What is told of a run of stages beside its tables: where each part ran, what the ways are against each other, and
//! each trial's counts.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wirelab_bench::ways::{Beside, WayFigures, beside};
use wirelab_trial::format::{integer, time_f};
use wirelab_trial::{Description, Field, Observation, Path, Probes, Trial, Wait, pooled};

/// Set-up keys: the cores of the node's application, and of its receive work.
const CPUS: &str = "cpus";
const RECEIVE_CPUS: &str = "receive_cpus";
/// Picoseconds of a nanosecond.
const NS_PS: f64 = 1e3;
/// Most that the fast track's median may be of the stack's, unloaded, spinning, at length 64.
const MOST_RATIO: f64 = 0.5;

/// Sentences for the reader, which the results file keeps.
pub fn notes(node: &Description, observations: &[Observation]) -> Vec<String> {
    let mut notes = vec![placement(node)];
    notes.extend(beside(observations).iter().map(against));
    let whole = pooled(observations);
    let ways = whole
        .iter()
        .filter(|o| o.trial.path.is_some() && o.trial.probes != Some(Probes::Off));
    notes.extend(ways.map(polls));
    notes
}

/// Where each part runs.
fn placement(node: &Description) -> String {
    let key = |name: &str| node.setup.get(name).map(String::as_str);
    let application = match key(CPUS) {
        Some(cores) => format!("the node's application runs on core {cores}"),
        None => "the node does not tell where its application runs".to_owned(),
    };
    let receive = match key(RECEIVE_CPUS) {
        Some("any") | None => {
            "its receive work is not steered: on veth it runs on the core that sends, for every way alike".to_owned()
        }
        Some(cores) => format!("its receive work behind the driver is steered to core {cores}"),
    };
    format!("{application}; {receive}")
}

/// What a pair of ways gives, and whether it is what a fast track is for.
fn against(pair: &Beside) -> String {
    let Beside {
        stack, fast_track, ..
    } = pair;
    let time = |ns: f64| time_f(ns * NS_PS);
    let ratio = match &pair.median_ratio {
        Some(ratio) => format!(
            "ratio {:.2} ({:.2} to {:.2})",
            ratio.ratio, ratio.interval.low, ratio.interval.high
        ),
        None => "no ratio".to_owned(),
    };
    let median_ratio = fast_track.median_ns / stack.median_ns;
    let verdict = match pair.background {
        Some(_) => {
            let holds = median_ratio <= 1.0 && pair.p99_ratio <= 1.0;
            format!("median and 99 % not above the stack's: {}", word(holds))
        }
        None if pair.wait == Some(Wait::Spin) => {
            let ratio = pair.median_ratio.map_or(median_ratio, |r| r.ratio);
            format!("at most half of the stack's: {}", word(ratio <= MOST_RATIO))
        }
        // Waking the application takes longer than either way.
        None => format!(
            "median not above the stack's: {}",
            word(median_ratio <= 1.0)
        ),
    };
    format!(
        "{}, driver to application: fast track {} median, {} 99 %; stack {} and {}; {ratio}, 99 % ratio {:.2}; \
         {verdict}{}",
        conditions(pair),
        time(fast_track.median_ns),
        time(fast_track.p99_ns),
        time(stack.median_ns),
        time(stack.p99_ns),
        pair.p99_ratio,
        order(stack, fast_track)
    )
}

fn word(holds: bool) -> &'static str {
    if holds { "yes" } else { "no" }
}

fn conditions(pair: &Beside) -> String {
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
fn order(stack: &WayFigures, fast_track: &WayFigures) -> String {
    match (fast_track.reordered_frames, stack.reordered_frames) {
        (Some(fast), Some(stack)) => format!("; reordered {fast} and {stack}"),
        _ => String::new(),
    }
}

/// The driver's polls of a way, and what the fast track matched.
fn polls(whole: &Observation) -> String {
    let counter = |name: &str| find(whole, name);
    let mut parts = Vec::new();
    if let (Some(median), Some(most)) = (
        counter("napi_poll_frames_median"),
        counter("napi_poll_frames_max"),
    ) {
        let p99 = counter("napi_poll_frames_p99").map_or(String::new(), |n| format!(", 99 % {n}"));
        parts.push(format!(
            "frames of a poll of the driver: median {median}{p99}, most {most}"
        ));
    }
    for (name, words) in [
        ("fast_track_matched_frames", "taken by the fast track"),
        ("fast_track_passed_frames", "passed to the stack"),
        ("fast_track_no_socket_frames", "matched without a socket"),
        ("fast_track_dropped_frames", "dropped by the full ring"),
        ("background_received_frames", "of the background received"),
    ] {
        parts.extend(counter(name).map(|n| format!("{} {words}", integer(n))));
    }
    let told = match parts.is_empty() {
        true => "the node tells neither polls nor matches".to_owned(),
        false => parts.join(", "),
    };
    format!("{}: {told}", way(&whole.trial, whole.sizes.length))
}

fn way(trial: &Trial, length: u32) -> String {
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

/// Each trial with what was counted, its blocks taken together.
pub fn trials(observations: &[Observation]) -> Vec<Value> {
    pooled(observations).iter().map(trial).collect()
}

fn trial(whole: &Observation) -> Value {
    let asked = &whole.trial;
    let mut counters: BTreeMap<&str, &Field<u64>> = BTreeMap::new();
    let flows = whole.flows.iter().map(|flow| &flow.counters);
    for all in std::iter::once(&whole.counters).chain(flows) {
        counters.extend(all.iter().map(|(name, value)| (name.as_str(), value)));
    }
    let flows: Vec<Value> = whole
        .flows
        .iter()
        .map(|flow| {
            json!({
                "direction": flow.direction, "stream": flow.stream,
                "sent_frames": flow.sent_frames, "counts": flow.counts,
            })
        })
        .collect();
    json!({
        "direction": asked.direction, "layer": asked.framing.layer, "length_bytes": whole.sizes.length,
        "load": asked.load, "path": asked.path, "wait": asked.wait, "rule": asked.rule,
        "background": asked.background, "probes": asked.probes, "status": whole.status,
        "flows": flows, "counters": counters, "setup": whole.node.setup, "warnings": whole.warnings,
    })
}
