//! `wirelab iperf` as a user calls it: server and client as processes, against each other and against the
//! distribution's iperf 2 and iperf3 in both roles.

use std::net::UdpSocket;

use serde_json::Value;

use crate::iperf_common;

use crate::common::{stderr, stdout, wirelab};
use crate::iperf_common::{
    Ours, Real, has, interrupt, real_client, shape, start, test, until_rows,
};

fn json(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stdout(output)))
}

/// Lost and total of the last line with datagrams, as a script reads it.
fn lost_and_total(text: &str) -> (u64, u64) {
    let line = text
        .lines()
        .rfind(|line| line.contains(" ms "))
        .expect(text);
    let counts = line.split(" ms ").nth(1).unwrap().trim();
    let counts = counts.split(' ').next().unwrap();
    let (lost, total) = counts.split_once('/').unwrap();
    (lost.parse().unwrap(), total.parse().unwrap())
}

/// The lines of iperf's table, as a script reads it.
fn table_lines(text: &str) -> Vec<&str> {
    let is_line = |line: &&str| line.starts_with('[') && line.contains(" sec ");
    text.lines().filter(is_line).collect()
}

#[test]
fn both_directions_one_after_the_other_with_the_familiar_flags() {
    let server = Ours::start(&["-i", "0.5"]);
    let output = test(&server.udp, "-u -l 64 -b 256k -r -t 1 -i 0.5");
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert!(
        text.contains("Sending 64 byte datagrams, IPG target: 2000.00 us"),
        "{text}"
    );
    assert_eq!(
        text.matches("[ ID] Interval       Transfer     Bandwidth\n")
            .count(),
        1,
        "{text}"
    );
    assert!(text.contains("[  1] Server Report:"), "{text}");
    // Each direction: an interval at least and the total; and the server's report.
    assert!(table_lines(&text).len() >= 6, "{text}");
    let (lost, total) = lost_and_total(&text);
    assert!(lost == 0 && (1..=501).contains(&total), "{text}");
    let errors = stderr(&output);
    assert!(
        errors.contains("gaps between datagrams: median"),
        "{errors}"
    );
    server.until("[  1] 0.0000-0.5000 sec");
    server.until("[ *2] Server Report:");
    server.interrupt();
    assert_eq!(server.end().1, 0);
}

#[test]
fn our_client_against_the_real_iperf() {
    if !has("iperf") {
        return;
    }
    let real = Real::start("iperf", "");
    let output = test(&real.port, "-n 1M -i 1");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        table_lines(&stdout(&output))
            .last()
            .unwrap()
            .contains("1.00 MBytes")
    );
    for (mode, legs) in [
        ("", 1),
        ("-d", 2),
        ("-r", 2),
        ("-R", 1),
        ("--full-duplex", 2),
        ("-P 3", 3),
    ] {
        // A server that has been through one mode is not always there for the next.
        let real = Real::start("iperf", "");
        let value = json(&test(&real.port, &format!("-n 300K -b 50m --json {mode}")));
        assert_eq!(value["error"], Value::Null, "{mode}: {value:#}");
        assert_eq!(
            value["legs"].as_array().unwrap().len(),
            legs,
            "{mode}: {value:#}"
        );
    }
    let real = Real::start("iperf", "-u");
    let output = test(&real.port, "-u -l 200 -b 1000pps -t 1 --json");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let leg = &json(&output)["legs"][0];
    assert_eq!(leg["server_report"]["lost"], 0, "{leg:#}");
    assert!(leg["datagrams"].as_u64().unwrap() <= 1001);
    let text = stdout(&test(&real.port, "-u -l 200 -b 800k -t 1 -e"));
    assert!(text.contains("Write/Err  PPS"), "{text}");
}

#[test]
fn the_real_iperf_against_our_server() {
    if !has("iperf") {
        return;
    }
    let server = Ours::start(&["-1", "--json"]);
    let theirs = real_client("iperf", &server.udp, "-u -l 200 -b 800k -t 1");
    let (lines, status) = server.end();
    assert_eq!((lines.len(), status), (1, 0), "{lines:?}");
    let ours: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(ours["leg"]["lost"], lost_and_total(&theirs).0);
    // iperf counts the final datagram.
    let distinct = ours["leg"]["distinct"].as_u64().unwrap();
    assert_eq!(lost_and_total(&theirs).1, distinct + 1, "{theirs}");

    let server = Ours::start(&["-1"]);
    let theirs = real_client("iperf", &server.tcp, "-n 1M");
    let (lines, status) = server.end();
    assert_eq!(status, 0);
    let total = table_lines(&theirs).last().unwrap().to_owned();
    assert!(total.contains("1.00 MBytes"), "{total}");
    assert!(lines.last().unwrap().contains("1.00 MBytes"), "{lines:?}");
}

