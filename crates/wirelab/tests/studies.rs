//! The five documents: every figure has a row, held-out ones are within what was promised, and no prediction changes
//! unseen.

use std::collections::BTreeSet;

use crate::common::{json, stderr, stdout, wirelab};
use serde_json::Value;

/// The figures of a study, or of all.
fn run(study: &str) -> Vec<Value> {
    let Value::Array(figures) = json(&["study", "run", study, "--json"]) else {
        panic!("a list");
    };
    assert!(!figures.is_empty());
    figures
}

fn word<'a>(figure: &'a Value, key: &str) -> &'a str {
    figure[key].as_str().unwrap_or_default()
}

fn held_out<'a>(
    figures: &'a [Value],
    metric: &'a str,
    row: impl Fn(&str) -> bool + 'a,
) -> Vec<&'a Value> {
    let found: Vec<&Value> = figures
        .iter()
        .filter(|f| word(f, "role") == "held-out" && word(f, "metric") == metric)
        .filter(|f| row(word(f, "row")))
        .collect();
    assert!(!found.is_empty(), "no held-out {metric}");
    found
}

fn error(figure: &Value) -> f64 {
    let percent = figure["error_percent"].as_f64();
    percent
        .unwrap_or_else(|| panic!("no error in {figure}"))
        .abs()
}

