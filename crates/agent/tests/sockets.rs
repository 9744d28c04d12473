//! UDP and TCP trials in every direction, requested by a plain client in a lab. Every count must add up.

use std::net::{SocketAddr, TcpStream};

use crate::common;
use crate::common::{Bench, DATAGRAM, expect, offer, on, receiving, send, start};
use crate::over::Over;
use wirelab_control::value::{Extent, State};
use wirelab_port::lab::Side;
use wirelab_socket::flow::FlowProgress;
use wirelab_socket::tcp;
use wirelab_trial::{Cancel, Direction, Wait};
use wirelab_wire::Layer;

const FRAMES: u64 = 500;

/// The address on which the node said that it listens.
fn node_port(bench: &Bench, started: &wirelab_control::message::Started) -> SocketAddr {
    SocketAddr::new(bench.node_ip, started.node_port.unwrap())
}

/// The count identity of the node's counters: each sent sequence number arrived once or is lost, and each frame has
/// one class.
fn adds_up(bench: &mut Bench, trial: u32, sent: u64) -> u64 {
    let distinct = bench.counter(trial, "distinct_sequences");
    let received = bench.counter(trial, "received_frames");
    let good = bench.counter(trial, "good_frames");
    let duplicated = bench.counter(trial, "duplicated_frames");
    assert!(distinct <= sent, "{distinct} of {sent}");
    assert_eq!(received, good, "every byte was compared");
    assert_eq!(received, distinct + duplicated);
    assert_eq!(
        bench.counter(trial, "received_bytes"),
        received * u64::from(DATAGRAM)
    );
    sent - distinct
}

#[test]
fn a_node_receives_udp_and_counts_every_frame() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let started = bench
        .client
        .start(start(Layer::UdpIpv4, Direction::Receive, FRAMES))
        .unwrap();
    let sent = send(&bench.socket(), node_port(&bench, &started), FRAMES);
    assert_eq!(sent.report.emitted_frames, FRAMES);
    let status = bench.ended(started.trial);
    assert_eq!(status.state, State::Done);
    assert_eq!(status.rx_frames, Some(FRAMES));
    assert_eq!(adds_up(&mut bench, started.trial, FRAMES), 0);
    let ns = status.elapsed_ticks.unwrap();
    assert!(
        ns >= (FRAMES - 1) * 400_000,
        "{ns} ns for {FRAMES} frames at 2000 a second"
    );
}

#[test]
fn late_frames_of_the_trial_before_are_counted_apart() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let sockets = [bench.socket(), bench.socket()];
    let asked = sockets.each_ref().map(|socket| {
        let mut asked = start(Layer::UdpIpv4, Direction::Receive, FRAMES);
        asked.peer_port = Some(socket.local_addr().unwrap().port());
        asked
    });
    let [first, second] = asked;
    let started = bench.client.start(first).unwrap();
    send(&sockets[0], node_port(&bench, &started), FRAMES);
    assert_eq!(bench.ended(started.trial).state, State::Done);
    let started = bench.client.start(second).unwrap();
    // Sequence numbers of the trial before, as from a queue on the path.
    send(&sockets[0], node_port(&bench, &started), 50);
    send(&sockets[1], node_port(&bench, &started), FRAMES);
    let status = bench.ended(started.trial);
    assert_eq!(
        (status.state, status.rx_frames),
        (State::Done, Some(FRAMES))
    );
    assert_eq!(bench.counter(started.trial, "other_run_frames"), 50);
    assert_eq!(bench.counter(started.trial, "duplicated_frames"), 0);
    assert_eq!(adds_up(&mut bench, started.trial, FRAMES), 0);
}

#[test]
fn a_receiver_by_time_ends_on_request_and_takes_what_is_under_way() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let mut asked = start(Layer::UdpIpv4, Direction::Receive, 1);
    asked.extent = Extent::TimePs(1_000_000_000_000);
    let started = bench.client.start(asked).unwrap();
    send(&bench.socket(), node_port(&bench, &started), FRAMES);
    bench.client.stop(started.trial).unwrap();
    assert_eq!(bench.ended(started.trial).state, State::Stopped);
    assert_eq!(adds_up(&mut bench, started.trial, FRAMES), 0);
}

