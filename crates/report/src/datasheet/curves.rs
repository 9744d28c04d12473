//! Pictures of a datasheet: bandwidth, CPU load and loss of UDP against the rate that was sent, and the percentiles
//! of round trips.

use wirelab_trial::{ResultsFile, Series};

use super::sheet::{Rate, Sheet, UdpSize};
use super::show;
use crate::chart::plane::{self, LineLook, Pane, Plane, PlaneLine, Point};
use crate::chart::{Axis, Picture, Show};
use crate::distributions::{self, Named};
use crate::document::Gallery;
use crate::loss::Loss;

/// A figure of a rate in the unit of its picture.
type Get = fn(&Rate) -> Option<f64>;

/// Bandwidth, loss and CPU load against the rate that was sent, for each size of datagram.
pub fn rates(sheet: &Sheet) -> Gallery {
    let all = || {
        sheet
            .udp
            .iter()
            .flat_map(|u| u.receive.iter().chain(&u.searched))
    };
    let sent = all().filter_map(|r| r.sent_bits_per_s.value().copied());
    let (low, high) = sent
        .filter(|rate| *rate > 0.0)
        .fold((f64::INFINITY, 0.0f64), |(low, high), rate| {
            (low.min(rate), high.max(rate))
        });
    let panes: [(Axis, [Get; 2]); 3] = [
        (
            Axis::log("arrived in bit/s", Show::Si),
            [|r| r.bits_per_s.value().copied(), |_| None],
        ),
        (
            Axis::linear("lost", Show::Share),
            [|r| r.loss_ratio.value().copied(), |r| r.loss_ratio_at_most],
        ),
        (
            Axis::linear("CPU load", Show::Share).up_to(1.0),
            [|r| r.cpu_busy_ratio.value().copied(), |_| None],
        ),
    ];
    let panes = panes.into_iter().map(|(y, get)| Pane {
        lines: match y.log {
            true => vec![PlaneLine {
                name: "all that was sent".to_owned(),
                look: LineLook::Limit,
                points: vec![(low, low), (high, high)],
            }],
            false => Vec::new(),
        },
        series: sheet.udp.iter().map(|u| curve(u, get)).collect(),
        y,
    });
    let plane = Plane {
        x: Axis::log("load that was achieved, in bit/s of data", Show::Si),
        panes: panes.collect(),
        marked: sheet.udp.iter().filter_map(knee).collect(),
    };
    let plane = Picture::Plane(plane.tidied());
    Gallery {
        about: "Each mark is a trial of a given rate or of a search, at the load that its sender achieved; a hollow mark is \
                one that the tester limited. A dashed line across is the rate that a search found for a length of \
                datagram; one along is where all that was sent arrives.",
        about_below: true,
        wide: true,
        pictures: vec![(
            "UDP RX: what arrived, what was lost, and the CPU load".to_owned(),
            plane,
        )],
        ..Gallery::default()
    }
}

/// The load at which a search found the highest rate of a size.
fn knee(size: &UdpSize) -> Option<(f64, String)> {
    let found = size
        .receive_max
        .as_ref()
        .or(size.receive_no_loss.as_ref())?;
    let arrived = found.rate.bits_per_s.value()?;
    let at = found.rate.sent_bits_per_s.value().unwrap_or(arrived);
    let name = format!(
        "{} B: {} Mbit/s",
        size.datagram_bytes,
        show::three(arrived / 1e6)
    );
    Some((*at, name))
}

/// Receive trials of one size, by the rate that was sent: a figure, and its largest possible value if that is larger.
fn curve(size: &UdpSize, [get, at_most]: [Get; 2]) -> plane::Series {
    let mut rates: Vec<(f64, &Rate)> = size
        .receive
        .iter()
        .chain(&size.searched)
        .filter_map(|r| Some((*r.sent_bits_per_s.value()?, r)))
        .collect();
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let points = rates.into_iter().filter_map(|(x, r)| {
        let of = Loss::new(get(r)?, at_most(r));
        let words = format!("{} B, {}", size.datagram_bytes, words(x, r));
        Some(Point {
            at_most: of.at_most(),
            tester: r.tester_was_limit.value() == Some(&true),
            ..Point::new(x, of.low, words, r.trials.first().copied())
        })
    });
    plane::Series::plain(
        format!("{} B", size.datagram_bytes),
        false,
        points.collect(),
    )
}

/// The result of a rate, in words.
fn words(sent: f64, r: &Rate) -> String {
    let mut out = format!("{} Mbit/s sent", show::three(sent / 1e6));
    if let Some(rate) = r.bits_per_s.value() {
        out.push_str(&format!(", {} arrived", show::three(rate / 1e6)));
    }
    if let Some(loss) = r.loss_ratio.value() {
        let of = Loss::new(loss * 100.0, r.loss_ratio_at_most.map(|most| most * 100.0));
        out.push_str(&format!(", {} % lost", of.show(show::three)));
    }
    if let Some(busy) = r.cpu_busy_ratio.value() {
        let shared = if r.cpu_shared { " (cores shared)" } else { "" };
        out.push_str(&format!(
            ", CPU load {} %{shared}",
            show::three(busy * 100.0)
        ));
    }
    out
}

/// Round trips of each size.
pub fn round_trips(file: &ResultsFile, all: &[(usize, String, &Series)]) -> Gallery {
    let titled = all.iter().map(|(trial, size, series)| Named {
        group: "Round trip".to_owned(),
        of: "echo".to_owned(),
        name: format!("{size} · trial {trial}"),
        trial: *trial,
        series,
    });
    Gallery {
        about: "How long the slowest round trips took, by the share that was faster.",
        about_below: true,
        wide: true,
        ..distributions::of_series(file, titled.collect(), "size")
    }
}
