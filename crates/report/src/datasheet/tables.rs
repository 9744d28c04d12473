//! The tables of a published page: layer 2 latency and throughput, TCP, UDP by size and rate.

use std::collections::BTreeSet;

use wirelab_trial::search::{Limit, Outcome};
use wirelab_trial::{Direction, Field, Kind, Layer};

use super::rate::datagram_name;
use super::sheet::{Latency, Rate, SearchedRate, Sheet, UdpSize};
use super::show::{self, SharedShown, column};
use crate::document::table::{Cell, Head, Shown, Table};
use crate::interval;

/// Columns without a heading above them.
pub fn alone(columns: Vec<Head>) -> (String, Vec<Head>) {
    (String::new(), columns)
}

/// A column of intervals, which is there where any figure has one.
pub fn interval_column(unit: &'static str) -> Head {
    Head::figures(interval::HEAD, unit, Shown::IfObserved, 0)
}

/// A row behind its name.
pub fn line(name: impl Into<String>, cells: impl IntoIterator<Item = Cell>) -> Vec<Cell> {
    let name = Cell::Text(name.into());
    std::iter::once(name).chain(cells).collect()
}

/// Layer 2 latency: the node's stages, the PHY's term, both together.
pub fn layer2_latency(sheet: &Sheet) -> Table {
    let phy = sheet
        .setup
        .get("phy")
        .map_or("PHY latency".to_owned(), |phy| {
            format!(
                "PHY ({}) latency, from datasheet",
                crate::document::escape::clip(phy, 40)
            )
        });
    let several = several(sheet.layer2_latency.iter().map(|l| l.length_bytes));
    let rows = sheet.layer2_latency.iter().map(|l| {
        let direction = direction_in_words(l);
        let name = match several {
            true => format!("{direction}, {} B", l.length_bytes),
            false => direction.to_owned(),
        };
        let cells = vec![
            Cell::of(l.node_ps.clone(), show::ns),
            Cell::of(l.phy_ps.clone(), show::ns),
            show::total(&l.total),
        ];
        line(name, cells)
    });
    Table::sheet(
        "Parameter",
        vec![alone(vec![
            column("CPU<->MAC latency", "ns"),
            column(phy, "ns"),
            column("Total latency", "ns"),
        ])],
        rows.collect(),
    )
}

/// The intervals of the node's medians in a sentence: the published page has no column for them.
pub fn layer2_intervals(sheet: &Sheet) -> Option<String> {
    let each = sheet.layer2_latency.iter().filter_map(|l| {
        let of = l.intervals.get("node_ps")?;
        let ends = interval::ends(of, |ps| show::ns(ps as u64));
        let kind = l.node_ps.kind()?;
        Some((
            direction_in_words(l),
            format!("{ends} ns, {kind}"),
            interval::over(of),
        ))
    });
    let all: Vec<(&str, String, String)> = each.collect();
    let (_, _, over) = all.first()?;
    let each = all
        .iter()
        .map(|(direction, ends, _)| format!("{direction} {ends}"));
    let each: Vec<String> = each.collect();
    Some(format!("CPU<->MAC latency: {} ({over}).", each.join("; ")))
}

const fn direction_in_words(latency: &Latency) -> &'static str {
    match latency.direction {
        Direction::Receive => "RX Latency",
        _ => "TX Latency",
    }
}

/// Layer 2 throughput.
pub fn layer2_throughput(sheet: &Sheet) -> Table {
    let shared = SharedShown::of(&sheet.layer2_throughput);
    let rows = sheet.layer2_throughput.iter().map(|r| {
        let direction = match (r.trial_direction, r.direction) {
            (Direction::Both, Direction::Receive) => "Layer 2 in both directions, reception",
            (Direction::Both, _) => "Layer 2 in both directions, transmission",
            (_, Direction::Receive) => "Layer 2 Reception",
            _ => "Layer 2 Transmission",
        };
        let name = match r.load.below_max() {
            None => direction.to_owned(),
            Some(load) => format!("{direction} at {load}"),
        };
        let size = Cell::Text(crate::format::integer(r.payload_bytes.into()));
        let cells = vec![show::arrived(r), shared.cpu(r), size];
        line(name, cells)
    });
    Table::sheet(
        "Test",
        vec![alone(vec![
            column("Bandwidth", "Mbit/s"),
            shared.column(),
            column("Packet Size", "bytes"),
        ])],
        rows.collect(),
    )
}

/// TCP: receive, transmit, and both at once in one row.
pub fn tcp(sheet: &Sheet) -> Table {
    let shared = SharedShown::of(&sheet.tcp);
    let sizes = several(sheet.tcp.iter().map(|r| r.datagram_bytes.unwrap_or(0)));
    let layers = several(sheet.tcp.iter().map(|r| r.layer == Layer::TcpIpv6));
    let mut rows = Vec::new();
    let mut paired: BTreeSet<usize> = BTreeSet::new();
    for rate in &sheet.tcp {
        let direction = match rate.trial_direction {
            Direction::Receive => "TCP RX",
            Direction::Transmit => "TCP TX",
            Direction::Both | Direction::Echo => "TCP Bidirectional",
        };
        let mut name = direction.to_owned();
        if layers && rate.layer == Layer::TcpIpv6 {
            name.push_str(", IPv6");
        }
        if sizes {
            name.push_str(&format!(", {}", datagram_name(rate)));
        }
        let bandwidth = if rate.trial_direction == Direction::Both {
            let trial = rate.trials.first().copied().unwrap_or(0);
            if !paired.insert(trial) {
                continue;
            }
            let of = |direction| {
                let of_trial = |r: &&Rate| r.trials.first() == rate.trials.first();
                let mut rates = sheet.tcp.iter().filter(of_trial);
                rates.find(|r| r.direction == direction)
            };
            both(of(Direction::Receive), of(Direction::Transmit))
        } else {
            show::arrived(rate)
        };
        rows.push(line(name, [bandwidth, shared.cpu(rate)]));
    }
    Table::sheet(
        "Test",
        vec![alone(vec![column("Bandwidth", "Mbit/s"), shared.column()])],
        rows,
    )
}

