//! The columns of reports, one list for all formats. Each entry gives the value of a flow in CSV, the cell of a row in a table,
//! or both. The list is in the order of CSV, on which scripts rely; a place is the position of a column in a table.
//!
//! In CSV each figure has a second column `…_kind`: measured, emulated, predicted, calibrated or published, or `absent: ` and
//! why, in which case the figure's own column is empty.

use std::fmt::Display;

use wirelab_trial::{
    ClockKind, Counts, Direction, Extent, Field, FlowIntervals, FlowObservation, Observation,
    ResultsFile, SearchOutcome, SenderObservation, Spans, Stated, Status, Summary,
};

use crate::datasheet;
use crate::datasheet::sheet::Echo;
use crate::document::Document;
use crate::document::csv::{Records, Value};
use crate::document::escape::{clip, line};
use crate::document::table::{Cell, Head, Shown, Table};
use crate::format;
use crate::interval;
use crate::judge::{End, judge};
use crate::loss::{self, Loss};
use crate::repeated::{self, Rates, Repeats};
use crate::row::{self, Row, bad};
use crate::stages::sheet;

/// Longest name that a table cell shows, in characters.
const NAME: usize = 40;

/// A column of CSV: its name with its unit, whether its kind stands beside it, and its value of a flow.
type Csv = (&'static str, bool, fn(&Record<'_>) -> Value);
/// The cell of a row in a table.
type Get = fn(&Row<'_>) -> Cell;

/// A row of CSV: a flow, or a trial without flows, with the results of its trial and its run.
struct Record<'a> {
    row: Row<'a>,
    /// The judgement of the trial.
    end: &'a End,
    /// Whether all of the run passed.
    run_passed: bool,
    /// Whether the run was interrupted.
    interrupted: bool,
    /// Name of the part of the plan, and the kind of search that ran the trial.
    part: &'a (String, &'static str),
    /// The figures of an echo trial.
    echo: Option<&'a Echo>,
    /// The repeats of a repeated trial, and their rate in each direction.
    repeats: Option<&'a (Rates, Repeats<'a>)>,
}

/// Whether a table has the column at all, in addition to [`Shown`]; arguments: its rows, and whether each row is one flow.
type Needed = fn(&[Row<'_>], bool) -> bool;

/// A column of the readers' table.
struct ReadersColumn {
    /// Its place among the others.
    place: u8,
    head: Head,
    get: Get,
    needed: Needed,
}

/// A column.
struct Column {
    /// The column in CSV.
    csv: Option<Csv>,
    /// The column in a table.
    shown: Option<ReadersColumn>,
}

/// A column of tables alone.
const fn reader(place: u8, head: Head, get: Get) -> Column {
    let needed: Needed = |_, _| true;
    Column {
        csv: None,
        shown: Some(ReadersColumn {
            place,
            head,
            get,
            needed,
        }),
    }
}

/// A column of CSV without a kind.
const fn plain(name: &'static str, get: fn(&Record<'_>) -> Value) -> Column {
    Column {
        csv: Some((name, false, get)),
        shown: None,
    }
}

/// A column of CSV, and the kind of its figures beside it.
const fn figure(name: &'static str, get: fn(&Record<'_>) -> Value) -> Column {
    Column {
        csv: Some((name, true, get)),
        shown: None,
    }
}

impl Column {
    /// The same, which readers also see at a place.
    fn shown(self, place: u8, head: Head, get: Get) -> Column {
        Column {
            csv: self.csv,
            ..reader(place, head, get)
        }
    }

    /// The same, which readers see only in results that need it.
    fn needed(mut self, needed: Needed) -> Column {
        if let Some(shown) = &mut self.shown {
            shown.needed = needed;
        }
        self
    }
}

/// A counter of the receiver, by the name of its field.
macro_rules! counter {
    ($name:ident) => {
        plain(stringify!($name), |r| r.count(|c| c.$name))
    };
}

/// A figure of a flow, by the name of its field.
macro_rules! of_flow {
    ($name:ident) => {
        figure(stringify!($name), |r| r.of(|f| f.$name.clone()))
    };
}

/// Either end of an interval.
macro_rules! ends {
    ($name:literal, |$r:ident| $get:expr) => {
        [
            plain(concat!($name, "_low"), |$r| number($get.map(|of| of.low))),
            plain(concat!($name, "_high"), |$r| number($get.map(|of| of.high))),
        ]
    };
}

