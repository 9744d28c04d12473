//! Losses, duplicates and reordering by the impairer between two hosts: our count is its ledger, the report to the
//! peer keeps iperf's arithmetic, with any peer.
//!
//! ```text
//! client t0 ── n0 <─ impairer ─> n0 ── t0 server      (two labs)
//! ```

use std::collections::HashSet;
use std::time::Duration;

use wirelab_impair::{Action, DirectionReport, DirectionSpec, FramesHit, ImpairSpec, Impairer};
use wirelab_iperf::v2::enhanced::EnhancedColumns;
use wirelab_iperf::v2::{
    Amount, ClientConfig, Leg, Protocol, Rate, ServerConfig, ServerReport, UdpReceived,
};
use wirelab_port::lab::{EphemeralLab, Lab, LabSpec, Side};

use crate::v2_common::{Ours, lost_and_total};
use crate::v2_lab_common::{LabSide, can_run, sides_of};

const IPV4_ETHERTYPE: u16 = 0x0800;
/// The server's address; the client has that of its lab.
const SERVER: &str = "198.18.0.3";

/// Two hosts with an impairer between them.
struct Hosts {
    near: EphemeralLab,
    far: EphemeralLab,
}

impl Hosts {
    fn new() -> Option<Hosts> {
        if !can_run() {
            return None;
        }
        let [near, far] =
            ["wlc", "wls"].map(|name| EphemeralLab::up(&LabSpec::unique(name, 1)).unwrap());
        let hosts = Hosts { near, far };
        let server = hosts.server();
        server.ip(&["address", "flush", "dev", "t0"]);
        server.ip(&["address", "add", &format!("{SERVER}/24"), "dev", "t0"]);
        // Only the two hosts answer.
        for lab in [&hosts.near, &hosts.far] {
            let [node, _] = sides_of(lab);
            node.ip(&["address", "flush", "dev", "n0"]);
        }
        Some(hosts)
    }

    fn client(&self) -> LabSide {
        let [_, tester] = sides_of(&self.near);
        tester
    }

    fn server(&self) -> LabSide {
        let [_, tester] = sides_of(&self.far);
        tester
    }

    /// A client runs against our server, whose flow is returned with the impairer's ledger.
    fn run(
        &self,
        forward: DirectionSpec,
        client: impl FnOnce(&LabSide, &Ours),
    ) -> (UdpReceived, DirectionReport) {
        match self.run_any(forward, client) {
            (Leg::UdpReceived(udp), forward) => (*udp, forward),
            (other, _) => panic!("{other}"),
        }
    }

    /// The same of either protocol.
    fn run_any(
        &self,
        forward: DirectionSpec,
        client: impl FnOnce(&LabSide, &Ours),
    ) -> (Leg, DirectionReport) {
        let mut spec = ImpairSpec::new(4).only_ethertype(IPV4_ETHERTYPE).record();
        spec.forward = forward;
        let port = |lab: &Lab| lab.port(0, Side::Node).unwrap();
        let handle = Impairer::start(&port(&self.near), &port(&self.far), spec).unwrap();
        let place = self.server();
        let ours = place
            .namespace
            .run_in(|| Ours::start(SERVER, ServerConfig::default()))
            .unwrap();
        client(&self.client(), &ours);
        let (mut legs, _) = ours.legs(1);
        let report = handle.stop();
        assert!(report.is_complete(), "{report:?}");
        (legs.remove(0).0, report.forward)
    }
}

/// What arrives by the ledger: the numbers of the datagrams in their order. Frame 0 has number 1.
fn arrivals(ledger: &DirectionReport, datagrams: u64) -> Vec<u64> {
    let (mut out, mut held) = (Vec::new(), None);
    for frame in 0..datagrams {
        let done = |action| {
            ledger
                .events
                .iter()
                .any(|event| event.frame == frame && event.action == action)
        };
        if done(Action::Dropped) {
            continue;
        }
        let copies = if done(Action::Duplicated) { 2 } else { 1 };
        let these = vec![frame + 1; copies];
        if done(Action::Swapped) {
            held = Some(these);
        } else {
            out.extend(these);
            out.extend(held.take().unwrap_or_default());
        }
    }
    out
}

