//! Two runs compared, figure by figure, and the gate that fails on what became worse.
//!
//! [`compare`] pairs the figures of two results files by their trials (`figures.rs`) and judges each: repeated trials by
//! the rank-sum test, all tests held together (Holm), figures that do not depend on a host exactly, single trials not at
//! all. [`render`] shows it in a format (`page.rs`), on a page with pictures (`curves.rs`).

mod curves;
pub mod figures;
mod page;
mod shown;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use wirelab_config::parse_percent;
use wirelab_statistics::shift::{Scale, Shift, fewest_repeats, holm};
use wirelab_trial::nearest::did_you_mean;
use wirelab_trial::{Interval, Kind, ResultsFile, Summary};

use figures::{FigureName, OnCurve, Values};
pub use page::{NoComparison, answer, render};
pub use shown::{change, value};

use crate::about::setup_key;

/// The share of comparisons of equal runs in which a difference may be found.
const WRONG: f64 = 0.05;
/// The smallest change of a share between 0 and 1, as a loss, that counts: 0.1 percentage points.
const LEAST_LOSS: f64 = 0.001;
/// The smallest change of a CPU load that counts: 2 percentage points, because a host's clock tick and its other work move it.
const LEAST_LOAD: f64 = 0.02;

/// What counts as a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Rates and times that change by a smaller share count as the same, however certain the change is.
    pub margin: f64,
    /// Rates and times count as the same only if a change of this share would have been found.
    pub resolve: f64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            margin: 0.02,
            resolve: 0.05,
        }
    }
}

/// The verdict of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No change that counts.
    Same,
    /// Better in the second run.
    Better,
    /// Worse in the second run.
    Worse,
    /// The trials cannot decide.
    CannotTell,
}

impl Verdict {
    /// The word that a reader sees, with a mark that needs no colour.
    pub const fn words(self) -> &'static str {
        match self {
            Verdict::Same => "= same",
            Verdict::Better => "▲ better",
            Verdict::Worse => "▼ worse",
            Verdict::CannotTell => "? cannot tell",
        }
    }
}

/// One figure of both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Its trial, in words.
    pub trial: String,
    /// Its name.
    pub figure: String,
    /// Its unit; `ratio` for a share between 0 and 1.
    pub unit: &'static str,
    /// Whether more is better.
    pub higher_is_better: bool,
    /// Whether `change` is a share of the first run's figure or a difference.
    pub scale: Scale,
    /// Where the values come from, the weaker kind of both runs.
    pub kind: Kind,
    /// The values of the first run, one a repeat.
    pub before: Vec<f64>,
    /// The values of the second run.
    pub after: Vec<f64>,
    /// Median of the first run.
    pub before_median: f64,
    /// Median of the second run.
    pub after_median: f64,
    /// The shift from the first run to the second.
    pub change: Option<f64>,
    /// The interval of the shift.
    pub change_interval: Option<Interval>,
    /// The probability of ranks as uneven as these if both runs are alike; absent where nothing was tested.
    pub p: Option<f64>,
    /// The value of `p`, raised for the number of figures tested together.
    pub p_of_all: Option<f64>,
    /// Probability that a trial of the second run has the higher figure.
    pub above: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub reason: String,
    /// Its position on a curve of the page.
    #[serde(skip)]
    pub on: Option<OnCurve>,
}

impl Figure {
    /// The interval of its change, where repeats gave one.
    fn tested(&self) -> Option<Interval> {
        self.change_interval.filter(|_| self.p.is_some())
    }
}

/// A difference between the runs other than their figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Name of what differs.
    pub what: String,
    /// In the first run.
    pub before: String,
    /// In the second run.
    pub after: String,
}

impl Difference {
    /// Its name for a reader: a key of a node's set-up in words.
    pub fn in_words(&self) -> String {
        let key = self.what.strip_prefix(OF_NODE);
        key.map_or_else(
            || self.what.clone(),
            |key| format!("{OF_NODE}{}", setup_key(key)),
        )
    }
}

/// One of the two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedRun {
    /// Its name, as a file's.
    pub name: String,
    /// When it was made, in ns since 1970.
    pub created_unix_ns: u64,
    /// Its trials.
    pub trials: usize,
}

/// Two runs compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Always `wirelab-comparison`.
    pub format: &'static str,
    /// Version of this layout.
    pub version: u32,
    /// The first run.
    pub before: ComparedRun,
    /// The second run.
    pub after: ComparedRun,
    /// The verdict on all figures.
    pub verdict: Verdict,
    /// The figures that both have.
    pub figures: Vec<Figure>,
    /// Figures that only the first run has.
    pub only_before: Vec<String>,
    /// Figures that only the second run has.
    pub only_after: Vec<String>,
    /// What else differs.
    pub set_up: Vec<Difference>,
}

