//! Tests in both directions at once, with many streams, and with a start that does not count: our two ends against
//! the distribution's iperf3.

use crate::v3_common::real::{RealServer, number, serve_real, there_is_iperf3};
use crate::v3_common::{sent_bytes, tcp, udp};
use wirelab_iperf::v3::{Parameters, TestOutcome};

/// Bytes that our end received.
fn received_bytes(outcome: &TestOutcome) -> u64 {
    outcome.streams.iter().map(|s| s.counted.bytes).sum::<u64>() - sent_bytes(outcome)
}

/// What the peer reported about the streams on which wirelab's end sends, or does not.
fn told(outcome: &TestOutcome, sender: bool) -> u64 {
    assert_eq!(outcome.failure, None);
    let told = outcome.peer_results.as_ref().expect("the peer's results");
    let streams = outcome.streams.iter().filter(|s| s.ends.sender == sender);
    streams
        .map(|s| told.stream(s.ends.id).expect("each stream").bytes)
        .sum()
}

#[test]
fn our_client_in_both_directions() {
    if !there_is_iperf3() {
        return;
    }
    let server = RealServer::start();
    for (asked, streams) in [(tcp(), 1), (tcp(), 3), (udp(), 1), (udp(), 2)] {
        let asked = Parameters {
            bidirectional: true,
            streams,
            ..asked
        };
        let outcome = server.ask(asked).unwrap();
        let senders: Vec<bool> = outcome.streams.iter().map(|s| s.ends.sender).collect();
        let half = streams as usize;
        assert_eq!(senders, [vec![true; half], vec![false; half]].concat());
        let (sent, received) = (sent_bytes(&outcome), received_bytes(&outcome));
        assert!(sent > 0 && told(&outcome, true) <= sent && told(&outcome, true) > 0);
        assert!(received > 0 && received <= told(&outcome, false));
    }
}

#[test]
fn the_real_client_in_both_directions() {
    if !there_is_iperf3() {
        return;
    }
    let udp = ["-u", "-l", "500", "-b", "2M"];
    for (kind, streams) in [(&[][..], "1"), (&[], "2"), (&udp, "1"), (&udp, "3")] {
        let options = [kind, &["-t", "1", "--bidir", "-P", streams]].concat();
        let (ours, theirs) = serve_real(&options);
        let ours = ours.unwrap();
        assert_eq!(theirs.get("error"), None, "{options:?}");
        let (sent, received) = (sent_bytes(&ours), received_bytes(&ours));
        let figure = |path| number(&theirs, path) as u64;
        assert!(received > 0 && received <= figure("/end/sum_sent/bytes"));
        assert_eq!(figure("/end/sum_received/bytes"), received, "{options:?}");
        assert!(figure("/end/sum_received_bidir_reverse/bytes") <= sent);
        assert_eq!(figure("/end/sum_sent_bidir_reverse/bytes"), sent);
        if kind.is_empty() {
            continue;
        }
        for path in [
            "/end/sum/lost_packets",
            "/end/sum_bidir_reverse/lost_packets",
        ] {
            assert_eq!(number(&theirs, path), 0.0, "{options:?}");
        }
    }
}

#[test]
fn an_omitted_start_does_not_count() {
    if !there_is_iperf3() {
        return;
    }
    let server = RealServer::start();
    for reverse in [false, true] {
        let asked = Parameters {
            omit_seconds: 1,
            reverse,
            ..udp()
        };
        let outcome = server.ask(asked).unwrap();
        let (counted, omitted) = (outcome.streams[0].counted, outcome.streams[0].omitted);
        // 500 a second for two seconds, each datagram in one of the two, however late a busy host lets it go.
        let all = counted.packets + omitted.packets;
        assert!(all <= 1060, "{counted:?} {omitted:?}");
        assert!(counted.packets > 0 && omitted.packets > 0);
        assert!(outcome.intervals.iter().any(|i| i.omitted));
        assert!(outcome.elapsed_ns >= 1_000_000_000);
    }
    let (ours, theirs) = serve_real(&["-u", "-l", "500", "-b", "2M", "-t", "1", "-O", "1"]);
    let ours = ours.unwrap().streams[0].clone();
    let omitted = ours.omitted.packets;
    assert!(
        omitted > 0 && omitted + ours.counted.packets <= 1060,
        "{ours:?}"
    );
    assert_eq!(number(&theirs, "/end/sum/lost_packets"), 0.0);
    let sent = number(&theirs, "/end/sum_sent/packets") as u64;
    assert!(sent > 0 && sent + omitted <= 1060, "{sent} {omitted}");
    let (ours, theirs) = serve_real(&["-t", "1", "-O", "1", "-R"]);
    assert_eq!(ours.unwrap().failure, None);
    assert!(number(&theirs, "/end/sum_received/bytes") > 0.0);
}

#[test]
fn amounts_and_windows() {
    if !there_is_iperf3() {
        return;
    }
    let server = RealServer::start();
    let window = 64 << 10;
    let blocks = Parameters {
        seconds: 0,
        blocks: 100,
        window_bytes: window,
        ..udp()
    };
    let outcome = server.ask(blocks).unwrap();
    assert_eq!(outcome.streams[0].counted.packets, 100);
    let amount = Parameters {
        seconds: 0,
        bytes: 4 << 20,
        reverse: true,
        window_bytes: window,
        ..tcp()
    };
    let outcome = server.ask(amount).unwrap();
    assert!(outcome.streams[0].counted.bytes >= 4 << 20);
    for options in [
        &["-n", "2M", "-w", "64K"][..],
        &["-k", "20", "-R"],
        &["-u", "-k", "50", "-l", "200"],
    ] {
        let (ours, theirs) = serve_real(options);
        assert_eq!(theirs.get("error"), None, "{options:?}");
        assert_eq!(ours.unwrap().failure, None, "{options:?}");
    }
}
