//! Paths past the stack, verified and counted like all others; a background beside the flow; and invalid requests.

use std::net::SocketAddr;
use std::time::Duration;

use crate::common::{
    Bench, DATAGRAM, expect, in_order, names, receiving, receiving_of, send, start,
};
use wirelab_control::client::ClientError;
use wirelab_control::message::Start;
use wirelab_control::value::{Load, Path, State};
use wirelab_port::job::CheckJob;
use wirelab_port::lab::Side;
use wirelab_port::packet::{CheckOptions, Checker};
use wirelab_stages::{NodeOptions, NodeXdp};
use wirelab_trial::{Direction, Wait};
use wirelab_wire::{Flow, Layer};

const FRAMES: u64 = 300;
const CAPTURES: u32 = 200;
const BACKGROUND: u16 = 5004;

fn fast(rule: Option<&str>) -> Start {
    let mut asked = start(Layer::UdpIpv4, Direction::Receive, FRAMES);
    asked.path = Some(Path::FastTrack);
    asked.rule = rule.map(str::to_owned);
    asked
}

fn to(bench: &Bench, started: &wirelab_control::message::Started) -> SocketAddr {
    SocketAddr::new(bench.node_ip, started.node_port.unwrap())
}

/// Let pass what the node's driver sends: a veth drops it unless its own side has an XDP program.
fn passing(bench: &Bench) -> NodeXdp {
    let port = bench.lab.port(0, Side::Tester).unwrap();
    NodeXdp::attach(&port, &NodeOptions::default(), None).unwrap()
}

#[test]
fn frames_on_the_fast_track_are_verified_counted_and_timed() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    assert!(bench.client.identity().paths.contains(&Path::FastTrack));
    for (wait, rule) in [
        (Wait::Sleep, None),
        (Wait::Spin, Some("port=1026:5003")),
        (Wait::Spin, Some("own,protocol=17,port=5003")),
    ] {
        let mut asked = fast(rule);
        asked.wait = Some(wait);
        asked.captures = Some(CAPTURES);
        let started = bench.client.start(asked).unwrap();
        send(&bench.socket(), to(&bench, &started), FRAMES);
        let status = bench.ended(started.trial);
        assert_eq!(status.state, State::Done, "{status:?}");
        let trial = started.trial;
        for counter in [
            "good_frames",
            "received_frames",
            "distinct_sequences",
            "fast_track_matched_frames",
            "fast_track_received_frames",
        ] {
            assert_eq!(bench.counter(trial, counter), FRAMES, "{counter}");
        }
        let bytes = FRAMES * u64::from(DATAGRAM);
        assert_eq!(bench.counter(trial, "received_bytes"), bytes);
        for counter in ["fast_track_no_socket_frames", "fast_track_dropped_frames"] {
            assert_eq!(bench.counter(trial, counter), 0, "{counter}");
        }
        let points = bench.taken(trial);
        in_order(&points, u64::from(CAPTURES));
        let taken = names(&points);
        assert_eq!(taken.last(), Some(&"application"));
        assert!(!taken.contains(&"stack"), "past the stack: {taken:?}");
        assert!(
            !bench.has_probes() || taken.contains(&"driver"),
            "{taken:?}"
        );
    }
}

#[test]
fn what_no_rule_wants_goes_through_the_stack_to_the_application_and_is_not_the_tracks() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    for wait in [Wait::Sleep, Wait::Spin] {
        let mut asked = fast(Some("port=1026"));
        asked.wait = Some(wait);
        let started = bench.client.start(asked).unwrap();
        send(&bench.socket(), to(&bench, &started), FRAMES);
        assert_eq!(bench.ended(started.trial).state, State::Done);
        let counter = |bench: &mut Bench, name| bench.counter(started.trial, name);
        assert_eq!(counter(&mut bench, "fast_track_matched_frames"), 0);
        assert_eq!(counter(&mut bench, "fast_track_received_frames"), 0);
        assert_eq!(counter(&mut bench, "good_frames"), FRAMES);
        assert!(counter(&mut bench, "fast_track_passed_frames") >= FRAMES);
    }
}

#[test]
fn a_background_is_counted_beside_the_flow_in_both_directions() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    for path in [Path::Stack, Path::FastTrack] {
        for wait in [Wait::Sleep, Wait::Spin] {
            let mut asked = fast(None);
            asked.path = Some(path);
            asked.wait = Some(wait);
            asked.background_port = Some(BACKGROUND);
            let started = bench.client.start(asked).unwrap();
            let noise = bench.socket();
            noise.connect((bench.node_ip, BACKGROUND)).unwrap();
            for _ in 0..FRAMES {
                noise.send(&[0; 100]).unwrap();
            }
            send(&bench.socket(), to(&bench, &started), FRAMES);
            assert_eq!(bench.ended(started.trial).state, State::Done);
            let trial = started.trial;
            assert_eq!(bench.counter(trial, "good_frames"), FRAMES);
            assert_eq!(bench.counter(trial, "reordered_frames"), 0);
            assert_eq!(bench.counter(trial, "background_received_frames"), FRAMES);
            let bytes = bench.counter(trial, "background_received_bytes");
            assert_eq!(bytes, FRAMES * 100);
        }
    }
}