/// Compare two runs, each with its name.
pub fn compare(
    before: (&str, &ResultsFile),
    after: (&str, &ResultsFile),
    rules: Rules,
) -> Comparison {
    let mut of_after: HashMap<String, Values> = HashMap::new();
    let mut order = Vec::new();
    for (key, values) in figures::of(after.1) {
        order.push(key.clone());
        of_after.insert(key, values);
    }
    let (mut pairs, mut only_before) = (Vec::new(), Vec::new());
    for (key, first) in figures::of(before.1) {
        match of_after.remove(&key) {
            Some(second) => pairs.push((first, second)),
            None => only_before.push(name(&first.what)),
        }
    }
    let left = order.iter().filter_map(|key| of_after.get(key));
    let only_after: Vec<String> = left.map(|values| name(&values.what)).collect();
    let figures = judged(pairs, rules);
    Comparison {
        format: "wirelab-comparison",
        version: 1,
        before: run(before),
        after: run(after),
        verdict: verdict(&figures),
        figures,
        only_before,
        only_after,
        set_up: set_up(before.1, after.1),
    }
}

fn name(what: &FigureName) -> String {
    format!("{}: {}", what.trial, what.figure)
}

fn run((name, file): (&str, &ResultsFile)) -> ComparedRun {
    ComparedRun {
        name: name.to_owned(),
        created_unix_ns: file.created_unix_ns,
        trials: file.observations.len(),
    }
}

fn verdict(figures: &[Figure]) -> Verdict {
    let any = |verdict| figures.iter().any(|figure| figure.verdict == verdict);
    let order = [Verdict::Worse, Verdict::Better, Verdict::Same];
    let found = order.into_iter().find(|verdict| any(*verdict));
    found.unwrap_or(Verdict::CannotTell)
}

fn judged(pairs: Vec<(Values, Values)>, rules: Rules) -> Vec<Figure> {
    let (pairs, left_out): (Vec<(Values, Values)>, Vec<usize>) = pairs
        .into_iter()
        .map(|(a, b)| {
            let ((a, before), (b, after)) = (a.of_node(), b.of_node());
            ((a, b), before + after)
        })
        .unzip();
    let shifts: Vec<Option<Shift>> = pairs
        .iter()
        .map(|(a, b)| Shift::of(&a.values, &b.values, a.what.scale, 1.0 - WRONG))
        .collect();
    let each = pairs.iter().zip(&shifts);
    let first: Vec<Option<(Verdict, String)>> =
        each.map(|((a, b), shift)| untested(a, b, *shift)).collect();
    let tests: Vec<usize> = (0..pairs.len()).filter(|at| first[*at].is_none()).collect();
    let p = |at: &usize| shifts[*at].map_or(1.0, |shift| shift.p);
    let raised = holm(&tests.iter().map(p).collect::<Vec<f64>>());
    let of_all: BTreeMap<usize, f64> = tests.iter().copied().zip(raised).collect();
    let each = pairs.into_iter().zip(first).enumerate();
    each.map(|(at, ((a, b), first))| {
        let (shift, p_of_all) = (shifts[at], of_all.get(&at).copied());
        let (verdict, reason) = match (first, shift, p_of_all) {
            (Some(said), _, _) => said,
            (None, Some(shift), Some(p)) => tested(&a, &b, &shift, p, tests.len(), rules),
            (None, _, _) => (Verdict::CannotTell, "nothing to compare".to_owned()),
        };
        let reason = match left_out[at] {
            0 => reason,
            n => {
                let trials = crate::format::count(n as u64, "trial");
                format!("{reason}; without {trials} that the tester limited")
            }
        };
        figure(a, b, shift, p_of_all, verdict, reason)
    })
    .collect()
}

fn figure(
    a: Values,
    b: Values,
    shift: Option<Shift>,
    p_of_all: Option<f64>,
    verdict: Verdict,
    reason: String,
) -> Figure {
    let middle = |values: &[f64]| {
        let summary = Summary::of(values, 1.0 - WRONG);
        summary.map_or(f64::NAN, |summary| summary.median)
    };
    Figure {
        before_median: middle(&a.values),
        after_median: middle(&b.values),
        trial: a.what.trial,
        figure: a.what.figure,
        unit: a.what.unit,
        higher_is_better: a.what.higher_is_better,
        scale: a.what.scale,
        on: a.what.on,
        kind: Kind::weakest([a.kind, b.kind]).unwrap_or(a.kind),
        before: a.values,
        after: b.values,
        change: shift.map(|shift| shift.change),
        change_interval: shift.map(|shift| shift.interval),
        p: p_of_all.and(shift).map(|shift| shift.p),
        p_of_all,
        above: shift.map(|shift| shift.above),
        verdict,
        reason,
    }
}

