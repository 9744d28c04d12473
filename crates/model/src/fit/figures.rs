//! Reports models to a reader: parameters with intervals, errors of cells left out, parameters that the data do not
//! separate.

use std::collections::BTreeMap;

use wirelab_trial::format;
use wirelab_trial::{Interval, Warning, WarningCode};

use super::judge::{Judged, Quantity};
pub(super) use super::prefix::Prefix;
use super::prefix::unit_of;
use super::reach::Reach;
use super::shape::{Cell, Law, Model, Role, repeat_noise};
use super::{Fitted, LeaveOneOut, LeftOutCell, SizeClass};

/// Correlation from which the data hardly separate two parameters.
const CORRELATED: f64 = 0.98;
/// Half width of an interval, relative to the value, from which a correlation is reported.
const WIDE: f64 = 0.3;

/// Notes for the reader, in the order in which they arise.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) confidence: f64,
    pub(super) parameters: Vec<Fitted>,
    pub(super) leave_one_out: Vec<LeaveOneOut>,
    pub(super) classes: Vec<SizeClass>,
    pub(super) warnings: Vec<Warning>,
    pub(super) notes: Vec<String>,
    /// Data that were too few for a fit.
    pub(super) too_few: Vec<String>,
    /// The scatter of all models so far: sums of squares and degrees of freedom.
    pub(super) scatter: Pool,
    /// The scatter of a whole table, whose figures were measured in one way; empty where every figure has its own scatter.
    pub(super) pool: Pool,
}

/// Sums of squares and degrees of freedom, by what scatters.
pub(super) type Pool = BTreeMap<Scattered, (f64, usize)>;

/// Degrees of freedom below which a model's own scatter says little.
const FEW: usize = 3;

/// Figures that scatter alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scattered {
    /// CPU loads, in points.
    Load,
    /// Rates, as shares.
    Rate,
    /// Latencies, as shares.
    Latency,
}

impl Scattered {
    fn of(model: &Model, prefix: &Prefix<'_>) -> Scattered {
        match prefix.part {
            "period" => Scattered::Rate,
            "cpu" if model.cells.iter().all(|c| c.weight == 1.0) => Scattered::Load,
            "cpu" => Scattered::Rate,
            _ => Scattered::Latency,
        }
    }
}

impl Report {
    /// A report whose models may borrow the scatter of `pool`.
    pub(super) fn new(confidence: f64, pool: Pool) -> Report {
        Report {
            confidence,
            scatter: Pool::new(),
            pool,
            parameters: Vec::new(),
            leave_one_out: Vec::new(),
            classes: Vec::new(),
            warnings: Vec::new(),
            notes: Vec::new(),
            too_few: Vec::new(),
        }
    }

    pub(super) fn warn(&mut self, code: WarningCode, text: impl Into<String>, fix: &str) {
        self.warnings.push(Warning::new(code, text, fix));
    }

    /// Records the parameters of a model, named after `prefix`, and warns of those that the data hardly separate.
    pub(super) fn parameters_of(&mut self, model: &Model, prefix: &Prefix<'_>, how: &str) {
        let reach = self.reach_of(model, prefix);
        self.parameters_within(model, prefix, how, reach);
    }

    /// The scatter of a model's cells; from all models of the table if its own cells are too few.
    fn reach_of(&mut self, model: &Model, prefix: &Prefix<'_>) -> Option<Reach> {
        let own = Reach::of(model);
        let kind = Scattered::of(model, prefix);
        if let Some(own) = own {
            let pool = self.scatter.entry(kind).or_insert((0.0, 0));
            pool.0 += own.sigma.powi(2) * own.freedom as f64;
            pool.1 += own.freedom;
        }
        let (squares, freedom) = *self.pool.get(&kind).unwrap_or(&(0.0, 0));
        let known = own.map_or(0, |own| own.freedom);
        if known >= FEW || freedom <= known {
            return own;
        }
        let variance = (squares / freedom as f64).max(model.rounding());
        Some(Reach {
            sigma: variance.sqrt(),
            freedom,
        })
    }

