//! Long lists of a results file: packed behind its text, the same when they are back, small, and refused when they do not fit.

use std::path::PathBuf;

use serde_json::{Value, json};
use wirelab_statistics::random::SplitMix64;
use wirelab_trial::results_reader::MOST_VALUES;
use wirelab_trial::{Clock, FixedSeries, Histogram, ResultsFile, Series, SeriesBuilder};

fn read(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn hdl() -> ResultsFile {
    ResultsFile::parse(&read("../../spec/examples/hdl.json")).unwrap()
}

/// Latencies in ns as a pair of ports has them: batches that wait for each other, noise, and rare stalls.
fn latencies(seed: u64, count: usize) -> Series {
    let mut random = SplitMix64::new(seed);
    let ticks = (0..count as u64).map(|at| {
        let noise = (random.next_u64() & random.next_u64()).count_ones() as u64;
        let stall = if random.below(5_000) == 0 {
            random.below(2_000_000)
        } else {
            0
        };
        3_000 + 64 * (at % 64) + 7 * noise + stall
    });
    let ticks: Vec<u64> = ticks.collect();
    let mut series = SeriesBuilder::new(FixedSeries::LATENCY, Clock::TESTER_NS, seed).finish();
    series.histogram = Histogram::of(Some(1_000), ticks.iter().copied());
    series.raw_ticks = ticks.into();
    series
}

/// Five trials of eight flows, as `measure lab:4 --direction both` has them with sizes from 66 to 1,498 bytes.
fn five_trials() -> ResultsFile {
    let mut file = hdl();
    let one = file.observations.remove(0);
    for trial in 0..5 {
        let mut one = one.clone();
        one.flows = (0..8).map(|_| one.flows[0].clone()).collect();
        for (at, flow) in one.flows.iter_mut().enumerate() {
            flow.series = vec![latencies(trial * 8 + at as u64, 40_000)];
        }
        file.observations.push(one);
    }
    file
}

#[test]
fn what_had_33_mb_has_less_than_2_and_comes_back_the_same() {
    let file = five_trials();
    // Version 1 was this text.
    let before = serde_json::to_string_pretty(&file).unwrap().len();
    assert!(before > 33_000_000, "{before} bytes");
    let text = file.to_json();
    assert!(text.len() < 2_000_000, "{} bytes", text.len());
    assert!(ResultsFile::parse_unchecked(&text).unwrap() == file);
    assert!(text == file.to_json(), "the same file has the same bytes");
    let (figures, lists) = text.split_once("\n  \"samples\": [").unwrap();
    assert!(figures.len() < 200_000, "{} bytes", figures.len());
    assert!(lists.ends_with("]\n}\n"), "the lists are at the end");
    assert!(
        text.lines()
            .all(|line| line.len() <= 120 || line.starts_with("    \""))
    );
}

#[test]
fn a_file_of_version_1_opens_and_is_written_as_version_2() {
    let old = read("tests/old/version-1.json");
    assert!(old.contains("\"version\": 1,"));
    let file = ResultsFile::parse(&old).unwrap();
    assert!(file == hdl());
    assert_eq!(file.observations[0].flows[0].series[0].raw_ticks.len(), 512);
    assert!(file.to_json() == read("../../spec/examples/hdl.json"));
}

#[test]
fn a_sample_that_differs_is_one_line_that_differs() {
    let (before, mut after) = (hdl(), hdl());
    after.observations[0].flows[0].series[0].raw_ticks[7] += 1;
    let (before, after) = (before.to_json(), after.to_json());
    let differ = before.lines().zip(after.lines()).filter(|(a, b)| a != b);
    let differ: Vec<&str> = differ.map(|(_, after)| after).collect();
    assert!(
        differ.len() == 1 && differ[0].starts_with("  \"samples\": [\""),
        "{differ:?}"
    );
}

#[test]
fn lists_that_do_not_fit_are_refused_with_their_place() {
    let text = read("../../spec/examples/hdl.json");
    const ROWS: &str = "/observations/0/flows/0/series/0/raw_ticks";
    type Change = fn(&mut Value);
    let changes: [(Change, &str); 8] = [
        (
            |v| {
                v["observations"][0]["flows"][0]["series"][0]["percentiles"]["p50_ticks"] =
                    json!(32)
            },
            "percentiles: they are not those of the samples",
        ),
        (
            |v| *v.pointer_mut(ROWS).unwrap() = json!(17),
            "cannot be decompressed",
        ),
        (
            |v| *v.pointer_mut(ROWS).unwrap() = json!(40_000),
            "bytes for 40000 numbers",
        ),
        (
            |v| *v.pointer_mut(ROWS).unwrap() = json!(u64::MAX),
            "more than 40000000 values",
        ),
        (
            |v| *v.pointer_mut(ROWS).unwrap() = json!(-1),
            "or the number of its rows in 'samples'",
        ),
        (|v| v["samples"][0] = json!("no base64!"), "is not base64"),
        (|v| v["samples"] = json!([]), "is missing"),
        (
            |v| v["samples"].as_array_mut().unwrap().push(json!("")),
            "belong to no series",
        ),
    ];
    for (change, why) in changes {
        let mut value: Value = serde_json::from_str(&text).unwrap();
        change(&mut value);
        let error = ResultsFile::parse(&value.to_string())
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{error}, not {why}");
        let of_lists = error.contains("'samples'") && !error.contains("at line");
        let named = error.contains("observation 1, \"") || error.contains("at the end");
        assert!(!of_lists || (named && error.contains("; fix: ")), "{error}");
    }
}

#[test]
fn the_values_of_text_and_lists_are_bounded_together() {
    let mut value: Value = serde_json::from_str(&read("../../spec/examples/hdl.json")).unwrap();
    let series = &mut value["observations"][0]["flows"][0]["series"];
    *series = json!([series[0], series[0]]);
    let text = value.to_string().matches(',').count() + 512;
    // The second list is not there: the bound is looked at before it.
    for (more, why) in [(0, "is missing"), (1, "more than 40000000 values")] {
        let rows = json!(MOST_VALUES - text + more);
        value["observations"][0]["flows"][0]["series"][1]["raw_ticks"] = rows;
        let error = ResultsFile::parse(&value.to_string()).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}
