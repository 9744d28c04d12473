//! The flags of iperf3 as a user calls them, in both roles against the distribution's iperf3: the request on the wire,
//! and its result.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{stderr, stdout};
use crate::iperf_common::{
    Ours, Real, free_port, has, real_client, start, test, wait_until_listens,
};

/// What a client asks for in the parameter exchange of iperf3.
fn asked(mut client: Command, flags: &str) -> Value {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    client
        .args(["-c", "127.0.0.1", "-p", &port])
        .args(flags.split_whitespace())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = client.spawn().unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut [0; 37]).unwrap();
    stream.write_all(&[9]).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut text = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut text).unwrap();
    // iperf3's error for an option that is not known, so that both end at once.
    stream.write_all(&[0xFE, 0, 0, 0, 13, 0, 0, 0, 0]).unwrap();
    child.wait().unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn ours() -> Command {
    let mut client = Command::new(env!("CARGO_BIN_EXE_wirelab"));
    client.args(["iperf", "-3"]);
    client
}

#[test]
fn each_flag_asks_what_the_real_client_asks() {
    if !has("iperf3") {
        return;
    }
    for flags in [
        "-t 3",
        "-n 5M -P 3 -R",
        "-k 7 --bidir -w 64K",
        "-u -l 500 -b 3M -O 2",
        "-u -l 500 --udp-counters-64bit",
        "-T name --extra-data more",
        "--get-server-output --repeating-payload",
        "-S 0x20 -M 1000 -N -C reno",
        "--tos 040 --set-mss 1000 --no-delay --congestion reno -Z",
        "--dscp ef -n 1M --zerocopy",
        "-u -l 500 --dscp 10 -4 -B 127.0.0.1",
        "-B 127.0.0.1 --cport 5999 --linux-congestion cubic",
    ] {
        let theirs = asked(Command::new("iperf3"), flags);
        let ours = asked(ours(), flags);
        assert_eq!(ours, theirs, "{flags}");
    }
}

/// A server of ours that says nothing before a test is over.
struct Silent {
    child: Child,
    port: String,
}