#[test]
fn a_node_sends_udp_to_the_peer_that_asked() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let socket = bench.socket();
    let mut asked = start(Layer::UdpIpv4, Direction::Transmit, FRAMES);
    asked.peer_port = Some(socket.local_addr().unwrap().port());
    let ((trial, status), seen) = receiving(&socket, || {
        let started = bench.client.start(asked).unwrap();
        assert_eq!(started.peer_ip, Some(bench.tester_ip));
        (started.trial, bench.ended(started.trial))
    });
    assert_eq!(status.state, State::Done);
    assert_eq!(bench.counter(trial, "sent_frames"), FRAMES);
    let counts = seen.report.with_sent(FRAMES).counts;
    counts.check_identity(FRAMES).unwrap();
    assert_eq!(counts.good_frames, FRAMES);
}

#[test]
fn both_directions_of_udp_run_at_once() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let socket = bench.socket();
    let mut asked = start(Layer::UdpIpv4, Direction::Both, FRAMES);
    asked.peer_port = Some(socket.local_addr().unwrap().port());
    let (trial, seen) = receiving(&socket, || {
        let started = bench.client.start(asked).unwrap();
        send(&socket, node_port(&bench, &started), FRAMES);
        assert_eq!(bench.ended(started.trial).state, State::Done);
        started.trial
    });
    assert_eq!(adds_up(&mut bench, trial, FRAMES), 0);
    assert_eq!(bench.counter(trial, "sent_frames"), FRAMES);
    assert_eq!(seen.report.counts.good_frames, FRAMES);
}

#[test]
fn an_echo_does_not_take_a_late_frame_of_another_trial_for_its_flow() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    for wait in [None, Some(Wait::Spin)] {
        let mut asked = start(Layer::UdpIpv4, Direction::Echo, FRAMES);
        asked.wait = wait;
        let started = bench.client.start(asked).unwrap();
        let (to, earlier) = (node_port(&bench, &started), bench.socket());
        earlier.connect(to).unwrap();
        let mut late = offer(10);
        late.stream = 5;
        wirelab_socket::udp::send(&earlier, &late, &FlowProgress::default(), &Cancel::new())
            .unwrap();
        send(&bench.socket(), to, FRAMES);
        assert_eq!(bench.ended(started.trial).state, State::Done, "{wait:?}");
        assert_eq!(bench.counter(started.trial, "good_frames"), FRAMES);
        assert_eq!(bench.counter(started.trial, "foreign_frames"), 10);
    }
}

#[test]
fn udp_frames_come_back_from_an_echo_and_nothing_else_does() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let socket = bench.socket();
    let mut asked = start(Layer::UdpIpv4, Direction::Echo, FRAMES);
    asked.size = None;
    let started = bench.client.start(asked).unwrap();
    let to = node_port(&bench, &started);
    // Noise is not sent back.
    socket.send_to(b"no test frame", to).unwrap();
    let mut mine = expect();
    mine.stream = 3;
    let cancel = Cancel::new();
    let seen = std::thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            wirelab_socket::udp::receive(&socket, None, &mine, &FlowProgress::default(), &cancel)
                .unwrap()
        });
        let over = Over(cancel.flag());
        send(&socket, to, FRAMES);
        assert_eq!(bench.ended(started.trial).state, State::Done);
        std::thread::sleep(std::time::Duration::from_millis(100));
        drop(over);
        receiver.join().unwrap()
    });
    assert_eq!(seen.report.counts.good_frames, FRAMES);
    assert_eq!(seen.report.counts.foreign_frames, 0);
    assert_eq!(bench.counter(started.trial, "sent_frames"), FRAMES);
    assert_eq!(bench.counter(started.trial, "good_frames"), FRAMES);
    // It is from the peer, so it counts as a damaged frame and not as a stranger's.
    assert_eq!(bench.counter(started.trial, "header_corrupt_frames"), 1);
}

