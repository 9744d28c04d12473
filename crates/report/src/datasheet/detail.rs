//! What published pages lack: every rate with its share of line rate, jitter, idle load and the tester's own
//! ceiling, rates without loss, and the percentiles of round trips.

use wirelab_trial::{Direction, Field, Layer};

use super::rate::{bits_per_frame, datagram_name};
use super::sheet::{Echo, Rate, SearchedRate, Sheet};
use super::show::{self, SharedShown, column};
use super::tables::{alone, interval_column, line};
use crate::document::table::{Cell, Table};
use crate::format;
use crate::interval::{self, Intervals};
use crate::limited::Limiter;
use crate::search;

/// Every rate of the page in detail.
pub fn rates(sheet: &Sheet) -> Table {
    let mut rows = Vec::new();
    for r in &sheet.layer2_throughput {
        rows.push(row(
            format!("Layer 2, {} B, {}", r.payload_bytes, direction_in_words(r)),
            r,
            limited(r),
        ));
    }
    for r in &sheet.tcp {
        rows.push(row(
            format!("TCP, {}, {}", datagram_name(r), direction_in_words(r)),
            r,
            limited(r),
        ));
    }
    for u in &sheet.udp {
        let size = format!("UDP, {} B", u.datagram_bytes);
        for (at, r) in u.receive.iter().enumerate() {
            rows.push(row(format!("{size}, RX, rate {}", at + 1), r, limited(r)));
        }
        if let Some(r) = &u.receive_at_max_load {
            rows.push(row(format!("{size}, RX, load max"), r, limited(r)));
        }
        for found in [&u.receive_no_loss, &u.receive_max].into_iter().flatten() {
            let loss = match found.allowed_loss_ratio {
                l if l > 0.0 => format!("loss {}", search::allowed(l)),
                _ => "no loss".to_owned(),
            };
            // The trial at the bound may have passed some frames more or less than the load that the search found.
            let rate = Rate {
                frames_per_s: found.found_frames_per_s.clone(),
                ..found.rate.clone()
            };
            rows.push(row(format!("{size}, RX, {loss}"), &rate, by(found)));
        }
        if let Some(r) = &u.transmit_max {
            rows.push(row(format!("{size}, TX, load max"), r, limited(r)));
        }
    }
    Table::sheet(
        "Test",
        vec![
            alone(vec![
                column("Offered", "Mbit/s"),
                column("Arrived", "Mbit/s"),
                interval_column("Mbit/s"),
            ]),
            alone(vec![
                column("Rate", "frames/s"),
                column("Of line rate", "%"),
            ]),
            alone(vec![
                column("Loss", "%"),
                interval_column("%"),
                column("Jitter", "µs"),
            ]),
            alone(vec![SharedShown::InCells.column(), column("Idle", "%")]),
            alone(vec![
                column("Tester's ceiling", "Mbit/s"),
                column("Limited by", ""),
            ]),
        ],
        rows,
    )
}

fn direction_in_words(r: &Rate) -> String {
    let direction = match r.direction {
        Direction::Receive => "RX",
        _ => "TX",
    };
    let both = if r.trial_direction == Direction::Both {
        " of both"
    } else {
        ""
    };
    match r.load.below_max() {
        None => format!("{direction}{both}"),
        Some(load) => format!("{direction}{both} at {load}"),
    }
}

fn row(name: String, r: &Rate, limited: Cell) -> Vec<Cell> {
    let bits = bits_per_frame(r);
    let ceiling = r.tester_ceiling_frames_per_s.clone().map(|fps| fps * bits);
    line(
        name,
        [
            show::bandwidth(&r.offered_bits_per_s),
            show::bandwidth(&r.bits_per_s),
            interval_of(&r.intervals, "bits_per_s", &r.bits_per_s, show::mbit),
            Cell::of(r.frames_per_s.clone(), format::frame_rate),
            Cell::of(r.of_line_rate_ratio.clone(), |share| {
                show::three(share * 100.0)
            }),
            show::lost(r),
            interval_of(&r.intervals, "loss_ratio", &r.loss_ratio, show::loss),
            Cell::of(r.jitter_ps.clone(), |ps| show::us(ps as f64)),
            SharedShown::InCells.cpu(r),
            Cell::of(r.cpu_idle_ratio.clone(), show::load),
            show::bandwidth(&ceiling),
            limited,
        ],
    )
}

