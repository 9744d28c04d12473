//! Runs a study: every row's trial on a node, every published figure beside the resulting value.

use std::collections::{BTreeMap, BTreeSet};

use wirelab_trial::description::CHOSEN_AFTER;
use wirelab_trial::{
    Cancel, Field, Kind, Node, NodeError, Observation, Progress, Retrying, Status, Trial,
};
use wirelab_wire::LineRate;

use crate::figure::{Errors, Figure, OfModel, Printed, errors};
use crate::metric::Metric;
use crate::table::{Cell, Claim, ClaimOf, Relation, Role, Row, Study};
use crate::value::{ValueRange, ends_of, of_link, of_trial};

/// A source of nodes, by the names in studies and on the command line.
pub trait NodeSource {
    /// The node of that name under the conditions of `set`, in the syntax of `--set`.
    ///
    /// # Errors
    /// The reason, and the fix.
    fn node(&mut self, name: &str, set: &BTreeMap<String, String>)
    -> Result<Box<dyn Node>, String>;

    /// Takes each observation of its nodes, with the name of the study; returns whether to stop.
    fn observed(&mut self, _study: &str, _observation: &Observation) -> bool {
        false
    }
}

/// Why a study cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A node is not available.
    #[error("{file}:{line}: row '{row}': node {node}: {why}")]
    Node {
        /// The study's file.
        file: String,
        /// Line of the row that needs it.
        line: usize,
        /// Name of the row.
        row: String,
        /// The node's name.
        node: String,
        /// The reason, and the fix.
        why: String,
    },
    /// No node is named.
    #[error(
        "{file}:{line}: row '{row}' names no node; fix: write node = \"NAME\" at the top of the file, or give --node"
    )]
    NoNode {
        /// The study's file.
        file: String,
        /// Line of the row.
        line: usize,
        /// Name of the row.
        row: String,
    },
    /// The node is emulated: its speed depends on the host.
    #[error(
        "node {node} is emulated: its times, rates and losses depend on this host and are not compared with published \
         figures; fix: run the study on the hardware (node:HOST), on a model, or on board:lpc1768, whose time is simulated"
    )]
    Emulated {
        /// The node's name.
        node: String,
    },
    /// A privilege is missing; the text names it and the command that grants it.
    #[error("{0}")]
    Privilege(String),
}

/// The result of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyRun {
    /// The study's name.
    pub study: String,
    /// Its title.
    pub title: String,
    /// Where the figures were printed.
    pub source: String,
    /// The node for all rows, where it is not the study's own.
    pub node: Option<String>,
    /// Every figure, in the document's order, then the claims.
    pub rows: Vec<Figure>,
    /// Whether it was cancelled before every row was run.
    pub interrupted: bool,
    /// Parameters of its models that were chosen after published figures were seen, each with these figures.
    pub chosen: BTreeSet<String>,
    /// Why there is no figure of a node at all, if the nodes supported none of the rows.
    pub refused: Option<String>,
}

impl StudyRun {
    /// Errors of the held-out figures, for each metric.
    pub fn errors(&self) -> Vec<Errors> {
        errors(&self.rows)
    }

    /// Why the nodes of these studies supported none of their rows; `None` where one supported any.
    pub fn refusal(runs: &[StudyRun]) -> Option<String> {
        let refusal = |run: &StudyRun| {
            let why = run.refused.as_ref()?;
            let node = run.node.as_deref().unwrap_or("its node");
            Some(format!(
                "{}: {node} supports none of the rows: {why}",
                run.study
            ))
        };
        let all: Vec<String> = runs.iter().map(refusal).collect::<Option<_>>()?;
        (!all.is_empty()).then(|| all.join("\n"))
    }

    /// Adds the results of the study's own model beside those of another node; `model` is the same study, run on it.
    #[must_use]
    pub fn beside(mut self, model: &StudyRun) -> StudyRun {
        for (figure, of_model) in self.rows.iter_mut().zip(&model.rows) {
            figure.model = Some(OfModel {
                value: of_model.value,
                kind: of_model.kind,
                error_percent: of_model.error_percent,
            });
        }
        self
    }
}

