//! Frames that passed a capture point of a node's kernel while no program ran there, from the points' counts of all
//! frames of a trial, not only of the first.
//!
//! The kernel calls a tracing program, and may have reasons not to: it is already in the same program, or the receive
//! work interrupted a process that the host protects from tracing. The frame continues nevertheless.

use std::collections::{BTreeMap, BTreeSet};

use crate::counter::Counter;
use crate::field::Field;
use crate::observation::Warning;
use crate::point_counter::{PointCount, PointCounter, PointPlace};
use crate::stage::{CapturePoint, PassedBy};
use crate::trial::Direction;
use crate::warning_code::WarningCode;

/// The counts of a point that saw a frame.
const COUNTED: [PointCount; 3] = [
    PointCount::Taken,
    PointCount::Unmatched,
    PointCount::Unreadable,
];
/// The counter of unseen frames, beside `probe_unseen.WAY.POINT` of each point.
const UNSEEN: &str = Counter::UNSEEN.word();

/// Counts the unseen frames of a direction (received or transmitted) at whose end at least `arrived` different frames arrived.
///
/// Each of these passed every point. The node's own knowledge of single frames is in its counters
/// `probe_unseen.WAY.POINT`; frames missing from a point's count are added. So the figures are lower bounds: a frame
/// that was seen and then lost may compensate for one that was not seen. A point that recorded no frame is absent. The
/// counter [`Counter::UNSEEN`] exists, 0 or not, wherever points counted.
pub fn count(
    counters: &mut BTreeMap<String, Field<u64>>,
    direction: Direction,
    arrived: u64,
) -> Option<Warning> {
    let at = |point: &str, count| {
        let place = place(direction, point);
        PointCounter { count, place }.to_string()
    };
    let mut unseen = Vec::new();
    for point in points(counters, direction) {
        let count_of = |count: PointCount| {
            let counter = counters.get(&at(&point, count));
            counter
                .and_then(|field| field.value().copied())
                .unwrap_or(0)
        };
        let known = count_of(PointCount::Unseen);
        let counts = COUNTED.map(count_of);
        if counts == [0; 3] && known == 0 {
            continue;
        }
        let counted = counts.into_iter().fold(known, u64::saturating_add);
        unseen.push((point, known + arrived.saturating_sub(counted)));
    }
    let most = unseen.iter().map(|(_, frames)| *frames).max()?;
    let so_far = counters
        .get(UNSEEN)
        .and_then(|field| field.value().copied());
    counters.insert(
        UNSEEN.to_owned(),
        Field::measured(most.max(so_far.unwrap_or(0))),
    );
    unseen.retain(|(_, frames)| *frames > 0);
    for (point, frames) in &unseen {
        counters.insert(at(point, PointCount::Unseen), Field::measured(*frames));
    }
    let names: Vec<String> = unseen
        .iter()
        .map(|(p, _)| place(direction, p).to_string())
        .collect();
    (!names.is_empty()).then(|| warning(&names))
}

const fn place(direction: Direction, point: &str) -> PointPlace<'_> {
    PointPlace {
        direction: Some(direction),
        point,
    }
}

/// Points of the direction that count anything and would see each frame.
fn points(counters: &BTreeMap<String, Field<u64>>, direction: Direction) -> BTreeSet<String> {
    let point = |name: &String| {
        let PointCounter { count, place } = PointCounter::of(name)?;
        let counts = matches!(count, PointCount::Taken | PointCount::Unseen);
        let known = CapturePoint::of(place.point).map(CapturePoint::kind);
        (counts && place.direction == Some(direction) && known != Some(PassedBy::Some))
            .then(|| place.point.to_owned())
    };
    counters.keys().filter_map(point).collect()
}

/// Without a number: the blocks of one trial have one warning, and their counters are added.
fn warning(points: &[String]) -> Warning {
    let text = format!(
        "frames arrived that {} did not see: the kernel ran no program there as they passed. They have no time there, \
         and are counted ({UNSEEN}, probe_unseen)",
        points.join(", ")
    );
    Warning::new(
        WarningCode::UNSEEN_FRAMES,
        text,
        "some hosts run no tracing program while one of their own processes has the core, and receive work interrupts such a process: leave it on the sender's core (wirelab node serve --receive-work leave), or keep other work off the node's cores",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(all: &[(&str, u64)]) -> BTreeMap<String, Field<u64>> {
        let field = |(name, value): &(&str, u64)| ((*name).to_owned(), Field::measured(*value));
        all.iter().map(field).collect()
    }

    fn value(counters: &BTreeMap<String, Field<u64>>, name: &str) -> Option<u64> {
        counters.get(name)?.value().copied()
    }

    #[test]
    fn frames_that_arrived_and_are_in_no_count_are_unseen() {
        let mut all = counters(&[
            ("probe_taken.in.driver", 1000),
            ("probe_taken.in.stack", 990),
            ("probe_unseen.in.stack", 6),
            ("probe_taken.in.socket", 985),
            ("probe_dropped.in.socket", 4),
            ("probe_unmatched.in.socket", 1),
            ("probe_unseen.in.socket", 6),
            ("probe_taken.in.call", 990),
            ("probe_taken.in.copy", 3),
            ("probe_taken.out.queue", 1),
        ]);
        let warning = count(&mut all, Direction::Receive, 996).unwrap();
        assert_eq!(warning.code, "unseen-frames");
        assert!(
            warning
                .text
                .contains("in.call, in.socket, in.stack did not"),
            "{warning:?}"
        );
        // As the node reported; what it did not report; what the node's count of lost frames hides.
        assert_eq!(value(&all, "probe_unseen.in.stack"), Some(6));
        assert_eq!(value(&all, "probe_unseen.in.call"), Some(6));
        assert_eq!(value(&all, "probe_unseen.in.socket"), Some(10));
        assert_eq!(value(&all, "probe_unseen.in.copy"), None);
        assert_eq!(value(&all, "probe_unseen.in.driver"), None);
        assert_eq!(value(&all, UNSEEN), Some(10));
        // The other direction of an echo has its own account; the larger is kept.
        assert_eq!(count(&mut all, Direction::Transmit, 1), None);
        assert_eq!(value(&all, UNSEEN), Some(10));
    }

    #[test]
    fn where_all_were_seen_that_is_said_and_where_nobody_looked_nothing() {
        let mut all = counters(&[("probe_taken.in.stack", 5), ("probe_taken.in.socket", 0)]);
        assert_eq!(count(&mut all, Direction::Receive, 5), None);
        assert_eq!(value(&all, UNSEEN), Some(0));
        let mut none = counters(&[("received_frames", 5)]);
        assert_eq!(count(&mut none, Direction::Receive, 5), None);
        assert_eq!(value(&none, UNSEEN), None);
    }

    #[test]
    fn a_point_that_saw_none_and_was_reported_is_there() {
        let mut all = counters(&[("probe_unseen.in.stack", 64)]);
        assert!(count(&mut all, Direction::Receive, 64).is_some());
        assert_eq!(value(&all, "probe_unseen.in.stack"), Some(64));
    }
}
