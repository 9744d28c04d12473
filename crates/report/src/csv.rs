//! CSV (RFC 4180): one row a flow, stable column names with units, plain numbers without separators.
//!
//! Each figure has a second column `…_kind`: measured, emulated, predicted, calibrated or published, or `absent: ` and why,
//! in which case the figure's own column is empty. `passed` is how the row's trial came out, `run_passed` how the whole run
//! did: searches without a rate and an interruption belong to no trial.

use std::fmt::Display;

use wirelab_trial::{
    Buffers, Counts, Direction, Extent, Field, FlowObservation, Found, Observation, ResultsFile,
    Status,
};

use crate::datasheet::sheet::Echo;
use crate::interval::Intervals;
use crate::judge::{End, judge};
use crate::row;
use crate::{datasheet, escape};

/// The header's first part: what was asked.
const ASKED: [&str; 25] = [
    "trial",
    "started_unix_ns",
    "status",
    "status_why",
    "passed",
    "run_interrupted",
    "node",
    "node_kind",
    "layer",
    "vlan_tags",
    "trial_direction",
    "size_unit",
    "size_bytes",
    "frame_bytes",
    "length_bytes",
    "payload_bytes",
    "datagram_bytes",
    "load",
    "extent_frames",
    "extent_ps",
    "ports",
    "buffers",
    "link_rate_bits_per_s",
    "direction",
    "port",
];

/// The names of the receiver's counters.
const COUNTS: [&str; 18] = [
    "received_frames",
    "good_frames",
    "lost_frames",
    "header_corrupt_frames",
    "truncated_frames",
    "stale_frames",
    "corrupted_frames",
    "duplicated_frames",
    "reordered_frames",
    "reordering_extent_frames",
    "too_late_frames",
    "order_breaks",
    "distinct_sequences",
    "foreign_frames",
    "verified_payload_bytes",
    "missed_frames",
    "lost_or_missed_frames",
    "other_run_frames",
];

/// Figures of a flow, each with a column for its kind.
const FIGURES: [&str; 17] = [
    "elapsed_ps",
    "frames_per_s",
    "payload_bits_per_s",
    "link_bits_per_s",
    "efficiency_ratio",
    "goodput_bits_per_s",
    "loss_ratio",
    "jitter_ps",
    "sender_asked_frames_per_s",
    "sender_achieved_frames_per_s",
    "sender_kept_rate",
    "kernel_copied",
    "cpu_busy_ratio",
    "tester_ceiling_frames_per_s",
    "tester_ceiling_spread_ratio",
    "tester_ceiling_margin_ratio",
    "tester_was_limit",
];

/// Figures of an echo trial, each with a column for its kind.
const ECHO: [&str; 10] = [
    "round_trip_p50_ps",
    "round_trip_p90_ps",
    "round_trip_p99_ps",
    "round_trip_p99_9_ps",
    "round_trip_max_ps",
    "floor_p50_ps",
    "floor_p99_ps",
    "background_asked_frames_per_s",
    "background_frames_per_s",
    "background_loss_ratio",
];

/// Figures of a flow, then of an echo trial, each with a column for either end of its interval. They are at the end of the
/// row, and the column after them says what they were taken over: `within_run`.
const INTERVALS: [&str; 9] = [
    "frames_per_s",
    "payload_bits_per_s",
    "link_bits_per_s",
    "goodput_bits_per_s",
    "loss_ratio",
    "round_trip_p50_ps",
    "round_trip_p90_ps",
    "round_trip_p99_ps",
    "round_trip_p99_9_ps",
];

/// All flows of all trials; a trial without flows has one row with the flow's columns absent.
pub fn render(file: &ResultsFile) -> String {
    let mut out = String::new();
    push_line(&mut out, header().into_iter());
    let parts = parts(file);
    let judged = judge(file);
    let run_passed = judged.passed().to_string();
    let each = file.observations.iter().enumerate().zip(&parts);
    for (((at, o), part), end) in each.zip(&judged.trials) {
        let asked = asked(at + 1, o, end, file.interrupted);
        let is_echo = o.trial.direction == Direction::Echo;
        let echo = is_echo.then(|| datasheet::echo(0, o));
        let times = echo.as_ref().map(|echo| echo.intervals.clone());
        let (echo, times) = (echo_cells(echo), times.unwrap_or_default());
        let mut push = |flow: Option<&FlowObservation>| {
            let row = asked.iter().cloned().chain(cells(o, flow));
            let row = row.chain(part.iter().cloned()).chain(way(o));
            let row = row.chain(echo.iter().cloned());
            let at_most = number(flow.and_then(|f| f.loss_ratio_at_most));
            let row = row.chain(intervals(&times, flow));
            push_line(&mut out, row.chain([at_most, run_passed.clone()]));
        };
        if o.flows.is_empty() {
            push(None);
        }
        o.flows.iter().for_each(|flow| push(Some(flow)));
    }
    out
}

