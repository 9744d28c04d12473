//! Pools trials that were run in blocks: trials that alternate are run several times, each time with a part of the
//! frames, and are one trial for the reader.

use std::collections::BTreeMap;

use crate::counter;
use crate::counts::Counts;
use crate::field::Field;
use crate::interval::{FlowIntervals, PercentileIntervals};
use crate::observation::{FlowObservation, Observation, Status};
use crate::results::ResultsFile;
use crate::series::{RAW_SAMPLES, Series, SeriesBuilder};
use crate::trial::Extent;

/// Why a figure of a single block is not shown for all.
const IN_BLOCKS: &str = "the trial was run in blocks; each has its own in the results file";

/// Equal trials on one node become one observation, in the order of their first blocks: series of one name are joined
/// in the order of the blocks, counts are added, and figures of single blocks (rates, CPU load) are left out with the
/// reason. A trial with a single block is unchanged.
pub fn pooled(observations: &[Observation]) -> Vec<Observation> {
    together(&observations.iter().collect::<Vec<_>>())
}

fn together(observations: &[&Observation]) -> Vec<Observation> {
    let mut groups: Vec<Vec<&Observation>> = Vec::new();
    for observation in observations {
        let same = |group: &&mut Vec<&Observation>| {
            let first = group[0];
            first.node.name == observation.node.name && first.trial == observation.trial
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(observation),
            None => groups.push(vec![observation]),
        }
    }
    groups.iter().map(|group| one(group)).collect()
}

/// The observations of a file, [`pooled`] within each of its parts: a trial of another part, or of another command
/// whose file was appended, is another run.
pub fn pooled_runs(file: &ResultsFile) -> Vec<Observation> {
    let part_of = |at: usize| {
        let mut parts = file.parts.iter();
        parts.position(|p| {
            (at as u64)
                .checked_sub(p.first)
                .is_some_and(|n| n < p.observations)
        })
    };
    let keyed = file.observations.iter().enumerate();
    let keyed: Vec<(Option<usize>, &Observation)> = keyed.map(|(at, o)| (part_of(at), o)).collect();
    let mut out = Vec::new();
    for part in keyed.chunk_by(|a, b| a.0 == b.0) {
        let part: Vec<&Observation> = part.iter().map(|(_, o)| *o).collect();
        out.extend(together(&part));
    }
    out
}

fn one(group: &[&Observation]) -> Observation {
    let mut whole = group[0].clone();
    let [_, rest @ ..] = group else { return whole };
    if rest.is_empty() {
        return whole;
    }
    if let Extent::Frames { frames } = &mut whole.trial.extent {
        *frames = frames.saturating_mul(group.len() as u64);
    }
    whole.cpu_load = Field::absent(IN_BLOCKS);
    whole.counters = counters(group.iter().map(|o| &o.counters));
    whole.series = series(group.iter().map(|o| o.series.as_slice()));
    for other in rest {
        if whole.status == Status::Complete {
            whole.status.clone_from(&other.status);
        }
        for warning in &other.warnings {
            if !whole.warnings.contains(warning) {
                whole.warnings.push(warning.clone());
            }
        }
    }
    for flow in &mut whole.flows {
        let key = (flow.direction, flow.stream, flow.port.clone());
        let mine = |o: &&Observation| -> Option<FlowObservation> {
            let mut flows = o.flows.iter();
            let same = |f: &&FlowObservation| (f.direction, f.stream, f.port.clone()) == key;
            flows.find(same).cloned()
        };
        let all: Vec<FlowObservation> = group.iter().filter_map(mine).collect();
        join(flow, &all);
    }
    whole
}

fn join(flow: &mut FlowObservation, all: &[FlowObservation]) {
    flow.without_rates(IN_BLOCKS);
    flow.intervals = FlowIntervals::default();
    flow.jitter_ps = Field::absent(IN_BLOCKS);
    flow.sent_frames = sum(all.iter().map(|f| &f.sent_frames));
    flow.series = series(all.iter().map(|f| f.series.as_slice()));
    flow.counters = counters(all.iter().map(|f| &f.counters));
    let counts: Option<Vec<&Counts>> = all.iter().map(|f| f.counts.value()).collect();
    flow.counts = match counts {
        Some(counts) => Field::measured(added(&counts)),
        None => Field::absent("not known of every block"),
    };
    (flow.loss_ratio, flow.loss_ratio_at_most) =
        match (flow.counts.value(), flow.sent_frames.value()) {
            (Some(counts), Some(sent)) if *sent > 0 => {
                let share = |lost: u64| lost as f64 / *sent as f64;
                let either = counts.lost_or_missed_frames;
                let at_most = share(counts.lost_frames_at_most());
                let lost = Field::measured(share(counts.lost_frames));
                (lost, (either > 0).then_some(at_most))
            }
            _ => (Field::absent(IN_BLOCKS), None),
        };
}