/// All columns. A new one is an entry at the end: `figure("name_unit", …)` for CSV, `.shown(place, …)` for readers.
fn columns() -> Vec<Column> {
    use Shown::{Always, IfObserved, IfVaries};
    let all = [
        request(),
        load(),
        flow(),
        counts(),
        figures(),
        hosts(),
        conditions(),
        echo(),
        intervals(),
    ];
    let mut all: Vec<Column> = all.into_iter().flatten().collect();
    all.extend([
        plain("loss_ratio_at_most", |r| {
            number(r.flow().and_then(|f| f.loss_ratio_at_most))
        }),
        plain("run_passed", |r| number(Some(r.run_passed))),
        plain("repeats", |r| {
            number(r.repeats.map(|(_, of)| of.numbers.len()))
        }),
        plain("repeats_complete", |r| {
            number(r.repeats.map(|(_, of)| of.complete()))
        }),
        figure("repeats_mean_frames_per_s", |r| {
            kinded(r.over_repeats().map(|rate| rate.mean))
        }),
    ]);
    all.extend(ends!("repeats_mean_frames_per_s", |r| r
        .over_repeats()
        .value()
        .and_then(Stated::of_repeats)));
    all.extend([
        figure("repeats_median_frames_per_s", |r| {
            kinded(r.over_repeats().map(|rate| rate.median))
        }),
        reader(7, Head::words("options", IfVaries, 0), |r| {
            Cell::Text(options_in_words(r))
        })
        .needed(|rows, _| {
            let mut each = rows.iter();
            each.any(|row| sheet::chosen_options(row.observation).is_some())
        }),
        reader(11, Head::words("path", IfVaries, 3), path),
        reader(12, Head::words("time", IfVaries, 0), |r| {
            Cell::Text(if simulated(r) { "simulated" } else { "real" }.to_owned())
        })
        .needed(|rows, _| rows.iter().any(simulated)),
        reader(
            18,
            Head::figures("rate, 95 % interval", "frames/s", IfObserved, 9),
            |r| {
                let kind = r.sum(|f| &f.frames_per_s).kind();
                let of = r.interval(|f| f.intervals.frames_per_s);
                interval::cell(of, kind, format::frame_rate)
            },
        ),
        reader(
            24,
            Head::figures("loss, 95 % interval", "%", IfObserved, 8),
            |r| interval::cell(r.loss_interval(), r.loss().kind(), format::percent),
        ),
        reader(25, Head::figures("bad", "frames", Always, 0), |r| {
            Cell::fault(r.count(bad))
        }),
        reader(26, Head::figures("of line rate", "%", IfObserved, 4), |r| {
            Cell::of(r.of_line_rate(), percent_range)
        }),
        reader(32, Head::words("result", IfVaries, 0), result),
    ]);
    all
}

/// The request, and how the trial ended.
fn request() -> Vec<Column> {
    use Shown::{Always, IfVaries};
    vec![
        plain("trial", |r| number(Some(r.row.trial))).shown(
            1,
            Head::figures("#", "", Always, 0),
            |r| Cell::Trials(vec![r.trial]),
        ),
        plain("started_unix_ns", |r| number(r.o().started_unix_ns.value())),
        plain("status", |r| word(row::status(&r.o().status).name())),
        plain("status_why", |r| match &r.o().status {
            Status::Complete => word(""),
            Status::Partial { why } | Status::Void { why } => word(why),
        }),
        plain("passed", |r| number(Some(!r.end.is_failed()))),
        plain("run_interrupted", |r| number(Some(r.interrupted))),
        plain("node", |r| word(&r.o().node.name)).shown(
            2,
            Head::words("node", IfVaries, 13),
            |r| text(&r.observation.node.name),
        ),
        plain("node_kind", |r| word(&r.o().node.node_type)),
        plain("layer", |r| word(row::layer(r.o().trial.framing.layer))).shown(
            3,
            Head::words("layer", IfVaries, 0),
            layer,
        ),
        plain("vlan_tags", |r| number(Some(r.o().trial.framing.vlan_tags))),
        plain("trial_direction", |r| number(Some(r.o().trial.direction))),
        plain("size_unit", |r| word(r.o().trial.size.unit.name())),
        plain("size_bytes", |r| number(Some(r.o().trial.size.bytes))),
        plain("frame_bytes", |r| number(Some(r.o().sizes.frame))).shown(
            14,
            Head::figures("frame", "B", Always, 10),
            |r| bytes(r.observation.sizes.frame),
        ),
        plain("length_bytes", |r| number(Some(r.o().sizes.length))).shown(
            15,
            Head::figures("length", "B", Always, 2),
            |r| bytes(r.observation.sizes.length),
        ),
        plain("payload_bytes", |r| number(Some(r.o().sizes.payload))).shown(
            13,
            Head::figures("payload", "B", Always, 0),
            |r| bytes(r.observation.sizes.payload),
        ),
        plain("datagram_bytes", |r| number(r.o().sizes.datagram)).shown(
            16,
            Head::figures("datagram", "B", IfVaries, 11),
            |r| {
                let datagram = r.observation.sizes.datagram;
                datagram.map_or(Cell::Text(String::new()), bytes)
            },
        ),
    ]
}

