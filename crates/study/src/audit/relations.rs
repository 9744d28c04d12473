//! Relations between the cells of one row.

use super::facts::{Facts, interval};
use super::range::Range;
use crate::metric::Metric;
use crate::quantity::{Dimension, Quantity, UNITS, Unit};

/// A cell's value computed from others.
pub struct Relation {
    pub target: Metric,
    /// The source cells; empty where the trial alone gives the value.
    pub from: Vec<Metric>,
    pub expected: Range,
    /// The formula in words.
    pub formula: String,
}

/// The cells of a row as ranges, one of them possibly converted to another unit.
pub struct Cells<'a> {
    facts: &'a Facts<'a>,
    left_out: Vec<Metric>,
    scaled: Option<(Metric, f64)>,
}

impl<'a> Cells<'a> {
    pub fn new(facts: &'a Facts<'a>) -> Cells<'a> {
        Cells {
            facts,
            left_out: Vec::new(),
            scaled: None,
        }
    }

    /// The row without some metrics.
    pub fn without(facts: &'a Facts<'a>, metrics: &[Metric]) -> Cells<'a> {
        Cells {
            left_out: metrics.to_vec(),
            ..Cells::new(facts)
        }
    }

    /// The row with `metric` multiplied by `factor`.
    pub fn scaled(facts: &'a Facts<'a>, metric: Metric, factor: f64) -> Cells<'a> {
        Cells {
            scaled: Some((metric, factor)),
            ..Cells::new(facts)
        }
    }

    /// The values that a cell stands for.
    pub fn range(&self, metric: Metric) -> Option<Range> {
        if self.left_out.contains(&metric) {
            return None;
        }
        let range = self.facts.published(metric).map(Range::printed)?;
        match self.scaled {
            Some((scaled, factor)) if scaled == metric => Some(range.scaled(factor)),
            _ => Some(range),
        }
    }

    /// The relations that do not hold.
    pub fn failing(&self) -> Vec<Relation> {
        let all = relations(self);
        let fails = |r: &Relation| {
            let target = self.range(r.target);
            target.is_some_and(|range| !range.touches(r.expected))
        };
        all.into_iter().filter(fails).collect()
    }
}

/// Every relation whose cells exist.
fn relations(cells: &Cells<'_>) -> Vec<Relation> {
    let mut all = Vec::new();
    amounts(cells, &mut all);
    rates(cells, &mut all);
    shares(cells, &mut all);
    server(cells, &mut all);
    if cells.facts.row.limit {
        limits(cells, &mut all);
    }
    all
}

fn push(
    all: &mut Vec<Relation>,
    target: Metric,
    from: &[Metric],
    formula: &str,
    expected: Option<Range>,
) {
    all.extend(expected.map(|expected| Relation {
        target,
        from: from.to_vec(),
        expected,
        formula: formula.to_owned(),
    }));
}

/// Bits of all frames, and their sources.
fn data(cells: &Cells<'_>) -> Option<(Range, Vec<Metric>)> {
    if let Some(data) = cells.range(Metric::Data) {
        return Some((data, vec![Metric::Data]));
    }
    let bits = 8.0 * cells.facts.counted_bytes;
    let frames = cells.facts.frames()?;
    Some((Range::exact(frames * bits), Vec::new()))
}

fn amounts(cells: &Cells<'_>, all: &mut Vec<Relation>) {
    let facts = cells.facts;
    let frames = facts.frames().map(Range::exact);
    let bits = Range::exact(8.0 * facts.counted_bytes);
    push(all, Metric::Frames, &[], "frames of the trial", frames);
    if !facts.is_tcp() {
        push(all, Metric::Payload, &[], "size of the trial", Some(bits));
    }
    let data = frames.map(|frames| frames * bits);
    push(all, Metric::Data, &[], "frames x data of a frame", data);
}

fn rates(cells: &Cells<'_>, all: &mut Vec<Relation>) {
    use Metric::{FramesPerS, Throughput, Time, TimePerFrame};
    let facts = cells.facts;
    let time = cells.range(Time);
    if let Some((data, mut from)) = data(cells) {
        from.push(Time);
        let expected = time.map(|time| data / time);
        push(all, Throughput, &from, "data / time", expected);
    }
    let frames = facts.frames().map(Range::exact);
    let per_s = frames.zip(time).map(|(n, t)| n / t);
    push(all, FramesPerS, &[Time], "frames / time", per_s);
    let each = frames.zip(time).map(|(n, t)| t / n);
    push(all, TimePerFrame, &[Time], "time / frames", each);
    let each = cells.range(FramesPerS).map(|r| Range::exact(1.0) / r);
    push(
        all,
        TimePerFrame,
        &[FramesPerS],
        "1 / frames per second",
        each,
    );
    if !facts.is_tcp() {
        let bits = Range::exact(8.0 * facts.counted_bytes);
        let of = "frames per second x data of a frame";
        let rate = cells.range(FramesPerS).map(|r| r * bits);
        push(all, Throughput, &[FramesPerS], of, rate);
        let of = "data of a frame / time per frame";
        let rate = cells.range(TimePerFrame).map(|t| bits / t);
        push(all, Throughput, &[TimePerFrame], of, rate);
    }
    let receive = cells.range(Metric::ThroughputReceive);
    let sum = receive.zip(cells.range(Metric::ThroughputTransmit));
    let parts = [Metric::ThroughputReceive, Metric::ThroughputTransmit];
    let expected = sum.map(|(receive, transmit)| receive + transmit);
    push(
        all,
        Metric::ThroughputSum,
        &parts,
        "receive + transmit",
        expected,
    );
}