#[test]
#[should_panic(expected = "what the work of a test says")]
fn a_receiver_ends_where_the_work_beside_it_panics() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    receiving(&socket, || {
        let held = socket.peer_addr().is_ok();
        assert!(held, "what the work of a test says");
    });
}

#[test]
fn the_driver_turns_the_peers_frames_around() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let _passing = passing(&bench);
    let mut asked = start(Layer::UdpIpv4, Direction::Echo, FRAMES);
    asked.path = Some(Path::Driver);
    let started = bench.client.start(asked).unwrap();
    let socket = bench.socket();
    let mut mine = expect();
    mine.stream = 3;
    let ((), seen) = receiving_of(&socket, &mine, || {
        send(&socket, to(&bench, &started), FRAMES);
        assert_eq!(bench.ended(started.trial).state, State::Done);
    });
    assert_eq!(seen.report.counts.good_frames, FRAMES);
    assert_eq!(bench.counter(started.trial, "reflected_frames"), FRAMES);
    assert_eq!(bench.counter(started.trial, "sent_frames"), FRAMES);
}

#[test]
fn the_driver_sends_to_the_peer_that_asked_alone() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let _passing = passing(&bench);
    let socket = bench.socket();
    let mut asked = start(Layer::UdpIpv4, Direction::Transmit, FRAMES);
    asked.path = Some(Path::Driver);
    asked.peer_port = Some(socket.local_addr().unwrap().port());
    let (trial, seen) = receiving(&socket, || {
        let started = bench.client.start(asked).unwrap();
        assert_eq!(started.peer_ip, Some(bench.tester_ip));
        let status = bench.ended(started.trial);
        assert_eq!(status.state, State::Done, "{status:?}");
        started.trial
    });
    assert_eq!(seen.report.counts.good_frames, FRAMES);
    assert_eq!(bench.counter(trial, "sent_frames"), FRAMES);

    let job = CheckJob {
        flow: Flow {
            source: Some(bench.lab.mac(0, Side::Node).0),
            udp_port: 0,
            stream: Some(7),
            dscp: None,
        },
        slots: None,
        time_every: 1,
    };
    let port = bench.lab.port(0, Side::Tester).unwrap();
    let checker = Checker::start(&port, &job, CheckOptions::default()).unwrap();
    let mut asked = start(Layer::Ethernet, Direction::Transmit, FRAMES);
    asked.path = Some(Path::Driver);
    let started = bench.client.start(asked).unwrap();
    assert_eq!(bench.ended(started.trial).state, State::Done);
    let report = checker.finish(Duration::from_millis(100)).unwrap();
    assert_eq!(report.counts.good_frames, FRAMES);
}

#[test]
fn what_cannot_be_is_refused_with_the_name_of_the_field() {
    let limited = |options: &mut wirelab_agent::Options| {
        options.limits.bits_per_s = Some(1_000_000);
    };
    let Some(mut bench) = Bench::with(limited) else {
        return;
    };
    let mut field = |layer, direction, change: &dyn Fn(&mut Start)| {
        let mut asked = start(layer, direction, FRAMES);
        asked.load = asked.load.map(|_| Load::BitsPerS(500_000));
        change(&mut asked);
        match bench.client.start(asked) {
            Err(ClientError::Refused { refusal, .. }) => refusal.field.unwrap(),
            other => panic!("{other:?} is not a refusal"),
        }
    };
    use Direction::{Both, Echo, Receive, Transmit};
    use Layer::{Ethernet, TcpIpv4 as Tcp, UdpIpv4 as Udp};
    let way = |path| move |s: &mut Start| s.path = Some(path);
    assert_eq!(field(Udp, Transmit, &way(Path::FastTrack)), "path");
    assert_eq!(field(Ethernet, Echo, &way(Path::FastTrack)), "path");
    assert_eq!(field(Udp, Receive, &way(Path::Driver)), "path");
    assert_eq!(field(Udp, Both, &way(Path::Driver)), "path");
    assert_eq!(field(Tcp, Receive, &way(Path::FastTrack)), "path");
    assert_eq!(field(Udp, Receive, &way(Path::Loopback)), "path");
    let rule = |s: &mut Start| s.rule = Some("port=1026".to_owned());
    assert_eq!(field(Udp, Receive, &rule), "rule");
    for bad in ["", "port=x", "nonsense", "priority=8"] {
        let bad = |s: &mut Start| {
            s.path = Some(Path::FastTrack);
            s.rule = Some(bad.to_owned());
        };
        assert_eq!(field(Udp, Receive, &bad), "rule");
    }
    let spin = |s: &mut Start| s.wait = Some(Wait::Spin);
    assert_eq!(field(Tcp, Receive, &spin), "wait");
    let beside = |s: &mut Start| s.background_port = Some(BACKGROUND);
    assert_eq!(field(Udp, Transmit, &beside), "background_port");
    assert_eq!(field(Udp, Both, &beside), "background_port");
    assert_eq!(field(Tcp, Receive, &beside), "background_port");
    let same = |s: &mut Start| s.background_port = Some(wirelab_wire::header::UDP_PORT);
    assert_eq!(field(Udp, Receive, &same), "background_port");
    let faster = |s: &mut Start| {
        s.path = Some(Path::Driver);
        s.load = Some(Load::Max);
    };
    assert_eq!(field(Ethernet, Transmit, &faster), "load");
}