/// Lost, duplicated and reordered (RFC 4737: after a higher number) among numbers that arrived in this order.
fn judge(arrivals: &[u64]) -> (u64, u64, u64) {
    let (mut seen, mut highest) = (HashSet::new(), 0);
    let (mut duplicated, mut reordered) = (0, 0);
    for number in arrivals {
        if !seen.insert(*number) {
            duplicated += 1;
        } else if *number < highest {
            reordered += 1;
        }
        highest = highest.max(*number);
    }
    (highest - seen.len() as u64, duplicated, reordered)
}

/// What iperf makes of it: a number below the expected one is out of order and takes one from the losses; the
/// final datagram has the number after the last.
fn iperfs(arrivals: &[u64], last: u64) -> (u64, u64) {
    let (mut expected, mut lost, mut out_of_order) = (1, 0u64, 0);
    for number in arrivals.iter().copied().chain([last + 1]) {
        if number < expected {
            out_of_order += 1;
        } else {
            lost += number - expected;
            expected = number + 1;
        }
    }
    (lost.saturating_sub(out_of_order), out_of_order)
}

fn check(udp: &UdpReceived, ledger: &DirectionReport, datagrams: u64) -> Vec<u64> {
    let arrivals = arrivals(ledger, datagrams);
    let got = udp.received;
    assert_eq!(
        (got.lost, got.duplicated, got.reordered),
        judge(&arrivals),
        "{udp:?}"
    );
    assert_eq!(got.datagrams, arrivals.len() as u64);
    assert_eq!((got.sent(), udp.unattributed), (datagrams, 0));
    assert!(udp.finished);
    arrivals
}

/// Every kind of trouble, on frames apart from each other; the last datagram and the final ones arrive.
fn listed() -> DirectionSpec {
    DirectionSpec {
        drop: FramesHit::Frames(vec![9, 19, 20, 33]),
        duplicate: FramesHit::Frames(vec![4, 14, 15, 40, 41, 55]),
        swap: FramesHit::Frames(vec![25, 47]),
        ..DirectionSpec::default()
    }
}

fn our_config(server: &Ours, datagrams: u64) -> ClientConfig {
    ClientConfig {
        amount: Amount::Bytes(500 * datagrams),
        rate: Rate::PacketsPerS(400),
        length_bytes: Some(500),
        ..ClientConfig::new(server.server.udp_address(), Protocol::Udp)
    }
}

