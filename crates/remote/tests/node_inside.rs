//! Trials that look inside `wirelab node serve`, or go past its stack, in a lab: every point in both directions with the
//! tester's own times, the fast track, the driver, a background, and that no frame is lost or counted twice between two points.

use crate::common::agent::serve;
use crate::common::{NODE_IPV4, assert_clean, counter, flow, has_warning, lab, on_tester, trial};
use wirelab_remote::ControlNode;
use wirelab_trial::stage::StageName;
use wirelab_trial::{
    Cancel, Direction, Extent, FlowObservation, Layer, Load, Node, NodeError, Observation, Path,
    Probes, SeriesName, Size, SizeUnit, Status, Trial, TrialField, Wait,
};

const FRAMES: u64 = 256;

/// A tester in the lab, beside a node whose host lets look inside; `None`, and a word for the test runner, elsewhere.
fn with_node<T: Send>(work: impl FnOnce(&mut ControlNode) -> T + Send) -> Option<T> {
    beside_node(true, work)
}

/// The same with the node's receive work where it says, or where the system puts it.
fn beside_node<T: Send>(steer: bool, work: impl FnOnce(&mut ControlNode) -> T + Send) -> Option<T> {
    let lab = lab()?;
    let _node = serve(&lab, |options| options.steer = steer);
    on_tester(&lab, || {
        let mut node = ControlNode::open("node:inside", NODE_IPV4).unwrap();
        let about = node.describe();
        let inside = about.setup.get("probes").map(String::as_str);
        if inside == Some("none") || !about.capabilities.paths.contains(&Path::FastTrack) {
            let why = about.setup.get("probes_why").cloned().unwrap_or_default();
            eprintln!("WIRELAB-SKIP root: {why}");
            return None;
        }
        Some(work(&mut node))
    })
}

fn ask(node: &mut ControlNode, trial: &Trial) -> Observation {
    let ran = node.run(trial, &(), &Cancel::new());
    let observation = ran.unwrap_or_else(|error| panic!("{trial:?}: {error}"));
    assert_eq!(observation.status, Status::Complete, "{observation:#?}");
    observation
}

/// 256 frames of 64 bytes of length at 2,000 frames/s.
fn small(direction: Direction) -> Trial {
    Trial {
        size: Size::new(SizeUnit::Length, 64),
        load: Load::FrameRate {
            frames_per_s: 2000.0,
        },
        extent: Extent::Frames { frames: FRAMES },
        probes: Some(Probes::Auto),
        ..trial(Layer::UdpIpv4, direction)
    }
}

/// Frames that each stage has, in the order of the way.
fn stages(flow: &FlowObservation) -> Vec<(StageName<'_>, u64)> {
    let all = flow.series.iter();
    all.filter_map(|s| Some((s.points()?, s.histogram.count)))
        .collect()
}

/// The names of the points of a path, first to last, from its stages.
fn points(flow: &FlowObservation) -> Vec<&str> {
    let mut points: Vec<&str> = Vec::new();
    for (StageName { from, to }, _) in stages(flow) {
        match points.last() {
            None => points.extend([from, to]),
            Some(last) if *last == from => points.push(to),
            // The sums of stages follow.
            Some(_) => break,
        }
    }
    points
}

fn told(flow: &FlowObservation, what: &str, point: &str) -> u64 {
    let name = format!("probe_{what}.{point}");
    flow.counters
        .get(&name)
        .and_then(|field| field.value().copied())
        .unwrap_or(0)
}

/// Between two points, frames get lost where the node says so, and nowhere else, and none is counted twice.
fn assert_none_vanishes(flow: &FlowObservation, way: &str, points: &[&str]) {
    for pair in points.windows(2) {
        let [from, to] = [pair[0], pair[1]].map(|point| format!("{way}.{point}"));
        let accounted = ["taken", "dropped", "unmatched", "unreadable", "unseen"];
        let after: u64 = accounted.iter().map(|what| told(flow, what, &to)).sum();
        let passed = ["taken", "unmatched", "unseen"];
        let before: u64 = passed.iter().map(|what| told(flow, what, &from)).sum();
        assert_eq!(after, before, "{from} to {to}: {:#?}", flow.counters);
    }
}

