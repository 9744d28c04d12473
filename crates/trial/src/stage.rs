//! Stages: the times between successive capture points, frame by frame, the table they make, and what grew since.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use wirelab_wire::Layer;

use crate::clock::{Clock, ClockKind};
use crate::field::Kind;
use crate::observation::Observation;
use crate::results::ResultsFile;
use crate::series::{Series, SeriesBuilder};
use crate::trial::Direction;

/// What stands between the two points in the name of a stage's series.
const TO: &str = " to ";

/// The records of one capture point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointTimes {
    /// Its name, e.g. `driver`.
    pub name: String,
    /// The stream whose frames passed.
    pub stream: u8,
    /// The clock of its ticks.
    pub clock: Clock,
    /// Sequence and ticks, in the order they were taken.
    pub times: Vec<(u32, u64)>,
}

/// The times from each capture point of a stream to the next, each with its stream; what is left out is added to
/// `notes`.
pub fn between(points: &[PointTimes], notes: &mut Vec<String>) -> Vec<(u8, Series)> {
    let pairs = points.windows(2).filter(|p| p[0].stream == p[1].stream);
    pairs
        .filter_map(|pair| Some((pair[0].stream, one(&pair[0], &pair[1], notes)?)))
        .collect()
}

/// The times from one point to another, `None` where no frame passed both.
fn one(from: &PointTimes, to: &PointTimes, notes: &mut Vec<String>) -> Option<Series> {
    let name = format!("{}{TO}{}", from.name, to.name);
    let kind = |point: &PointTimes| (point.clock.kind, point.clock.tick_ps, point.clock.owner);
    if kind(from) != kind(to) {
        notes.push(format!("{name}: the two points have clocks of their own"));
        return None;
    }
    let resolution_ticks = from.clock.resolution_ticks.max(to.clock.resolution_ticks);
    let clock = Clock {
        resolution_ticks,
        ..from.clock
    };
    let mut series = SeriesBuilder::new(&name, clock, 0);
    let mut begun: BTreeMap<u32, u64> = BTreeMap::new();
    for &(sequence, ticks) in &from.times {
        // A copy of a frame is not the frame that went on first.
        begun.entry(sequence).or_insert(ticks);
    }
    let mut backwards = 0u64;
    for (sequence, ticks) in &to.times {
        let Some(start) = begun.remove(sequence) else {
            continue;
        };
        let ticks = ticks.wrapping_sub(start);
        if ticks > u64::MAX / 2 {
            backwards += 1;
        } else {
            series.push(ticks);
        }
    }
    if backwards > 0 {
        notes.push(format!(
            "{name}: {backwards} times run backwards and are left out"
        ));
    }
    (series.count() > 0).then(|| series.finish())
}

/// A stage, or several in a row, at one size: a row of the table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StageFigures {
    /// The node's name.
    pub node: String,
    /// What was offered.
    pub layer: Layer,
    /// As the node sees it.
    pub direction: Direction,
    /// Length of the frames in bytes, without FCS.
    pub length_bytes: u32,
    /// Point where it begins.
    pub from: String,
    /// Point where it ends.
    pub to: String,
    /// Whether it is several stages taken together.
    pub cumulated: bool,
    /// Where the samples come from.
    pub kind: Kind,
    /// The kind of the clock.
    pub clock: ClockKind,
    /// Picoseconds that all figures below are multiples of; absent where they are instructions.
    pub tick_ps: Option<u64>,
    /// Frames.
    pub count: u64,
    /// Mean in ticks.
    pub mean_ticks: f64,
    /// Standard deviation in ticks.
    pub stddev_ticks: f64,
    /// Smallest in ticks.
    pub min_ticks: u64,
    /// Median in ticks.
    pub median_ticks: u64,
    /// 99 % of the frames take no longer, in ticks.
    pub p99_ticks: u64,
    /// 99.9 % of the frames take no longer, in ticks.
    pub p999_ticks: u64,
    /// Largest in ticks.
    pub max_ticks: u64,
    /// What most frames take, in ticks; not of simulated time.
    pub mode_ticks: Option<u64>,
    /// Frames that take something else than most.
    pub outliers: Option<u64>,
}

/// The stages of all observations of a file, in its order: each stage, then the stages cumulated from the first
/// point, or in a transmit flow up to the last, as delays are counted in both directions from the wire.
pub fn table(file: &ResultsFile) -> Vec<StageFigures> {
    file.observations.iter().flat_map(of_observation).collect()
}

fn of_observation(observation: &Observation) -> Vec<StageFigures> {
    let mut rows = Vec::new();
    for flow in &observation.flows {
        let stages: Vec<Stage<'_>> = flow.series.iter().filter_map(stage).collect();
        for chain in stages.chunk_by(|a, b| a.to == b.from) {
            let row = |s: &Stage<'_>, cumulated, series: &Series| {
                figures(observation, flow.direction, s.from, s.to, cumulated, series)
            };
            rows.extend(chain.iter().filter_map(|s| row(s, false, s.series)));
            let sums = cumulated(chain, flow.direction);
            rows.extend(sums.iter().filter_map(|(s, sum)| row(s, true, sum)));
        }
    }
    rows
}

