//! `wirelab stages`: counted stages are the same in each run, and what grew is told from what did not.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::board_common::{can_run, can_tap};
use crate::common::{scratch, stderr, stdout, wirelab};
use crate::over::Over;
use serde_json::Value;
use wirelab_trial::ResultsFile;

fn table(args: &[&str]) -> Value {
    let output = wirelab(args);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Keeps every core of the host busy while `work` runs.
fn beside_busy_cores<T>(work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, |n| n.get()) {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let _over = Over(&over);
        work()
    })
}

fn counts_alike(board: &str) {
    if !can_run(board) {
        return;
    }
    let name = format!("board:{board}");
    let args = ["stages", &name, "--json", "--count", "100"];
    let first = table(&args);
    let rows = first["stages"].as_array().unwrap();
    // Two stages in each direction and their sum, at three lengths.
    assert_eq!(rows.len(), 18, "{first:#}");
    for row in rows {
        assert_eq!(
            (&row["clock"], &row["count"]),
            (&"instructions".into(), &100.into())
        );
        assert_eq!(row["tick_ps"], Value::Null);
        assert!(row["min_ticks"].as_u64().unwrap() > 10, "{row:#}");
    }
    for _ in 0..2 {
        assert_eq!(table(&args), first);
    }
    for _ in 0..2 {
        assert_eq!(beside_busy_cores(|| table(&args)), first);
    }
}

#[test]
fn five_runs_of_the_zynq_count_the_same() {
    counts_alike("zynq7000");
}

#[test]
fn five_runs_of_the_mps2_count_the_same() {
    counts_alike("mps2-an385");
}