/// The load, the extent and the link.
fn load() -> Vec<Column> {
    use Shown::IfVaries;
    vec![
        plain("load", |r| word(&r.o().trial.load.key())).shown(
            8,
            Head::words("load", IfVaries, 0),
            |r| Cell::Text(row::load(&r.observation.trial.load)),
        ),
        plain("extent_frames", |r| match r.o().trial.extent {
            Extent::Frames { frames } => number(Some(frames)),
            Extent::Time { .. } => word(""),
        })
        .shown(9, Head::words("extent", IfVaries, 1), |r| {
            Cell::Text(extent(r.observation.trial.extent))
        }),
        plain("extent_ps", |r| match r.o().trial.extent {
            Extent::Time { time_ps } => number(Some(time_ps)),
            Extent::Frames { .. } => word(""),
        }),
        plain("ports", |r| number(Some(r.o().trial.ports))),
        plain("buffers", |r| number(r.o().trial.buffers)).shown(
            6,
            Head::words("buffers", IfVaries, 9),
            |r| {
                let buffers = r.observation.trial.buffers;
                Cell::Text(buffers.map_or_else(|| "default".to_owned(), |b| b.to_string()))
            },
        ),
        plain("link_rate_bits_per_s", |r| {
            number(row::link(r.o()).map(|link| link.bits_per_s()))
        })
        .shown(10, Head::words("link rate", IfVaries, 8), |r| {
            let link = row::link(r.observation);
            Cell::Text(link.map_or_else(
                || "none".to_owned(),
                |l| format::si(l.bits_per_s() as f64, "bit/s"),
            ))
        }),
    ]
}

/// Which flow it is, and what was sent on it.
fn flow() -> Vec<Column> {
    use Shown::Always;
    vec![
        plain("direction", |r| number(r.flow().map(|f| f.direction))).shown(
            4,
            Head::words("direction", Always, 0),
            |r| Cell::Text(r.direction_in_words()),
        ),
        plain("port", |r| word(r.flow().map_or("", |f| &f.port)))
            .shown(5, Head::words("port", Always, 0), |r| {
                text(r.flows.first().map_or("", |f| &f.port))
            })
            .needed(|_, each_flow| each_flow),
        plain("stream", |r| number(r.flow().map(|f| f.stream))),
        plain("sender_path", |r| {
            let sender = r.flow().and_then(|f| f.sender.value());
            word(sender.map_or("", |s| &s.path))
        }),
        plain("receiver_path", |r| {
            word(r.flow().map_or("", |f| &f.receiver_path))
        }),
        of_flow!(sent_frames),
    ]
}