/// The verdict of a pair that needs no test, or that no test can judge.
fn untested(a: &Values, b: &Values, shift: Option<Shift>) -> Option<(Verdict, String)> {
    let limited = a.tester_limited + b.tester_limited;
    let trials = a.values.len() + b.values.len();
    if limited > 0 {
        let why = format!(
            "the tester was the limit in {limited} of {trials} trials, so that the figures are its own; fix: use a faster \
             tester, or offer less"
        );
        return Some((Verdict::CannotTell, why));
    }
    if a.kind != b.kind && [a.kind, b.kind].contains(&Kind::Emulated) {
        let why = format!(
            "it is {} before and {} after: figures of an emulation depend on its host",
            a.kind, b.kind
        );
        return Some((Verdict::CannotTell, why));
    }
    let alike = |values: &[f64]| values.iter().all(|value| *value == a.values[0]);
    if a.exact && b.exact {
        return Some(match (alike(&a.values) && alike(&b.values), shift) {
            (true, _) => (
                Verdict::Same,
                "equal, and the same on every host".to_owned(),
            ),
            (false, Some(shift)) if shift.change != 0.0 => (
                direction(&a.what, shift.change),
                "a figure that is the same on every host changed".to_owned(),
            ),
            _ => (
                Verdict::Same,
                "equal in the middle of its repeats".to_owned(),
            ),
        });
    }
    match shift {
        None if alike(&a.values) && alike(&b.values) => Some((Verdict::Same, "equal".to_owned())),
        None => Some((
            Verdict::CannotTell,
            "a value is 0, so that there is no share by which it changed".to_owned(),
        )),
        Some(_) => None,
    }
}

fn direction(what: &FigureName, change: f64) -> Verdict {
    match (change > 0.0) == what.higher_is_better {
        true => Verdict::Better,
        false => Verdict::Worse,
    }
}

/// The smallest change that counts, and the change that must have been seen before two figures are called the same.
fn limits(what: &FigureName, rules: Rules) -> (f64, f64) {
    match (what.scale, &*what.figure) {
        (Scale::Ratio, _) => (rules.margin, rules.resolve),
        (Scale::Difference, "CPU load") => (LEAST_LOAD, 2.0 * LEAST_LOAD),
        (Scale::Difference, _) => (LEAST_LOSS, 2.0 * LEAST_LOSS),
    }
}

fn tested(
    a: &Values,
    b: &Values,
    shift: &Shift,
    p: f64,
    tests: usize,
    rules: Rules,
) -> (Verdict, String) {
    let (least, most) = limits(&a.what, rules);
    let fewest = fewest_repeats(tests, WRONG);
    let (n, m) = (a.values.len(), b.values.len());
    let show = |share: f64| change(a.what.scale, share);
    let known = format!(
        "{} to {}",
        show(shift.interval.low),
        show(shift.interval.high)
    );
    if p <= WRONG {
        return match shift.change.abs() > least {
            true => (
                direction(&a.what, shift.change),
                format!("changed by {known}"),
            ),
            false => (
                Verdict::Same,
                format!("changed by {known}, which is less than {}", show(least)),
            ),
        };
    }
    if n.min(m) < fewest {
        let of = match tests {
            1 => "a difference".to_owned(),
            _ => format!("a difference of one of {tests} figures"),
        };
        let why = format!(
            "{n} and {m} repeats: {of} can be distinguished from {fewest} repeats of each run on; fix: --repeat {fewest}"
        );
        return (Verdict::CannotTell, why);
    }
    let widest = shift.interval.low.abs().max(shift.interval.high.abs());
    if widest <= most {
        return (Verdict::Same, format!("no change beyond {known}"));
    }
    // An interval shrinks with the root of the number of repeats.
    let more = (n.min(m) as f64 * (widest / most).powi(2)).ceil().min(1e6);
    let why = format!(
        "anything from {known} is possible, as the repeats differ so much among themselves; fix: about {more} repeats of each \
         run, on a quieter host"
    );
    (Verdict::CannotTell, why)
}

/// Begins the name of a key of a node's set-up.
const OF_NODE: &str = "node's ";
/// Most lines of a set-up that are shown.
const SET_UP: usize = 30;

/// What differs between the runs beside their figures.
fn set_up(before: &ResultsFile, after: &ResultsFile) -> Vec<Difference> {
    let (first, second) = (facts(before), facts(after));
    let keys: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let absent = "–".to_owned();
    let each = keys.into_iter().filter_map(|key| {
        let of = |facts: &BTreeMap<String, String>| facts.get(key).unwrap_or(&absent).clone();
        let (before, after) = (of(&first), of(&second));
        (before != after).then(|| Difference {
            what: key.clone(),
            before,
            after,
        })
    });
    each.take(SET_UP).collect()
}

