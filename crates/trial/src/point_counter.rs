//! The counters of a capture point: what they count, and the only place that builds their names, such as
//! `probe_taken.in.driver`.

use std::fmt;

use crate::trial::Direction;
use crate::words::words;

/// What a counter of a capture point counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointCount {
    /// First quartile of what a record costs, in ns.
    CostQ1,
    /// Median of what a record costs, in ns.
    Cost,
    /// Third quartile of what a record costs, in ns.
    CostQ3,
    /// Median of two readings of the clock with nothing between them, in ns.
    Clock,
    /// Frames that passed and have a record.
    Taken,
    /// Frames that passed when all records were in use.
    Missed,
    /// Frames whose test header could not be read.
    Unreadable,
    /// Frames whose time cannot be known.
    Unmatched,
    /// Frames that the system dropped before the point.
    Dropped,
    /// Frames with a damaged test header.
    Corrupt,
    /// Frames that reached a later point while no program ran at this one.
    Unseen,
}

words!(
    PointCount, "count of a capture point",
    "probe_cost_q1_ns" => PointCount::CostQ1,
    "probe_cost_ns" => PointCount::Cost,
    "probe_cost_q3_ns" => PointCount::CostQ3,
    "probe_clock_ns" => PointCount::Clock,
    "probe_taken" => PointCount::Taken,
    "probe_missed" => PointCount::Missed,
    "probe_unreadable" => PointCount::Unreadable,
    "probe_unmatched" => PointCount::Unmatched,
    "probe_dropped" => PointCount::Dropped,
    "probe_corrupt" => PointCount::Corrupt,
    "probe_unseen" => PointCount::Unseen,
);

impl PointCount {
    /// Whether it is a time; otherwise it counts frames.
    pub const fn is_time(self) -> bool {
        use PointCount::{Clock, Cost, CostQ1, CostQ3};
        matches!(self, CostQ1 | Cost | CostQ3 | Clock)
    }
}

/// The position of a point: the frames that pass it and its name, as in `in.driver`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointPlace<'a> {
    /// Whether the frames are those that the node receives or sends; `None` if a node has only one direction.
    pub direction: Option<Direction>,
    /// The point's name.
    pub point: &'a str,
}

impl<'a> PointPlace<'a> {
    /// The place in a text.
    pub fn of(text: &'a str) -> PointPlace<'a> {
        let (direction, point) = match text.split_once('.') {
            Some(("in", point)) => (Some(Direction::Receive), point),
            Some(("out", point)) => (Some(Direction::Transmit), point),
            _ => (None, text),
        };
        PointPlace { direction, point }
    }
}

impl fmt::Display for PointPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = self.direction.map_or("", |direction| match direction {
            Direction::Transmit => "out.",
            _ => "in.",
        });
        write!(f, "{direction}{}", self.point)
    }
}

/// The name of a counter of a capture point. Nothing else writes such a name or reads one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointCounter<'a> {
    /// What it counts.
    pub count: PointCount,
    /// The capture point and the direction.
    pub place: PointPlace<'a>,
}

impl<'a> PointCounter<'a> {
    /// The counter of a name; `None` if it is not the counter of a capture point.
    pub fn of(name: &'a str) -> Option<PointCounter<'a>> {
        let (word, place) = name.split_once('.')?;
        Some(PointCounter {
            count: word.parse().ok()?,
            place: PointPlace::of(place),
        })
    }
}

impl fmt::Display for PointCounter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.count, self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_is_counted_and_where() {
        let read = |name| {
            let counter = PointCounter::of(name)?;
            assert_eq!(counter.to_string(), name);
            Some((counter.count, counter.place.direction, counter.place.point))
        };
        let received = Some(Direction::Receive);
        for (name, is) in [
            (
                "probe_taken.in.driver",
                (PointCount::Taken, received, "driver"),
            ),
            (
                "probe_unseen.out.a.b",
                (PointCount::Unseen, Some(Direction::Transmit), "a.b"),
            ),
            ("probe_cost_ns.driver", (PointCount::Cost, None, "driver")),
        ] {
            assert_eq!(read(name), Some(is));
        }
        for name in ["probe_taken", "probe_lent.in.driver", "slice_frames.00"] {
            assert_eq!(read(name), None);
        }
    }
}
