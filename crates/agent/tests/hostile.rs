//! A node among clients that break rules, vanish, or come in numbers: it keeps answering, and sends only what was
//! requested.

use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{Bench, PATIENCE, client, on, receiving, send, start};
use wirelab_control::client::ClientError;
use wirelab_control::refusal::{Code, Refusal};
use wirelab_control::transport::UdpTransport;
use wirelab_control::value::{Extent, Load, State};
use wirelab_port::lab::Side;
use wirelab_port::netns::NetNs;
use wirelab_trial::Direction;
use wirelab_wire::{Layer, Size, SizeUnit};

fn refusal<T: std::fmt::Debug>(answer: Result<T, ClientError>) -> Refusal {
    match answer {
        Err(ClientError::Refused { refusal, .. }) => refusal,
        other => panic!("{other:?} is not a refusal"),
    }
}

/// Give the tester's side another address of the same network, which new sockets then use.
fn stranger(bench: &Bench) {
    let namespace = bench.lab.spec().namespace(Side::Tester);
    let ip = |words: &str| {
        let words = words.split(' ');
        let status = Command::new("ip")
            .args(["-n", &namespace])
            .args(words)
            .status();
        assert!(status.unwrap().success());
    };
    ip("address add 198.18.0.77/24 dev t0");
    ip("route replace 198.18.0.0/24 dev t0 src 198.18.0.77");
}

#[test]
fn a_trial_beyond_a_limit_is_refused_with_the_limit() {
    let strict = |options: &mut wirelab_agent::Options| {
        options.limits.frames = 1000;
        options.limits.time_ps = 5_000_000_000_000;
        options.limits.bits_per_s = Some(1_000_000);
    };
    let Some(mut bench) = Bench::with(strict) else {
        return;
    };
    let good = start(Layer::UdpIpv4, Direction::Transmit, 10);
    let mut refused = |change: &dyn Fn(&mut wirelab_control::message::Start)| {
        let mut asked = good.clone();
        asked.load = Some(Load::BitsPerS(500_000));
        asked.limit_ps = None;
        change(&mut asked);
        let refusal = refusal(bench.client.start(asked));
        (refusal.field.unwrap(), refusal.limit)
    };
    assert_eq!(
        refused(&|s| s.extent = Extent::Frames(1001)),
        ("frames".into(), Some(1000))
    );
    let time = refused(&|s| s.extent = Extent::TimePs(5_000_000_000_001));
    assert_eq!(time, ("time_ps".into(), Some(5_000_000_000_000)));
    let rate = refused(&|s| s.load = Some(Load::BitsPerS(1_000_001)));
    assert_eq!(rate, ("load_bits_per_s".into(), Some(1_000_000)));
    let frames = refused(&|s| s.load = Some(Load::MilliframesPerS(126_000)));
    assert_eq!(frames, ("load_milliframes_per_s".into(), Some(125_000)));
    assert_eq!(refused(&|s| s.load = Some(Load::Max)).0, "load");
    let size = refused(&|s| s.size = Some(Size::new(SizeUnit::Datagram, 1473)));
    assert_eq!(
        size,
        ("datagram_bytes".into(), Some(1472)),
        "nothing is fragmented"
    );
    assert_eq!(
        refused(&|s| s.captures = Some(513)),
        ("captures".into(), Some(512))
    );
    assert_eq!(refused(&|s| s.ports = Some(2)), ("ports".into(), Some(1)));
    assert_eq!(refused(&|s| s.vlan_tags = Some(1)).0, "vlan_tags");
    // A share of the rate of a link without a rate, such as veth.
    let why = refused(&|s| s.load = Some(Load::LinkPpm(500_000)));
    assert_eq!(why.0, "load_ppm");
    // After all this a trial within the limits still runs.
    let mut asked = good.clone();
    asked.load = Some(Load::BitsPerS(1_000_000));
    asked.limit_ps = None;
    let socket = bench.socket();
    asked.peer_port = Some(socket.local_addr().unwrap().port());
    let trial = bench.client.start(asked).unwrap().trial;
    assert_eq!(bench.ended(trial).state, State::Done);
}

