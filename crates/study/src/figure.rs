//! A published figure beside a node's value, and the errors of many figures.

use serde::{Serialize, Serializer};
use wirelab_trial::{Field, Kind, Stated};

use crate::metric::Metric;
use crate::quantity::{Dimension, Quantity};
use crate::table::{Relation, Role, Study};
use crate::value::ValueRange;

/// A published figure beside a node's value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The study's name.
    pub study: String,
    /// The row's name, or the claim's.
    pub row: String,
    /// Its metric.
    #[serde(serialize_with = "name")]
    pub metric: Metric,
    /// Unit of `published` and `value`; empty for counts.
    pub unit: &'static str,
    /// As printed, in `unit`.
    pub published: f64,
    /// The node's value, in `unit`; absent with a reason.
    pub value: Option<f64>,
    /// The largest possible value where the tester cannot know it: its own queue may have dropped frames that did not
    /// arrive. `value` is then the smallest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_at_most: Option<f64>,
    /// The interval of the value, in `unit`: of a prediction from the uncertainty of the model's parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Stated>,
    /// Whether that interval holds the figure, as far as it was printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_interval: Option<bool>,
    /// The origin of the value.
    pub kind: Option<Kind>,
    /// Its role.
    pub role: Role,
    /// 100 · (value − published) / published; `None` without a value, for a bound, where only the ends of the value are
    /// known, and where 0 was published and the value is not 0.
    pub error_percent: Option<f64>,
    /// Why there is no value, why the figure is disputed or unpredictable, and further notes.
    pub reason: Option<String>,
    /// Whether the value keeps a bound of the text; `None` where the text gives a value, and where only one end of the
    /// value keeps the bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
    /// The result of the study's own model, where another node was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<OfModel>,
    /// The figure as printed.
    #[serde(skip)]
    pub printed: Quantity,
    /// Whether the text gives the value or a bound.
    #[serde(skip)]
    pub relation: Relation,
    /// The claim in short, where the figure is a claim of the text.
    #[serde(skip)]
    pub claim: Option<String>,
    /// Whether the error counts in [`errors`].
    pub counted: bool,
}

/// The result of the study's own model for a figure, in the figure's unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfModel {
    /// The value; `None` where the model gives none.
    pub value: Option<f64>,
    /// Predicted, or calibrated from the same figure.
    pub kind: Option<Kind>,
    /// 100 · (value − published) / published, as of the figure itself.
    pub error_percent: Option<f64>,
}

fn name<S: Serializer>(metric: &Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(metric.name())
}

/// A figure of a table, as it was published.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublishedFigure<'a> {
    /// The study's name.
    pub study: &'a str,
    /// The row's name.
    pub row: &'a str,
    /// Its metric.
    #[serde(serialize_with = "name")]
    pub metric: Metric,
    /// Unit of `published`; empty for counts.
    pub unit: &'static str,
    /// As printed, in `unit`.
    pub published: f64,
    /// Its role.
    pub role: Role,
    /// Why the figure is disputed or unpredictable.
    pub reason: Option<&'a str>,
    /// Line of the file.
    pub line: usize,
}

/// All figures of a study's table.
pub fn published(study: &Study) -> impl Iterator<Item = PublishedFigure<'_>> {
    let rows = study.rows.iter();
    let cells = rows.flat_map(|row| row.cells.iter().map(move |cell| (row, cell)));
    cells.map(|(row, cell)| PublishedFigure {
        study: &study.name,
        row: &row.name,
        metric: cell.metric,
        unit: cell.published.unit.name,
        published: cell.published.number,
        role: cell.role,
        reason: cell.reason.as_deref(),
        line: cell.line,
    })
}

/// A figure before its value is known.
pub(crate) struct Printed<'a> {
    pub study: &'a str,
    pub row: &'a str,
    pub metric: Metric,
    pub quantity: &'a Quantity,
    pub relation: Relation,
    pub role: Role,
    pub reason: Option<&'a str>,
    /// Notes on the trial.
    pub note: Option<&'a str>,
    /// Whether the node's parameters come from calibration figures.
    pub fitted_node: bool,
    /// The text of a claim.
    pub claim: Option<&'a str>,
    /// Whether a node was used for it.
    pub of_a_node: bool,
}

