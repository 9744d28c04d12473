//! Runs a plan on any node: keeps observations from the first on, writes reports, shows the table.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use wirelab_bench::{
    Ceiling, Ended, Plan, PlanResult, PlannedTrial, ResultsWriter, Section, Sink, Stored,
    WriteError, resume_plan,
};
use wirelab_port::host;
use wirelab_report::judge::judge;
use wirelab_report::{Format, format, render, summary_line, verdict};
use wirelab_store::{StoreError, without_password};
use wirelab_trial::host_clock::unix_ns;
use wirelab_trial::{Cancel, Node, Observation, ResultsFile, SearchOutcome, Transcript, Warning};

use super::kept::StoreRun;
use crate::args::KeepArgs;
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::terminal::{Bar, complain, put, report_options};

/// How results are shown on standard output.
#[derive(Clone, Copy)]
pub struct Show {
    pub each_flow: bool,
    pub json: bool,
}

/// The destinations of results: one results file that is written while the plan runs, and reports at its end.
pub struct Outputs {
    results: Option<PathBuf>,
    reports: Vec<PathBuf>,
    /// Whether the command can resume a results file.
    resumes: bool,
    store: Option<StoreRun>,
    /// Why results were not saved.
    unsaved: RefCell<Option<Failure>>,
}

impl Outputs {
    pub fn of(paths: &[PathBuf]) -> Fallible<Outputs> {
        let mut outputs = Outputs {
            results: None,
            reports: Vec::new(),
            resumes: false,
            store: None,
            unsaved: RefCell::default(),
        };
        for path in paths {
            match Format::of_path(path).map_err(Failure::usage)? {
                Format::Json if outputs.results.is_none() => outputs.results = Some(path.clone()),
                _ => outputs.reports.push(path.clone()),
            }
        }
        Ok(outputs)
    }

    /// Also keeps the results in the store, if requested; a store that cannot be opened ends the command before it
    /// measures.
    pub fn kept(mut self, args: &KeepArgs) -> Fallible<Outputs> {
        self.store = StoreRun::of(args)?;
        Ok(self)
    }

    /// For a command that resumes results: `path` is the file to resume, and the default file for new results.
    pub fn resumes(&mut self, path: Option<&Path>) {
        self.resumes = true;
        if self.results.is_none() {
            self.results = path.map(Path::to_owned);
        }
    }

    fn writer(&self, before: Option<ResultsFile>, stored: &Stored) -> Fallible<ResultsWriter> {
        let path = self.results.as_deref();
        if let Some(before) = before {
            return ResultsWriter::resume(path, before, stored).map_err(Failure::usage);
        }
        let command = std::env::args().map(|arg| without_password(&arg)).collect();
        ResultsWriter::create(
            path,
            host::environment(),
            command,
            env!("CARGO_PKG_VERSION"),
            unix_ns(),
        )
        .map_err(Failure::usage)
    }

    /// Runs the plan, and keeps each observation from the first on. Trials in `before` are not repeated.
    pub fn run(
        &self,
        node: &mut dyn Node,
        plan: &Plan,
        ceiling: &mut dyn Ceiling,
        bar: &Bar,
        cancel: &Cancel,
        before: Option<ResultsFile>,
    ) -> Fallible<PlanResult> {
        let command = before.as_ref().map(|file| file.command.join(" "));
        let stored = match &before {
            Some(file) => Stored::of(file, &node.describe(), &host::environment())
                .map_err(|error| no_resume(&error, command.as_deref()))?,
            None => Stored::default(),
        };
        let mut live = Live {
            writer: self.writer(before, &stored)?,
            bar,
            known: stored.observations(),
            store: self.store.as_ref(),
            cancel,
            transcript: node.transcript(),
            failed: None,
        };
        if let Some(store) = &self.store {
            let searches = |section: &Section| matches!(section, Section::Search(_));
            let planned = (!plan.sections.iter().any(searches)).then(|| plan.trials());
            store.begin(live.writer.file(), &node.describe(), planned)?;
        }
        let outcome = resume_plan(node, plan, stored, ceiling, bar, cancel, &mut live);
        bar.clear();
        live.keep_console();
        if let Ended::BadResume(error) = &outcome.ended {
            return Err(no_resume(error, command.as_deref()));
        }
        // Unsaved results are still shown.
        let (file, unsaved) = match live.writer.finish(!outcome.is_done()) {
            Ok(file) => (file, None),
            Err((error, file)) => (*file, Some(Failure::failed(error))),
        };
        let lost = live.failed.map(Failure::from);
        let lost = lost.or_else(|| self.store.as_ref()?.finish(&file).err());
        let mut first = self.unsaved.borrow_mut();
        *first = first.take().or(unsaved).or(lost);
        Ok(PlanResult { file, outcome })
    }