/// The receiver's counters, which are of one kind.
fn counts() -> Vec<Column> {
    use Shown::{Always, IfObserved};
    vec![
        counter!(received_frames),
        counter!(good_frames),
        counter!(lost_frames).shown(22, Head::figures("lost", "frames", Always, 0), |r| {
            let lost = r.lost();
            let wrong = lost.value().is_some_and(|lost| lost.low > 0);
            Loss::cell(lost, format::integer).alarmed(wrong)
        }),
        counter!(header_corrupt_frames),
        counter!(truncated_frames),
        counter!(stale_frames),
        counter!(corrupted_frames),
        counter!(duplicated_frames),
        counter!(reordered_frames),
        counter!(reordering_extent_frames),
        counter!(too_late_frames),
        counter!(order_breaks),
        counter!(distinct_sequences),
        counter!(foreign_frames),
        counter!(verified_payload_bytes),
        counter!(missed_frames),
        counter!(lost_or_missed_frames),
        counter!(other_run_frames),
        plain("counts_kind", |r| {
            Value::Text(crate::document::csv::kind_of(
                &r.field(|f| f.counts.clone()),
            ))
        }),
        // Counts say more than a share, so the share is shown only if some node reports nothing else.
        reader(23, Head::figures("loss", "%", IfObserved, 0), |r| {
            Loss::cell(r.loss(), format::percent)
        })
        .needed(|rows, _| rows.iter().any(Row::only_share_of_loss)),
    ]
}

/// Figures of a flow and of its sender.
fn figures() -> Vec<Column> {
    use Shown::{Always, IfObserved};
    vec![
        figure("elapsed_ps", |r| r.of(|f| f.elapsed.clone().map(|e| e.ps))),
        of_flow!(frames_per_s).shown(17, Head::figures("rate", "frames/s", Always, 0), |r| {
            Cell::of(r.sum(|f| &f.frames_per_s), format::frame_rate)
        }),
        of_flow!(payload_bits_per_s).shown(
            19,
            Head::figures("payload", "Mbit/s", Always, 0),
            |r| Cell::of(r.sum(|f| &f.payload_bits_per_s), format::mbit),
        ),
        of_flow!(link_bits_per_s).shown(
            27,
            Head::figures("link load", "Mbit/s", IfObserved, 2),
            |r| Cell::of(r.sum(|f| &f.link_bits_per_s), format::mbit),
        ),
        figure("efficiency_ratio", |r| r.of(|f| f.efficiency.clone())).shown(
            21,
            Head::figures("efficiency", "%", Always, 12),
            |r| Cell::of(r.range(|f| f.efficiency.clone()), percent_range),
        ),
        of_flow!(goodput_bits_per_s).shown(
            20,
            Head::figures("goodput", "Mbit/s", IfObserved, 0),
            |r| Cell::of(r.sum(|f| &f.goodput_bits_per_s), format::mbit),
        ),
        of_flow!(loss_ratio),
        of_flow!(jitter_ps).shown(28, Head::figures("jitter", "µs", IfObserved, 6), |r| {
            let worst = r.fold(|f| f.jitter_ps.clone(), u64::max);
            Cell::of(worst, |ps| format::decimal(ps as f64 / 1e6, 3))
        }),
        figure("sender_asked_frames_per_s", |r| {
            r.sender(|s| s.asked_frames_per_s.clone())
        }),
        figure("sender_achieved_frames_per_s", |r| {
            r.sender(|s| s.achieved_frames_per_s.clone())
        }),
        figure("sender_kept_rate", |r| r.sender(|s| s.kept_rate.clone())),
        figure("kernel_copied", |r| r.sender(|s| s.kernel_copied.clone())),
    ]
}

/// Figures of the node's processor and of the tester.
fn hosts() -> Vec<Column> {
    use Shown::IfObserved;
    vec![
        figure("cpu_busy_ratio", |r| {
            kinded(r.o().cpu_load.clone().map(|c| c.busy_ratio))
        })
        .shown(29, Head::figures("CPU load", "%", IfObserved, 7), |r| {
            Cell::of(r.observation.cpu_load.clone(), |c| {
                let shared = if c.shared { " shared" } else { "" };
                format!("{}{shared}", format::percent(c.busy_ratio))
            })
        }),
        reader(
            29,
            Head::figures("CPU load, 95 % interval", "%", IfObserved, 8),
            |r| {
                let load = r.observation.cpu_load.value();
                let of = load.and_then(|load| load.interval);
                interval::cell(of, r.observation.cpu_load.kind(), format::percent)
            },
        ),
        figure("tester_ceiling_frames_per_s", |r| {
            kinded(r.o().tester.ceiling_frames_per_s.clone())
        })
        .shown(
            30,
            Head::figures("tester's ceiling", "frames/s", IfObserved, 3),
            |r| {
                let ceiling = r.observation.tester.ceiling_frames_per_s.clone();
                Cell::of(ceiling, format::frame_rate)
            },
        ),
        figure("tester_ceiling_spread_ratio", |r| {
            kinded(r.o().tester.ceiling_spread_ratio.clone())
        }),
        figure("tester_ceiling_margin_ratio", |r| {
            kinded(r.o().tester.ceiling_margin_ratio.clone())
        }),
        // Without it a figure of the tester would pass for one of the node, so it is never dropped.
        figure("tester_was_limit", |r| {
            kinded(r.o().tester.was_limit.clone())
        })
        .shown(31, Head::words("tester limited", IfObserved, 0), |r| {
            Cell::of(r.observation.tester.was_limit.clone(), |tester| {
                if tester { "yes" } else { "no" }.to_owned()
            })
        }),
    ]
}

