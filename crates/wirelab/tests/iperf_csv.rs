//! `-y C` and `--sum-only` of `wirelab iperf` side by side with those of the distribution's iperf 2.1.8, client and server.

use std::collections::BTreeSet;
use std::process::Command;

use crate::iperf_common;

use crate::common::{stderr, stdout, wirelab};
use crate::iperf_common::{Ours, Real, has, real_client, test};

/// What a column looks like: how many figures stand behind the point, or that it is an address.
fn shape_of(column: &str) -> String {
    let number = column.trim_start_matches('-');
    match number.split_once('.') {
        _ if column.split('.').count() == 4 => "address".to_owned(),
        Some((whole, part)) if !whole.contains('-') && !part.contains('-') => {
            format!("{}.{}", "9", "9".repeat(part.len()))
        }
        Some(_) => "span".to_owned(),
        None if number.len() == 14 => "time".to_owned(),
        None if number.parse::<u64>().is_ok() => "9".to_owned(),
        None => column.to_owned(),
    }
}

/// The lines of a text that have columns.
fn lines(text: &str) -> Vec<Vec<String>> {
    let of = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let lines = text.lines().map(of);
    lines.filter(|columns| columns.len() > 5).collect()
}

/// The different shapes of lines.
fn shapes(text: &str) -> BTreeSet<String> {
    let of = |line: Vec<String>| {
        line.iter()
            .map(|c| shape_of(c))
            .collect::<Vec<_>>()
            .join(",")
    };
    lines(text).into_iter().map(of).collect()
}

/// What both ends print with `-y C`: of the real client at our server, and of our client at the real server.
struct BothPrinted {
    real_client: String,
    our_server: String,
    our_client: String,
    real_server: String,
}

