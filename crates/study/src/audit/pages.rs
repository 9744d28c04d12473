//! Rule `page`: a table whose cells are those of another page, whichever node each names.
//!
//! Cells of the same trial and metric are compared. Figures that are equal for any two nodes show nothing: loads that were
//! offered, limits of the link, 0 and 100 %, figures of data sheets, and sums of other cells.

use std::collections::BTreeMap;

use super::facts::{Facts, facts};
use super::identical::{INDEPENDENT, chance_of_digits, telling};
use super::{CHANCE, Finding, Rule, Severity, Subject, show};
use crate::metric::Metric;
use crate::quantity::Quantity;
use crate::table::{Row, Study};

/// Pages with more rows are not compared.
const MOST_ROWS: usize = 2_000;
/// Fewest figures that must agree.
const LEAST: usize = 6;
/// The share of the significant figures that must agree.
const SHARE: f64 = 0.5;
/// From this number of differing figures on, they show how far apart the two nodes are.
const LEAST_APART: usize = 3;
/// Chances below this are not distinguished.
const LOWEST: f64 = 1e-300;

/// One finding for each page that repeats an earlier one.
pub fn findings(studies: &[Study]) -> Vec<Finding> {
    let pages: Vec<Page<'_>> = studies.iter().map(Page::new).collect();
    let mut compared = 0;
    let mut found = Vec::new();
    for (at, b) in pages.iter().enumerate() {
        for a in pages[..at].iter().filter(|a| a.study.file != b.study.file) {
            compared += 1;
            found.extend(alike(a, b).map(|alike| (a, b, alike)));
        }
    }
    found
        .into_iter()
        .filter_map(|(a, b, alike)| finding(a, b, &alike, compared))
        .collect()
}

/// Whether a finding about single rows repeats one about their pages.
pub fn covers(page: &Finding, other: &Finding) -> bool {
    other.rule == Rule::Identical
        && other.file == page.file
        && matches!(&page.with[..], [Subject::Study(earlier), ..] if other.with.iter().all(|of| of.is_of(earlier)))
}

struct Page<'a> {
    study: &'a Study,
    rows: Vec<Facts<'a>>,
}