#[test]
fn nobody_at_the_peers_port_ends_the_trial_and_the_node_says_so() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let mut asked = start(Layer::UdpIpv4, Direction::Transmit, 1_000_000);
    asked.peer_port = Some(9);
    let trial = bench.client.start(asked).unwrap().trial;
    let status = bench.ended(trial);
    assert_eq!(status.state, State::Failed);
    assert!(status.why.unwrap().contains("refused"));
}

#[test]
fn a_second_client_reads_and_cannot_stop_or_start() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let mut asked = start(Layer::UdpIpv4, Direction::Receive, 1_000_000);
    asked.limit_ps = None;
    let trial = bench.client.start(asked.clone()).unwrap().trial;
    stranger(&bench);
    let to = bench.control;
    let transport = on(&bench.lab, Side::Tester, || {
        UdpTransport::connect(to).unwrap()
    });
    let mut second = wirelab_control::Client::open(transport, Default::default()).unwrap();
    assert_eq!(second.status(Some(trial)).unwrap().state, State::Running);
    assert_eq!(refusal(second.stop(trial)).code, Code::NotOwner);
    assert_eq!(refusal(second.start(asked)).code, Code::Busy);
    // Traffic never goes to a third party.
    let mut elsewhere = start(Layer::UdpIpv4, Direction::Transmit, 10);
    elsewhere.peer_ip = Some(bench.tester_ip);
    assert_eq!(refusal(second.start(elsewhere)).code, Code::Peer);
    assert_eq!(
        bench.client.status(Some(trial)).unwrap().state,
        State::Running
    );
    bench.client.stop(trial).unwrap();
    assert_eq!(bench.ended(trial).state, State::Stopped);
}

#[test]
fn the_trial_of_a_silent_client_is_abandoned_and_nothing_is_sent_any_more() {
    let impatient = |options: &mut wirelab_agent::Options| options.limits.idle_ms = 300;
    let Some(mut bench) = Bench::with(impatient) else {
        return;
    };
    let socket = bench.socket();
    let mut asked = start(Layer::UdpIpv4, Direction::Transmit, 1_000_000_000);
    asked.limit_ps = None;
    asked.peer_port = Some(socket.local_addr().unwrap().port());
    let trial = bench.client.start(asked).unwrap().trial;
    socket
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    let until = Instant::now() + PATIENCE;
    let mut bytes = [0; 2000];
    // The node stops sending on its own; the client says nothing meanwhile.
    while socket.recv(&mut bytes).is_ok() {
        assert!(Instant::now() < until, "the node never stopped sending");
    }
    assert_eq!(bench.ended(trial).state, State::Abandoned);
    assert!(bench.counter(trial, "sent_frames") > 0);
}

#[test]
fn a_thousand_half_open_connections_leave_it_answering() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let to = bench.control;
    // A client that has used its session keeps its connection.
    assert_eq!(bench.client.status(None).unwrap().state, State::Idle);
    let mut idle: Vec<TcpStream> = Vec::new();
    on(&bench.lab, Side::Tester, || {
        for number in 0..1000 {
            let Ok(mut stream) = TcpStream::connect_timeout(&to, Duration::from_secs(10)) else {
                continue;
            };
            if number % 3 == 0 {
                let _ = std::io::Write::write_all(&mut stream, b"?0.1 hel");
            }
            idle.push(stream);
        }
    });
    assert!(
        idle.len() > 900,
        "only {} connections were made",
        idle.len()
    );
    // The old client and a new one from the same address are both served.
    assert_eq!(bench.client.status(None).unwrap().state, State::Idle);
    let mut late = client(&bench.lab, to);
    assert_eq!(late.status(None).unwrap().state, State::Idle);
    assert!(bench.node.as_ref().unwrap().refused() > 900);
}

#[test]
fn a_tcp_trial_to_which_nobody_connects_fails_and_says_so() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let asked = start(Layer::TcpIpv4, Direction::Receive, 10);
    let trial = bench.client.start(asked).unwrap().trial;
    let status = bench.ended(trial);
    assert_eq!(status.state, State::Failed);
    assert!(status.why.unwrap().contains("did not connect"));
    // The next trial gets the port again.
    let started = bench
        .client
        .start(start(Layer::UdpIpv4, Direction::Receive, 10))
        .unwrap();
    send(
        &bench.socket(),
        SocketAddr::new(bench.node_ip, started.node_port.unwrap()),
        10,
    );
    assert_eq!(bench.ended(started.trial).state, State::Done);
}

