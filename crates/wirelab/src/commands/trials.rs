//! A plan run on any node: observations kept from the first on, reports written, the table shown.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use wirelab_bench::{
    Ceiling, Ended, Plan, PlanOutcome, ResultsWriter, Sink, Step, WriteError, run_plan,
};
use wirelab_port::host;
use wirelab_report::{Format, render, summary_line, verdict};
use wirelab_trial::{Cancel, Node, Observation, ResultsFile};

use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{Bar, complain, put, report_options};

type Asked<T> = std::result::Result<T, Failure>;

/// What came of a plan.
pub struct Ran {
    /// The results.
    pub file: ResultsFile,
    outcome: PlanOutcome,
    unsaved: Option<WriteError>,
}

/// How results are shown on standard output.
#[derive(Clone, Copy)]
pub struct Show {
    pub each_flow: bool,
    pub json: bool,
}

/// Where results go: one results file that is written while the plan runs, and reports at its end.
pub struct Outputs {
    results: Option<PathBuf>,
    reports: Vec<PathBuf>,
}

impl Outputs {
    pub fn of(paths: &[PathBuf]) -> Asked<Outputs> {
        let mut outputs = Outputs {
            results: None,
            reports: Vec::new(),
        };
        for path in paths {
            match Format::of_path(path).map_err(Failure::usage)? {
                Format::Json if outputs.results.is_none() => outputs.results = Some(path.clone()),
                _ => outputs.reports.push(path.clone()),
            }
        }
        Ok(outputs)
    }

    fn writer(&self) -> Asked<ResultsWriter> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_nanos() as u64);
        let command = std::env::args().collect();
        ResultsWriter::create(
            self.results.as_deref(),
            host::environment(),
            command,
            env!("CARGO_PKG_VERSION"),
            now,
        )
        .map_err(Failure::usage)
    }

    /// Run the plan, and keep each observation from the first on.
    pub fn run(
        &self,
        node: &mut dyn Node,
        plan: &Plan,
        ceiling: &mut dyn Ceiling,
        bar: &Bar,
        cancel: &Cancel,
    ) -> Asked<Ran> {
        let mut live = Live {
            writer: self.writer()?,
            bar,
        };
        let outcome = run_plan(node, plan, ceiling, bar, cancel, &mut live);
        bar.clear();
        // What could not be saved is still shown.
        let (file, unsaved) = match live.writer.finish(!outcome.is_done()) {
            Ok(file) => (file, None),
            Err((error, file)) => (*file, Some(error)),
        };
        Ok(Ran {
            file,
            outcome,
            unsaved,
        })
    }

    /// Write the reports, show the table, and say how it ended.
    pub fn show(&self, ran: Ran, plan: &Plan, show: Show) -> Result {
        if !matches!(ran.outcome.ended, Ended::BadPlan(_)) {
            self.write(&ran.file, plan, show)?;
        }
        match ran.unsaved {
            Some(error) => Err(Failure::failed(error)),
            None => finish(&ran.file, ran.outcome),
        }
    }

    fn write(&self, file: &ResultsFile, plan: &Plan, show: Show) -> Asked<()> {
        let options = report_options(plan.title.clone(), show.each_flow);
        for path in &self.reports {
            super::report::write(file, path, &options)?;
        }
        let format = if show.json {
            Format::Json
        } else {
            Format::Terminal
        };
        put!("{}", render(file, format, &options));
        if !show.json {
            super::repeats::print(&file.observations);
        }
        Ok(())
    }
}

/// Keeps each observation and tells a person at the terminal what came of it.
struct Live<'a> {
    writer: ResultsWriter,
    bar: &'a Bar,
}

impl Sink for Live<'_> {
    fn take(
        &mut self,
        step: &Step,
        observation: Observation,
    ) -> std::result::Result<(), WriteError> {
        self.bar.line(&summary_line(&observation));
        self.writer.take(step, observation)
    }
}

fn finish(file: &ResultsFile, outcome: PlanOutcome) -> Result {
    match outcome.ended {
        Ended::BadPlan(error) => return Err(Failure::usage(error)),
        Ended::Failed(error) => return Err(error.into()),
        Ended::Unsaved(error) => return Err(Failure::failed(error)),
        Ended::Interrupted => complain(format_args!(
            "wirelab: interrupted; {} trials were not run",
            outcome.not_run
        )),
        Ended::Done => {}
    }
    let passed = matches!(outcome.ended, Ended::Done) && file.observations.iter().all(passed);
    if !passed {
        complain(format_args!("wirelab: {}", verdict(file)));
    }
    // What was asked and is not there is bad usage only if nothing else was asked.
    if outcome.unsupported > 0 && outcome.complete + outcome.partial + outcome.void == 0 {
        let why = file
            .observations
            .iter()
            .flat_map(|o| &o.warnings)
            .map(|w| w.text.clone());
        return Err(Failure::usage(why.collect::<Vec<_>>().join("; ")));
    }
    Ok(Outcome::of(passed))
}

/// Faults that were asked for must be found, exactly; without any the flows must be clean.
fn passed(observation: &Observation) -> bool {
    if observation.trial.faults.is_clean() {
        return observation.passed();
    }
    observation.status == wirelab_trial::Status::Complete
        && observation
            .flows
            .iter()
            .all(|flow| match (flow.sender.value(), flow.counts.value()) {
                (Some(sender), Some(counts)) => sender
                    .ledger
                    .as_ref()
                    .is_some_and(|ledger| ledger.differences(counts).is_empty()),
                _ => false,
            })
}
