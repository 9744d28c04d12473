//! Pictures of a datasheet: bandwidth, CPU load and loss of UDP against the rate that was offered, and the percentiles
//! of round trips.

use wirelab_trial::Series;

use super::sheet::{Rate, Sheet, UdpSize};
use super::show;
use crate::chart::Picture;
use crate::chart::xy::{Axis, Curve, Plane, Point};
use crate::charts;
use crate::document::Gallery;
use crate::format;
use crate::loss::Loss;
use crate::stats::Samples;

/// Points of a percentile curve in each decade.
const STEPS: i32 = 24;

/// A figure of a rate in the unit of its picture.
type Get = fn(&Rate) -> Option<f64>;

/// Bandwidth, CPU load and loss against the offered rate, for each size of datagram.
pub fn rates(sheet: &Sheet) -> Gallery {
    let planes: [(&str, &'static str, [Get; 2], bool); 3] = [
        (
            "UDP RX: bandwidth that arrived",
            "arrived in Mbit/s",
            [|r| Some(r.bits_per_s.value()? / 1e6), |_| None],
            true,
        ),
        (
            "UDP RX: CPU load",
            "CPU load in %",
            [|r| Some(r.cpu_busy_ratio.value()? * 100.0), |_| None],
            false,
        ),
        (
            "UDP RX: packet loss",
            "loss in %",
            [
                |r| Some(r.loss_ratio.value()? * 100.0),
                |r| Some(r.loss_ratio_at_most? * 100.0),
            ],
            false,
        ),
    ];
    let pictures = planes.into_iter().map(|(title, name, get, log)| {
        let number = |v: f64| format::si(v, "").trim_end().to_owned();
        let show = if log { show::three } else { number };
        let plane = Plane {
            x: Axis {
                name: "offered in Mbit/s",
                log: true,
                show: show::three,
            },
            y: Axis { name, log, show },
            diagonal: log,
            marked: Vec::new(),
            curves: sheet.udp.iter().map(|u| curve(u, get, name)).collect(),
        };
        (title.to_owned(), Picture::Plane(plane))
    });
    Gallery {
        about: "Trials of a given rate and of the searches, a line for each length of datagram; the dashed line is where \
                all that was offered arrives.",
        about_below: true,
        pictures: pictures.collect(),
        ..Gallery::default()
    }
}

/// Receive trials of one size, by the rate that was offered: a figure, and the most that it may be where that is more.
fn curve(size: &UdpSize, [get, at_most]: [Get; 2], name: &str) -> Curve {
    let mut rates: Vec<(f64, &Rate)> = size
        .receive
        .iter()
        .chain(&size.searched)
        .filter_map(|r| Some((r.offered_bits_per_s.value()? / 1e6, r)))
        .collect();
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let points = rates.into_iter().filter_map(|(x, r)| {
        let of = Loss::new(get(r)?, at_most(r));
        let shared = if r.cpu_shared { ", cores shared" } else { "" };
        let title = format!(
            "{} B, {} Mbit/s offered: {} {name}{shared}",
            size.datagram_bytes,
            show::three(x),
            of.show(show::three)
        );
        let point = |y, title: &str| Point {
            x,
            y,
            title: title.to_owned(),
        };
        let mut points = vec![point(of.low, &title)];
        if let Some(high) = of.at_most() {
            // Up and down again, so that the line goes on from what is certain.
            points.extend([point(high, &title), point(of.low, "")]);
        }
        Some(points)
    });
    Curve {
        label: format!("{} B", size.datagram_bytes),
        joined: true,
        points: points.flatten().collect(),
    }
}

/// Percentiles of round trips, and the distribution of each size.
pub fn round_trips(all: &[(usize, String, &Series)]) -> [Gallery; 2] {
    let curves = all.iter().filter_map(|(_, size, series)| {
        let samples = Samples::of_series(series)?;
        // The unit of size stands in the table; here there is room for the number alone.
        let label = size.trim_start_matches(|c: char| !c.is_ascii_digit());
        (!samples.instructions).then(|| percentiles(label.to_owned(), &samples))
    });
    let percent = |x: f64| match x {
        x if x < 1.5 => "0 %".to_owned(),
        x => {
            let percent = format::decimal(100.0 * (1.0 - 1.0 / x), 4);
            let percent = percent.trim_end_matches('0').trim_end_matches('.');
            format!("{percent} %")
        }
    };
    let plane = Plane {
        x: Axis {
            name: "share of round trips that are as short",
            log: true,
            show: percent,
        },
        y: Axis {
            name: "round trip in µs",
            log: true,
            show: show::three,
        },
        diagonal: false,
        marked: Vec::new(),
        curves: curves.collect(),
    };
    let titled = all.iter().map(|(trial, size, series)| {
        let title = format!("Trial {trial} · round trip · {size}");
        (title, *series)
    });
    let by_percentile = Gallery {
        pictures: vec![("Round trip by percentile".to_owned(), Picture::Plane(plane))],
        ..Gallery::default()
    };
    [by_percentile, charts::of_series(titled)]
}

/// From the shortest to the longest; the axis across is 1 / (1 − share), up to what the samples can tell.
fn percentiles(label: String, samples: &Samples) -> Curve {
    let count = samples.count().max(1) as f64;
    let mut sorted = samples.values.clone();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let steps = (count.log10().min(9.0) * f64::from(STEPS)).ceil() as i32;
    let mut points = Vec::new();
    let (mut place, mut seen) = (0, 0u128);
    for step in 0..=steps {
        let x = 10f64.powf(f64::from(step) / f64::from(STEPS)).min(count);
        let rank = ((1.0 - 1.0 / x) * count).ceil().max(1.0) as u128;
        while place < sorted.len() && seen < rank {
            seen += u128::from(sorted[place].1);
            place += 1;
        }
        let Some((ps, _)) = sorted.get(place.saturating_sub(1)) else {
            break;
        };
        points.push(Point {
            x,
            y: ps / 1e6,
            title: String::new(),
        });
    }
    points.push(Point {
        x: count,
        y: samples.range().1 / 1e6,
        title: String::new(),
    });
    Curve {
        label,
        joined: true,
        points,
    }
}
