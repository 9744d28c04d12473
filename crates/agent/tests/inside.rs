//! The capture points inside the kernel, in both directions and in echo, asleep and spinning; and a node without
//! permission to trace there.

use std::net::SocketAddr;

use crate::common::{Bench, expect, in_order, names, receiving, send, start};
use crate::over::Over;
use wirelab_control::client::{ClientError, PointRecords};
use wirelab_control::message::Start;
use wirelab_control::refusal::Code;
use wirelab_control::value::State;
use wirelab_socket::flow::FlowProgress;
use wirelab_trial::{Cancel, Direction, Owner, Probes, Wait};
use wirelab_wire::Layer;

const FRAMES: u64 = 300;
const CAPTURES: u32 = 200;

fn asked(direction: Direction) -> Start {
    let mut asked = start(Layer::UdpIpv4, direction, FRAMES);
    asked.captures = Some(CAPTURES);
    asked
}

/// Run a trial that receives what the tester sends, to its end.
fn received(bench: &mut Bench, asked: Start) -> u32 {
    let started = bench.client.start(asked).unwrap();
    let to = SocketAddr::new(bench.node_ip, started.node_port.unwrap());
    send(&bench.socket(), to, FRAMES);
    let status = bench.ended(started.trial);
    assert_eq!(status.state, State::Done, "{status:?}");
    assert_eq!(bench.counter(started.trial, "good_frames"), FRAMES);
    started.trial
}

fn one<'a>(points: &'a [PointRecords], name: &str) -> &'a PointRecords {
    let found = points.iter().find(|p| p.point.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", names(points)))
}

/// Each point that the host can record has every frame, except points that few frames pass observably.
fn complete(bench: &mut Bench, points: &[PointRecords], way: &str) {
    if !bench.has_probes() {
        assert!(points.len() >= 2, "{:?}", names(points));
        return;
    }
    let sometimes = ["interrupt", "copy"];
    let mut expected = bench.points_of(way);
    if way == "in" && bench.key("xdp").is_some_and(|xdp| !xdp.starts_with("none")) {
        expected.push("driver".to_owned());
    }
    expected.retain(|name| !sometimes.contains(&name.as_str()));
    expected.push("application".to_owned());
    for name in expected {
        assert_eq!(one(points, &name).point.lost, 0, "{name}");
    }
}

#[test]
fn a_received_frame_is_seen_at_every_point_asleep_and_spinning() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    for wait in [Wait::Sleep, Wait::Spin] {
        let mut asked = asked(Direction::Receive);
        asked.wait = Some(wait);
        let trial = received(&mut bench, asked);
        let points = bench.taken(trial);
        in_order(&points, u64::from(CAPTURES));
        complete(&mut bench, &points, "in");
        assert_eq!(one(&points, "wire").point.owner, Owner::Tester);
        assert_eq!(names(&points).last(), Some(&"application"));
        if bench.has_probes() {
            let cost = bench.counter(trial, "probe_cost_ns.in.stack");
            assert!(cost > 0, "what a point costs is measured");
            assert_eq!(bench.counter(trial, "probe_taken.in.call"), FRAMES);
        }
    }
}

#[test]
fn a_sent_frame_is_seen_at_every_point_asleep_and_spinning() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    for wait in [Wait::Sleep, Wait::Spin] {
        let socket = bench.socket();
        let mut asked = asked(Direction::Transmit);
        asked.wait = Some(wait);
        asked.peer_port = Some(socket.local_addr().unwrap().port());
        let (trial, seen) = receiving(&socket, || {
            let started = bench.client.start(asked).unwrap();
            assert_eq!(bench.ended(started.trial).state, State::Done);
            started.trial
        });
        assert_eq!(seen.report.counts.good_frames, FRAMES);
        let points = bench.taken(trial);
        in_order(&points, u64::from(CAPTURES));
        complete(&mut bench, &points, "out");
        assert_eq!(names(&points)[0], "application");
        assert!(points.iter().all(|p| p.point.stream == 7));
    }
}

#[test]
fn an_echo_has_points_of_both_directions_and_one_stream() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    if !bench.has_probes() {
        return;
    }
    let socket = bench.socket();
    let mut mine = expect();
    mine.stream = 3;
    let started = bench.client.start(asked(Direction::Echo)).unwrap();
    let to = SocketAddr::new(bench.node_ip, started.node_port.unwrap());
    let over = Cancel::new();
    let seen = std::thread::scope(|scope| {
        let back = scope.spawn(|| {
            wirelab_socket::udp::receive(&socket, None, &mine, &FlowProgress::default(), &over)
                .unwrap()
        });
        let ends = Over(over.flag());
        send(&socket, to, FRAMES);
        assert_eq!(bench.ended(started.trial).state, State::Done);
        std::thread::sleep(std::time::Duration::from_millis(100));
        drop(ends);
        back.join().unwrap()
    });
    assert_eq!(seen.report.counts.good_frames, FRAMES);
    assert_eq!(bench.counter(started.trial, "sent_frames"), FRAMES);
    let points = bench.taken(started.trial);
    in_order(&points, u64::from(CAPTURES));
    assert!(points.iter().all(|p| p.point.stream == 3));
    let ways: Vec<&str> = names(&points);
    let turn = ways.iter().position(|n| *n == "application").unwrap();
    assert_eq!(ways[turn..][..3], ["application", "application", "call"]);
    assert_eq!(ways.last(), Some(&"driver"));
}

