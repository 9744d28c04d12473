//! Prints the page of capture points, stages and counters: `cargo run -p wirelab-trial --example names > docs/names.md`.

use std::fmt::Write as _;
use std::io::Write as _;

use wirelab_trial::FixedSeries;
use wirelab_trial::counter::Counter;
use wirelab_trial::stage::{CapturePoint, StageName};

/// The page, of the tables of the crate.
pub fn page() -> String {
    let example = StageName::new(CapturePoint::DRIVER.word(), CapturePoint::STACK.word());
    let way = |points: &[CapturePoint]| -> String {
        let words: Vec<String> = points.iter().map(|p| format!("`{}`", p.word())).collect();
        words.join(", ")
    };
    let mut page = format!(
        "# Names in results

Results files, CSV and JSON use these words for capture points, stages and counters. Scripts depend on them: the
texts of the meanings may change, the words do not.

## Capture points

A frame that is received passes {}.
A frame that is sent passes {}.
Models and the firmware of others may have more points. [stages.md](stages.md) says what records the times.

{}
## Stages

A stage is the time between two points. Its series is named after them: `{example}`. In a results file the series has the
points as `from` and `to` beside its name.

## Other series

A series of times between frames is named after its probe, `spacing: mac-rx`, and a results file has the probe as `probe`.
These names are always the same:

{}
## Counters

A counter without a count is absent, and never 0. The tester writes `node_` before the names of a node's totals. Some names
contain a place: `probe_taken.in.driver` and similar ones count frames at a capture point, `slice_frames.00` those of a part of
the time, `interval_01_bytes` the bytes in a line of iperf's table. [node-control.md](../spec/node-control.md) has the names
for those who write a node.

{}",
        way(&CapturePoint::RECEIVED),
        way(&CapturePoint::SENT),
        table("point", CapturePoint::ALL.iter().map(|p| (p.word(), p.meaning(), p.by()))),
        table("series", FixedSeries::ALL.iter().map(|s| (s.word(), s.meaning(), s.by()))),
        table("counter", Counter::ALL.iter().map(|c| (c.word(), c.meaning(), c.by()))),
    );
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

fn table<'a>(name: &str, rows: impl Iterator<Item = (&'a str, &'a str, &'a str)>) -> String {
    let mut table = format!("| {name} | what it means | given by |\n|---|---|---|\n");
    for (word, meaning, by) in rows {
        writeln!(table, "| `{word}` | {meaning} | {by} |").expect("a text takes any line");
    }
    table
}

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(page().as_bytes())
}
