//! Runs the trials of a search: within its limits, each judged, kept and summarized in a record.

use wirelab_trial::search::{SearchEnded, TrialRecord};
use wirelab_trial::{
    Cancel, Description, Extent, Field, Kind, Load, Node, NodeError, Observation, Progress, Sizes,
    Trial,
};
use wirelab_wire::LineRate;

use super::reading::{TrialReading, reading};
use crate::ceiling::{CachedCeiling, Ceiling};
use crate::listed::void;
use crate::matrix::PlannedTrial;
use crate::progress::StepProgress;
use crate::run::{FAILURES_IN_A_ROW, Sink};

/// Most trials of one search.
pub const MAX_SEARCH_TRIALS: u64 = 100_000;

/// The node, the observers and the limits of a search.
pub struct SearchContext<'a> {
    /// The node.
    pub node: &'a mut dyn Node,
    /// The tester's rate against itself.
    pub ceiling: &'a mut dyn Ceiling,
    /// Gets milliseconds of trial time: done, and at most.
    pub progress: &'a dyn Progress,
    /// Ends the search early; its results so far are kept.
    pub cancel: &'a Cancel,
    /// Gets every observation except warm-ups.
    pub sink: &'a mut dyn Sink,
}

/// A running search.
pub(super) struct Asker<'a> {
    node: &'a mut dyn Node,
    ceiling: CachedCeiling<'a>,
    progress: &'a dyn Progress,
    cancel: &'a Cancel,
    sink: &'a mut dyn Sink,
    template: Trial,
    name: &'static str,
    pub sizes: Sizes,
    pub description: Description,
    pub link: Option<LineRate>,
    pub records: Vec<TrialRecord>,
    pub requested_ps: u64,
    /// Common kind of all figures so far; measured figures are not mixed with others.
    pub kind: Option<Kind>,
    /// Longest time of the search, for its progress; never above `max_time_ps`.
    pub at_most_ps: u64,
    max_trials: u64,
    max_time_ps: u64,
    failures: u32,
}

