//! The table of delays from the wire in the published layout: a row for each point and size, and for each path a
//! group of columns with mean and 3σ, and the number of frames if rows differ in it. CPU time is at the bottom.

use super::sheet::{Section, Span, Variant};
use crate::document::escape::{clip, line};
use crate::document::table::{Cell, Group, Head, Look, Shown, Table};
use crate::format::integer;
use wirelab_trial::ClockKind;
use wirelab_trial::stage::CapturePoint;

/// Names of the columns of a group; the last is only there if rows differ in it.
const COLUMNS: [&str; 3] = ["mean", "3σ", FRAMES];
/// The column that has no unit.
const FRAMES: &str = "frames";

/// Most characters above a group.
const WIDEST: usize = 30;

/// The table of a section.
pub fn table(section: &Section<'_>) -> Table {
    let fast = section.variants.iter().any(Variant::is_fast);
    let compared = |s: &Span<'_>| {
        fast && (s.from, s.to)
            == (
                CapturePoint::DRIVER.word(),
                CapturePoint::APPLICATION.word(),
            )
    };
    let outer = section.spans.iter().filter(|s| s.outer || compared(s));
    let work = section.spans.iter().filter(|s| s.cpu_time && !s.outer);
    let outer: Vec<(&Span<'_>, String)> = outer.map(|s| (s, s.name())).collect();
    let (rows_are, own) = match section.clock {
        ClockKind::Instructions => ("stage", "own work"),
        _ => ("delay", "CPU time"),
    };
    let work = work.map(|s| (s, format!("{own}: {}", s.name())));
    let work: Vec<(&Span<'_>, String)> = work.collect();
    let spans: Vec<&Span<'_>> = outer.iter().chain(&work).map(|(s, _)| *s).collect();
    let columns = columns(section, &spans);
    let rows = |points: &[(&Span<'_>, String)]| -> Vec<Vec<Cell>> {
        let rows = points
            .iter()
            .map(|(s, name)| point(section, s, name, &columns));
        rows.flatten().collect()
    };
    let mut heads = vec![
        Head::words(rows_are, Shown::Always, 0),
        Head::figures("length", "", Shown::Always, 0),
    ];
    for name in columns.iter().copied().flatten() {
        let unit = if *name == FRAMES {
            ""
        } else {
            section.unit.name
        };
        heads.push(Head::figures(*name, unit, Shown::Always, 0));
    }
    let groups = section
        .variants
        .iter()
        .zip(&columns)
        .map(|(variant, columns)| Group {
            above: head(variant),
            columns: columns.len(),
        });
    let apart = rows(&outer);
    Table {
        look: Look::Delays,
        groups: groups.collect(),
        apart: apart.len(),
        ..Table::new("", heads, apart.into_iter().chain(rows(&work)).collect())
    }
}

/// The columns of each path: it has one for its frames unless every row of the table has as many as the heading says.
fn columns(section: &Section<'_>, spans: &[&Span<'_>]) -> Vec<&'static [&'static str]> {
    let counts = |variant: &Variant<'_>| -> Vec<u64> {
        let delays = spans.iter().flat_map(|span| {
            let at = |length: &u32| variant.delay(span, *length);
            section.lengths.iter().filter_map(at)
        });
        delays.map(|delay| delay.figures.count).collect()
    };
    let usual = section.frames();
    let variants = section
        .variants
        .iter()
        .map(|variant| match counts(variant) {
            alike if alike.iter().all(|n| *n == usual) => &COLUMNS[..2],
            _ => &COLUMNS[..],
        });
    variants.collect()
}

/// Limits the width of text from a hostile file.
fn head(variant: &Variant<'_>) -> Vec<String> {
    let parts = variant.label.iter();
    parts.map(|part| clip(&line(part), WIDEST)).collect()
}

/// Rows of a point, one for each length with which frames of a path passed it.
fn point(
    section: &Section<'_>,
    span: &Span<'_>,
    name: &str,
    columns: &[&[&'static str]],
) -> Vec<Vec<Cell>> {
    let unit = &section.unit;
    let rows = section.lengths.iter().filter_map(|length| {
        let mut row = vec![
            Cell::Text(clip(&line(name), 2 * WIDEST)),
            Cell::Text(format!("{} B", integer((*length).into()))),
        ];
        let mut passed = false;
        for (variant, columns) in section.variants.iter().zip(columns) {
            let texts = match variant.delay(span, *length) {
                Some(delay) => {
                    passed = true;
                    let f = &delay.figures;
                    let [mean, sigma] =
                        [f.mean_ticks, 3.0 * f.stddev_ticks].map(|ticks| unit.show(f, ticks));
                    [mean, sigma, integer(f.count)]
                }
                None => ["–".to_owned(), String::new(), String::new()],
            };
            row.extend(texts.into_iter().take(columns.len()).map(Cell::Text));
        }
        passed.then_some(row)
    });
    rows.collect()
}
