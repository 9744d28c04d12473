//! Options of sockets, of output and of the background, as a user of `wirelab iperf` gives them.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use nix::sys::socket::{getsockopt, sockopt};

use crate::common::{scratch, stderr, stdout, wirelab};
use crate::iperf_common::{Background, LIMIT, Ours, Real, free_port, has, start, test};

#[test]
fn a_client_sends_from_the_address_requested() {
    for (kind, options) in [
        (&[][..], "-n 10K"),
        (&[], "-u -n 10K -b 10m"),
        (&["-3"], "-3 -n 10K"),
        (&["-3"], "-3 -u -n 10K"),
    ] {
        let server = Ours::start(kind);
        let port = free_port();
        for place in [
            format!("-B 127.0.0.1:{port}"),
            format!("-B 127.0.0.1%lo --cport {port}"),
            format!("-c 127.0.0.1%lo --cport {port}"),
        ] {
            let output = test(&server.tcp_or_udp(options), &format!("{options} {place}"));
            assert_eq!(
                output.status.code(),
                Some(0),
                "{place}: {}",
                stderr(&output)
            );
            let line = server.until(&format!("127.0.0.1 port {port}"));
            assert!(line.contains("connected"), "{line}");
        }
        let output = test(&server.tcp, &format!("{options} -B 203.0.113.7"));
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(
            errors.contains("refuses --bind 203.0.113.7:0: "),
            "{errors}"
        );
        assert!(
            errors.contains("fix: give an address of this host"),
            "{errors}"
        );
    }
}

#[test]
fn segments_are_as_short_as_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let mut client = start(&port, "-M 600 -N -Z reno -t 60");
    let (accepted, _) = listener.accept().unwrap();
    let bytes = getsockopt(&accepted, sockopt::TcpMaxSeg).unwrap();
    client.kill().unwrap();
    client.wait().unwrap();
    // Options of TCP's header may take 12 of them.
    assert!((588..=600).contains(&bytes), "{bytes}");
}

#[test]
fn what_the_system_refuses_is_status_2() {
    let server = Ours::start(&[]);
    for (options, text) in [
        ("-M 20", "refuses --mss 20: "),
        ("-Z nonesuch", "refuses --congestion nonesuch: "),
        (
            "-B 127.0.0.1%nonesuch",
            "the interface nonesuch: No such device",
        ),
        ("-c 127.0.0.1%nonesuch", "nonesuch: No such device"),
    ] {
        let output = test(&server.tcp, &format!("-t 1 {options}"));
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{options}: {errors}");
        assert!(
            errors.contains(text) && errors.contains("; fix: "),
            "{errors}"
        );
    }
    let server = Ours::start(&["-3"]);
    let output = test(&server.tcp, "-3 -t 1 -C nonesuch");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("refuses --congestion nonesuch: "));
    // An option of TCP does not stop a test over UDP.
    let server = Ours::start(&[]);
    let output = test(&server.udp, "-u -N -n 10K -b 10m");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("--nodelay is for TCP"));
}

#[test]
fn the_real_server_sees_the_type_of_service() {
    if !has("iperf") {
        return;
    }
    for (given, seen) in [
        ("-S EF", "0xb8"),
        ("--dscp 10", "0x28"),
        ("-S 0x10", "0x10"),
    ] {
        let mut real = Real::start_telling("iperf", "");
        let output = test(&real.port, &format!("-n 1M -b 100m {given}"));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let line = real.until("connected with");
        assert!(
            line.contains(&format!("(tos rx={seen})")),
            "{given}: {line}"
        );
    }
}

#[test]
fn ipv4_alone_is_asked_of_names_too() {
    let server = Ours::start(&[]);
    let output = wirelab(&[
        "iperf",
        "-c",
        "localhost",
        "-4",
        "-p",
        &server.tcp,
        "-n",
        "10K",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn of_options_given_twice_the_last_counts() {
    let server = Ours::start(&[]);
    let output = test(&server.tcp, "-l 1K -l 10K -b 1g -t 60 -n 100K --json");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["asked"]["length_bytes"], 10_240, "{value:#}");
    assert_eq!(value["legs"][0]["bytes"], 102_400, "{value:#}");
    let output = test(&server.tcp, "-n 100G -t 0.2 -l 1K -b 1m --json");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        value["asked"]["bytes"],
        serde_json::Value::Null,
        "{value:#}"
    );
    assert_eq!(value["asked"]["time_ns"], 200_000_000, "{value:#}");
}

#[test]
fn output_goes_to_a_file() {
    let file = scratch("iperf-output");
    let place = file.to_str().unwrap();
    for (kind, options, times) in [
        (&[][..], format!("-n 100K -b 1g -o {place}"), 1),
        (&["-3"], format!("-3 -n 100K -b 1G --logfile {place}"), 2),
    ] {
        let server = Ours::start(kind);
        std::fs::write(&file, "").unwrap();
        for _ in 0..2 {
            let output = test(&server.tcp, &options);
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            assert_eq!(stdout(&output), "");
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let headings = text.matches("[ ID] Interval").count();
        assert_eq!(headings, times, "{text}");
        // What goes wrong is there too.
        let output = test(&free_port().to_string(), &options);
        assert_eq!(output.status.code(), Some(1));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("wirelab: cannot reach 127.0.0.1:"), "{text}");
    }
    let output = test("1", "-t 1 -o /nonesuch/file");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("fix: name a file"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_server_in_the_background_listens_when_its_starter_ends() {
    for (kind, options) in [(&[][..], "-n 10K"), (&["-3"], "-3 -n 10K")] {
        let (port, file) = (free_port().to_string(), scratch("iperf-background"));
        let serve = [
            "iperf",
            "-s",
            "-D",
            "-1",
            "-B",
            "127.0.0.1",
            "-p",
            &port,
            "-o",
        ];
        let args = [&serve[..], &[file.to_str().unwrap()], kind].concat();
        let output = wirelab(&args);
        let (text, errors) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(0), "{text}{errors}");
        assert!(text.starts_with("Server listening on "), "{text}");
        let background = Background::of(&text);
        // It has the port: another one is refused, and says why on the terminal.
        let again = wirelab(&args);
        assert_eq!(again.status.code(), Some(2), "{}", stdout(&again));
        assert!(
            stderr(&again).contains("Address already in use"),
            "{}",
            stderr(&again)
        );
        // It has a session of its own: the end of the terminal's does not end it.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", background.0)).unwrap();
        let session = stat.rsplit(')').next().unwrap().split_whitespace().nth(3);
        assert_eq!(session, Some(background.0.as_str()), "{stat}");
        let output = test(&port, options);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let since = Instant::now();
        let written = || std::fs::read_to_string(&file).unwrap();
        while !written().contains(" sec ") {
            assert!(since.elapsed() < LIMIT, "{}", written());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
