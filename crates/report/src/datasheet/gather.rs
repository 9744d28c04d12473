//! From a results file to the sheets of its nodes: which trial stands in which part of the page.

use std::collections::BTreeMap;

use wirelab_trial::{
    Direction, Extent, Layer, Load, Observation, ResultsFile, SearchOutcome, Status, format,
};

use super::latency::{self, echo, has_captures, layer2};
use super::rate::{datagram, merged, rate, searched};
use super::sheet::{
    Absent, Datasheet, FORMAT, Notice, Rate, SearchedRate, Sheet, UdpSize, VERSION,
};
use crate::row::{self, Row, StatusWord, rows};

/// Most nodes with a sheet; a file with more is not a datasheet.
const SHEETS: usize = 16;
/// Most trials of searches that are drawn for each size.
const SEARCHED: usize = 500;

/// The part of the page that a trial belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SheetPart {
    Layer2Latency,
    Layer2Throughput,
    Tcp,
    UdpReceive,
    UdpTransmit,
    Echo,
    /// In no part of the page.
    Elsewhere,
}

/// Whether a results file is the result of a plan that fills the page: parts, and at least two of TCP, UDP by rate, layer 2
/// latency and round trips.
pub fn is_datasheet(file: &ResultsFile) -> bool {
    if file.parts.is_empty() {
        return false;
    }
    let mut kinds: Vec<SheetPart> = Vec::new();
    for o in &file.observations {
        let sheet_part = match sheet_part(o) {
            SheetPart::UdpTransmit => SheetPart::UdpReceive,
            SheetPart::Layer2Throughput | SheetPart::Elsewhere => continue,
            sheet_part => sheet_part,
        };
        if !kinds.contains(&sheet_part) {
            kinds.push(sheet_part);
        }
    }
    kinds.len() >= 2
}

/// The datasheets of a results file, whose run `passed` or not.
pub fn datasheet(file: &ResultsFile, passed: bool) -> Datasheet {
    let mut nodes: Vec<(&str, &str)> = Vec::new();
    for o in &file.observations {
        let node = (&*o.node.name, &*o.node.node_type);
        if !nodes.contains(&node) && nodes.len() < SHEETS {
            nodes.push(node);
        }
    }
    let rows = rows(&file.observations, false);
    let mut sheets: Vec<Sheet> = nodes
        .into_iter()
        .map(|node| sheet(file, node, &rows))
        .collect();
    if let Some(first) = sheets.first_mut() {
        first.absent.extend(refused(file));
    }
    Datasheet {
        format: FORMAT,
        version: VERSION,
        wirelab_version: file.wirelab_version.clone(),
        command: file.command.clone(),
        created_unix_ns: file.created_unix_ns,
        interrupted: file.interrupted,
        passed,
        sheets,
    }
}

fn sheet_part(o: &Observation) -> SheetPart {
    let one_way = matches!(o.trial.direction, Direction::Transmit | Direction::Receive);
    match (o.trial.framing.layer, o.trial.direction) {
        (_, Direction::Echo) => SheetPart::Echo,
        (Layer::TcpIpv4 | Layer::TcpIpv6, _) => SheetPart::Tcp,
        (Layer::UdpIpv4 | Layer::UdpIpv6, Direction::Receive) => SheetPart::UdpReceive,
        (Layer::UdpIpv4 | Layer::UdpIpv6, Direction::Transmit) => SheetPart::UdpTransmit,
        (Layer::UdpIpv4 | Layer::UdpIpv6, Direction::Both) => SheetPart::Elsewhere,
        (Layer::Ethernet, _) => {
            let void = matches!(o.status, Status::Void { .. });
            let counted = matches!(o.trial.extent, Extent::Frames { .. });
            // At load max a model reports its stages too; that is still a throughput.
            let slow = o.trial.load != Load::Max;
            if one_way && slow && (counted || void || has_captures(o)) {
                SheetPart::Layer2Latency
            } else {
                SheetPart::Layer2Throughput
            }
        }
    }
}

/// Searches that could not begin.
fn refused(file: &ResultsFile) -> Vec<Absent> {
    let each = file.parts.iter().filter_map(|part| {
        let why = part.refused.as_ref()?;
        Some(Absent {
            section: "search",
            why: format!("{} could not begin: {why}", part.name),
        })
    });
    each.collect()
}

