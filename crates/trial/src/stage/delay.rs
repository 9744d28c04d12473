//! Delays of a results file: each stage, and stages taken together, with their samples and figures.

use std::collections::BTreeMap;

use super::between::spans;
use super::{StageFigures, TO};
use crate::clock::ClockKind;
use crate::observation::Observation;
use crate::pool::pooled;
use crate::results::ResultsFile;
use crate::series::{Series, SeriesBuilder};
use crate::trial::Direction;
use crate::way::Probes;

/// A stage, or several in a row, at one size, with its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Delay {
    /// Its row of the table.
    pub figures: StageFigures,
    /// Its samples.
    pub series: Series,
}

/// The stages of all observations of a file, in its order: each stage, then the stages cumulated from the first
/// point, or in a transmit flow up to the last, as delays are counted in both directions from the wire. Then what the
/// processor has to do with: the way from the interrupt and from the driver, or, of a frame sent, to the driver.
pub fn delays(file: &ResultsFile) -> Vec<Delay> {
    let whole = pooled(&file.observations);
    let off = |o: &&Observation| o.trial.probes == Some(Probes::Off);
    // Beside trials with probes, those without are there for what the probes cost.
    let both = whole.iter().any(|o| o.trial.probes.is_some() && !off(&o));
    let shown = whole.iter().filter(|o| !(both && off(o)));
    shown.flat_map(delays_of).collect()
}

/// The figures of [`delays`].
pub fn table(file: &ResultsFile) -> Vec<StageFigures> {
    delays(file).into_iter().map(|d| d.figures).collect()
}

/// The delays of one observation, as [`delays`] has them.
pub fn delays_of(observation: &Observation) -> Vec<Delay> {
    let mut out = Vec::new();
    for flow in &observation.flows {
        for chain in Chain::all_of(&flow.series) {
            let work = work(&chain.steps, flow.direction);
            let mut add = |s: &Stage<'_>, cumulated, series: Series| {
                let figures = figures(observation, flow.direction, s, &series);
                out.extend(figures.map(|figures| Delay {
                    figures: StageFigures {
                        cumulated,
                        cpu_time: work == Some((s.from, s.to)),
                        ..figures
                    },
                    series,
                }));
            };
            chain
                .steps
                .iter()
                .for_each(|s| add(s, false, s.series.clone()));
            for (s, sum) in chain.cumulated(flow.direction) {
                add(&s, true, sum);
            }
        }
    }
    out
}

#[derive(Clone, Copy)]
struct Stage<'a> {
    from: &'a str,
    to: &'a str,
    series: &'a Series,
}

/// Whether a series holds the times of a stage.
pub fn is_stage(series: &Series) -> bool {
    stage(series).is_some()
}

fn stage(series: &Series) -> Option<Stage<'_>> {
    let (from, to) = series.name.split_once(TO)?;
    Some(Stage { from, to, series })
}

/// Stages of which each begins where the one before ends, and the times between points further apart.
#[derive(Default)]
struct Chain<'a> {
    steps: Vec<Stage<'a>>,
    sums: Vec<Stage<'a>>,
}

impl<'a> Chain<'a> {
    /// The chains of a flow.
    fn all_of(series: &'a [Series]) -> Vec<Chain<'a>> {
        let mut all: Vec<Chain<'a>> = Vec::new();
        for next in series.iter().filter_map(stage) {
            match all.last_mut() {
                Some(chain) if chain.steps.last().is_some_and(|s| s.to == next.from) => {
                    chain.steps.push(next);
                }
                Some(chain) if chain.spans(&next) => chain.sums.push(next),
                _ => all.push(Chain {
                    steps: vec![next],
                    sums: Vec::new(),
                }),
            }
        }
        all
    }

    /// The names of its points.
    fn names(&self) -> Vec<&'a str> {
        let first = self.steps.first().map(|s| s.from);
        first
            .into_iter()
            .chain(self.steps.iter().map(|s| s.to))
            .collect()
    }

    /// Whether `sum` lies between two points of the chain.
    fn spans(&self, sum: &Stage<'_>) -> bool {
        let names = self.names();
        let at = |name: &str| names.iter().position(|n| *n == name);
        at(sum.from)
            .zip(at(sum.to))
            .is_some_and(|(from, to)| from < to)
    }

    /// Times over two stages and more: those that were taken frame by frame, else the sums of the stages, where each
    /// stage has every frame.
    fn cumulated(&self, direction: Direction) -> Vec<(Stage<'a>, Series)> {
        let names = self.names();
        let whole = |s: &Stage<'_>| !s.series.sampled && s.series.histogram.count > 0;
        let like = |s: &Stage<'_>| (s.series.raw_ticks.len(), s.series.clock.tick_ps);
        let alike = self.steps.iter().all(whole)
            && self.steps.windows(2).all(|p| like(&p[0]) == like(&p[1]));
        let taken = |from: usize, to: usize| {
            let mut sums = self.sums.iter();
            sums.find(|s| (s.from, s.to) == (names[from], names[to]))
        };
        let spans = spans(&names, direction == Direction::Transmit).into_iter();
        spans
            .filter_map(|(from, to)| match taken(from, to) {
                Some(stage) => Some((*stage, stage.series.clone())),
                None if alike && self.sums.is_empty() => Some(sum(&self.steps[from..to])),
                None => None,
            })
            .collect()
    }
}

