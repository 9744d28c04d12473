//! Rates of a datasheet: the figures of one direction of a trial, and what a search found.

use wirelab_statistics::bootstrap::CONFIDENCE;
use wirelab_trial::search::{GoalResult, SearchResult};
use wirelab_trial::{
    Direction, Extent, Field, FlowObservation, Kind, Layer, Load, Observation, Stated, Status,
    Summary, WarningCode,
};

use super::sheet::{Rate, RateLoad, SearchedRate};
use crate::interval::{self, Intervals};
use crate::limited;
use crate::row::{self, Row, StatusWord};
use crate::search;

/// Names of figures that have an interval.
const BITS: &str = "bits_per_s";
const FRAMES: &str = "frames_per_s";
const LOSS: &str = "loss_ratio";
/// Loads this near to each other are the same one.
const SAME: f64 = 1e-6;

/// The figures of a row. A void trial has none, and each says why.
pub fn rate(row: &Row<'_>) -> Rate {
    let o = row.observation;
    let void = match &o.status {
        Status::Void { why } => Some(why.as_str()),
        Status::Complete | Status::Partial { .. } => None,
    };
    let unless_void = |field: Field<f64>| match void {
        Some(why) => Field::absent(why),
        None => field,
    };
    let load = o.cpu_load.clone();
    let loss = match void {
        Some(why) => Field::absent(why),
        None => row.loss(),
    };
    let bits = match o.trial.framing.layer {
        Layer::Ethernet => row.sum(|f| &f.payload_bits_per_s),
        _ => row.sum(|f| &f.goodput_bits_per_s),
    };
    Rate {
        trials: vec![row.trial],
        status: row::status(&o.status),
        layer: o.trial.framing.layer,
        trial_direction: o.trial.direction,
        direction: row.direction,
        frame_bytes: o.sizes.frame,
        payload_bytes: o.sizes.payload,
        datagram_bytes: datagram(o),
        load: RateLoad::Requested(o.trial.load),
        offered_bits_per_s: unless_void(offered(row, true)),
        sent_bits_per_s: unless_void(offered(row, false)),
        bits_per_s: unless_void(bits),
        frames_per_s: unless_void(row.sum(|f| &f.frames_per_s)),
        loss_ratio_at_most: loss.value().and_then(|of| of.at_most()),
        loss_ratio: loss.map(|of| of.low),
        intervals: match void {
            Some(_) => Intervals::new(),
            None => intervals(row),
        },
        jitter_ps: match void {
            Some(why) => Field::absent(why),
            None => row.fold(|f| f.jitter_ps.clone(), u64::max),
        },
        cpu_busy_ratio: unless_void(load.clone().map(|load| load.busy_ratio)),
        cpu_idle_ratio: unless_void(match load {
            Field::Observed { value, kind } => match value.idle_baseline_ratio {
                Some(value) => Field::Observed { value, kind },
                None => Field::absent("the node has no idle baseline"),
            },
            Field::Absent { absent } => Field::Absent { absent },
        }),
        cpu_shared: o.cpu_load.value().is_some_and(|load| load.shared),
        of_line_rate_ratio: unless_void(row.of_line_rate().map(|(low, _)| low)),
        tester_ceiling_frames_per_s: o.tester.ceiling_frames_per_s.clone(),
        tester_was_limit: o.tester.was_limit.clone(),
        tester_missed_frames: o.warned(WarningCode::CHECKER_MISSED),
        node_held_up: o.node_held_up().is_some(),
        limited: limited::row(row),
    }
}

/// The intervals of a trial's figures, within its run.
fn intervals(row: &Row<'_>) -> Intervals {
    let is_ethernet = row.observation.trial.framing.layer == Layer::Ethernet;
    let bits = row.interval(|f| match is_ethernet {
        true => f.intervals.payload_bits_per_s,
        false => f.intervals.goodput_bits_per_s,
    });
    let mut all = Intervals::new();
    interval::put(&mut all, BITS, bits);
    let frames = row.interval(|f| f.intervals.frames_per_s);
    interval::put(&mut all, FRAMES, frames);
    interval::put(&mut all, LOSS, row.loss_interval());
    all
}

