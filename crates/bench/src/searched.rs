//! Runs the searches of a plan, and the trials around their results.

use wirelab_trial::search::{SearchEnded, SearchResult, TrialRecord};
use wirelab_trial::{Extent, NodeError, SearchOutcome, Trial};

use crate::estimate::load_near;
use crate::matrix::PlannedTrial;
use crate::part::{PartWork, PlannedPart, Template};
use crate::progress::PartProgress;
use crate::run::{Ended, FAILURES_IN_A_ROW, Run};
use crate::search::{SearchContext, SearchError, back_to_back, find_rates, loss_curve};

impl Run<'_> {
    /// Runs a search to its end, and keeps its result or why it did not begin.
    pub(crate) fn search(&mut self, part: &PlannedPart) -> Result<(), Ended> {
        let part_ps = self.estimate.part_ps(part);
        let found = match &part.what {
            PartWork::Steps(steps) => return self.steps(steps),
            PartWork::Around(of, shares, extent) => return self.around(part, of, shares, *extent),
            PartWork::Rates(of, search) => self
                .with_context(part_ps, |context| find_rates(context, &of.trial, search))
                .map(SearchOutcome::Rates),
            PartWork::LossCurve(of, curve) => self
                .with_context(part_ps, |context| loss_curve(context, &of.trial, curve))
                .map(SearchOutcome::LossCurve),
            PartWork::Bursts(of, search) => {
                let Some(throughput) = self.throughput(&of.trial) else {
                    self.refuse("no throughput without loss was found, which bursts need");
                    return Ok(());
                };
                self.with_context(part_ps, |context| {
                    back_to_back(context, &of.trial, search, throughput)
                })
                .map(SearchOutcome::Bursts)
            }
        };
        if self.node.other.is_some() {
            return Err(Ended::Interrupted);
        }
        match found {
            Err(error) => {
                self.refuse(&error.to_string());
                Ok(())
            }
            Ok(found) => {
                let (requested_ps, trials) = spent(&found);
                let overhead_ps = self.estimate.overhead_ps.saturating_mul(trials);
                self.before_ps = self.before_ps.saturating_add(requested_ps);
                self.before_ps = self.before_ps.saturating_add(overhead_ps);
                self.keep(found)
            }
        }
    }

    fn with_context<T>(
        &mut self,
        part_ps: u64,
        with: impl FnOnce(SearchContext<'_>) -> Result<T, SearchError>,
    ) -> Result<T, SearchError> {
        let progress = PartProgress {
            outer: self.progress,
            before_ps: self.before_ps,
            after_ps: self.after_ps,
            at_most_ps: part_ps,
        };
        with(SearchContext {
            node: &mut self.node,
            ceiling: &mut self.ceiling,
            progress: &progress,
            cancel: self.cancel,
            sink: &mut *self.sink,
        })
    }

    fn refuse(&mut self, why: &str) {
        self.outcome.search_refused += 1;
        self.sink.end_part(Err(why.to_owned()));
    }

    /// Keeps the result of a search, counts how it ended, and ends the plan where it must.
    pub(crate) fn keep(&mut self, found: SearchOutcome) -> Result<(), Ended> {
        let (ended, records) = match &found {
            SearchOutcome::Rates(r) => (r.ended.clone(), &r.trials),
            SearchOutcome::LossCurve(r) => (r.ended.clone(), &r.trials),
            SearchOutcome::Bursts(r) => (r.ended.clone(), &r.trials),
        };
        let node_is_gone = node_is_gone(records);
        if let SearchOutcome::Rates(result) = &found {
            self.found.push(result.clone());
        }
        self.sink.end_part(Ok(found));
        match ended {
            SearchEnded::Interrupted => return Err(Ended::Interrupted),
            SearchEnded::Done | SearchEnded::TrialLimit | SearchEnded::TimeLimit => {
                self.outcome.searched += 1;
            }
            SearchEnded::Unsupported { .. } => self.outcome.unsupported += 1,
            SearchEnded::Failed { why } => {
                self.outcome.search_failed += 1;
                if node_is_gone {
                    return Err(Ended::Failed(NodeError::Failed(why)));
                }
            }
        }
        Ok(())
    }

    /// The last search for such trials, whatever its goals.
    fn result(&self, of: &Trial) -> Option<&SearchResult> {
        self.found.iter().rev().find(|result| result.trial == *of)
    }

    /// The rate without loss, in frames/s of each flow.
    fn throughput(&self, of: &Trial) -> Option<f64> {
        let results = self.found.iter().filter(|result| result.trial == *of);
        let mut goals = results.flat_map(|result| &result.goals);
        let lossless = goals.find(|goal| goal.goal.loss_ratio == 0.0)?;
        lossless
            .conditional_throughput_frames_per_s
            .value()
            .copied()
    }

    /// One trial at each share of the rate of the goal that allows the largest loss.
    fn around(
        &mut self,
        part: &PlannedPart,
        of: &Template,
        shares: &[f64],
        extent: Extent,
    ) -> Result<(), Ended> {
        let goals = self.result(&of.trial).map(|result| &result.goals);
        let loads = goals.into_iter().flatten().filter_map(|goal| {
            let load = goal.relevant_lower_bound_frames_per_s.value()?;
            Some((goal.goal.loss_ratio, *load))
        });
        let Some((_, found)) = loads.max_by(|a, b| a.0.total_cmp(&b.0)) else {
            self.outcome.not_run -= part.trials();
            self.refuse("no rate was found, so there are no trials around it");
            return Ok(());
        };
        let steps = shares.iter().zip(1..).map(|(share, repeat)| PlannedTrial {
            matrix: part.name.clone(),
            repeat,
            warmup_ps: 0,
            trial: Trial {
                load: load_near(found * share, of, self.estimate.link),
                extent,
                ..of.trial.clone()
            },
            sizes: of.sizes,
        });
        let steps: Vec<PlannedTrial> = steps.collect();
        self.steps(&steps)
    }
}

/// Requested trial time in ps, and number of trials.
fn spent(found: &SearchOutcome) -> (u64, u64) {
    match found {
        SearchOutcome::Rates(result) => (result.asked_ps, result.trials.len() as u64),
        SearchOutcome::LossCurve(result) => (result.asked_ps, result.trials.len() as u64),
        SearchOutcome::Bursts(result) => (result.asked_ps, result.trials.len() as u64),
    }
}

/// Whether a search failed in its warm-up, or in its last consecutive trials; pauses of the tester by its own host are
/// not the node's fault.
fn node_is_gone(records: &[TrialRecord]) -> bool {
    let gone = |r: &&TrialRecord| r.problem.is_some() && !r.tester_was_limit;
    let failed = records.iter().rev().take_while(gone);
    records.is_empty() || failed.count() as u64 >= u64::from(FAILURES_IN_A_ROW)
}