#[derive(Clone, Copy)]
struct Stage<'a> {
    from: &'a str,
    to: &'a str,
    series: &'a Series,
}

fn stage(series: &Series) -> Option<Stage<'_>> {
    let (from, to) = series.name.split_once(TO)?;
    Some(Stage { from, to, series })
}

/// Two stages and more of a chain, frame by frame; nothing where a frame is missing in one of them.
fn cumulated<'a>(chain: &[Stage<'a>], direction: Direction) -> Vec<(Stage<'a>, Series)> {
    let whole = |s: &Stage<'_>| !s.series.sampled && s.series.histogram.count > 0;
    let like = |s: &Stage<'_>| (s.series.raw_ticks.len(), s.series.clock.tick_ps);
    let alike = chain.iter().all(whole) && chain.windows(2).all(|p| like(&p[0]) == like(&p[1]));
    if !alike {
        return Vec::new();
    }
    let outgoing = direction == Direction::Transmit;
    let spans = (2..=chain.len()).map(|n| match outgoing {
        true => &chain[chain.len() - n..],
        false => &chain[..n],
    });
    spans
        .map(|span| {
            let (first, last) = (span[0], span[span.len() - 1]);
            let name = format!("{}{TO}{}", first.from, last.to);
            let mut sum = SeriesBuilder::new(name, first.series.clock, 0);
            for at in 0..first.series.raw_ticks.len() {
                let each = span.iter().map(|s| s.series.raw_ticks[at]);
                sum.push(each.fold(0, u64::saturating_add));
            }
            let stage = Stage {
                to: last.to,
                ..first
            };
            (stage, sum.finish())
        })
        .collect()
}

fn figures(
    observation: &Observation,
    direction: Direction,
    from: &str,
    to: &str,
    cumulated: bool,
    series: &Series,
) -> Option<StageFigures> {
    let histogram = &series.histogram;
    let mode = (series.clock.kind != ClockKind::Simulated)
        .then(|| mode(series))
        .flatten();
    Some(StageFigures {
        node: observation.node.name.clone(),
        layer: observation.trial.framing.layer,
        direction,
        length_bytes: observation.sizes.length,
        from: from.to_owned(),
        to: to.to_owned(),
        cumulated,
        kind: series.kind,
        clock: series.clock.kind,
        tick_ps: series.clock.tick_ps,
        count: histogram.count,
        mean_ticks: histogram.mean_ticks,
        stddev_ticks: histogram.stddev_ticks,
        min_ticks: histogram.min_ticks,
        median_ticks: series.percentile(50.0)?,
        p99_ticks: series.percentile(99.0)?,
        p999_ticks: series.percentile(99.9)?,
        max_ticks: histogram.max_ticks,
        mode_ticks: mode.map(|(ticks, _)| ticks),
        outliers: mode.map(|(_, count)| histogram.count.saturating_sub(count)),
    })
}

/// The value that occurs most often, the smallest of several, and how often; exact where all samples are kept.
fn mode(series: &Series) -> Option<(u64, u64)> {
    let mut times: BTreeMap<u64, u64> = BTreeMap::new();
    match series.sampled {
        true => times.extend(series.histogram.buckets.iter().copied()),
        false => series
            .raw_ticks
            .iter()
            .for_each(|ticks| *times.entry(*ticks).or_default() += 1),
    }
    let more = |most: (u64, u64), next: (u64, u64)| if next.1 > most.1 { next } else { most };
    times.into_iter().reduce(more)
}

/// A stage that takes more instructions than before, or that is not there any more.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The stage before.
    pub before: StageFigures,
    /// Its mean now, in instructions; absent where it is not there any more.
    pub now_mean_ticks: Option<f64>,
}

impl Change {
    /// Whether the stage grew, or is gone.
    pub fn is_worse(&self) -> bool {
        self.now_mean_ticks
            .is_none_or(|now| now > self.before.mean_ticks)
    }
}