#[test]
fn all_points_in_both_directions_with_the_testers_own_times() {
    let ways = [
        (Direction::Receive, "wire", "application"),
        (Direction::Transmit, "application", "wire"),
    ];
    let Some(observations) = with_node(|node| ways.map(|(way, ..)| ask(node, &small(way)))) else {
        return;
    };
    for (observation, (direction, first, last)) in observations.iter().zip(ways) {
        let flow = flow(observation, direction);
        let counts = assert_clean(flow, &direction.to_string());
        let points = points(flow);
        assert_eq!(points.first(), Some(&first), "{points:?}");
        assert_eq!(points.last(), Some(&last), "{points:?}");
        let between = match direction {
            Direction::Receive => ["interrupt", "driver", "stack", "call"],
            _ => ["application", "call", "queue", "driver"],
        };
        assert!(between.iter().all(|p| points.contains(p)), "{points:?}");
        // The sums of all stages have every frame too, and are by the node's clock.
        let whole = SeriesName::stage(first, last);
        let whole = flow.series.iter().find(|s| s.name == whole).unwrap();
        assert_eq!(
            whole.histogram.count, counts.distinct_sequences,
            "{points:?}"
        );
        assert_eq!(whole.clock.owner, wirelab_trial::Owner::Node);
        assert!(whole.histogram.max_ticks < 1_000_000_000, "{whole:?}");
    }
    let rows = wirelab_trial::stage::delays_of(&observations[0]);
    let total = rows
        .iter()
        .find(|d| d.figures.from == "wire" && d.figures.to == "application");
    assert!(total.is_some_and(|d| d.figures.cumulated && d.figures.probes == Some(Probes::Auto)));
}

#[test]
fn the_fast_track_has_its_points_and_takes_each_frame() {
    let trial = Trial {
        path: Some(Path::FastTrack),
        wait: Some(Wait::Spin),
        rule: Some("port=1026".to_owned()),
        ..small(Direction::Receive)
    };
    let Some(observation) = with_node(|node| ask(node, &trial)) else {
        return;
    };
    let flow = flow(&observation, Direction::Receive);
    assert_clean(flow, "fast track");
    assert_eq!(points(flow), ["wire", "interrupt", "driver", "application"]);
    let sent = *flow.sent_frames.value().unwrap();
    let (matched, lost) = (
        counter(flow, "fast_track_matched_frames"),
        counter(flow, "fast_track_dropped_frames") + counter(flow, "fast_track_ring_full_frames"),
    );
    assert_eq!(matched, sent, "{:#?}", flow.counters);
    assert_eq!(matched, counter(flow, "fast_track_received_frames") + lost);
    let rows = wirelab_trial::stage::delays_of(&observation);
    let way = |d: &wirelab_trial::stage::Delay| (d.figures.path, d.figures.wait);
    assert!(
        rows.iter()
            .all(|d| way(d) == (Some(Path::FastTrack), Some(Wait::Spin)))
    );
}

#[test]
fn the_driver_sends_and_sends_back() {
    let asked = [Direction::Transmit, Direction::Echo].map(|direction| Trial {
        path: Some(Path::Driver),
        probes: None,
        ..small(direction)
    });
    let Some(observations) = with_node(|node| asked.each_ref().map(|trial| ask(node, trial)))
    else {
        return;
    };
    let sent = flow(&observations[0], Direction::Transmit);
    assert_clean(sent, "blaster");
    let back = flow(&observations[1], Direction::Echo);
    let counts = assert_clean(back, "reflector");
    assert!(counter(back, "reflected_frames") >= counts.distinct_sequences);
}

#[test]
fn a_background_goes_beside_the_flow_and_is_counted_on_both_sides() {
    // Without a rule each path has a trial of its own.
    let asked = [Path::Stack, Path::FastTrack].map(|path| Trial {
        path: Some(path),
        background: Some("10kpps,length=128".parse().unwrap()),
        ..small(Direction::Receive)
    });
    let Some(observations) = with_node(|node| asked.each_ref().map(|trial| ask(node, trial)))
    else {
        return;
    };
    for observation in &observations {
        let flow = flow(observation, Direction::Receive);
        assert_clean(flow, "beside a background");
        let counted = |name: &str| {
            let field = &observation.counters[&format!("background_{name}_frames")];
            *field.value().unwrap_or_else(|| panic!("{name}: {field:?}"))
        };
        let (sent, received, lost) = (counted("sent"), counted("received"), counted("lost"));
        assert_eq!(sent, received + lost);
        assert!(received > 0, "{:#?}", observation.counters);
        let told = has_warning(observation, "background-lost");
        assert_eq!(told, lost > 0, "{:#?}", observation.warnings);
        let slow = has_warning(observation, "background-below-rate");
        assert!(!slow || observation.tester.was_limit.value() == Some(&true));
    }
}