/// Rows of one node, by their place on the page.
#[derive(Default)]
struct Sorted {
    layer2: Vec<Rate>,
    tcp: Vec<Rate>,
    udp: BTreeMap<(u8, u32), Vec<(Rate, bool)>>,
    elsewhere: usize,
}

fn sheet(file: &ResultsFile, (node, node_type): (&str, &str), rows: &[Row<'_>]) -> Sheet {
    let in_search = row::searched(file);
    let mut sheet = Sheet {
        node: node.to_owned(),
        node_kind: node_type.to_owned(),
        warnings: warnings(file, (node, node_type)),
        ..Sheet::default()
    };
    let mut sorted = Sorted::default();
    for row in rows {
        let o = row.observation;
        if (&*o.node.name, &*o.node.node_type) != (node, node_type) {
            continue;
        }
        sheet.answers_iperf |= o.node.facts().answers_iperf;
        for (key, value) in &o.node.setup {
            let known = sheet.setup.entry(key.clone());
            known.or_insert_with(|| value.clone());
        }
        let link = row::link(o).map(|l| l.bits_per_s());
        sheet.link_bits_per_s = sheet.link_bits_per_s.or(link);
        let at = row.trial - 1;
        match sheet_part(o) {
            SheetPart::Layer2Latency => sheet.layer2_latency.push(layer2(row.trial, o)),
            SheetPart::Layer2Throughput if in_search[at] => sorted.elsewhere += 1,
            SheetPart::Layer2Throughput => sorted.layer2.push(rate(row)),
            SheetPart::Tcp => sorted.tcp.push(rate(row)),
            SheetPart::Echo => sheet.echo.push(echo(row.trial, o)),
            SheetPart::UdpReceive | SheetPart::UdpTransmit => {
                let size = (ip_version(o), datagram(o).unwrap_or(0));
                let rates = sorted.udp.entry(size).or_default();
                rates.push((rate(row), in_search[at]));
            }
            SheetPart::Elsewhere => sorted.elsewhere += 1,
        }
    }
    sheet.layer2_throughput = merged(sorted.layer2);
    // Receive before transmit, as the page has them.
    let order = |r: &Rate| {
        let order = [Direction::Receive, Direction::Transmit, Direction::Both];
        let at = |d| order.iter().position(|o| *o == d);
        (at(r.trial_direction), at(r.direction))
    };
    sheet.tcp = merged(sorted.tcp);
    sheet.tcp.sort_by_key(order);
    sheet
        .layer2_latency
        .sort_by_key(|l| l.direction != Direction::Receive);
    let sizes = sorted.udp.into_iter();
    sheet.udp = sizes
        .map(|((_, bytes), rates)| udp_size(bytes, rates))
        .collect();
    add_searches(&mut sheet, file, rows);
    sheet.absent = absent(&sheet, sorted.elsewhere);
    sheet
}

const fn ip_version(o: &Observation) -> u8 {
    match o.trial.framing.layer {
        Layer::UdpIpv6 | Layer::TcpIpv6 => 6,
        _ => 4,
    }
}

fn udp_size(bytes: u32, rates: Vec<(Rate, bool)>) -> UdpSize {
    let layer = rates.first().map_or(Layer::UdpIpv4, |(r, _)| r.layer);
    let (searched, listed): (Vec<_>, Vec<_>) = rates.into_iter().partition(|(_, s)| *s);
    let of = |listed: &[(Rate, bool)], direction, max: bool| {
        let each = listed.iter().map(|(r, _)| r);
        let each = each.filter(|r| r.direction == direction && r.load.below_max().is_none() == max);
        merged(each.cloned().collect())
    };
    UdpSize {
        layer,
        datagram_bytes: bytes,
        receive: of(&listed, Direction::Receive, false),
        receive_at_max_load: of(&listed, Direction::Receive, true).into_iter().next(),
        transmit_max: of(&listed, Direction::Transmit, true).into_iter().next(),
        searched: of(&searched, Direction::Receive, false)
            .into_iter()
            .filter(|r| r.status == StatusWord::Complete)
            .take(SEARCHED)
            .collect(),
        receive_max: None,
        receive_no_loss: None,
        search_refused: None,
    }
}

/// What the searches of receive rates found, each at its size.
fn add_searches(sheet: &mut Sheet, file: &ResultsFile, rows: &[Row<'_>]) {
    for part in &file.parts {
        let Some(SearchOutcome::Rates(result)) = &part.found else {
            continue;
        };
        let bytes = match result.trial.size.unit {
            wirelab_trial::SizeUnit::Datagram => Some(result.trial.size.bytes),
            _ => result.sizes.datagram,
        };
        let layer = result.trial.framing.layer;
        let size = sheet.udp.iter_mut().find(|u| {
            Some(u.datagram_bytes) == bytes && u.layer == layer && result.node == sheet.node
        });
        let (Some(size), Direction::Receive) = (size, result.trial.direction) else {
            continue;
        };
        let range = row::range_of(part, file.observations.len());
        let trials: Vec<Row<'_>> = rows
            .iter()
            .filter(|r| range.contains(&(r.trial - 1)))
            .cloned()
            .collect();
        for goal in &result.goals {
            let slot = if goal.goal.loss_ratio > 0.0 {
                &mut size.receive_max
            } else {
                &mut size.receive_no_loss
            };
            let found = searched(result, goal, &trials);
            if slot.as_ref().is_none_or(|known| worse(known, &found)) {
                *slot = Some(found);
            }
        }
        if let Some(why) = crate::search::ended_early(&result.ended) {
            size.search_refused = Some(why);
        }
    }
}

/// Whether the known result says less than the new one: a goal of less loss, or one that was not met.
fn worse(known: &SearchedRate, found: &SearchedRate) -> bool {
    let missing = |s: &SearchedRate| s.rate.bits_per_s.value().is_none();
    missing(known) || (!missing(found) && found.allowed_loss_ratio > known.allowed_loss_ratio)
}

fn absent(sheet: &Sheet, elsewhere: usize) -> Vec<Absent> {
    let mut out = Vec::new();
    let mut say = |empty: bool, section, why: &str| {
        if empty {
            out.push(Absent {
                section,
                why: why.to_owned(),
            });
        }
    };
    let none = "these results have no such trial";
    say(sheet.layer2_latency.is_empty(), "layer2_latency", none);
    say(
        sheet.layer2_throughput.is_empty(),
        "layer2_throughput",
        none,
    );
    say(sheet.tcp.is_empty(), "tcp", none);
    say(sheet.udp.is_empty(), "udp", none);
    say(sheet.echo.is_empty(), "echo", none);
    let more = format!(
        "{} without a place in this layout, such as UDP in both directions at once: see a report of the trials",
        format::count(elsewhere as u64, "flow")
    );
    say(elsewhere > 0, "elsewhere", &more);
    out
}

/// Warnings of a node's trials, each once.
fn warnings(file: &ResultsFile, node: (&str, &str)) -> Vec<Notice> {
    let mut out: Vec<Notice> = Vec::new();
    for (at, o) in file.observations.iter().enumerate() {
        if (&*o.node.name, &*o.node.node_type) != node {
            continue;
        }
        for w in &o.warnings {
            let same = |n: &&mut Notice| n.code == w.code && n.text == w.text;
            match out.iter_mut().find(same) {
                Some(known) => known.trials.push(at + 1),
                None => out.push(Notice {
                    code: w.code.clone(),
                    text: w.text.clone(),
                    fix: w.fix.clone(),
                    trials: vec![at + 1],
                }),
            }
        }
    }
    for notice in &mut out {
        notice.trials.dedup();
    }
    out
}

/// The series of round trips in a file, for pictures: trial, requested size, and the series.
pub fn round_trips<'a>(
    file: &'a ResultsFile,
    node: &str,
) -> Vec<(usize, String, &'a wirelab_trial::Series)> {
    let mut out = Vec::new();
    for (at, o) in file.observations.iter().enumerate() {
        if o.node.name != node || o.trial.direction != Direction::Echo {
            continue;
        }
        let series = o.flows.iter().flat_map(|f| &f.series).chain(&o.series);
        for s in series.filter(|s| latency::is_round_trip(s)) {
            let size = o.trial.size;
            out.push((at + 1, format!("{} {} B", size.unit.name(), size.bytes), s));
        }
    }
    out
}
