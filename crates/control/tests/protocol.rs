//! Client and server over a simulated network: each thing is done once, whatever happens to the lines.

use std::time::Duration;

use crate::common::demo::{DemoNode, record};
use crate::common::{Simulated, Weather, World, config, host, many_tries, transmit};
use wirelab_control::client::Patience;
use wirelab_control::line::Line;
use wirelab_control::value::{Extent, Load, Mac, Path, State};
use wirelab_control::{
    Client, ClientError, Code, LineBuf, Peer, Reply, Request, RequestId, Server,
};
use wirelab_wire::{Layer, Size, SizeUnit};

fn refused<T: std::fmt::Debug>(
    result: Result<T, ClientError>,
) -> (Code, Option<String>, Option<u64>) {
    match result.unwrap_err() {
        ClientError::Refused { refusal, .. } => (refusal.code, refusal.field, refusal.limit),
        other => panic!("{other}"),
    }
}

/// Damage is only found where lines need a check, so this is a very bad UART.
fn story(weather: Weather, seed: u64) -> wirelab_control::client::ClientCounts {
    let world = World::new(weather, seed);
    let mut client = Client::open_with(
        Simulated::join(&world, Peer::Serial(0)),
        many_tries(),
        seed as u32,
    )
    .unwrap();
    for round in 1..=5u32 {
        let mut start = transmit(10);
        start.captures = Some(200);
        let started = client.start(start).unwrap();
        assert_eq!(started.trial, round, "each start is done once");
        let status = loop {
            let status = client.status(Some(round)).unwrap();
            if status.state != State::Running {
                break status;
            }
            world.borrow_mut().now += Duration::from_millis(5);
        };
        assert_eq!((status.state, status.tx_frames), (State::Done, Some(10)));
        let got = client.captures(round, 2).unwrap();
        assert_eq!(got.point.name, "udp-callback");
        assert_eq!(
            got.records,
            (0..200).map(|n| record(2, n)).collect::<Vec<_>>()
        );
    }
    assert_eq!(world.borrow_mut().server.handler().starts, 5);
    client.counts()
}

#[test]
fn a_clean_network_needs_no_repetition() {
    let counts = story(Weather::default(), 1);
    assert_eq!(
        (counts.repeated, counts.stale, counts.unreadable),
        (0, 0, 0)
    );
}

#[test]
fn loss_repetition_reordering_and_damage() {
    let weather = Weather {
        loss: 30,
        repeat: 30,
        damage: 10,
        delay_ms: 400,
    };
    let (mut repeated, mut stale, mut unreadable) = (0, 0, 0);
    for seed in 1..=20 {
        let counts = story(weather, seed * 7919);
        repeated += counts.repeated;
        stale += counts.stale;
        unreadable += counts.unreadable;
    }
    assert!(
        repeated > 100 && stale > 100 && unreadable > 100,
        "{repeated} {stale} {unreadable}: no weather at all"
    );
}

#[test]
fn lists_of_many_pages() {
    let world = World::new(Weather::default(), 3);
    let mut client =
        Client::open_with(Simulated::join(&world, host(1)), Patience::default(), 1).unwrap();
    let setup = client.setup().unwrap();
    assert_eq!(setup.len() as u32, client.identity().setup);
    assert_eq!(setup[2], ("stack".to_owned(), "none, 100 % µ".to_owned()));
    assert!(setup.iter().all(|(_, value)| value.len() <= 120));
    let trial = client.start(transmit(7)).unwrap().trial;
    let counters = client.counters(trial, 0).unwrap();
    assert_eq!(
        (
            counters.len(),
            counters["sent_frames"],
            counters["counter_29"]
        ),
        (31, 7, u64::MAX - 29)
    );
    assert_eq!(refused(client.counters(trial, 1)).0, Code::Unsupported);
    assert_eq!(client.load(trial, 0).unwrap().busy_ticks, 24);
    assert!(client.captures(trial, 0).unwrap().records.is_empty());
    assert_eq!(
        refused(client.captures(trial, 3)),
        (Code::Limit, Some("point".into()), Some(2))
    );
}

