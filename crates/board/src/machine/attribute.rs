//! From a flight to the stages of a frame: which pass of each point belongs to the frame, and what happened between two of
//! them.

use std::collections::BTreeMap;
use std::fmt;

use super::point::PassChoice;
use super::ring::Kinds;
use super::walk::{Flight, Interruption, Moment, Pass};

/// The points of a path, as the plugin numbers them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPoints {
    /// Names, in the order of the path.
    pub names: Vec<String>,
    /// Numbers in records.
    pub numbers: Vec<u8>,
    /// Which pass counts.
    pub takes: Vec<PassChoice>,
}

/// A stage of one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageCount {
    /// Its own instructions.
    pub own: u64,
    /// Instructions of interrupts that returned.
    pub interrupted: u64,
    /// Its own loads, stores and taken branches.
    pub kinds: Kinds,
}

/// A frame's path: when it passed each point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointTimes {
    /// One for each point.
    pub moments: Vec<Moment>,
}

/// Why a frame is in no figure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unattributed {
    /// The frame passed the points before this one, but not this one.
    Missed(String),
    /// This point was passed several times before the next one.
    Several(String),
    /// The record was full.
    Lost,
}

impl fmt::Display for Unattributed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unattributed::Missed(point) => write!(f, "not seen at {point}"),
            Unattributed::Several(point) => write!(f, "several passes of {point}"),
            Unattributed::Lost => f.write_str("more steps than the ring holds"),
        }
    }
}

impl PathPoints {
    /// The passes of a flight that belong to its frame. Each point must be passed once between the passes of its
    /// neighbours, or as its [`PassChoice`] says. One frame is in flight, so such passes belong to it.
    ///
    /// # Errors
    /// [`Unattributed`]
    pub fn passes(&self, flight: &Flight) -> Result<PointTimes, Unattributed> {
        // A stack sends frames of its own while it receives, which may pass later points before the frame passes its
        // first.
        let first = |pass: &Pass| Some(&pass.point) == self.numbers.first();
        let mut from = flight.passes.iter().position(first).unwrap_or(0);
        let mut moments = Vec::new();
        for (n, number) in self.numbers.iter().enumerate() {
            let name = || self.names[n].clone();
            let next = self.numbers.get(n + 1);
            let rest = &flight.passes[from..];
            let end = match next {
                // The last point's first pass ends the path.
                None => rest
                    .iter()
                    .position(|p| p.point == *number)
                    .map(|at| at + 1),
                Some(next) => rest.iter().position(|p| p.point == *next),
            };
            let window = &rest[..end.unwrap_or(rest.len())];
            let mut own = (0..window.len()).filter(|at| window[*at].point == *number);
            let first = own.next().ok_or_else(|| Unattributed::Missed(name()))?;
            let at = match (self.takes[n], own.next_back()) {
                (_, None) | (PassChoice::First, _) => first,
                (PassChoice::Last, Some(last)) => last,
                (PassChoice::Only, Some(_)) => return Err(Unattributed::Several(name())),
            };
            moments.push(window[at].moment);
            from += at + 1;
        }
        Ok(PointTimes { moments })
    }
}

impl PointTimes {
    /// The stages between neighbouring points.
    pub fn stages(&self, flight: &Flight) -> Vec<StageCount> {
        let pairs = self.moments.windows(2);
        pairs.map(|pair| stage(pair[0], pair[1], flight)).collect()
    }

    /// Adds the instructions of each path of calls within each stage, without interruptions.
    pub fn add_paths(&self, flight: &Flight, into: &mut BTreeMap<(usize, u32), u64>) {
        for (n, pair) in self.moments.windows(2).enumerate() {
            let apart = within(pair[0], pair[1], &flight.interruptions);
            for segment in &flight.segments {
                let from = segment.from.max(pair[0].count);
                let to = segment.to.min(pair[1].count);
                let is_apart = |i: &&Interruption| i.from.count <= from && to <= i.to.count;
                if from < to && !apart.iter().any(is_apart) {
                    *into.entry((n, segment.path)).or_default() += to - from;
                }
            }
        }
    }
}

/// The outermost interruptions between two moments.
fn within(from: Moment, to: Moment, all: &[Interruption]) -> Vec<&Interruption> {
    let mut inside: Vec<&Interruption> = Vec::new();
    // An outer one ends later, so it comes first in this order.
    for next in all.iter().rev() {
        let is_inside = from.count <= next.from.count && next.to.count <= to.count;
        let contains = |outer: &&Interruption| {
            outer.from.count <= next.from.count && next.to.count <= outer.to.count
        };
        if is_inside && !inside.iter().any(contains) {
            inside.push(next);
        }
    }
    inside
}

