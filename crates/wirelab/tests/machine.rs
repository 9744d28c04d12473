//! `wirelab stages qemu:…`: counts that repeat, a function that grew and is named, and machines that are wrong.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::board_common::{as_nobody, can_run, can_tap, skip};
use crate::common::{refused, scratch, stderr, stdout, wirelab};
use serde_json::Value;

/// An empty folder of a test.
fn own_folder(name: &str) -> PathBuf {
    let folder = scratch(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The folder of the build of a board's image.
fn build(board: &str) -> PathBuf {
    let image = wirelab_trial::images::installed(&format!("{board}.elf")).unwrap();
    image.parent().unwrap().join(format!("build-{board}"))
}

fn shell(folder: &Path, command: &str) {
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{command}: {}", stderr(&output));
}

/// The image of a board whose function `udp_input` of lwIP has a loop more.
fn with_a_loop(board: &str, folder: &Path) -> PathBuf {
    let build = build(board);
    let target = format!("{board}.elf");
    let commands = Command::new("ninja")
        .arg("-C")
        .arg(&build)
        .args(["-t", "commands", &target])
        .output()
        .unwrap();
    let commands = stdout(&commands);
    let compile = commands
        .lines()
        .find(|line| line.ends_with("/core/udp.c"))
        .unwrap();
    let (before, source) = compile.rsplit_once(" -c ").unwrap();
    let (own, object) = (folder.join("udp.c"), folder.join("udp.obj"));
    let text = std::fs::read_to_string(source).unwrap();
    let (head, body) = text
        .split_once("udp_input(struct pbuf *p, struct netif *inp)")
        .unwrap();
    let body = body.replacen('{', "{ for (volatile int n = 0; n < 8; n++) { }", 1);
    let whole = format!("{head}udp_input(struct pbuf *p, struct netif *inp){body}");
    std::fs::write(&own, whole).unwrap();
    let before = before.split(" -MD ").next().unwrap();
    shell(
        &build,
        &format!("{before} -o {} -c {}", object.display(), own.display()),
    );
    // An object before the libraries replaces theirs.
    let image = folder.join("slower.elf");
    let link = commands
        .lines()
        .rfind(|line| line.contains("-Map="))
        .unwrap();
    let link = link.replace(&format!("-o {target}"), &format!("-o {}", image.display()));
    let map = format!("-Map={board}.map");
    let link = link.replace(
        &map,
        &format!("-Map={} {}", folder.join("map").display(), object.display()),
    );
    shell(&build, &link);
    image
}

#[test]
fn an_added_loop_fails_the_gate_by_the_name_of_its_function() {
    if !can_run("mps2-an385") {
        return;
    }
    let folder = own_folder("machine-gate");
    let file = |name: &str| folder.join(name).display().to_string();
    let count = [
        "stages",
        "qemu:mps2-an385",
        "--length",
        "64",
        "--count",
        "32",
    ];
    let run = |more: &[&str]| wirelab(&[&count[..], more].concat());
    let before = file("before.json");
    assert!(run(&["-o", &before]).status.success());
    let same = run(&[
        "--against",
        &before,
        "--gate",
        "+2%",
        "-o",
        &file("same.xml"),
    ]);
    assert!(same.status.success(), "{}", stderr(&same));
    assert!(stdout(&same).contains("Every stage takes as many instructions as before."));
    let passed = std::fs::read_to_string(file("same.xml")).unwrap();
    assert!(passed.contains("tests=\"5\" failures=\"0\""), "{passed}");

    let image = with_a_loop("mps2-an385", &folder).display().to_string();
    let (xml, svg, page) = (file("slower.xml"), file("slower.svg"), file("slower.html"));
    let slower = [
        "--image",
        &image,
        "--against",
        &before,
        "-o",
        &xml,
        "-o",
        &svg,
        "-o",
        &page,
    ];
    let failed = run(&[&slower[..], &["--gate", "+2%"]].concat());
    assert_eq!(failed.status.code(), Some(1), "{}", stdout(&failed));
    let told = stderr(&failed);
    assert!(
        told.contains("stack to application at length 64: the median grew from"),
        "{told}"
    );
    assert!(told.contains("; udp_input by "), "{told}");
    let cases = std::fs::read_to_string(&xml).unwrap();
    assert!(
        cases.contains("tests=\"5\" failures=\"1\"") && cases.contains("udp_input by"),
        "{cases}"
    );
    assert!(stdout(&failed).contains("Functions that changed"));
    let read = |file: &str| std::fs::read_to_string(file).unwrap();
    let (svg, page) = (read(&svg), read(&page));
    assert!(svg.contains("<title>udp_input: ") && svg.contains(", before "));
    assert!(page.contains("\"is_difference\":true") && page.contains("\"udp_input\""));
    // What a stage may grow is for the user to say; without a limit nothing may.
    let wide = run(&[&slower[..], &["--gate", "+100%"]].concat());
    assert!(wide.status.success(), "{}", stderr(&wide));
    assert_eq!(run(&slower).status.code(), Some(1));
}

#[test]
fn five_runs_of_each_machine_count_the_same() {
    for board in ["mps2-an385", "zynq7000"] {
        if !can_run(board) {
            return;
        }
        let name = format!("qemu:{board},kinds");
        let folder = own_folder(&format!("machine-five-{board}"));
        let file = folder.join("run.json").display().to_string();
        let table = || -> (Vec<Value>, Value) {
            let _ = std::fs::remove_file(&file);
            let output = wirelab(&[
                "stages", &name, "--json", "--count", "100", "--length", "64,1470", "-o", &file,
            ]);
            assert!(output.status.success(), "{}", stderr(&output));
            let all: Value = serde_json::from_slice(&output.stdout).unwrap();
            let rows = all["stages"].as_array().unwrap();
            let own = rows.iter().filter(|row| row["cumulated"] == false);
            let kept = own.map(|row| {
                serde_json::json!([
                    row["from"],
                    row["to"],
                    row["length_bytes"],
                    row["median_ticks"],
                    row["count"]
                ])
            });
            let kinds = all["trials"].as_array().unwrap().iter().map(|trial| {
                let counters = trial["counters"].as_object().unwrap();
                assert!(
                    counters["receive.driver to stack.loads"]["value"].as_u64() > Some(1000),
                    "{counters:?}"
                );
                counters["receive.unattributed_frames"]["value"].clone()
            });
            assert!(kinds.into_iter().all(|apart| apart.as_u64() < Some(5)));
            // The counts of all frames, one by one.
            let whole: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            (kept.collect(), whole["samples"].clone())
        };
        let (first, frames) = table();
        assert_eq!(first.len(), 10, "five stages at two lengths");
        assert!(first.iter().all(|row| row[4] == 100), "{first:?}");
        assert_eq!(frames.as_array().unwrap().len(), 10);
        for _ in 0..4 {
            assert_eq!(table(), (first.clone(), frames.clone()), "{board}");
        }
    }
}

#[test]
fn counting_needs_no_privilege() {
    if !can_run("mps2-an385") {
        return;
    }
    let run = ["stages", "qemu:mps2-an385", "--length", "64", "--count"];
    let Some(output) = as_nobody(&[&run[..], &["16"]].concat()) else {
        skip("root", "there is no other user to try");
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("interrupt to application"));
}

#[test]
fn a_machine_is_measured_over_its_network() {
    if !can_run("mps2-an385") || !can_tap() {
        return;
    }
    let file = own_folder("machine-measured").join("run.json");
    let file = file.display().to_string();
    let asked = "measure qemu:mps2-an385 --layer udp4 --direction rx --length 512 --rate 1M --frames 200 -o";
    let output = wirelab(&[&asked.split(' ').collect::<Vec<_>>()[..], &[&file]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let whole: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let observation = &whole["observations"][0];
    let counts = &observation["flows"][0]["counts"];
    assert_eq!(counts["kind"], "emulated", "{observation}");
    assert_eq!(counts["value"]["received_frames"], 200, "{counts}");
    let setup = &observation["node"]["setup"];
    assert_eq!(setup["machine"], "mps2-an385", "{setup}");
}

/// A machine file of the MPS2 with one change.
fn changed(folder: &Path, name: &str, from: &str, to: &str) -> String {
    let whole = include_str!("../../../machines/mps2-an385.toml");
    assert!(whole.contains(from), "{from}");
    let path = folder.join(name);
    std::fs::write(&path, whole.replace(from, to)).unwrap();
    format!("qemu:{}", path.display())
}

#[test]
fn a_wrong_machine_file_gets_an_error_that_says_what_and_how_to_repair_it() {
    refused(&["stages", "qemu:"], "names no machine");
    refused(&["stages", "qemu:mps2"], "unknown machine 'mps2'");
    refused(&["stages", "qemu:/no/such.toml"], "/no/such.toml");
    refused(
        &["stages", "qemu:mps2-an385", "--gate", "+2%"],
        "--against FILE.json",
    );
    refused(
        &[
            "stages",
            "qemu:mps2-an385",
            "--gate",
            "x",
            "--against",
            "y.json",
        ],
        "--gate: invalid share 'x'",
    );
    if !can_run("mps2-an385") {
        return;
    }
    let folder = own_folder("machine-wrong");
    let told = |node: &str, more: &[&str], status: i32, words: &[&str]| {
        let output = wirelab(
            &[
                &["stages", node, "--length", "64", "--count", "16"][..],
                more,
            ]
            .concat(),
        );
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{said}");
        for word in words {
            assert!(said.contains(word), "{word}: {said}");
        }
    };
    let file = |name: &str, from: &str, to: &str| changed(&folder, name, from, to);
    let near = file("near.toml", "\"udp_input\"", "\"udp_inptu\"");
    told(
        &near,
        &[],
        2,
        &[
            "the point 'stack' of receive",
            "no symbol 'udp_inptu'; did you mean udp_input",
        ],
    );
    let two = file("two.toml", "\"echo.c:came\"", "\"came\"");
    told(
        &two,
        &[],
        2,
        &[
            "functions are called 'came'; fix: write one of",
            "echo.c:came",
        ],
    );
    let never = file("never.toml", "\"udp_input\"", "\"tcp_input\"");
    told(
        &never,
        &[],
        1,
        &["never reached: stack (tcp_input)", "fix:"],
    );
    let silent = file("silent.toml", "ready = \"READY", "ready = \"STEADY");
    let silent = silent.clone();
    let text = std::fs::read_to_string(silent.strip_prefix("qemu:").unwrap()).unwrap();
    std::fs::write(
        silent.strip_prefix("qemu:").unwrap(),
        format!("patience = \"500ms\"\n{text}"),
    )
    .unwrap();
    told(
        &silent,
        &[],
        1,
        &["did not come up", "READY name=mps2-an385", "fix:"],
    );
    let none = file(
        "none.toml",
        "[console]\nready = \"READY name=mps2-an385\"",
        "[address]\nfrom = \"dhcp\"",
    );
    let text = std::fs::read_to_string(none.strip_prefix("qemu:").unwrap()).unwrap();
    let text = format!("patience = \"500ms\"\n{text}");
    std::fs::write(none.strip_prefix("qemu:").unwrap(), text).unwrap();
    told(&none, &[], 1, &["it took no address by DHCP", "fix:"]);
    let kick = file("kick.toml", "sleeps = 1", "kicks = [\"mac_sent\"]");
    told(
        &kick,
        &[],
        2,
        &["kicks: the image has no symbol 'mac_sent'; did you mean mac_send"],
    );
    let image = wirelab_trial::images::installed("mps2-an385.elf").unwrap();
    let stripped = folder.join("stripped.elf");
    let strip = Command::new("arm-none-eabi-strip")
        .arg("-o")
        .arg(&stripped)
        .arg(&image)
        .status();
    assert!(strip.unwrap().success());
    let stripped = stripped.display().to_string();
    told(
        "qemu:mps2-an385",
        &["--image", &stripped],
        2,
        &["it is stripped; fix:"],
    );
    let text = folder.join("text.elf");
    std::fs::write(&text, "no image").unwrap();
    told(
        "qemu:mps2-an385",
        &["--image", &text.display().to_string()],
        2,
        &["not a complete ELF file", "fix:"],
    );
    // A QEMU without plugins says so and ends; one that does something else is reported with its end.
    for (name, script, words) in [
        (
            "old",
            "echo 'qemu: -plugin: invalid option' >&2; exit 1",
            "does not load plugins (qemu: -plugin: invalid option); fix:",
        ),
        (
            "dead",
            "echo 'qemu: no such machine' >&2; exit 1",
            "QEMU says: qemu: no such machine",
        ),
    ] {
        let program = folder.join(name);
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        shell(&folder, &format!("chmod +x {}", program.display()));
        let node = file(
            &format!("{name}.toml"),
            "program = \"qemu-system-arm\"",
            &format!("program = \"{}\"", program.display()),
        );
        told(&node, &[], if name == "old" { 2 } else { 1 }, &[words]);
    }
    let missing = file(
        "missing.toml",
        "program = \"qemu-system-arm\"",
        "program = \"qemu-system-none\"",
    );
    told(&missing, &[], 2, &["qemu-system-none is not installed"]);
    // Nothing is left behind: no emulator, no namespace of these runs.
    let own = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .any(|process| {
            let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&stripped)
        });
    assert!(!own);
}