/// Runs every row of a study. `node` replaces the nodes of the study; the rows' `set` is then left out, because it
/// belongs to models. Rows with the same node, `set` and trial run once.
///
/// Trials that a node cannot do, or fails at, give figures without a value and with the reason.
///
/// # Errors
/// [`RunError`] where a node is not available, or a privilege is missing.
pub fn run(
    study: &Study,
    node: Option<&str>,
    nodes: &mut dyn NodeSource,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<StudyRun, RunError> {
    let wanted = wanted(study);
    let mut values: Vec<Values> = vec![Values::new(); study.rows.len()];
    let mut notes: Vec<Option<String>> = vec![None; study.rows.len()];
    let mut interrupted = false;
    let groups = groups(study, node, &wanted);
    let total = groups.iter().map(|g| g.trials.len() as u64).sum();
    let mut done = 0;
    let mut refusals = Vec::new();
    let mut chosen = BTreeSet::new();
    for group in groups {
        let first = &study.rows[group.trials[0].rows[0]];
        if group.node.is_empty() {
            return Err(RunError::NoNode {
                file: study.file.clone(),
                line: first.line,
                row: first.name.clone(),
            });
        }
        let mut node = nodes
            .node(group.node, group.set)
            .map_err(|why| RunError::Node {
                file: study.file.clone(),
                line: first.line,
                row: first.name.clone(),
                node: group.node.to_owned(),
                why,
            })?;
        let mut node = Retrying::new(node.as_mut());
        for TrialRows { trial, rows } in group.trials {
            let name = format!("{}: {}", study.name, study.rows[rows[0]].name);
            let observed = if cancel.is_cancelled() {
                interrupted = true;
                Err("cancelled before this row was run".to_owned())
            } else {
                let part = Part {
                    progress,
                    done,
                    total,
                    name: &name,
                };
                observe(&mut node, trial, &part, cancel, &mut refusals)?
            };
            if let Ok(observation) = &observed {
                chosen.extend(observation.node.setup.get(CHOSEN_AFTER).cloned());
                if nodes.observed(&study.name, observation) {
                    cancel.cancel();
                }
            }
            for row in rows {
                notes[row] = note(&observed);
                values[row] = take(&study.rows[row], &wanted[row], &observed);
            }
            done += 1;
        }
    }
    progress.report(total, total, &study.name);
    for (at, row) in study.rows.iter().enumerate() {
        without_a_node(study, row, &wanted[at], &mut values[at]);
    }
    Ok(StudyRun {
        study: study.name.clone(),
        title: study.title.clone(),
        source: study.source.clone(),
        node: node.map(str::to_owned),
        rows: figures(study, node, &values, &notes),
        interrupted,
        chosen,
        refused: of_all(refusals, total),
    })
}

/// The figures of all rows and claims.
fn figures(
    study: &Study,
    node: Option<&str>,
    values: &[Values],
    notes: &[Option<String>],
) -> Vec<Figure> {
    let cells = study.rows.iter().enumerate().flat_map(|(at, row)| {
        let own = row.node.as_deref().unwrap_or(&study.node);
        let result = RowResult {
            values: &values[at],
            note: notes[at].as_deref(),
            fitted_node: node.is_none_or(|node| node == own),
        };
        let of = move |cell| figure(study, row, cell, &result);
        row.cells.iter().map(of)
    });
    let claims = study.claims.iter();
    let claims = claims.map(|claim| claimed(study, claim, values, node.is_none()));
    cells.chain(claims).collect()
}

/// The distinct reasons, if all trials were refused.
fn of_all(mut refusals: Vec<String>, trials: u64) -> Option<String> {
    let all = trials > 0 && refusals.len() as u64 == trials;
    refusals.sort();
    refusals.dedup();
    all.then(|| refusals.join("; "))
}

type Values = BTreeMap<Metric, ValueRange>;

/// The result of a row's trial.
#[derive(Clone, Copy)]
struct RowResult<'a> {
    values: &'a Values,
    note: Option<&'a str>,
    /// Whether the node's parameters are from the row's calibration figures.
    fitted_node: bool,
}