/// What the time of a trial is of, and where the trial stood in its plan.
fn conditions() -> Vec<Column> {
    vec![
        plain("elapsed_spans", |r| {
            let elapsed = r.flow().and_then(|f| f.elapsed.value());
            word(elapsed.map_or("", |e| match e.spans {
                Spans::Wire => "wire",
                Spans::Pin => "pin",
                Spans::Call => "call",
            }))
        }),
        plain("elapsed_clock", |r| {
            let elapsed = r.flow().and_then(|f| f.elapsed.value());
            word(elapsed.map_or("", |e| match e.clock {
                ClockKind::Wall => "wall",
                ClockKind::Simulated => "simulated",
                ClockKind::Instructions => "instructions",
            }))
        }),
        plain("part", |r| word(&r.part.0)),
        plain("search", |r| word(r.part.1)),
        plain("path", |r| number(r.o().trial.path)),
        plain("wait", |r| number(r.o().trial.wait)),
        plain("rule", |r| word(r.o().trial.rule.as_deref().unwrap_or(""))),
        plain("background", |r| {
            let background = r.o().trial.background;
            word(&background.map_or_else(String::new, |b| b.to_string()))
        }),
    ]
}

/// Figures of an echo trial.
fn echo() -> Vec<Column> {
    vec![
        figure("round_trip_p50_ps", |r| r.echo(|e| e.p50_ps.clone())),
        figure("round_trip_p90_ps", |r| r.echo(|e| e.p90_ps.clone())),
        figure("round_trip_p99_ps", |r| r.echo(|e| e.p99_ps.clone())),
        figure("round_trip_p99_9_ps", |r| r.echo(|e| e.p99_9_ps.clone())),
        figure("round_trip_max_ps", |r| r.echo(|e| e.max_ps.clone())),
        figure("floor_p50_ps", |r| r.echo(|e| e.floor_p50_ps.clone())),
        figure("floor_p99_ps", |r| r.echo(|e| e.floor_p99_ps.clone())),
        figure("background_asked_frames_per_s", |r| {
            r.echo(|e| e.background_asked_frames_per_s.clone())
        }),
        figure("background_frames_per_s", |r| {
            r.echo(|e| e.background_frames_per_s.clone())
        }),
        figure("background_loss_ratio", |r| {
            r.echo(|e| e.background_loss_ratio.clone())
        }),
    ]
}

/// Either end of the intervals of a flow's figures, then of those of an echo trial, and their basis.
fn intervals() -> Vec<Column> {
    let ends = [
        ends!("frames_per_s", |r| r.interval(|i| i.frames_per_s)),
        ends!("payload_bits_per_s", |r| r
            .interval(|i| i.payload_bits_per_s)),
        ends!("link_bits_per_s", |r| r.interval(|i| i.link_bits_per_s)),
        ends!("goodput_bits_per_s", |r| r
            .interval(|i| i.goodput_bits_per_s)),
        ends!("loss_ratio", |r| r.interval(|i| i.loss_ratio)),
        ends!("cpu_busy_ratio", |r| r
            .o()
            .cpu_load
            .value()
            .and_then(|load| load.interval)),
        ends!("round_trip_p50_ps", |r| r.round_trip("p50_ps")),
        ends!("round_trip_p90_ps", |r| r.round_trip("p90_ps")),
        ends!("round_trip_p99_ps", |r| r.round_trip("p99_ps")),
        ends!("round_trip_p99_9_ps", |r| r.round_trip("p99_9_ps")),
    ];
    let over = plain("intervals_over", |r| {
        let i = r.flow().map(|flow| flow.intervals).unwrap_or_default();
        let times = ["p50_ps", "p90_ps", "p99_ps", "p99_9_ps"].map(|name| r.round_trip(name));
        let rates = [i.frames_per_s, i.payload_bits_per_s, i.link_bits_per_s];
        let mut all = rates
            .into_iter()
            .chain([i.goodput_bits_per_s, i.loss_ratio])
            .chain(times);
        number(all.find_map(|of| of).map(|of| of.over.name()))
    });
    ends.into_iter().flatten().chain([over]).collect()
}

