//! The figures of a datasheet in a flat list: CSV for scripts, and several results side by side.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;

use wirelab_trial::{Direction, Field, ResultsFile, Stated};

use super::datasheet;
use super::sheet::{Datasheet, Echo, Latency, Rate, SearchedRate, Sheet, SumParts, Total, UdpSize};
use super::show::{self, column};
use super::tables::{alone, line};
use crate::document::csv::{Records, Value, kind_of};
use crate::document::escape;
use crate::document::table::{Cell, Table};
use crate::format;
use crate::interval::{self, Intervals};

/// Heads of the CSV.
const HEADS: [&str; 12] = [
    "node",
    "section",
    "size_bytes",
    "row",
    "figure",
    "value",
    "kind",
    "trials",
    "low",
    "high",
    "over",
    "run_passed",
];

/// One figure of a sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Section, as the JSON names it.
    pub section: &'static str,
    /// Datagram, length or payload in bytes, as the section counts.
    pub size_bytes: u32,
    /// The row in it, e.g. `receive_1` or `transmit_max`.
    pub row: String,
    /// Name with its unit, as the JSON has it.
    pub figure: &'static str,
    /// Number, kind or why it is absent.
    pub value: Field<Number>,
    /// The parts of a sum of several kinds, each with its kind.
    pub parts: Option<SumParts>,
    /// Its interval, where it has one.
    pub interval: Option<Stated>,
    /// The value for a reader, with its unit and the ends of its interval.
    pub text: String,
    /// Numbers of the trials.
    pub trials: Vec<usize>,
}

/// A value as JSON has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole number.
    Whole(u64),
    /// Any number.
    Real(f64),
    /// Yes or no.
    Flag(bool),
}

impl Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Whole(n) => n.fmt(f),
            Number::Real(n) => n.fmt(f),
            Number::Flag(b) => b.fmt(f),
        }
    }
}

/// Collects the figures of one row.
struct Row<'a> {
    out: &'a mut Vec<Figure>,
    section: &'static str,
    size_bytes: u32,
    row: String,
    trials: Vec<usize>,
    intervals: Intervals,
}

impl Row<'_> {
    fn add<T: Copy>(
        &mut self,
        figure: &'static str,
        field: &Field<T>,
        value: fn(T) -> Number,
        text: fn(T) -> String,
    ) {
        self.out.push(Figure {
            section: self.section,
            size_bytes: self.size_bytes,
            row: self.row.clone(),
            figure,
            value: field.clone().map(value),
            parts: None,
            interval: self.intervals.get(figure).copied(),
            text: field.value().copied().map(text).unwrap_or_default(),
            trials: self.trials.clone(),
        });
    }

    /// Appends the interval of the last figure to its text.
    fn with_ends(&mut self, show: impl Fn(f64) -> String) {
        if let Some(figure) = self.out.last_mut()
            && figure.value.value().is_some()
            && let Some(interval) = &figure.interval
        {
            let ends = interval::ends(interval, show);
            figure.text.push_str(&format!(" ({ends})"));
        }
    }

    fn mbit(&mut self, figure: &'static str, field: &Field<f64>) {
        self.add(figure, field, Number::Real, |v| {
            format!("{} Mbit/s", show::mbit(v))
        });
        self.with_ends(show::mbit);
    }

    fn time(&mut self, figure: &'static str, field: &Field<u64>) {
        self.add(figure, field, Number::Whole, format::time);
        self.with_ends(|ps| format::time(ps as u64));
    }

    fn share(&mut self, figure: &'static str, field: &Field<f64>) {
        self.add(figure, field, Number::Real, |v| {
            format!("{} %", show::loss(v))
        });
        self.with_ends(show::loss);
    }

    /// The least loss, and the greatest possible one where it is larger.
    fn loss(&mut self, low: &Field<f64>, at_most: Option<f64>) {
        self.share("loss_ratio", low);
        if let Some(at_most) = at_most {
            self.share("loss_ratio_at_most", &low.clone().map(|_| at_most));
        }
    }

    fn frames_per_s(&mut self, figure: &'static str, field: &Field<f64>) {
        self.add(figure, field, Number::Real, |v| {
            format!("{} frames/s", format::frame_rate(v))
        });
        self.with_ends(format::frame_rate);
    }

    fn rate(&mut self, r: &Rate) {
        self.intervals = r.intervals.clone();
        self.mbit("offered_bits_per_s", &r.offered_bits_per_s);
        self.mbit("bits_per_s", &r.bits_per_s);
        self.frames_per_s("frames_per_s", &r.frames_per_s);
        self.loss(&r.loss_ratio, r.loss_ratio_at_most);
        self.time("jitter_ps", &r.jitter_ps);
        self.load("cpu_busy_ratio", &r.cpu_busy_ratio);
        self.load("cpu_idle_ratio", &r.cpu_idle_ratio);
        let shared = r.cpu_busy_ratio.clone().map(|_| r.cpu_shared);
        self.flag("cpu_shared", &shared);
        self.share("of_line_rate_ratio", &r.of_line_rate_ratio);
        self.add(
            "tester_ceiling_frames_per_s",
            &r.tester_ceiling_frames_per_s,
            Number::Real,
            |v| format!("{} frames/s", format::frame_rate(v)),
        );
        self.flag("tester_was_limit", &r.tester_was_limit);
        let missed = r.loss_ratio.clone().map(|_| r.tester_missed_frames);
        self.flag("tester_missed_frames", &missed);
    }

    fn load(&mut self, figure: &'static str, field: &Field<f64>) {
        self.add(figure, field, Number::Real, |v| {
            format!("{} %", show::load(v))
        });
    }

    fn flag(&mut self, figure: &'static str, field: &Field<bool>) {
        self.add(figure, field, Number::Flag, |v| {
            if v { "yes" } else { "no" }.to_owned()
        });
    }
}

