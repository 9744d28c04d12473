//! The lines of `wirelab iperf`'s table about the beginning, the end and unknown values.

use std::net::UdpSocket;

use serde_json::Value;

use crate::common::{stderr, stdout};
use crate::iperf_common::{Ours, test};

/// Start and end of the lines of an id, as they stand there.
fn spans(text: &str, id: &str) -> Vec<(String, String)> {
    let of = |line: &str| {
        let span = line.strip_prefix(id)?.trim().split(" sec ").next()?;
        let (start, end) = span.split_once('-')?;
        start.parse::<f64>().ok()?;
        Some((start.to_owned(), end.to_owned()))
    };
    text.lines().filter_map(of).collect()
}

fn own(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let own = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
    pairs.iter().map(own).collect()
}

#[test]
fn the_last_interval_at_a_rate_has_its_line_and_a_partial_one_too() {
    let server = Ours::start(&["-i", "0.3"]);
    for options in ["-l 500 -b 1m", "-u -l 500 -b 1m"] {
        let port = server.tcp_or_udp(options);
        let text = stdout(&test(&port, &format!("{options} -t 1 -i 0.5")));
        let full = own(&[("0.0000", "0.5000"), ("0.5000", "1.0000")]);
        let lines = spans(&text, "[  1]");
        assert_eq!(lines[..2], full, "{options}: {text}");
        let text = stdout(&test(&port, &format!("{options} -t 0.8 -i 0.5")));
        let lines = spans(&text, "[  1]");
        assert_eq!(lines[0], full[0], "{options}: {text}");
        let (start, end) = &lines[1];
        let end: f64 = end.parse().unwrap();
        // On a busy host the first line begins a moment after the test does.
        assert!(start == "0.5000" && end >= 0.79, "{text}");
    }
    // The receiver has them of the first test too.
    server.until("0.6000-0.9000 sec");
    server.until("[  1] 0.9000-");
}

#[test]
fn the_bytes_of_the_lines_are_those_of_the_total() {
    let server = Ours::start(&[]);
    for options in ["-l 500 -b 1m", "-u -l 500 -b 1m -R"] {
        let port = server.tcp_or_udp(options);
        let output = test(&port, &format!("{options} -t 0.9 -i 0.2 --json"));
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        let leg = &value["legs"][0];
        let lines = leg["intervals"].as_array().unwrap();
        let bytes: u64 = lines.iter().map(|l| l["bytes"].as_u64().unwrap()).sum();
        assert_eq!(leg["bytes"], bytes, "{options}: {value:#}");
        assert!(lines.len() >= 5, "{options}: {value:#}");
    }
}

#[test]
fn both_ends_of_a_connection_are_reported_on_both_sides() {
    for (listen, options) in [
        (&[][..], "-n 10K"),
        (&[], "-u -n 10K -b 10m"),
        // Addresses that the option leaves open are those of the way.
        (&["-B", "0.0.0.0"], "-u -n 10K -b 10m"),
        (&["-B", "0.0.0.0"], "-n 10K"),
    ] {
        let server = Ours::start(listen);
        let port = server.tcp_or_udp(options);
        let text = stdout(&test(&port, options));
        let line = text.lines().find(|line| line.contains(" connected with "));
        let line = line.unwrap_or_else(|| panic!("{text}"));
        let words: Vec<&str> = line.split_whitespace().collect();
        let own = words[words.len() - 6];
        let expected =
            format!("[  1] local 127.0.0.1 port {own} connected with 127.0.0.1 port {port}");
        assert_eq!(line, expected);
        let mirrored =
            format!("[  1] local 127.0.0.1 port {port} connected with 127.0.0.1 port {own}");
        assert_eq!(server.until("connected with"), mirrored);
    }
    let server = Ours::start(&[]);
    let text = stdout(&test(&server.tcp, "-n 10K -r"));
    let lines = text.matches(" connected with ").count();
    assert_eq!(lines, 2, "the way back has its own connection: {text}");
    let text = stdout(&test(&server.tcp, "-n 10K -R"));
    assert!(
        text.contains(&format!("port {} (reverse)", server.tcp)),
        "{text}"
    );
}

#[test]
fn a_single_datagram_has_no_rate() {
    let server = Ours::start(&[]);
    let output = test(&server.udp, "-u -n 100 -e");
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    let mine = server.until("0.0000-0.0000 sec");
    assert!(mine.contains("1.44 KBytes     - bits/sec"), "{mine}");
    for nonsense in ["inf", "nan", "NaN"] {
        let rates = text.to_lowercase() + &mine;
        assert!(!rates.contains(&format!("{nonsense} ")), "{rates}");
    }
}

#[test]
fn streams_without_a_report_are_summed_up_by_what_was_sent() {
    let deaf = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = deaf.local_addr().unwrap().port().to_string();
    let output = test(&port, "-u -P 2 -t 0.4 -l 1000 -b 100pps -i 0.2");
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let sums: Vec<&str> = text.lines().filter(|l| l.starts_with("[SUM]")).collect();
    assert_eq!(sums.len(), 3, "two intervals and the whole: {text}");
    let ours = text
        .lines()
        .filter(|l| l.contains("Sent 40 datagrams"))
        .count();
    if ours == 2 {
        assert!(sums[2].contains("78.1 KBytes"), "{text}");
    }
    assert!(!text.contains("Server Report"), "{text}");
}

#[test]
fn retransmissions_of_a_tcp_sender_are_reported() {
    let server = Ours::start(&[]);
    let output = test(&server.tcp, "-n 1M -b 100m -i 0.05 --json");
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let leg = &value["legs"][0];
    let all = leg["retransmits"].as_u64().expect("a number");
    let lines = leg["intervals"].as_array().unwrap();
    let added: u64 = lines
        .iter()
        .map(|l| l["retransmits"].as_u64().unwrap())
        .sum();
    assert!(added <= all, "{value:#}");
    let text = stdout(&test(&server.tcp, "-n 1M -b 100m -e"));
    assert!(text.contains("Write/Err  Rtry\n"), "{text}");
}
