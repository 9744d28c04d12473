//! Instructions by function: what each costs a frame, what changed since another run, and the cases of a gate.

use std::path::Path;

use wirelab_trial::format::{integer, percent, signed};
use wirelab_trial::stage::Change;
use wirelab_trial::stage::functions::{self, CallPaths, FunctionChange, changed};
use wirelab_trial::{Direction, ResultsFile};

use super::against::{Against, paths_of};
use super::flame;
use super::sheet::dash;
use crate::chart::flame::figure;
use crate::document::junit::Case;
use crate::document::table::Head;
use crate::document::{Block, Chart, Gallery, Medium, Picture};
use crate::judge::{End, Failed};

/// What a reader sees in the picture.
const WIDTHS: &str = "Instructions of a frame by paths of calls: a bar is as wide as the instructions that ran in a function \
    and in what it calls, which stands above it.";
/// Extensions of files with paths of calls: a flame graph, and text for other tools.
const SVG: &str = "svg";
const FOLDED: &str = "folded";
/// Most rows of a table.
const MOST_ROWS: usize = 15;

/// Tables of functions for each direction, and the flame graph on pages.
pub fn blocks(now: &[CallPaths], before: Option<&[CallPaths]>) -> Vec<Block<'static>> {
    let mut out = Vec::new();
    for direction in [Direction::Receive, Direction::Transmit] {
        let own: Vec<&CallPaths> = now.iter().filter(|s| s.direction == direction).collect();
        if let Some(table) = table(&own) {
            let title = format!("Instructions by function, {}", sent_or_received(direction));
            out.push(Block::Appendix(2, title, vec![table]));
        }
    }
    if !now.is_empty() {
        let (title, about) = match before {
            None => ("Flame graph", WIDTHS.to_owned()),
            Some(_) => (
                "Flame graph, against the run before",
                format!("{WIDTHS} Red bars with ▲ grew, blue ones with ▼ shrank."),
            ),
        };
        let gallery = Gallery {
            title,
            pictures: vec![(about, Picture::Flame(flame::flame(now, before)))],
            wide: true,
            ..Gallery::default()
        };
        let picture = Block::Chart(Chart::Gallery(gallery));
        out.push(Block::Only(Medium::Page, vec![picture]));
    }
    out
}

fn sent_or_received(direction: Direction) -> &'static str {
    match direction {
        Direction::Transmit => "sent",
        _ => "received",
    }
}

/// A column for each length, and a row for each function, those of the longest first.
fn table(stages: &[&CallPaths]) -> Option<Block<'static>> {
    let mut lengths: Vec<u32> = stages.iter().map(|s| s.length_bytes).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let costs =
        |length: u32| functions::costs(stages.iter().copied().filter(|s| s.length_bytes == length));
    let by_length: Vec<_> = lengths.iter().map(|length| costs(*length)).collect();
    let order = by_length.last().filter(|costs| !costs.is_empty())?;
    let mut heads = vec![("function".to_owned(), false)];
    heads.extend(
        lengths
            .iter()
            .map(|length| (format!("{} B", integer((*length).into())), true)),
    );
    let row = |name: &str, of: &dyn Fn(&[functions::FunctionCost]) -> Option<f64>| {
        let mut row = vec![name.to_owned()];
        row.extend(
            by_length
                .iter()
                .map(|costs| of(costs).map_or_else(dash, figure)),
        );
        row
    };
    let shown = &order[..order.len().min(MOST_ROWS)];
    let mut rows: Vec<Vec<String>> = shown
        .iter()
        .map(|cost| {
            row(&cost.function, &|all| {
                let own = all.iter().find(|c| c.function == cost.function);
                own.map(|c| c.per_frame)
            })
        })
        .collect();
    let others = order.len() - shown.len();
    if others > 0 {
        let is_other =
            |c: &&functions::FunctionCost| shown.iter().all(|s| s.function != c.function);
        rows.push(row(&format!("{others} others"), &|all| {
            Some(all.iter().filter(is_other).map(|c| c.per_frame).sum())
        }));
    }
    rows.push(row("all", &|all| {
        Some(all.iter().map(|c| c.per_frame).sum())
    }));
    Some(Block::sentences(heads, rows))
}