#[test]
fn two_clients_at_once() {
    let world = World::new(
        Weather {
            loss: 20,
            repeat: 20,
            damage: 0,
            delay_ms: 50,
        },
        5,
    );
    let mut one = Client::open_with(Simulated::join(&world, host(1)), many_tries(), 9).unwrap();
    let mut two = Client::open_with(Simulated::join(&world, host(2)), many_tries(), 9).unwrap();
    assert_ne!(one.opened().session, two.opened().session);
    let trial = one.start(transmit(100_000)).unwrap().trial;
    assert_eq!(refused(two.start(transmit(1))).0, Code::Busy);
    assert_eq!(two.status(None).unwrap().state, State::Running);
    assert_eq!(refused(two.stop(trial)).0, Code::NotOwner);
    assert_eq!(one.stop(trial).unwrap().state, State::Stopped);
    assert_eq!(
        one.stop(trial).unwrap().state,
        State::Stopped,
        "to stop twice is not an error"
    );
    assert_eq!(two.start(transmit(1)).unwrap().trial, trial + 1);
    assert_eq!(refused(one.status(Some(trial))).0, Code::NoTrial);
}

#[test]
fn a_client_that_vanishes_leaves_no_traffic() {
    let world = World::new(Weather::default(), 5);
    let mut gone =
        Client::open_with(Simulated::join(&world, host(1)), Patience::default(), 9).unwrap();
    gone.start(transmit(1_000_000)).unwrap();
    drop(gone);
    let mut other =
        Client::open_with(Simulated::join(&world, host(2)), Patience::default(), 9).unwrap();
    world.borrow_mut().now += Duration::from_millis(4_900);
    assert_eq!(other.status(None).unwrap().state, State::Running);
    world.borrow_mut().now += Duration::from_millis(200);
    assert_eq!(other.status(None).unwrap().state, State::Abandoned);
    assert_eq!(other.start(transmit(1)).unwrap().trial, 2);
}

#[test]
fn silence_and_restart_are_told_apart() {
    let world = World::new(Weather::default(), 5);
    let mut client =
        Client::open_with(Simulated::join(&world, host(1)), Patience::default(), 9).unwrap();
    world.borrow_mut().server = Server::new(DemoNode::default(), config());
    assert!(matches!(
        client.start(transmit(1)),
        Err(ClientError::SessionLost)
    ));
    assert_eq!(world.borrow_mut().server.handler().starts, 0);
    world.borrow_mut().weather.loss = 100;
    assert!(matches!(
        client.status(None),
        Err(ClientError::Silent {
            command: "status",
            tries: 8
        })
    ));
}

#[test]
fn an_old_number_is_never_done_again() {
    let mut server = Server::new(DemoNode::default(), config());
    let mut out = LineBuf::new();
    let mut say = |text: String, peer: Peer| {
        let answer = server.handle(text.as_bytes(), peer, Duration::ZERO, &mut out);
        let answer = answer
            .map(|a| String::from_utf8(a.to_vec()).unwrap())
            .unwrap_or_default();
        (
            answer.split(' ').next().unwrap().to_owned(),
            answer.clone(),
            server.handler().starts,
        )
    };
    let (_, hello, _) = say("?0.5 hello version=9\n".into(), host(1));
    assert!(
        hello.starts_with("=0.5 hello version=1 session="),
        "{hello}"
    );
    assert_eq!(
        say("?0.5 hello version=9\n".into(), host(1)).1,
        hello,
        "the same hello opens no second session"
    );
    let session: u32 = Line::parse(hello.as_bytes(), true)
        .unwrap()
        .get("session")
        .unwrap()
        .u64()
        .unwrap() as u32;
    let start = format!(
        "?{session}.3 start direction=transmit layer=ethernet frame_bytes=64 load=max frames=5\n"
    );
    let first = say(start.clone(), host(1));
    assert_eq!((first.0.as_str(), first.2), (&*format!("={session}.3"), 1));
    assert_eq!(
        say(start.clone(), host(1)),
        first,
        "the same reply, and nothing done"
    );
    assert!(
        say(format!("?{session}.3 stop trial=1\n"), host(1)).1 == first.1,
        "the number counts, not the text"
    );
    assert!(
        say(start.clone(), host(2)).1.contains(" no-session "),
        "a session belongs to an address"
    );
    assert!(
        say(format!("?{session}.4 status\n"), host(1))
            .1
            .contains(" state=running ")
    );
    let late = say(start, host(1));
    assert!(late.1.contains(" stale ") && late.2 == 1, "{late:?}");
    assert!(
        say(format!("?{session}.0 status\n"), host(1))
            .1
            .contains(" stale ")
    );
    for silent in ["=1.1 status trial=0\n", "!0.0 bad-line\n", "hello\n", "\n"] {
        assert_eq!(
            say(silent.into(), host(1)).1,
            "",
            "{silent:?} is never answered"
        );
    }
}