/// The interval of a figure.
fn interval_of<T>(
    intervals: &Intervals,
    figure: &str,
    field: &Field<T>,
    show: impl Fn(f64) -> String,
) -> Cell {
    interval::cell(intervals.get(figure).copied(), field.kind(), show)
}

/// What limited a rate, as far as one trial shows it.
fn limited(r: &Rate) -> Cell {
    match r.limited.limiter {
        Limiter::Unknown => Cell::Absent(r.limited.unknown.clone()),
        known => Cell::Text(known.name().to_owned()),
    }
}

fn by(found: &SearchedRate) -> Cell {
    match (&found.limited_by, search::not_found(found.outcome)) {
        (Field::Observed { value, .. }, _) => Cell::Text(search::limit(*value).to_owned()),
        (_, Some(why)) => Cell::Absent(why.to_owned()),
        (Field::Absent { absent }, None) => Cell::Absent(absent.clone()),
    }
}

/// Round trips by size.
pub fn echo(sheet: &Sheet) -> Table {
    let loaded = is_loaded(sheet);
    let rows = sheet.echo.iter().map(|e| line(name(e), cells(e, loaded)));
    let mut groups = vec![
        alone(vec![
            column("Samples", ""),
            column("Min", "µs"),
            column("Median", "µs"),
            interval_column("µs"),
        ]),
        alone(vec![
            column("p90", "µs"),
            column("p99", "µs"),
            interval_column("µs"),
        ]),
        alone(vec![
            column("p99.9", "µs"),
            column("p99.99", "µs"),
            column("Max", "µs"),
        ]),
        alone(vec![column("Jitter", "µs"), column("PDV, p99.9", "µs")]),
        alone(vec![
            column("Loss", "%"),
            column("Tester's floor", "µs"),
            SharedShown::InCells.column(),
        ]),
    ];
    if loaded {
        groups.push(alone(vec![
            column("Background", "frames/s"),
            column("Its Loss", "%"),
        ]));
    }
    Table::sheet("Round trip", groups, rows.collect())
}

/// Whether any round trips were taken beside a background.
fn is_loaded(sheet: &Sheet) -> bool {
    sheet.echo.iter().any(|e| e.background.is_some())
}

fn name(e: &Echo) -> String {
    let layer = match e.layer {
        Layer::Ethernet => "Layer 2",
        Layer::UdpIpv6 => "UDP over IPv6",
        Layer::UdpIpv4 => "UDP",
        Layer::TcpIpv6 => "TCP over IPv6",
        Layer::TcpIpv4 => "TCP",
    };
    let name = format!("{layer}, {} {} B", e.size_unit, e.size_bytes);
    match &e.background {
        Some(background) => format!("{name}, beside {background}"),
        None => name,
    }
}

fn cells(e: &Echo, loaded: bool) -> Vec<Cell> {
    let time = |field: &Field<u64>| Cell::of(field.clone(), |ps| show::us(ps as f64));
    let mut cells = vec![
        Cell::Text(format::integer(e.samples)),
        time(&e.min_ps),
        time(&e.p50_ps),
        interval_of(&e.intervals, "p50_ps", &e.p50_ps, show::us),
        time(&e.p90_ps),
        show::percentile(&e.p99_ps, 0.99, e.samples),
        interval_of(&e.intervals, "p99_ps", &e.p99_ps, show::us),
        show::percentile(&e.p99_9_ps, 0.999, e.samples),
        show::percentile(&e.p99_99_ps, 0.9999, e.samples),
        time(&e.max_ps),
        time(&e.jitter_ps),
        time(&e.pdv_p99_9_ps),
        show::loss_range(&e.loss_ratio, e.loss_ratio_at_most),
        time(&e.floor_p50_ps),
        Cell::of(e.cpu_busy_ratio.clone(), show::load),
    ];
    if loaded {
        cells.push(Cell::of(
            e.background_frames_per_s.clone(),
            format::frame_rate,
        ));
        cells.push(Cell::of(e.background_loss_ratio.clone(), show::loss));
    }
    cells
}
