//! The tables of a study's page, laid out as documents print them: a row for each trial, and for each metric what was
//! published, what the node says, and the error.

use wirelab_study::figure::Figure;
use wirelab_study::metric::Metric;
use wirelab_study::run::StudyRun;

use super::{bound, digits, error, name, value, within};
use crate::document::table::{Cell, Head, Shown, Table};
use crate::interval::HEAD;

/// Metrics beside each other; a row of more is too wide to read.
const MOST: usize = 6;

/// A trial's figures, one of a metric.
struct Row<'a> {
    name: &'a str,
    figures: Vec<&'a Figure>,
}

/// Successive rows with common columns.
struct Sheet<'a> {
    metrics: Vec<Metric>,
    rows: Vec<Row<'a>>,
}

/// A table for each run of rows that print the same metrics, then one of what the text claims.
pub fn tables(run: &StudyRun) -> Vec<Table> {
    let printed = run.rows.iter().filter(|figure| figure.claim.is_none());
    let claims: Vec<&Figure> = run
        .rows
        .iter()
        .filter(|figure| figure.claim.is_some())
        .collect();
    let mut tables: Vec<Table> = sheets(rows(printed))
        .iter()
        .map(|of| table(of, run))
        .collect();
    if !claims.is_empty() {
        tables.push(of_claims(&claims, run));
    }
    tables
}

fn rows<'a>(figures: impl Iterator<Item = &'a Figure>) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for figure in figures {
        let fits = |row: &&mut Row<'_>| {
            row.name == figure.row && row.figures.iter().all(|f| f.metric != figure.metric)
        };
        match rows.last_mut().filter(fits) {
            Some(row) => row.figures.push(figure),
            None => rows.push(Row {
                name: &figure.row,
                figures: vec![figure],
            }),
        }
    }
    rows
}

/// A row joins the rows before it where one of the two has all metrics of the other.
fn sheets(rows: Vec<Row<'_>>) -> Vec<Sheet<'_>> {
    let mut sheets: Vec<Sheet<'_>> = Vec::new();
    for row in rows {
        let mine: Vec<Metric> = row.figures.iter().map(|figure| figure.metric).collect();
        let last = sheets.last_mut().filter(|sheet| {
            let has = |all: &[Metric], some: &[Metric]| some.iter().all(|m| all.contains(m));
            has(&sheet.metrics, &mine) || (mine.len() <= MOST && has(&mine, &sheet.metrics))
        });
        match last {
            Some(sheet) => {
                if mine.len() > sheet.metrics.len() {
                    sheet.metrics = mine;
                }
                sheet.rows.push(row);
            }
            None => sheets.push(Sheet {
                metrics: mine,
                rows: vec![row],
            }),
        }
    }
    sheets
}

fn table(sheet: &Sheet<'_>, run: &StudyRun) -> Table {
    let heads = |_: &Metric| columns(run);
    let groups = sheet
        .metrics
        .iter()
        .map(|metric| (words(*metric).to_owned(), heads(metric)));
    let rows = sheet.rows.iter().map(|row| {
        let each = sheet.metrics.iter().flat_map(|metric| {
            let figure = row.figures.iter().find(|figure| figure.metric == *metric);
            cells(figure.copied(), run)
        });
        std::iter::once(name(row.name)).chain(each).collect()
    });
    Table::sheet("row", groups.collect(), rows.collect())
}

fn of_claims(claims: &[&Figure], run: &StudyRun) -> Table {
    let rows = claims.iter().map(|figure| {
        let each = cells(Some(figure), run).into_iter();
        std::iter::once(name(&figure.row)).chain(each).collect()
    });
    let groups = vec![(String::new(), columns(run))];
    Table::sheet("what the text says", groups, rows.collect())
}

/// Whether the study's own model stands beside another node.
fn has_model(run: &StudyRun) -> bool {
    run.rows.iter().any(|figure| figure.model.is_some())
}

/// Whether any figure has an interval, so that there is a column of them.
fn has_interval(run: &StudyRun) -> bool {
    run.rows.iter().any(|figure| figure.interval.is_some())
}

fn columns(run: &StudyRun) -> Vec<Head> {
    let figures = |name: &'static str| Head::figures(name, "", Shown::Always, 0);
    let interval = has_interval(run).then(|| Head::figures(HEAD, "", Shown::IfObserved, 0));
    let model = has_model(run).then(|| figures("model"));
    let mut columns = vec![figures("published")];
    columns.extend(model);
    columns.push(figures(match run.node {
        Some(_) => "node",
        None => "model",
    }));
    columns.extend(interval);
    columns.push(figures("error"));
    columns
}

fn cells(figure: Option<&Figure>, run: &StudyRun) -> Vec<Cell> {
    let blank = || Cell::Text(String::new());
    let Some(figure) = figure else {
        return columns(run).iter().map(|_| blank()).collect();
    };
    let of_node = match (value(figure), figure.kind) {
        (Cell::Text(text), Some(kind)) => Cell::Figure {
            text,
            kind,
            alarm: false,
        },
        (cell, _) => cell,
    };
    let mut cells = vec![Cell::Text(bound(figure.relation, &figure.printed))];
    cells.extend(has_model(run).then(|| beside(figure)));
    cells.push(of_node);
    cells.extend(has_interval(run).then(|| within(figure)));
    cells.push(error(figure));
    cells
}

/// The value of the study's own model.
fn beside(figure: &Figure) -> Cell {
    let of = figure
        .model
        .as_ref()
        .and_then(|of| Some((of.value?, of.kind?)));
    of.map_or_else(
        || Cell::Text(String::new()),
        |(value, kind)| Cell::Figure {
            text: digits(figure, value),
            kind,
            alarm: false,
        },
    )
}

/// A metric as a page's head has it.
pub const fn words(metric: Metric) -> &'static str {
    match metric {
        Metric::Time => "time",
        Metric::Throughput => "throughput",
        Metric::ThroughputReceive => "throughput, receive",
        Metric::ThroughputTransmit => "throughput, transmit",
        Metric::ThroughputSum => "throughput, both directions",
        Metric::ShareOfLimit => "share of line rate",
        Metric::Efficiency => "efficiency",
        Metric::FramesPerS => "frame rate",
        Metric::TimePerFrame => "time per frame",
        Metric::CpuLoad => "CPU load",
        Metric::Loss => "loss",
        Metric::Jitter => "jitter",
        Metric::Latency => "latency",
        Metric::LatencyMin => "latency, minimum",
        Metric::LatencyMedian => "latency, median",
        Metric::LatencyP90 => "latency, p90",
        Metric::LatencyP99 => "latency, p99",
        Metric::LatencyP999 => "latency, p99.9",
        Metric::LatencyMax => "latency, maximum",
        Metric::Latency3Sigma => "latency, 3σ",
        Metric::Spacing => "spacing",
        Metric::IntervalThroughput => "throughput, one interval",
        Metric::IntervalEfficiency => "efficiency, one interval",
        Metric::Transfer => "transfer",
        Metric::Bandwidth => "bandwidth",
        Metric::Lost => "datagrams lost",
        Metric::Datagrams => "datagrams",
        Metric::Frames => "frames",
        Metric::Payload => "payload",
        Metric::Data => "data",
        Metric::FrameBits => "frame on the link",
        Metric::Clocks => "clocks",
        Metric::ClockRate => "clock",
        Metric::LinkRate => "link rate",
        Metric::Resolution => "resolution",
    }
}
