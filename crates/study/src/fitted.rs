//! A published table against a node that is fitted to it: what the node predicts of each figure of the table.

use std::collections::BTreeMap;

use wirelab_trial::{Cancel, Node, Observation};

use crate::metric::Metric;
use crate::observe::{HoldOut, Rounding};
use crate::run::{NodeSource, StudyRun, run};
use crate::table::{Row, Study};

/// Fits nodes to observations.
pub trait Fitter {
    /// A fit.
    type Fit;

    /// The parameter of its nodes for the share of frames that was lost before they reached the node.
    const LOST_BEFORE: &'static str;

    /// Fits a node to observations, each with the rounding of its figures.
    ///
    /// # Errors
    /// What the observations lack, and the fix.
    fn fit(&self, printed: Vec<(Observation, Rounding)>) -> Result<Self::Fit, String>;

    /// The fitted node under the conditions of `set`, with or without the intervals of its figures.
    ///
    /// # Errors
    /// The condition that it cannot have.
    fn node(
        &self,
        fit: &Self::Fit,
        set: &BTreeMap<String, String>,
        intervals: bool,
    ) -> Result<Box<dyn Node>, String>;
}

/// The rows of one node of a table, and what of them is held out.
#[derive(Clone, Copy, Debug)]
pub struct FitOf<'a> {
    /// The table.
    pub study: &'a Study,
    /// The node whose rows are fitted.
    pub node: &'a str,
    /// The name of the fitted node.
    pub name: &'a str,
    /// What is held out; the fit is to all else.
    pub hold_out: Option<&'a HoldOut>,
}

/// The fitted node, whatever name a study gives it.
struct Fitted<'a, F: Fitter> {
    fitter: &'a F,
    fit: &'a F::Fit,
    intervals: bool,
}

impl<F: Fitter> NodeSource for Fitted<'_, F> {
    fn node(&mut self, _: &str, set: &BTreeMap<String, String>) -> Result<Box<dyn Node>, String> {
        self.fitter.node(self.fit, set, self.intervals)
    }
}

impl FitOf<'_> {
    /// Fits, and runs the table on the fitted node.
    ///
    /// # Errors
    /// Why there is no fit or no run, and the fix.
    pub fn run<F: Fitter>(&self, fitter: &F) -> Result<(F::Fit, StudyRun), String> {
        let trains = |row: &Row, metric| !self.hold_out.is_some_and(|h| h.holds_out(row, metric));
        let (fit, run) = self.fit_and_run(fitter, trains, None)?;
        if self.hold_out == Some(&HoldOut::LeaveOneOut) {
            let run = self.study.leave_one_out(run, |row| {
                let others = |other: &Row, _| other.name != row.name;
                let ran = self.fit_and_run(fitter, others, Some(row));
                ran.ok().map(|(_, run)| run)
            });
            return Ok((fit, run));
        }
        if self.hold_out.is_some() && !run.rows.iter().any(|figure| figure.counted) {
            return Err(
                "the hold-out matches no figure that the fitted node predicts; fix: see the rows with `wirelab study show`"
                    .to_owned(),
            );
        }
        Ok((fit, run))
    }

    /// A fit to the cells that train it, and what its node says of the whole table, or of one row.
    fn fit_and_run<F: Fitter>(
        &self,
        fitter: &F,
        trains: impl Fn(&Row, Metric) -> bool,
        only: Option<&Row>,
    ) -> Result<(F::Fit, StudyRun), String> {
        let name = (self.name, F::LOST_BEFORE);
        let mut table = self.study.fitted_by(self.node, name, trains);
        let fit = fitter.fit(table.observations())?;
        let mut node = Fitted {
            fitter,
            fit: &fit,
            intervals: false,
        };
        let on = |table: &Study, node: &mut Fitted<'_, F>, name| {
            run(table, name, node, &(), &Cancel::new()).map_err(|error| error.to_string())
        };
        let first = on(&table, &mut node, Some("the fitted file"))?;
        table.hold_out_predicted(&first);
        if let Some(only) = only {
            table.rows.retain(|row| row.name == only.name);
        }
        node.intervals = true;
        let whole = on(&table, &mut node, None)?;
        Ok((fit, whole))
    }
}