#[test]
fn both_directions_at_once_are_told_apart_by_their_streams() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let socket = bench.socket();
    let mut asked = asked(Direction::Both);
    asked.wait = Some(Wait::Spin);
    asked.peer_port = Some(socket.local_addr().unwrap().port());
    let (trial, seen) = receiving(&socket, || {
        let started = bench.client.start(asked).unwrap();
        let to = SocketAddr::new(bench.node_ip, started.node_port.unwrap());
        send(&socket, to, FRAMES);
        assert_eq!(bench.ended(started.trial).state, State::Done);
        started.trial
    });
    assert_eq!(seen.report.counts.good_frames, FRAMES);
    let points = bench.taken(trial);
    in_order(&points, u64::from(CAPTURES));
    let (into, out): (Vec<_>, Vec<_>) = points.into_iter().partition(|p| p.point.stream == 3);
    complete(&mut bench, &into, "in");
    complete(&mut bench, &out, "out");
}

#[test]
fn without_probes_there_are_the_carried_time_and_the_applications() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let mut asked = asked(Direction::Receive);
    asked.probes = Some(Probes::Off);
    let trial = received(&mut bench, asked);
    let points = bench.taken(trial);
    assert_eq!(names(&points), ["wire", "application"]);
    in_order(&points, u64::from(CAPTURES));
    assert!(points.iter().all(|p| p.point.lost == 0));
}

#[test]
fn the_node_takes_the_testers_times_for_its_own_clocks_only_where_both_say_the_same_clock() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    if !bench.has_probes() {
        return;
    }
    let own = bench.key("clock_id").unwrap();
    let another = format!("{own}1");
    for (clock_id, frames) in [
        (Some(own), Some(FRAMES)),
        (Some(another), None),
        (None, None),
    ] {
        let mut asked = asked(Direction::Receive);
        asked.clock_id.clone_from(&clock_id);
        let trial = received(&mut bench, asked);
        let all = bench.client.counters(trial, 0).unwrap();
        // A program records that point only by times of the clock that it reads.
        let taken = all.get("probe_taken.in.wire").copied().filter(|n| *n > 0);
        assert_eq!(taken, frames, "{clock_id:?}: {all:?}");
    }
}

#[test]
fn a_set_of_programs_that_the_host_refuses_is_refused_by_name() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let set = bench.key("probes").unwrap();
    for (name, probes) in [("fentry", Probes::Fentry), ("raw", Probes::Raw)] {
        let mut asked = asked(Direction::Receive);
        asked.probes = Some(probes);
        match bench.client.start(asked) {
            Ok(started) => {
                bench.client.stop(started.trial).unwrap();
                bench.ended(started.trial);
                // The set-up names what recorded the times, whichever set is the best here.
                assert_eq!(bench.key("probes").as_deref(), Some(name));
                let why = bench.key("probes_why").unwrap();
                assert_eq!(why, "requested");
                let driver = bench.key("function.in.driver").unwrap();
                assert!(driver.starts_with("XDP program ("), "{driver}");
                let socket = bench.key("function.in.socket").unwrap();
                assert_eq!(
                    socket == "sock_def_readable",
                    probes == Probes::Fentry,
                    "{socket}"
                );
            }
            Err(ClientError::Refused { refusal, .. }) => {
                assert_ne!(set, name, "the node said that it has it");
                let field = (refusal.code, refusal.field.as_deref());
                assert_eq!(field, (Code::Unsupported, Some("probes")));
                assert!(refusal.why.is_some_and(|why| why.len() > 20));
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn the_set_up_says_what_looks_into_the_kernel_and_which_clock_it_is() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let host = bench.key("host").unwrap();
    let clock = bench.key("clock_id").unwrap();
    assert!(clock.starts_with(&format!("{host}-")), "{clock}");
    let probes = bench.key("probes").unwrap();
    assert!(["fentry", "raw", "none"].contains(&&*probes), "{probes}");
    assert!(probes == "fentry" || bench.key("probes_why").is_some());
    if probes == "raw" {
        let stack = bench.key("function.in.stack");
        assert_eq!(stack.as_deref(), Some("netif_receive_skb"));
    }
    assert!(bench.key("xdp").is_some());
    let cores = bench.key("cpus");
    let receive = bench.key("receive_cpus");
    assert!(receive == cores || receive.as_deref() == Some("any"));
    drop(bench);
    let Some(mut bench) = Bench::with(|options| options.steer = false) else {
        return;
    };
    let one_core = bench.key("cores").as_deref() == Some("1");
    assert!(one_core || bench.key("receive_cpus").as_deref() == Some("any"));
}
