//! Rule `whole-clocks`: the times of a column are whole multiples of one clock period.
//!
//! A time that is known to a width w is a whole number of periods T by chance with probability w / T. So a column of precise
//! figures hardly ever consists of whole periods by chance. The rule finds the clock of the probe that recorded the figures:
//! each figure is then a single interval of that clock, and not a mean.

use super::facts::{Facts, facts, groups};
use super::limit::broken;
use super::range::Range;
use super::{CHANCE, Finding, Rule, Severity, show};
use crate::metric::Metric;
use crate::table::Study;

/// Fewest rows of a column.
const LEAST_ROWS: usize = 3;
/// A column that is more likely than this by chance is not worth a remark.
const WORTH_A_REMARK: f64 = 1e-2;
/// Clocks in MHz that are common in boards and FPGA designs, tried where the document names none.
const USUAL_MHZ: [f64; 42] = [
    10.0, 12.0, 12.5, 16.0, 20.0, 24.0, 25.0, 26.0, 27.0, 30.0, 32.0, 40.0, 48.0, 50.0, 60.0, 62.5,
    64.0, 72.0, 75.0, 80.0, 84.0, 96.0, 100.0, 108.0, 120.0, 125.0, 144.0, 150.0, 156.25, 160.0,
    168.0, 175.0, 180.0, 200.0, 216.0, 240.0, 250.0, 266.0, 300.0, 320.0, 350.0, 400.0,
];
/// Figures that imply a time from one frame to the next, the most direct first.
const METRICS: [Metric; 6] = [
    Metric::Spacing,
    Metric::TimePerFrame,
    Metric::Latency,
    Metric::Efficiency,
    Metric::FramesPerS,
    Metric::Throughput,
];

/// A clock whose periods divide a column's figures.
pub struct Clock<'a> {
    hz: f64,
    stated: bool,
    /// Number of clocks and columns tried, which multiply the chance.
    clocks: usize,
    columns: usize,
    chance: f64,
    metric: Metric,
    rows: Vec<ClockRow<'a>>,
}

struct ClockRow<'a> {
    facts: Facts<'a>,
    time: Range,
    periods: f64,
}

/// The clocks of a study's columns, at most one for each column.
pub fn hypotheses(study: &Study) -> Vec<Clock<'_>> {
    let rows: Vec<Facts<'_>> = facts(study).into_iter().filter(|r| !r.row.limit).collect();
    let columns = groups(&rows, Facts::same_column);
    let each: Vec<Vec<Times<'_>>> = columns.iter().map(|rows| times(rows)).collect();
    let looked_at = each.iter().map(Vec::len).sum();
    let found = each.iter().filter_map(|column| {
        let all = column.iter().filter_map(|t| of_times(study, t, looked_at));
        all.min_by(|a, b| a.chance.total_cmp(&b.chance))
    });
    found
        .filter(|clock| clock.chance < WORTH_A_REMARK)
        .collect()
}

/// A column as times of one metric.
struct Times<'a> {
    metric: Metric,
    rows: Vec<(Facts<'a>, Range)>,
}

/// A column in every metric that implies a time. A column at the link's own rate is left out: it consists of whole byte
/// times anyway.
fn times<'a>(column: &[Facts<'a>]) -> Vec<Times<'a>> {
    let of = |metric: &Metric| {
        let time = |row: &Facts<'a>| Some((*row, time_of(row, *metric)?));
        let rows: Vec<_> = column.iter().filter_map(time).collect();
        Times {
            metric: *metric,
            rows,
        }
    };
    let tells = |t: &Times<'a>| {
        t.rows.len() >= LEAST_ROWS && !t.rows.iter().all(|(row, time)| at_the_limit(row, *time))
    };
    METRICS.iter().map(of).filter(tells).collect()
}

fn of_times<'a>(study: &Study, times: &Times<'a>, looked_at: usize) -> Option<Clock<'a>> {
    let stated = &study.clocks_hz;
    let usual: Vec<f64> = USUAL_MHZ.iter().map(|mhz| mhz * 1e6).collect();
    let of = |clocks: &[f64], named| {
        let fits = clocks.iter().filter_map(|hz| fit(&times.rows, *hz));
        // Every multiple of a clock fits too, but less convincingly.
        let best = fits.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let (hz, chance, rows) = best;
        let tried = clocks.len() * looked_at;
        Some(Clock {
            hz,
            stated: named,
            clocks: clocks.len(),
            columns: looked_at,
            chance: (chance * tried as f64).min(1.0),
            metric: times.metric,
            rows,
        })
    };
    let named = of(stated, true).filter(|clock| clock.chance < WORTH_A_REMARK);
    named.or_else(|| of(&usual, false))
}