/// The way through the node that was asked, and what ran beside it; empty where nothing was.
fn way(o: &Observation) -> [String; 4] {
    let t = &o.trial;
    let rule = t.rule.as_deref().map(escape::csv);
    let background = t.background.map(|b| escape::csv(&b.to_string()));
    [
        number(t.path),
        number(t.wait),
        number(rule),
        number(background),
    ]
}

/// The cells of [`ECHO`].
fn echo_cells(echo: Option<Echo>) -> Vec<String> {
    let mut out = Vec::new();
    let Some(e) = echo else {
        for _ in ECHO {
            push(&mut out, Field::<u64>::absent("the trial is no echo"));
        }
        return out;
    };
    for times in [e.p50_ps, e.p90_ps, e.p99_ps, e.p99_9_ps, e.max_ps] {
        push(&mut out, times);
    }
    push(&mut out, e.floor_p50_ps);
    push(&mut out, e.floor_p99_ps);
    push(&mut out, e.background_asked_frames_per_s);
    push(&mut out, e.background_frames_per_s);
    push(&mut out, e.background_loss_ratio);
    out
}

/// The cells of [`INTERVALS`], of a flow and of the `echo` that it was, and what they were taken over.
fn intervals(echo: &Intervals, flow: Option<&FlowObservation>) -> Vec<String> {
    let of = flow.map(|flow| flow.intervals).unwrap_or_default();
    let times = ["p50_ps", "p90_ps", "p99_ps", "p99_9_ps"].map(|name| echo.get(name).copied());
    let all = [
        of.frames_per_s,
        of.payload_bits_per_s,
        of.link_bits_per_s,
        of.goodput_bits_per_s,
        of.loss_ratio,
    ];
    let all = || all.iter().chain(&times);
    let mut out = Vec::new();
    for interval in all() {
        out.push(number(interval.map(|i| i.low)));
        out.push(number(interval.map(|i| i.high)));
    }
    let over = all().flatten().next();
    out.push(number(over.map(|i| i.over.name())));
    out
}

/// Of each observation the name of its part, and the kind of search that asked it, where one did.
fn parts(file: &ResultsFile) -> Vec<[String; 2]> {
    let mut out = vec![[String::new(), String::new()]; file.observations.len()];
    for part in &file.parts {
        let search = match &part.found {
            Some(Found::Rates(_)) => "rates",
            Some(Found::LossCurve(_)) => "loss_curve",
            Some(Found::Bursts(_)) => "bursts",
            None => "",
        };
        let range = row::range_of(part, out.len());
        out[range].fill([escape::csv(&part.name), search.to_owned()]);
    }
    out
}

fn header() -> Vec<String> {
    let mut names: Vec<String> = ASKED.iter().map(|n| (*n).to_owned()).collect();
    names.extend(["stream", "sender_path", "receiver_path"].map(str::to_owned));
    names.extend(["sent_frames", "sent_frames_kind"].map(str::to_owned));
    names.extend(COUNTS.iter().map(|n| (*n).to_owned()));
    names.push("counts_kind".to_owned());
    for name in FIGURES {
        names.push(name.to_owned());
        names.push(format!("{name}_kind"));
    }
    names.extend(["elapsed_spans", "elapsed_clock", "part", "search"].map(str::to_owned));
    names.extend(["path", "wait", "rule", "background"].map(str::to_owned));
    for name in ECHO {
        names.push(name.to_owned());
        names.push(format!("{name}_kind"));
    }
    for name in INTERVALS {
        names.push(format!("{name}_low"));
        names.push(format!("{name}_high"));
    }
    names.extend(["intervals_over", "loss_ratio_at_most", "run_passed"].map(str::to_owned));
    names
}

fn push_line(out: &mut String, cells: impl Iterator<Item = String>) {
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(&cell);
    }
    out.push_str("\r\n");
}

fn number(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |v| v.to_string())
}

/// The cells of [`ASKED`] that all flows of a trial share.
fn asked(number_of_trial: usize, o: &Observation, end: &End, interrupted: bool) -> Vec<String> {
    let t = &o.trial;
    let why = match &o.status {
        Status::Complete => "",
        Status::Partial { why } | Status::Void { why } => why,
    };
    let (frames, ps) = match t.extent {
        Extent::Frames { frames } => (Some(frames), None),
        Extent::Time { time_ps } => (None, Some(time_ps)),
    };
    vec![
        number_of_trial.to_string(),
        number(o.started_unix_ns.value()),
        row::status(&o.status).to_owned(),
        escape::csv(why),
        (!end.is_failed()).to_string(),
        interrupted.to_string(),
        escape::csv(&o.node.name),
        escape::csv(&o.node.kind),
        escape::csv(row::layer(t.framing.layer)),
        t.framing.vlan_tags.to_string(),
        t.direction.to_string(),
        t.size.unit.name().to_owned(),
        t.size.bytes.to_string(),
        o.sizes.frame.to_string(),
        o.sizes.length.to_string(),
        o.sizes.payload.to_string(),
        number(o.sizes.datagram),
        escape::csv(&t.load.to_string()),
        number(frames),
        number(ps),
        t.ports.to_string(),
        number(t.buffers.map(|b: Buffers| b.to_string())),
        number(row::link(o).map(|l| l.bits_per_s())),
    ]
}

