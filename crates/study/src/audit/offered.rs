//! Rule `offered`: more received than was offered, and a delivered rate, an offered rate and a loss that do not fit.

use super::evidence::{Doubt, Evidence};
use super::facts::{Facts, facts};
use super::range::Range;
use super::{Finding, Rule, Severity, Subject, show};
use crate::metric::Metric;
use crate::quantity::Quantity;
use crate::table::Study;
use wirelab_trial::{Direction, Load};

/// Error of a tester's rate: at most the first share. It is less, but at least the second share, if the rows of the page show
/// that.
const TESTER: f64 = 0.02;
const BEST_TESTER: f64 = 0.003;
/// A sending node may miss it by more.
const NODE: f64 = 0.05;
/// Rows that show how far off a tester is, and what its rates count.
const LEAST_ROWS: usize = 4;
/// How likely the trial's load is the wrong one, beside the likeliest cell.
const LOAD: f64 = 0.05;
/// A loss above the first value of a pair is rare on a page: the second is a factor on its weight as a suspect.
const UNUSUAL: [(f64, f64); 2] = [(0.1, 0.2), (0.5, 0.1)];
/// Prefixes that tools take for powers of two: iperf 2 up to 2.0.5 reads `-b 10M` as 10 x 1024 x 1024.
const BINARY: [f64; 3] = [1.024, 1.048_576, 1.073_741_824];
/// The figures of a delivered rate.
const DELIVERED: [Metric; 4] = [
    Metric::Throughput,
    Metric::FramesPerS,
    Metric::Bandwidth,
    Metric::TimePerFrame,
];

/// A row with a stated load and a rate.
struct LoadedRow<'a> {
    facts: Facts<'a>,
    metric: Metric,
    printed: &'a Quantity,
    /// Frames per second of that figure.
    delivered: Range,
    /// Frames per second that the load states.
    offered: f64,
    loss: Option<&'a Quantity>,
}

/// What the rates of a page count, as its rows show.
struct Custom {
    off: f64,
    /// Rates beside a loss may be those that were offered.
    may_be_offered: bool,
    may_be_delivered: bool,
}

/// One finding for each delivered rate that its load or its loss forbids.
pub fn findings(study: &Study, evidence: &Evidence) -> Vec<Finding> {
    let rows: Vec<LoadedRow<'_>> = facts(study).iter().filter_map(loaded_row).collect();
    let received = rows
        .iter()
        .filter(|r| r.facts.row.trial.direction == Direction::Receive);
    let custom = custom(&received.collect::<Vec<_>>());
    let found = rows
        .iter()
        .filter_map(|row| finding(study, row, &custom, evidence));
    found.collect()
}

fn loaded_row<'a>(row: &Facts<'a>) -> Option<LoadedRow<'a>> {
    let both = matches!(row.row.trial.direction, Direction::Both | Direction::Echo);
    let stated = row.row.trial.load != Load::Max && row.row.interval.is_none();
    if row.is_tcp() || both || !stated || row.row.limit {
        return None;
    }
    let metric = DELIVERED
        .into_iter()
        .find(|m| row.published(*m).is_some())?;
    let printed = row.published(metric)?;
    Some(LoadedRow {
        facts: *row,
        metric,
        printed,
        delivered: turned(row, metric, Range::printed(printed)),
        offered: row.offered_per_s().filter(|per_s| *per_s > 0.0)?,
        loss: row.published(Metric::Loss),
    })
}

/// A rate as frames per second, and frames per second as that rate.
fn turned(row: &Facts<'_>, metric: Metric, value: Range) -> Range {
    match metric {
        Metric::FramesPerS => value,
        Metric::TimePerFrame => Range::exact(1.0) / value,
        _ => value.scaled(1.0 / (8.0 * row.counted_bytes)),
    }
}

fn in_figure(row: &Facts<'_>, metric: Metric, per_s: Range) -> Range {
    match metric {
        Metric::FramesPerS | Metric::TimePerFrame => turned(row, metric, per_s),
        _ => per_s.scaled(8.0 * row.counted_bytes),
    }
}