fn number(value: Option<impl Display>) -> Value {
    Value::Number(value.map_or_else(String::new, |v| v.to_string()))
}

fn word(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn kinded<T: Display>(field: Field<T>) -> Value {
    Value::Figure(field.map(|value| value.to_string()))
}

impl Record<'_> {
    const fn o(&self) -> &Observation {
        self.row.observation
    }

    fn flow(&self) -> Option<&FlowObservation> {
        self.row.flows.first().copied()
    }

    fn field<T>(&self, get: impl Fn(&FlowObservation) -> Field<T>) -> Field<T> {
        let none = || Field::absent(row::no_flow(self.row.observation));
        self.flow().map_or_else(none, get)
    }

    fn of<T: Display>(&self, get: impl Fn(&FlowObservation) -> Field<T>) -> Value {
        kinded(self.field(get))
    }

    fn sender<T: Display>(&self, get: impl Fn(&SenderObservation) -> Field<T>) -> Value {
        kinded(self.field(|flow| match &flow.sender {
            Field::Observed { value, .. } => get(value),
            Field::Absent { absent } => Field::absent(absent.clone()),
        }))
    }

    fn count(&self, get: impl Fn(&Counts) -> u64) -> Value {
        number(self.flow().and_then(|f| f.counts.value()).map(get))
    }

    fn echo<T: Display>(&self, get: impl Fn(&Echo) -> Field<T>) -> Value {
        let none = || Field::absent("the trial is not an echo");
        kinded(self.echo.map_or_else(none, get))
    }

    fn interval(&self, get: impl Fn(&FlowIntervals) -> Option<Stated>) -> Option<Stated> {
        self.flow().and_then(|flow| get(&flow.intervals))
    }

    fn over_repeats(&self) -> Field<Summary> {
        let Some((rates, _)) = self.repeats else {
            return Field::absent("the trial was not repeated");
        };
        let of = rates
            .iter()
            .find(|(direction, _)| *direction == self.row.direction);
        of.map_or_else(
            || Field::absent("no repeat of it is complete"),
            |(_, rate)| rate.clone(),
        )
    }

    fn round_trip(&self, name: &str) -> Option<Stated> {
        self.echo.and_then(|echo| echo.intervals.get(name).copied())
    }
}

/// All flows of all trials; a trial without flows has one row with the flow's columns absent.
pub fn document(file: &ResultsFile) -> Document<'static> {
    let columns: Vec<_> = columns()
        .into_iter()
        .filter_map(|column| column.csv)
        .collect();
    let parts = parts(file);
    let judged = judge(file);
    let run_passed = judged.passed();
    let repeated = repeated::listed(file).into_iter();
    let repeated: Vec<(Rates, Repeats<'_>)> = repeated.map(|of| (of.rates(), of)).collect();
    let mut repeats = vec![None; file.observations.len()];
    for of in &repeated {
        of.1.numbers.iter().for_each(|n| repeats[n - 1] = Some(of));
    }
    let mut rows = Vec::new();
    let each = file.observations.iter().enumerate().zip(&parts);
    for (((at, o), part), end) in each.zip(&judged.trials) {
        let echo = (o.trial.direction == Direction::Echo).then(|| datasheet::echo(0, o));
        let mut push = |flow: Option<&FlowObservation>| {
            let record = Record {
                row: Row {
                    trial: at + 1,
                    observation: o,
                    direction: flow.map_or(o.trial.direction, |flow| flow.direction),
                    flows: flow.into_iter().collect(),
                },
                end,
                run_passed,
                interrupted: file.interrupted,
                part,
                echo: echo.as_ref(),
                repeats: repeats[at],
            };
            rows.push(columns.iter().map(|(.., get)| get(&record)).collect());
        };
        if o.flows.is_empty() {
            push(None);
        }
        o.flows.iter().for_each(|flow| push(Some(flow)));
    }
    Document::of_records(Records {
        heads: columns
            .iter()
            .map(|(name, kinds, _)| (*name, *kinds))
            .collect(),
        rows,
    })
}

