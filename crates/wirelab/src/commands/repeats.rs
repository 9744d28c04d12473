//! The summary of repeated trials after the table of `wirelab measure`: a row for each trial and direction.

use wirelab_bench::{DirectionSummary, TrialSummary, summaries};
use wirelab_report::document::Block;
use wirelab_report::document::table::{Cell, Head, Shown, Table};
use wirelab_report::{format, interval};
use wirelab_trial::{Observation, Stated};

use crate::terminal::{say, show};

/// Prints it, if any trial was repeated.
pub fn print(observations: &[Observation]) {
    let all = summaries(observations);
    if all.iter().any(|s| s.observations > 1) {
        say!();
        show(String::new(), vec![Block::Table(table(&all))]);
    }
}

fn table(all: &[TrialSummary]) -> Table {
    let asked = |name, unit| Head::figures(name, unit, Shown::IfVaries, 0);
    let figure = |name, unit| Head::figures(name, unit, Shown::Always, 0);
    let heads = vec![
        Head::words("direction", Shown::Always, 0),
        asked("payload", "B"),
        asked("frame", "B"),
        Head::words("load", Shown::IfVaries, 0),
        figure("mean", "frames/s"),
        figure(interval::HEAD, "frames/s"),
        figure("median", "frames/s"),
        figure("complete", ""),
    ];
    let rows = all
        .iter()
        .flat_map(|s| s.directions.iter().map(|of| row(s, of)));
    Table::new("Repeated trials", heads, rows.collect())
}

fn row(summary: &TrialSummary, of: &DirectionSummary) -> Vec<Cell> {
    let sizes = summary.trial.sizes().ok();
    let bytes = |bytes: Option<u32>| Cell::from(bytes.map_or("?".to_owned(), |b| b.to_string()));
    let stated = of.frames_per_s.value().and_then(Stated::of_repeats);
    let shown = format::frame_rate;
    vec![
        of.direction.to_string().into(),
        bytes(sizes.map(|s| s.payload)),
        bytes(sizes.map(|s| s.frame)),
        summary.trial.load.to_string().into(),
        Cell::of(of.frames_per_s.clone(), |rate| shown(rate.mean)),
        interval::cell(stated, of.frames_per_s.kind(), shown),
        Cell::of(of.frames_per_s.clone(), |rate| shown(rate.median)),
        format!("{} of {}", summary.complete, summary.observations).into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_gives_mean_interval_and_median() {
        let example = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../spec/examples/ports.json"
        ));
        let file = wirelab_trial::ResultsFile::parse(example).expect("a worked example");
        let observation = file.observations[0].clone();
        let mut other = observation.clone();
        for flow in &mut other.flows {
            flow.frames_per_s = flow.frames_per_s.clone().map(|rate| rate * 1.1);
        }
        let all = summaries(&[observation, other]);
        let rate = all[0].directions[0].frames_per_s.value();
        let rate = rate.expect("the example has a rate");
        let interval = rate.mean_interval.expect("two repeats");
        assert!(rate.max > rate.min);
        let cells = row(&all[0], &all[0].directions[0]);
        let shown = |at: usize| cells[at].marked(wirelab_report::document::table::ColumnKind::None);
        let ends = [interval.low.max(0.0), interval.high].map(format::frame_rate);
        assert_eq!(
            [4, 5, 6, 7].map(shown),
            [
                format::frame_rate(rate.mean),
                ends.join("–"),
                format::frame_rate(rate.median),
                "2 of 2".to_owned()
            ]
        );
    }
}
