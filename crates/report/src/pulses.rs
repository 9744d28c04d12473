//! The pulses of a recording as a table.

use wirelab_pulse::{Pulse, Pulses, UncertaintySource};
use wirelab_trial::Field;

use crate::document::table::{Cell, Head, Shown, Table};
use crate::document::{Block, Document};
use crate::format;

/// Most pulses that are shown one a line; JSON has all.
const MOST_SHOWN: usize = 64;

/// The pulses of the recording `name`.
pub fn pulses(name: &str, found: &Pulses) -> Document<'static> {
    let level = if found.active_high { "high" } else { "low" };
    let threshold = found.threshold_v;
    let threshold = threshold.map_or(String::new(), |v| format!(", threshold {v:.3} V"));
    let title = format!(
        "{name}: {}, channel {}, {} {level}{threshold}",
        found.format,
        found.channel,
        format::count(found.pulses.len() as u64, "pulse")
    );
    let mut notes = Vec::new();
    if found.pulses.len() > MOST_SHOWN {
        let more = (found.pulses.len() - MOST_SHOWN) as u64;
        let more = format::count(more, "more pulse");
        notes.push(format!("not shown: {more} (--json has all)"));
    }
    if found.ignored > 0 {
        let shorter = format::count(found.ignored, "shorter pulse");
        notes.push(format!("ignored: {shorter}"));
    }
    let cut = [(found.cut_at_start, "begins"), (found.cut_at_end, "ends")];
    for (_, word) in cut.into_iter().filter(|(cut, _)| *cut) {
        notes.push(format!(
            "the recording {word} within a further pulse, which is left out"
        ));
    }
    Document {
        title,
        blocks: vec![Block::Table(table(found)), Block::List(notes)],
        ..Document::default()
    }
}

/// A row for each pulse; each column of times has one unit.
fn table(found: &Pulses) -> Table {
    let shown = &found.pulses[..found.pulses.len().min(MOST_SHOWN)];
    let narrowest = shown.iter().map(|pulse| pulse.width_ps as f64);
    let latest = shown.iter().map(|pulse| (pulse.start_ps as f64).abs());
    let units = [
        format::time_unit(narrowest.fold(f64::INFINITY, f64::min)),
        format::time_unit(found.uncertainty.ps as f64),
        format::time_unit(latest.fold(0.0, f64::max)),
    ];
    let column = |name, at: usize| Head::figures(name, units[at].0, Shown::Always, 0);
    let heads = vec![
        Head::figures("#", "", Shown::Always, 0),
        column("width", 0),
        column("±", 1),
        column("from", 2),
    ];
    let why = match found.uncertainty.from {
        UncertaintySource::Sampling => {
            "the sampling period that the file states, and the last digit of its times"
        }
        UncertaintySource::Given => {
            "the sampling period that was given, and the last digit of the file's times"
        }
        UncertaintySource::Resolution => {
            "the file does not state how it was sampled, so the error of a width has no known limit; fix: give the rate with \
             --sampling, e.g. --sampling 24MHz"
        }
    };
    let time = |ps: f64, at: usize| {
        let show = |ps| format::decimal(ps / units[at].1, 3);
        Cell::of(Field::measured(ps), show)
    };
    let row = |(n, pulse): (usize, &Pulse)| {
        vec![
            Cell::Text((n + 1).to_string()),
            time(pulse.width_ps as f64, 0),
            match found.uncertainty.is_known() {
                true => time(found.uncertainty.ps as f64, 1).with_note(why),
                false => Cell::Absent(why.to_owned()),
            },
            time(pulse.start_ps as f64, 2),
        ]
    };
    Table::new("", heads, shown.iter().enumerate().map(row).collect())
}
