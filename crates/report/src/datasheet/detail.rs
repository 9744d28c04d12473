//! What published pages lack: every rate with its share of the line's limit, jitter, idle load and the tester's own
//! ceiling, rates without loss, and the percentiles of round trips.

use wirelab_trial::{Direction, Field, Layer};

use super::grid::{Grid, Line};
use super::rate::{bits_per_frame, datagram_name};
use super::sheet::{Echo, Rate, SearchedRate, Sheet};
use super::show;
use super::tables::{alone, column};
use crate::format;
use crate::search;
use crate::table::Cell;

/// A share of the line's limit from which the link is what limits.
const AT_LIMIT: f64 = 0.98;

/// Every rate of the page in detail.
pub fn rates(sheet: &Sheet) -> Grid {
    let mut rows = Vec::new();
    for r in &sheet.layer2_throughput {
        rows.push(row(
            format!("Layer 2, {} B, {}", r.payload_bytes, way(r)),
            r,
            limited(r),
        ));
    }
    for r in &sheet.tcp {
        rows.push(row(
            format!("TCP, {}, {}", datagram_name(r), way(r)),
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
            rows.push(row(format!("{size}, RX, {loss}"), &found.rate, by(found)));
        }
        if let Some(r) = &u.transmit_max {
            rows.push(row(format!("{size}, TX, load max"), r, limited(r)));
        }
    }
    Grid {
        corner: "Test",
        groups: vec![
            alone(vec![
                column("Offered", "Mbit/s"),
                column("Arrived", "Mbit/s"),
            ]),
            alone(vec![
                column("Rate", "frames/s"),
                column("Of line's limit", "%"),
            ]),
            alone(vec![column("Loss", "%"), column("Jitter", "µs")]),
            alone(vec![column("CPU Load", "%"), column("Idle", "%")]),
            alone(vec![
                column("Tester's ceiling", "Mbit/s"),
                column("Limited by", ""),
            ]),
        ],
        rows,
    }
}

fn way(r: &Rate) -> String {
    let way = match r.direction {
        Direction::Receive => "RX",
        _ => "TX",
    };
    let both = if r.trial_direction == Direction::Both {
        " of both"
    } else {
        ""
    };
    match r.load.as_str() {
        "max" => format!("{way}{both}"),
        load => format!("{way}{both} at {load}"),
    }
}

fn row(name: String, r: &Rate, limited: Cell) -> Line {
    let bits = bits_per_frame(r);
    let ceiling = r.tester_ceiling_frames_per_s.clone().map(|fps| fps * bits);
    Line {
        name,
        cells: vec![
            show::bandwidth(&r.offered_bits_per_s),
            show::bandwidth(&r.bits_per_s),
            Cell::of(r.frames_per_s.clone(), format::frame_rate),
            Cell::of(r.of_line_rate_ratio.clone(), |share| {
                show::three(share * 100.0)
            }),
            show::lost(r),
            Cell::of(r.jitter_ps.clone(), |ps| show::us(ps as f64)),
            show::cpu(r),
            Cell::of(r.cpu_idle_ratio.clone(), show::load),
            show::bandwidth(&ceiling),
            limited,
        ],
    }
}

/// What held a rate, as far as one trial tells it.
fn limited(r: &Rate) -> Cell {
    let word = if show::tester_limits(r) {
        "the tester"
    } else if r.of_line_rate_ratio.value().is_some_and(|s| *s >= AT_LIMIT) {
        "the link"
    } else {
        ""
    };
    Cell::Text(word.to_owned())
}

fn by(found: &SearchedRate) -> Cell {
    match (&found.limited_by, search::not_found(found.outcome)) {
        (Field::Observed { value, .. }, _) => Cell::Text(search::limit(*value).to_owned()),
        (_, Some(why)) => Cell::Absent(why.to_owned()),
        (Field::Absent { absent }, None) => Cell::Absent(absent.clone()),
    }
}

/// Round trips by size.
pub fn echo(sheet: &Sheet) -> Grid {
    let rows = sheet.echo.iter().map(|e| Line {
        name: name(e),
        cells: cells(e),
    });
    Grid {
        corner: "Round trip",
        groups: vec![
            alone(vec![
                column("Samples", ""),
                column("Min", "µs"),
                column("Median", "µs"),
            ]),
            alone(vec![column("90 %", "µs"), column("99 %", "µs")]),
            alone(vec![
                column("99.9 %", "µs"),
                column("99.99 %", "µs"),
                column("Max", "µs"),
            ]),
            alone(vec![column("Jitter", "µs"), column("PDV 99.9 %", "µs")]),
            alone(vec![
                column("Loss", "%"),
                column("Tester's floor", "µs"),
                column("CPU Load", "%"),
            ]),
        ],
        rows: rows.collect(),
    }
}

fn name(e: &Echo) -> String {
    let layer = match e.layer {
        Layer::Ethernet => "Layer 2",
        Layer::UdpIpv6 | Layer::TcpIpv6 => "UDP over IPv6",
        Layer::UdpIpv4 | Layer::TcpIpv4 => "UDP",
    };
    format!("{layer}, {} {} B", e.size_unit, e.size_bytes)
}

fn cells(e: &Echo) -> Vec<Cell> {
    let time = |field: &Field<u64>| Cell::of(field.clone(), |ps| show::us(ps as f64));
    vec![
        Cell::Text(format::integer(e.samples)),
        time(&e.min_ps),
        time(&e.p50_ps),
        time(&e.p90_ps),
        show::percentile(&e.p99_ps, 0.99, e.samples),
        show::percentile(&e.p99_9_ps, 0.999, e.samples),
        show::percentile(&e.p99_99_ps, 0.9999, e.samples),
        time(&e.max_ps),
        time(&e.jitter_ps),
        time(&e.pdv_p99_9_ps),
        Cell::of(e.loss_ratio.clone(), show::loss),
        time(&e.floor_p50_ps),
        Cell::of(e.cpu_busy_ratio.clone(), show::load),
    ]
}