/// All figures of a sheet, in the order of the page.
pub fn of(sheet: &Sheet) -> Vec<Figure> {
    let mut out = Vec::new();
    for l in &sheet.layer2_latency {
        latency(l, &mut out);
    }
    for r in &sheet.layer2_throughput {
        let name = rate_name(r);
        start(
            &mut out,
            "layer2_throughput",
            r.payload_bytes,
            name,
            &r.trials,
        )
        .rate(r);
    }
    for r in &sheet.tcp {
        let bytes = r.datagram_bytes.unwrap_or(r.payload_bytes);
        start(&mut out, "tcp", bytes, rate_name(r), &r.trials).rate(r);
    }
    for u in &sheet.udp {
        udp(u, &mut out);
    }
    for e in &sheet.echo {
        echo(e, &mut out);
    }
    out
}

fn start<'a>(
    out: &'a mut Vec<Figure>,
    section: &'static str,
    size_bytes: u32,
    row: String,
    trials: &[usize],
) -> Row<'a> {
    Row {
        out,
        section,
        size_bytes,
        row,
        trials: trials.to_vec(),
        intervals: Intervals::new(),
    }
}

fn rate_name(r: &Rate) -> String {
    let both = if r.trial_direction == Direction::Both {
        "both_"
    } else {
        ""
    };
    match r.load.below_max() {
        None => format!("{both}{}_max", r.direction),
        Some(load) => format!("{both}{}_at_{load}", r.direction),
    }
}

fn latency(l: &Latency, out: &mut Vec<Figure>) {
    let name = l.direction.to_string();
    let mut row = start(out, "layer2_latency", l.length_bytes, name, &l.trials);
    row.intervals = l.intervals.clone();
    row.time("node_ps", &l.node_ps);
    row.time("node_min_ps", &l.node_min_ps);
    row.time("node_p99_ps", &l.node_p99_ps);
    row.time("node_max_ps", &l.node_max_ps);
    row.time("phy_ps", &l.phy_ps);
    let (total, parts) = match &l.total {
        Total::Absent { absent } => (Field::absent(absent.clone()), None),
        Total::Sum {
            value_ps,
            kind,
            parts,
            ..
        } => {
            let (value, kind) = (*value_ps, *kind);
            (Field::Observed { value, kind }, parts.clone())
        }
    };
    row.time("total_ps", &total);
    if let Some(sum) = out.last_mut() {
        sum.parts = parts;
    }
}

