//! A published table against a node that is fitted to it: what the node predicts of each figure of the table.

use wirelab_trial::{Cancel, Observation, Rounding};

use crate::metric::Metric;
use crate::observe::HoldOut;
use crate::run::{NodeSource, StudyRun, run};
use crate::table::{Row, Study};

/// The rows of one node of a table, and the node that is fitted to them.
#[derive(Clone, Copy, Debug)]
pub struct FitOf<'a> {
    /// The table.
    pub study: &'a Study,
    /// The node whose rows are fitted.
    pub node: &'a str,
    /// The name of the fitted node, and its parameter for the share of frames that was lost before they reached it.
    pub fitted: (&'a str, &'a str),
    /// What is held out; the fit uses all other cells.
    pub hold_out: Option<&'a HoldOut>,
}

impl FitOf<'_> {
    /// Fits, and runs the table on the fitted node. `fit` takes observations, each with the rounding of its figures. It returns
    /// the fit, and two sources of the fitted node: without and with intervals.
    ///
    /// # Errors
    /// Why there is no fit or no run, and the fix.
    pub fn run<F, N: NodeSource>(
        &self,
        fit: impl Fn(Vec<(Observation, Rounding)>) -> Result<(F, [N; 2]), String>,
    ) -> Result<(F, StudyRun), String> {
        let trains = |row: &Row, metric| !self.hold_out.is_some_and(|h| h.holds_out(row, metric));
        let (fitted, run) = self.fit_and_run(&fit, trains, None)?;
        if self.hold_out == Some(&HoldOut::LeaveOneOut) {
            let run = self.study.leave_one_out(run, |row| {
                let others = |other: &Row, _| other.name != row.name;
                let outcome = self.fit_and_run(&fit, others, Some(row));
                outcome.ok().map(|(_, run)| run)
            });
            return Ok((fitted, run));
        }
        if self.hold_out.is_some() && !run.rows.iter().any(|figure| figure.counted) {
            return Err(
                "the hold-out matches no figure that the fitted node predicts; fix: see the rows with `wirelab study show`"
                    .to_owned(),
            );
        }
        Ok((fitted, run))
    }

    /// A fit to the training cells, and what its node predicts for the whole table, or for one row.
    fn fit_and_run<F, N: NodeSource>(
        &self,
        fit: impl Fn(Vec<(Observation, Rounding)>) -> Result<(F, [N; 2]), String>,
        trains: impl Fn(&Row, Metric) -> bool,
        only: Option<&Row>,
    ) -> Result<(F, StudyRun), String> {
        let mut table = self.study.fitted_by(self.node, self.fitted, trains);
        let (fitted, [mut quick, mut node]) = fit(table.observations())?;
        let on = |table: &Study, name, node: &mut N| {
            run(table, name, node, &(), &Cancel::new()).map_err(|error| error.to_string())
        };
        let first = on(&table, Some("the fitted file"), &mut quick)?;
        table.hold_out_predicted(&first);
        if let Some(only) = only {
            table.rows.retain(|row| row.name == only.name);
        }
        Ok((fitted, on(&table, None, &mut node)?))
    }
}
