//! The order of the points on a path, found from the times between them: stages from each to the next, and sums of stages.

use super::between::spans;
use super::point::{CapturePoint, StageName};
use crate::series::{Series, SeriesBuilder};
use crate::trial::Direction;

#[derive(Clone, Copy)]
pub(super) struct Stage<'a> {
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    pub(super) series: &'a Series,
}

/// Whether a series holds the times of a stage.
pub fn is_stage(series: &Series) -> bool {
    series.points().is_some()
}

fn stage(series: &Series) -> Option<Stage<'_>> {
    let StageName { from, to } = series.points()?;
    Some(Stage { from, to, series })
}

/// Points in the order of a frame's way, the stages between neighbours, and the times between points further apart.
#[derive(Default)]
pub(super) struct Chain<'a> {
    names: Vec<&'a str>,
    pub(super) steps: Vec<Stage<'a>>,
    sums: Vec<Stage<'a>>,
}

impl<'a> Chain<'a> {
    /// The chains of a flow: points of one clock that are linked by times between them. The order of the series does not
    /// matter: it differs in blocks in which a point is missing.
    pub(super) fn all_of(series: &'a [Series]) -> Vec<Chain<'a>> {
        let mut all: Vec<Vec<Stage<'a>>> = Vec::new();
        for next in series.iter().filter_map(stage) {
            let (mine, others): (Vec<_>, Vec<_>) =
                all.into_iter().partition(|chain| touches(chain, &next));
            all = others;
            let mut joined: Vec<Stage<'a>> = mine.into_iter().flatten().collect();
            joined.push(next);
            all.push(joined);
        }
        all.into_iter().map(Chain::of).collect()
    }

    fn of(stages: Vec<Stage<'a>>) -> Chain<'a> {
        let names = in_order(&stages);
        let mut chain = Chain {
            names,
            ..Chain::default()
        };
        for pair in chain.names.windows(2) {
            let is = |s: &&Stage<'_>| (s.from, s.to) == (pair[0], pair[1]);
            chain.steps.extend(stages.iter().find(is));
        }
        let steps = &chain.steps;
        let is_step = |s: &Stage<'_>| steps.iter().any(|t| (t.from, t.to) == (s.from, s.to));
        chain.sums = stages.into_iter().filter(|s| !is_step(s)).collect();
        chain
    }

    /// Whether each point has a time to the next.
    fn is_whole(&self) -> bool {
        self.steps.len() + 1 == self.names.len()
    }

    /// The points between which the node itself works on a frame: from the interrupt, because the wait before it is
    /// not work, to the point at which it hands the frame over.
    pub(super) fn work(&self, direction: Direction) -> Option<(&'a str, &'a str)> {
        let (first, last) = (*self.names.first()?, *self.names.last()?);
        let hands_over =
            self.names.contains(&CapturePoint::QUEUE.word()) || last == CapturePoint::WIRE.word();
        match direction {
            Direction::Transmit if hands_over => Some((first, CapturePoint::DRIVER.word())),
            // The MAC decides when the line begins.
            Direction::Transmit if last == CapturePoint::LINE.word() => {
                Some((first, CapturePoint::MAC.word()))
            }
            Direction::Transmit => Some((first, last)),
            _ => Some((CapturePoint::INTERRUPT.word(), last)),
        }
    }

    /// Times over two stages and more: those that were taken frame by frame, else the sums of the stages, where each
    /// stage has every frame.
    pub(super) fn cumulated(&self, direction: Direction) -> Vec<(Stage<'a>, Series)> {
        let names = &self.names;
        let whole = |s: &Stage<'_>| !s.series.sampled && s.series.histogram.count > 0;
        let like = |s: &Stage<'_>| (s.series.raw_ticks.len(), s.series.clock.tick_ps);
        let alike = self.is_whole()
            && self.steps.iter().all(whole)
            && self.steps.windows(2).all(|p| like(&p[0]) == like(&p[1]));
        let taken = |from: usize, to: usize| {
            let mut sums = self.sums.iter();
            sums.find(|s| (s.from, s.to) == (names[from], names[to]))
        };
        let spans = spans(names, direction == Direction::Transmit).into_iter();
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
    let name = StageName::new(first.from, last.to);
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

/// Whether a time shares its clock and one of its points with a time of the chain.
fn touches(chain: &[Stage<'_>], next: &Stage<'_>) -> bool {
    let clock = |s: &Stage<'_>| {
        (
            s.series.clock.kind,
            s.series.clock.tick_ps,
            s.series.clock.owner,
        )
    };
    let ends = [next.from, next.to];
    let shared = |s: &Stage<'_>| ends.contains(&s.from) || ends.contains(&s.to);
    chain.iter().any(|s| clock(s) == clock(next) && shared(s))
}

/// The points of some stages in order: each follows the points from which times lead to it. No path is a circle; the points of
/// one would be in any order.
fn in_order<'a>(stages: &[Stage<'a>]) -> Vec<&'a str> {
    let mut left: Vec<&str> = Vec::new();
    for point in stages.iter().flat_map(|s| [s.from, s.to]) {
        if !left.contains(&point) {
            left.push(point);
        }
    }
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let leads = |to: &str| {
            stages
                .iter()
                .any(|s| s.to == to && s.from != to && left.contains(&s.from))
        };
        let next = left.iter().position(|point| !leads(point)).unwrap_or(0);
        ordered.push(left.remove(next));
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, ClockKind, Owner};