fn report_of(place: &LabSide, config: &ClientConfig) -> ServerReport {
    let outcome = place.ask(config);
    assert!(outcome.trouble.is_none(), "{outcome:?}");
    match &outcome.legs[..] {
        [(_, Leg::UdpSent(sent))] => sent.report.expect("a report"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn our_client_loses_doubles_and_swaps_as_the_ledger_says() {
    let Some(hosts) = Hosts::new() else {
        return;
    };
    let mut report = None;
    let (udp, ledger) = hosts.run(listed(), |place, ours| {
        report = Some(report_of(place, &our_config(ours, 60)));
    });
    // By hand: 4 lost, 6 doubled, 2 swapped; no duplicate hides a loss.
    assert_eq!((ledger.dropped_frames, ledger.duplicated_frames), (4, 6));
    assert_eq!(ledger.swapped_frames, 2);
    let got = udp.received;
    assert_eq!((got.lost, got.duplicated, got.reordered), (4, 6, 2));
    let arrivals = check(&udp, &ledger, 60);
    let report = report.unwrap();
    assert_eq!(
        (report.lost, report.out_of_order),
        (0, 8),
        "iperf's arithmetic"
    );
    assert_eq!((report.lost, report.out_of_order), iperfs(&arrivals, 60));
    assert_eq!(report.datagrams, 61);
}

#[test]
fn a_real_client_loses_doubles_and_swaps_as_the_ledger_says() {
    let Some(hosts) = Hosts::new() else {
        return;
    };
    let mut text = String::new();
    let (udp, ledger) = hosts.run(listed(), |place, ours| {
        let server = ours.server.udp_address();
        let told = place.real_client(server, "-u -n 30000 -l 500 -b 400pps");
        text = told.expect("iperf does not crash");
    });
    let arrivals = check(&udp, &ledger, 60);
    assert_eq!(udp.received.lost, 4);
    let (lost, _) = iperfs(&arrivals, 60);
    assert_eq!(lost_and_total(&text), (lost, 61), "{text}");
    assert!(text.contains("8 datagrams received out-of-order"), "{text}");
}

/// A counter of TCP of the namespace of `place`, by its name there.
fn tcp_counter(place: &LabSide, name: &str) -> u64 {
    let read = || std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let text = place.namespace.run_in(read).unwrap();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let at = names.split(' ').position(|known| known == name).unwrap();
    values.split(' ').nth(at).unwrap().parse().unwrap()
}

#[test]
fn retransmissions_are_those_of_the_system() {
    let Some(hosts) = Hosts::new() else {
        return;
    };
    let forward = DirectionSpec {
        drop: FramesHit::Frames(vec![20, 40, 41, 90]),
        ..DirectionSpec::default()
    };
    let mut told = None;
    let (_, ledger) = hosts.run_any(forward, |place, ours| {
        let config = ClientConfig {
            amount: Amount::Bytes(400_000),
            rate: Rate::BitsPerS(4_000_000),
            length_bytes: Some(4000),
            interval: Duration::from_millis(100),
            ..ClientConfig::new(ours.server.tcp_address(), Protocol::Tcp)
        };
        let outcome = place.ask(&config);
        assert!(outcome.trouble.is_none(), "{outcome:?}");
        let [(_, Leg::TcpSent { retransmits, .. })] = outcome.legs[..] else {
            panic!("{outcome:?}");
        };
        let of_rows = outcome.rows.iter().map(|row| match row.more {
            Some(EnhancedColumns::Writes { retransmits, .. }) => retransmits.unwrap(),
            other => panic!("{other:?}"),
        });
        let system = tcp_counter(place, "RetransSegs");
        told = Some((retransmits.unwrap(), of_rows.sum::<u64>(), system));
    });
    let (whole, rows, system) = told.unwrap();
    assert_eq!(whole, system, "what the namespace counted");
    assert!(whole >= ledger.dropped_frames, "{whole} {ledger:?}");
    assert_eq!(ledger.dropped_frames, 4);
    assert!((1..=whole).contains(&rows), "{rows} of {whole}");
}

#[test]
fn chance_is_counted_as_the_ledger_says() {
    let Some(hosts) = Hosts::new() else {
        return;
    };
    // The final datagrams may be met as well, so that only what came before the highest number is compared.
    let forward = DirectionSpec {
        drop: FramesHit::Probability(0.08),
        duplicate: FramesHit::Probability(0.1),
        swap: FramesHit::Probability(0.08),
        ..DirectionSpec::default()
    };
    let (udp, ledger) = hosts.run(forward, |place, ours| {
        report_of(place, &our_config(ours, 300));
    });
    let arrivals = arrivals(&ledger, 300);
    let got = udp.received;
    assert_eq!(
        (got.lost, got.duplicated, got.reordered),
        judge(&arrivals),
        "{udp:?}"
    );
    assert!(
        got.lost > 5 && got.duplicated > 5 && got.reordered > 5,
        "{got:?}"
    );
    let highest = arrivals.iter().max().unwrap();
    assert_eq!(udp.unattributed, 300 - highest);
}