/// The functions that changed, the largest change first.
pub fn changes(before: &[CallPaths], now: &[CallPaths]) -> Option<Block<'static>> {
    let all = changed(before, now);
    let heads = vec![
        Head::text("function"),
        Head::text("stage"),
        Head::number("length", "B"),
        Head::number("before", ""),
        Head::number("now", ""),
        Head::number("change", ""),
    ];
    let rows: Vec<Vec<String>> = all
        .iter()
        .take(MOST_ROWS)
        .map(|c| {
            vec![
                c.function.clone(),
                format!("{}, {} to {}", sent_or_received(c.direction), c.from, c.to),
                integer(c.length_bytes.into()),
                figure(c.before),
                figure(c.now),
                signed(c.grew_by(), usize::from(c.grew_by().fract() != 0.0)),
            ]
        })
        .collect();
    (!rows.is_empty()).then(|| Block::sentences(heads, rows))
}

/// A ratio in percent.
fn share(ratio: f64) -> String {
    format!("{} %", percent(ratio))
}

/// The function that grew most in the stage of a change, in words.
pub fn culprit(change: &Change, all: &[FunctionChange]) -> Option<String> {
    let old = &change.before;
    let same = |c: &&FunctionChange| {
        (c.direction, c.length_bytes) == (old.direction, old.length_bytes)
            && (&c.from, &c.to) == (&old.from, &old.to)
            && c.grew_by() > 0.0
    };
    let most = all.iter().find(same)?;
    Some(format!(
        "{} by {}, from {} to {}",
        most.function,
        figure(most.grew_by()),
        figure(most.before),
        figure(most.now)
    ))
}

/// A case for each stage of the run before: it fails where its median grew beyond the limit, or it is gone.
pub fn cases(against: &Against<'_>, functions: &[FunctionChange]) -> Vec<Case> {
    let limit = against.gate.unwrap_or(0.0);
    let stages = against.before.iter().filter(|row| !row.cumulated);
    stages
        .map(|row| {
            let failed = against.changes.iter().find(|c| c.before == *row);
            let failed = failed.filter(|change| against.fails(change));
            let end = failed.map_or(End::Passed, |change| {
                End::Failed(Failed::Stage, vec![reason(change, functions, limit)])
            });
            let direction = sent_or_received(row.direction);
            Case {
                class: row.node.clone(),
                name: format!(
                    "{direction}, {} to {}, {} B",
                    row.from, row.to, row.length_bytes
                ),
                seconds: 0.0,
                said: None,
                end,
            }
        })
        .collect()
}

/// Whether a file is one of paths of calls, by its extension.
pub fn is_of_paths(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == SVG || e == FOLDED)
}

/// The paths of calls of results as the text of a file: a flame graph, or folded paths.
///
/// # Errors
/// That the results hold none, and the fix.
pub fn paths_as(
    path: &Path,
    file: &ResultsFile,
    against: Option<&Against<'_>>,
) -> Result<String, String> {
    let now = paths_of(file);
    if now.is_empty() {
        return Err(format!(
            "{}: these results hold no paths of calls; fix: count them: wirelab stages qemu:FILE.toml",
            path.display()
        ));
    }
    let before = against
        .map(|against| against.paths)
        .filter(|paths| !paths.is_empty());
    Ok(match path.extension().is_some_and(|e| e == SVG) {
        true => flame::svg(now, before),
        false => flame::folded(now),
    })
}

/// Why each stage fails that has grown beyond the limit, where there is one; `now` is the later run.
pub fn reasons(against: &Against<'_>, now: &ResultsFile) -> Vec<String> {
    let Some(limit) = against.gate else {
        return Vec::new();
    };
    let functions = changed(against.paths, paths_of(now));
    let failed = against.changes.iter();
    let failed = failed.filter(|change| against.fails(change));
    failed
        .map(|change| reason(change, &functions, limit))
        .collect()
}

/// How a stage grew, and by which function.
fn reason(change: &Change, functions: &[FunctionChange], limit: f64) -> String {
    let old = &change.before;
    let stage = format!("{} to {} at length {}", old.from, old.to, old.length_bytes);
    let Some(now) = change.now_median_ticks else {
        return format!("{stage}: no longer present");
    };
    let was = old.median_ticks;
    let ratio = (now as f64 - was as f64) / (was as f64).max(1.0);
    let by = culprit(change, functions).map_or(String::new(), |culprit| format!("; {culprit}"));
    format!(
        "{stage}: the median grew from {} to {} instructions, by {} (limit {}){by}",
        integer(was),
        integer(now),
        share(ratio),
        share(limit)
    )
}