impl<'a> Page<'a> {
    fn new(study: &'a Study) -> Page<'a> {
        let rows = facts(study).into_iter().filter(|row| !row.row.limit);
        Page {
            study,
            rows: rows.take(MOST_ROWS).collect(),
        }
    }

    fn is_sum(&self, row: &Row, metric: Metric) -> bool {
        let mut sums = self.study.sums.iter();
        sums.any(|sum| sum.total.row == row.name && sum.total.metric == metric)
    }
}

/// The key of a row's trial without its load: rows with the same key have the same trial.
fn key(row: &Facts<'_>) -> String {
    let trial = &row.row.trial;
    format!(
        "{:?} {:?} {} {:?} {:?} {:?} {:?}",
        trial.framing,
        trial.direction,
        row.sizes.length,
        trial.ports,
        trial.buffers,
        row.row.point,
        row.row.interval
    )
}

/// Rows of the same trial on both pages: in their order if both have equally many, else those with the same load.
fn pairs<'p, 'a>(a: &'p Page<'a>, b: &'p Page<'a>) -> Vec<(&'p Facts<'a>, &'p Facts<'a>)> {
    let by_key = |page: &'p Page<'a>| {
        let mut groups: BTreeMap<String, Vec<&'p Facts<'a>>> = BTreeMap::new();
        for row in &page.rows {
            groups.entry(key(row)).or_default().push(row);
        }
        groups
    };
    let (of_a, of_b) = (by_key(a), by_key(b));
    let mut pairs = Vec::new();
    for (key, second) in &of_b {
        let Some(first) = of_a.get(key) else {
            continue;
        };
        if first.len() == second.len() {
            pairs.extend(first.iter().copied().zip(second.iter().copied()));
            continue;
        }
        for row in second {
            let same = first
                .iter()
                .find(|other| other.row.trial.load == row.row.trial.load);
            pairs.extend(same.map(|other| (*other, *row)));
        }
    }
    pairs
}

/// Two pages compared.
#[derive(Default)]
struct Alike {
    /// Number of cells on both pages.
    cells: usize,
    /// Cells of the later page that are equal on both.
    equal: Vec<Subject>,
    /// Cells that differ, as `name: b, not a`.
    differ: Vec<String>,
    /// The significant independent figures.
    figures: Vec<Figure>,
}

struct Figure {
    agrees: bool,
    digits: u32,
    step: f64,
    /// How far the two are apart, as a logarithm.
    apart: f64,
}

fn alike(a: &Page<'_>, b: &Page<'_>) -> Option<Alike> {
    let mut all = Alike::default();
    for (x, y) in pairs(a, b) {
        compare(a, b, x, y, &mut all);
    }
    let agree = all.figures.iter().filter(|figure| figure.agrees).count();
    let enough = agree >= LEAST && agree as f64 >= SHARE * all.figures.len() as f64;
    enough.then_some(all)
}

fn compare(a: &Page<'_>, b: &Page<'_>, x: &Facts<'_>, y: &Facts<'_>, all: &mut Alike) {
    let same = |one: &Quantity, other: &Quantity| {
        one.unit.dimension == other.unit.dimension
            && (one.base() - other.base()).abs() <= 1e-9 * one.base().abs()
    };
    for cell in &y.row.cells {
        let Some(other) = x.published(cell.metric) else {
            continue;
        };
        all.cells += 1;
        let name = y.row.subject(cell.metric);
        if same(other, &cell.published) {
            all.equal.push(name);
        } else {
            all.differ
                .push(format!("{name} {}, not {other}", cell.published));
        }
    }
    if x.row.datasheet || y.row.datasheet {
        return;
    }
    for metrics in INDEPENDENT {
        let both = metrics.iter().filter_map(|metric| {
            let (one, other) = (x.published(*metric)?, y.published(*metric)?);
            let tells = telling(y, *metric) && telling(x, *metric);
            let sum = a.is_sum(x.row, *metric) || b.is_sum(y.row, *metric);
            (tells && !sum).then_some((one, other))
        });
        let both: Vec<(&Quantity, &Quantity)> = both.collect();
        let digits = |q: &Quantity| super::identical::digits(q);
        let Some((one, other)) = both.iter().max_by_key(|(_, other)| digits(other)) else {
            continue;
        };
        if digits(other) == 0 || digits(one) == 0 || one.base() <= 0.0 || other.base() <= 0.0 {
            continue;
        }
        all.figures.push(Figure {
            agrees: both.iter().all(|(one, other)| same(one, other)),
            digits: digits(other),
            step: 2.0 * other.half_step() / other.number,
            apart: (one.base() / other.base()).ln().abs(),
        });
    }
}

/// The chance that at least as many figures agree if the two nodes have nothing in common.
///
/// The chance that a figure agrees follows from its digits; if the others show that the nodes are close to each
/// other, from the ratio of its step to that distance.
fn chance(alike: &Alike) -> f64 {
    let mut apart: Vec<f64> = alike
        .figures
        .iter()
        .filter(|f| !f.agrees)
        .map(|f| f.apart)
        .collect();
    apart.sort_by(f64::total_cmp);
    let spread = (apart.len() >= LEAST_APART).then(|| 2.0 * apart[apart.len() / 2]);
    let each = |figure: &Figure| {
        let by_digits = chance_of_digits(figure.digits);
        let by_distance = spread.map_or(0.0, |spread| figure.step / spread.max(1e-9));
        by_digits.max(by_distance).min(1.0)
    };
    let agree = alike.figures.iter().filter(|figure| figure.agrees).count();
    // How many agree, one figure after the other; the last place is for that number and more.
    let mut counts = vec![0.0; agree + 1];
    counts[0] = 1.0;
    for p in alike.figures.iter().map(each) {
        for at in (0..=agree).rev() {
            let stays = if at == agree {
                counts[at]
            } else {
                counts[at] * (1.0 - p)
            };
            let comes = if at > 0 { counts[at - 1] * p } else { 0.0 };
            counts[at] = stays + comes;
        }
    }
    counts[agree].max(LOWEST)
}

fn finding(a: &Page<'_>, b: &Page<'_>, alike: &Alike, compared: usize) -> Option<Finding> {
    let chance = (chance(alike) * compared as f64).min(1.0);
    if chance >= CHANCE {
        return None;
    }
    let mut finding = Finding::new(b.study, 1, Severity::Inconsistent, Rule::Page);
    finding.cells.clone_from(&alike.equal);
    finding.with = vec![Subject::Study(a.study.name.clone())];
    finding.says = format!(
        "{} of {} cells are those of {} ({}): copied, or measured on the same board.",
        alike.equal.len(),
        alike.cells,
        a.study.name,
        a.study.title
    );
    let agree: Vec<&Figure> = alike.figures.iter().filter(|f| f.agrees).collect();
    let digits: u32 = agree.iter().map(|f| f.digits).sum();
    let differ = match alike.differ.as_slice() {
        [] => String::new(),
        some => {
            let more = if some.len() > 4 { ", …" } else { "" };
            format!("; others: {}{more}", some[..some.len().min(4)].join(", "))
        }
    };
    finding.arithmetic = format!(
        "of {} independent figures that are the node's own, {} agree, with {digits} significant digits; {compared} pair{} of pages compared{differ}",
        alike.figures.len(),
        agree.len(),
        if compared == 1 { "" } else { "s" }
    );
    finding.chance = Some(chance);
    finding.sure = format!(
        "chance {} if the two nodes have nothing in common",
        if chance <= LOWEST {
            "below 1e-300".to_owned()
        } else {
            show::chance(chance)
        }
    );
    Some(finding)
}
