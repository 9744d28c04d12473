//! From the records of capture points to the times between them.

use std::collections::{BTreeMap, BTreeSet};

use super::PointTimes;
use super::point::CapturePoint;
use crate::clock::Clock;
use crate::format;
use crate::series::{Series, SeriesBuilder};
use crate::series_name::SeriesName;

/// The longest plausible time between two points of a frame: an hour, in ps. No frame stays so long in a node.
const LONGEST_PS: u64 = 3_600_000_000_000_000;

/// The times from each capture point of a stream to the next, each with its stream, then those between points further
/// apart (`spans`). A stage has all frames that passed both of its points, whether or not others saw them; what is
/// left out is added to `notes`.
pub fn between(points: &[PointTimes], notes: &mut Vec<String>) -> Vec<(u8, Series)> {
    let mut all = Vec::new();
    for stream in points.chunk_by(|a, b| a.stream == b.stream) {
        for pair in stream.windows(2).filter(|p| !one_clock(&p[0], &p[1])) {
            notes.push(format!(
                "{}: the two points have clocks of their own",
                named(&pair[0], &pair[1])
            ));
        }
        for chain in stream.chunk_by(one_clock) {
            let number = stream[0].stream;
            let series = Chain::of(chain, notes).series(notes);
            all.extend(series.into_iter().map(|series| (number, series)));
        }
    }
    all
}

/// Which pairs of points are shown beside neighbours. Of received frames: from the first point to each, from
/// `interrupt` and `driver` to the last, and past `copy`, which does not see every frame. Of sent frames: from each point
/// to the last, and from the first to `driver` and `mac`. Indexes of points; each pair is at least two stages apart.
pub(super) fn spans(names: &[&str], outgoing: bool) -> Vec<(usize, usize)> {
    let Some(last) = names.len().checked_sub(1) else {
        return Vec::new();
    };
    let at = |point: CapturePoint| names.iter().position(|name| *name == point.word());
    let mut spans: Vec<(usize, usize)> = match outgoing {
        true => (0..last).rev().map(|from| (from, last)).collect(),
        false => (1..=last).map(|to| (0, to)).collect(),
    };
    match outgoing {
        true => spans.extend(
            [CapturePoint::DRIVER, CapturePoint::MAC]
                .into_iter()
                .filter_map(at)
                .map(|to| (0, to)),
        ),
        false => {
            let inner = [CapturePoint::INTERRUPT, CapturePoint::DRIVER]
                .into_iter()
                .filter_map(at);
            spans.extend(inner.map(|from| (from, last)));
            let copy = at(CapturePoint::COPY).filter(|copy| (1..last).contains(copy));
            spans.extend(copy.map(|copy| (copy - 1, copy + 1)));
        }
    }
    let mut shown = Vec::new();
    for span in spans {
        if span.1 >= span.0 + 2 && !shown.contains(&span) {
            shown.push(span);
        }
    }
    shown
}

fn named(from: &PointTimes, to: &PointTimes) -> SeriesName {
    SeriesName::stage(&*from.name, &*to.name)
}

fn one_clock(a: &PointTimes, b: &PointTimes) -> bool {
    let kind = |point: &PointTimes| (point.clock.kind, point.clock.tick_ps, point.clock.owner);
    kind(a) == kind(b)
}

/// The points of one direction and one clock that any frame passed.
struct Chain<'a> {
    points: Vec<FirstPasses<'a>>,
}

/// A point and the time at which each frame first passed it: a copy of a frame is not the frame that went on.
struct FirstPasses<'a> {
    point: &'a PointTimes,
    ticks: BTreeMap<u32, u64>,
}