fn shift(series: &mut Value, by: i64) {
    series.as_object_mut().unwrap().remove("intervals");
    let add = |ticks: &mut Value| *ticks = (ticks.as_i64().unwrap() + by).into();
    series["raw_ticks"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .for_each(add);
    let histogram = &mut series["histogram"];
    for end in ["min_ticks", "max_ticks"] {
        add(&mut histogram[end]);
    }
    // Below 2,048 each value has a bucket of its own.
    let buckets = histogram["buckets"].as_array_mut().unwrap();
    buckets.iter_mut().for_each(|bucket| add(&mut bucket[0]));
    let mean = histogram["mean_ticks"].as_f64().unwrap();
    histogram["mean_ticks"] = (mean + by as f64).into();
}

/// Make every sample of one stage so many instructions shorter or longer.
fn change(results: &Path, stage: &str, by: i64, into: &Path) {
    // As a value, and not as the text of the file, in which long lists are packed.
    let text = std::fs::read_to_string(results).unwrap();
    let mut file = serde_json::to_value(ResultsFile::parse(&text).unwrap()).unwrap();
    for observation in file["observations"].as_array_mut().unwrap() {
        for flow in observation["flows"].as_array_mut().unwrap() {
            for series in flow["series"].as_array_mut().unwrap() {
                if series["name"] == stage {
                    shift(series, by);
                }
            }
        }
    }
    std::fs::write(into, file.to_string()).unwrap();
}

#[test]
fn a_stage_that_grew_fails_and_one_that_shrank_does_not() {
    if !can_run("zynq7000") {
        return;
    }
    let results = scratch("stages.json");
    let path = results.to_str().unwrap();
    let call = [
        "stages",
        "board:zynq7000",
        "--length",
        "64",
        "--count",
        "16",
    ];
    let made = wirelab(&[&call[..], &["-o", path]].concat());
    assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
    let same = wirelab(&[&call[..], &["--against", path]].concat());
    assert_eq!(same.status.code(), Some(0), "{}", stderr(&same));
    assert!(stdout(&same).contains("as many instructions as before"));

    let other = scratch("other.json");
    let other_path = other.to_str().unwrap();
    change(&results, "driver to application", -1, &other);
    // From a file, which needs no board: the same table, compared.
    let grew = wirelab(&["stages", path, "--against", other_path]);
    assert_eq!(grew.status.code(), Some(1), "{}", stdout(&grew));
    let told = stdout(&grew);
    assert!(
        told.contains("driver to application at length 64: grew from"),
        "{told}"
    );
    change(&results, "driver to application", 1, &other);
    let shrank = wirelab(&["stages", path, "--against", other_path, "--json"]);
    assert_eq!(shrank.status.code(), Some(0), "{}", stderr(&shrank));
    let told: Value = serde_json::from_slice(&shrank.stdout).unwrap();
    assert_eq!(told["changes"].as_array().unwrap().len(), 1, "{told:#}");
}

#[test]
fn what_has_no_stages_is_refused_with_the_fix() {
    let model = wirelab(&[
        "measure", "lpc1768", "--length", "64", "--frames", "5", "--json",
    ]);
    assert!(model.status.success(), "{}", stderr(&model));
    let results = scratch("no-stages.json");
    std::fs::write(&results, &model.stdout).unwrap();
    let path = results.to_str().unwrap();
    for (args, code, words) in [
        (&["stages", "board:zynq"][..], 2, "there is no board 'zynq'"),
        (&["stages", path], 2, "has no capture points"),
        (
            &["stages", path, "--json"],
            2,
            "fix: name a node with points (lab:1, lab:NAME, node:HOST",
        ),
        // Any node's own reason, of a trial that could not begin.
        (
            &["stages", "lpc1768", "--length", "20", "--json"],
            2,
            "length 20 is too small",
        ),
        (
            &["stages", path, "--fast-track", "port=1026"],
            2,
            "--fast-track has no meaning for",
        ),
        (
            &["stages", path, "--length", "64"],
            2,
            "measure the node again",
        ),
        (
            &["stages", "board:zynq7000", "--against", path],
            2,
            "no stages counted",
        ),
        (&["stages", "/nonexistent.json"], 2, "/nonexistent.json"),
        (
            &[
                "stages",
                "board:zynq7000",
                "--wall",
                "--image",
                "/nonexistent.elf",
            ],
            2,
            "nonexistent.elf",
        ),
        (
            &["stages", "node:127.0.0.1", "--image", "any.elf"],
            2,
            "--image has no meaning for 'node:127.0.0.1'",
        ),
        (
            &["stages", "board:zynq7000", "-o", "page.pdf"],
            2,
            "page.pdf",
        ),
    ] {
        let output = wirelab(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert!(
            stderr(&output).contains(words),
            "{args:?}: {}",
            stderr(&output)
        );
        assert_eq!(stdout(&output), "", "{args:?}: nothing is half written");
    }
}

#[test]
fn what_a_board_cannot_count_is_reported_in_its_words() {
    if !can_run("zynq7000") {
        return;
    }
    let hostile = scratch("no-image.elf");
    std::fs::write(&hostile, "no firmware").unwrap();
    let hostile = hostile.to_str().unwrap();
    for (args, words) in [
        (["--length", "2000", "--count", "1"], "the limit is 1514"),
        (
            ["--length", "64", "--count", "99999999"],
            "keeps the records of 1 to",
        ),
        (["--length", "64", "--image", hostile], "fix: give a 32-bit"),
    ] {
        let output = wirelab(&[&["stages", "board:zynq7000"][..], &args].concat());
        assert_eq!(
            output.status.code(),
            Some(2),
            "{args:?}: {}",
            stdout(&output)
        );
        assert!(
            stderr(&output).contains(words),
            "{args:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn times_over_a_tap_have_the_least_the_usual_and_the_number_of_others() {
    if !can_run("zynq7000") || !can_tap() {
        return;
    }
    let found = table(&[
        "stages",
        "board:zynq7000",
        "--wall",
        "--length",
        "64",
        "--count",
        "32",
        "--json",
    ]);
    let rows = found["stages"].as_array().unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        let number = |key: &str| {
            row[key]
                .as_u64()
                .unwrap_or_else(|| panic!("{key}: {row:#}"))
        };
        assert_eq!(row["clock"], "wall");
        assert!(number("min_ticks") <= number("mode_ticks"), "{row:#}");
        assert!(number("outliers") < number("count"), "{row:#}");
    }
}
