//! The command line as a user calls it: figures, exit statuses and errors. Nothing here needs a privilege.

use std::process::Command;

use crate::common::{json, refused, scratch, stderr, stdout, wirelab};

#[test]
fn limits_of_the_nxp_document() {
    let limits = json(&[
        "limits",
        "--rate",
        "100M",
        "--payload",
        "46,1500",
        "--cpu",
        "100M",
        "--json",
    ]);
    assert_eq!(limits[0]["whole_frames_per_s"], 148_809);
    assert_eq!(limits[1]["whole_frames_per_s"], 8_127);
    assert_eq!(limits[0]["payload_bytes_per_s"], 6_845_214);
    assert_eq!(limits[1]["payload_bytes_per_s"], 12_190_500);
    assert_eq!(limits[1]["cpu_cycles_per_frame"], 12_304.0);
    let table = stdout(&wirelab(&[
        "limits",
        "--rate",
        "100M",
        "--payload",
        "46,1500",
    ]));
    for figure in ["148,809", "8,127", "6.845", "12.19"] {
        assert!(table.contains(figure), "{figure} is missing in\n{table}");
    }
}

#[test]
fn limits_of_the_ethernet_fmc_sizes() {
    let table = stdout(&wirelab(&[
        "limits",
        "--rate",
        "1G",
        "--payload",
        "66,438,810,1182,1498",
    ]));
    for percent in ["63.46", "92.02", "95.52", "96.89", "97.53"] {
        assert!(table.contains(percent), "{percent} is missing in\n{table}");
    }
}

#[test]
fn bad_usage_is_status_2_and_names_the_fix() {
    let cases: [(&[&str], &str); 20] = [
        (&["limits", "--rate", "fast"], "e.g. --rate 100M"),
        (
            &["limits", "--rate", "100"],
            "--rate 100 has no unit; fix: write 100M or 100bit/s",
        ),
        (
            &["limits", "--rate", "100M", "--cpu", "120"],
            "--cpu 120 has no unit; fix: write 120M or 120Hz",
        ),
        (
            &["limits", "--layer", "token-ring"],
            "write one of ethernet, udp4, udp6",
        ),
        (
            &["limits", "--datagram", "64"],
            "a datagram size needs UDP or TCP",
        ),
        (
            &["limits", "--frame", "63"],
            "the smallest frame of IEEE 802.3 (64 bytes) has frame 64; fix: ",
        ),
        (&["limits", "--length", "59"], "has length 60; fix: "),
        (
            &["limits", "--vlan", "1", "--payload", "41"],
            "has payload 42; fix: give --payload 42",
        ),
        (&["measure", "am263"], "did you mean 'am263x'?"),
        (
            &["predict", "foo"],
            "write a name of 'wirelab predict --list'",
        ),
        (&["measure", "labb"], "or lab:TARGET"),
        (
            &["predict", "model:am263x,alternatve=x"],
            "did you mean 'alternative'?",
        ),
        (&["measure", "lab:0"], "a lab has 1 to"),
        (&["measure", "ports:eth0"], "write A:B"),
        (&["send", "lo", "--to", "nobody"], "write a MAC address"),
        (&["report", "/nonexistent.json"], "give a results file"),
        (&["verify", "/nonexistent.pcapng"], "/nonexistent.pcapng"),
        (&["send", "lo", "--time", "0s"], "give a longer time"),
        (&["send", "lo", "--inject", "drop=2"], "from 0 to 1"),
        (
            &["measure", "lab:1", "--plan", "a.toml", "--frame", "64"],
            "cannot be used with",
        ),
    ];
    for (args, text) in cases {
        refused(args, text);
    }
    let unknown = wirelab(&["predict", "foo"]);
    let words = stderr(&unknown);
    assert!(words.len() < 300, "one line that can be read: {words}");
}

#[test]
fn a_reader_that_leaves_or_a_full_disk_is_no_panic() {
    let (reader, writer) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
    drop(reader);
    let gone = Command::new(env!("CARGO_BIN_EXE_wirelab"))
        .arg("limits")
        .stdout(std::os::fd::OwnedFd::from(writer))
        .output()
        .expect("the binary was built for this test");
    assert_eq!(gone.status.code(), Some(0), "{}", stderr(&gone));
    assert_eq!(stderr(&gone), "");
    let full = Command::new(env!("CARGO_BIN_EXE_wirelab"))
        .arg("limits")
        .stdout(std::fs::File::create("/dev/full").expect("Linux has it"))
        .output()
        .expect("the binary was built for this test");
    assert_eq!(full.status.code(), Some(1), "{}", stderr(&full));
    assert!(
        stderr(&full).starts_with("wirelab: cannot write to standard output"),
        "{}",
        stderr(&full)
    );
}