/// The metrics of each row that figures and claims need.
fn wanted(study: &Study) -> Vec<Vec<Metric>> {
    let of = |row: &Row| {
        let cells = row.cells.iter().map(|cell| cell.metric);
        let claims = study.claims.iter().filter(|claim| match &claim.of {
            ClaimOf::Row(name) => *name == row.name,
            ClaimOf::LargestDifference(pairs) => {
                pairs.iter().any(|(a, b)| *a == row.name || *b == row.name)
            }
        });
        cells.chain(claims.map(|claim| claim.metric)).collect()
    };
    study.rows.iter().map(of).collect()
}

/// The trials of one node.
struct Group<'a> {
    node: &'a str,
    set: &'a BTreeMap<String, String>,
    trials: Vec<TrialRows<'a>>,
}

/// A trial, and the rows with its figures.
struct TrialRows<'a> {
    trial: &'a Trial,
    rows: Vec<usize>,
}

fn groups<'a>(study: &'a Study, node: Option<&'a str>, wanted: &[Vec<Metric>]) -> Vec<Group<'a>> {
    static NOTHING: BTreeMap<String, String> = BTreeMap::new();
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (at, row) in study.rows.iter().enumerate() {
        if row.limit || !row.size_known || wanted[at].iter().all(|m| m.is_of_the_trial()) {
            continue;
        }
        let (name, set) = match node {
            Some(node) => (node, &NOTHING),
            None => (row.node.as_deref().unwrap_or(&study.node), &row.set),
        };
        let known = groups.iter().position(|g| g.node == name && g.set == set);
        let group = known.unwrap_or_else(|| {
            groups.push(Group {
                node: name,
                set,
                trials: Vec::new(),
            });
            groups.len() - 1
        });
        let trials = &mut groups[group].trials;
        match trials
            .iter_mut()
            .find(|known_trial| *known_trial.trial == row.trial)
        {
            Some(known_trial) => known_trial.rows.push(at),
            None => trials.push(TrialRows {
                trial: &row.trial,
                rows: vec![at],
            }),
        }
    }
    groups
}

/// The progress of one trial as a part of the whole.
struct Part<'a> {
    progress: &'a dyn Progress,
    done: u64,
    total: u64,
    name: &'a str,
}

impl Progress for Part<'_> {
    fn report(&self, done: u64, total: u64, what: &str) {
        let whole = total.max(1);
        let done = self.done.saturating_mul(whole).saturating_add(done);
        let text = format!("{}: {what}", self.name);
        self.progress
            .report(done, self.total.saturating_mul(whole), &text);
    }
}

fn observe(
    node: &mut dyn Node,
    trial: &Trial,
    progress: &dyn Progress,
    cancel: &Cancel,
    refusals: &mut Vec<String>,
) -> Result<Result<Observation, String>, RunError> {
    match node.run(trial, progress, cancel) {
        Ok(observation) if observation.is_emulated() => Err(RunError::Emulated {
            node: observation.node.name,
        }),
        Ok(observation) => Ok(match &observation.status {
            Status::Void { why } => Err(format!("the trial is void: {why}")),
            _ => Ok(observation),
        }),
        Err(NodeError::Privilege(why)) => Err(RunError::Privilege(why)),
        Err(error) => {
            let why = error.to_string();
            if matches!(error, NodeError::Unsupported(_) | NodeError::BadTrial(_)) {
                refusals.push(why.clone());
            }
            Ok(Err(why))
        }
    }
}

fn take(row: &Row, wanted: &[Metric], observed: &Result<Observation, String>) -> Values {
    let value = |metric: &Metric| match observed {
        Ok(observation) => match ends_of(row, observation, *metric) {
            ends if ends.low.value().is_some_and(|value| !value.is_finite()) => {
                Field::absent("the node gave no finite number").into()
            }
            ends => ends,
        },
        Err(why) => Field::absent(why).into(),
    };
    wanted.iter().map(|m| (*m, value(m))).collect()
}