/// The cells of one flow, from its direction on.
fn cells(o: &Observation, flow: Option<&FlowObservation>) -> Vec<String> {
    let mut out = match flow {
        Some(f) => vec![
            f.direction.to_string(),
            escape::csv(&f.port),
            f.stream.to_string(),
            escape::csv(f.sender.value().map_or("", |s| &s.path)),
            escape::csv(&f.receiver_path),
        ],
        None => vec![String::new(); 5],
    };
    let sender = |get: fn(&wirelab_trial::SenderObservation) -> Field<f64>| {
        field(flow, |f| flatten(f.sender.clone().map(|s| get(&s))))
    };
    let sender_bool = |get: fn(&wirelab_trial::SenderObservation) -> Field<bool>| {
        field(flow, |f| flatten(f.sender.clone().map(|s| get(&s))))
    };
    push(&mut out, field(flow, |f| f.sent_frames.clone()));
    out.extend(counts(&field(flow, |f| f.counts.clone())));
    push(&mut out, field(flow, |f| f.elapsed.clone().map(|e| e.ps)));
    push(&mut out, field(flow, |f| f.frames_per_s.clone()));
    push(&mut out, field(flow, |f| f.payload_bits_per_s.clone()));
    push(&mut out, field(flow, |f| f.link_bits_per_s.clone()));
    push(&mut out, field(flow, |f| f.efficiency.clone()));
    push(&mut out, field(flow, |f| f.goodput_bits_per_s.clone()));
    push(&mut out, field(flow, |f| f.loss_ratio.clone()));
    push(&mut out, field(flow, |f| f.jitter_ps.clone()));
    push(&mut out, sender(|s| s.asked_frames_per_s.clone()));
    push(&mut out, sender(|s| s.achieved_frames_per_s.clone()));
    push(&mut out, sender_bool(|s| s.kept_rate.clone()));
    push(&mut out, sender_bool(|s| s.kernel_copied.clone()));
    push(&mut out, o.cpu_load.clone().map(|c| c.busy_ratio));
    push(&mut out, o.tester.ceiling_frames_per_s.clone());
    push(&mut out, o.tester.ceiling_spread_ratio.clone());
    push(&mut out, o.tester.ceiling_margin_ratio.clone());
    push(&mut out, o.tester.was_limit.clone());
    let spans = flow.and_then(|f| f.elapsed.value()).map(|e| match e.spans {
        wirelab_trial::Spans::Wire => "wire",
        wirelab_trial::Spans::Pin => "pin",
        wirelab_trial::Spans::Call => "call",
    });
    out.push(number(spans));
    let clock = flow.and_then(|f| f.elapsed.value()).map(|e| match e.clock {
        wirelab_trial::ClockKind::Wall => "wall",
        wirelab_trial::ClockKind::Simulated => "simulated",
        wirelab_trial::ClockKind::Instructions => "instructions",
    });
    out.push(number(clock));
    out
}

fn field<T>(
    flow: Option<&FlowObservation>,
    get: impl Fn(&FlowObservation) -> Field<T>,
) -> Field<T> {
    flow.map_or_else(|| Field::absent("this node reported no flow"), get)
}

fn flatten<T>(field: Field<Field<T>>) -> Field<T> {
    match field {
        Field::Observed { value, .. } => value,
        Field::Absent { absent } => Field::Absent { absent },
    }
}

fn kind_of<T>(field: &Field<T>) -> String {
    match field {
        Field::Observed { kind, .. } => row::kind(*kind).to_owned(),
        Field::Absent { absent } => escape::csv(&format!("absent: {absent}")),
    }
}

fn push<T: Display>(out: &mut Vec<String>, field: Field<T>) {
    out.push(number(field.value()));
    out.push(kind_of(&field));
}

fn counts(field: &Field<Counts>) -> Vec<String> {
    let c = field.value().copied();
    let mut out: Vec<String> = match c {
        None => vec![String::new(); COUNTS.len()],
        Some(c) => [
            c.received_frames,
            c.good_frames,
            c.lost_frames,
            c.header_corrupt_frames,
            c.truncated_frames,
            c.stale_frames,
            c.corrupted_frames,
            c.duplicated_frames,
            c.reordered_frames,
            c.reordering_extent_frames,
            c.too_late_frames,
            c.order_breaks,
            c.distinct_sequences,
            c.foreign_frames,
            c.verified_payload_bytes,
            c.missed_frames,
            c.lost_or_missed_frames,
            c.other_run_frames,
        ]
        .iter()
        .map(u64::to_string)
        .collect(),
    };
    out.push(kind_of(field));
    out
}
