//! Our two ends of iperf3 against the distribution's iperf3, on the loopback interface.

use std::thread;
use std::time::Duration;

use crate::v3_common::real::{RealServer, number, serve_real, there_is_iperf3};
use crate::v3_common::{ask, bytes, tcp, told_bytes, udp};
use serde_json::Value;
use wirelab_iperf::v3::{Parameters, report};

#[test]
fn our_client_and_the_real_server_over_tcp() {
    if !there_is_iperf3() {
        return;
    }
    let server = RealServer::start();
    let forward = server.ask(tcp()).unwrap();
    assert!(bytes(&forward) > 1_000_000);
    assert!(told_bytes(&forward) > 0 && told_bytes(&forward) <= bytes(&forward));
    let amount = Parameters {
        seconds: 0,
        bytes: 3 << 20,
        streams: 3,
        ..tcp()
    };
    let amount = server.ask(amount).unwrap();
    assert_eq!(
        amount.streams.iter().map(|s| s.ends.id).collect::<Vec<_>>(),
        [1, 3, 4]
    );
    assert!(bytes(&amount) >= 3 << 20 && told_bytes(&amount) <= bytes(&amount));
    for streams in [1, 2] {
        let reverse = server
            .ask(Parameters {
                reverse: true,
                streams,
                ..tcp()
            })
            .unwrap();
        assert!(bytes(&reverse) > 1_000_000 && told_bytes(&reverse) >= bytes(&reverse));
    }
}

#[test]
fn our_client_and_the_real_server_over_udp() {
    if !there_is_iperf3() {
        return;
    }
    let server = RealServer::start();
    for (streams, counters_64) in [(1, false), (2, true)] {
        let asked = Parameters {
            streams,
            counters_64,
            ..udp()
        };
        let forward = server.ask(asked.clone()).unwrap();
        let told = forward.peer_results.as_ref().unwrap();
        for stream in &forward.streams {
            let theirs = told.stream(stream.ends.id).unwrap();
            let most = stream.counted.packets;
            // The last datagrams may be under way when the server stops counting.
            assert!(theirs.packets > 0 && theirs.packets <= most, "{theirs:?}");
            // 500 a second, the first at once: more would be a burst.
            let due = stream.end_ns / 2_000_000 + 1;
            assert!(most > 0 && most <= due, "{most}, {due} were due");
        }
        let reverse = server
            .ask(Parameters {
                reverse: true,
                ..asked
            })
            .unwrap();
        for stream in &reverse.streams {
            let seen = stream.counted.received;
            assert_eq!((seen.duplicated, seen.ignored), (0, 0));
            assert!(seen.distinct > 0, "{seen:?}");
            assert_eq!(seen.distinct + seen.lost, seen.peer_packets);
        }
        assert!(told_bytes(&reverse) >= bytes(&reverse));
    }
}

#[test]
fn the_real_client_and_our_server_over_tcp() {
    if !there_is_iperf3() {
        return;
    }
    for options in [
        &["-t", "1"][..],
        &["-n", "3M", "-P", "3"],
        &["-t", "1", "-b", "8M", "-l", "10K"],
    ] {
        let (ours, theirs) = serve_real(options);
        let ours = ours.unwrap();
        assert_eq!(theirs.get("error"), None);
        assert_eq!(
            number(&theirs, "/end/sum_sent/bytes") as u64,
            bytes(&ours),
            "{options:?}"
        );
        assert_eq!(
            number(&theirs, "/end/sum_received/bytes") as u64,
            bytes(&ours)
        );
        assert_eq!(told_bytes(&ours), bytes(&ours));
    }
    let (ours, theirs) = serve_real(&["-t", "1", "-R", "-P", "2"]);
    let ours = ours.unwrap();
    assert_eq!(number(&theirs, "/end/sum_sent/bytes") as u64, bytes(&ours));
    let received = number(&theirs, "/end/sum_received/bytes") as u64;
    assert!(received > 1_000_000 && received <= bytes(&ours));
}