fn run(options: &str, udp: bool) -> BothPrinted {
    let every = options.contains("-i 0.5").then_some(["-i", "0.5"]);
    let serve = [
        &["-1", "-y", "C"][..],
        every.as_ref().map_or(&[], |e| &e[..]),
    ]
    .concat();
    let port = iperf_common::free_port().to_string();
    let server = Command::new(env!("CARGO_BIN_EXE_wirelab"))
        .args(["iperf", "-s", "-B", "127.0.0.1", "-p", &port, "-t", "20"])
        .args(&serve)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    iperf_common::wait_until_listens(port.parse().unwrap());
    let real_client = real_client("iperf", &port, &format!("-y C {options}"));
    let our_server = stdout(&server.wait_with_output().unwrap());
    let of_real = format!(
        "{} -y C {}",
        if udp { "-u" } else { "" },
        every.map_or(String::new(), |e| e.join(" "))
    );
    let mut real = Real::start_telling("iperf", &of_real);
    let output = test(&real.port, &format!("-y C {options}"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let our_client = stdout(&output);
    let whole = real.until(&format!(",{}", real.port)) + "\n";
    BothPrinted {
        real_client,
        our_server,
        our_client,
        real_server: whole,
    }
}

#[test]
fn the_columns_are_those_of_the_binary() {
    if !has("iperf") {
        return;
    }
    for (options, udp) in [
        ("-n 100K -l 10K -b 10m", false),
        ("-t 1 -i 0.5 -l 1000 -b 1m", false),
        ("-u -t 0.5 -l 500 -b 1m", true),
        ("-u -t 1 -i 0.5 -l 500 -b 1m", true),
    ] {
        let both = run(options, udp);
        let said = format!(
            "{options}\nreal client\n{}our client\n{}real server\n{}our server\n{}",
            both.real_client, both.our_client, both.real_server, both.our_server
        );
        assert_eq!(
            shapes(&both.real_client),
            shapes(&both.our_client),
            "{said}"
        );
        let real = shapes(&both.real_server);
        assert_eq!(real.len(), 1, "{said}");
        assert_eq!(real, shapes(&both.our_server), "{said}");
        let (theirs, ours) = (lines(&both.real_client), lines(&both.our_client));
        // Addresses and the number of the stream; the server's port is the fifth column, for the sender comes first.
        for at in [1, 3, 5] {
            assert_eq!(theirs[0][at], ours[0][at], "{said}");
        }
        let places = |line: &[String]| (line[2].clone(), line[4].clone());
        let server = lines(&both.our_server);
        assert_eq!(places(&theirs[0]), places(&server[0]), "{said}");
        assert_eq!(
            places(&ours[0]),
            places(&lines(&both.real_server)[0]),
            "{said}"
        );
        if options.contains("-n") {
            let bytes = ["102400"; 4].map(str::to_owned);
            let all = [&theirs, &ours, &server, &lines(&both.real_server)];
            assert_eq!(
                all.map(|lines| lines.last().unwrap()[7].clone()),
                bytes,
                "{said}"
            );
        }
        if options.contains("-i") {
            let spans =
                |lines: &[Vec<String>]| lines.iter().map(|l| l[6].clone()).collect::<Vec<_>>();
            assert_eq!(spans(&theirs)[..2], ["0.0-0.5", "0.5-1.0"], "{said}");
            assert_eq!(spans(&ours)[..2], ["0.0-0.5", "0.5-1.0"], "{said}");
            assert_eq!(spans(&server)[0], "0.0-0.5", "{said}");
        }
    }
}

#[test]
fn what_the_server_counted_is_in_the_line_of_the_whole_flow() {
    let server = Ours::start(&[]);
    let text = stdout(&test(&server.udp, "-u -n 20K -l 500 -b 1m -y C"));
    let all = lines(&text);
    assert_eq!(all.len(), 1, "{text}");
    // 41 datagrams and the final one, which iperf's report counts.
    assert_eq!((&*all[0][10], &*all[0][11]), ("0", "42"), "{text}");
    let deaf = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = deaf.local_addr().unwrap().port().to_string();
    let text = stdout(&test(&port, "-u -n 20K -l 500 -b 1m -y C"));
    assert!(text.ends_with(",0.000,0,-1,-0.000,0\n"), "{text}");
}

#[test]
fn each_direction_has_the_sender_first_and_sums_have_no_line() {
    let server = Ours::start(&[]);
    let port = server.tcp.clone();
    for (options, columns) in [
        ("-R", vec![2]),
        ("--full-duplex", vec![2, 4]),
        ("-P 2", vec![4, 4]),
    ] {
        let text = stdout(&test(&port, &format!("-n 10K -y C {options}")));
        let mut places: Vec<usize> = lines(&text)
            .iter()
            .map(|line| line.iter().position(|column| *column == port).unwrap())
            .collect();
        places.sort_unstable();
        assert_eq!(places, columns, "{options}: {text}");
    }
    let text = stdout(&test(&port, "-n 10K -y C -e"));
    let time = &lines(&text)[0][0];
    assert!(time.len() == 18 && time.as_bytes()[14] == b'.', "{text}");
    let output = wirelab(&["iperf", "-c", "127.0.0.1", "-y", "x"]);
    assert_eq!(output.status.code(), Some(2));
}

/// What stands in the brackets of sums, and how many words follow: figures differ from run to run.
fn words(text: &str) -> BTreeSet<String> {
    let is_of_table = |line: &&str| line.starts_with("[SUM-") || line.starts_with("[*SUM-");
    let plain = |line: &str| {
        let (id, rest) = line.split_once(']').unwrap();
        format!("{id}] {}", rest.split_whitespace().count())
    };
    text.lines().filter(is_of_table).map(plain).collect()
}

#[test]
fn sums_alone_as_the_binary_prints_them() {
    let server = Ours::start(&[]);
    let mut texts = Vec::new();
    for options in [
        "-n 100K -l 1K -b 2m -P 2 -i 0.2",
        "-n 100K -l 1K -b 2m -i 0.2",
        "-n 100K -b 9m -P 2 -e",
    ] {
        let text = stdout(&test(&server.tcp, &format!("--sum-only {options}")));
        assert!(!text.contains("[  1]"), "{options}: {text}");
        let streams = if options.contains("-P 2") { 2 } else { 1 };
        let line = text.lines().last().unwrap();
        assert!(
            line.starts_with(&format!("[SUM-{streams}] 0.0000-")),
            "{text}"
        );
        let kbytes = format!(" {} KBytes ", 100 * streams);
        assert!(line.contains(&kbytes), "{options}: {text}");
        texts.push((options, text));
    }
    if !has("iperf") {
        return;
    }
    for (options, ours) in texts {
        let real = Real::start("iperf", "");
        let theirs = real_client("iperf", &real.port, &format!("--sum-only {options}"));
        assert_eq!(words(&theirs), words(&ours), "{options}\n{theirs}\n{ours}");
    }
}

#[test]
fn a_server_shows_sums_alone_too() {
    let server = Ours::start(&["--sum-only", "-i", "0.2"]);
    test(&server.udp, "-u -t 0.5 -l 500 -b 1m -P 2");
    let line = server.until("[SUM-2]");
    assert!(line.ends_with(" pps"), "{line}");
    test(&server.udp, "-u -t 0.5 -l 500 -b 1m");
    // Of a single stream its lines are those of the sum.
    server.until("[SUM-1] 0.0000-0.2000 sec");
}