/// The note on figures whose value the tester cannot know.
const NO_ERROR: &str = "the tester's own queue dropped frames, and how many is unknown: the loss is a range without an error";
const UNDECIDED: &str = "undecided: the tester's own queue dropped frames, and how many is unknown; one end of the loss keeps the bound and the other does not";
const AT_BOTH_ENDS: &str = "the tester's own queue dropped frames, and how many is unknown; the result is the same at both ends of the loss";

/// Whether a bound is kept, where both ends of the value agree.
fn holds(of: &Printed<'_>, value: Option<f64>, at_most: Option<f64>) -> Option<bool> {
    let published = of.quantity.number;
    let keeps = |value: f64| match of.relation {
        Relation::Equals => None,
        Relation::Below => Some(value < published),
        Relation::Above => Some(value > published),
    };
    let least = keeps(value?)?;
    let agreed = at_most.and_then(keeps).is_none_or(|most| most == least);
    agreed.then_some(least)
}

impl Figure {
    /// `ends` are in the base unit of the metric.
    pub(crate) fn new(of: &Printed<'_>, ends: ValueRange) -> Figure {
        let field = ends.low.clone();
        let kind = match (field.kind(), of.role) {
            (Some(Kind::Predicted), Role::Calibration) if of.fitted_node => Some(Kind::Calibrated),
            (kind, _) => kind,
        };
        let mut reasons: Vec<&str> = of.reason.into_iter().chain(of.note).collect();
        let scale = of.quantity.unit.scale;
        let value = match &field {
            Field::Observed { value, .. } => Some(value / scale),
            Field::Absent { absent } => {
                reasons.push(absent);
                None
            }
        };
        let value_at_most = ends.at_most.filter(|_| value.is_some());
        let value_at_most = value_at_most.map(|most| most / scale);
        let holds = holds(of, value, value_at_most);
        if value_at_most.is_some() {
            reasons.push(match (of.relation, holds) {
                (Relation::Equals, _) => NO_ERROR,
                (_, None) => UNDECIDED,
                (_, Some(_)) => AT_BOTH_ENDS,
            });
        }
        let held_out = of.role == Role::HeldOut;
        // The parameters of another node are not from the figure, though those of the study's own model are.
        let untuned = of.role == Role::Calibration
            && !of.fitted_node
            && matches!(kind, Some(Kind::Measured | Kind::Predicted));
        if held_out && kind == Some(Kind::Calibrated) {
            reasons.push(
                "the node was fitted to it, or the row gives it, so its error does not count",
            );
        }
        let published = of.quantity.number;
        let interval = ends.interval.filter(|_| value.is_some());
        let interval = interval.map(|of| of.times(1.0 / scale));
        let equals = of.relation == Relation::Equals;
        Figure {
            study: of.study.to_owned(),
            row: of.row.to_owned(),
            metric: of.metric,
            unit: of.quantity.unit.name,
            published,
            value,
            value_at_most,
            interval,
            in_interval: interval.filter(|_| equals).map(|interval| {
                let half = of.quantity.half_step() * (1.0 + 1e-9);
                (interval.low - half..=interval.high + half).contains(&published)
            }),
            kind,
            role: of.role,
            error_percent: value
                .filter(|_| equals && value_at_most.is_none())
                .and_then(|value| error_percent(value, published)),
            reason: (!reasons.is_empty()).then(|| reasons.join("; ")),
            holds,
            model: None,
            printed: of.quantity.clone(),
            relation: of.relation,
            claim: of.claim.map(str::to_owned),
            counted: (held_out || untuned)
                && of.of_a_node
                && equals
                && value_at_most.is_none()
                && !matches!(kind, Some(Kind::Calibrated | Kind::Published)),
        }
    }
}

impl Figure {
    /// Whether it is a bound of the text, undisputed, that the value breaks or possibly breaks.
    pub fn fails(&self) -> bool {
        let disputed = !matches!(self.role, Role::HeldOut | Role::Calibration);
        !disputed && (self.holds == Some(false) || self.is_undecided())
    }

    /// Whether it is a bound that only one end of the value keeps.
    pub fn is_undecided(&self) -> bool {
        self.relation != Relation::Equals && self.value_at_most.is_some() && self.holds.is_none()
    }

