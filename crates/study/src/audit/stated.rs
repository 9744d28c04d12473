//! Rules `load`, `size` and `negative`: values on a page that no link carries, no frame has or no figure can have. Rule
//! `percentiles`: latencies of one row that are out of order. Rows without a size are compared with the link's own rate.

use wirelab_trial::{Load, LoadError};
use wirelab_wire::{Layer, LineRate, SizeUnit, size::MIN_FRAME};

use super::facts::of;
use super::range::Range;
use super::{Finding, Rule, Severity, Subject, show};
use crate::metric::Metric;
use crate::quantity::{Dimension, Quantity, UNITS, Unit};
use crate::table::{Row, Study};

/// How much faster than its nominal rate a link may appear, as of rule `limit`.
const CLOCK_TOLERANCE: f64 = 2e-4;
/// The largest share by which a load may be rounded: `96` Mbit/s may be 95.7, `100` may not.
const ROUNDED: f64 = 0.005;
/// The most data of one UDP datagram and one TCP segment over IPv4.
const MOST_DATAGRAM: u32 = 65_507;

/// Latencies that rise from one to the next.
const ORDER: [Metric; 6] = [
    Metric::LatencyMin,
    Metric::LatencyMedian,
    Metric::LatencyP90,
    Metric::LatencyP99,
    Metric::LatencyP999,
    Metric::LatencyMax,
];

/// All findings of these rules.
pub fn findings(study: &Study) -> Vec<Finding> {
    let rows = study.rows.iter();
    rows.flat_map(|row| {
        let alone = [size(study, row), load(study, row), order(study, row)];
        let unsized_ = (!row.size_known).then(|| without_a_size(study, row));
        let mut found: Vec<Finding> = alone.into_iter().flatten().collect();
        found.extend(negative(study, row));
        found.extend(unsized_.into_iter().flatten());
        found
    })
    .collect()
}

fn unit(name: &str) -> Unit {
    let known = UNITS.iter().find(|unit| unit.name == name);
    *known.expect("a unit of the table")
}

/// The link of a row.
pub fn link(study: &Study, row: &Row) -> Option<LineRate> {
    let bits_per_s = row.trial.link_bits_per_s.or(study.link_bits_per_s);
    bits_per_s.and_then(LineRate::new)
}

fn negative(study: &Study, row: &Row) -> Option<Finding> {
    let below = row.cells.iter().filter(|cell| cell.published.number < 0.0);
    let below: Vec<_> = below.collect();
    let first = below.first()?;
    let mut finding = Finding::new(study, first.line, Severity::Impossible, Rule::Negative);
    finding.cells = below.iter().map(|c| row.subject(c.metric)).collect();
    let printed: Vec<String> = below.iter().map(|c| c.published.to_string()).collect();
    finding.says = format!("{}: {} is below 0.", row.name, printed.join(" and "));
    finding.arithmetic = format!("{} < 0", printed.join(", "));
    Some(finding)
}

/// The bytes that no frame of standard or jumbo Ethernet has, and why.
fn no_such_size(row: &Row) -> Option<String> {
    let size = row.trial.size;
    let least = match size.unit {
        SizeUnit::Frame => MIN_FRAME,
        SizeUnit::Length => MIN_FRAME - 4,
        SizeUnit::Payload | SizeUnit::Datagram => 1,
    };
    if size.bytes < least {
        return Some(format!("a {} has at least {least} B", size.unit.name()));
    }
    let udp = matches!(row.trial.framing.layer, Layer::UdpIpv4 | Layer::UdpIpv6);
    let most = match size.unit {
        SizeUnit::Datagram if udp => MOST_DATAGRAM,
        // TCP segments what it is given.
        SizeUnit::Datagram => return None,
        _ => MOST_DATAGRAM + 8 + 40 + 22,
    };
    (size.bytes > most).then(|| format!("a {} has at most {most} B", size.unit.name()))
}

fn size(study: &Study, row: &Row) -> Option<Finding> {
    if !row.size_known {
        return None;
    }
    let why = no_such_size(row)?;
    let mut finding = Finding::new(study, row.line, Severity::Impossible, Rule::Size);
    finding.cells = vec![Subject::Size(row.name.clone())];
    let size = row.trial.size;
    finding.says = format!(
        "{}: no {} has {} B.",
        row.name,
        size.unit.name(),
        size.bytes
    );
    finding.arithmetic = format!("{why}, and the page has {} B", size.bytes);
    Some(finding)
}

