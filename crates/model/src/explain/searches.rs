//! Adds what the parts of a results file show: bounds that searches found, which of their trials are listed, and what a
//! TCP rate and a round trip say together.

use wirelab_trial::explanation::{ReadingGroup, ResultsExplanation};
use wirelab_trial::search::{GoalResult, Limit, Outcome, SearchEnded, SearchResult};
use wirelab_trial::{
    CPU_IS_LIMIT, CpuLoad, Extent, Field, FixedSeries, FlowObservation, Layer, Observation, Part,
    ResultsFile, SearchOutcome, Status, format,
};

use super::results::{explained, title};
use crate::intake::{unusable, useless_load};

/// Most trials of one search that are listed.
const LISTED: usize = 12;
/// A CPU that is less busy has time left.
const TIME_LEFT: f64 = 0.9;
/// Loads within this ratio are equal.
const SAME: f64 = 1e-6;

/// The explanation of a results file: each reading, and the findings of its searches. Of each search it lists the trials
/// nearest to the bound, each load once.
pub fn explain_file(file: &ResultsFile) -> ResultsExplanation {
    let mut skip = vec![false; file.observations.len()];
    let mut left_to_search = 0;
    for part in &file.parts {
        left_to_search += thin(part, file, &mut skip);
    }
    let mut all = explained(&file.observations, &skip);
    if left_to_search > 0 {
        all.left_out.push(format!(
            "{} of searches at loads that other trials show too",
            format::count(left_to_search as u64, "trial")
        ));
    }
    for part in &file.parts {
        match (&part.refused, &part.found) {
            (Some(why), _) => all.left_out.push(format!("{}: {why}", part.name)),
            (None, Some(SearchOutcome::Rates(result))) => rates(part, result, file, &mut all),
            _ => {}
        }
    }
    for group in &mut all.groups {
        window(group, &file.observations);
    }
    all
}

/// Marks the trials of a search that are not listed, and returns their number.
fn thin(part: &Part, file: &ResultsFile, skip: &mut [bool]) -> usize {
    let Some(found) = &part.found else { return 0 };
    let first = usize::try_from(part.first).unwrap_or(usize::MAX);
    let bounds: Vec<f64> = match found {
        SearchOutcome::Rates(r) => {
            let bounds = r.goals.iter().flat_map(|g| {
                [
                    &g.relevant_lower_bound_frames_per_s,
                    &g.relevant_upper_bound_frames_per_s,
                ]
            });
            bounds.filter_map(|b| b.value().copied()).collect()
        }
        SearchOutcome::LossCurve(_) | SearchOutcome::Bursts(_) => Vec::new(),
    };
    // Distance to the nearest bound on a logarithmic scale, then the longest trial.
    let mut ranked: Vec<(f64, std::cmp::Reverse<u64>, f64, usize)> = Vec::new();
    for (at, o) in part.of(&file.observations).iter().enumerate() {
        let Some(load) = load(o) else { continue };
        let apart = |b: &f64| (load / b).ln().abs();
        let near = bounds.iter().map(apart).fold(f64::INFINITY, f64::min);
        let ps = match o.trial.extent {
            Extent::Time { time_ps } => time_ps,
            Extent::Frames { frames } => frames,
        };
        ranked.push((near, std::cmp::Reverse(ps), load, at));
    }
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.3.cmp(&b.3)));
    let mut loads: Vec<f64> = Vec::new();
    let mut left_out = 0;
    for (_, _, load, at) in ranked {
        let again = loads.iter().any(|l| same(*l, load));
        if again || loads.len() >= LISTED {
            if let Some(skip) = first.checked_add(at).and_then(|at| skip.get_mut(at)) {
                left_out += usize::from(!*skip);
                *skip = true;
            }
        } else {
            loads.push(load);
        }
    }
    left_out
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME * b.abs()
}

fn load(o: &Observation) -> Option<f64> {
    let load = o.trial.load;
    load.frames_per_s(&o.sizes, o.trial.framing.layer, None)
        .ok()
        .flatten()
}

/// The group of a search's trials, and the findings of its goals.
fn rates(part: &Part, result: &SearchResult, file: &ResultsFile, all: &mut ResultsExplanation) {
    if let SearchEnded::Unsupported { why } | SearchEnded::Failed { why } = &result.ended {
        all.left_out.push(format!("{}: {why}", part.name));
    }
    let trials = part.of(&file.observations);
    let of = |o: &Observation| -> Option<String> {
        let flows: &[FlowObservation] = &o.flows;
        let flow = flows
            .iter()
            .find(|f| f.direction == result.trial.direction)?;
        Some(title(o, flow))
    };
    let Some(title) = trials.iter().find_map(of) else {
        return;
    };
    let Some(group) = all.groups.iter_mut().find(|g| g.title == title) else {
        return;
    };
    for goal in &result.goals {
        group.findings.push(sentence(result, goal, trials));
    }
}

