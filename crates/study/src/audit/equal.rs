//! Rule `minimum-size`: packets per second are equal at every size except the smallest, whose rate fits if a tool
//! enforced a minimum and sent larger datagrams than the table says.

use super::facts::{Facts, facts, groups};
use super::fit::{Loaded, chance_of_ratio, columns, fit_without, loaded};
use super::range::Range;
use super::{CHANCE, Finding, Rule, Severity, Subject, show};
use crate::metric::Metric;
use crate::table::Study;

/// Fewest other sizes whose packets per second must agree.
const LEAST_OTHERS: usize = 3;
/// Fewest load rows for a second, independent test.
pub const LEAST_LOADS: usize = 8;
/// Minimum datagrams of tools in bytes: iperf 2 raises `-l` in its two-way modes to the size of its headers
/// (`SIZEOF_UDPHDRMSG` in `include/Settings.hpp`: 26 words up to 2.0.12, 28 words since 2.0.13).
pub const KNOWN: [(u32, &str); 2] = [
    (104, "iperf 2 before 2.0.13"),
    (112, "iperf 2 since 2.0.13"),
];
/// Largest plausible minimum of a tool; sizes up to here are tried.
pub const MOST_BYTES: u32 = 128;

/// The hypothesis that a tool raised the smallest datagrams.
pub struct Raised<'a> {
    smallest: Facts<'a>,
    metric: Metric,
    others: Vec<Facts<'a>>,
    /// Packets per second of all other sizes.
    common: Range,
    /// The implied size of the smallest datagrams in bytes.
    implied: Range,
    /// The assumed size, and the tool that uses it.
    bytes: u32,
    tool: Option<&'static str>,
    loads: Option<Loads<'a>>,
}

/// The second test: CPU loads of rows of the same nominal size.
struct Loads<'a> {
    rows: Vec<Facts<'a>>,
    best_bytes: u32,
    tried: usize,
    deviation_requested: f64,
    deviation_best: f64,
    chance: f64,
}

/// The hypothesis for a study, where its rates suggest one.
pub fn hypothesis(study: &Study) -> Option<Raised<'_>> {
    let rows: Vec<Facts<'_>> = facts(study)
        .into_iter()
        .filter(|r| r.is_max() && !r.is_tcp() && r.sizes.datagram.is_some())
        .collect();
    let groups = groups(&rows, |a, b| a.same_kind(b) && a.row.set == b.row.set);
    groups.into_iter().find_map(|group| of_column(study, group))
}

fn of_column<'a>(study: &'a Study, mut group: Vec<Facts<'a>>) -> Option<Raised<'a>> {
    let metric = [Metric::FramesPerS, Metric::Throughput]
        .into_iter()
        .find(|m| group.iter().all(|row| row.row.cell(*m).is_some()))?;
    group.sort_by_key(|row| row.sizes.frame);
    let smallest = *group.first()?;
    let others: Vec<Facts<'a>> = group.into_iter().skip(1).collect();
    let next = *others.first()?;
    if others.len() < LEAST_OTHERS || next.sizes.frame == smallest.sizes.frame {
        return None;
    }
    let mut common = others[0].packets_per_s()?;
    for row in &others[1..] {
        common = common.common(row.packets_per_s()?)?;
    }
    let printed = smallest.packets_per_s()?;
    if !cheaper_than_a_line(&smallest, &others)? || !printed.above(common) {
        return None;
    }
    let implied = (printed / common).scaled(smallest.counted_bytes);
    let requested = smallest.sizes.datagram?;
    let (bytes, tool) = size_of(implied, requested, next.sizes.datagram?)?;
    let loads = loads(study, &smallest, implied);
    Some(Raised {
        smallest,
        metric,
        others,
        common,
        implied,
        bytes,
        tool,
        loads,
    })
}

/// Whether a frame of the smallest size costs less than any line through the others allows.
fn cheaper_than_a_line(smallest: &Facts<'_>, others: &[Facts<'_>]) -> Option<bool> {
    let cost = |row: &Facts<'_>| Some(Range::exact(1.0) / row.packets_per_s()?);
    let bytes = |row: &Facts<'_>| row.counted_bytes;
    let (first, last) = (others.first()?, others.last()?);
    let per_byte = (cost(last)? - cost(first)?).scaled(1.0 / (bytes(last) - bytes(first)));
    let line = cost(first)? - per_byte.scaled(bytes(first) - bytes(smallest));
    Some(line.above(cost(smallest)?))
}