/// Several stages, one after the other, as one.
fn sum<'a>(span: &[Stage<'a>]) -> (Stage<'a>, Series) {
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
}

/// The points between which the node itself works on a frame: from the interrupt, whose wait is none of its work, to
/// where it hands the frame over.
fn work<'a>(chain: &[Stage<'a>], direction: Direction) -> Option<(&'a str, &'a str)> {
    let (first, last) = (chain.first()?.from, chain.last()?.to);
    let hands_over = chain.iter().any(|s| s.from == "queue") || last == "wire";
    match direction {
        Direction::Transmit if hands_over => Some((first, "driver")),
        Direction::Transmit => Some((first, last)),
        _ => Some(("interrupt", last)),
    }
}

fn figures(
    observation: &Observation,
    direction: Direction,
    stage: &Stage<'_>,
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
        path: observation.trial.path,
        wait: observation.trial.wait,
        rule: observation.trial.rule.clone(),
        background: observation.trial.background,
        probes: observation.trial.probes,
        from: stage.from.to_owned(),
        to: stage.to.to_owned(),
        cumulated: false,
        cpu_time: false,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, Owner};

    const CLOCK: Clock = Clock {
        kind: ClockKind::Instructions,
        tick_ps: None,
        resolution_ticks: 1,
        owner: Owner::Node,
    };

    fn series(name: &str, ticks: &[u64]) -> Series {
        let mut series = SeriesBuilder::new(name, CLOCK, 0);
        ticks.iter().for_each(|t| series.push(*t));
        series.finish()
    }

    fn cumulated_of(all: &[Series], direction: Direction) -> Vec<(String, Vec<u64>)> {
        let chains = Chain::all_of(all).into_iter();
        let sums = chains.flat_map(|chain| chain.cumulated(direction));
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
    fn what_the_processor_does_is_told_from_its_waits() {
        let chain = |names: &[&'static str]| -> Vec<Series> {
            let pairs = names.windows(2);
            pairs
                .map(|p| series(&format!("{} to {}", p[0], p[1]), &[1, 2]))
                .collect()
        };
        let names = |all: &[Series], direction| -> Vec<String> {
            let sums = cumulated_of(all, direction).into_iter();
            sums.map(|(name, _)| name).collect()
        };
        let work_of = |all: &[Series], direction| {
            let chain: Vec<Stage<'_>> = all.iter().filter_map(stage).collect();
            work(&chain, direction).map(|(from, to)| format!("{from} to {to}"))
        };
        let linux = chain(&["wire", "interrupt", "driver", "stack", "application"]);
        assert_eq!(
            names(&linux, Direction::Receive),
            [
                "wire to driver",
                "wire to stack",
                "wire to application",
                "interrupt to application",
                "driver to application"
            ]
        );
        let received = work_of(&linux, Direction::Receive);
        assert_eq!(received.as_deref(), Some("interrupt to application"));
        let linux = chain(&["application", "call", "queue", "driver", "wire"]);
        assert_eq!(
            names(&linux, Direction::Transmit),
            [
                "queue to wire",
                "call to wire",
                "application to wire",
                "application to driver"
            ]
        );
        let sent = work_of(&linux, Direction::Transmit);
        assert_eq!(sent.as_deref(), Some("application to driver"));
        // On a board the last point is where the processor has started the MAC.
        let board = chain(&["application", "driver", "mac"]);
        assert_eq!(names(&board, Direction::Transmit), ["application to mac"]);
        let sent = work_of(&board, Direction::Transmit);
        assert_eq!(sent.as_deref(), Some("application to mac"));
        assert_eq!(work(&[], Direction::Receive), None);
    }

    #[test]
    fn a_stage_that_misses_a_frame_is_added_to_none() {
        let all = [series("a to b", &[1, 2]), series("b to c", &[10])];
        assert_eq!(cumulated_of(&all, Direction::Receive), []);
    }

    #[test]
    fn a_sum_that_was_taken_frame_by_frame_is_no_stage() {
        let all = [
            series("driver to stack", &[1, 2]),
            series("stack to application", &[10]),
            series("driver to application", &[11, 30]),
        ];
        assert_eq!(
            cumulated_of(&all, Direction::Receive),
            [("driver to application".to_owned(), vec![11, 30])]
        );
        assert_eq!(Chain::all_of(&all)[0].steps.len(), 2);
    }

    #[test]
    fn most_frames_and_the_others() {
        let all = series("a to b", &[2717, 5, 2717, 2717, 5, 9]);
        assert_eq!(mode(&all), Some((2717, 3)));
        assert_eq!(mode(&series("a to b", &[])), None);
    }
}
