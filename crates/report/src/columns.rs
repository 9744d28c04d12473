//! Which columns the tables have: one list for all formats that a person reads.

use wirelab_trial::{ClockKind, Counts, Extent, Field, FlowObservation, Status};

use crate::escape::{clip, line};
use crate::format;
use crate::interval;
use crate::loss::{self, Loss};
use crate::row::{self, Row, bad};
use crate::stages::sheet;
use crate::table::{Cell, Head, Shown, Table};

/// Longest name that a table cell shows, in characters.
const NAME: usize = 40;

/// The column of the share of frames lost.
const LOSS: &str = "loss";

/// The columns of the intervals of the rate and of the loss.
const RATE_INTERVAL: &str = "rate, 95 % interval";
const LOSS_INTERVAL: &str = "loss, 95 % interval";

/// The column that tells rates in simulated time from those in real time.
const TIME: &str = "time";

/// The column of the way through the node, of trials that were asked one.
const WAY: &str = "way";

type Get = fn(&Row<'_>) -> Cell;

fn text(text: &str) -> Cell {
    Cell::Text(clip(&line(text), NAME))
}

fn percent_range((low, high): (f64, f64)) -> String {
    loss::ends(&format::percent(low), &format::percent(high))
}

/// The columns, in the order they are read: what was asked, what came of it, what the tester could do.
fn columns(each_flow: bool) -> Vec<(Head, Get)> {
    use Shown::{Always, IfObserved, IfVaries};
    let mut list: Vec<(Head, Get)> = vec![
        (Head::figures("#", "", Always, 0), |r| {
            Cell::Text(r.trial.to_string())
        }),
        (Head::words("node", IfVaries, 13), |r| {
            text(&r.observation.node.name)
        }),
        (Head::words("layer", IfVaries, 0), layer),
        (Head::words("direction", Always, 0), |r| Cell::Text(r.way())),
    ];
    if each_flow {
        list.push((Head::words("port", Always, 0), |r| {
            text(r.flows.first().map_or("", |f| &f.port))
        }));
    }
    list.extend::<Vec<(Head, Get)>>(vec![
        (Head::words("buffers", IfVaries, 9), |r| {
            let buffers = r.observation.trial.buffers;
            Cell::Text(buffers.map_or_else(|| "node's own".to_owned(), |b| b.to_string()))
        }),
        (Head::words(WAY, IfVaries, 0), |r| Cell::Text(way(r))),
        (Head::words("load", IfVaries, 0), |r| {
            Cell::Text(row::load(&r.observation.trial.load))
        }),
        (Head::words("extent", IfVaries, 1), |r| {
            Cell::Text(extent(r.observation.trial.extent))
        }),
        (Head::words("link rate", IfVaries, 8), |r| {
            let link = row::link(r.observation);
            Cell::Text(link.map_or_else(
                || "none".to_owned(),
                |l| format::si(l.bits_per_s() as f64, "bit/s"),
            ))
        }),
        (Head::words("path", IfVaries, 3), path),
        (Head::words(TIME, IfVaries, 0), |r| {
            Cell::Text(if simulated(r) { "simulated" } else { "real" }.to_owned())
        }),
        (Head::figures("payload", "B", Always, 0), |r| {
            Cell::Text(format::integer(r.observation.sizes.payload.into()))
        }),
        (Head::figures("frame", "B", Always, 10), |r| {
            Cell::Text(format::integer(r.observation.sizes.frame.into()))
        }),
        (Head::figures("length", "B", Always, 2), |r| {
            Cell::Text(format::integer(r.observation.sizes.length.into()))
        }),
        (Head::figures("datagram", "B", IfVaries, 11), |r| {
            let datagram = r.observation.sizes.datagram;
            Cell::Text(datagram.map_or_else(String::new, |d| format::integer(d.into())))
        }),
        (Head::figures("rate", "frames/s", Always, 0), |r| {
            Cell::of(r.sum(|f| &f.frames_per_s), format::frame_rate)
        }),
        (
            Head::figures(RATE_INTERVAL, "frames/s", IfObserved, 9),
            |r| {
                let kind = r.sum(|f| &f.frames_per_s).kind();
                let of = r.interval(|f| f.intervals.frames_per_s);
                interval::cell(of, kind, format::frame_rate)
            },
        ),
        (Head::figures("payload", "Mbit/s", Always, 0), |r| {
            Cell::of(r.sum(|f| &f.payload_bits_per_s), format::mbit)
        }),
        (Head::figures("goodput", "Mbit/s", IfObserved, 0), |r| {
            Cell::of(r.sum(|f| &f.goodput_bits_per_s), format::mbit)
        }),
        (Head::figures("efficiency", "%", Always, 12), |r| {
            Cell::of(r.range(|f| f.efficiency.clone()), percent_range)
        }),
        (Head::figures("lost", "frames", Always, 0), |r| {
            let lost = r.lost();
            let wrong = lost.value().is_some_and(|lost| lost.low > 0);
            Loss::cell(lost, format::integer).alarmed(wrong)
        }),
        (Head::figures(LOSS, "%", IfObserved, 0), |r| {
            Loss::cell(r.loss(), format::percent)
        }),
        (Head::figures(LOSS_INTERVAL, "%", IfObserved, 8), |r| {
            interval::cell(r.loss_interval(), r.loss().kind(), format::percent)
        }),
        (Head::figures("bad", "frames", Always, 0), |r| {
            Cell::fault(r.count(bad))
        }),
        (Head::figures("of line rate", "%", IfObserved, 4), |r| {
            Cell::of(r.of_line_rate(), percent_range)
        }),
        (Head::figures("link load", "Mbit/s", IfObserved, 2), |r| {
            Cell::of(r.sum(|f| &f.link_bits_per_s), format::mbit)
        }),
        (Head::figures("jitter", "µs", IfObserved, 6), |r| {
            let worst = r.fold(|f| f.jitter_ps.clone(), u64::max);
            Cell::of(worst, |ps| format::decimal(ps as f64 / 1e6, 3))
        }),
        (Head::figures("CPU load", "%", IfObserved, 7), |r| {
            let busy = r.observation.cpu_load.clone();
            Cell::of(busy, |c| {
                let shared = if c.shared { " shared" } else { "" };
                format!("{}{shared}", format::percent(c.busy_ratio))
            })
        }),
        (
            Head::figures("tester's ceiling", "frames/s", IfObserved, 3),
            |r| {
                let ceiling = r.observation.tester.ceiling_frames_per_s.clone();
                Cell::of(ceiling, format::frame_rate)
            },
        ),
        (Head::words("tester limited", IfObserved, 5), |r| {
            Cell::of(r.observation.tester.was_limit.clone(), |tester| {
                if tester { "yes" } else { "no" }.to_owned()
            })
        }),
        (Head::words("result", IfVaries, 0), result),
    ]);
    list
}

/// The main table: a row for each trial and direction, or for each flow.
pub fn table(caption: &str, rows: &[Row<'_>], each_flow: bool) -> Table {
    let mut columns = columns(each_flow);
    // Counts say more than a share, so that the share is shown only where some node tells nothing else.
    if !rows.iter().any(Row::only_share_of_loss) {
        columns.retain(|(head, _)| head.name != LOSS);
    }
    if !rows
        .iter()
        .any(|row| sheet::asked(row.observation).is_some())
    {
        columns.retain(|(head, _)| head.name != WAY);
    }
    if !rows.iter().any(simulated) {
        columns.retain(|(head, _)| head.name != TIME);
    }
    let cells = rows
        .iter()
        .map(|row| columns.iter().map(|(_, get)| get(row)).collect())
        .collect();
    let heads = columns.into_iter().map(|(head, _)| head).collect();
    Table::new(caption, heads, cells)
}

/// Whether the row's rates are per second of simulated time.
fn simulated(r: &Row<'_>) -> bool {
    let mut elapsed = r.flows.iter().filter_map(|f| f.elapsed.value());
    elapsed.any(|e| e.clock == ClockKind::Simulated)
}

/// The way through the node, and what ran beside it; whole, since what tells two ways apart may be its end.
fn way(r: &Row<'_>) -> String {
    let asked = sheet::asked(r.observation);
    asked.map_or_else(|| "node's own".to_owned(), |words| line(&words))
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
        Status::Void { .. } => "VOID",
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