#[test]
fn two_ways_take_turns_beside_a_background_and_each_has_its_own_points_and_counts() {
    let asked = [Path::Stack, Path::FastTrack, Path::Stack].map(|path| Trial {
        path: Some(path),
        rule: Some("port=1026".to_owned()),
        background: Some("5kpps".parse().unwrap()),
        ..small(Direction::Receive)
    });
    let Some(observations) = with_node(|node| asked.each_ref().map(|trial| ask(node, trial)))
    else {
        return;
    };
    for (observation, asked) in observations.iter().zip(&asked) {
        assert_eq!(&observation.trial, asked);
        let flow = flow(observation, Direction::Receive);
        assert_eq!(flow.sent_frames.value(), Some(&FRAMES));
        let counts = assert_clean(flow, "in turn");
        assert_eq!(counts.received_frames, FRAMES);
        let way = points(flow);
        assert_eq!(way[..3], ["wire", "interrupt", "driver"], "{way:?}");
        assert_eq!(way.last(), Some(&"application"));
        let past = asked.path == Some(Path::FastTrack);
        assert_eq!(way.contains(&"stack"), !past, "{way:?}");
        let mut all = stages(flow).into_iter();
        let whole = all.find(|(name, _)| *name == StageName::new("driver", "application"));
        assert_eq!(whole.map(|(_, frames)| frames), Some(FRAMES));
        if past {
            assert_eq!(counter(flow, "fast_track_matched_frames"), FRAMES);
        }
    }
    let [stack, fast, again] = observations.map(|o| *o.started_unix_ns.value().unwrap());
    assert_eq!(stack, fast, "one trial for both");
    assert!(again > stack, "and a new request is another trial");
}

#[test]
fn under_load_no_frame_vanishes_between_two_points() {
    let trial = Trial {
        load: Load::FrameRate {
            frames_per_s: 20_000.0,
        },
        extent: Extent::Frames { frames: 10_000 },
        background: Some("20kpps".parse().unwrap()),
        ..small(Direction::Receive)
    };
    // Steered to another core, frames wait in a queue of the system before the stack sees them, and some hosts have
    // processes during which nothing sees them.
    for steer in [false, true] {
        let Some(observation) = beside_node(steer, |node| ask(node, &trial)) else {
            return;
        };
        accounts_for_all(&observation);
    }
}

fn accounts_for_all(observation: &Observation) {
    let flow = flow(observation, Direction::Receive);
    let counts = assert_clean(flow, "under load");
    let sent = *flow.sent_frames.value().unwrap();
    assert_eq!(counts.distinct_sequences + counts.lost_frames, sent);
    // What the tester's own queue refused never reached the node.
    let arrived = told(flow, "taken", "in.driver");
    assert!(
        arrived <= sent && arrived >= counts.distinct_sequences,
        "{arrived} of {sent}"
    );
    assert_none_vanishes(flow, "in", &["driver", "stack", "socket"]);
    let unseen = told(flow, "unseen", "in.stack");
    assert_eq!(told(flow, "unseen", "in.socket"), unseen);
    assert_eq!(counter(flow, "unseen_frames"), unseen);
    assert_eq!(has_warning(observation, "unseen-frames"), unseen > 0);
    assert_eq!(told(flow, "taken", "in.wire"), arrived);
    // Of some it is known that they were queued, and not when.
    let queued = told(flow, "taken", "in.socket") + told(flow, "unmatched", "in.socket") + unseen;
    let returned = told(flow, "taken", "in.call");
    assert_eq!(queued, returned, "{:#?}", flow.counters);
    assert_eq!(returned, counts.received_frames, "{:#?}", flow.counters);
}

#[test]
fn what_cannot_be_asked_is_refused_by_name() {
    let cases = [
        (
            "background",
            Trial {
                background: Some("10kpps".parse().unwrap()),
                ..small(Direction::Transmit)
            },
        ),
        (
            "path",
            Trial {
                path: Some(Path::FastTrack),
                ..small(Direction::Transmit)
            },
        ),
        (
            "wait",
            Trial {
                wait: Some(Wait::Spin),
                load: Load::Max,
                probes: None,
                ..trial(Layer::TcpIpv4, Direction::Receive)
            },
        ),
    ];
    let refused = with_node(|node| {
        let errors = cases.each_ref().map(|(_, trial)| {
            node.run(trial, &(), &Cancel::new())
                .expect_err("it cannot be done")
        });
        let bad = Trial {
            rule: Some("port=none".to_owned()),
            path: Some(Path::FastTrack),
            ..small(Direction::Receive)
        };
        let bad = node.run(&bad, &(), &Cancel::new()).expect_err("no rule");
        // The node is free for the next.
        ask(node, &small(Direction::Receive));
        (errors, bad)
    });
    let Some((errors, bad)) = refused else { return };
    for (error, (field, _)) in errors.iter().zip(&cases) {
        let NodeError::Unsupported(cannot) = error else {
            panic!("{field}: {error}");
        };
        assert_eq!(cannot.field.map(TrialField::name), Some(*field), "{error}");
    }
    assert!(
        matches!(&bad, NodeError::BadTrial(text) if text.contains("port=none")),
        "{bad}"
    );
}
