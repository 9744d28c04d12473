//! Times at each point of a node's kernel, recorded by the raw set: one for each frame and point, in the order of the
//! path.

use std::collections::{HashMap, HashSet};

use crate::rig::{
    Echo, PORT, accounted, choice, info, lab, node, options, ping_pong, print, sequences, socket,
    until,
};
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_stages::{Choice, Point, ProbeSet, StagesError, Tracer, TracerOptions, Xdp};
use wirelab_trial::Direction;
use wirelab_trial::stage::PointTimes;

const FRAMES: u32 = 512;

/// Every frame must have one time at each point, in the order of the path. Points that only see a sleeping reader may
/// miss frames, which they count.
fn check_way(tracer: &Tracer, direction: Direction, stream: u8) {
    let times = tracer.times_of(direction);
    let mut ways: HashMap<u32, Vec<u64>> = HashMap::new();
    // The end of a sent frame is the tester's to see.
    let own = |point: &&Point| point.direction() == direction && **point != Point::OutWire;
    for point in Point::ALL.iter().filter(own) {
        let of = |t: &&PointTimes| t.name == point.name() && t.stream == stream;
        let Some(at) = times.iter().find(of) else {
            assert_eq!(*point, Point::InCopy, "{:?}", tracer.notes());
            continue;
        };
        let once: HashSet<u32> = at.times.iter().map(|(sequence, _)| *sequence).collect();
        assert_eq!(once.len(), at.times.len(), "{point:?}: a frame twice");
        assert_eq!(accounted(tracer, *point), u64::from(FRAMES), "{point:?}");
        if !matches!(point, Point::InInterrupt | Point::InSocket | Point::InCopy) {
            assert_eq!(once.len(), FRAMES as usize, "{point:?}");
        }
        for (sequence, ns) in &at.times {
            ways.entry(*sequence).or_default().push(*ns);
        }
    }
    assert_eq!(ways.len(), FRAMES as usize);
    for (sequence, way) in ways {
        assert!(way.windows(2).all(|w| w[0] <= w[1]), "{sequence}: {way:?}");
    }
}

/// One frame after the other to a sleeping reader, and its answers.
fn a_quiet_run(lab: &EphemeralLab, tracer: &Tracer) {
    let app = Echo::start(socket(lab, Side::Node, PORT), false);
    let tester = socket(lab, Side::Tester, 4000);
    ping_pong(lab, &tester, FRAMES, 64);
    until("the last frame", || {
        info(tracer, Point::OutDriver).counts.taken == u64::from(FRAMES)
    });
    assert_eq!(app.stop().len(), FRAMES as usize);
    print(tracer);
    check_way(tracer, Direction::Receive, 0);
    check_way(tracer, Direction::Transmit, 1);
}

#[test]
fn each_frame_has_one_time_at_each_point_in_the_order_of_the_way() {
    let Some(lab) = lab() else { return };
    let tracer = Tracer::attach(&options(&node(&lab))).unwrap();
    assert_eq!(tracer.set() == ProbeSet::Raw, choice() == Choice::Raw);
    a_quiet_run(&lab, &tracer);
    let polls = tracer.polls();
    assert!(polls.count > 0 && polls.min_ticks >= 1, "{polls:?}");
    for cost in tracer.costs() {
        assert!(cost.all.min_ticks > 0, "{cost:?} costs nothing?");
        assert_eq!(cost.all.count, cost.clock.count, "both of the same frames");
        let names = cost.counters().map(|(name, _)| name);
        assert!(names.iter().all(|name| name.ends_with(&cost.point.key())));
    }
    let measured: Vec<Point> = tracer.costs().into_iter().map(|c| c.point).collect();
    for point in [Point::InDriver, Point::InStack, Point::OutQueue] {
        assert!(measured.contains(&point), "no cost of {point:?}");
    }
}

#[test]
fn functions_give_the_same_points_where_the_host_lets_them_be_traced() {
    let Some(lab) = lab() else { return };
    let asked = TracerOptions {
        choice: Choice::Fentry,
        ..options(&node(&lab))
    };
    match Tracer::attach(&asked) {
        Ok(tracer) => {
            assert_eq!(tracer.set(), ProbeSet::Fentry);
            a_quiet_run(&lab, &tracer);
            let frames = u64::from(FRAMES);
            assert_eq!(info(&tracer, Point::InSocket).counts.taken, frames);
            assert_eq!(info(&tracer, Point::InCopy).counts.taken, frames);
        }
        Err(StagesError::Refused { why, .. }) => assert!(why.contains("capabilities"), "{why}"),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn without_a_program_on_the_port_the_stack_sees_frames_first() {
    let Some(lab) = lab() else { return };
    let app = Echo::start(socket(&lab, Side::Node, PORT), false);
    let tester = socket(&lab, Side::Tester, 4000);
    let tracer = Tracer::attach(&TracerOptions {
        xdp: Xdp::Off,
        ..options(&node(&lab))
    })
    .unwrap();
    ping_pong(&lab, &tester, FRAMES, 1024);
    app.stop();
    assert!(tracer.points().iter().all(|i| i.point != Point::InDriver));
    let frames = u64::from(FRAMES);
    assert_eq!(accounted(&tracer, Point::InInterrupt), frames);
    for point in [Point::InWire, Point::InStack, Point::InSocket] {
        assert_eq!(accounted(&tracer, point), frames, "{point:?}");
    }
}

#[test]
fn a_reader_that_spins_is_not_woken_and_its_frames_have_every_other_time() {
    let Some(lab) = lab() else { return };
    let app = Echo::start(socket(&lab, Side::Node, PORT), true);
    let tester = socket(&lab, Side::Tester, 4000);
    let tracer = Tracer::attach(&options(&node(&lab))).unwrap();
    ping_pong(&lab, &tester, FRAMES, 64);
    app.stop();
    print(&tracer);
    let frames = u64::from(FRAMES);
    for point in [Point::InDriver, Point::InStack, Point::InCall] {
        assert_eq!(info(&tracer, point).counts.taken, frames, "{point:?}");
    }
    for point in [Point::InSocket, Point::InCopy] {
        assert_eq!(accounted(&tracer, point), frames, "{point:?}");
    }
    // Each frame that was seen there has its time, however few there are.
    let copied = sequences(&tracer, "copy", 0).len() as u64;
    assert_eq!(copied, info(&tracer, Point::InCopy).counts.taken);
}

/// The numeric part of the running kernel's release.
fn linux() -> (u32, u32) {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next().unwrap().parse().unwrap();
    (next(), next())
}

#[test]
fn programs_look_at_the_kernel_unaided_where_it_lets_them_and_say_where_not() {
    let Some(lab) = lab() else { return };
    let tracer = Tracer::attach(&options(&node(&lab))).unwrap();
    let copies = |note: &String| note.starts_with("this kernel copies");
    let says = tracer.notes().iter().any(copies);
    assert_eq!(says, linux() < (6, 2), "{:?}", tracer.notes());
}