/// Limits, and values that follow from the trial alone, independent of the trial's result.
fn without_a_node(study: &Study, row: &Row, wanted: &[Metric], values: &mut Values) {
    let study_link = study.link_bits_per_s.and_then(LineRate::new);
    for metric in wanted {
        if !row.size_known {
            let why = "the page does not give the size of this row: write it in its trial";
            values.insert(*metric, Field::absent(why).into());
            continue;
        }
        let value = match row.trial.link().or(study_link) {
            Some(link) if row.limit => of_link(&row.trial, link, *metric),
            None if row.limit => Field::absent("the link's rate is not known"),
            _ if metric.is_of_the_trial() => of_trial(&row.trial, *metric),
            _ => continue,
        };
        values.insert(*metric, value.into());
    }
}

/// Notes on all figures of a trial.
fn note(observed: &Result<Observation, String>) -> Option<String> {
    match observed.as_ref().map(|observation| &observation.status) {
        Ok(Status::Partial { why }) => Some(format!("the trial ended early: {why}")),
        _ => None,
    }
}

/// The conditions that the row sets for a model; figures without another reason are judged under them.
fn given(row: &Row) -> Option<String> {
    let set: Vec<String> = row.set.iter().map(|(k, v)| format!("{k} = {v}")).collect();
    (!set.is_empty()).then(|| format!("given: {}", set.join(", ")))
}

fn figure(study: &Study, row: &Row, cell: &Cell, result: &RowResult<'_>) -> Figure {
    let of_a_node = !row.limit && !cell.metric.is_of_the_trial();
    let value = result.values.get(&cell.metric).cloned();
    let judged = of_a_node
        && result.fitted_node
        && cell.role == Role::HeldOut
        && value
            .as_ref()
            .is_some_and(|ends| ends.low.value().is_some());
    let given = judged.then(|| given(row)).flatten();
    let printed = Printed {
        study: &study.name,
        row: &row.name,
        metric: cell.metric,
        quantity: &cell.published,
        relation: Relation::Equals,
        role: cell.role,
        reason: cell.reason.as_deref().or(given.as_deref()),
        note: result.note,
        fitted_node: result.fitted_node,
        claim: None,
        of_a_node,
    };
    Figure::new(
        &printed,
        value.unwrap_or_else(|| Field::absent("not run").into()),
    )
}

fn claimed(study: &Study, claim: &Claim, values: &[Values], fitted_node: bool) -> Figure {
    let of = |name: &str| -> ValueRange {
        let at = study.rows.iter().position(|row| row.name == name);
        let value = at.and_then(|at| values[at].get(&claim.metric).cloned());
        value.unwrap_or_else(|| Field::absent("the row was not run").into())
    };
    let value = match &claim.of {
        ClaimOf::Row(name) => {
            let fitted = study.row(name).and_then(|row| row.cell(claim.metric));
            let fitted = fitted.is_some_and(|c| c.role == Role::Calibration);
            let ends = of(name);
            ValueRange {
                low: calibrated(ends.low, fitted),
                ..ends
            }
        }
        ClaimOf::LargestDifference(pairs) => {
            let differences = pairs.iter().map(|(a, b)| of(a).less(of(b)));
            // All rows must keep the bound, so the value nearest to breaking it counts.
            let nearest: fn(f64, f64) -> f64 = match claim.relation {
                Relation::Above => f64::min,
                Relation::Below | Relation::Equals => f64::max,
            };
            let worst = differences.reduce(|a, b| a.with(b, nearest));
            worst.unwrap_or_else(|| Field::absent("it names no rows").into())
        }
    };
    let printed = Printed {
        study: &study.name,
        row: &claim.name,
        metric: claim.metric,
        quantity: &claim.published,
        relation: claim.relation,
        role: claim.role,
        reason: claim.reason.as_deref(),
        note: None,
        fitted_node,
        claim: Some(&claim.text),
        of_a_node: false,
    };
    Figure::new(&printed, value)
}

/// A figure that the node was fitted to cannot be predicted.
fn calibrated(field: Field<f64>, fitted: bool) -> Field<f64> {
    match field {
        Field::Observed {
            value,
            kind: Kind::Predicted,
        } if fitted => Field::Observed {
            value,
            kind: Kind::Calibrated,
        },
        field => field,
    }
}
