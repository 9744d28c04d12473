//! All figures of one path: each stage, and sums of stages, at each size.

use wirelab_trial::ClockKind;
use wirelab_trial::format::integer;
use wirelab_trial::stage::{Delay, StageFigures};

use super::sheet::{Section, Variant};
use crate::document::table::{Cell, Head, Shown, Table};
use crate::stats::Samples;

/// Characters of a row's small histogram.
const SHAPE: usize = 12;
/// Mark of sums of stages.
pub const SUM: &str = "Σ ";
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The table of a path; stages first, then sums of stages.
pub fn table(section: &Section<'_>, variant: &Variant<'_>) -> Table {
    let counted = section.clock == ClockKind::Instructions;
    // The most frequent value is useful only if it is frequent.
    let often = |f: &StageFigures| f.outliers.is_some_and(|others| others < f.count / 2);
    let usual = variant.figures().any(often);
    // The heading says what is counted, because a word in each column would be too wide.
    let unit = if counted { "" } else { section.unit.name };
    let figures = |name, rank| Head::figures(name, unit, Shown::Always, rank);
    let mut heads = vec![
        Head::words("stage", Shown::Always, 0),
        Head::figures("length", "B", Shown::Always, 0),
        Head::figures("frames", "", Shown::IfVaries, 0),
        figures("mean", 0),
        figures("σ", 4),
        figures("3σ", 0),
        figures("min", 5),
        figures("median", 0),
        figures("p99", 0),
        figures("p99.9", 6),
        figures("max", 2),
    ];
    if usual {
        heads.push(figures("usual", 7));
        heads.push(Head::figures("others", "", Shown::Always, 7));
    }
    heads.push(Head::words("shape to p99", Shown::Always, 1));
    let mut rows = Vec::new();
    for single in [true, false] {
        for span in section.spans.iter().filter(|s| s.single == single) {
            for length in &section.lengths {
                if let Some(delay) = variant.delay(span, *length) {
                    let sum = if single { "" } else { SUM };
                    let name = format!("{sum}{}", span.name());
                    rows.push(row(section, delay, name, usual));
                }
            }
        }
    }
    Table {
        // The paragraph above is for all tables of the section.
        common: Vec::new(),
        ..Table::new(variant.label.join(", "), heads, rows)
    }
}

fn row(section: &Section<'_>, delay: &Delay, name: String, usual: bool) -> Vec<Cell> {
    let f = &delay.figures;
    let show = |ticks: f64| Cell::Text(section.unit.show(f, ticks));
    let one = |ticks: u64| show(ticks as f64);
    let mut cells = vec![
        Cell::Text(crate::document::escape::clip(&name, 60)),
        Cell::Text(integer(f.length_bytes.into())),
        Cell::Text(integer(f.count)),
        show(f.mean_ticks),
        show(f.stddev_ticks),
        show(3.0 * f.stddev_ticks),
        one(f.min_ticks),
        one(f.median_ticks),
        one(f.p99_ticks),
        one(f.p999_ticks),
        one(f.max_ticks),
    ];
    if usual {
        cells.push(f.mode_ticks.map_or(Cell::Text(String::new()), one));
        let others = f.outliers.map_or_else(String::new, integer);
        cells.push(Cell::Text(others));
    }
    cells.push(Cell::Text(shape(delay)));
    cells
}

/// A small histogram of one row, from its minimum to its p99, in a few characters; empty if all values are equal.
fn shape(delay: &Delay) -> String {
    let Some(samples) = Samples::of_series(&delay.series) else {
        return String::new();
    };
    let (low, _) = samples.range();
    let high = samples.percentile(0.99);
    if high <= low {
        return String::new();
    }
    let mut bins = [0u64; SHAPE];
    for (value, n) in samples.values.iter().filter(|v| v.0 <= high) {
        let place = (value - low) / (high - low) * SHAPE as f64;
        let bin = &mut bins[(place as usize).min(SHAPE - 1)];
        *bin = bin.saturating_add(*n);
    }
    let most = bins.iter().copied().max().unwrap_or(1).max(1) as f64;
    let level = |n: u64| match n {
        0 => ' ',
        n => LEVELS[((n as f64 / most * 8.0).ceil() as usize).clamp(1, 8) - 1],
    };
    bins.map(level)
        .iter()
        .collect::<String>()
        .trim_end()
        .to_owned()
}