fn shares(cells: &Cells<'_>, all: &mut Vec<Relation>) {
    use Metric::{Efficiency, ShareOfLimit, Throughput};
    let facts = cells.facts;
    let Some(link) = facts.link.filter(|_| !facts.is_tcp()) else {
        return;
    };
    let limit = 8.0 * facts.counted_bytes * link.frames_per_s(&facts.sizes);
    let highest = f64::from(facts.sizes.payload) / facts.link_bytes();
    let rates = [
        (Metric::FramesPerS, cells.range(Metric::FramesPerS)),
        (
            Metric::TimePerFrame,
            cells
                .range(Metric::TimePerFrame)
                .map(|t| Range::exact(1.0) / t),
        ),
        (
            Metric::Time,
            facts
                .frames()
                .zip(cells.range(Metric::Time))
                .map(|(n, t)| Range::exact(n) / t),
        ),
    ];
    for (from, rate) in rates {
        let whole = link.frames_per_s(&facts.sizes);
        let share = rate.filter(|_| whole > 0.0).map(|r| r.scaled(1.0 / whole));
        push(
            all,
            ShareOfLimit,
            &[from],
            "frames per second / limit of the link",
            share,
        );
        let share = share.map(|s| s.scaled(highest));
        push(all, Efficiency, &[from], "payload rate / link rate", share);
    }
    let rate = cells.range(Throughput);
    let share = rate.filter(|_| limit > 0.0).map(|r| r.scaled(1.0 / limit));
    let of = "throughput / limit of the link at this size";
    push(all, ShareOfLimit, &[Throughput], of, share);
    let efficiency = share.map(|share| share.scaled(highest));
    let of = "payload rate / link rate";
    push(all, Efficiency, &[Throughput], of, efficiency);
    let efficiency = cells.range(ShareOfLimit).map(|s| s.scaled(highest));
    let of = "share x highest efficiency of this size";
    push(all, Efficiency, &[ShareOfLimit], of, efficiency);
}

fn server(cells: &Cells<'_>, all: &mut Vec<Relation>) {
    use Metric::{Bandwidth, Datagrams, Loss, Lost, Transfer};
    let bits = Range::exact(8.0 * cells.facts.counted_bytes);
    let datagrams = cells.range(Datagrams);
    let lost = cells.range(Lost);
    let share = lost.zip(datagrams).map(|(lost, all)| lost / all);
    push(all, Loss, &[Lost, Datagrams], "lost / datagrams", share);
    let zero = Range::exact(0.0);
    let transfer = datagrams.map(|all| (all - lost.unwrap_or(zero)) * bits);
    let of = "(datagrams - lost) x data of a datagram";
    push(all, Transfer, &[Datagrams, Lost], of, transfer);
    if cells.facts.row.interval.is_none() {
        transfers(cells, all);
    } else {
        let rate = cells.range(Transfer);
        let seconds = rate
            .zip(cells.range(Bandwidth))
            .map(|(r, b)| cells.facts.interval_s.unwrap_or_else(|| interval(r / b)));
        let rate = rate.zip(seconds).map(|(r, s)| r.scaled(1.0 / s));
        push(all, Bandwidth, &[Transfer], "transfer / interval", rate);
    }
}

/// Amount, rate and time of a whole trial, of whole frames or not.
fn transfers(cells: &Cells<'_>, all: &mut Vec<Relation>) {
    use Metric::{Bandwidth, Data, Throughput, Time, Transfer};
    let stated = cells.facts.seconds();
    let time = cells
        .range(Time)
        .map(|time| (time, vec![Time]))
        .or_else(|| Some((stated?, Vec::new())));
    push(
        all,
        Time,
        &[],
        "time of the trial",
        stated.filter(|_| cells.facts.is_tcp()),
    );
    let mut amounts = [Data, Transfer].into_iter();
    let amount = amounts.find(|m| cells.range(*m).is_some());
    let Some(((time, of_time), amount)) = time.zip(amount) else {
        return;
    };
    let Some(bits) = cells.range(amount) else {
        return;
    };
    for rate in [Bandwidth, Throughput] {
        // Data over the time cell is a relation of every trial.
        if amount == Data && rate == Throughput && !of_time.is_empty() {
            continue;
        }
        let from = [vec![amount], of_time.clone()].concat();
        let of = match of_time.is_empty() {
            true => format!("{amount} / time of the trial"),
            false => format!("{amount} / time"),
        };
        push(all, rate, &from, &of, Some(bits / time));
    }
}

/// A row of the link's own limits, in whole frames or not.
fn limits(cells: &Cells<'_>, all: &mut Vec<Relation>) {
    let facts = cells.facts;
    let frame = Range::exact(8.0 * facts.link_bytes());
    push(
        all,
        Metric::FrameBits,
        &[],
        "frame with preamble, FCS and gap",
        Some(frame),
    );
    let Some(link) = facts.link else { return };
    let whole = link.whole_frames_per_s(&facts.sizes) as f64;
    let frames = Range::exact(whole).around(Range::exact(link.frames_per_s(&facts.sizes)));
    push(
        all,
        Metric::FramesPerS,
        &[],
        "link rate / bits of a frame",
        Some(frames),
    );
    let rate = frames.scaled(8.0 * facts.counted_bytes);
    let of = "link rate / bits of a frame x data of a frame";
    push(all, Metric::Throughput, &[], of, Some(rate));
}

/// Units in which a figure may have been meant: the same digits, another scale.
pub fn other_units(printed: &Quantity) -> impl Iterator<Item = &'static Unit> {
    let own = printed.unit;
    UNITS.iter().filter(move |unit| {
        unit.dimension.compares_with(own.dimension)
            && unit.scale != own.scale
            && own.dimension != Dimension::Share
    })
}