fn sentence(result: &SearchResult, goal: &GoalResult, trials: &[Observation]) -> String {
    let bytes = result.trial.size.bytes;
    let allowed = match goal.goal.loss_ratio {
        l if l > 0.0 => format!("a loss of at most {} %", format::percent(l)),
        _ => "no loss".to_owned(),
    };
    let at = format!(
        "Search at {} {bytes} B for {allowed}",
        result.trial.size.unit.name()
    );
    let why_not = match goal.outcome {
        Outcome::Found => None,
        Outcome::NoLowerBound => Some("even the smallest load loses more"),
        Outcome::TesterTooSlow => Some("the tester could not offer the smallest load"),
        Outcome::Unfinished => Some("the search ended before it found one"),
    };
    if let Some(why) = why_not {
        return format!("{at}: {why}.");
    }
    let bits = match result.trial.framing.layer {
        Layer::Ethernet => &goal.conditional_throughput_payload_bits_per_s,
        _ => &goal.conditional_throughput_goodput_bits_per_s,
    };
    let bits = match bits {
        Field::Observed { value, .. } => format!("{} arrive", format::si(*value, "bit/s")),
        Field::Absent { absent } => format!("what arrived is unknown ({absent})"),
    };
    let limit = match goal.limited_by.value() {
        Some(Limit::Link) => "; the link carries no more".to_owned(),
        Some(Limit::Asked) => "; the search had no higher load".to_owned(),
        Some(Limit::Tester) => {
            "; the tester offered no more, and the node may be faster".to_owned()
        }
        Some(Limit::Path) => {
            "; back-pressure: the link or the node holds the sender back".to_owned()
        }
        Some(Limit::Node) => format!("; above it the node loses more{}", busy(goal, trials)),
        None => String::new(),
    };
    format!("{at}: {bits}{limit}.")
}

/// The offered rate of a tester that was held back, on the slowest flow.
fn offered(o: &Observation) -> Option<f64> {
    let senders = o.flows.iter().filter_map(|f| f.sender.value());
    let achieved = senders.filter_map(|s| s.achieved_frames_per_s.value().copied());
    achieved.reduce(f64::min)
}

/// The CPU load at the bound.
fn busy(goal: &GoalResult, trials: &[Observation]) -> String {
    let bound = goal.relevant_lower_bound_frames_per_s.value().copied();
    let at_bound = |o: &&Observation| {
        let loads = [load(o), offered(o)];
        let at = |load: f64| bound.is_some_and(|bound| same(load, bound));
        o.status == Status::Complete && loads.into_iter().flatten().any(at)
    };
    let loads = trials
        .iter()
        .filter(at_bound)
        .filter_map(|o| o.cpu_load.value());
    let longest = loads
        .copied()
        .reduce(|a: CpuLoad, b| if b.busy_ratio > a.busy_ratio { b } else { a });
    match longest {
        None => ", and its CPU load is not known".to_owned(),
        Some(load) if load.shared => {
            ", and its CPU load says nothing, since the tester shared the core".to_owned()
        }
        Some(load) if useless_load(&load).is_some() => {
            ", and its CPU load says nothing, since the cores were busy before the trial".to_owned()
        }
        Some(load) if load.busy_ratio >= CPU_IS_LIMIT => {
            let percent = format::percent(load.busy_ratio);
            format!(", with the CPU {percent} % busy: the CPU is the limit")
        }
        Some(load) if load.busy_ratio < TIME_LEFT => {
            let percent = format::percent(load.busy_ratio);
            format!(
                ", with the CPU only {percent} % busy: a ring too small for bursts or for paced interrupts, or another \
                 limit than the CPU"
            )
        }
        Some(load) => format!(", with the CPU {} % busy", format::percent(load.busy_ratio)),
    }
}

/// The window that a TCP rate without a known limit implies (RFC 6349: rate times round trip).
fn window(group: &mut ReadingGroup, observations: &[Observation]) {
    let fastest = group
        .readings
        .iter()
        .max_by(|a, b| a.bits_per_s.total_cmp(&b.bits_per_s));
    let Some(reading) = fastest else { return };
    let Some(o) = observations.get(reading.trial.saturating_sub(1)) else {
        return;
    };
    let tcp = o.trial.framing.layer.is_tcp();
    if !tcp || reading.limit.is_some() {
        return;
    }
    let Some(round_trip_ps) = round_trip_ps(&o.node.name, observations) else {
        group.open.push(
            "A TCP rate below wire and CPU may be limited by window over round trip: an echo trial of the same node measures the round trip."
                .to_owned(),
        );
        return;
    };
    let bytes = reading.bits_per_s / 8.0 * round_trip_ps / 1e12;
    group.open.push(format!(
        "{} over a round trip of {} (UDP echo, idle) are {} bytes in flight: if the receiver's window is not larger, it limits; a larger one (iperf -w) shows it.",
        format::si(reading.bits_per_s, "bit/s"),
        format::time_f(round_trip_ps),
        format::decimal(bytes, 0)
    ));
}

/// The shortest median round trip of a node, in ps.
fn round_trip_ps(node: &str, observations: &[Observation]) -> Option<f64> {
    let of_node = observations
        .iter()
        .filter(|o| o.node.name == node && unusable(o).is_none());
    let series = of_node.flat_map(|o| o.flows.iter().flat_map(|f| &f.series).chain(&o.series));
    let medians = series
        .filter(|s| s.name == FixedSeries::ROUND_TRIP)
        .filter_map(|s| Some(s.percentile(50.0)? as f64 * s.clock.tick_ps? as f64));
    medians.filter(|ps| *ps > 0.0).min_by(f64::total_cmp)
}