#[test]
fn our_client_against_the_real_iperf3() {
    if !has("iperf3") {
        return;
    }
    for options in [
        // At a rate: without one the server may be stopped before it has read anything.
        "-n 1M -b 20M",
        "-n 1M -R",
        "-t 1 -b 8M -P 2 --bidir",
        "-u -t 1 -l 500 -b 1M",
        "-u -t 1 -l 500 -b 1M -R",
    ] {
        let real = Real::start("iperf3", "");
        let output = test(&real.port, &format!("-3 -J {options}"));
        assert_eq!(
            output.status.code(),
            Some(0),
            "{options}: {}",
            stderr(&output)
        );
        let value = json(&output);
        assert_eq!(value.get("error"), None, "{options}: {value:#}");
        assert!(
            value["end"]["sum_received"]["bytes"].as_u64().unwrap() > 0,
            "{options}"
        );
    }
    let real = Real::start("iperf3", "");
    let text = stdout(&test(&real.port, "-3 -u -t 1 -l 500 -b 1M -i 0.5"));
    assert!(text.ends_with("\niperf Done.\n"), "{text}");
    assert!(text.contains("Total Datagrams"), "{text}");
    assert_eq!(
        table_lines(&text)
            .iter()
            .filter(|l| l.ends_with("receiver"))
            .count(),
        1,
        "{text}"
    );
    assert_eq!(lost_and_total(&text).0, 0, "{text}");
}

#[test]
fn the_real_iperf3_against_our_server() {
    if !has("iperf3") {
        return;
    }
    let server = Ours::start(&["-3"]);
    for options in [
        "-n 1M",
        "-n 1M -R",
        "-u -t 1 -l 500 -b 1M --bidir -P 2",
        "-t 1 -O 1 -b 8M",
    ] {
        let theirs = real_client("iperf3", &server.tcp, &format!("-J {options}"));
        let theirs: Value = serde_json::from_str(&theirs).unwrap();
        assert_eq!(theirs.get("error"), None, "{options}: {theirs:#}");
        assert!(theirs["end"]["sum_received"]["bytes"].as_u64().unwrap() > 0);
        server.until("Server listening on");
    }
    server.interrupt();
    assert_eq!(server.end().1, 0);
    let server = Ours::start(&["-3", "-1"]);
    real_client("iperf3", &server.tcp, "-n 100K");
    let (lines, status) = server.end();
    assert_eq!(status, 0);
    assert!(
        lines.iter().any(|line| line.ends_with("receiver")),
        "{lines:?}"
    );
}

#[test]
fn the_shape_of_json() {
    let server = Ours::start(&[]);
    // On a busy machine an interval, a time or a report may be missing, and its members with it.
    let udp = (0..5)
        .map(|_| {
            json(&test(
                &server.udp,
                "-u -l 200 -b 800k -t 1 -i 0.5 -d --json",
            ))
        })
        .find(|udp| {
            let text = udp.to_string();
            let missing = [
                "\"one_way\":null",
                "\"server_report\":null",
                "\"intervals\":[]",
            ];
            !missing.iter().any(|part| text.contains(part))
        })
        .expect("a test with all that can be known");
    insta::assert_snapshot!("json_of_iperf_2_udp", shape(&udp));
    let tcp = json(&test(&server.tcp, "-n 1M -d --json"));
    insta::assert_snapshot!("json_of_iperf_2_tcp", shape(&tcp));
    let server = Ours::start(&["-3"]);
    let udp = json(&test(&server.tcp, "-3 -u -l 200 -b 800k -t 1 -J --bidir"));
    insta::assert_snapshot!("json_of_iperf3_udp", shape(&udp));
    server.until("(test #2)");
    let tcp = json(&test(&server.tcp, "-3 -n 1M -b 8M -J"));
    insta::assert_snapshot!("json_of_iperf3_tcp", shape(&tcp));
}

#[test]
fn bad_usage_is_status_2_and_names_the_fix() {
    let cases: [(&str, &str); 26] = [
        ("", "--server"),
        ("-s -c localhost", "cannot be used with"),
        ("-c localhost -b fast", "write a number with k, m, g"),
        (
            "-c localhost -l 70000 -u",
            "--len: invalid value 70000; fix: give 1 to 65507 bytes",
        ),
        ("-c localhost -t 0", "fix: give 0.01 to"),
        ("-c localhost -n 0", "give a number of bytes"),
        ("-c localhost -r -d", "cannot be used with"),
        ("-c localhost -f x", "write a, k, m or g for bits"),
        ("-c localhost -i 1e9", "--interval: invalid value"),
        ("-c localhost -B somewhere", "write an address such as"),
        ("-c localhost -4 -B ::1", "leave -4 out"),
        ("-c ::1 -4 -t 1", "leave -4 out"),
        ("-s -B 127.0.0.1:5002", "the port of a server is that of -p"),
        ("-c localhost -S fast", "write a name such as EF"),
        ("-c localhost --dscp 64", "a number from 0 to 63"),
        ("-c localhost -Z", "name an algorithm"),
        ("-c localhost -C cubic", "write -Z"),
        ("-3 -c localhost -C", "name an algorithm"),
        ("-c localhost --get-server-output", "--iperf3"),
        ("-c localhost -D", "cannot be used with"),
        ("-c no.such.name.invalid -t 1", "give an address"),
        ("-3 -c localhost -d", "write --bidir"),
        ("-3 -c localhost -b 10pps", "powers of 1000"),
        ("-3 -c localhost -R --bidir", "cannot be used with"),
        ("-3 -c localhost -t 0.5", "whole seconds"),
        ("-c localhost --bidir", "--iperf3"),
    ];
    for (args, text) in cases {
        let args: Vec<&str> = ["iperf"]
            .into_iter()
            .chain(args.split_whitespace())
            .collect();
        let output = wirelab(&args);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert!(errors.contains(text), "{args:?}: {errors}");
    }
}