/// The size in a range of bytes: a known minimum, else the only whole number.
fn size_of(implied: Range, requested: u32, next: u32) -> Option<(u32, Option<&'static str>)> {
    let known = KNOWN
        .iter()
        .find(|(bytes, _)| implied.contains(f64::from(*bytes)));
    let whole = implied.middle().round();
    let (bytes, tool) = match known {
        Some((bytes, tool)) => (*bytes, Some(*tool)),
        None if implied.contains(whole) => (whole as u32, None),
        None => return None,
    };
    (requested < bytes && bytes < next).then_some((bytes, tool))
}

/// How well a line fits the loads of the same nominal size, for each size that the tool may have used instead.
fn loads<'a>(study: &'a Study, smallest: &Facts<'a>, implied: Range) -> Option<Loads<'a>> {
    let requested = smallest.sizes.datagram?;
    let rows: Vec<Facts<'a>> = facts(study)
        .into_iter()
        .filter(|r| r.node == smallest.node && r.sizes.datagram.is_some())
        .collect();
    let column = columns(&rows).into_iter().find(|c| {
        c.len() >= LEAST_LOADS && c.iter().any(|r| r.facts.sizes.datagram == Some(requested))
    })?;
    let rows: Vec<Facts<'a>> = column.iter().map(|r| r.facts).collect();
    let sizes = requested..=MOST_BYTES.max(requested);
    let fits = sizes.filter_map(|bytes| Some((bytes, trimmed(&rows, requested, bytes)?)));
    let fits: Vec<(u32, (f64, usize))> = fits.collect();
    let (_, (requested_squares, _)) = *fits.first()?;
    let (best_bytes, (best_squares, freedom)) =
        *fits.iter().min_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    // One more coefficient than the line: the size.
    let freedom = freedom.checked_sub(1).filter(|f| *f > 0)?;
    let tried = fits.len();
    let chance = chance_of_ratio(best_squares / requested_squares, freedom);
    let near = (f64::from(best_bytes) - implied.middle()).abs() <= implied.width().max(2.0);
    near.then(|| Loads {
        chance: (chance * (tried * rows.len()) as f64).min(1.0),
        rows,
        best_bytes,
        tried,
        deviation_requested: (requested_squares / freedom as f64).sqrt(),
        deviation_best: (best_squares / freedom as f64).sqrt(),
    })
}

/// Sum of squares of the loads with rows of `requested` bytes treated as `bytes`, without the worst row: one wrong figure
/// must not hide the size.
pub fn trimmed(rows: &[Facts<'_>], requested: u32, bytes: u32) -> Option<(f64, usize)> {
    let column: Vec<Loaded<'_>> = rows
        .iter()
        .filter_map(|row| match row.sizes.datagram {
            Some(datagram) if datagram == requested => loaded(&row.with_datagram(bytes)?),
            _ => loaded(row),
        })
        .collect();
    let fits = (0..column.len()).filter_map(|i| fit_without(&column, Some(i)));
    let best = fits.min_by(|a, b| a.squares.total_cmp(&b.squares))?;
    Some((best.squares, best.freedom))
}

/// Datagrams of `requested` bytes in which a tool sent more bytes.
pub struct Size<'a> {
    pub node: &'a str,
    pub requested: u32,
    pub bytes: u32,
    /// Whether it is beyond chance.
    pub sure: bool,
}

impl Size<'_> {
    /// The row with the size that the tool gave it.
    pub fn corrected<'a>(&self, row: &Facts<'a>) -> Facts<'a> {
        let small =
            row.node == self.node && !row.is_tcp() && row.sizes.datagram == Some(self.requested);
        let raised = small.then(|| row.with_datagram(self.bytes)).flatten();
        raised.unwrap_or(*row)
    }

    /// The hypothesis in a few words.
    pub fn in_words(&self) -> String {
        format!(
            "with datagrams of {} B where the table says {}",
            self.bytes, self.requested
        )
    }
}