#[test]
fn the_real_client_and_our_server_over_udp() {
    if !there_is_iperf3() {
        return;
    }
    let options = ["-u", "-t", "1", "-l", "500", "-b", "2M"];
    let (ours, theirs) = serve_real(&options);
    let ours = ours.unwrap();
    assert_eq!(
        number(&theirs, "/end/sum_sent/packets") as u64,
        ours.streams[0].counted.received.distinct
    );
    assert_eq!(number(&theirs, "/end/sum/lost_packets"), 0.0);
    assert_eq!(told_bytes(&ours), bytes(&ours));
    let more = [&options[..], &["-P", "3", "--udp-counters-64bit"]].concat();
    let (ours, theirs) = serve_real(&more);
    assert_eq!(
        number(&theirs, "/end/sum_received/bytes") as u64,
        bytes(&ours.unwrap())
    );
    for extra in [&["-R"][..], &["-R", "-P", "2"]] {
        let (ours, theirs) = serve_real(&[&options[..], extra].concat());
        let ours = ours.unwrap();
        assert!(told_bytes(&ours) <= bytes(&ours));
        assert_eq!(number(&theirs, "/end/sum/lost_packets"), 0.0);
        assert!(number(&theirs, "/end/sum/packets") > 0.0);
    }
}

#[test]
fn our_json_has_the_keys_of_the_real_one() {
    if !there_is_iperf3() {
        return;
    }
    // What is of one implementation, of TCP's inner figures or of the system, as the page of `report` says.
    let left_out = |path: &str| {
        [
            "system_info",
            "timestamp/time",
            "tcp_mss_default",
            "sock_bufsize",
            "buf_actual",
            "_cwnd",
            "_wnd",
            "rtt",
            "pmtu",
            "retransmits",
        ]
        .iter()
        .any(|name| path.contains(name))
    };
    for (options, parameters) in [
        (&["-t", "1"][..], tcp()),
        (
            &["-u", "-t", "1", "-R"],
            Parameters {
                reverse: true,
                ..udp()
            },
        ),
        (
            &["-t", "1", "--bidir"],
            Parameters {
                bidirectional: true,
                ..tcp()
            },
        ),
        (
            &["-u", "-t", "1", "--bidir"],
            Parameters {
                bidirectional: true,
                ..udp()
            },
        ),
    ] {
        let (_, real) = serve_real(options);
        let server = RealServer::start();
        let ours = report::to_json(&server.ask(parameters).unwrap());
        let mut paths = Vec::new();
        list_paths(&real, String::new(), &mut paths);
        let missing: Vec<_> = paths
            .iter()
            .filter(|path| !left_out(path) && ours.pointer(path).is_none())
            .collect();
        assert!(
            missing.is_empty() && paths.len() > 60,
            "{missing:#?} in {ours:#}"
        );
    }
}

/// The places of all figures in an object; of a list its first element counts.
fn list_paths(value: &Value, path: String, out: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                list_paths(value, format!("{path}/{key}"), out);
            }
        }
        Value::Array(list) => {
            if let Some(first) = list.first() {
                list_paths(first, format!("{path}/0"), out);
            }
        }
        _ => out.push(path),
    }
}

#[test]
fn what_was_measured_survives_a_peer_that_vanishes() {
    if !there_is_iperf3() {
        return;
    }
    let server = RealServer::start();
    let address = server.address;
    let client = thread::spawn(move || {
        ask(
            address,
            Parameters {
                seconds: 30,
                ..udp()
            },
        )
    });
    thread::sleep(Duration::from_millis(1500));
    drop(server);
    let outcome = client.join().unwrap().unwrap();
    let json = report::to_json(&outcome);
    assert!(
        json["error"]
            .as_str()
            .is_some_and(|error| !error.is_empty())
    );
    assert!(number(&json, "/end/sum_sent/bytes") > 0.0);
    assert!(!outcome.intervals.is_empty() && outcome.peer_results.is_none());
    let refused = ask(address, tcp()).unwrap_err().to_string();
    assert!(
        refused.starts_with(&format!("cannot reach {address}: ")),
        "{refused}"
    );
}