/// The time from one frame to the next that the figure implies, in seconds.
fn time_of(row: &Facts<'_>, metric: Metric) -> Option<Range> {
    let printed = row.rounded(metric)?;
    if printed.low <= 0.0 {
        return None;
    }
    let over = |value: f64| Range::exact(value) / printed;
    match metric {
        Metric::Efficiency => {
            let link = row.link?.bits_per_s() as f64;
            Some(over(8.0 * f64::from(row.sizes.payload) / link))
        }
        Metric::Throughput => Some(over(8.0 * row.counted_bytes)),
        Metric::FramesPerS => Some(over(1.0)),
        _ => Some(printed),
    }
}

fn at_the_limit(row: &Facts<'_>, time: Range) -> bool {
    let limit = row.link.map(|link| 1.0 / link.frames_per_s(&row.sizes));
    limit.is_some_and(|limit| time.contains(limit))
}

/// The numbers of periods, and the probability of this match by chance.
fn fit<'a>(times: &[(Facts<'a>, Range)], hz: f64) -> Option<(f64, f64, Vec<ClockRow<'a>>)> {
    let period = 1.0 / hz;
    let mut chance = 1.0;
    let mut rows = Vec::new();
    for (facts, time) in times {
        let periods = (time.middle() / period).round();
        if periods < 1.0 || !time.contains(periods * period) {
            return None;
        }
        chance *= (time.width() / period).min(1.0);
        rows.push(ClockRow {
            facts: *facts,
            time: *time,
            periods,
        });
    }
    Some((hz, chance, rows))
}

impl Clock<'_> {
    fn convinces(&self) -> bool {
        self.chance < CHANCE
    }

    /// An explanation by the clock for a row above the limit.
    pub fn explains(&self, row: &Facts<'_>) -> Option<String> {
        let counted = self
            .rows
            .iter()
            .find(|c| c.facts.row.name == row.row.name)?;
        let wire = 1.0 / row.link?.frames_per_s(&row.sizes);
        self.convinces().then(|| {
            format!(
                "It is a sampling artefact of a {} probe: {} clocks of {} between two frames, where the wire needs {} \
                 on average.",
                show::clock(self.hz),
                counted.periods,
                show::time(1.0 / self.hz),
                show::number(wire * self.hz, 5)
            )
        })
    }

    /// A remark, unless the clock explains an impossible cell.
    pub fn finding(&self, study: &Study) -> Finding {
        let impossible: Vec<&ClockRow<'_>> = self
            .rows
            .iter()
            .filter(|c| self.convinces() && !broken(&c.facts).is_empty())
            .collect();
        let line = self.rows.first().map_or(0, |c| c.facts.row.line);
        let (severity, line) = match impossible.first() {
            Some(first) => (Severity::Inconsistent, first.facts.row.line),
            None => (Severity::Remark, line),
        };
        let mut finding = Finding::new(study, line, severity, Rule::WholeClocks);
        for counted in &self.rows {
            let name = counted.facts.row.subject(self.metric);
            let doubted = impossible
                .iter()
                .any(|c| c.facts.row.name == counted.facts.row.name);
            if doubted || impossible.is_empty() {
                finding.cells.push(name);
            } else {
                finding.with.push(name);
            }
        }
        let known = if self.stated {
            "which the document names"
        } else {
            "a usual one"
        };
        finding.says = format!(
            "All {} figures of {} are whole numbers of one clock of {}, {known}: each is a single interval that a probe \
             counted, not a mean.",
            self.rows.len(),
            self.metric,
            show::clock(self.hz)
        );
        finding.arithmetic = self.arithmetic();
        finding.consistent = self.consistent(&impossible);
        finding.chance = Some(self.chance);
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        finding.sure = format!(
            "chance {}, with {} clock{} and {} column{} tried",
            show::chance(self.chance),
            self.clocks,
            plural(self.clocks),
            self.columns,
            plural(self.columns)
        );
        finding
    }

    fn arithmetic(&self) -> String {
        let each = self.rows.iter().map(|c| {
            format!(
                "{}: {} to {} clk = {}",
                c.facts.row.name,
                show::number(c.time.low * self.hz, 6),
                show::number(c.time.high * self.hz, 6),
                c.periods
            )
        });
        each.collect::<Vec<_>>().join("; ")
    }

    fn consistent(&self, impossible: &[&ClockRow<'_>]) -> Option<String> {
        let first = impossible.first()?;
        let limit = first.facts.limit_bits_per_s()?;
        Some(format!(
            "a mean over many frames, at most {} for {}",
            show::rate(limit),
            first.facts.row.name
        ))
    }
}
