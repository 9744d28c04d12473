//! The commands about models as a user calls them: figures, files, exit statuses, errors.

use crate::common;
use crate::common::{json, refused, scratch, stderr, stdout, wirelab};

fn text(path: &std::path::Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn predict_takes_the_options_of_measure_and_changes_the_node_first() {
    let ask = |extra: &[&str]| {
        let mut args = vec![
            "predict",
            "lpc1768",
            "--length",
            "1514",
            "--frames",
            "50",
            "--buffers",
            "copied",
            "--json",
        ];
        args.extend(extra);
        let file = json(&args);
        file["observations"][0]["flows"][0]["elapsed"]["value"]["ps"]
            .as_u64()
            .expect("a time")
    };
    assert_eq!(ask(&[]) / 10_000_000, 1_043, "10.44 ms");
    assert_eq!(ask(&["--set", "in-flight=2"]) / 10_000_000, 633);
    assert_eq!(ask(&["--set", "alternative=dma-copy"]) / 10_000_000, 710);
}

#[test]
fn measure_takes_a_model_and_says_predicted() {
    let output = wirelab(&[
        "measure",
        "ethernet-fmc",
        "--payload",
        "66,1498",
        "--direction",
        "both",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let table = stdout(&output);
    assert!(table.contains("predicted"), "{table}");
    assert!(
        table.contains("63.46") && table.contains("97.53"),
        "{table}"
    );
    assert!(
        !table.contains("tester limited"),
        "a model needs no tester: {table}"
    );
}

#[test]
fn latency_comes_by_point_and_by_stage() {
    let output = wirelab(&[
        "predict",
        "zynq-emaclite",
        "--length",
        "64,256,1024",
        "--direction",
        "rx",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let table = stdout(&output);
    for text in ["Rx PBUF", "Rx UDP", "stage rx-copy", "3 σ"] {
        assert!(table.contains(text), "{text} is missing in\n{table}");
    }
}

#[test]
fn a_results_file_is_explained_with_the_rate_of_its_link() {
    let results = scratch("no-rate.json");
    let mut file: serde_json::Value = {
        let made = scratch("rate.json");
        let args = [&common::PREDICT[..], &["-o", text(&made)]].concat();
        assert!(wirelab(&args).status.success());
        let text = std::fs::read_to_string(&made).unwrap();
        let text = text
            .replace("calibrated", "measured")
            .replace("predicted", "measured");
        serde_json::from_str(&text).unwrap()
    };
    // Figures of a real node whose port reported no rate: 58.93 Mbit/s of a link.
    let o = &mut file["observations"][0];
    o["node"]["kind"] = "iperf".into();
    o["node"]
        .as_object_mut()
        .expect("an object")
        .remove("facts");
    o["node"]["name"] = "iperf:192.0.2.7".into();
    o["node"]["capabilities"]["link_bits_per_s"] = serde_json::Value::Null;
    o["trial"]["link_bits_per_s"] = serde_json::Value::Null;
    std::fs::write(&results, file.to_string()).unwrap();
    let explained = |more: &[&str]| {
        let output = wirelab(&[&["explain", text(&results)], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let without = explained(&[]);
    assert!(
        without.contains("no link rate") && !without.contains("the wire: 9"),
        "{without}"
    );
    let with = explained(&["--rate", "59M"]);
    assert!(
        with.contains("link 59") && with.contains("the wire: 99.8"),
        "{with}"
    );
    refused(
        &["explain", text(&results), "--rate", "100M", "--frame", "64"],
        "only --rate may be given",
    );
    file["observations"][0]["trial"]["link_bits_per_s"] = 100_000_000u64.into();
    std::fs::write(&results, file.to_string()).unwrap();
    refused(
        &["explain", text(&results), "--rate", "1G"],
        "trial 1 was measured with a link of 100 Mbit/s; fix: leave --rate out",
    );
}

#[test]
fn explain_writes_a_page_of_its_own() {
    let page = scratch("explain.html");
    let output = wirelab(&[
        "explain",
        "lpc1768",
        "--length",
        "1514",
        "--buffers",
        "copied",
        "-o",
        text(&page),
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("Serialization limits"));
    let html = std::fs::read_to_string(&page).expect("it was written");
    assert!(html.contains("<figure") && html.contains("copy-cpu"));
}

#[test]
fn whatif_writes_a_page_with_its_changes_ranked() {
    let page = scratch("whatif.html");
    let asked = ["whatif", "lpc1768", "--buffers", "copied", "--length"];
    let output = wirelab(&[&asked[..], &["1514", "-o", text(&page)]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let html = std::fs::read_to_string(&page).expect("it was written");
    assert!(html.contains("in-flight=2: +67.04 %"), "{html}");
    let output = wirelab(&[&asked[..], &["64,1514", "-o", text(&page)]].concat());
    assert!(stderr(&output).contains("-o writes the page of one trial"));
}

/// A shell takes the options as they stand in the table, and `explain` then names the limit that stands beside them.
#[test]
fn options_that_whatif_prints_can_be_pasted() {
    let shell = |command: &str| {
        let line = format!("exec \"$0\" {command} --length 1514 --buffers copied");
        let program = env!("CARGO_BIN_EXE_wirelab");
        let mut sh = std::process::Command::new("sh");
        let output = sh.args(["-c", &line, program]).env("COLUMNS", "400");
        let output = output.output().expect("a shell");
        assert!(output.status.success(), "{command}: {}", stderr(&output));
        stdout(&output)
    };
    let table = shell("whatif lpc1768");
    let cells = |line: &str| -> Vec<String> { line.split("  ").map(str::to_owned).collect() };
    let rows = table.lines().map(cells);
    let mut pasted = 0;
    for row in rows {
        let Some(at) = row.iter().position(|cell| cell.starts_with("--set ")) else {
            continue;
        };
        let explained = shell(&format!("explain lpc1768 {}", row[at]));
        let limit = row.last().expect("what limits then");
        let answer = match limit {
            limit if limit.ends_with("limited by the wire") => "The wire limits",
            limit if limit.ends_with("limited by cpu, never idle") => "cpu limits",
            limit if limit.contains("serialization: room for 1 frame (frames in flight)") => {
                "there is room for only 1 frame (frames in flight)"
            }
            limit => panic!("{limit}"),
        };
        assert!(explained.contains(answer), "{row:?}: {explained}");
        pasted += 1;
    }
    assert!(pasted > 9, "{table}");
}

#[test]
fn json_on_the_screen_is_the_json_of_the_file() {
    let page = scratch("answer.json");
    for command in ["explain", "whatif"] {
        let asked = [command, "lpc1768", "--buffers", "copied", "--length"];
        let output = wirelab(&[&asked[..], &["1514", "--json", "-o", text(&page)]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let written = std::fs::read_to_string(&page).expect("it was written");
        assert_eq!(stdout(&output), written, "{command}");
        // Of several trials there is an object for each.
        let output = stdout(&wirelab(&[&asked[..], &["64,1514", "--json"]].concat()));
        let all = serde_json::Deserializer::from_str(&output).into_iter::<serde_json::Value>();
        let all: Vec<_> = all.map(|one| one.expect("JSON")).collect();
        let length = |one: &serde_json::Value| one["sizes"]["length_bytes"].as_u64();
        let lengths: Vec<_> = all.iter().map(length).collect();
        assert_eq!(lengths, [Some(64), Some(1514)], "{command}");
    }
}

#[test]
fn what_measure_keeps_can_be_explained_and_fitted() {
    let results = scratch("fit.json");
    let node = scratch("fit.toml");
    let output = wirelab(&[
        "predict",
        "am263x",
        "--layer",
        "udp4",
        "--datagram",
        "128,256,512,1024,1470",
        "--direction",
        "rx",
        "--load",
        "5M,10M",
        "--time",
        "200ms",
        "-o",
        text(&results),
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let explained = wirelab(&["explain", text(&results)]);
    assert!(explained.status.success(), "{}", stderr(&explained));
    let fitted = wirelab(&["fit", text(&results), "-o", text(&node)]);
    assert!(fitted.status.success(), "{}", stderr(&fitted));
    let shown = stdout(&fitted);
    assert!(shown.contains("leave-one-out error"), "{shown}");
    // None is out of line, so nothing follows the count of cells.
    assert!(shown.contains(" cells)\n"), "{shown}");
    for command in ["predict", "explain", "whatif"] {
        let output = wirelab(&[
            command,
            text(&node),
            "--layer",
            "udp4",
            "--datagram",
            "512",
            "--direction",
            "rx",
            "--load",
            "10M",
        ]);
        assert!(output.status.success(), "{command}: {}", stderr(&output));
    }
}

#[test]
fn whatif_ranks_the_second_frame_in_flight_first() {
    let all = json(&[
        "whatif",
        "lpc1768",
        "--length",
        "1514",
        "--buffers",
        "copied",
        "--json",
    ]);
    let best = &all["singles"][0];
    assert_eq!(best["set"][0], "in-flight=2", "{best}");
    assert!((best["gain_percent"].as_f64().expect("a gain") - 67.04).abs() < 0.01);
}

#[test]
fn audit_ends_with_1_where_a_figure_cannot_be_true() {
    let output = wirelab(&["audit", "ethernet-fmc"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(
        text.contains("sampling artefact of a 100 MHz probe"),
        "{text}"
    );
    assert_eq!(wirelab(&["audit", "--json"]).status.code(), Some(1));
}

#[test]
fn a_cycle_has_the_delays_of_its_nodes() {
    let times = json(&[
        "predict",
        "zynq-emaclite",
        "--layer",
        "udp4",
        "--cycle",
        "10",
        "--data",
        "16",
        "--json",
    ]);
    assert_eq!(times["summation"]["cycle_ps"], 26_960_000);
    let with = times["individual"]["cycle_with_node_ps"]["value"]
        .as_u64()
        .expect("a time");
    let without = times["individual"]["cycle_ps"].as_u64().expect("a time");
    assert!(with > without);
}

#[test]
fn what_is_wrong_is_status_2_and_names_the_fix() {
    let cases: [(&[&str], &str); 12] = [
        (&["predict", "lpc1786"], "did you mean 'lpc1768'?"),
        (&["predict", "lpc1768", "--set", "in-fligth=2"], "in-flight"),
        (
            &["predict", "lpc1768", "--set", "in-flight"],
            "--set in-flight",
        ),
        (&["predict", "lpc1768", "--direction", "rx"], "transmit"),
        (&["predict", "lpc1768", "--cycle", "0"], "ask for 1 to"),
        (
            &["predict", "lpc1768", "--cycle", "10", "--length", "1514"],
            "cannot be used with",
        ),
        (&["explain", "/nonexistent.json"], "give a results file"),
        (&["explain", "/nonexistent.toml"], "/nonexistent.toml"),
        (
            &["whatif", "lpc1768", "--by", "luck"],
            "throughput, load, latency",
        ),
        (&["fit", "/nonexistent.json"], "give a results file"),
        (&["audit", "zync"], "did you mean 'zynq'?"),
        (&["study", "run", "nxp"], "there is no study"),
    ];
    for (args, text) in cases {
        let output = wirelab(args);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(text), "{args:?}: {error}");
        assert!(
            error.matches("--set in-f").count() <= 1,
            "said twice: {error}"
        );
    }
}

#[test]
fn fit_refuses_too_few_points() {
    let results = scratch("few.json");
    let output = wirelab(&[
        "predict",
        "lpc1768",
        "--length",
        "1514",
        "--frames",
        "50",
        "-o",
        text(&results),
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let fitted = wirelab(&["fit", text(&results)]);
    assert_eq!(fitted.status.code(), Some(2));
    assert!(
        stderr(&fitted).contains("too few points"),
        "{}",
        stderr(&fitted)
    );
}