#[test]
fn floods_push_out_only_the_unused_and_their_own() {
    let mut server = Server::new(DemoNode::default(), config());
    let mut out = LineBuf::new();
    let mut hello = |server: &mut Server<DemoNode>, nonce: u32, peer| {
        let line = format!("?0.{nonce} hello version=1\n");
        let answer = server
            .handle(
                line.as_bytes(),
                peer,
                Duration::from_millis(u64::from(nonce)),
                &mut out,
            )
            .unwrap();
        Line::parse(answer, true)
            .unwrap()
            .get("session")
            .map(|s| s.u64().unwrap())
    };
    let mine = hello(&mut server, 1, host(1)).unwrap();
    let status = |server: &mut Server<DemoNode>, number: u32| {
        let mut out = LineBuf::new();
        let line = format!("?{mine}.{number} status\n");
        server
            .handle(line.as_bytes(), host(1), Duration::from_secs(1), &mut out)
            .unwrap()
            .starts_with(b"=")
    };
    assert!(status(&mut server, 1));
    for nonce in 2..1000 {
        hello(&mut server, nonce, host((nonce % 200 + 10) as u8)).unwrap();
        assert!(server.sessions() <= 4);
    }
    assert!(status(&mut server, 2), "a session in use survives");
    // Three others in use fill the table: a fifth has to wait until one falls idle.
    let mut used = Vec::new();
    for last in 2..5 {
        used.push((hello(&mut server, 2_000, host(last)).unwrap(), last));
    }
    for (session, last) in used {
        let line = format!("?{session}.1 status\n");
        server
            .handle(
                line.as_bytes(),
                host(last),
                Duration::from_secs(2),
                &mut LineBuf::new(),
            )
            .unwrap();
    }
    assert_eq!(hello(&mut server, 3_000, host(9)), None, "full");
    assert!(
        hello(&mut server, 60_000, host(9)).is_some(),
        "an idle one made room"
    );
}

#[test]
fn traffic_goes_only_to_who_asked() {
    let world = World::new(Weather::default(), 5);
    let mut client =
        Client::open_with(Simulated::join(&world, host(1)), Patience::default(), 9).unwrap();
    let mut udp = transmit(1);
    udp.layer = Layer::UdpIpv4;
    udp.peer_mac = None;
    udp.peer_ip = Some([192, 0, 2, 77].into());
    assert_eq!(
        refused(client.start(udp.clone())),
        (Code::Peer, Some("peer_ip".into()), None)
    );
    udp.peer_ip = Some([192, 0, 2, 1].into());
    client.start(udp.clone()).unwrap();
    let mut all = transmit(1);
    all.peer_mac = Some(Mac([0xFF; 6]));
    world.borrow_mut().now += Duration::from_secs(1);
    assert_eq!(refused(client.start(all.clone())).0, Code::Peer);

    let mut serial = Client::open_with(
        Simulated::join(&world, Peer::Serial(0)),
        Patience::default(),
        9,
    )
    .unwrap();
    all.peer_mac = None;
    assert_eq!(
        refused(serial.start(all.clone())),
        (Code::MissingField, Some("peer_mac".into()), None)
    );
    udp.peer_ip = Some([255; 4].into());
    assert_eq!(refused(serial.start(udp.clone())).0, Code::Peer);
    udp.peer_ip = None;
    assert_eq!(refused(serial.start(udp)).1.as_deref(), Some("peer_ip"));
    all.path = Some(Path::Loopback);
    serial.start(all).unwrap();
}