/// The bandwidth of both directions in one cell, as the page has it.
fn both(rx: Option<&Rate>, tx: Option<&Rate>) -> Cell {
    let missing = Field::absent("the trial has no flow of this direction");
    let field = |rate: Option<&Rate>| rate.map_or(missing.clone(), |r| r.bits_per_s.clone());
    match (field(rx), field(tx)) {
        (
            Field::Observed { value: a, kind },
            Field::Observed {
                value: b,
                kind: other,
            },
        ) => {
            let text = format!("RX={} TX={}", show::mbit(a), show::mbit(b));
            if kind == other {
                Cell::Figure {
                    text,
                    kind,
                    alarm: false,
                }
            } else {
                Cell::Noted {
                    text,
                    kind: Kind::weakest([kind, other]),
                    note: format!("RX {}, TX {}", kind.name(), other.name()),
                    alarm: false,
                }
            }
        }
        (Field::Absent { absent }, Field::Absent { .. }) => Cell::Absent(absent),
        (Field::Observed { value, kind }, Field::Absent { absent }) => Cell::Noted {
            kind: Some(kind),
            text: format!("RX={} TX=–", show::mbit(value)),
            note: absent,
            alarm: false,
        },
        (Field::Absent { absent }, Field::Observed { value, kind }) => Cell::Noted {
            kind: Some(kind),
            text: format!("RX=– TX={}", show::mbit(value)),
            note: absent,
            alarm: false,
        },
    }
}

/// UDP: a group of columns for each size; receive at the requested rates, the searched maximum, and transmit.
pub fn udp(sheet: &Sheet) -> Table {
    let layers = several(sheet.udp.iter().map(|u| u.layer == Layer::UdpIpv6));
    let shared = |u: &UdpSize| {
        let found = u.receive_max.iter().map(|found| &found.rate);
        SharedShown::of(u.receive.iter().chain(found).chain(&u.transmit_max))
    };
    let groups = sheet.udp.iter().map(|u| {
        let version = match (layers, u.layer) {
            (true, Layer::UdpIpv6) => ", IPv6",
            (true, _) => ", IPv4",
            _ => "",
        };
        let columns = vec![
            column("Bandwidth", "Mbit/s"),
            shared(u).column(),
            column("Packet Loss", "%"),
        ];
        let above = format!("Datagram Length = {}B{version}", u.datagram_bytes);
        (above, columns)
    });
    let most = sheet.udp.iter().map(|u| u.receive.len()).max().unwrap_or(0);
    let mut rows: Vec<Vec<Cell>> = (0..most)
        .map(|at| {
            let cells = sheet.udp.iter().flat_map(|u| match u.receive.get(at) {
                Some(rate) => [show::offered(rate), shared(u).cpu(rate), show::lost(rate)],
                None => none("no further rate was requested of this size"),
            });
            line("UDP RX", cells)
        })
        .collect();
    let max = sheet.udp.iter().flat_map(|u| receive_max(u, shared(u)));
    rows.push(line("UDP RX (Max)", max));
    let transmit = sheet.udp.iter().flat_map(|u| match &u.transmit_max {
        Some(rate) => arrived(rate, shared(u)),
        None => none("no transmit trial at load max"),
    });
    rows.push(line("UDP TX (Max)", transmit));
    Table::sheet("Test", groups.collect(), rows)
}

fn receive_max(size: &UdpSize, shared: SharedShown) -> [Cell; 3] {
    match (&size.receive_max, &size.search_refused) {
        (Some(found), why) => {
            let missing = crate::search::not_found(found.outcome).or(why.as_deref());
            match (&found.rate.bits_per_s, missing) {
                (Field::Absent { absent }, Some(_)) if found.outcome == Outcome::Unfinished => {
                    none(absent)
                }
                (Field::Absent { .. }, Some(why)) => none(why),
                _ => found_cells(found, shared),
            }
        }
        (None, Some(why)) => none(why),
        (None, None) => none("no search for this rate in these results"),
    }
}

/// What a search found; where the tester offered no more, the node may be faster.
fn found_cells(found: &SearchedRate, shared: SharedShown) -> [Cell; 3] {
    let mut rate = found.rate.clone();
    let tester = found.limited_by.value() == Some(&Limit::Tester);
    rate.tester_was_limit = Field::measured(tester);
    arrived(&rate, shared)
}

fn arrived(rate: &Rate, shared: SharedShown) -> [Cell; 3] {
    [show::arrived(rate), shared.cpu(rate), show::lost(rate)]
}

fn none(why: &str) -> [Cell; 3] {
    [(); 3].map(|()| Cell::Absent(why.to_owned()))
}

fn several<T: PartialEq>(mut values: impl Iterator<Item = T>) -> bool {
    let first = values.next();
    values.any(|v| Some(v) != first)
}