#[test]
fn a_port_in_use_is_another_port() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let taken = on(&bench.lab, Side::Node, || {
        UdpSocket::bind((bench.node_ip, 5003)).unwrap()
    });
    let started = bench
        .client
        .start(start(Layer::UdpIpv4, Direction::Receive, 10))
        .unwrap();
    assert_ne!(started.node_port, Some(5003));
    let to = SocketAddr::new(bench.node_ip, started.node_port.unwrap());
    send(&bench.socket(), to, 10);
    assert_eq!(bench.ended(started.trial).state, State::Done);
    drop(taken);
}

#[test]
fn a_node_that_ends_in_the_middle_of_a_trial_stops_sending_and_takes_its_steering_back() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let masks = |namespace: &NetNs| {
        let read = || {
            wirelab_cores::steer::masks("n0")
                .unwrap()
                .concat()
                .replace(['0', ','], "")
        };
        namespace.run_in(read).unwrap()
    };
    let namespace = bench.lab.netns(Side::Node).unwrap();
    assert_ne!(masks(&namespace), "", "steered while the node runs");
    let socket = bench.socket();
    let mut asked = start(Layer::UdpIpv4, Direction::Transmit, 1_000_000);
    asked.peer_port = Some(socket.local_addr().unwrap().port());
    let ((), seen) = receiving(&socket, || {
        bench.client.start(asked).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        bench.node = None;
    });
    assert!(seen.report.counts.received_frames > 0);
    assert_eq!(masks(&namespace), "", "restored when it ended");
    // Its port is free, and nothing more arrives.
    socket
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    assert!(socket.recv(&mut [0; 2000]).is_err());
    on(&bench.lab, Side::Node, || {
        UdpSocket::bind(bench.control).unwrap()
    });
}

#[test]
fn a_strangers_flood_of_test_frames_is_foreign_and_costs_no_count() {
    const FRAMES: u64 = 500;
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let mine = bench.socket();
    stranger(&bench);
    let other = on(&bench.lab, Side::Tester, || {
        UdpSocket::bind("198.18.0.77:0").unwrap()
    });
    let started = bench
        .client
        .start(start(Layer::UdpIpv4, Direction::Receive, FRAMES))
        .unwrap();
    let to = SocketAddr::new(bench.node_ip, started.node_port.unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| send(&other, to, FRAMES));
        send(&mine, to, FRAMES);
    });
    // Frames of other hosts do not end the trial.
    assert_eq!(bench.ended(started.trial).state, State::Done);
    assert_eq!(bench.counter(started.trial, "good_frames"), FRAMES);
    assert_eq!(bench.counter(started.trial, "received_frames"), FRAMES);
    assert!(bench.counter(started.trial, "foreign_frames") > 0);
}

#[test]
fn noise_on_the_control_ports_is_not_answered_and_costs_no_client_its_answer() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let socket = bench.socket();
    socket.connect(bench.control).unwrap();
    for number in 0..5000u32 {
        let line = match number % 4 {
            0 => "=0.1 hello session=7".to_owned(),
            1 => "!0.0 bad-line".to_owned(),
            2 => "x".repeat(600),
            _ => "\0\u{7f}".to_owned(),
        };
        let _ = socket.send(line.as_bytes());
    }
    // The address of a hello gets the answer, at a limited rate: a peer's sessions displace only each other.
    for number in 1..200 {
        let filled = format!("?0.{number} hello version=1 pad={:-<470}\n", "");
        let _ = socket.send(filled.as_bytes());
    }
    socket
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let mut answer = [0; 600];
    let mut answers = 0;
    while let Ok(len) = socket.recv(&mut answer) {
        answers += 1;
        assert!(
            answer[..len].starts_with(b"=0."),
            "{}",
            answer[..len].escape_ascii()
        );
    }
    assert!((1..199).contains(&answers), "{answers}");
    assert_eq!(
        client(&bench.lab, bench.control)
            .status(None)
            .unwrap()
            .state,
        State::Idle
    );
    bench.node = None;
}