impl<'a> Asker<'a> {
    pub fn new(
        context: SearchContext<'a>,
        name: &'static str,
        template: &Trial,
        sizes: Sizes,
        limits: (u64, u64),
    ) -> Asker<'a> {
        let description = context.node.describe();
        let carrier = description.capabilities.link_bits_per_s;
        Asker {
            node: context.node,
            ceiling: CachedCeiling::new(context.ceiling),
            progress: context.progress,
            cancel: context.cancel,
            sink: context.sink,
            template: template.clone(),
            name,
            sizes,
            link: template.link().or(carrier.and_then(LineRate::new)),
            description,
            records: Vec::new(),
            requested_ps: 0,
            kind: None,
            at_most_ps: limits.1,
            max_trials: limits.0,
            max_time_ps: limits.1,
            failures: 0,
        }
    }

    /// Frames/s of each flow that the tester reaches against itself.
    pub fn tester_ceiling(&mut self) -> Field<f64> {
        self.progress.report(
            0,
            self.at_most_ps / 1_000_000_000,
            "the tester's own ceiling",
        );
        self.ceiling
            .bound_of(&self.template, self.sizes)
            .frames_per_s
    }

    /// Runs a trial and drops its observation.
    pub fn warm_up(&mut self, load: Load, time_ps: u64) -> Result<(), SearchEnded> {
        let trial = self.trial(load, Extent::Time { time_ps });
        self.charge(time_ps)?;
        let Err(error) = self.node.warm_up(&trial, self.cancel) else {
            return Ok(());
        };
        self.declined(&trial, &error)?;
        Err(SearchEnded::Failed {
            why: format!("in the warm-up: {error}"),
        })
    }

    /// Runs one trial until it has a result. A trial without one is repeated, and the search ends after
    /// [`FAILURES_IN_A_ROW`] of them.
    pub fn ask(
        &mut self,
        load: Load,
        extent: Extent,
        trial_ps: u64,
    ) -> Result<TrialReading, SearchEnded> {
        loop {
            if self.records.len() as u64 >= self.max_trials {
                return Err(SearchEnded::TrialLimit);
            }
            self.charge(trial_ps)?;
            match self.once(load, extent, trial_ps)? {
                Ok(reading) => {
                    self.failures = 0;
                    return self.of_one_kind(reading);
                }
                Err(why) => {
                    if self.cancel.is_cancelled() {
                        return Err(SearchEnded::Interrupted);
                    }
                    self.failures += 1;
                    if self.failures >= FAILURES_IN_A_ROW {
                        return Err(SearchEnded::Failed { why });
                    }
                }
            }
        }
    }

    /// Why the last trial did not succeed, where the tester's own host paused it.
    pub fn held_up(&self) -> Option<&str> {
        let last = self.records.last().filter(|r| r.tester_was_limit)?;
        last.problem.as_deref()
    }

    fn trial(&self, load: Load, extent: Extent) -> Trial {
        Trial {
            load,
            extent,
            ..self.template.clone()
        }
    }

    fn charge(&mut self, trial_ps: u64) -> Result<(), SearchEnded> {
        if self.cancel.is_cancelled() {
            return Err(SearchEnded::Interrupted);
        }
        let after_ps = self.requested_ps.saturating_add(trial_ps);
        if after_ps > self.max_time_ps {
            return Err(SearchEnded::TimeLimit);
        }
        self.requested_ps = after_ps;
        Ok(())
    }

    /// Runs one trial and returns its record; the inner error says why it has no result.
    fn once(
        &mut self,
        load: Load,
        extent: Extent,
        trial_ps: u64,
    ) -> Result<Result<TrialReading, String>, SearchEnded> {
        let trial = self.trial(load, extent);
        let number = self.records.len() as u64 + 1;
        let label = format!("{} trial {number}, load {load}", self.name);
        let before_ps = self.requested_ps - trial_ps;
        let total_ps = self.at_most_ps.max(self.requested_ps);
        let progress = StepProgress::new(self.progress, before_ps, trial_ps, total_ps, label);
        progress.report(0, 1, "");
        let layer = trial.framing.layer;
        let requested = match load.frames_per_s(&self.sizes, layer, self.link) {
            Ok(rate) => rate,
            Err(error) => {
                return Err(SearchEnded::Failed {
                    why: error.to_string(),
                });
            }
        };
        let mut observation = match self.node.run(&trial, &progress, self.cancel) {
            Ok(observation) => observation,
            Err(NodeError::Failed(why)) => {
                self.records.push(record_without(requested, trial_ps, &why));
                return Ok(Err(why));
            }
            Err(error) => {
                self.declined(&trial, &error)?;
                return Err(SearchEnded::Failed {
                    why: error.to_string(),
                });
            }
        };
        self.ceiling.judge(&mut observation);
        let reading = reading(&observation, requested);
        self.records.push(match &reading {
            Ok(reading) => record(&observation, requested, trial_ps, reading),
            Err(why) => TrialRecord {
                tester_was_limit: observation.is_void_by_tester(),
                ..record_without(requested, trial_ps, why)
            },
        });
        let step = PlannedTrial {
            matrix: self.name.to_owned(),
            repeat: u32::try_from(number).unwrap_or(u32::MAX),
            warmup_ps: 0,
            trial,
            sizes: self.sizes,
        };
        let kept = self.sink.take(&step, observation);
        kept.map_err(|error| SearchEnded::Failed {
            why: error.to_string(),
        })?;
        Ok(reading)
    }

    /// If the node cannot do such a trial, or the tester lacks the privilege, keeps the reason as its observation and
    /// ends the search.
    fn declined(&mut self, trial: &Trial, error: &NodeError) -> Result<(), SearchEnded> {
        if !matches!(error, NodeError::Unsupported(_) | NodeError::Privilege(_)) {
            return Ok(());
        }
        let observation = void(trial, self.sizes, self.description.clone(), error);
        let step = PlannedTrial::of(self.name, self.records.len(), &observation);
        let why = error.to_string();
        Err(match self.sink.take(&step, observation) {
            Ok(()) => SearchEnded::Unsupported { why },
            Err(error) => SearchEnded::Failed {
                why: error.to_string(),
            },
        })
    }

    fn of_one_kind(&mut self, reading: TrialReading) -> Result<TrialReading, SearchEnded> {
        let so_far = self.kind;
        self.kind = self.kind.unwrap_or(reading.kind).joined(reading.kind);
        if self.kind.is_some() {
            return Ok(reading);
        }
        Err(SearchEnded::Failed {
            why: format!(
                "some trials are {} and some {}, which are not comparable: search with a node that gives only one of them",
                so_far.unwrap_or(reading.kind),
                reading.kind
            ),
        })
    }
}

fn record(
    observation: &Observation,
    load: Option<f64>,
    trial_ps: u64,
    reading: &TrialReading,
) -> TrialRecord {
    let kind = reading.kind;
    let flows = || observation.flows.iter();
    let sent: Option<u64> = flows().map(|f| f.sent_frames.value().copied()).sum();
    let slowest = reading.arrived_frames_per_s;
    let absent = || Field::absent("not every flow has it");
    TrialRecord {
        load_frames_per_s: load,
        trial_ps,
        sent_frames: sent.map_or_else(
            || Field::absent("not every flow has it"),
            |value| Field::Observed { value, kind },
        ),
        loss_ratio: Field::Observed {
            value: reading.loss_of_sent.ratio,
            kind,
        },
        forwarding_frames_per_s: slowest
            .map_or_else(absent, |value| Field::Observed { value, kind }),
        tester_was_limit: reading.tester_was_limit || reading.loss.is_in_doubt(),
        held_back: reading.held_back,
        problem: None,
    }
}

fn record_without(load: Option<f64>, trial_ps: u64, why: &str) -> TrialRecord {
    TrialRecord {
        load_frames_per_s: load,
        trial_ps,
        sent_frames: Field::absent("the trial gave no figure"),
        loss_ratio: Field::absent("the trial gave no figure"),
        forwarding_frames_per_s: Field::absent("the trial gave no figure"),
        tester_was_limit: false,
        held_back: false,
        problem: Some(why.to_owned()),
    }
}