    /// Writes the results again, with later additions.
    pub fn save_again(&self, result: &PlanResult) -> Fallible<()> {
        if let Some(path) = &self.results {
            wirelab_bench::save(&result.file, path).map_err(Failure::failed)?;
        }
        match &self.store {
            Some(store) => store.finish(&result.file),
            None => Ok(()),
        }
    }

    /// Writes the reports, shows the table, and says how it ended.
    pub fn show(&self, result: PlanResult, plan: &Plan, show: Show) -> Result {
        if !matches!(result.outcome.ended, Ended::BadPlan(_)) {
            self.write(&result.file, plan, show)?;
        }
        self.end(result)
    }

    /// Says how it ended, where the table is shown elsewhere.
    pub fn end(&self, result: PlanResult) -> Result {
        match self.unsaved.take() {
            Some(error) => Err(error),
            None => finish(result, &self.place()),
        }
    }

    /// The text after an interrupt: where the results are, and whether they can be resumed.
    fn place(&self) -> String {
        match (&self.results, self.resumes) {
            (None, _) => String::new(),
            (Some(path), false) => format!("; the finished trials are in {}", path.display()),
            (Some(path), true) => format!(
                "; to continue, give the same command with --resume {}",
                path.display()
            ),
        }
    }

    fn write(&self, file: &ResultsFile, plan: &Plan, show: Show) -> Fallible<()> {
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
        Ok(())
    }
}

/// Keeps each observation and shows a summary on the terminal.
struct Live<'a> {
    writer: ResultsWriter,
    bar: &'a Bar,
    /// Number of observations from a file, which are not shown again.
    known: usize,
    store: Option<&'a StoreRun>,
    cancel: &'a Cancel,
    /// What goes over the node's console.
    transcript: Option<Transcript>,
    /// Why the store did not keep a trial.
    failed: Option<StoreError>,
}

impl Live<'_> {
    fn keep_console(&mut self) {
        if let Some(transcript) = &self.transcript {
            self.writer.keep_console(transcript.log());
        }
    }
}

impl Sink for Live<'_> {
    fn take(
        &mut self,
        step: &PlannedTrial,
        observation: Observation,
    ) -> std::result::Result<(), WriteError> {
        if self.writer.file().observations.len() >= self.known {
            self.bar.line(&summary_line(&observation));
        }
        self.keep_console();
        self.writer.take(step, observation)?;
        let Some(store) = self.store else {
            return Ok(());
        };
        match store.keep(self.writer.file()) {
            Ok(true) => self.cancel.cancel(),
            Ok(false) => {}
            Err(error) => {
                let source = std::io::Error::other(error.to_string());
                self.failed = Some(error);
                return Err(WriteError {
                    path: "the store".into(),
                    source,
                });
            }
        }
        Ok(())
    }

    fn begin_part(&mut self, name: &str) {
        self.writer.begin_part(name);
    }

    fn end_part(&mut self, result: std::result::Result<SearchOutcome, String>) {
        self.writer.end_part(result);
    }
}

/// Why a results file is not resumed, and the command that made it.
fn no_resume(why: &impl std::fmt::Display, command: Option<&str>) -> Failure {
    let command = command.unwrap_or_default();
    Failure::usage(format!("--resume: it was made by: {command}; {why}"))
}

fn finish(PlanResult { file, outcome }: PlanResult, kept: &str) -> Result {
    let is_unsupported = outcome.is_unsupported();
    match outcome.ended {
        Ended::BadResume(error) => return Err(Failure::usage(error)),
        Ended::BadPlan(error) => return Err(Failure::usage(error)),
        Ended::Failed(error) => return Err(error.into()),
        Ended::Unsaved(error) => return Err(Failure::failed(error)),
        Ended::Interrupted => complain(format_args!(
            "wirelab: interrupted; {} not run{kept}",
            format::count(outcome.not_run, "trial")
        )),
        Ended::Done => {}
    }
    // An unsupported request is a usage error only if there was no other request.
    if is_unsupported {
        let why = file.observations.iter().flat_map(|o| &o.warnings);
        let mut why: Vec<String> = why.map(Warning::in_words).collect();
        why.dedup();
        let why = why.join("\nwirelab: ");
        return Err(Failure::usage(why));
    }
    let passed = matches!(outcome.ended, Ended::Done) && judge(&file).passed();
    if !passed {
        complain(format_args!("wirelab: {}", verdict(&file)));
    }
    Ok(Outcome::of(passed))
}
