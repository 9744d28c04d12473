//! `wirelab iperf` over the links of a lab: no route, datagrams longer than a packet, IPv6 names of addresses.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_port::netns::{self, NetNs};

use crate::common::{stderr, stdout};

fn lab() -> Option<EphemeralLab> {
    if !netns::may_test() {
        return None;
    }
    Some(EphemeralLab::up(&LabSpec::unique("wlic", 1)).unwrap())
}

fn command(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirelab"));
    command.arg("iperf").args(args.split_whitespace());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(place: &NetNs, args: &str) -> Output {
    let child = place.spawn(&mut command(args)).unwrap();
    child.wait_with_output().unwrap()
}

/// Run a client on the tester's side against a server on the node's.
fn served(lab: &EphemeralLab, serve: &str, args: &str) -> Output {
    let [node, tester] = [Side::Node, Side::Tester].map(|side| lab.netns(side).unwrap());
    let mut child = node.spawn(&mut command(serve)).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("Server listening on")));
    let output = run(&tester, args);
    child.kill().unwrap();
    child.wait().unwrap();
    output
}

#[test]
fn no_route_is_said() {
    let Some(lab) = lab() else { return };
    let tester = lab.netns(Side::Tester).unwrap();
    for args in [
        "-c 203.0.113.1 -t 1",
        "-u -c 203.0.113.1 -t 1",
        "-3 -c 203.0.113.1 -t 1",
    ] {
        let output = run(&tester, args);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{args}: {errors}");
        assert!(
            errors.contains("cannot reach 203.0.113.1:"),
            "{args}: {errors}"
        );
        assert!(
            errors.contains("Network is unreachable"),
            "{args}: {errors}"
        );
    }
}

#[test]
fn fragments_are_said() {
    let Some(lab) = lab() else { return };
    let output = served(&lab, "-s", "-c 198.18.0.1 -u -l 4000 -b 4m -t 0.5");
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(
        errors.contains("each datagram of 4000 bytes became 3 packets"),
        "{errors}"
    );
    let output = served(&lab, "-s", "-c 198.18.0.1 -u -l 1472 -b 4m -t 0.5 --json");
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["legs"][0]["packets_per_datagram"], 1, "{value:#}");
    assert_eq!(value["legs"][0]["path_mtu_bytes"], 1500, "{value:#}");
    let output = served(&lab, "-3 -s", "-3 -c 198.18.0.1 -u -l 4000 -b 4M -t 1");
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(
        errors.contains("each datagram of 4000 bytes becomes 3 packets"),
        "{errors}"
    );
}

#[test]
fn over_ipv6() {
    let Some(lab) = lab() else { return };
    for (side, device) in [(Side::Node, "lo"), (Side::Tester, "lo")] {
        let place = lab.netns(side).unwrap();
        let on = |which: &str| format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
        let work = || ["all", device].map(|which| std::fs::write(on(which), "0").unwrap());
        place.run_in(work).unwrap();
    }
    let node = lab.netns(Side::Node).unwrap();
    for (serve, ask) in [
        ("-s -V", "-c ::1 -u -b 1m -t 0.5"),
        ("-s -V", "-c [::1] -V -n 100K"),
        ("-s -B ::1", "-c ::1 -n 100K"),
        // One that listens to IPv6 is reached over IPv4 too.
        ("-s -V", "-c 127.0.0.1 -u -b 1m -t 0.5"),
        ("-3 -s -V", "-3 -c ::1 -u -b 1M -t 1 --bidir"),
        ("-3 -s -V", "-3 -c 127.0.0.1 -u -b 1M -t 1 -R"),
    ] {
        let mut child = node.spawn(&mut command(serve)).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().starts_with("Server listening on")));
        let output = run(&node, ask);
        child.kill().unwrap();
        child.wait().unwrap();
        let (text, errors) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(0), "{ask}: {text}{errors}");
    }
}