fn facts(file: &ResultsFile) -> BTreeMap<String, String> {
    let host = &file.environment;
    let mut facts = BTreeMap::from([
        ("wirelab version".to_owned(), file.wirelab_version.clone()),
        ("tester's kernel".to_owned(), said(&host.kernel)),
        ("tester's CPU".to_owned(), said(&host.cpu)),
        ("tester's CPUs".to_owned(), said(&host.cpus)),
    ]);
    let (mut paths, mut links) = (BTreeSet::new(), BTreeSet::new());
    let mut ceilings = Vec::new();
    for o in &file.observations {
        facts.insert("node".to_owned(), o.node.name.clone());
        links.extend(o.trial.link_bits_per_s);
        let lasting = o
            .node
            .setup
            .iter()
            .filter(|(key, _)| !o.node.is_made_anew(key));
        for (key, value) in lasting {
            facts.insert(format!("{OF_NODE}{key}"), value.clone());
        }
        for flow in &o.flows {
            let sender = flow.sender.value().map_or("", |sender| &sender.path);
            paths.insert(format!("{sender} to {}", flow.receiver_path));
        }
        ceilings.extend(o.tester.ceiling_frames_per_s.value().copied());
    }
    if !links.is_empty() {
        let rates = links
            .iter()
            .map(|link| crate::format::si(*link as f64, "bit/s"));
        facts.insert("link".to_owned(), rates.collect::<Vec<_>>().join(", "));
    }
    let paths: Vec<String> = paths.into_iter().collect();
    facts.insert("paths of sender and receiver".to_owned(), paths.join(", "));
    if let Some(ceiling) = ceilings.into_iter().reduce(f64::max) {
        // Rounded to a power of 1.25, because a ceiling varies from run to run.
        let step = (ceiling.max(1.0).ln() / 1.25f64.ln()).round();
        let about = crate::format::si(1.25f64.powf(step), "frames/s");
        facts.insert("tester's ceiling, about".to_owned(), about);
    }
    facts
}

fn said<T: fmt::Display>(field: &wirelab_trial::Field<T>) -> String {
    field.value().map_or("–".to_owned(), T::to_string)
}

/// When a comparison fails a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FailIf {
    /// A figure is worse by more than this share; shares between 0 and 1, as a loss, fail by any change that counts.
    Worse(f64),
    /// A figure cannot be judged.
    CannotTell,
}

/// Why a rule of failing cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", invalid_rule(.0))]
pub struct FailIfError(String);

fn invalid_rule(text: &str) -> String {
    let meant = match text.split(':').next().unwrap_or_default() {
        "worse" => String::new(),
        word => did_you_mean(word, ["worse", "cannot-tell"].into_iter()),
    };
    format!("invalid rule '{text}'; {meant}fix: write worse, worse:5% or cannot-tell")
}

impl FromStr for FailIf {
    type Err = FailIfError;

    fn from_str(text: &str) -> Result<FailIf, FailIfError> {
        let invalid = || FailIfError(text.to_owned());
        match text.split_once(':') {
            None if text == "worse" => Ok(FailIf::Worse(0.0)),
            None if text == "cannot-tell" => Ok(FailIf::CannotTell),
            Some(("worse", percent)) => share(percent).map(FailIf::Worse).ok_or_else(invalid),
            _ => Err(invalid()),
        }
    }
}

/// A share from a percentage with its sign, 0 to 100.
pub fn share(text: &str) -> Option<f64> {
    parse_percent(text).filter(|share| *share <= 1.0)
}

impl FailIf {
    /// Whether a figure fails.
    pub fn fails(self, figure: &Figure) -> bool {
        let changed = figure.change.map_or(f64::INFINITY, f64::abs);
        match self {
            FailIf::CannotTell => figure.verdict == Verdict::CannotTell,
            FailIf::Worse(share) => {
                let enough = figure.scale == Scale::Difference || changed > share;
                figure.verdict == Verdict::Worse && enough
            }
        }
    }
}

impl Comparison {
    /// The figures that fail by any of the rules. Two runs without a figure in common fail by each.
    pub fn failed<'a>(&'a self, rules: &'a [FailIf]) -> impl Iterator<Item = &'a Figure> {
        let fails = |figure: &&Figure| rules.iter().any(|rule| rule.fails(figure));
        self.figures.iter().filter(fails)
    }

    /// Whether the gate of these rules lets the second run pass.
    pub fn passes(&self, rules: &[FailIf]) -> bool {
        rules.is_empty() || !self.figures.is_empty() && self.failed(rules).next().is_none()
    }

    /// How many figures have a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        let of = |figure: &&Figure| figure.verdict == verdict;
        self.figures.iter().filter(of).count()
    }
}

#[cfg(test)]
mod tests;