    const CLOCK: Clock = Clock {
        kind: ClockKind::Instructions,
        tick_ps: None,
        resolution_ticks: 1,
        owner: Owner::Node,
    };

    fn series(name: (&str, &str), ticks: &[u64]) -> Series {
        let mut series = SeriesBuilder::new(name, CLOCK, 0);
        ticks.iter().for_each(|t| series.push(*t));
        series.finish()
    }

    fn cumulated_of(all: &[Series], direction: Direction) -> Vec<(String, Vec<u64>)> {
        let chains = Chain::all_of(all).into_iter();
        let sums = chains.flat_map(|chain| chain.cumulated(direction));
        sums.map(|(_, s)| (s.name.to_string(), s.raw_ticks.into()))
            .collect()
    }

    #[test]
    fn stages_are_cumulated_from_the_wire() {
        let all = [
            series(("a", "b"), &[1, 2]),
            series(("b", "c"), &[10, 20]),
            series(("c", "d"), &[100, 200]),
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
            pairs.map(|p| series((p[0], p[1]), &[1, 2])).collect()
        };
        let names = |all: &[Series], direction| -> Vec<String> {
            let sums = cumulated_of(all, direction).into_iter();
            sums.map(|(name, _)| name).collect()
        };
        let work_of = |all: &[Series], direction| {
            let chain = Chain::all_of(all).pop()?;
            let work = chain.work(direction);
            work.map(|(from, to)| format!("{from} to {to}"))
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
        assert_eq!(work_of(&[], Direction::Receive), None);
    }

    #[test]
    fn a_stage_that_misses_a_frame_is_added_to_none() {
        let all = [series(("a", "b"), &[1, 2]), series(("b", "c"), &[10])];
        assert_eq!(cumulated_of(&all, Direction::Receive), []);
    }

    #[test]
    fn a_sum_that_was_taken_frame_by_frame_is_no_stage() {
        let all = [
            series(("driver", "stack"), &[1, 2]),
            series(("stack", "application"), &[10]),
            series(("driver", "application"), &[11, 30]),
        ];
        assert_eq!(
            cumulated_of(&all, Direction::Receive),
            [("driver to application".to_owned(), vec![11, 30])]
        );
        assert_eq!(Chain::all_of(&all)[0].steps.len(), 2);
        assert_eq!(Chain::all_of(&all).len(), 1);
    }

    #[test]
    fn points_that_lead_in_a_circle_have_some_order() {
        let all = [
            series(("a", "b"), &[1]),
            series(("b", "a"), &[2]),
            series(("c", "c"), &[3]),
        ];
        let chains = Chain::all_of(&all);
        assert_eq!(chains.len(), 2);
        assert_eq!(chains[0].names, ["a", "b"]);
    }
}