#[test]
fn over_addresses_of_one_link_alone() {
    let Some(lab) = lab() else { return };
    for (side, device, address) in [
        (Side::Node, "n0", "fe80::1/64"),
        (Side::Tester, "t0", "fe80::2/64"),
    ] {
        let place = lab.netns(side).unwrap();
        let on = |which: &str| format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
        let work = || ["all", device].map(|which| std::fs::write(on(which), "0").unwrap());
        place.run_in(work).unwrap();
        let status = Command::new("ip")
            .args(["-n", place.name().unwrap(), "-6", "address", "add", address])
            .args(["dev", device, "nodad"])
            .status();
        assert!(status.unwrap().success());
    }
    for ask in ["-u -n 10K -b 10m", "-n 10K"] {
        let ask = format!("-c fe80::1%t0 -V -B fe80::2%t0 {ask}");
        let output = served(&lab, "-s -B fe80::1%n0", &ask);
        let (text, errors) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(0), "{ask}: {text}{errors}");
        let ends = "[  1] local fe80::2 port ";
        assert!(
            text.contains(ends) && text.contains("with fe80::1 port 5001"),
            "{text}"
        );
    }
}

/// Give the tester a route over the node to this network.
fn route_over_node(lab: &EphemeralLab) {
    let mut ip = Command::new("ip");
    ip.args(["route", "add", "192.168.77.0/24", "via", "198.18.0.1"]);
    let added = lab
        .netns(Side::Tester)
        .unwrap()
        .spawn(&mut ip)
        .unwrap()
        .wait();
    assert!(added.unwrap().success());
}

#[test]
fn a_load_across_a_router_is_warned_of_above_100_mbit_s() {
    let Some(lab) = lab() else { return };
    route_over_node(&lab);
    let tester = lab.netns(Side::Tester).unwrap();
    for (args, warned) in [
        ("-c 192.168.77.1 -u -b 101m -t 0.1", true),
        ("-c 192.168.77.1 -u -b 60m -P 2 -t 0.1", true),
        ("-c 192.168.77.1 -u -b 100m -t 0.1", false),
        ("-c 192.168.77.1 -u -t 0.1", false),
        ("-c 198.18.0.1 -u -b 101m -t 0.1", false),
        ("-3 -c 192.168.77.1 -u -b 101m --connect-timeout 100", true),
        ("-3 -c 192.168.77.1 -u -b 1m --connect-timeout 100", false),
    ] {
        let told = stderr(&run(&tester, args));
        let words = "warning: routed: 192.168.77.1 is not on a link of this host: the route leads over 198.18.0.1";
        assert_eq!(told.contains(words), warned, "{args}: {told}");
        assert_eq!(
            told.contains("limit the rate with -b"),
            warned,
            "{args}: {told}"
        );
    }
}

#[test]
fn a_routed_peer_is_not_measured_unless_it_is_asked() {
    let Some(lab) = lab() else { return };
    route_over_node(&lab);
    let tester = lab.netns(Side::Tester).unwrap();
    for (args, code, words) in [
        ("measure iperf:192.168.77.1 --quick", 2, "or give --routed"),
        ("measure node:192.168.77.1 --quick", 2, "or give --routed"),
        ("stages node:192.168.77.1", 2, "or give --routed"),
        (
            "stages lab: --routed",
            2,
            "only a peer on a network is behind a router",
        ),
        (
            "measure iperf3:192.168.77.1 --routed --layer tcp4 --direction rx --time 100ms --no-ceiling",
            1,
            "192.168.77.1",
        ),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirelab"));
        command.args(args.split_whitespace());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = tester
            .spawn(&mut command)
            .unwrap()
            .wait_with_output()
            .unwrap();
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{args}: {told}");
        assert!(told.contains(words), "{args}: {told}");
        assert_eq!(
            told.contains("RFC 6815"),
            words.contains("--routed"),
            "{args}: {told}"
        );
    }
}
