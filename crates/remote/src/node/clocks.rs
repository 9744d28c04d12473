//! Merges times of the tester with those of the node, where both read one clock.

use wirelab_cores::clock_id;
use wirelab_trial::format::count;
use wirelab_trial::stage::{CapturePoint, PointTimes};
use wirelab_trial::{Clock, Owner};
use wirelab_wire::header::TIME_MODULUS;

/// The tester's point: a frame is on the wire.
const WIRE: &str = CapturePoint::WIRE.word();
/// Longest name of a point in bytes.
const MOST_NAME: usize = 64;

/// Whether the tester reads the node's clock `theirs`; an error says why not.
pub fn one_clock(theirs: Option<&String>) -> Result<(), &'static str> {
    match (theirs, clock_id()) {
        (None, _) => Err("the node does not report which clock it reads"),
        (Some(theirs), Some(own)) if *theirs == own => Ok(()),
        _ => Err("tester and node have different clocks"),
    }
}

/// The node's clock `theirs`, where the tester reads it too: such a node learns what clock the times in frames use.
pub fn shared(theirs: Option<&String>) -> Option<String> {
    one_clock(theirs).ok().and_then(|()| theirs.cloned())
}

/// Adds the tester's times to the node's where both have one clock; else leaves them out and says why. Points with
/// invalid names are left out too.
pub fn join(
    points: &mut Vec<PointTimes>,
    same: Result<(), &str>,
    now_ns: u64,
    notes: &mut Vec<String>,
) {
    let all = points.len();
    points.retain(|p| !p.name.is_empty() && p.name.len() <= MOST_NAME && !p.name.contains(' '));
    if points.len() < all {
        let bad = count((all - points.len()) as u64, "capture point");
        notes.push(format!("{bad} with an invalid name left out"));
    }
    let of_tester = |p: &PointTimes| p.clock.owner == Owner::Tester;
    let known = |p: &PointTimes| of_tester(p) && p.clock == Clock::TESTER_NS && p.name == WIRE;
    let before = points.len();
    points.retain(|p| !of_tester(p) || (same.is_ok() && known(p)));
    if points.len() < before {
        let why = same
            .err()
            .unwrap_or("the node names a clock that the tester does not have");
        notes.push(format!(
            "when frames left the tester is not shown as a stage: {why}"
        ));
    }
    for point in points.iter_mut().filter(|p| of_tester(p)) {
        point.clock.owner = Owner::Node;
        for (_, ns) in &mut point.times {
            *ns = whole(*ns, now_ns);
        }
    }
}

/// The latest time up to `now_ns` that a test frame encodes as `carried_ns`; a future time where there is none.
fn whole(carried_ns: u64, now_ns: u64) -> u64 {
    let ago = now_ns.wrapping_sub(carried_ns) % TIME_MODULUS;
    now_ns.checked_sub(ago).unwrap_or(carried_ns % TIME_MODULUS)
}

/// Appends the times at which the tester saw frames of `stream` after the node's last point, for frames of which the node has
/// times.
pub fn append_tester_times(points: &mut Vec<PointTimes>, stream: u8, times: &[(u32, u64)]) {
    let Some(at) = points.iter().rposition(|p| p.stream == stream) else {
        return;
    };
    let last = &points[at];
    let mut known: Vec<u32> = last.times.iter().map(|(sequence, _)| *sequence).collect();
    known.sort_unstable();
    let times = times.iter().copied();
    let wire = PointTimes {
        name: WIRE.to_owned(),
        stream,
        clock: last.clock,
        times: times
            .filter(|(sequence, _)| known.binary_search(sequence).is_ok())
            .collect(),
    };
    if last.clock.tick_ps == Some(1000) {
        points.insert(at + 1, wire);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE_NS: Clock = Clock {
        owner: Owner::Node,
        ..Clock::TESTER_NS
    };

    fn point(name: &str, stream: u8, clock: Clock, times: &[(u32, u64)]) -> PointTimes {
        PointTimes {
            name: name.to_owned(),
            stream,
            clock,
            times: times.to_vec(),
        }
    }

    #[test]
    fn the_time_that_a_frame_carries_becomes_whole() {
        let now = 5 * TIME_MODULUS + 1000;
        assert_eq!(whole(990, now), now - 10);
        assert_eq!(whole(1001, now), 4 * TIME_MODULUS + 1001);
        assert_eq!(whole(now - 3, now), now - 3, "it was whole already");
        assert_eq!(
            whole(u64::MAX, 1000),
            TIME_MODULUS - 1,
            "before the clock began"
        );
        let mut points = vec![
            point("wire", 0, Clock::TESTER_NS, &[(0, 900)]),
            point("driver", 0, NODE_NS, &[(0, now - 50)]),
        ];
        join(&mut points, Ok(()), now, &mut Vec::new());
        assert_eq!(points[0].times, [(0, now - 100)]);
        assert_eq!(points[0].clock, NODE_NS);
    }

    #[test]
    fn times_of_two_clocks_are_never_subtracted() {
        let mut points = vec![
            point("wire", 0, Clock::TESTER_NS, &[(0, 900)]),
            point("driver", 0, NODE_NS, &[(0, 7)]),
        ];
        let mut notes = Vec::new();
        join(
            &mut points,
            one_clock(Some(&"elsewhere-1".to_owned())),
            1,
            &mut notes,
        );
        assert_eq!(points.len(), 1);
        assert!(notes[0].contains("different clocks"), "{notes:?}");
        assert!(one_clock(None).unwrap_err().contains("does not report"));
        // A node learns the tester's clock only if it reads the same one.
        let own = wirelab_cores::clock_id();
        assert_eq!(shared(own.as_ref()), own);
        assert_eq!(shared(Some(&"elsewhere-1".to_owned())), None);
        assert_eq!(shared(None), None);
    }

    #[test]
    fn what_a_hostile_node_calls_a_point_is_none() {
        let mut points = vec![
            point("", 0, NODE_NS, &[(0, 1)]),
            point("a to b", 0, NODE_NS, &[(0, 1)]),
            point(&"x".repeat(200), 0, NODE_NS, &[(0, 1)]),
            point("interrupt", 0, Clock::TESTER_NS, &[(0, 1)]),
            point("driver", 0, NODE_NS, &[(0, 1)]),
        ];
        let mut notes = Vec::new();
        join(&mut points, Ok(()), 1, &mut notes);
        assert_eq!(points.len(), 1);
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(notes[0].starts_with("3 capture points"), "{notes:?}");
    }

    #[test]
    fn what_the_tester_saw_follows_the_nodes_last_point() {
        let mut points = vec![
            point("driver", 0, NODE_NS, &[(0, 1)]),
            point("application", 1, NODE_NS, &[(0, 10), (1, 20)]),
            point("driver", 1, NODE_NS, &[(0, 11), (1, 22)]),
        ];
        append_tester_times(&mut points, 1, &[(0, 15), (1, 25), (2, 35)]);
        assert_eq!(points[3], point("wire", 1, NODE_NS, &[(0, 15), (1, 25)]));
        append_tester_times(&mut points, 7, &[(0, 15)]);
        assert_eq!(points.len(), 4, "the node has no point of that stream");
    }
}