/// The intervals over the repeats of a trial; each holds what is shown, which is one of them.
fn over_repeats(group: &[Rate], shown: &Rate) -> Intervals {
    let mut all = Intervals::new();
    for name in [BITS, FRAMES, LOSS] {
        let get = |rate: &Rate| match name {
            BITS => rate.bits_per_s.clone(),
            FRAMES => rate.frames_per_s.clone(),
            _ => rate.loss_ratio.clone(),
        };
        let values: Option<Vec<f64>> = group.iter().map(|r| get(r).value().copied()).collect();
        let summary = values.and_then(|values| Summary::of(&values, CONFIDENCE));
        let interval = summary.and_then(|summary| Stated::of_repeats(&summary));
        let held = interval.zip(get(shown).value()).map(|(of, value)| Stated {
            low: of.low.min(*value),
            high: of.high.max(*value),
            ..of
        });
        interval::put(&mut all, name, held);
    }
    all
}

/// The requested datagram: a tool may have raised it.
pub fn datagram(o: &Observation) -> Option<u32> {
    match o.trial.size.unit {
        wirelab_trial::SizeUnit::Datagram => Some(o.trial.size.bytes),
        _ => o.sizes.datagram,
    }
}

/// Data bits of a frame as the layer counts them.
pub fn bits_per_frame(rate: &Rate) -> f64 {
    8.0 * f64::from(match rate.layer {
        Layer::Ethernet => rate.payload_bytes,
        _ => rate.datagram_bytes.unwrap_or(rate.payload_bytes),
    })
}

/// The requested rate if the sender kept it, otherwise the achieved one; or the achieved one wherever the sender reported it.
fn offered(row: &Row<'_>, as_requested: bool) -> Field<f64> {
    let o = row.observation;
    let layer = o.trial.framing.layer;
    // The size that was really sent: a tool may have raised it.
    let bytes = match layer {
        Layer::Ethernet => o.sizes.payload,
        _ => o.sizes.datagram.unwrap_or(o.sizes.payload),
    };
    let bits = 8.0 * f64::from(bytes);
    let sizes = &o.sizes;
    let requested = match (o.trial.load, layer) {
        // Requested in the unit that is shown.
        (Load::BitRate { bits_per_s }, Layer::UdpIpv4 | Layer::UdpIpv6) => Some(bits_per_s),
        (load, _) => {
            let fps = load.frames_per_s(sizes, layer, row::link(o)).ok().flatten();
            fps.map(|fps| fps * bits)
        }
    };
    row.fold(
        |flow| {
            let sender = flow.sender.value();
            let achieved = sender.map(|s| s.achieved_frames_per_s.clone());
            let is_known = achieved.as_ref().is_some_and(|fps| fps.value().is_some());
            let kept = sender.and_then(|s| s.kept_rate.value()) != Some(&false);
            let kept = kept && (as_requested || !is_known);
            match (requested, achieved) {
                (Some(value), _) if kept => Field::Observed {
                    value,
                    kind: of_sender(flow),
                },
                (_, Some(achieved)) => achieved.map(|fps| fps * bits),
                (_, None) => Field::absent("the sender does not report what it offered"),
            }
        },
        |a, b| a + b,
    )
}

/// The kind of a sender's figures, which may differ from the kind of the arrived ones: the tester measures what it sends to an
/// emulated node, and a model computes what it offers. Without figures of a sender it is the kind of what arrived.
fn of_sender(flow: &FlowObservation) -> Kind {
    let arrived = [
        flow.goodput_bits_per_s.kind(),
        flow.frames_per_s.kind(),
        flow.loss_ratio.kind(),
    ];
    let arrived = arrived.into_iter().flatten().next();
    if let Some(of_a_model) = arrived.filter(|kind| !kind.is_of_node()) {
        return of_a_model;
    }
    let sender = flow.sender.value();
    sender
        .and_then(|s| s.achieved_frames_per_s.kind().or(s.kept_rate.kind()))
        .or(flow.sender.kind())
        .or(arrived)
        .unwrap_or(Kind::Measured)
}

