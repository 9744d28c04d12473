//! The figures of a run for programs that watch many: OpenMetrics text, and JSON lines.
//!
//! They are those that a comparison judges (`compare/figures.rs`): of repeated trials the median, with the lowest and the
//! highest.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde::Serialize;
use wirelab_trial::{Kind, ResultsFile};

use crate::compare::figures;
use crate::document::escape::line;

/// Picoseconds in a second: OpenMetrics knows times in seconds only.
const SECOND_PS: f64 = 1e12;

/// A figure of a run, in a line of JSON.
#[derive(Serialize)]
struct Record<'a> {
    created_unix_ns: u64,
    wirelab_version: &'a str,
    /// Empty for results of several nodes, whose names are in `trial`.
    node: &'a str,
    trial: String,
    figure: String,
    unit: &'static str,
    kind: Kind,
    higher_is_better: bool,
    repeats: usize,
    median: f64,
    lowest: f64,
    highest: f64,
    tester_limited_repeats: usize,
}

fn records(file: &ResultsFile) -> Vec<Record<'_>> {
    let mut names = file.observations.iter().map(|o| &*o.node.name);
    let node = match names.next() {
        Some(first) if names.all(|name| name == first) => first,
        _ => "",
    };
    let record = |(_, of): (String, figures::Values)| {
        let summary = of.summary()?;
        Some(Record {
            created_unix_ns: file.created_unix_ns,
            wirelab_version: &file.wirelab_version,
            node,
            trial: of.what.trial,
            figure: of.what.figure,
            unit: of.what.unit,
            kind: of.kind,
            higher_is_better: of.what.higher_is_better,
            repeats: of.values.len(),
            median: summary.median,
            lowest: summary.min,
            highest: summary.max,
            tester_limited_repeats: of.tester_limited,
        })
    };
    figures::of(file).into_iter().filter_map(record).collect()
}

/// A figure in each line, as a JSON object with the names of `Record`.
pub fn json_lines(file: &ResultsFile) -> String {
    records(file).iter().fold(String::new(), |mut out, record| {
        out.push_str(&serde_json::to_string(record).expect("plain data always serialise"));
        out.push('\n');
        out
    })
}

/// The name of a family of metrics with its unit in the base units of OpenMetrics, and what a value is divided by.
fn family(unit: &str) -> (&'static str, f64) {
    match unit {
        "frames/s" => ("frames_per_second", 1.0),
        "bit/s" => ("bits_per_second", 1.0),
        "ps" => ("seconds", SECOND_PS),
        "instructions" => ("instructions", 1.0),
        _ => ("ratio", 1.0),
    }
}

/// OpenMetrics 1.0 text: a gauge for each unit, with a sample for the median, the lowest and the highest of each figure.
/// Without time stamps, which a collector of text files refuses; a gauge has the time of the run.
pub fn openmetrics(file: &ResultsFile) -> String {
    let records = records(file);
    let mut out = String::new();
    let mut counted: HashMap<String, usize> = HashMap::new();
    let mut done: Vec<&str> = Vec::new();
    for unit in records.iter().map(|record| family(record.unit).0) {
        if done.contains(&unit) {
            continue;
        }
        done.push(unit);
        let _ = writeln!(
            out,
            "# TYPE wirelab_{unit} gauge\n# HELP wirelab_{unit} Figures of a run of wirelab; of repeats the median, the lowest and the highest."
        );
        for record in records.iter().filter(|r| family(r.unit).0 == unit) {
            let labels = labels(record, &mut counted);
            let divisor = family(record.unit).1;
            for (of, value) in [
                ("median", record.median),
                ("lowest", record.lowest),
                ("highest", record.highest),
            ] {
                let value = value / divisor;
                let _ = writeln!(out, "wirelab_{unit}{{{labels},value=\"{of}\"}} {value}");
            }
        }
    }
    let begun_s = file.created_unix_ns as f64 / 1e9;
    let node = records.first().map_or("", |record| record.node);
    let _ = write!(
        out,
        "# TYPE wirelab_run_timestamp_seconds gauge\n# HELP wirelab_run_timestamp_seconds When the run began, since 1970.\n\
         wirelab_run_timestamp_seconds{{node=\"{}\"}} {begun_s:.3}\n# EOF\n",
        label(node)
    );
    out
}

/// The labels of a figure. Trials with the same words are numbered, since two samples with the same labels are an error.
fn labels(record: &Record<'_>, counted: &mut HashMap<String, usize>) -> String {
    let mut labels = format!(
        "node=\"{}\",trial=\"{}\",figure=\"{}\",kind=\"{}\",tester_limited=\"{}\"",
        label(record.node),
        label(&record.trial),
        label(&record.figure),
        record.kind.name(),
        record.tester_limited_repeats > 0
    );
    let times = counted
        .entry(format!("{labels} {}", record.unit))
        .or_insert(0);
    *times += 1;
    if *times > 1 {
        let _ = write!(labels, ",number=\"{times}\"");
    }
    labels
}

/// Text as the value of a label.
fn label(text: &str) -> String {
    line(text).replace('\\', "\\\\").replace('"', "\\\"")
}
