//! A forged datagram makes our server of iperf 2 send no more than it got: what asks it for traffic back over UDP must be on
//! its link, or be allowed.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use wirelab_iperf::v2::{Generation, Mode, ServerConfig};
use wirelab_port::lab::{EphemeralLab, LabSpec};
use wirelab_socket::access::Access;

use crate::forged::{bytes_that_come, datagram};
use crate::v2_lab_common::{IPV4, LabSide, lab, sides_of};

/// An address behind a router, as far as the node knows: its owner is not proven.
const VICTIM: &str = "203.0.113.9";
/// Datagrams a second that are requested back, and bytes that are far more than a server may send.
const PACKETS_PER_S: u64 = 1000;
const ENOUGH: usize = 100_000;

/// A lab whose node reaches the victim's address behind its link; `None` where none can be made.
fn routed(name: &str) -> Option<(EphemeralLab, [LabSide; 2])> {
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
fn victim(tester: &LabSide) -> UdpSocket {
    let bind = || UdpSocket::bind((VICTIM, 0)).unwrap();
    tester.namespace.run_in(bind).unwrap()
}

/// What a victim gets where a stranger sends the start and the end of a flow in its name, and how much was sent.
fn forge(tester: &LabSide, server: SocketAddr, kind: Generation, mode: Mode) -> (usize, usize) {
    let [asks, back] = [0; 2].map(|_| victim(tester));
    let port = back.local_addr().unwrap().port();
    let mut sent = 0;
    for id in [kind.first_id(), -2, -2, -2] {
        sent += asks
            .send_to(&datagram(kind, mode, port, PACKETS_PER_S, id), server)
            .unwrap();
    }
    (sent, bytes_that_come(&[&asks, &back], ENOUGH))
}

#[test]
fn a_forged_start_of_any_generation_gets_no_more_than_it_sent() {
    let Some((_lab, [node, tester])) = routed("wls") else {
        return;
    };
    let kinds = [
        Generation::V205,
        Generation::V2010,
        Generation::V2013,
        Generation::Wide,
    ];
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
    let came = bytes_that_come(&[&socket], ENOUGH);
    assert!(came > 0 && came <= sent, "{came} bytes for {sent}");
}