/// What changed of the stages counted in instructions, each for itself; `None` where `before` has none. Sums of stages
/// are left out: what grew is named once.
pub fn changes(before: &[StageFigures], now: &[StageFigures]) -> Option<Vec<Change>> {
    let counted = |row: &&StageFigures| row.clock == ClockKind::Instructions && !row.cumulated;
    let key = |row: &StageFigures| {
        let way = (row.layer, row.direction, row.length_bytes);
        (way, row.from.clone(), row.to.clone())
    };
    let before: Vec<&StageFigures> = before.iter().filter(counted).collect();
    if before.is_empty() {
        return None;
    }
    let differs = |old: &&StageFigures| {
        let same = now.iter().filter(counted).find(|n| key(n) == key(old));
        let now_mean_ticks = same.map(|n| n.mean_ticks);
        (now_mean_ticks != Some(old.mean_ticks)).then(|| Change {
            before: (*old).clone(),
            now_mean_ticks,
        })
    };
    Some(before.iter().filter_map(differs).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Owner;

    fn clock(kind: ClockKind) -> Clock {
        Clock {
            kind,
            tick_ps: (kind == ClockKind::Wall).then_some(1000),
            resolution_ticks: 1,
            owner: Owner::Node,
        }
    }

    fn point(name: &str, stream: u8, times: &[(u32, u64)]) -> PointTimes {
        PointTimes {
            name: name.to_owned(),
            stream,
            clock: clock(ClockKind::Wall),
            times: times.to_vec(),
        }
    }

    #[test]
    fn stages_are_matched_by_stream_and_sequence() {
        let points = [
            point("driver", 0, &[(0, 100), (1, 200), (3, 400), (3, 401)]),
            point("application", 0, &[(1, 260), (0, 150), (9, 1), (3, 399)]),
            point("application", 1, &[(0, u64::MAX)]),
            point("driver", 1, &[(0, 4)]),
        ];
        let mut notes = Vec::new();
        let stages = between(&points, &mut notes);
        let shown: Vec<_> = stages
            .iter()
            .map(|(stream, s)| (*stream, s.name.as_str(), s.raw_ticks.clone()))
            .collect();
        assert_eq!(
            shown,
            [
                (0, "driver to application", vec![60, 50]),
                (1, "application to driver", vec![5]),
            ]
        );
        assert_eq!(
            notes,
            ["driver to application: 1 times run backwards and are left out"]
        );
    }

    #[test]
    fn clocks_of_two_kinds_give_no_stage() {
        let mut points = [
            point("driver", 0, &[(0, 1)]),
            point("application", 0, &[(0, 2)]),
        ];
        points[1].clock = clock(ClockKind::Instructions);
        let mut notes = Vec::new();
        assert_eq!(between(&points, &mut notes), []);
        assert!(notes[0].contains("clocks of their own"), "{notes:?}");
    }

    fn series(name: &str, ticks: &[u64]) -> Series {
        let mut series = SeriesBuilder::new(name, clock(ClockKind::Instructions), 0);
        ticks.iter().for_each(|t| series.push(*t));
        series.finish()
    }

    fn cumulated_of(all: &[Series], direction: Direction) -> Vec<(String, Vec<u64>)> {
        let chain: Vec<Stage<'_>> = all.iter().filter_map(stage).collect();
        let sums = cumulated(&chain, direction).into_iter();
        sums.map(|(_, s)| (s.name, s.raw_ticks)).collect()
    }

    #[test]
    fn stages_are_cumulated_from_the_wire() {
        let all = [
            series("a to b", &[1, 2]),
            series("b to c", &[10, 20]),
            series("c to d", &[100, 200]),
        ];
        assert_eq!(
            cumulated_of(&all, Direction::Receive),
            [
                ("a to c".to_owned(), vec![11, 22]),
                ("a to d".to_owned(), vec![111, 222])
            ]
        );
        assert_eq!(
            cumulated_of(&all, Direction::Transmit),
            [
                ("b to d".to_owned(), vec![110, 220]),
                ("a to d".to_owned(), vec![111, 222])
            ]
        );
    }

    #[test]
    fn a_stage_that_misses_a_frame_is_added_to_none() {
        let all = [series("a to b", &[1, 2]), series("b to c", &[10])];
        assert_eq!(cumulated_of(&all, Direction::Receive), []);
    }

    #[test]
    fn most_frames_and_the_others() {
        let all = series("a to b", &[2717, 5, 2717, 2717, 5, 9]);
        assert_eq!(mode(&all), Some((2717, 3)));
        assert_eq!(mode(&series("a to b", &[])), None);
    }

    fn row(to: &str, mean_ticks: f64, clock: ClockKind) -> StageFigures {
        StageFigures {
            node: "board:x".to_owned(),
            layer: Layer::UdpIpv4,
            direction: Direction::Receive,
            length_bytes: 64,
            from: "interrupt".to_owned(),
            to: to.to_owned(),
            cumulated: false,
            kind: Kind::Measured,
            clock,
            tick_ps: None,
            count: 512,
            mean_ticks,
            stddev_ticks: 0.0,
            min_ticks: 1,
            median_ticks: 1,
            p99_ticks: 1,
            p999_ticks: 1,
            max_ticks: 1,
            mode_ticks: None,
            outliers: None,
        }
    }

    #[test]
    fn what_grew_or_is_gone_is_worse_and_wall_time_is_not_compared() {
        let counted = |to, mean| row(to, mean, ClockKind::Instructions);
        let before = [
            counted("same", 5.0),
            counted("grown", 5.0),
            counted("shrunk", 5.0),
            counted("gone", 5.0),
            row("wall", 5.0, ClockKind::Wall),
        ];
        let now = [
            counted("same", 5.0),
            counted("grown", 5.002),
            counted("shrunk", 4.0),
            row("wall", 9.0, ClockKind::Wall),
        ];
        let changes = changes(&before, &now).unwrap();
        let shown: Vec<_> = changes
            .iter()
            .map(|c| (c.before.to.as_str(), c.is_worse()))
            .collect();
        assert_eq!(shown, [("grown", true), ("shrunk", false), ("gone", true)]);
        assert_eq!(super::changes(&before[4..], &now), None);
    }
}