/// Rates by request, slowest first; of a repeated trial, the one with the median bandwidth. Trials whose
/// figures are of different kinds are not repeats of each other.
pub fn merged(mut rates: Vec<Rate>) -> Vec<Rate> {
    let order = |r: &Rate| {
        let offered = r.offered_bits_per_s.value().or(r.bits_per_s.value());
        offered.copied().unwrap_or(f64::INFINITY)
    };
    rates.sort_by(|a, b| order(a).total_cmp(&order(b)));
    let mut groups: Vec<Vec<Rate>> = Vec::new();
    for rate in rates {
        let kind = kind_of(&rate);
        let alike = |g: &&mut Vec<Rate>| {
            let first = &g[0];
            let its = g.iter().find_map(kind_of);
            let size = (first.payload_bytes, first.datagram_bytes);
            let directions = (first.direction, first.trial_direction);
            size == (rate.payload_bytes, rate.datagram_bytes)
                && directions == (rate.direction, rate.trial_direction)
                && (first.layer, first.load) == (rate.layer, rate.load)
                && (its.is_none() || kind.is_none() || its == kind)
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(rate),
            None => groups.push(vec![rate]),
        }
    }
    groups.into_iter().filter_map(median).collect()
}

/// Where a rate comes from; `None` where it has no figure.
fn kind_of(rate: &Rate) -> Option<Kind> {
    let rates = [&rate.bits_per_s, &rate.frames_per_s, &rate.loss_ratio];
    rates.into_iter().find_map(Field::kind)
}

/// The complete rate with the median bandwidth, with the trial numbers of all.
fn median(mut group: Vec<Rate>) -> Option<Rate> {
    let all: Vec<usize> = group.iter().flat_map(|r| r.trials.clone()).collect();
    let best = [StatusWord::Complete, StatusWord::Partial]
        .into_iter()
        .find(|status| group.iter().any(|r| r.status == *status));
    if let Some(best) = best {
        group.retain(|r| r.status == best);
    }
    let bits = |r: &Rate| r.bits_per_s.value().copied().unwrap_or(-1.0);
    group.sort_by(|a, b| bits(a).total_cmp(&bits(b)));
    let at = group.len().checked_sub(1)? / 2;
    let repeats = (group.len() > 1).then(|| over_repeats(&group, &group[at]));
    let mut chosen = group.swap_remove(at);
    if let Some(repeats) = repeats {
        chosen.intervals = repeats;
    }
    let rest = all.into_iter().filter(|n| *n != chosen.trials[0]);
    let rest: Vec<usize> = rest.collect();
    chosen.trials.extend(rest);
    Some(chosen)
}

