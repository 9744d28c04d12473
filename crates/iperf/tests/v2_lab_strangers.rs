//! A forged datagram makes our server of iperf 2 send no more than it got: what asks it for traffic back over UDP must be on
//! its link, or be allowed.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use wirelab_iperf::v2::{Amount, ClientHeader, Generation, Head, Mode, Rate, ServerConfig};
use wirelab_port::lab::{EphemeralLab, LabSpec};
use wirelab_socket::access::Access;

mod v2_common;
mod v2_lab_common;
use v2_lab_common::{IPV4, Place, lab, sides_of};

/// An address behind a router, as far as the node can tell: whose it is, nobody proved.
const VICTIM: &str = "203.0.113.9";
const QUIET: Duration = Duration::from_millis(700);

/// A lab whose node reaches the victim's address behind its link; `None` where none can be made.
fn routed(name: &str) -> Option<(EphemeralLab, [Place; 2])> {
    if !wirelab_port::netns::may_test() {
        return None;
    }
    let lab = lab(LabSpec::unique(name, 1));
    let [node, tester] = sides_of(&lab);
    tester.ip(&["address", "add", VICTIM, "dev", "t0"]);
    let via = tester.address(IPV4).to_string();
    node.ip(&["route", "add", VICTIM, "via", &via]);
    Some((lab, [node, tester]))
}

/// A socket that has the victim's address.
fn victim(tester: &Place) -> UdpSocket {
    let bind = || UdpSocket::bind((VICTIM, 0)).unwrap();
    let socket = tester.namespace.run_in(bind).unwrap();
    let wait = Some(Duration::from_millis(5));
    socket.set_read_timeout(wait).unwrap();
    socket
}

/// A datagram of a flow that asks for traffic back to `port`, in the layout of a generation.
fn datagram(kind: Generation, mode: Mode, port: u16, id: i64) -> Vec<u8> {
    let mut out = vec![0; 100];
    let head = Head {
        id,
        seconds: 0,
        microseconds: 0,
    };
    head.emit(&mut out, kind.ids());
    let amount = Amount::Time { centiseconds: 3000 };
    let header = ClientHeader::new(true, port, 100, amount, Rate::PacketsPerS(1000));
    let header = header.with_mode(mode).of_generation(kind);
    header.emit(&mut out[kind.header_at().unwrap()..]).unwrap();
    out
}

/// Bytes that come to any of these sockets until they are quiet, or until far more came than is needed.
fn bytes_that_come(sockets: &[&UdpSocket]) -> usize {
    let (mut bytes, mut heard, mut buf) = (0, Instant::now(), [0; 2000]);
    while heard.elapsed() < QUIET && bytes < 100_000 {
        for socket in sockets {
            if let Ok(len) = socket.recv(&mut buf) {
                (bytes, heard) = (bytes + len, Instant::now());
            }
        }
    }
    bytes
}

/// What a victim gets where somebody sends the start and the end of a flow in its name, and how much was sent.
fn forge(tester: &Place, server: SocketAddr, kind: Generation, mode: Mode) -> (usize, usize) {
    let [asks, back] = [0; 2].map(|_| victim(tester));
    let port = back.local_addr().unwrap().port();
    let mut sent = 0;
    for id in [kind.first_id(), -2, -2, -2] {
        sent += asks
            .send_to(&datagram(kind, mode, port, id), server)
            .unwrap();
    }
    (sent, bytes_that_come(&[&asks, &back]))
}

#[test]
fn a_forged_start_of_any_generation_gets_no_more_than_it_sent() {
    let Some((_lab, [node, tester])) = routed("wls") else {
        return;
    };
    let kinds = [Generation::V205, Generation::V2010, Generation::Wide];
    let cases = kinds.into_iter().flat_map(|kind| {
        let modes = [Mode::Dual, Mode::Tradeoff, Mode::Reverse, Mode::FullDuplex];
        let of_kind = if kind == Generation::Wide { 4 } else { 2 };
        modes
            .into_iter()
            .take(of_kind)
            .map(move |mode| (kind, mode))
    });
    for (kind, mode) in cases {
        let ours = node.serve(IPV4, ServerConfig::default());
        let (sent, came) = forge(&tester, ours.server.udp_address(), kind, mode);
        assert!(came <= sent, "{kind:?} {mode:?}: {came} bytes for {sent}");
        let why = ours.refusal();
        assert!(why.contains("--allow-reverse"), "{kind:?} {mode:?}: {why}");
    }
    // Who is allowed gets what it asks for.
    let allowed = ServerConfig {
        access: Arc::new(Access::on_link(vec!["203.0.113.0/24".parse().unwrap()])),
        ..ServerConfig::default()
    };
    let ours = node.serve(IPV4, allowed);
    let (sent, came) = forge(
        &tester,
        ours.server.udp_address(),
        Generation::Wide,
        Mode::Reverse,
    );
    assert!(came > 10 * sent, "{came} bytes for {sent}");
}

#[test]
fn forged_ends_of_short_flows_are_answered_with_no_more_than_came() {
    let Some((_lab, [node, tester])) = routed("wlt") else {
        return;
    };
    let ours = node.serve(IPV4, ServerConfig::default());
    let socket = victim(&tester);
    // Heads alone: 12 bytes each, and an answer has 128.
    let mut sent = 0;
    for id in [1i32].into_iter().chain([-2; 30]) {
        let mut head = [0; 12];
        head[..4].copy_from_slice(&id.to_be_bytes());
        sent += socket.send_to(&head, ours.server.udp_address()).unwrap();
    }
    let came = bytes_that_come(&[&socket]);
    assert!(came > 0 && came <= sent, "{came} bytes for {sent}");
}