fn sum<'a>(mut fields: impl Iterator<Item = &'a Field<u64>>) -> Field<u64> {
    let all = fields.try_fold(0u64, |sum, field| Some(sum.saturating_add(*field.value()?)));
    all.map_or_else(
        || Field::absent("not known of every block"),
        Field::measured,
    )
}

fn added(all: &[&Counts]) -> Counts {
    let mut total = Counts::default();
    for c in all {
        let fields = [
            (&mut total.received_frames, c.received_frames),
            (&mut total.good_frames, c.good_frames),
            (&mut total.header_corrupt_frames, c.header_corrupt_frames),
            (&mut total.truncated_frames, c.truncated_frames),
            (&mut total.stale_frames, c.stale_frames),
            (&mut total.corrupted_frames, c.corrupted_frames),
            (&mut total.duplicated_frames, c.duplicated_frames),
            (&mut total.reordered_frames, c.reordered_frames),
            (&mut total.too_late_frames, c.too_late_frames),
            (&mut total.distinct_sequences, c.distinct_sequences),
            (&mut total.lost_frames, c.lost_frames),
            (&mut total.missed_frames, c.missed_frames),
            (&mut total.lost_or_missed_frames, c.lost_or_missed_frames),
            (&mut total.foreign_frames, c.foreign_frames),
            (&mut total.other_run_frames, c.other_run_frames),
            (&mut total.verified_payload_bytes, c.verified_payload_bytes),
            (&mut total.order_breaks, c.order_breaks),
        ];
        for (sum, one) in fields {
            *sum = sum.saturating_add(one);
        }
        let extent = &mut total.reordering_extent_frames;
        *extent = (*extent).max(c.reordering_extent_frames);
    }
    total
}