fn udp(u: &UdpSize, out: &mut Vec<Figure>) {
    let bytes = u.datagram_bytes;
    for (at, r) in u.receive.iter().enumerate() {
        start(out, "udp", bytes, format!("receive_{}", at + 1), &r.trials).rate(r);
    }
    if let Some(r) = &u.receive_at_max_load {
        start(
            out,
            "udp",
            bytes,
            "receive_at_max_load".to_owned(),
            &r.trials,
        )
        .rate(r);
    }
    for (name, found) in [
        ("receive_no_loss", &u.receive_no_loss),
        ("receive_max", &u.receive_max),
    ] {
        if let Some(found) = found {
            searched(name, bytes, found, out);
        }
    }
    if let Some(r) = &u.transmit_max {
        start(out, "udp", bytes, "transmit_max".to_owned(), &r.trials).rate(r);
    }
}

fn searched(name: &str, bytes: u32, found: &SearchedRate, out: &mut Vec<Figure>) {
    let mut row = start(out, "udp", bytes, name.to_owned(), &found.rate.trials);
    row.rate(&found.rate);
    row.share("width_ratio", &found.width_ratio);
}

fn echo(e: &Echo, out: &mut Vec<Figure>) {
    let mut name = format!("round_trip_of_{}", e.size_unit);
    if let Some(background) = &e.background {
        name.push_str(&format!("_beside_{background}"));
    }
    let mut row = start(out, "echo", e.size_bytes, name, &e.trials);
    row.intervals = e.intervals.clone();
    row.time("min_ps", &e.min_ps);
    row.time("p50_ps", &e.p50_ps);
    row.time("p90_ps", &e.p90_ps);
    row.time("p99_ps", &e.p99_ps);
    row.time("p99_9_ps", &e.p99_9_ps);
    row.time("p99_99_ps", &e.p99_99_ps);
    row.time("max_ps", &e.max_ps);
    row.add("mean_ps", &e.mean_ps, Number::Real, format::time_f);
    row.time("jitter_ps", &e.jitter_ps);
    row.time("pdv_p99_9_ps", &e.pdv_p99_9_ps);
    row.loss(&e.loss_ratio, e.loss_ratio_at_most);
    row.time("floor_p50_ps", &e.floor_p50_ps);
    row.time("floor_p99_ps", &e.floor_p99_ps);
    if e.background.is_some() {
        let rate = &e.background_asked_frames_per_s;
        row.frames_per_s("background_asked_frames_per_s", rate);
        row.frames_per_s("background_frames_per_s", &e.background_frames_per_s);
        row.share("background_loss_ratio", &e.background_loss_ratio);
    }
    row.load("cpu_busy_ratio", &e.cpu_busy_ratio);
}

/// A row for each figure, with its kind.
pub fn records(page: &Datasheet) -> Records {
    let mut rows = Vec::new();
    for sheet in &page.sheets {
        rows.extend(
            of(sheet)
                .iter()
                .map(|f| record(&sheet.node, f, page.passed)),
        );
    }
    Records {
        heads: HEADS.map(|name| (name, false)).into(),
        rows,
    }
}

fn record(node: &str, f: &Figure, passed: bool) -> Vec<Value> {
    let number = |value: Option<String>| Value::Number(value.unwrap_or_default());
    let of = f.interval.filter(|_| f.value.value().is_some());
    let parts = f.parts.as_ref().filter(|_| f.value.value().is_some());
    let trials: Vec<String> = f.trials.iter().map(usize::to_string).collect();
    vec![
        Value::Text(node.to_owned()),
        number(Some(f.section.to_owned())),
        number(Some(f.size_bytes.to_string())),
        Value::Text(f.row.clone()),
        number(Some(f.figure.to_owned())),
        number(f.value.value().map(Number::to_string)),
        Value::Text(parts.map_or_else(|| kind_of(&f.value), SumParts::to_string)),
        number(Some(trials.join(" "))),
        number(of.map(|of| of.low.to_string())),
        number(of.map(|of| of.high.to_string())),
        number(of.map(|of| of.over.name().to_owned())),
        number(Some(passed.to_string())),
    ]
}