impl LoadedRow<'_> {
    fn offered(&self, off: f64) -> Range {
        Range {
            low: self.offered * (1.0 - off),
            high: self.offered * (1.0 + off),
        }
    }

    /// The share of frames that arrives according to the printed loss.
    fn kept(&self) -> Option<Range> {
        let lost = Range::printed(self.loss?);
        Some(Range {
            low: (1.0 - lost.high).max(0.0),
            high: (1.0 - lost.low).max(0.0),
        })
    }
}

fn custom(rows: &[&LoadedRow<'_>]) -> Custom {
    // How far the rows are off both readings, the better one of each.
    let apart = |a: Range, b: Range| {
        (a.low - b.high).max(b.low - a.high).max(0.0) / b.high.max(f64::MIN_POSITIVE)
    };
    let mut off: Vec<f64> = rows
        .iter()
        .filter_map(|row| {
            let offered = row.offered(0.0);
            let kept = row.kept()?;
            Some(apart(row.delivered, offered * kept).min(apart(row.delivered, offered)))
        })
        .collect();
    off.sort_by(f64::total_cmp);
    let known = off.len() >= LEAST_ROWS;
    let middle = off.get(off.len() / 2).copied().unwrap_or(TESTER);
    let off = match known {
        true => (3.0 * middle).clamp(BEST_TESTER, TESTER),
        false => TESTER,
    };
    let votes = |reading: bool| {
        let says = rows.iter().filter(|row| {
            let (offered, kept) = (row.offered(off), row.kept());
            let Some(delivered) = kept.map(|kept| offered * kept) else {
                return false;
            };
            let (one, other) = if reading {
                (delivered, offered)
            } else {
                (offered, delivered)
            };
            row.delivered.touches(one) && !row.delivered.touches(other)
        });
        says.count()
    };
    let (delivered, offered) = (votes(true), votes(false));
    // One row may be the wrong one.
    Custom {
        off,
        may_be_offered: delivered < 2 || offered >= delivered,
        may_be_delivered: offered < 2 || delivered >= offered,
    }
}

fn finding(
    study: &Study,
    row: &LoadedRow<'_>,
    custom: &Custom,
    evidence: &Evidence,
) -> Option<Finding> {
    let receives = row.facts.row.trial.direction == Direction::Receive;
    let off = if receives { custom.off } else { NODE };
    let offered = row.offered(off);
    if row.delivered.above(offered) {
        return Some(above(study, row, offered, evidence));
    }
    // A node that sends less than requested loses nothing.
    let kept = row.kept().filter(|_| receives)?;
    let readings = [
        (custom.may_be_delivered, offered * kept),
        (custom.may_be_offered, offered),
    ];
    let allowed = readings
        .into_iter()
        .filter(|(may, _)| *may)
        .map(|(_, range)| range);
    let allowed: Vec<Range> = allowed.collect();
    let fits = allowed.iter().any(|range| row.delivered.touches(*range));
    let between = custom.may_be_delivered && custom.may_be_offered;
    let hull = allowed.into_iter().reduce(Range::around)?;
    // If both readings are possible, a rate between them may count some of the lost frames.
    let fits = fits || (between && row.delivered.touches(hull));
    (!fits).then(|| misfit(study, row, offered, hull, evidence))
}

fn above(study: &Study, row: &LoadedRow<'_>, offered: Range, evidence: &Evidence) -> Finding {
    let (facts, metric, printed) = (&row.facts, row.metric, row.printed);
    let binary = BINARY
        .into_iter()
        .find(|by| row.delivered.touches(offered.scaled(*by)));
    let severity = match binary {
        Some(_) => Severity::Remark,
        None => Severity::Impossible,
    };
    let line = facts.row.cell(metric).map_or(facts.row.line, |c| c.line);
    let mut finding = Finding::new(study, line, severity, Rule::Offered);
    let most = in_figure(facts, metric, offered);
    let load = load_of(row);
    let cell = facts.row.subject(metric);
    finding.says = format!(
        "{}: {metric} {printed} is more than the {load} that were offered",
        facts.row.name
    );
    match binary {
        Some(by) => finding.says.push_str(&format!(
            ", by {}: the tool's prefix was a power of two.",
            show::number(by, 5)
        )),
        None => finding.says.push('.'),
    }
    finding.arithmetic = format!(
        "offered {load} is {} frames/s, received {} frames/s",
        show::per_s(row.offered),
        show::per_s(row.delivered.middle())
    );
    finding.consistent = Some(format!(
        "at most {}",
        show::value(most.middle(), printed.unit)
    ));
    if binary.is_some() {
        finding.cells = vec![cell];
        return finding;
    }
    let kept = row.kept().unwrap_or(Range {
        low: 0.5,
        high: 1.0,
    });
    let needed = in_figure(facts, metric, (offered * kept).around(offered));
    let doubts = [Doubt {
        cell,
        printed,
        needed,
    }];
    finding.divide(with_load(row, evidence.weights(&doubts)));
    let likely = if row.loss.is_some() { needed } else { most };
    finding.name_slip(printed, likely);
    finding
}

/// The load as a page prints it.
fn load_of(row: &LoadedRow<'_>) -> String {
    match row.facts.row.trial.load {
        Load::BitRate { bits_per_s } => show::rate(bits_per_s),
        load => load.to_string(),
    }
}

/// The trial's load is a suspect too.
fn with_load(row: &LoadedRow<'_>, mut weights: Vec<(Subject, f64)>) -> Vec<(Subject, f64)> {
    let most = weights
        .iter()
        .map(|(_, weight)| *weight)
        .fold(0.0, f64::max);
    weights.push((Subject::Load(row.facts.row.name.clone()), LOAD * most));
    weights
}

fn misfit(
    study: &Study,
    row: &LoadedRow<'_>,
    offered: Range,
    should: Range,
    evidence: &Evidence,
) -> Finding {
    let (facts, metric, printed) = (&row.facts, row.metric, row.printed);
    let mut finding = Finding::new(study, facts.row.line, Severity::Inconsistent, Rule::Offered);
    let should = in_figure(facts, metric, should);
    let lost = Range::exact(1.0) - row.delivered / offered;
    let mut doubts = vec![Doubt {
        cell: facts.row.subject(metric),
        printed,
        needed: should,
    }];
    let loss = row.loss;
    doubts.extend(loss.map(|loss| Doubt {
        cell: facts.row.subject(Metric::Loss),
        printed: loss,
        needed: Range {
            low: lost.low.max(0.0),
            high: lost.high.max(0.0),
        },
    }));
    let mut weights = evidence.weights(&doubts);
    for (_, unusual) in UNUSUAL.into_iter().filter(|(high, _)| lost.low > *high) {
        let of_loss = weights.iter_mut().skip(1);
        of_loss.for_each(|(_, weight)| *weight *= unusual);
    }
    finding.divide(with_load(row, weights));
    let load = load_of(row);
    let printed_loss = loss.map_or(String::new(), ToString::to_string);
    finding.says = format!(
        "{}: {metric} {printed}, {load} offered and a loss of {printed_loss} do not fit each other.",
        facts.row.name
    );
    finding.arithmetic = format!(
        "{load} is {} frames/s offered; received {} frames/s, which is a loss of {} %",
        show::per_s(row.offered),
        show::per_s(row.delivered.middle()),
        show::number(100.0 * lost.middle(), 3)
    );
    let of_loss = finding
        .first()
        .is_some_and(|s| s.cell.metric() == Some(Metric::Loss));
    match (of_loss, loss) {
        (true, Some(loss)) => {
            finding.consistent = Some(format!("loss {}", show::range(lost, loss.unit)));
            finding.name_slip(loss, lost);
        }
        _ => {
            finding.consistent = Some(format!("{metric} {}", show::range(should, printed.unit)));
            finding.name_slip(printed, should);
        }
    }
    finding
}