/// Series by their names, in the order in which they first appear.
fn series<'a>(blocks: impl Iterator<Item = &'a [Series]>) -> Vec<Series> {
    let mut groups: Vec<Vec<&Series>> = Vec::new();
    for one in blocks.flatten() {
        let same = |group: &&mut Vec<&Series>| {
            let (a, b) = (&group[0].clock, &one.clock);
            group[0].name == one.name
                && (a.kind, a.tick_ps, a.owner) == (b.kind, b.tick_ps, b.owner)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups.iter().map(|group| joined(group)).collect()
}

fn joined(group: &[&Series]) -> Series {
    let first = group[0];
    if group.len() == 1 {
        return first.clone();
    }
    let all: usize = group.iter().map(|s| s.raw_ticks.len()).sum();
    if group.iter().all(|s| !s.sampled) && all <= RAW_SAMPLES {
        let mut builder = SeriesBuilder::new(first.name.clone(), first.clock, 0);
        let ticks = group.iter().flat_map(|s| &s.raw_ticks);
        ticks.for_each(|ticks| builder.push(*ticks));
        let mut whole = builder.finish();
        whole.kind = first.kind;
        // It spans several runs.
        whole.intervals = PercentileIntervals::default();
        return whole;
    }
    let mut whole = first.clone();
    for other in &group[1..] {
        // The ticks are equal, because the grouping uses them.
        let _ = whole.histogram.merge(&other.histogram);
        whole.raw_ticks.extend_from_slice(&other.raw_ticks);
    }
    let every = all.div_ceil(RAW_SAMPLES).max(1);
    whole.raw_ticks = whole.raw_ticks.into_iter().step_by(every).collect();
    whole.sampled = true;
    whole.intervals = PercentileIntervals::default();
    whole
}

/// Counters by their names: added where they count, else the median where they are times or means.
fn counters<'a>(
    blocks: impl Iterator<Item = &'a BTreeMap<String, Field<u64>>>,
) -> BTreeMap<String, Field<u64>> {
    let mut groups: BTreeMap<&String, Vec<&Field<u64>>> = BTreeMap::new();
    for (name, value) in blocks.flatten() {
        groups.entry(name).or_default().push(value);
    }
    let whole = |(name, group): (&String, Vec<&Field<u64>>)| {
        let mut known: Vec<u64> = group.iter().filter_map(|f| f.value().copied()).collect();
        known.sort_unstable();
        let value = match known.get(known.len() / 2) {
            None => group[0].clone(),
            Some(middle) if !counter::is_added(name) => Field::measured(*middle),
            Some(_) => sum(group.into_iter()),
        };
        (name.clone(), value)
    };
    groups.into_iter().map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> crate::Clock {
        crate::Clock {
            kind: crate::ClockKind::Wall,
            tick_ps: Some(1000),
            resolution_ticks: 1,
            owner: crate::Owner::Node,
        }
    }

    fn block(name: (&str, &str), ticks: &[u64]) -> Series {
        let mut builder = SeriesBuilder::new(name, clock(), 0);
        ticks.iter().for_each(|t| builder.push(*t));
        builder.finish()
    }

    #[test]
    fn series_of_one_name_are_joined_in_order() {
        let (a, b) = (
            [block(("x", "y"), &[3, 1])],
            [block(("x", "y"), &[2]), block(("z", "w"), &[9])],
        );
        let joined = series([&a[..], &b[..]].into_iter());
        assert_eq!(joined.len(), 2);
        assert_eq!(joined[0].raw_ticks, [3, 1, 2]);
        assert_eq!(joined[0].histogram.count, 3);
        assert_eq!(joined[0].percentile(50.0), Some(2));
        assert_eq!(joined[1].raw_ticks, [9]);
    }

    #[test]
    fn more_samples_than_a_series_keeps_stay_in_its_histogram() {
        let ticks: Vec<u64> = (0..RAW_SAMPLES as u64).collect();
        let all = [block(("x", "y"), &ticks), block(("x", "y"), &ticks)];
        let joined = series([&all[..]].into_iter());
        assert!(joined[0].sampled && joined[0].raw_ticks.len() <= RAW_SAMPLES);
        assert_eq!(joined[0].histogram.count, 2 * RAW_SAMPLES as u64);
    }

    #[test]
    fn what_counts_is_added_and_a_time_is_not() {
        let one = |a: u64, b: u64| {
            BTreeMap::from([
                ("probe_cost_ns.driver".to_owned(), Field::measured(a)),
                ("probe_taken.driver".to_owned(), Field::measured(b)),
                ("background_lasted_ns".to_owned(), Field::measured(b)),
            ])
        };
        let blocks = [one(100, 5), one(140, 6), one(90, 7)];
        let all = counters(blocks.iter());
        assert_eq!(all["probe_cost_ns.driver"].value(), Some(&100));
        assert_eq!(all["probe_taken.driver"].value(), Some(&18));
        assert_eq!(all["background_lasted_ns"].value(), Some(&18));
    }

    #[test]
    fn every_count_of_blocks_is_added_and_a_loss_that_is_a_range_stays_one() {
        let names = serde_json::to_value(Counts::default()).unwrap();
        let shown = names.as_object().unwrap().keys().map(String::as_str);
        // These are left out where they are 0.
        let hidden = ["lost_or_missed_frames", "other_run_frames"];
        let each: BTreeMap<&str, u64> = shown.chain(hidden).zip(1..).collect();
        let counts: Counts = serde_json::from_value(serde_json::to_value(&each).unwrap()).unwrap();
        let twice = serde_json::to_value(added(&[&counts, &counts])).unwrap();
        for (name, one) in each {
            let times = if name == "reordering_extent_frames" {
                1
            } else {
                2
            };
            assert_eq!(twice[name], times * one, "{name}");
        }
        let framing = wirelab_wire::Framing {
            layer: wirelab_wire::Layer::UdpIpv4,
            vlan_tags: 0,
        };
        let request = crate::job::FlowRequest {
            port: "node:x".to_owned(),
            direction: crate::Direction::Receive,
            stream: 0,
            layer: framing.layer,
            sizes: wirelab_wire::Size::new(wirelab_wire::SizeUnit::Datagram, 64)
                .resolve(framing)
                .unwrap(),
            link: None,
            frames_per_s: None,
            from: "tester".to_owned(),
            to: "node:x".to_owned(),
            sender_path: "socket".to_owned(),
            receiver_path: "node".to_owned(),
            ledger: None,
        };
        let block = |either: u64| {
            let sent = crate::job::SendReport {
                emitted_frames: 100,
                sequences: 100,
                ..crate::job::SendReport::default()
            };
            let received = crate::job::CheckReport {
                counts: Counts {
                    received_frames: 90,
                    good_frames: 90,
                    distinct_sequences: 90,
                    ..Counts::default()
                },
                missed: crate::job::Missed {
                    at_least: 0,
                    at_most: either,
                },
                ..crate::job::CheckReport::default()
            };
            crate::job::flow_observation(&request, &sent, received)
        };
        let mut whole = block(0);
        join(&mut whole, &[block(0), block(6)]);
        assert_eq!(whole.counts.value().unwrap().check_identity(200), Ok(()));
        assert_eq!(whole.loss_ratio.value(), Some(&0.07));
        assert_eq!(whole.loss_ratio_at_most, Some(0.1));
        join(&mut whole, &[block(0), block(0)]);
        assert_eq!(whole.loss_ratio_at_most, None);
    }
}