#[test]
fn a_capture_without_test_frames_says_so() {
    let file = scratch("empty.pcapng");
    let path = file.to_str().expect("a plain path");
    let written = wirelab(&["send", "eth0", "--frames", "1", "--to-file", path]);
    assert!(written.status.success(), "{}", stderr(&written));
    let bytes = std::fs::read(&file).expect("it was written");
    // What is left is the section and its interface, before the only frame.
    let frame_block = 4 * 3 + 20 + 60;
    std::fs::write(&file, &bytes[..bytes.len() - frame_block]).expect("it can be cut");
    let output = wirelab(&["verify", path]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(text.contains("no test frame"), "{text}");
}

#[test]
fn a_capture_is_written_and_judged() {
    let file = scratch("clean.pcapng");
    let file = file.to_str().expect("a plain path");
    let output = wirelab(&[
        "send",
        "eth0",
        "--frame",
        "128",
        "--frames",
        "1000",
        "--to-file",
        file,
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let report = json(&["verify", file, "--sent", "1000", "--json"]);
    assert_eq!(report["flows"][0]["counts"]["good_frames"], 1000);
    assert_eq!(report["flows"][0]["counts"]["lost_frames"], 0);
    // A file that is there is never overwritten.
    let again = wirelab(&[
        "send",
        "eth0",
        "--frame",
        "128",
        "--frames",
        "1",
        "--to-file",
        file,
    ]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("exists"), "{}", stderr(&again));
}

#[test]
fn a_sender_marks_ipv4_headers_alone() {
    let file = scratch("marked.pcapng");
    let path = file.to_str().expect("a plain path");
    let send = ["send", "eth0", "--frames", "5", "--dscp", "EF", "--to-file"];
    let output = wirelab(&[&send[..], &[path, "--layer", "udp4"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let bytes = std::fs::read(&file).expect("it was written");
    // The type, version and header length, and the byte of the code point.
    let marked = bytes.windows(4).filter(|w| w == b"\x08\x00\x45\xB8");
    assert_eq!(marked.count(), 5);
    for layer in ["ethernet", "udp6"] {
        let refused = wirelab(&[&send[..], &["never.pcapng", "--layer", layer]].concat());
        let why = stderr(&refused);
        assert_eq!(refused.status.code(), Some(2), "{why}");
        assert!(why.contains("give --layer udp4 or tcp4"), "{why}");
    }
}

#[test]
fn a_faulty_capture_is_status_1_and_equals_its_ledger() {
    let file = scratch("faulty.pcapng");
    let file = file.to_str().expect("a plain path");
    let inject = "drop=0.01,duplicate=0.01,swap=0.01,corrupt=0.01,stale=0.01,truncate=0.01,header-corrupt=0.01,seed=3";
    let ledger = json(&[
        "send",
        "eth0",
        "--frames",
        "10000",
        "--inject",
        inject,
        "--to-file",
        file,
        "--json",
    ]);
    let output = wirelab(&["verify", file, "--sent", "10000", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    let counts = &report["flows"][0]["counts"];
    let ledger = &ledger["ledger"];
    for field in [
        "header_corrupt_frames",
        "truncated_frames",
        "stale_frames",
        "corrupted_frames",
        "duplicated_frames",
        "reordered_frames",
        "lost_frames",
    ] {
        assert!(
            ledger[field].as_u64() > Some(0),
            "{field} was never injected: {ledger}"
        );
        assert_eq!(counts[field], ledger[field], "{field}");
    }
}

#[test]
fn what_verify_found_is_tables_then_the_frames_then_the_judgement() {
    let file = scratch("shown.pcapng");
    let path = file.to_str().expect("a plain path");
    let shown = |sent: &str| {
        let text = stdout(&wirelab(&["verify", path, "--sent", sent]));
        let text = text.replace(path, "shown.pcapng");
        let (found, speed) = text.rsplit_once("verified at ").expect(&text);
        assert!(speed.ends_with(" GB/s (measured)\n"), "{speed}");
        format!("{found}…")
    };
    let send = |inject: &str| {
        let _ = std::fs::remove_file(&file);
        let send = ["send", "eth0", "--frames", "300", "--inject", inject];
        stdout(&wirelab(&[&send[..], &["--to-file", path]].concat())).replace(path, "shown.pcapng")
    };
    let written = send("drop=0.01,corrupt=0.01,swap=0.01,seed=3");
    insta::assert_snapshot!("written_with_faults", written);
    insta::assert_snapshot!("verified_with_faults", shown("300"));
    send("seed=1");
    insta::assert_snapshot!("verified", shown("300"));
    // A capture of two runs is two captures one after the other.
    let one = std::fs::read(&file).expect("it was written");
    std::fs::write(&file, [&one[..], &one[..]].concat()).expect("it can be written");
    insta::assert_snapshot!("verified_of_two_runs", shown("300"));
}

#[test]
fn a_capture_cut_in_the_middle_is_judged_up_to_there() {
    let file = scratch("cut.pcapng");
    let path = file.to_str().expect("a plain path");
    assert!(
        wirelab(&["send", "eth0", "--frames", "100", "--to-file", path])
            .status
            .success()
    );
    let bytes = std::fs::read(&file).expect("it was written");
    std::fs::write(&file, &bytes[..bytes.len() / 2]).expect("it can be cut");
    let output = wirelab(&["verify", path]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(
        text.contains("cut off") && text.contains("NOT clean"),
        "{text}"
    );
    let flow: Vec<&str> = text
        .lines()
        .find(|line| line.starts_with("stream 0 "))
        .expect(&text)
        .split_whitespace()
        .collect();
    let (good, lost) = (flow[4].parse::<u64>(), flow[5]);
    assert!(good.is_ok_and(|good| (40..50).contains(&good)), "{text}");
    assert_eq!(lost, "0", "{text}");
}

#[test]
fn help_man_page_and_completions_come_from_one_definition() {
    for command in [
        "limits", "lab", "send", "receive", "measure", "hdl", "verify", "report", "selftest",
    ] {
        let help = wirelab(&[command, "--help"]);
        assert!(help.status.success());
        assert!(
            stdout(&wirelab(&["man"])).contains(command),
            "man page lacks {command}"
        );
        for shell in ["bash", "zsh", "fish"] {
            let completions = stdout(&wirelab(&["completions", shell]));
            assert!(completions.contains(command), "{shell} lacks {command}");
            assert!(completions.contains("udp4"), "{shell} lacks layers");
        }
    }
}

#[test]
fn short_help_of_measure_is_a_screen_and_its_examples_parse() {
    let short = stdout(&wirelab(&["measure", "-h"]));
    assert!(short.lines().count() <= 48, "{short}");
    let examples: Vec<&str> = short
        .lines()
        .filter_map(|line| line.strip_prefix("  wirelab "))
        .map(|line| line.split("  ").next().unwrap_or(line))
        .collect();
    assert_eq!(examples.len(), 5, "{short}");
    let long = stdout(&wirelab(&["measure", "--help"]));
    for example in examples {
        assert!(long.contains(example), "{example}");
        let words: Vec<&str> = example.split(' ').chain(["--help"]).collect();
        let output = wirelab(&words);
        assert!(output.status.success(), "{example}: {}", stderr(&output));
    }
    for heading in ["What to offer:", "How to measure:", "Search:", "Output:"] {
        assert!(long.contains(heading), "{long}");
    }
}

#[test]
fn a_misspelt_option_or_command_is_answered_with_the_nearest_one() {
    for (args, meant) in [
        (&["measure", "lab:1", "--lenght", "64"][..], "'--length'"),
        (&["mesure", "lab:1"][..], "'measure'"),
        (&["study", "shw", "lpc1768"][..], "'show'"),
    ] {
        let output = wirelab(args);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(meant), "{}", stderr(&output));
    }
}

#[test]
fn a_worked_results_file_becomes_every_format() {
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../spec/examples/ports.json"
    );
    for (format, mark) in [
        ("terminal", "payload"),
        ("markdown", "|"),
        ("csv", "payload_bytes"),
        ("json", "wirelab-results"),
        ("junit", "<testsuite"),
        ("html", "<figure"),
    ] {
        let output = wirelab(&["report", example, "--format", format]);
        assert!(output.status.success(), "{format}: {}", stderr(&output));
        assert!(stdout(&output).contains(mark), "{format} has no {mark}");
    }
    let broken = scratch("broken.json");
    std::fs::write(&broken, "{\"format\":\"wirelab-results\",\"version\":99}")
        .expect("scratch is writable");
    let output = wirelab(&["report", broken.to_str().expect("a plain path")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("version 99"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_load_without_a_unit_is_refused_with_the_units() {
    for load in ["100", "1000000", "50kpps,20"] {
        refused(
            &["measure", "lab:1", "--frame", "64", "--load", load],
            "the number has no unit; fix: write",
        );
    }
}