fn within(figures: &[&Value], percent: f64) {
    for figure in figures {
        assert!(error(figure) <= percent, "{figure}");
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = values.collect();
    all.iter().sum::<f64>() / all.len() as f64
}

/// Published minus value, in the printed unit.
fn difference(figure: &Value) -> f64 {
    let number = |key: &str| figure[key].as_f64().expect("a number");
    (number("value") - number("published")).abs()
}

#[test]
fn every_predicted_figure_is_held_by_a_snapshot() {
    let Value::Array(figures) = json(&["study", "run", "--all", "--json"]) else {
        panic!("a list");
    };
    let studies: BTreeSet<&str> = figures.iter().map(|f| word(f, "study")).collect();
    assert_eq!(studies, wirelab_study::library::names().collect());
    let lines: Vec<String> = figures
        .iter()
        .map(|f| {
            let value = f["value"]
                .as_f64()
                .map_or("–".to_owned(), |v| format!("{v:.6}"));
            format!(
                "{} | {} | {} | {} {} | {value} | {} | {}",
                word(f, "study"),
                word(f, "row"),
                word(f, "metric"),
                f["published"],
                word(f, "unit"),
                word(f, "kind"),
                word(f, "role"),
            )
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_figure_has_the_promised_fields_and_calibration_is_never_predicted() {
    for study in wirelab_study::library::names() {
        for figure in run(study) {
            let keys = figure.as_object().expect("an object");
            for key in [
                "study",
                "row",
                "metric",
                "unit",
                "published",
                "value",
                "kind",
                "role",
                "error_percent",
            ] {
                assert!(keys.contains_key(key), "{key} is missing in {figure}");
            }
            if word(&figure, "role") == "calibration" {
                // What the model only quotes from the document is published; nothing of both is predicted.
                let kind = word(&figure, "kind");
                assert!(["calibrated", "published"].contains(&kind), "{figure}");
            }
            if ["disputed", "unpredictable"].contains(&word(&figure, "role")) {
                assert!(!word(&figure, "reason").is_empty(), "{figure}");
            }
        }
    }
}

#[test]
fn what_a_row_gives_to_the_model_is_never_predicted() {
    let figures = run("am263x");
    let (mut given, mut conditions) = (0, 0);
    for figure in &figures {
        let (row, metric) = (word(figure, "row"), word(figure, "metric"));
        let received = row.starts_with("UDP RX");
        if (received && metric != "cpu_load")
            || (row == "Layer 2 transmission" && metric == "throughput")
        {
            assert_eq!(word(figure, "kind"), "calibrated", "{figure}");
            assert_eq!(figure["counted"], false, "{figure}");
            given += 1;
        }
        conditions += usize::from(word(figure, "reason").starts_with("given: host-loss = "));
    }
    assert_eq!((given, conditions), (16 + 4 + 1, 7));
}

#[test]
fn lpc1768_scenario_3_is_within_2_percent() {
    let figures = run("lpc1768");
    for metric in ["time", "throughput", "share_of_limit"] {
        within(&held_out(&figures, metric, |row| row == "scenario 3"), 2.0);
    }
}

#[test]
fn ethernet_fmc_sustained_rates_are_within_3_percent() {
    let figures = run("ethernet-fmc");
    for metric in ["throughput", "efficiency"] {
        let rates = held_out(&figures, metric, |_| true);
        assert_eq!(rates.len(), 4, "all but the 66 bytes");
        within(&rates, 3.0);
    }
    let disputed = figures.iter().find(|f| {
        word(f, "role") == "disputed"
            && word(f, "metric") == "throughput"
            && f["published"] == 652.0
    });
    assert!(disputed.is_some(), "the 66-byte figure is disputed");
}

#[test]
fn nuttx_rows_2_to_14_are_as_printed() {
    let figures = run("esp32-nuttx");
    let interval = |row: &str| row.ends_with("sec") && !row.starts_with("0.0-");
    for (metric, step) in [("transfer", 0.01), ("bandwidth", 0.1)] {
        for figure in held_out(&figures, metric, interval) {
            assert!(difference(figure) <= step / 2.0, "{figure}");
        }
    }
    for figure in held_out(&figures, "datagrams", interval) {
        assert!(difference(figure) <= 1.0, "{figure}");
    }
    within(&held_out(&figures, "jitter", interval), 1.0);
    for figure in held_out(&figures, "lost", |_| true) {
        assert_eq!(
            difference(figure),
            0.0,
            "row 1 too: the id that never exists; {figure}"
        );
    }
    assert_eq!(held_out(&figures, "lost", |_| true).len(), 14);
}

#[test]
fn am263x_transmit_is_within_1_percent_and_receive_load_within_2_points() {
    let figures = run("am263x");
    let transmit = |row: &str| row.starts_with("UDP TX");
    within(&held_out(&figures, "throughput", transmit), 1.0);
    let loads = held_out(&figures, "cpu_load", |row| row.starts_with("UDP RX"));
    assert!(loads.len() >= 11, "{}", loads.len());
    let points = mean(loads.iter().map(|f| difference(f)));
    assert!(points <= 2.0, "{points} points");
}

#[test]
fn zynq_table_1_is_within_2_percent_on_average_and_none_above_10() {
    let figures = run("zynq");
    let table = |row: &str| row.starts_with("Rx ") || row.starts_with("Tx ");
    let latencies = held_out(&figures, "latency", table);
    assert!(latencies.len() >= 15, "{}", latencies.len());
    within(&latencies, 10.0);
    let percent = mean(latencies.iter().map(|f| error(f)));
    assert!(percent <= 2.0, "{percent} %");
}

#[test]
fn another_node_gives_measured_figures_and_says_what_it_cannot() {
    let Value::Array(figures) = json(&[
        "study",
        "run",
        "lpc1768",
        "--node",
        "model:esp32-nuttx",
        "--json",
    ]) else {
        panic!("a list");
    };
    let of = |row: &str| {
        let is = |f: &&Value| word(f, "row") == row && word(f, "metric") == "time";
        figures.iter().find(is).expect("the row is there")
    };
    assert!(of("scenario 1")["value"].is_number());
    let absent = of("scenario 2");
    assert!(absent["value"].is_null(), "{absent}");
    assert!(word(absent, "reason").contains("buffers"), "{absent}");
}

#[test]
fn a_node_that_can_be_asked_no_row_is_refused_with_what_it_says() {
    for options in [&[][..], &["--json"]] {
        let asked = ["study", "run", "lpc1768", "--node", "model:ethernet-fmc"];
        let output = wirelab(&[&asked, options].concat());
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        let words = "lpc1768: model:ethernet-fmc supports none of the rows: unsupported by this node: buffers";
        assert!(told.contains(words), "{told}");
        assert_eq!(stdout(&output), "", "no table without a value");
    }
    // Beside another that the node supports, it is a usual table.
    let Value::Array(both) = json(&[
        "study",
        "run",
        "lpc1768",
        "ethernet-fmc",
        "--node",
        "model:ethernet-fmc",
        "--json",
    ]) else {
        panic!("a list");
    };
    for study in ["lpc1768", "ethernet-fmc"] {
        assert!(both.iter().any(|f| word(f, "study") == study), "{study}");
    }
}
