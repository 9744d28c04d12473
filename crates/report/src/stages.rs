//! The table of stages for a reader, in the layout of the delay tables that firmware engineers publish: a stage, a
//! size, mean and 3σ; and what grew since a run before.

use std::collections::BTreeSet;

use wirelab_trial::format::{decimal, integer, time_f};
use wirelab_trial::stage::{Change, StageFigures};
use wirelab_trial::{ClockKind, Direction};

use crate::explain::{Block, NoExplanation, written};
use crate::options::{Format, Options};
use crate::row;

/// The stages, and what changed since the run they are compared with, in one of the formats; the text ends with a line
/// end.
///
/// # Errors
/// [`NoExplanation`] for JUnit and datasheets, which have no place for it.
pub fn render_stages(
    rows: &[StageFigures],
    changes: Option<&[Change]>,
    format: Format,
    options: &Options,
) -> Result<String, NoExplanation> {
    let node = rows.first().map_or("no node", |r| &r.node);
    let title = options.title.clone();
    let title = title.unwrap_or_else(|| format!("Where the time goes in {node}"));
    match format {
        Format::Csv => Ok(csv(rows)),
        _ => written(&title, &blocks(rows, changes), format, options),
    }
}

fn blocks(rows: &[StageFigures], changes: Option<&[Change]>) -> Vec<Block<'static>> {
    let mut out = Vec::new();
    for direction in [Direction::Receive, Direction::Transmit] {
        for clock in [
            ClockKind::Instructions,
            ClockKind::Wall,
            ClockKind::Simulated,
        ] {
            let mine = |r: &&StageFigures| r.direction == direction && r.clock == clock;
            let part: Vec<&StageFigures> = rows.iter().filter(mine).collect();
            if let Some(first) = part.first() {
                out.push(Block::Heading(heading(first)));
                out.push(grid(&part));
            }
        }
    }
    if rows.is_empty() {
        out.push(Block::Words("No stage was timed.".to_owned()));
    }
    if let Some(changes) = changes {
        out.push(Block::Heading("Against the run before".to_owned()));
        out.push(match changes.is_empty() {
            true => Block::Answer("Every stage takes as many instructions as before.".to_owned()),
            false => Block::List(changes.iter().map(sentence).collect()),
        });
    }
    out
}

fn heading(row: &StageFigures) -> String {
    let way = match row.direction {
        Direction::Transmit => "Transmit",
        _ => "Receive",
    };
    let unit = match row.clock {
        ClockKind::Instructions => "instructions",
        ClockKind::Wall => "time by the node's clock",
        ClockKind::Simulated => "simulated time",
    };
    let kind = row::kind(row.kind);
    format!("{way}, {}, {unit} ({kind})", row::layer(row.layer))
}

/// Rows by stage, then by size, as in the tables of papers; what is cumulated stands below the stages.
fn grid(rows: &[&StageFigures]) -> Block<'static> {
    let counted = rows.iter().any(|r| r.mode_ticks.is_some());
    let mut heads = vec![
        ("stage", false),
        ("length B", true),
        ("frames", true),
        ("mean", true),
        ("3σ", true),
        ("least", true),
        ("median", true),
        ("99 %", true),
        ("99.9 %", true),
        ("most", true),
    ];
    if counted {
        heads.extend([("usual", true), ("others", true)]);
    }
    let mut seen = BTreeSet::new();
    let mut order: Vec<(bool, &str, &str)> = Vec::new();
    for row in rows {
        let key = (row.cumulated, row.from.as_str(), row.to.as_str());
        if seen.insert(key) {
            order.push(key);
        }
    }
    order.sort_by_key(|(cumulated, ..)| *cumulated);
    let mut lines = Vec::new();
    for key in order {
        let mine = |r: &&&StageFigures| (r.cumulated, r.from.as_str(), r.to.as_str()) == key;
        lines.extend(rows.iter().filter(mine).map(|r| line(r, counted)));
    }
    Block::Grid(heads, lines)
}

fn line(row: &StageFigures, counted: bool) -> Vec<String> {
    let sum = if row.cumulated { " in all" } else { "" };
    let one = |ticks: u64| figure(row, ticks as f64);
    let mut line = vec![
        format!("{} to {}{sum}", row.from, row.to),
        integer(row.length_bytes.into()),
        integer(row.count),
        figure(row, row.mean_ticks),
        figure(row, 3.0 * row.stddev_ticks),
        one(row.min_ticks),
        one(row.median_ticks),
        one(row.p99_ticks),
        one(row.p999_ticks),
        one(row.max_ticks),
    ];
    if counted {
        line.push(row.mode_ticks.map_or_else(String::new, one));
        line.push(row.outliers.map_or_else(String::new, integer));
    }
    line
}

fn figure(row: &StageFigures, ticks: f64) -> String {
    match row.tick_ps {
        Some(ps) => time_f(ticks * ps as f64),
        None if ticks.fract() == 0.0 => integer(ticks as u64),
        None => decimal(ticks, 1),
    }
}

fn sentence(change: &Change) -> String {
    let old = &change.before;
    let (from, to, length) = (&old.from, &old.to, old.length_bytes);
    let was = figure(old, old.mean_ticks);
    match change.now_mean_ticks {
        None => format!("{from} to {to} at length {length}: not there any more (was {was})"),
        Some(now) => {
            let how = if change.is_worse() { "grew" } else { "shrank" };
            let now = figure(old, now);
            format!("{from} to {to} at length {length}: {how} from {was} to {now} instructions")
        }
    }
}

/// One line a stage and size, in ticks.
fn csv(rows: &[StageFigures]) -> String {
    let mut out = String::from(
        "node,layer,direction,length_bytes,from,to,cumulated,kind,clock,tick_ps,count,mean_ticks,stddev_ticks,min_ticks,median_ticks,p99_ticks,p999_ticks,max_ticks,mode_ticks,outliers\n",
    );
    let or = |n: Option<u64>| n.map_or_else(String::new, |n| n.to_string());
    for r in rows {
        let clock = match r.clock {
            ClockKind::Wall => "wall",
            ClockKind::Simulated => "simulated",
            ClockKind::Instructions => "instructions",
        };
        let cells = [
            crate::escape::csv(&r.node),
            r.layer.word().to_owned(),
            r.direction.to_string(),
            r.length_bytes.to_string(),
            crate::escape::csv(&r.from),
            crate::escape::csv(&r.to),
            r.cumulated.to_string(),
            row::kind(r.kind).to_owned(),
            clock.to_owned(),
            or(r.tick_ps),
            r.count.to_string(),
            r.mean_ticks.to_string(),
            r.stddev_ticks.to_string(),
            r.min_ticks.to_string(),
            r.median_ticks.to_string(),
            r.p99_ticks.to_string(),
            r.p999_ticks.to_string(),
            r.max_ticks.to_string(),
            or(r.mode_ticks),
            or(r.outliers),
        ];
        out.push_str(&cells.join(","));
        out.push('\n');
    }
    out
}