impl Silent {
    fn start(options: &[&str]) -> Silent {
        let port = free_port();
        let child = ours()
            .args(["-s", "-B", "127.0.0.1", "-p", &port.to_string()])
            .args(options)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_until_listens(port);
        let port = port.to_string();
        Silent { child, port }
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const BRIEF: &str = "-3 -u -l 500 -b 1M -t 1";

#[test]
fn the_real_servers_output_is_shown() {
    if !has("iperf3") {
        return;
    }
    let real = Real::start("iperf3", "");
    let output = test(&real.port, &format!("{BRIEF} --get-server-output -T name"));
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    let (before, after) = text.split_once("\nServer output:\n").expect(&text);
    assert!(
        before.lines().all(|line| line.starts_with("name:  ")),
        "{text}"
    );
    assert!(
        after.contains("Accepted connection from 127.0.0.1, port"),
        "{text}"
    );
    assert!(after.contains("  receiver\n"), "{text}");
    drop(real);
    let real = Real::start("iperf3", "-J");
    let asked = format!("{BRIEF} --get-server-output --extra-data more -T name -J");
    let output = test(&real.port, &asked);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let theirs = &value["server_output_json"];
    assert_eq!(
        theirs["end"]["sum_received"]["lost_packets"], 0,
        "{value:#}"
    );
    assert_eq!(
        (&value["extra_data"], &value["title"]),
        (&json!("more"), &json!("name"))
    );
    drop(real);
    let real = Real::start("iperf3", "-J");
    let text = stdout(&test(&real.port, &format!("{BRIEF} --get-server-output")));
    assert!(text.contains("\nServer JSON output:\n{\n"), "{text}");
}

#[test]
fn the_real_client_shows_our_servers_output() {
    if !has("iperf3") {
        return;
    }
    let server = Ours::start(&["-3", "-1"]);
    let brief = BRIEF.trim_start_matches("-3 ");
    let asked = format!("{brief} --get-server-output --extra-data more -J");
    let theirs: Value = serde_json::from_str(&real_client("iperf3", &server.tcp, &asked)).unwrap();
    let shown = theirs["server_output_text"].as_str().expect("a text");
    let (printed, status) = server.end();
    assert_eq!(status, 0);
    // All that the server printed of the test itself.
    let printed: Vec<&String> = printed
        .iter()
        .skip_while(|line| !line.starts_with("Accepted connection"))
        .collect();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines, printed);
    assert!(lines.last().unwrap().ends_with("receiver"), "{shown}");
    for kind in ["-J", "--json-stream"] {
        let server = Silent::start(&[kind, "-1"]);
        let theirs: Value =
            serde_json::from_str(&real_client("iperf3", &server.port, &asked)).unwrap();
        let shown = &theirs["server_output_json"];
        assert_eq!(shown["extra_data"], "more", "{theirs:#}");
        assert_eq!(
            shown["end"]["sum_received"]["lost_packets"], 0,
            "{theirs:#}"
        );
    }
}

#[test]
fn an_event_a_line() {
    let server = Ours::start(&["-3"]);
    let output = test(&server.tcp, &format!("{BRIEF} -i 0.2 --json-stream"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    let names: Vec<&str> = events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect();
    assert!(names.len() > 2, "{text}");
    assert_eq!((names[0], names[names.len() - 1]), ("start", "end"));
    let between = &names[1..names.len() - 1];
    assert!(between.iter().all(|name| *name == "interval"), "{names:?}");
    assert_eq!(events[0]["data"]["test_start"]["blksize"], 500);
    assert!(events[1]["data"]["sum"]["packets"].as_u64().unwrap() > 0);
    let end = &events[names.len() - 1]["data"];
    assert_eq!(end["sum_received"]["lost_packets"], 0, "{end:#}");
    let port = free_port().to_string();
    let output = test(&port, &format!("{BRIEF} --json-stream"));
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    assert_eq!(events[0]["event"], "error", "{text}");
    let why = events[0]["data"].as_str().unwrap();
    assert!(why.starts_with("cannot reach 127.0.0.1:"), "{text}");
    assert_eq!(events[1], json!({ "event": "end", "data": {} }));
}

#[test]
fn a_server_that_does_not_answer_is_waited_for_as_long_as_asked() {
    // Linux answers no SYN to a queue that is full.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
        waiting.push(stream);
        assert!(waiting.len() < 10_000, "the queue has an end");
    }
    let port = address.port().to_string();
    let output = test(&port, "-3 -t 1 --connect-timeout 200");
    assert_eq!(output.status.code(), Some(1));
    let errors = stderr(&output);
    assert!(
        errors.contains(&format!(
            "cannot reach {address}: timed out; fix: start an iperf3 server there"
        )),
        "{errors}"
    );
}

#[test]
fn the_payload_is_random_unless_digits_are_asked() {
    for (flags, digits) in [("", false), ("--repeating-payload", true)] {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port().to_string();
        let client = start(&port, &format!("-3 -n 100 -l 100 {flags}"));
        let (mut control, _) = server.accept().unwrap();
        control.read_exact(&mut [0; 37]).unwrap();
        control.write_all(&[9]).unwrap();
        let mut length = [0; 4];
        control.read_exact(&mut length).unwrap();
        let mut text = vec![0; u32::from_be_bytes(length) as usize];
        control.read_exact(&mut text).unwrap();
        control.write_all(&[10]).unwrap();
        let (mut data, _) = server.accept().unwrap();
        data.read_exact(&mut [0; 37]).unwrap();
        control.write_all(&[1, 2]).unwrap();
        let mut payload = [0; 100];
        data.read_exact(&mut payload).unwrap();
        drop((data, control));
        client.wait_with_output().unwrap();
        assert_eq!(payload.starts_with(b"0123456789012"), digits);
        let mut kinds = payload.to_vec();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.len() > 10, !digits, "{payload:?}");
    }
}
