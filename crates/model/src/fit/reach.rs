//! How far fitted parameters and the cells that they predict may be off, as causes that a node file states.
//!
//! The covariance of a fit is a sum of independent causes, each of which moves some parameters together. One more cause
//! is the scatter of a single cell around the form, so that the intervals of predictions are those of one more cell and
//! not of the mean of many (N. Draper, H. Smith: Applied Regression Analysis, 3rd ed., 3.1).

use std::collections::BTreeMap;

use wirelab_statistics::summary::student_t;

use super::prefix::{Prefix, unit_of};
use super::shape::{Model, Role};

/// The confidence of `plus_minus` in node files.
const OF_NODE_FILES: f64 = 0.95;

/// The scatter of a cell of weight 1, and its degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reach {
    pub(super) sigma: f64,
    pub(super) freedom: usize,
}

impl Reach {
    /// From the cells' distances from the form, else from repeats; `None` without either.
    pub(super) fn of(model: &Model) -> Option<Reach> {
        Some(Reach {
            sigma: model.variance()?.sqrt(),
            freedom: model.freedom()?,
        })
    }

    /// Half of the interval of one more cell of weight 1, without the uncertainty of the parameters.
    fn at(self, confidence: f64) -> f64 {
        student_t(confidence, self.freedom) * self.sigma
    }

    /// Half width of a parameter's interval.
    pub(super) fn half_width(self, model: &Model, parameter: usize, confidence: f64) -> f64 {
        let variance = model.solution.covariance(parameter, parameter);
        self.at(confidence) * variance.sqrt()
    }

    /// How far each cause moves each parameter, in the unit of the node file. A cause has the name of the first parameter
    /// that it does not share with the causes before.
    pub(super) fn causes(self, model: &Model, prefix: &Prefix<'_>) -> Vec<BTreeMap<String, f64>> {
        let roles = model.shape.roles();
        let reach = self.at(OF_NODE_FILES);
        let scatter = format!("{}-{}-scatter", prefix.path, prefix.part);
        let of = |(i, role): (usize, &Role)| {
            let (_, scale) = unit_of(*role);
            let shared = model.solution.factor[i].iter().enumerate();
            let mut moved: BTreeMap<String, f64> = shared
                .map(|(k, by)| (prefix.name(roles[k], model), reach * by * scale))
                .collect();
            let by = match (role, model.shape.idle) {
                (Role::Idle, _) => reach,
                (_, true) => 0.0,
                (_, false) => reach * model.relative() * model.solution.values[i],
            };
            moved.insert(scatter.clone(), by * scale);
            moved.retain(|_, by| *by != 0.0);
            moved
        };
        roles.iter().enumerate().map(of).collect()
    }
}
