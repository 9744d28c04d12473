//! `--trip-times` of `wirelab iperf` against the distribution's iperf 2.1.8 in both roles.

use crate::common::{stderr, stdout};
use crate::iperf_common::{Ours, Real, has, real_client, test};

/// The one-way times of a line in ms: mean, least, most and deviation.
fn latency(line: &str) -> Vec<f64> {
    let four = line
        .split_whitespace()
        .find(|word| word.matches('/').count() == 3)
        .unwrap_or_else(|| panic!("{line}"));
    four.split('/').map(|ms| ms.parse().expect(four)).collect()
}

fn is_plausible(line: &str) {
    let [mean, least, most, _] = latency(line)[..] else {
        panic!("{line}");
    };
    // Both ends have one clock, and a busy host holds a datagram for less than a minute.
    assert!(0.0 <= least && least <= mean && mean <= most, "{line}");
    assert!(most < 60_000.0 && mean > 0.0, "{line}");
}

#[test]
fn the_real_server_has_our_times() {
    if !has("iperf") {
        return;
    }
    // The shortest with a header, and shorter ones, which have none.
    for length in [500, 128, 127, 64] {
        let mut real = Real::start_telling("iperf", "-u -e");
        let options = format!("-u -l {length} -b 1000pps -t 0.5 --trip-times -e");
        let output = test(&real.port, &options);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
        assert!(text.contains(" (trip-times)\n"), "{text}");
        let report = text.lines().last().unwrap();
        assert!(
            report.contains(" ms ") && text.contains("Latency avg"),
            "{text}"
        );
        is_plausible(report);
        is_plausible(&real.until("[  1] 0.0000-"));
    }
    let mut real = Real::start_telling("iperf", "-e");
    let output = test(&real.port, "-l 500 -b 4m -t 0.5 --trip-times");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let line = real.until("[  1] 0.0000-");
    is_plausible(&line);
    // It says how many writes it found, and their bytes.
    let (count, bytes) = line.split_once('(').unwrap().1.split_once('/').unwrap();
    let count: u64 = count.parse().unwrap();
    assert!(
        bytes.starts_with("500)") && (1..=501).contains(&count),
        "{line}"
    );
}

#[test]
fn whole_writes_are_sent_where_bytes_are_asked() {
    if !has("iperf") {
        return;
    }
    let mut real = Real::start_telling("iperf", "-e");
    let output = test(&real.port, "-l 1000 -n 10500 -b 1000pps --trip-times");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let line = real.until("[  1] 0.0000-");
    // 11 writes and the header; it shares the header out among them.
    assert!(
        line.contains("10.8 KBytes") && line.contains("(11/1007)"),
        "{line}"
    );
}

#[test]
fn our_server_tells_the_real_client_its_times() {
    if !has("iperf") {
        return;
    }
    let server = Ours::start(&["-e"]);
    for length in [500, 64] {
        let options = format!("-u -l {length} -b 1000pps -t 0.5 --trip-times -e");
        let text = real_client("iperf", &server.udp, &options);
        let report = text.lines().last().unwrap();
        assert!(text.contains("Server Report"), "{text}");
        is_plausible(report);
        is_plausible(&server.until("] 0.0000-"));
    }
    let text = real_client("iperf", &server.tcp, "-l 500 -b 4m -t 0.5 --trip-times");
    assert!(text.contains("(trip-times)"), "{text}");
    server.until("Burst Latency avg/min/max/stdev");
    let line = server.until("] 0.0000-");
    is_plausible(&line);
    assert!(line.contains("/500)"), "{line}");
}

#[test]
fn what_comes_back_to_the_real_client_has_times() {
    if !has("iperf") {
        return;
    }
    let server = Ours::start(&[]);
    for protocol in ["", "-u"] {
        for mode in ["-R", "--full-duplex"] {
            let options = format!("{protocol} {mode} -l 500 -b 1m -t 0.5 --trip-times -e");
            let text = real_client("iperf", &server.tcp_or_udp(protocol), &options);
            let back = text.lines().rfind(|line| line.starts_with("[ *1] 0.0000-"));
            let back = back.unwrap_or_else(|| panic!("{options}: {text}"));
            is_plausible(back);
            // Without its start the client showed the time since 1996.
            let end = back.split_once('-').unwrap().1.split(' ').next().unwrap();
            assert!(end.parse::<f64>().unwrap() < 60.0, "{options}: {text}");
        }
    }
}

#[test]
fn what_comes_back_to_our_client_has_times() {
    if !has("iperf") {
        return;
    }
    for mode in ["-R", "--full-duplex"] {
        let real = Real::start("iperf", "-e");
        let options = format!("{mode} -l 500 -b 1m -t 0.5 --trip-times -e");
        let output = test(&real.port, &options);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
        let back = text.lines().find(|line| line.starts_with("[ *1] 0.0000-"));
        is_plausible(back.unwrap_or_else(|| panic!("{mode}: {text}")));
    }
    let ours = Ours::start(&[]);
    let output = test(&ours.tcp, "-R -l 500 -b 1m -t 0.3 --trip-times --json");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let times = &value["legs"][0]["one_way"];
    assert!(times["samples"].as_u64().unwrap() > 1, "{value:#}");
    let output = test(&ours.tcp, "-R -l 500 -b 1m -t 0.3 --json");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(value["legs"][0]["one_way"].is_null(), "{value:#}");
}

#[test]
fn a_datagram_that_does_not_fit_times_is_reported() {
    for (options, text) in [
        ("-u -l 100 -R --trip-times", "give -l 128 or more"),
        ("-l 50 --trip-times", "give -l 92 or more"),
        ("-u -C --trip-times", "leave --trip-times out"),
    ] {
        let output = test("1", options);
        assert_eq!(output.status.code(), Some(2), "{options}");
        assert!(
            stderr(&output).contains(text),
            "{options}: {}",
            stderr(&output)
        );
    }
}