/// A load that the link does not carry at this size.
fn load(study: &Study, row: &Row) -> Option<Finding> {
    let load = row.trial.load;
    if let Load::LinkShare { percent } = load {
        return (percent > 100.0).then(|| {
            let why = "no share of a link is above 100 %".to_owned();
            beyond(
                study,
                row,
                &format!("{percent} %"),
                why,
                "at most 100 %".to_owned(),
            )
        });
    }
    let facts = of(study, row)?;
    let link = facts.link?;
    let layer = row.trial.framing.layer;
    let Err(LoadError::AboveLink { requested, .. }) =
        load.frames_per_s(&facts.sizes, layer, Some(link))
    else {
        return None;
    };
    let limit = link.frames_per_s(&facts.sizes);
    if requested * (1.0 - ROUNDED) <= limit * (1.0 + CLOCK_TOLERANCE) {
        return None;
    }
    let bits = 8.0 * facts.counted_bytes;
    let (printed, most) = match load {
        Load::FrameRate { .. } => (
            show::value(requested, unit("frames/s")),
            show::value(limit, unit("frames/s")),
        ),
        _ => (show::rate(requested * bits), show::rate(limit * bits)),
    };
    let why = format!(
        "a frame of this size takes {} B of a link of {}: {} frames/s at most, and {} are {} frames/s",
        facts.link_bytes(),
        show::rate(link.bits_per_s() as f64),
        show::number(limit, 6),
        printed,
        show::number(requested, 6)
    );
    let lost = facts
        .rounded(Metric::Loss)
        .map_or(0.0, |loss| loss.high.min(1.0));
    let delivered = requested * (1.0 - ROUNDED) * (1.0 - lost);
    let mut finding = beyond(study, row, &printed, why, format!("at most {most}"));
    if lost > 0.0 && delivered <= limit * (1.0 + CLOCK_TOLERANCE) {
        finding.severity = Severity::Remark;
        finding.says = format!(
            "{}: a load of {printed} was requested from the sender; the link carries less, and the loss accounts for it.",
            row.name
        );
        finding.with = vec![row.subject(Metric::Loss)];
    }
    Some(finding)
}

fn beyond(study: &Study, row: &Row, printed: &str, why: String, consistent: String) -> Finding {
    let mut finding = Finding::new(study, row.line, Severity::Impossible, Rule::Load);
    finding.cells = vec![Subject::Load(row.name.clone())];
    finding.says = format!(
        "{}: a load of {printed} cannot be true, the link carries less.",
        row.name
    );
    finding.arithmetic = why;
    finding.consistent = Some(consistent);
    finding
}

/// The pairs of latencies of a row that the rule compares, the one that must not be above the other first.
pub fn ordered(row: &Row) -> Vec<(Metric, Metric)> {
    let has = |metric: &Metric| row.cell(*metric).is_some();
    let there: Vec<Metric> = ORDER.into_iter().filter(has).collect();
    let mut pairs: Vec<(Metric, Metric)> = there.windows(2).map(|w| (w[0], w[1])).collect();
    if has(&Metric::Latency) {
        // A mean lies between the ends; no percentile bounds it.
        let ends = [
            (Metric::LatencyMin, Metric::Latency),
            (Metric::Latency, Metric::LatencyMax),
        ];
        pairs.extend(ends.into_iter().filter(|(a, b)| has(a) && has(b)));
    }
    pairs
}

fn order(study: &Study, row: &Row) -> Option<Finding> {
    let range = |metric| Some(Range::rounded(&row.cell(metric)?.published));
    let wrong = ordered(row).into_iter().filter(|(a, b)| {
        let ranges = range(*a).zip(range(*b));
        ranges.is_some_and(|(a, b)| a.above(b))
    });
    let wrong: Vec<(Metric, Metric)> = wrong.collect();
    let (first, _) = wrong.first()?;
    let line = row.cell(*first).map_or(row.line, |cell| cell.line);
    let mut finding = Finding::new(study, line, Severity::Inconsistent, Rule::Percentiles);
    let mut metrics: Vec<Metric> = wrong.iter().flat_map(|(a, b)| [*a, *b]).collect();
    metrics.sort_unstable();
    metrics.dedup();
    finding.cells = metrics.iter().map(|m| row.subject(*m)).collect();
    let said: Vec<String> = wrong
        .iter()
        .filter_map(|(a, b)| {
            let (x, y) = (row.cell(*a)?, row.cell(*b)?);
            Some(format!("{a} {} is above {b} {}", x.published, y.published))
        })
        .collect();
    finding.says = format!("{}: {}.", row.name, said.join(", and "));
    finding.arithmetic =
        "minimum ≤ median ≤ 90 % ≤ 99 % ≤ 99.9 % ≤ maximum, and the mean between the ends"
            .to_owned();
    Some(finding)
}

/// The limits that need no size: shares above 100 %, rates above the link's own.
fn without_a_size(study: &Study, row: &Row) -> Vec<Finding> {
    let link = link(study, row);
    let cells = row.cells.iter();
    cells
        .filter_map(|cell| {
            let (rule, most, why) = bound(link, cell.metric, &cell.published)?;
            let least = Range::rounded(&cell.published);
            if !least.above(Range::exact(most * (1.0 + CLOCK_TOLERANCE))) {
                return None;
            }
            let mut finding = Finding::new(study, cell.line, Severity::Impossible, rule);
            finding.cells = vec![row.subject(cell.metric)];
            finding.says = format!(
                "{}: {} cannot be true, the limit is lower.",
                row.name, cell.published
            );
            finding.arithmetic = why;
            finding.consistent = Some(format!(
                "at most {}",
                show::value(most, cell.published.unit)
            ));
            Some(finding)
        })
        .collect()
}

/// The rule, the highest value and the reason for a figure of a row without a size.
pub fn bound(
    link: Option<LineRate>,
    metric: Metric,
    printed: &Quantity,
) -> Option<(Rule, f64, String)> {
    if printed.unit.dimension == Dimension::Share {
        return Some((Rule::Share, 1.0, "no share is above 100 %".to_owned()));
    }
    let link = link?.bits_per_s() as f64;
    let most = match metric {
        Metric::ThroughputSum => 2.0 * link,
        Metric::Throughput
        | Metric::ThroughputReceive
        | Metric::ThroughputTransmit
        | Metric::Bandwidth => link,
        _ => return None,
    };
    let why = format!("the link carries {} in each direction", show::rate(link));
    Some((Rule::Link, most, why))
}