    /// Whether it is evidence for a model: no loss and a saturated CPU need no model, and a figure that restates an
    /// earlier one counts once.
    fn is_evidence(&self, earlier: &[&Figure]) -> bool {
        let whole = self.published * self.printed.unit.scale == 1.0;
        let saturated = whole && self.metric.dimension() == Dimension::Share;
        let again =
            |other: &&Figure| other.published == self.published && other.value == self.value;
        self.published != 0.0 && !saturated && !earlier.iter().any(again)
    }

    /// Whether the value, rounded like the figure, prints the same.
    pub fn as_printed(&self) -> bool {
        let half = self.printed.half_step() * (1.0 + 1e-9);
        self.value
            .is_some_and(|value| (value - self.published).abs() <= half)
    }
}

fn error_percent(value: f64, published: f64) -> Option<f64> {
    match published {
        0.0 if value == 0.0 => Some(0.0),
        0.0 => None,
        _ => Some(100.0 * (value - published) / published),
    }
}

/// Errors of the held-out figures of one metric of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Errors {
    /// The study's name.
    pub study: String,
    /// The metric.
    #[serde(serialize_with = "name")]
    pub metric: Metric,
    /// Held-out figures with a value.
    pub count: usize,
    /// Held-out figures that are evidence: no zero, no load of 100 %, and none that restates another.
    pub independent: usize,
    /// Held-out figures whose value has an interval.
    pub with_interval: usize,
    /// Held-out figures that lie in the interval of their value, within their rounding.
    pub in_interval: usize,
    /// Held-out figures whose value, rounded like the figure, prints the same.
    pub as_printed: usize,
    /// Held-out figures without a value.
    pub without_value: usize,
    /// Mean absolute error in percent of the published figures; `None` where every published figure is 0.
    pub mean_abs_percent: Option<f64>,
    /// Largest absolute error.
    pub max_abs_percent: Option<f64>,
    /// The row with the largest absolute error.
    pub max_row: Option<String>,
    /// For shares printed in percent: the mean absolute difference in percentage points.
    pub mean_abs_points: Option<f64>,
    /// Largest absolute difference.
    pub max_abs_points: Option<f64>,
}

/// The errors of the held-out figures, metric by metric. Calibration, disputed and unpredictable figures do not count
/// (calibration figures of the model count where another node was measured). Limits of a link, values that follow from
/// the trial alone, and claims, which repeat the rows, do not count either.
pub fn errors(figures: &[Figure]) -> Vec<Errors> {
    let mut groups: Vec<(&str, Metric, Vec<&Figure>)> = Vec::new();
    for figure in figures.iter().filter(|figure| figure.counted) {
        let known = groups
            .iter_mut()
            .find(|(study, metric, _)| *study == figure.study && *metric == figure.metric);
        match known {
            Some((_, _, group)) => group.push(figure),
            None => groups.push((&figure.study, figure.metric, vec![figure])),
        }
    }
    groups.sort_by_key(|(_, metric, _)| *metric);
    let of = |(study, metric, group): (&str, Metric, Vec<&Figure>)| {
        let each = group.iter().enumerate();
        let evidence = each.filter(|(at, f)| f.value.is_some() && f.is_evidence(&group[..*at]));
        let held: Vec<bool> = group.iter().filter_map(|f| f.in_interval).collect();
        let percents = group
            .iter()
            .filter_map(|f| Some((f.error_percent?.abs(), *f)));
        let percents: Vec<(f64, &Figure)> = percents.collect();
        // The first of equal ones.
        let worst = percents.iter().rev().max_by(|a, b| a.0.total_cmp(&b.0));
        let points: Vec<f64> = match metric.dimension() {
            Dimension::Share => group
                .iter()
                .filter_map(|f| Some((f.value? - f.published).abs()))
                .collect(),
            _ => Vec::new(),
        };
        let count = group.iter().filter(|f| f.value.is_some()).count();
        Errors {
            study: study.to_owned(),
            metric,
            count,
            independent: evidence.count(),
            with_interval: held.len(),
            in_interval: held.iter().filter(|held| **held).count(),
            as_printed: group.iter().filter(|f| f.as_printed()).count(),
            without_value: group.len() - count,
            mean_abs_percent: mean(percents.iter().map(|p| p.0)),
            max_abs_percent: worst.map(|w| w.0),
            max_row: worst.map(|w| w.1.row.clone()),
            mean_abs_points: mean(points.iter().copied()),
            max_abs_points: points.iter().copied().reduce(f64::max),
        }
    };
    groups.into_iter().map(of).collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}