/// Most results that stand side by side.
pub const MOST: usize = 8;

/// The pages of several results side by side: a column for each sheet, a table for each section.
pub fn compared(files: &[(String, ResultsFile)]) -> Vec<(&'static str, Table)> {
    let mut sheets: Vec<(String, Vec<Figure>)> = Vec::new();
    for (name, file) in files {
        for sheet in datasheet(file).sheets {
            let label = format!("{} ({})", sheet.node, escape::clip(name, 40));
            sheets.push((label, of(&sheet)));
        }
    }
    sheets.truncate(MOST);
    let sections = ["layer2_latency", "layer2_throughput", "tcp", "udp", "echo"];
    let each = sections.iter().filter_map(|section| {
        let grid = section_grid(section, &sheets);
        (!grid.rows.is_empty()).then_some((*section, grid))
    });
    each.collect()
}

/// What distinguishes a figure from the others of its section.
type Key<'a> = (u32, &'a str, &'static str);

fn section_grid(section: &str, sheets: &[(String, Vec<Figure>)]) -> Table {
    let figures = || {
        let all = sheets.iter().flat_map(|(_, figures)| figures);
        all.filter(|f| f.section == section)
    };
    // A figure that no result has is left out of a comparison.
    let known: HashSet<Key<'_>> = figures()
        .filter(|f| f.value.value().is_some())
        .map(key_of)
        .collect();
    let mut listed = HashSet::new();
    let mut keys: Vec<Key<'_>> = figures()
        .map(key_of)
        .filter(|k| known.contains(k) && listed.insert(*k))
        .collect();
    keys.sort_by_key(|k| k.0);
    let columns_of: Vec<HashMap<Key<'_>, &Figure>> = sheets
        .iter()
        .map(|(_, figures)| {
            let of = figures.iter().filter(|f| f.section == section);
            of.map(|f| (key_of(f), f)).collect()
        })
        .collect();
    let cell = |column: &HashMap<Key<'_>, &Figure>, k: &Key<'_>| match column.get(k) {
        Some(f) => match &f.value {
            Field::Observed { kind, .. } => match &f.interval {
                Some(interval) => Cell::Noted {
                    text: f.text.clone(),
                    kind: Some(*kind),
                    note: interval::over(interval),
                    alarm: false,
                },
                None => show::sum(f.text.clone(), *kind, f.parts.as_ref()),
            },
            Field::Absent { absent } => Cell::Absent(absent.clone()),
        },
        None => Cell::Absent("these results have no such figure".to_owned()),
    };
    let rows = keys.iter().map(|k| {
        let cells = columns_of.iter().map(|column| cell(column, k));
        let cells = std::iter::once(Cell::Text(name(k.2))).chain(cells);
        line(format!("{} B, {}", k.0, k.1.replace('_', " ")), cells)
    });
    let mut columns = vec![column("Figure", "")];
    columns.extend(sheets.iter().map(|(label, _)| column(label.clone(), "")));
    Table::sheet(
        "Test",
        columns.into_iter().map(|c| alone(vec![c])).collect(),
        rows.collect(),
    )
}

fn key_of(f: &Figure) -> Key<'_> {
    (f.size_bytes, f.row.as_str(), f.figure)
}

/// A figure's name for a reader.
fn name(figure: &str) -> String {
    let name = ["_bits_per_s", "_frames_per_s", "_ratio", "_ps"]
        .iter()
        .find_map(|unit| figure.strip_suffix(unit));
    match figure {
        "bits_per_s" => "bandwidth".to_owned(),
        "frames_per_s" => "frame rate".to_owned(),
        "offered_bits_per_s" => "offered".to_owned(),
        "loss_ratio_at_most" => "loss, at most".to_owned(),
        _ => name.unwrap_or(figure).replace('_', " "),
    }
}