fn stage(from: Moment, to: Moment, flight: &Flight) -> StageCount {
    let mut stage = StageCount {
        own: to.count.saturating_sub(from.count),
        interrupted: 0,
        kinds: difference(from.kinds, to.kinds),
    };
    for apart in within(from, to, &flight.interruptions) {
        let instructions = apart.to.count.saturating_sub(apart.from.count);
        stage.own = stage.own.saturating_sub(instructions);
        stage.interrupted += instructions;
        stage.kinds = difference(difference(apart.from.kinds, apart.to.kinds), stage.kinds);
    }
    stage
}

fn difference(from: Kinds, to: Kinds) -> Kinds {
    Kinds {
        loads: to.loads.wrapping_sub(from.loads),
        stores: to.stores.wrapping_sub(from.stores),
        branches: to.branches.wrapping_sub(from.branches),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::walk::Segment;

    fn moment(count: u64) -> Moment {
        Moment {
            count,
            kinds: Kinds {
                loads: count as u32,
                ..Kinds::default()
            },
        }
    }

    fn flight(passes: &[(u8, u64)], apart: &[(u64, u64)]) -> Flight {
        let pass = |&(point, count): &(u8, u64)| Pass {
            point,
            moment: moment(count),
        };
        let interruption = |&(from, to): &(u64, u64)| Interruption {
            from: moment(from),
            to: moment(to),
        };
        Flight {
            passes: passes.iter().map(pass).collect(),
            interruptions: apart.iter().map(interruption).collect(),
            segments: Vec::new(),
        }
    }

    fn frame_path(takes: [PassChoice; 3]) -> PathPoints {
        PathPoints {
            names: ["a", "b", "c"].map(str::to_owned).into(),
            numbers: vec![0, 1, 2],
            takes: takes.into(),
        }
    }

    fn counts(frame_path: &PathPoints, passes: &[(u8, u64)]) -> Result<Vec<u64>, String> {
        let passed = frame_path
            .passes(&flight(passes, &[]))
            .map_err(|e| e.to_string())?;
        Ok(passed.moments.iter().map(|m| m.count).collect())
    }

    #[test]
    fn a_frame_is_attributed_only_where_it_is_certain() {
        let only = frame_path([PassChoice::Only; 3]);
        assert_eq!(counts(&only, &[(0, 1), (1, 5), (2, 9)]), Ok(vec![1, 5, 9]));
        // What follows does not belong to this frame.
        let later = [(0, 1), (1, 5), (0, 6), (2, 9), (1, 11)];
        assert_eq!(counts(&only, &later), Ok(vec![1, 5, 9]));
        let refusal = |passes: &[(u8, u64)]| counts(&only, passes).unwrap_err();
        assert_eq!(
            refusal(&[(0, 1), (0, 2), (1, 5), (2, 9)]),
            "several passes of a"
        );
        assert_eq!(
            refusal(&[(0, 1), (1, 5), (0, 6), (1, 7), (2, 9)]),
            "several passes of b"
        );
        assert_eq!(refusal(&[(0, 1), (2, 9)]), "not seen at b");
        assert_eq!(refusal(&[(1, 5), (2, 9)]), "not seen at a");
        // An acknowledgement left before the application sent its answer.
        let early = [(1, 1), (2, 2), (0, 3), (1, 5), (2, 9)];
        assert_eq!(counts(&only, &early), Ok(vec![3, 5, 9]));
        assert_eq!(refusal(&[(0, 1), (1, 5)]), "not seen at c");
        assert_eq!(refusal(&[]), "not seen at a");
        let last = frame_path([PassChoice::Last, PassChoice::First, PassChoice::Only]);
        let twice = [(0, 1), (0, 2), (1, 5), (1, 6), (2, 9)];
        assert_eq!(counts(&last, &twice), Ok(vec![2, 5, 9]));
    }

    #[test]
    fn interruptions_are_told_apart_once() {
        let all = frame_path([PassChoice::Only; 3]);
        // One inside another, and one that begins before a point and ends after it.
        let flight_record = flight(
            &[(0, 100), (1, 200), (2, 300)],
            &[(120, 130), (110, 150), (190, 210)],
        );
        let passed = all.passes(&flight_record).unwrap();
        let stages = passed.stages(&flight_record);
        assert_eq!((stages[0].own, stages[0].interrupted), (60, 40));
        assert_eq!((stages[1].own, stages[1].interrupted), (100, 0));
        assert_eq!((stages[0].kinds.loads, stages[1].kinds.loads), (60, 100));
    }

    #[test]
    fn paths_have_the_instructions_of_their_stages() {
        let all = frame_path([PassChoice::Only; 3]);
        let mut flight_record = flight(&[(0, 100), (1, 200), (2, 300)], &[(120, 130)]);
        for (path, from, to) in [(0, 90, 120), (1, 120, 130), (0, 130, 250), (2, 250, 320)] {
            flight_record.segments.push(Segment { path, from, to });
        }
        let mut paths = BTreeMap::new();
        all.passes(&flight_record)
            .unwrap()
            .add_paths(&flight_record, &mut paths);
        let expected = [((0, 0), 90), ((1, 0), 50), ((1, 2), 50)];
        assert_eq!(paths, BTreeMap::from(expected));
    }
}