impl<'a> Chain<'a> {
    fn of(points: &'a [PointTimes], notes: &mut Vec<String>) -> Chain<'a> {
        let mut chain = Chain { points: Vec::new() };
        for point in points.iter().filter(|point| !point.times.is_empty()) {
            let mut ticks = BTreeMap::new();
            for &(sequence, at) in &point.times {
                ticks.entry(sequence).or_insert(at);
            }
            let copies = point.times.len() - ticks.len();
            if copies > 0 {
                let name = &point.name;
                notes.push(format!(
                    "{name}: left out {} of a frame recorded before",
                    format::count(copies as u64, "record")
                ));
            }
            chain.points.push(FirstPasses { point, ticks });
        }
        chain.tell_missing(notes);
        chain
    }

    /// Notes which points do not have all frames.
    fn tell_missing(&self, notes: &mut Vec<String>) {
        if self.points.len() < 2 {
            return;
        }
        let all: BTreeSet<u32> = self
            .points
            .iter()
            .flat_map(|p| p.ticks.keys().copied())
            .collect();
        let missing = self.points.iter().map(|p| (p, all.len() - p.ticks.len()));
        let missing: Vec<String> = missing
            .filter(|(_, missing)| *missing > 0)
            .map(|(p, missing)| format!("{} {missing}", p.point.name))
            .collect();
        if !missing.is_empty() {
            notes.push(format!(
                "not every frame of stream {} has a time at each point: of {}, missing at {}",
                self.points[0].point.stream,
                all.len(),
                missing.join(", ")
            ));
        }
    }

    fn series(&self, notes: &mut Vec<String>) -> Vec<Series> {
        let names: Vec<&str> = self.points.iter().map(|p| p.point.name.as_str()).collect();
        let first = names.first().copied().and_then(CapturePoint::of);
        let outgoing = matches!(
            first,
            Some(CapturePoint::APPLICATION | CapturePoint::CALL | CapturePoint::QUEUE)
        );
        let steps = (1..names.len()).map(|to| (to - 1, to));
        let mut all: Vec<Series> = Vec::new();
        for (from, to) in steps {
            all.extend(self.one(from, to, notes));
        }
        // An error in a sum is an error in one of its stages, and was already reported.
        let sums = spans(&names, outgoing).into_iter();
        all.extend(sums.filter_map(|(from, to)| self.one(from, to, &mut Vec::new())));
        all
    }

    /// The times from one point to another, `None` where no frame passed both.
    fn one(&self, from: usize, to: usize, notes: &mut Vec<String>) -> Option<Series> {
        let (from, to) = (&self.points[from], &self.points[to]);
        let name = named(from.point, to.point);
        let clock = from.point.clock;
        let resolution_ticks = clock.resolution_ticks.max(to.point.clock.resolution_ticks);
        let mut series = SeriesBuilder::new(
            name.clone(),
            Clock {
                resolution_ticks,
                ..clock
            },
            0,
        );
        let longest = clock
            .tick_ps
            .map_or(u64::MAX / 2, |ps| LONGEST_PS / ps.max(1));
        let (mut backwards, mut endless) = (0u64, 0u64);
        for (sequence, start) in &from.ticks {
            match to.ticks.get(sequence).map(|end| end.wrapping_sub(*start)) {
                None => {}
                Some(ticks) if ticks > u64::MAX / 2 => backwards += 1,
                Some(ticks) if ticks > longest => endless += 1,
                Some(ticks) => series.push(ticks),
            }
        }
        if backwards > 0 {
            notes.push(format!(
                "{name}: {backwards} times run backwards and are left out"
            ));
        }
        if endless > 0 {
            notes.push(format!(
                "{name}: {endless} times are longer than an hour and are left out"
            ));
        }
        (series.count() > 0).then(|| series.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{ClockKind, Owner};

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

    /// A stage: its stream, its name and its samples.
    type Shown = (u8, String, Vec<u64>);

    fn shown(points: &[PointTimes]) -> (Vec<Shown>, Vec<String>) {
        let mut notes = Vec::new();
        let stages = between(points, &mut notes).into_iter();
        let shown = stages.map(|(stream, s)| (stream, s.name.to_string(), s.raw_ticks.into()));
        (shown.collect(), notes)
    }

    #[test]
    fn stages_are_matched_by_stream_and_sequence() {
        let (stages, notes) = shown(&[
            point("driver", 0, &[(0, 100), (1, 200), (3, 400), (3, 401)]),
            point("application", 0, &[(1, 260), (0, 150), (9, 1), (3, 399)]),
            point("application", 1, &[(0, u64::MAX)]),
            point("driver", 1, &[(0, 4)]),
        ]);
        assert_eq!(
            stages,
            [
                (0, "driver to application".to_owned(), vec![50, 60]),
                (1, "application to driver".to_owned(), vec![5]),
            ]
        );
        assert_eq!(
            notes,
            [
                "driver: left out 1 record of a frame recorded before",
                "not every frame of stream 0 has a time at each point: of 4, missing at driver 1",
                "driver to application: 1 times run backwards and are left out"
            ]
        );
    }

    #[test]
    fn a_frame_that_missed_a_point_counts_between_the_others() {
        let (stages, notes) = shown(&[
            point("wire", 0, &[(0, 0), (1, 10), (2, 20)]),
            point("interrupt", 0, &[(0, 2), (2, 22)]),
            point("driver", 0, &[(0, 3), (1, 13), (2, 25)]),
            point("application", 0, &[(0, 10), (1, 20), (2, 40)]),
        ]);
        let stages: Vec<(&str, &[u64])> = stages
            .iter()
            .map(|(_, name, ticks)| (name.as_str(), &ticks[..]))
            .collect();
        assert_eq!(
            stages,
            [
                ("wire to interrupt", &[2, 2][..]),
                ("interrupt to driver", &[1, 3]),
                ("driver to application", &[7, 7, 15]),
                ("wire to driver", &[3, 3, 5]),
                ("wire to application", &[10, 10, 20]),
                ("interrupt to application", &[8, 18]),
            ]
        );
        assert_eq!(
            notes,
            ["not every frame of stream 0 has a time at each point: of 3, missing at interrupt 1"]
        );
    }

    #[test]
    fn clocks_of_two_kinds_give_no_stage() {
        let mut points = [
            point("driver", 0, &[(0, 1)]),
            point("application", 0, &[(0, 2)]),
        ];
        points[1].clock = clock(ClockKind::Instructions);
        let (stages, notes) = shown(&points);
        assert_eq!(stages, []);
        assert!(notes[0].contains("clocks of their own"), "{notes:?}");
    }

    #[test]
    fn times_that_cannot_be_are_left_out_and_told() {
        let (stages, notes) = shown(&[
            point("driver", 0, &[(0, 0), (1, 7)]),
            point("application", 0, &[(0, u64::MAX / 4), (1, 9)]),
        ]);
        assert_eq!(stages[0].2, [2]);
        assert_eq!(
            notes,
            ["driver to application: 1 times are longer than an hour and are left out"]
        );
    }

    #[test]
    fn points_that_nobody_passed_are_passed_over() {
        let (stages, notes) = shown(&[
            point("driver", 0, &[(0, 0)]),
            point("stack", 0, &[]),
            point("application", 0, &[(0, 9)]),
        ]);
        assert_eq!(stages, [(0, "driver to application".to_owned(), vec![9])]);
        assert!(notes.is_empty(), "{notes:?}");
        assert_eq!(between(&[], &mut Vec::new()), []);
    }
}