#[test]
fn an_address_or_a_port_that_is_not_available_is_status_2() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for more in [&[][..], &["-3"]] {
        let args = [&["iperf", "-s", "-B", "127.0.0.1", "-p", &port], more].concat();
        let output = wirelab(&args);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        let start = format!("wirelab: cannot listen on 127.0.0.1:{port}: Address already in use");
        assert!(
            errors.starts_with(&start) && errors.contains("a port that is free"),
            "{errors}"
        );
        let output = wirelab(&[&["iperf", "-s", "-B", "203.0.113.7"], more].concat());
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(
            errors.contains("; fix: give an address of this host"),
            "{errors}"
        );
    }
}

#[test]
fn where_nothing_listens_that_is_said() {
    let port = iperf_common::free_port().to_string();
    for (args, text) in [
        ("-t 1", "start an iperf 2 server there"),
        ("-u -t 1", "start an iperf 2 server there"),
        ("-3 -t 1", "start an iperf3 server there"),
    ] {
        let output = test(&port, args);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        let start = format!("wirelab: cannot reach 127.0.0.1:{port}: Connection refused");
        assert!(errors.contains(&start) && errors.contains(text), "{errors}");
    }
    // A server of the other kind.
    let server = Ours::start(&[]);
    let output = test(&server.tcp, "-3 -t 1");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
}

#[test]
fn a_server_that_only_receives_sends_nothing_back() {
    let server = Ours::start(&["--receive-only"]);
    for (port, options, text) in [
        (
            &server.tcp,
            "-R",
            "let the server send (without --receive-only)",
        ),
        (&server.udp, "-u -R", "fix: start iperf 2.1 or later there"),
        (&server.udp, "-u -r", "fix: open the port, or use -R"),
    ] {
        let output = test(port, &format!("{options} -t 0.2"));
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{options}: {errors}");
        assert!(errors.contains(text), "{options}: {errors}");
    }
    let output = test(&server.tcp, "-t 0.2");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_report_that_never_comes() {
    let deaf = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = deaf.local_addr().unwrap().port().to_string();
    let output = test(&port, "-u -t 0.2 -b 1000pps");
    assert_eq!(output.status.code(), Some(1));
    let errors = stderr(&output);
    assert!(errors.contains("no report came after 10 tries"), "{errors}");
    assert!(stdout(&output).contains("datagrams"), "{}", stdout(&output));
    // Of a server of the 12-byte kind none is expected.
    assert_eq!(
        test(&port, "-u -C -t 0.2 -b 1000pps").status.code(),
        Some(0)
    );
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    for (kind, options) in [
        (&[][..], "-u -b 500pps -t 60 -i 0.5"),
        (&["-3"], "-3 -u -b 1M -t 60 -i 0.5"),
    ] {
        let server = Ours::start(kind);
        let mut client = start(&server.udp, options);
        let begun = until_rows(&mut client, 1);
        interrupt(&client);
        let output = client.wait_with_output().unwrap();
        let (text, errors) = (begun + &stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(1), "{text}{errors}");
        assert!(
            errors.contains("interrupted: the figures are those until then"),
            "{errors}"
        );
        assert!(table_lines(&text).len() >= 2, "{text}");
        assert_eq!(lost_and_total(&text).0, 0, "{text}");
    }
}

#[test]
fn a_server_killed_in_a_test_keeps_what_was_measured() {
    for (kind, options) in [
        (&[][..], "-b 8m -t 60 -i 0.5"),
        (&["-3"], "-3 -b 8M -t 60 -i 0.5"),
    ] {
        let mut server = Ours::start(kind);
        let mut client = start(&server.tcp, options);
        let begun = until_rows(&mut client, 2);
        server.kill();
        let output = client.wait_with_output().unwrap();
        let (text, errors) = (begun + &stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(1), "{text}{errors}");
        assert!(
            errors.contains("the figures are those until then"),
            "{errors}"
        );
        assert!(!table_lines(&text).is_empty(), "{text}");
    }
}