/// What a search found for one goal, from the trial at its bound.
pub fn searched(result: &SearchResult, goal: &GoalResult, trials: &[Row<'_>]) -> SearchedRate {
    let throughput = goal.conditional_throughput_frames_per_s.value().copied();
    let at_bound = goal.relevant_lower_bound_frames_per_s.value().copied();
    let distance = |row: &Row<'_>| {
        let slowest = row.flows.iter().filter_map(|f| f.frames_per_s.value());
        let slowest = slowest.copied().fold(f64::INFINITY, f64::min);
        (slowest - throughput.unwrap_or(0.0)).abs()
    };
    let found = at_bound.and_then(|bound| {
        let full = trials
            .iter()
            .filter(|row| is_at(row.observation, bound, goal.goal.final_trial_ps));
        full.min_by(|a, b| distance(a).total_cmp(&distance(b)))
    });
    let mut rate = match found {
        Some(row) => Rate {
            limited: limited::goal(goal),
            ..rate(row)
        },
        None => without_trial(result, goal),
    };
    // The trial at the bound has the datagrams that were really sent; without it only the search's sum is known.
    if found.is_none() || rate.bits_per_s.value().is_none() {
        rate.intervals.retain(|name, _| *name == LOSS);
        rate.frames_per_s = goal.conditional_throughput_frames_per_s.clone();
        rate.bits_per_s = match rate.layer {
            Layer::Ethernet => goal.conditional_throughput_payload_bits_per_s.clone(),
            _ => goal.conditional_throughput_goodput_bits_per_s.clone(),
        };
    }
    if let Some(bracket) = search::bracket(goal) {
        rate.bits_per_s = Field::absent(&bracket);
        rate.frames_per_s = Field::absent(&bracket);
        rate.loss_ratio = Field::absent(&bracket);
        rate.loss_ratio_at_most = None;
        rate.cpu_busy_ratio = Field::absent(&bracket);
        rate.of_line_rate_ratio = Field::absent(&bracket);
        rate.jitter_ps = Field::absent(bracket);
        rate.intervals.clear();
    }
    SearchedRate {
        allowed_loss_ratio: goal.goal.loss_ratio,
        trial_ps: goal.goal.final_trial_ps,
        trials_asked: goal.trials,
        outcome: goal.outcome,
        limited_by: goal.limited_by.clone(),
        width_ratio: goal.width_ratio.clone(),
        rate,
        found_frames_per_s: search::rate_of(goal, &goal.conditional_throughput_frames_per_s),
    }
}

/// Whether a trial is a full one at a load in frames/s: as requested, or as a paused tester offered it.
fn is_at(o: &Observation, bound: f64, full_ps: u64) -> bool {
    let usable = o.status == Status::Complete;
    let long = matches!(o.trial.extent, Extent::Time { time_ps } if time_ps >= full_ps);
    let load = o
        .trial
        .load
        .frames_per_s(&o.sizes, o.trial.framing.layer, None);
    let senders = o.flows.iter().filter_map(|flow| flow.sender.value());
    let offered = senders.filter_map(|sender| sender.achieved_frames_per_s.value().copied());
    let same = |fps: f64| (fps - bound).abs() <= SAME * bound.abs();
    let is_requested = load.ok().flatten().is_some_and(same);
    usable && long && (is_requested || offered.reduce(f64::min).is_some_and(same))
}

/// Without an observation of the bound, only the search's own figures are shown.
fn without_trial(result: &SearchResult, goal: &GoalResult) -> Rate {
    let why = match goal.relevant_lower_bound_frames_per_s.value() {
        Some(_) => "the trial at the bound is not in these results",
        None => "the search found no such rate",
    };
    let absent = || Field::absent(why);
    let sizes = &result.sizes;
    Rate {
        trials: Vec::new(),
        status: StatusWord::Complete,
        layer: result.trial.framing.layer,
        trial_direction: result.trial.direction,
        direction: match result.trial.direction {
            Direction::Transmit => Direction::Transmit,
            _ => Direction::Receive,
        },
        frame_bytes: sizes.frame,
        payload_bytes: sizes.payload,
        datagram_bytes: match result.trial.size.unit {
            wirelab_trial::SizeUnit::Datagram => Some(result.trial.size.bytes),
            _ => sizes.datagram,
        },
        load: RateLoad::Searched,
        offered_bits_per_s: absent(),
        sent_bits_per_s: absent(),
        bits_per_s: absent(),
        frames_per_s: absent(),
        loss_ratio: absent(),
        loss_ratio_at_most: None,
        intervals: Intervals::new(),
        jitter_ps: Field::absent(why),
        cpu_busy_ratio: absent(),
        cpu_idle_ratio: absent(),
        cpu_shared: false,
        of_line_rate_ratio: absent(),
        tester_ceiling_frames_per_s: absent(),
        tester_was_limit: Field::absent(why),
        tester_missed_frames: false,
        node_held_up: false,
        limited: limited::goal(goal),
    }
}

/// The size of a rate's datagram in words.
pub fn datagram_name(rate: &Rate) -> String {
    match rate.datagram_bytes {
        Some(bytes) => format!("{bytes} B"),
        None => format!("payload {} B", rate.payload_bytes),
    }
}