#[test]
fn limits_are_named() {
    let world = World::new(Weather::default(), 5);
    let mut client =
        Client::open_with(Simulated::join(&world, host(1)), Patience::default(), 9).unwrap();
    let mut ask = |change: fn(&mut wirelab_control::message::Start)| {
        let mut start = transmit(1);
        change(&mut start);
        refused(client.start(start))
    };
    let limit = |field: &str, limit| (Code::Limit, Some(field.to_owned()), Some(limit));
    assert_eq!(
        ask(|s| s.extent = Extent::Frames(1_000_001)),
        limit("frames", 1_000_000)
    );
    assert_eq!(ask(|s| s.extent = Extent::Frames(0)), limit("frames", 1));
    assert_eq!(
        ask(|s| s.extent = Extent::TimePs(u64::MAX)),
        limit("time_ps", 60_000_000_000_000)
    );
    assert_eq!(
        ask(|s| s.size = Some(Size::new(SizeUnit::Length, 1515))),
        limit("length_bytes", 1514)
    );
    assert_eq!(
        ask(|s| s.size = Some(Size::new(SizeUnit::Payload, 45))),
        limit("payload_bytes", 46)
    );
    assert_eq!(
        ask(|s| s.size = Some(Size::new(SizeUnit::Datagram, 64))).0,
        Code::Unsupported
    );
    assert_eq!(ask(|s| s.size = None).0, Code::MissingField);
    assert_eq!(
        ask(|s| s.load = None),
        (Code::MissingField, Some("load".into()), None)
    );
    assert_eq!(
        ask(|s| s.load = Some(Load::LinkPpm(1_000_001))),
        limit("load_ppm", 1_000_000)
    );
    assert_eq!(ask(|s| s.ports = Some(2)), limit("ports", 1));
    assert_eq!(ask(|s| s.captures = Some(513)), limit("captures", 512));
    assert_eq!(ask(|s| s.vlan_tags = Some(3)), limit("vlan_tags", 2));
    assert_eq!(
        ask(|s| s.buffers = Some(wirelab_trial::Buffers::DmaCopied))
            .1
            .as_deref(),
        Some("buffers")
    );
    assert_eq!(
        ask(|s| s.path = Some(Path::FastTrack)).1.as_deref(),
        Some("path")
    );
}

#[test]
fn the_longest_hello_fits() {
    let world = World::new(Weather::default(), 5);
    let client =
        Client::open_with(Simulated::join(&world, host(1)), Patience::default(), 9).unwrap();
    let mut identity = client.identity().clone();
    use wirelab_control::value::Traffic;
    use wirelab_trial::Buffers;
    identity.name = "n".repeat(32);
    identity.layers = vec![
        Layer::Ethernet,
        Layer::UdpIpv4,
        Layer::UdpIpv6,
        Layer::TcpIpv4,
        Layer::TcpIpv6,
    ];
    identity.buffers = vec![
        Buffers::Prefilled,
        Buffers::Copied,
        Buffers::DmaCopied,
        Buffers::CopiedAhead,
        Buffers::InPlace,
    ];
    identity.traffic = vec![Traffic::Test, Traffic::Iperf2];
    identity.paths = vec![Path::Stack, Path::Driver, Path::FastTrack, Path::Loopback];
    (identity.setup, identity.ports) = (256, 1_000);
    (
        identity.max_frame_bytes,
        identity.max_captures,
        identity.idle_ms,
    ) = (16_000, 65_536, 86_400_000);
    (identity.max_frames, identity.max_time_ps) = (u64::MAX, u64::MAX);
    let opened = wirelab_control::message::Opened {
        version: 1,
        session: u32::MAX,
        challenge: Some("f".repeat(32)),
    };
    let id = RequestId {
        session: 0,
        number: u32::MAX,
    };
    assert!(
        Reply::Hello(opened, identity)
            .emit(id, &mut LineBuf::new())
            .is_some()
    );
}

#[test]
fn the_example_of_the_specification_is_right() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/node-control.md");
    let text = std::fs::read_to_string(path).unwrap();
    let example = text
        .split("## 10. Example")
        .nth(1)
        .unwrap()
        .split("```")
        .nth(1)
        .unwrap();
    let mut lines = 0;
    for line in example.lines().filter(|l| !l.is_empty()) {
        let parsed = Line::parse(line.as_bytes(), true).unwrap();
        if line.starts_with('?') {
            Request::parse(&parsed).unwrap();
        } else {
            Reply::parse(&parsed).unwrap();
        }
        lines += 1;
    }
    assert_eq!(lines, 10);
}