impl<'a> Raised<'a> {
    /// Whether a second data set confirms the size beyond chance.
    pub fn convinces(&self) -> bool {
        self.tool.is_some() && self.loads.as_ref().is_some_and(|l| l.chance < CHANCE)
    }

    /// The size that other rules use in place of the printed one.
    pub fn size(&self) -> Option<Size<'a>> {
        Some(Size {
            node: self.smallest.node,
            requested: self.smallest.sizes.datagram?,
            bytes: self.bytes,
            sure: self.convinces(),
        })
    }

    /// A remark, unless a second data set confirms the size beyond chance.
    pub fn finding(&self, study: &Study) -> Finding {
        let severity = if self.convinces() {
            Severity::Inconsistent
        } else {
            Severity::Remark
        };
        let row = self.smallest.row;
        let mut finding = Finding::new(study, row.line, severity, Rule::MinimumSize);
        let loads = self.loads.iter().flat_map(|l| &l.rows);
        let small = loads
            .clone()
            .filter(|r| r.sizes.datagram == self.smallest.sizes.datagram);
        finding.cells = vec![Subject::Size(row.name.clone())];
        finding
            .cells
            .extend(small.map(|r| Subject::Size(r.row.name.clone())));
        let rates = std::iter::once(&self.smallest).chain(&self.others);
        finding.with = rates.map(|r| r.row.subject(self.metric)).collect();
        finding
            .with
            .extend(loads.map(|r| r.row.subject(Metric::CpuLoad)));
        let tool = self
            .tool
            .map_or("no known tool's minimum".to_owned(), |tool| {
                format!("the minimum of {tool}")
            });
        finding.says = format!(
            "{}: the datagrams were not {} B but {} B ({tool}): all other sizes have equal packets per second.",
            row.name, self.smallest.counted_bytes, self.bytes
        );
        finding.arithmetic = self.arithmetic();
        finding.consistent = Some(format!("datagrams of {} B", self.bytes));
        self.odds(&mut finding);
        finding
    }

    fn arithmetic(&self) -> String {
        let per_s = |row: &Facts<'_>| {
            row.packets_per_s()
                .map_or(String::new(), |r| show::per_s(r.middle()))
        };
        let others: Vec<String> = self.others.iter().map(per_s).collect();
        let mut text = format!(
            "packets per second at the larger sizes: {}; as printed, {} at {} B; {} / {} frames/s = {} B ({} to {})",
            others.join(" and "),
            per_s(&self.smallest),
            self.smallest.counted_bytes,
            self.smallest
                .published(self.metric)
                .map_or(String::new(), ToString::to_string),
            show::per_s(self.common.middle()),
            show::number(self.implied.middle(), 4),
            show::number(self.implied.low, 4),
            show::number(self.implied.high, 4),
        );
        if let Some(loads) = &self.loads {
            text.push_str(&format!(
                "; of {} sizes tried for the {} CPU loads, {} B fits best: standard deviation {} points, {} with {} B",
                loads.tried,
                loads.rows.len(),
                loads.best_bytes,
                show::number(100.0 * loads.deviation_best, 2),
                show::number(100.0 * loads.deviation_requested, 2),
                self.smallest.counted_bytes
            ));
        }
        text
    }

    fn odds(&self, finding: &mut Finding) {
        let next = self.others.first().map_or(0.0, |r| r.counted_bytes);
        let room = (next - self.smallest.counted_bytes).max(1.0);
        let by_rates = (KNOWN.len() as f64 * self.implied.width() / room).min(1.0);
        match (&self.loads, self.tool) {
            (Some(loads), _) => {
                finding.chance = Some(loads.chance);
                finding.sure = format!(
                    "chance at most {} that the loads agree by themselves, over {} sizes and {} rows tried",
                    show::chance(loads.chance),
                    loads.tried,
                    loads.rows.len()
                );
            }
            (None, Some(_)) => {
                finding.chance = Some(by_rates);
                finding.sure = format!(
                    "chance {} that a size falls on a known minimum",
                    show::chance(by_rates)
                );
            }
            (None, None) => {
                finding.sure = "a guess: no known tool has this minimum".to_owned();
            }
        }
    }
}
