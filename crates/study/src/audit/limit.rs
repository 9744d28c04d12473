//! Rules `limit`, `link` and `share`: no rate above the link's capacity at this size, none above the link itself, no
//! share above the whole.

use super::facts::{Facts, facts};
use super::range::Range;
use super::relations::other_units;
use super::{Finding, Rule, Severity, Subject, show};
use crate::metric::Metric;
use crate::quantity::{Dimension, Quantity, Unit};
use crate::table::Study;

/// How much faster than its nominal rate a link may appear: its clock may be 100 ppm fast (IEEE 802.3), and that of the
/// tester as slow.
const CLOCK_TOLERANCE: f64 = 2e-4;

/// A cell above its limit.
pub struct Broken {
    pub metric: Metric,
    rule: Rule,
    /// The figure in the unit in which it equals the link's own rate.
    meant: Option<String>,
    arithmetic: String,
    consistent: String,
}

/// The cells of a row above a limit, after rounding.
pub fn broken(row: &Facts<'_>) -> Vec<Broken> {
    let cells = row.row.cells.iter();
    cells
        .filter_map(|cell| beyond(row, cell.metric, &cell.published))
        .collect()
}

/// The names of all cells above a limit.
pub fn broken_cells(study: &Study) -> Vec<Subject> {
    let rows = facts(study);
    let each = rows
        .iter()
        .flat_map(|row| broken(row).into_iter().map(|b| row.row.subject(b.metric)));
    each.collect()
}

pub fn beyond(row: &Facts<'_>, metric: Metric, printed: &Quantity) -> Option<Broken> {
    let least = Range::rounded(printed);
    let of_the_node = matches!(metric, Metric::CpuLoad | Metric::Loss);
    let tolerance = if of_the_node { 0.0 } else { CLOCK_TOLERANCE };
    let found = |rule, limit: f64, why: String| {
        let highest = Range::exact(limit * (1.0 + tolerance));
        least.above(highest).then(|| Broken {
            metric,
            rule,
            meant: None,
            arithmetic: format!(
                "{why}; the printed figure is at least {}",
                show::value(least.low, printed.unit)
            ),
            consistent: format!("at most {}", show::value(limit, printed.unit)),
        })
    };
    if printed.unit.dimension == Dimension::Share {
        if let Some(broken) = found(Rule::Share, 1.0, "no share is above 100 %".to_owned()) {
            return Some(broken);
        }
    }
    let link = row.link?;
    let bits_per_s = link.bits_per_s() as f64;
    let flows = if metric == Metric::ThroughputSum {
        2.0
    } else {
        1.0
    };
    let (limit, why) = match metric {
        Metric::Throughput
        | Metric::ThroughputReceive
        | Metric::ThroughputTransmit
        | Metric::ThroughputSum
        | Metric::Bandwidth => {
            let whole = format!(
                "the link carries {} in each direction",
                show::rate(link.bits_per_s() as f64)
            );
            if let Some(broken) = found(Rule::Link, flows * bits_per_s, whole) {
                let meant = meant(printed, bits_per_s);
                return Some(Broken { meant, ..broken });
            }
            let limit = row.limit_bits_per_s()?;
            (flows * limit, rate_limit(row, limit))
        }
        Metric::Efficiency => {
            let payload = f64::from(row.sizes.payload);
            let why = format!(
                "{payload} B of payload take {} B of the link",
                row.link_bytes()
            );
            (payload / row.link_bytes(), why)
        }
        Metric::FramesPerS => {
            let limit = link.frames_per_s(&row.sizes);
            let bits = 8.0 * row.link_bytes();
            let why = format!(
                "a frame takes {bits} bit of a link of {}",
                show::rate(bits_per_s)
            );
            (limit, why)
        }
        _ => return None,
    };
    // TCP segments its stream, so the requested size does not limit the frame rate.
    if row.is_tcp() && matches!(metric, Metric::Efficiency | Metric::FramesPerS) {
        return None;
    }
    found(Rule::Limit, limit, why)
}

fn meant(printed: &Quantity, bits_per_s: f64) -> Option<String> {
    let rate = Range::exact(bits_per_s);
    let is_rate = |unit: &&Unit| {
        let factor = unit.scale / printed.unit.scale;
        Range::rounded(printed).scaled(factor).touches(rate)
    };
    let unit = other_units(printed).find(is_rate)?;
    Some(format!(
        "{:.*} {}",
        printed.decimals, printed.number, unit.name
    ))
}

fn rate_limit(row: &Facts<'_>, limit: f64) -> String {
    if row.is_tcp() {
        return format!("full segments reach {}", show::rate(limit));
    }
    let (counted, link) = (row.counted_bytes, row.link_bytes());
    let whole = row.link.map_or(0.0, |l| l.bits_per_s() as f64);
    format!(
        "{counted} B of data take {link} B of the link: {} x {counted} / {link} = {}",
        show::rate(whole),
        show::rate(limit)
    )
}

/// One finding for each row that breaks a limit; `explains` may give the reason.
pub fn findings(study: &Study, explains: impl Fn(&Facts<'_>) -> Option<String>) -> Vec<Finding> {
    let rows = facts(study);
    let mut findings: Vec<Finding> = rows
        .iter()
        .filter_map(|row| finding(study, row, &explains))
        .collect();
    findings.extend(rows.iter().filter_map(|row| lost_of(study, row)));
    findings
}

fn finding(
    study: &Study,
    row: &Facts<'_>,
    explains: impl Fn(&Facts<'_>) -> Option<String>,
) -> Option<Finding> {
    let broken = broken(row);
    let rule = broken.first()?.rule;
    let mut finding = Finding::new(study, row.row.line, Severity::Impossible, rule);
    finding.cells = broken.iter().map(|b| row.row.subject(b.metric)).collect();
    let printed: Vec<String> = broken
        .iter()
        .filter_map(|b| row.published(b.metric).map(Quantity::to_string))
        .collect();
    finding.says = format!(
        "{}: {} cannot be true, the limit is lower.",
        row.row.name,
        printed.join(" and ")
    );
    if let Some(why) = explains(row) {
        finding.says.push_str(&format!(" {why}"));
    }
    let meant = broken.iter().find_map(|b| b.meant.as_ref());
    if let Some(meant) = meant {
        let unit = format!(" {meant} is the link's own rate: the unit is wrong.");
        finding.says.push_str(&unit);
    }
    let arithmetic: Vec<&str> = broken.iter().map(|b| b.arithmetic.as_str()).collect();
    finding.arithmetic = arithmetic.join("; ");
    let consistent: Vec<&str> = broken.iter().map(|b| b.consistent.as_str()).collect();
    finding.consistent = Some(meant.cloned().unwrap_or_else(|| consistent.join(", ")));
    Some(finding)
}

/// More datagrams lost than sent.
fn lost_of(study: &Study, row: &Facts<'_>) -> Option<Finding> {
    let lost = row.published(Metric::Lost)?;
    let all = row.published(Metric::Datagrams)?;
    if !Range::rounded(lost).above(Range::rounded(all)) {
        return None;
    }
    let mut finding = Finding::new(study, row.row.line, Severity::Impossible, Rule::Share);
    finding.cells = vec![row.row.subject(Metric::Lost)];
    finding.with = vec![row.row.subject(Metric::Datagrams)];
    finding.says = format!("{}: more datagrams lost than sent.", row.row.name);
    finding.arithmetic = format!("{lost} lost of {all}");
    finding.consistent = Some(format!("at most {all}"));
    Some(finding)
}