    /// As [`Report::parameters_of`], with the scatter of a cell given.
    pub(super) fn parameters_within(
        &mut self,
        model: &Model,
        prefix: &Prefix<'_>,
        how: &str,
        reach: Option<Reach>,
    ) {
        let roles = model.shape.roles();
        let confidence = self.confidence;
        let half = reach.map(|reach| -> Vec<f64> {
            let each = (0..roles.len()).map(|i| reach.half_width(model, i, confidence));
            each.collect()
        });
        let causes = reach.map(|reach| reach.causes(model, prefix));
        for (i, role) in roles.iter().enumerate() {
            let (unit, scale) = unit_of(*role);
            let (value, unbounded) = (model.solution.values[i], model.solution.unbounded[i]);
            let interval = half.as_ref().map(|half| Interval {
                low: (unbounded - half[i]).max(0.0).min(value) * scale,
                high: (unbounded + half[i]).max(value) * scale,
                confidence: self.confidence,
            });
            self.parameters.push(Fitted {
                name: prefix.name(*role, model),
                value: value * scale,
                unit: unit.to_owned(),
                interval,
                plus_minus: causes
                    .as_ref()
                    .map_or_else(BTreeMap::new, |all| all[i].clone()),
                how: how.to_owned(),
            });
        }
        if let Some(batches_per_s) = model.shape.batches_per_s {
            self.parameters.push(Fitted {
                name: prefix.pacing(),
                value: 1e6 / batches_per_s,
                unit: "us".to_owned(),
                interval: None,
                plus_minus: BTreeMap::new(),
                how: "the frame rate from which the cost of a frame falls".to_owned(),
            });
        }
        match half {
            Some(half) => self.warn_of_correlation(model, prefix, &half),
            None => self.warn(
                WarningCode::NO_INTERVAL,
                format!(
                    "{}: as many parameters as cells, so their uncertainty is unknown",
                    prefix.figure
                ),
                "measure more sizes and loads, or repeat them",
            ),
        }
    }

    fn warn_of_correlation(&mut self, model: &Model, prefix: &Prefix<'_>, half: &[f64]) {
        let roles = model.shape.roles();
        let covariance = |i, j| model.solution.covariance(i, j);
        let wide = |i: usize| half[i] > WIDE * model.solution.values[i];
        for i in 0..roles.len() {
            for j in i + 1..roles.len() {
                let scale = (covariance(i, i) * covariance(j, j)).sqrt();
                let correlation = covariance(i, j) / scale;
                if correlation.abs() > CORRELATED && wide(i) && wide(j) {
                    let names = [i, j].map(|k| prefix.name(roles[k], model));
                    self.warn(
                        WarningCode::INSEPARABLE,
                        format!(
                            "{} and {} are hardly separable (correlation {correlation:.3}): only their sum is known",
                            names[0], names[1]
                        ),
                        "measure sizes and loads that lie further apart",
                    );
                }
            }
        }
    }

    /// Records the errors of cells that are left out.
    pub(super) fn leave_one_out_of(
        &mut self,
        figure: &str,
        quantity: Quantity,
        model: &Model,
        outliers: &[(Cell, f64)],
    ) {
        let scale = if quantity == Quantity::Load {
            100.0
        } else {
            1.0
        };
        let cell = |c: &Cell, predicted: Option<f64>, outlier: bool| LeftOutCell {
            cell: c.label.clone(),
            observations: c.observations,
            observed: c.value * scale,
            predicted: predicted.map(|p| p * scale),
            error: predicted.map(|p| 100.0 * (p - c.value) * c.weight.sqrt()),
            outlier,
        };
        let fitted = model.cells.iter().zip(&model.without);
        let mut cells: Vec<LeftOutCell> = fitted.map(|(c, w)| cell(c, *w, false)).collect();
        let sizes: Vec<f64> = cells.iter().filter_map(|c| Some(c.error?.abs())).collect();
        cells.extend(outliers.iter().map(|(c, w)| cell(c, Some(*w), true)));
        self.leave_one_out.push(LeaveOneOut {
            figure: figure.to_owned(),
            unit: if quantity == Quantity::Load {
                "%"
            } else {
                "ns"
            }
            .to_owned(),
            error_unit: quantity.error_unit().to_owned(),
            cells,
            mean_error: (!sizes.is_empty()).then(|| sizes.iter().sum::<f64>() / sizes.len() as f64),
            max_error: sizes.iter().copied().reduce(f64::max),
        });
    }

