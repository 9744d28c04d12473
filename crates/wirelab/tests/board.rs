//! `wirelab board` and `wirelab measure board:NAME` as a user calls them, on good days and on bad ones.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::board_common::{Running, as_nobody, can_run, can_tap, lives, skip, until};
use crate::common;
use crate::common::{json, stderr, stdout, wirelab};

/// A call with other variables.
fn with(variables: &[(&str, &str)], args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirelab"));
    command.envs(variables.iter().copied()).args(args);
    command.output().unwrap()
}

#[test]
fn the_list_says_what_each_board_is_and_what_it_lacks_here() {
    let output = with(
        &[
            ("PATH", "/nonexistent"),
            ("WIRELAB_FIRMWARE", "/nonexistent"),
        ],
        &["board", "list"],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for part in [
        "board:zynq7000",
        "board:mps2-an385",
        "board:lpc1768",
        "Cortex-A9",
        "make firmware",
        "sudo apt-get install qemu-system-arm",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let list = json(&["board", "list", "--json"]);
    let boards = list["boards"].as_array().unwrap();
    let names: Vec<&str> = boards
        .iter()
        .filter_map(|board| board["name"].as_str())
        .collect();
    let known = wirelab_board::BOARDS.iter().map(|board| board.name);
    assert_eq!(names, known.collect::<Vec<_>>());
    assert!(list["running"].is_array());
}

#[test]
fn what_is_missing_is_named_with_the_fix() {
    let nowhere = with(
        &[("WIRELAB_FIRMWARE", "/nonexistent")],
        &["measure", "board:zynq7000"],
    );
    assert_eq!(nowhere.status.code(), Some(2));
    let text = stderr(&nowhere);
    assert!(
        text.contains("zynq7000.elf") && text.contains("make firmware"),
        "{text}"
    );
    let unknown = wirelab(&["measure", "board:zynq"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        stderr(&unknown).contains("mps2-an385"),
        "{}",
        stderr(&unknown)
    );
    let none = wirelab(&["board", "console", "no-such-board"]);
    assert_eq!(none.status.code(), Some(2), "{}", stderr(&none));
    if can_run("zynq7000") {
        let output = with(&[("PATH", "/nonexistent")], &["board", "run", "zynq7000"]);
        assert_eq!(output.status.code(), Some(2));
        let text = stderr(&output);
        assert!(
            text.contains("sudo apt-get install qemu-system-arm"),
            "{text}"
        );
    }
}

#[test]
fn a_hostile_image_is_refused() {
    let path = common::scratch("hostile.elf");
    std::fs::write(&path, [0x7F, b'E', b'L', b'F', 1, 1, 1]).unwrap();
    let image = path.to_str().unwrap();
    for args in [
        ["board", "run", "zynq7000", "--image", image],
        ["measure", "board:zynq7000", "--quick", "--image", image],
        ["measure", "board:lpc1768", "--quick", "--image", image],
    ] {
        let output = wirelab(&args);
        assert_eq!(output.status.code(), Some(2));
        let text = stderr(&output);
        assert!(text.contains("hostile.elf"), "{text}");
        assert!(text.contains("too short"), "{text}");
    }
    let no_board = wirelab(&["measure", "lab:1", "--image", image]);
    assert_eq!(no_board.status.code(), Some(2));
    assert!(
        stderr(&no_board).contains("board:NAME"),
        "{}",
        stderr(&no_board)
    );
}

#[test]
fn each_board_is_measured_by_its_name() {
    for board in ["zynq7000", "mps2-an385"] {
        if !can_run(board) || !can_tap() {
            return;
        }
        let results = json(&[
            "measure",
            &format!("board:{board}"),
            "--layer",
            "udp4",
            "--length",
            "256",
            "--direction",
            "rx,tx,echo",
            "--load",
            "200pps",
            "--frames",
            "64",
            "--no-ceiling",
            "--json",
        ]);
        let observations = results["observations"].as_array().unwrap();
        assert_eq!(observations.len(), 3);
        for observation in observations {
            let what = &observation["trial"]["direction"];
            assert_eq!(
                observation["status"], "complete",
                "{board} {what}: {observation:#}"
            );
            assert_eq!(observation["node"]["kind"], "board");
            assert!(
                observation["node"]["setup"]["emulator"]
                    .as_str()
                    .unwrap()
                    .starts_with("QEMU")
            );
            assert_eq!(
                observation["flows"][0]["counts"]["value"]["corrupted_frames"],
                0
            );
            let warnings = observation["warnings"].as_array().unwrap();
            assert!(warnings.iter().any(|w| w["code"] == "emulated"));
            let flow = &observation["flows"][0];
            for figure in [
                &flow["frames_per_s"],
                &flow["loss_ratio"],
                &flow["counts"],
                &observation["cpu_load"],
            ] {
                let kind = &figure["kind"];
                assert!(kind == "emulated" || kind.is_null(), "{figure}");
            }
            assert_eq!(flow["counts"]["kind"], "emulated", "{flow:#}");
            let dropped = &observation["counters"]["dropped_before_emulator_frames"]["value"];
            let behind = warnings.iter().any(|w| w["code"] == "emulator-behind");
            assert_eq!(dropped.as_u64().unwrap() > 0, behind, "{observation:#}");
        }
    }
}

/// A short trial of a board by a way, or by several.
fn by_way<'a>(board: &'a str, direction: &'a str, paths: &'a str) -> Vec<&'a str> {
    let base = ["measure", board, "--direction", direction, "--path", paths];
    let rest = ["--length", "256", "--frames", "64", "--no-ceiling"];
    [&base[..], &rest].concat()
}

#[test]
fn each_path_through_a_board_is_taken_or_declined_by_name() {
    if !can_run("zynq7000") || !can_tap() {
        return;
    }
    for (direction, other) in [("tx", "driver"), ("rx", "fast-track")] {
        let both = format!("stack,{other}");
        let asked = by_way("board:zynq7000", direction, &both);
        let more = ["--layer", "udp4", "--load", "200pps", "--json"];
        let results = json(&[&asked[..], &more].concat());
        let observations = results["observations"].as_array().unwrap();
        let ways: Vec<&serde_json::Value> =
            observations.iter().map(|o| &o["trial"]["path"]).collect();
        assert_eq!(ways, ["stack", other], "{direction}");
        for observation in observations {
            assert_eq!(observation["status"], "complete", "{observation:#}");
            let counts = &observation["flows"][0]["counts"]["value"];
            assert_eq!(counts["corrupted_frames"], 0, "{observation:#}");
            assert_ne!(counts["good_frames"], 0, "{observation:#}");
        }
    }
    let echo = [
        &by_way("board:zynq7000", "echo", "driver")[..],
        &["--layer", "udp4", "--load", "200pps"],
    ]
    .concat();
    for (asked, why) in [
        (
            echo,
            "path: past the stack this node sends UDP and Ethernet; ask for transmit",
        ),
        (
            by_way("board:lpc1768", "tx", "driver"),
            "path: the board has one path, on which it polls; fix: leave it out",
        ),
    ] {
        let declined = wirelab(&asked);
        let said = stderr(&declined);
        assert_eq!(declined.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn without_privilege_wirelab_is_the_wire() {
    if !can_run("zynq7000") || !can_tap() {
        return;
    }
    let measure = |layer: &str| {
        as_nobody(&[
            "measure",
            "board:zynq7000",
            "--layer",
            layer,
            "--length",
            "256",
            "--direction",
            "rx,tx,echo",
            "--load",
            "100pps",
            "--frames",
            "32",
            "--no-ceiling",
            "--json",
        ])
    };
    let Some(output) = measure("udp4") else {
        skip("root", "there is no other user to try");
        return;
    };
    for output in [output, measure("ethernet").unwrap()] {
        let results: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
        let observations = results["observations"].as_array().unwrap();
        assert_eq!(observations.len(), 3);
        for observation in observations {
            assert_eq!(observation["status"], "complete", "{observation:#}");
            let counts = &observation["flows"][0]["counts"]["value"];
            assert!(
                counts["good_frames"].as_u64().unwrap() > 0,
                "{observation:#}"
            );
            assert_eq!(counts["good_frames"], counts["received_frames"]);
            let warnings = observation["warnings"].as_array().unwrap();
            assert!(warnings.iter().any(|w| w["code"] == "no-interface"));
        }
    }
    let tcp = as_nobody(&[
        "measure",
        "board:zynq7000",
        "--layer",
        "tcp4",
        "--no-ceiling",
        "--frame",
        "1518",
    ])
    .unwrap();
    assert_eq!(tcp.status.code(), Some(2));
    assert!(
        stderr(&tcp).contains("run it with sudo"),
        "{}",
        stderr(&tcp)
    );
}

#[test]
fn a_board_run_by_hand_is_found_answers_and_ends_with_its_command() {
    if !can_run("zynq7000") || !can_tap() {
        return;
    }
    let (mut running, about) = Running::board("zynq7000");
    let emulator = running.emulator();
    let (ip, namespace) = (
        about["ip"].as_str().unwrap(),
        about["namespace"].as_str().unwrap(),
    );
    until("a ping", || {
        let mut ping = Command::new("ip");
        ping.args(["netns", "exec", namespace, "ping", "-c1", "-W1", ip]);
        ping.output().unwrap().status.success().then_some(())
    });
    let list = json(&["board", "list", "--json"]);
    let mut shown = list["running"].as_array().unwrap().iter();
    let shown = shown
        .find(|r| r["process"] == running.0.id())
        .expect("it is in the list");
    let id = shown["id"].as_str().unwrap();
    // A line without its right check is answered with an error, so that the console is seen to send and receive.
    let mut console = Command::new(env!("CARGO_BIN_EXE_wirelab"));
    console.args(["board", "console", id]);
    console
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut console = console.spawn().unwrap();
    let mut typed = console.stdin.take().unwrap();
    typed.write_all(b"\n?0.7 hello version=1 *0000\n").unwrap();
    drop(typed);
    let heard = console.wait_with_output().unwrap();
    assert!(
        stdout(&heard).contains("bad-check"),
        "{}{}",
        stdout(&heard),
        stderr(&heard)
    );
    running.signal("-INT");
    assert_eq!(running.0.wait().unwrap().code(), Some(0));
    assert!(!lives(emulator));
    assert!(!std::path::Path::new("/run/netns").join(namespace).exists());
}

#[test]
fn a_killed_wirelab_leaves_no_emulator_and_no_namespace() {
    if !can_run("zynq7000") || !can_tap() {
        return;
    }
    let (mut running, about) = Running::board("zynq7000");
    let emulator = running.emulator();
    assert!(lives(emulator));
    running.signal("-KILL");
    running.0.wait().unwrap();
    until("QEMU is gone", || (!lives(emulator)).then_some(()));
    let namespace = std::path::Path::new("/run/netns").join(about["namespace"].as_str().unwrap());
    until("the namespace is gone", || {
        (!namespace.exists()).then_some(())
    });
    let list = json(&["board", "list", "--json"]);
    assert!(
        list["running"]
            .as_array()
            .unwrap()
            .iter()
            .all(|r| r["process"] != running.0.id())
    );
}

#[test]
fn a_board_that_dies_in_a_trial_ends_it_with_its_console() {
    if !can_run("zynq7000") || !can_tap() {
        return;
    }
    let running = Running::start(&[
        "measure",
        "board:zynq7000",
        "--layer",
        "udp4",
        "--length",
        "256",
        "--direction",
        "rx",
        "--load",
        "100pps",
        "--time",
        "100s",
        "--no-ceiling",
    ]);
    let emulator = running.emulator();
    let log = until("its folder", || {
        let list = json(&["board", "list", "--json"]);
        let mut all = list["running"].as_array().unwrap().clone().into_iter();
        all.find(|r| r["process"] == running.0.id())
    });
    assert_eq!(log["board"], "zynq7000");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let killed = Command::new("kill")
        .args(["-KILL", &emulator.to_string()])
        .status();
    assert!(killed.unwrap().success());
    let mut running = running;
    let mut text = String::new();
    use std::io::Read;
    running
        .0
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    running
        .0
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(running.0.wait().unwrap().code(), Some(1), "{text}");
    assert!(
        text.contains("signal: 9") && text.contains("READY name=zynq7000"),
        "{text}"
    );
}

#[test]
fn a_board_that_was_started_by_hand_says_that_it_is_emulated() {
    for board in ["zynq7000", "mps2-an385"] {
        if !can_run(board) || !can_tap() {
            return;
        }
        let (_running, about) = Running::board(board);
        let word = |key: &str| about[key].as_str().unwrap().to_owned();
        let node = format!("node:{}", word("ip"));
        let output = Command::new("ip")
            .args([
                "netns",
                "exec",
                &word("namespace"),
                env!("CARGO_BIN_EXE_wirelab"),
                "measure",
                &node,
            ])
            .args([
                "--layer",
                "udp4",
                "--length",
                "256",
                "--direction",
                "rx",
                "--load",
                "200pps",
            ])
            .args(["--frames", "64", "--no-ceiling", "--json"])
            .output()
            .unwrap();
        let results: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
        let observation = &results["observations"][0];
        assert_eq!(observation["status"], "complete", "{observation:#}");
        let told = observation["node"]["setup"]["emulator"].as_str();
        assert!(told.is_some_and(|by| by.contains("which is 0")), "{told:?}");
        let flow = &observation["flows"][0];
        for figure in ["frames_per_s", "counts", "loss_ratio"] {
            assert_eq!(
                flow[figure]["kind"], "emulated",
                "{board} {figure}: {flow:#}"
            );
        }
        let warnings = observation["warnings"].as_array().unwrap();
        let emulated = warnings.iter().filter(|w| w["code"] == "emulated");
        assert_eq!(emulated.count(), 1, "{warnings:?}");
    }
}