/// For each observation the name of its part, and the kind of search that ran it, if any.
fn parts(file: &ResultsFile) -> Vec<(String, &'static str)> {
    let mut out = vec![(String::new(), ""); file.observations.len()];
    for part in &file.parts {
        let search = match &part.found {
            Some(SearchOutcome::Rates(_)) => "rates",
            Some(SearchOutcome::LossCurve(_)) => "loss_curve",
            Some(SearchOutcome::Bursts(_)) => "bursts",
            None => "",
        };
        let range = row::range_of(part, out.len());
        out[range].fill((part.name.clone(), search));
    }
    out
}

/// The main table: a row for each trial and direction, or for each flow.
pub fn table(rows: &[Row<'_>], each_flow: bool) -> Table {
    let shown = columns().into_iter().filter_map(|column| column.shown);
    let mut columns: Vec<ReadersColumn> = shown.filter(|c| (c.needed)(rows, each_flow)).collect();
    columns.sort_by_key(|column| column.place);
    let cells = rows
        .iter()
        .map(|row| columns.iter().map(|column| (column.get)(row)).collect())
        .collect();
    let heads = columns.into_iter().map(|column| column.head).collect();
    Table::new("", heads, cells)
}

fn text(text: &str) -> Cell {
    Cell::Text(clip(&line(text), NAME))
}

fn bytes(bytes: u32) -> Cell {
    Cell::Text(format::integer(bytes.into()))
}

fn percent_range((low, high): (f64, f64)) -> String {
    loss::ends(&format::percent(low), &format::percent(high))
}

/// Whether the row's rates are per second of simulated time.
fn simulated(r: &Row<'_>) -> bool {
    let mut elapsed = r.flows.iter().filter_map(|f| f.elapsed.value());
    elapsed.any(|e| e.clock == ClockKind::Simulated)
}

/// The path through the node, and the background; not shortened, since two paths may differ only at the end.
fn options_in_words(r: &Row<'_>) -> String {
    let options = sheet::chosen_options(r.observation);
    options.map_or_else(|| "default".to_owned(), |words| line(&words))
}

fn layer(r: &Row<'_>) -> Cell {
    let framing = r.observation.trial.framing;
    let mut name = row::layer(framing.layer).to_owned();
    match framing.vlan_tags {
        0 => {}
        1 => name.push_str(", 1 VLAN tag"),
        n => name.push_str(&format!(", {n} VLAN tags")),
    }
    Cell::Text(name)
}

/// An extent in words.
pub fn extent(extent: Extent) -> String {
    match extent {
        Extent::Frames { frames } => format::count(frames, "frame"),
        Extent::Time { time_ps } => format::time(time_ps),
    }
}

/// Paths out and in, e.g. `xdp → xdp`.
fn path(r: &Row<'_>) -> Cell {
    let of = |f: &FlowObservation| {
        let out = match &f.sender {
            Field::Observed { value, .. } => value.path.clone(),
            Field::Absent { .. } => "–".to_owned(),
        };
        format!("{out} → {}", f.receiver_path)
    };
    let mut paths = r.flows.iter().map(|f| of(f));
    let Some(first) = paths.next() else {
        return Cell::Text(String::new());
    };
    if paths.all(|p| p == first) {
        text(&first)
    } else {
        Cell::Text("several".to_owned())
    }
}

fn result(r: &Row<'_>) -> Cell {
    let word = match r.observation.status {
        Status::Void { .. } => return Cell::Void,
        Status::Partial { .. } => "PARTIAL",
        Status::Complete => {
            let flows = r.flows.iter().filter_map(|f| f.counts.value());
            if flows.clone().count() == 0 {
                "not judged"
            } else if flows.clone().any(|c| c.lost_frames > 0) {
                "LOSS"
            } else if flows.clone().all(Counts::is_clean) {
                "clean"
            } else if flows.clone().all(Counts::is_clean_but_for_the_tester) {
                "TESTER"
            } else {
                "FAULTY"
            }
        }
    };
    Cell::Text(word.to_owned())
}