fn connect(bench: &Bench, started: &wirelab_control::message::Started) -> TcpStream {
    let to = node_port(bench, started);
    on(&bench.lab, Side::Tester, || TcpStream::connect(to).unwrap())
}

#[test]
fn a_node_receives_tcp_and_compares_every_byte() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let started = bench
        .client
        .start(start(Layer::TcpIpv4, Direction::Receive, FRAMES))
        .unwrap();
    let stream = connect(&bench, &started);
    tcp::send(
        &stream,
        &offer(FRAMES),
        &FlowProgress::default(),
        &Cancel::new(),
    )
    .unwrap();
    assert_eq!(bench.ended(started.trial).state, State::Done);
    assert_eq!(adds_up(&mut bench, started.trial, FRAMES), 0);
}

#[test]
fn a_node_sends_tcp_to_who_connects() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let started = bench
        .client
        .start(start(Layer::TcpIpv4, Direction::Transmit, FRAMES))
        .unwrap();
    let stream = connect(&bench, &started);
    let seen = tcp::receive(&stream, &expect(), &FlowProgress::default(), &Cancel::new()).unwrap();
    assert_eq!(bench.ended(started.trial).state, State::Done);
    assert_eq!(bench.counter(started.trial, "sent_frames"), FRAMES);
    assert_eq!(seen.report.counts.good_frames, FRAMES);
}

#[test]
fn both_directions_of_tcp_have_a_connection_each() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let started = bench
        .client
        .start(start(Layer::TcpIpv4, Direction::Both, FRAMES))
        .unwrap();
    let (to, from) = (connect(&bench, &started), connect(&bench, &started));
    let seen = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            tcp::receive(&from, &expect(), &FlowProgress::default(), &Cancel::new()).unwrap()
        });
        tcp::send(
            &to,
            &offer(FRAMES),
            &FlowProgress::default(),
            &Cancel::new(),
        )
        .unwrap();
        reader.join().unwrap()
    });
    assert_eq!(bench.ended(started.trial).state, State::Done);
    assert_eq!(adds_up(&mut bench, started.trial, FRAMES), 0);
    assert_eq!(bench.counter(started.trial, "sent_frames"), FRAMES);
    assert_eq!(seen.report.counts.good_frames, FRAMES);
}

#[test]
fn a_node_on_an_ipv6_address_offers_ipv6_alone() {
    if common::lab().is_none() {
        return;
    }
    // A namespace of its own, whose loopback interface has ::1.
    let name = format!("wla6-{}", std::process::id());
    let namespace = wirelab_port::netns::NetNs::create(&name).unwrap();
    let ip = |words: &str| {
        std::process::Command::new("ip")
            .args(words.split(' '))
            .status()
            .unwrap()
    };
    assert!(ip(&format!("-n {name} link set lo up")).success());
    let served = namespace.run_in(|| {
        let mut options = wirelab_agent::Options::on("[::1]:5002".parse().unwrap());
        options.iperf = false;
        let node = wirelab_agent::Serving::start(options).unwrap();
        let to = node.started().control;
        let transport = wirelab_control::transport::UdpTransport::connect(to).unwrap();
        let mut client = wirelab_control::Client::open(transport, Default::default()).unwrap();
        assert_eq!(client.identity().layers, [Layer::UdpIpv6, Layer::TcpIpv6]);
        let mut asked = start(Layer::UdpIpv6, Direction::Receive, FRAMES);
        asked.limit_ps = None;
        let trial = client.start(asked).unwrap();
        let socket = std::net::UdpSocket::bind("[::1]:0").unwrap();
        let to = SocketAddr::new(to.ip(), trial.node_port.unwrap());
        send(&socket, to, FRAMES);
        while client.status(None).unwrap().state == State::Running {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        client.counters(trial.trial, 0).unwrap()["good_frames"]
    });
    wirelab_port::netns::NetNs::delete(&name).unwrap();
    assert_eq!(served.unwrap(), FRAMES);
}