    /// Reports the form that was found, and what does not fit it.
    pub(super) fn findings_of(
        &mut self,
        judged: &Judged,
        (figure, quantity): (&str, Quantity),
        size: &str,
    ) {
        let percent = |x: f64| format!("{:.1}", 100.0 * x);
        for (cell, without) in &judged.outliers {
            self.warn(
                WarningCode::OUTLIER,
                format!(
                    "{figure}: {} lies off: observed {}, the other cells say {}; it was not fitted",
                    cell.label,
                    quantity.shown(cell.value),
                    quantity.shown(*without)
                ),
                "measure it again",
            );
        }
        if let Some(raised) = &judged.raised {
            let (low, high) = raised.implied_bytes;
            self.warn(
                WarningCode::MINIMUM_SIZE,
                format!(
                    "{figure}: {} do not lie on the line of the larger sizes (error of a cell left out {} with them); \
                     the same bits/s in datagrams of {low:.0} to {high:.0} B would: a minimum size that the test tool \
                     imposes, or a cheaper way for small frames. They were not fitted",
                    in_words(&raised.raised_bytes, size),
                    percent(judged.line_error),
                ),
                "look at the length of the datagrams in a capture",
            );
            self.classes.push(class_of(figure, &raised.raised_bytes));
        }
        if let Some((bytes, _)) = &judged.apart {
            self.warn(
                WarningCode::SIZE_APART,
                format!(
                    "{figure}: {} does not lie on the line of the others; it was not fitted",
                    in_words(&[*bytes], size)
                ),
                "measure sizes on both sides of it",
            );
            self.classes.push(class_of(figure, &[*bytes]));
        }
        if judged.model.shape.classes.len() > 1 {
            self.classes_found(judged, (figure, quantity), size);
        }
        let noise = repeat_noise(&judged.model.cells).unwrap_or(0.0);
        if judged.noisy {
            self.warn(
                WarningCode::REPEATS_SCATTER,
                format!(
                    "{figure}: repeats of one size and load scatter by {} (standard deviation); a finer form cannot be seen",
                    quantity.shown_error(noise)
                ),
                "measure on a quiet host, longer, and more often",
            );
        }
        if judged.misfit {
            self.warn(
                WarningCode::LINE_DOES_NOT_FIT,
                format!(
                    "{figure}: a line does not fit, {}: a cell that is left out is missed by {} (root mean square)",
                    if judged.model.shape.classes.len() > 1 {
                        "and classes of sizes do not either"
                    } else {
                        "and no classes of sizes are clearly better"
                    },
                    quantity.shown_error(judged.error.unwrap_or(0.0))
                ),
                "measure more sizes; do not trust predictions between those measured",
            );
        }
    }

    fn classes_found(&mut self, judged: &Judged, (figure, quantity): (&str, Quantity), size: &str) {
        let model = &judged.model;
        for (i, class) in model.shape.classes.iter().enumerate() {
            self.classes.push(SizeClass {
                packet_ns: Some(model.parameter(Role::Packet(i))),
                byte_ns: (class.law == Law::Line).then(|| model.parameter(Role::Byte(i))),
                ..class_of(figure, &[class.from_bytes, class.to_bytes])
            });
        }
        let classes: Vec<String> = model
            .shape
            .classes
            .iter()
            .map(|c| format!("{} to {}", c.from_bytes, c.to_bytes))
            .collect();
        self.warn(
            WarningCode::SIZE_CLASSES,
            format!(
                "{figure}: one line does not fit (a cell left out is missed by {}); {} B of {size} follow laws of their own (then {})",
                quantity.shown_error(judged.line_error),
                classes.join(", "),
                quantity.shown_error(judged.error.unwrap_or(0.0)),
            ),
            "measure sizes near the boundaries",
        );
        let (first, second) = (&model.shape.classes[0], &model.shape.classes[1]);
        let flat = first.law == Law::Constant && second.law == Law::Line;
        let crossing = (model.parameter(Role::Packet(0)) - model.parameter(Role::Packet(1)))
            / model.parameter(Role::Byte(1));
        if flat && crossing >= 0.98 * first.to_bytes && crossing <= 1.02 * second.from_bytes {
            self.warn(
                WarningCode::EQUAL_RATE,
                format!(
                    "{figure}: equal packets/s from {} to {} B, as if each were sent as {crossing:.0} B: a minimum size \
                     imposed by a tool, or a second server that takes the same time for each frame",
                    first.from_bytes, first.to_bytes
                ),
                "look at the length of the datagrams in a capture",
            );
        }
    }
}

fn class_of(figure: &str, bytes: &[f64]) -> SizeClass {
    SizeClass {
        figure: figure.to_owned(),
        from_bytes: bytes.first().copied().unwrap_or(0.0) as u32,
        to_bytes: bytes.last().copied().unwrap_or(0.0) as u32,
        packet_ns: None,
        byte_ns: None,
    }
}

/// A number of sizes, for a reader.
pub(super) fn sizes_in_words(count: usize) -> String {
    format::count(count as u64, "size")
}

fn in_words(bytes: &[f64], size: &str) -> String {
    let each: Vec<String> = bytes.iter().map(f64::to_string).collect();
    format!("{} B of {size}", each.join(" and "))
}
