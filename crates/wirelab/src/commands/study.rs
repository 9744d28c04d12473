//! `wirelab study`: compares published tables with a node.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use wirelab_report::{Format, study as pages};
use wirelab_study::figure::published;
use wirelab_study::library;
use wirelab_study::run::{NodeSource, RunError, StudyRun, run as run_study};
use wirelab_study::table::Study;
use wirelab_trial::host_clock::unix_ns;
use wirelab_trial::{Cancel, Node, Observation, Part, ResultsFile};

use super::kept::{self, StoreRun};
use super::report::save;
use crate::args::{KeepArgs, StudyArgs, StudyCommand};
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::nodes::Nodes;
use crate::terminal::{Bar, cancel_on_signal, json_text, put, report_options, show_json};

pub fn run(args: &StudyArgs) -> Result {
    match &args.command {
        StudyCommand::List { json } => list(*json),
        StudyCommand::Show { study, json } => show(study, *json),
        StudyCommand::Import(args) => super::import::run(args),
        StudyCommand::Run {
            studies: names,
            node,
            output,
            json,
            keep,
            ..
        } => {
            // Formats are checked before anything runs.
            let outputs = outputs(output)?;
            let mut source = Source::of(keep)?;
            let (runs, cancel) = ask(&studies(names)?, node.as_deref(), &mut source)?;
            source.finish(cancel.is_cancelled())?;
            // A table without values is not an answer.
            if let Some(why) = StudyRun::refusal(&runs) {
                return Err(Failure::usage(why));
            }
            written(&runs, &outputs)?;
            if *json {
                show_json(&figures(&runs))?;
            } else {
                put!("{}", report(&runs, Format::Terminal)?);
            }
            let holds = figures(&runs).iter().all(|figure| !figure.fails());
            Ok(Outcome::of(holds && !cancel.is_cancelled()))
        }
    }
}

/// The studies with these names or files, by default all built-in ones.
pub fn studies(names: &[String]) -> Fallible<Vec<Study>> {
    let names: Vec<String> = match names {
        [] => library::names().map(str::to_owned).collect(),
        some => some.to_vec(),
    };
    names
        .iter()
        .map(|name| library::open(name).map_err(Failure::usage))
        .collect()
}

/// A study, as `study list --json` prints it.
#[derive(Serialize)]
struct StudyEntry {
    name: String,
    title: String,
    source: String,
    node: String,
}

fn list(json: bool) -> Result {
    let all = studies(&[])?;
    if json {
        let of = |study: &Study| StudyEntry {
            name: study.name.clone(),
            title: study.title.clone(),
            source: study.source.clone(),
            node: study.node.clone(),
        };
        show_json(&all.iter().map(of).collect::<Vec<_>>())?;
    } else {
        put!("{}", pages::list(&all, &report_options(None, false)));
    }
    Ok(Outcome::Done)
}

fn show(name: &str, json: bool) -> Result {
    let study = library::open(name).map_err(Failure::usage)?;
    if json {
        show_json(&published(&study).collect::<Vec<_>>())?;
    } else {
        put!("{}", pages::show(&study, &report_options(None, false)));
    }
    Ok(Outcome::Done)
}

/// The nodes of the command line, and the store that keeps what is observed of them.
struct Source {
    store: Option<StoreRun>,
    /// A part for each study.
    file: ResultsFile,
    failed: Option<Failure>,
}

impl Source {
    fn of(args: &KeepArgs) -> Fallible<Source> {
        Ok(Source {
            store: StoreRun::of(args)?,
            file: kept::results(unix_ns(), Vec::new(), Vec::new(), false),
            failed: None,
        })
    }

    fn finish(mut self, interrupted: bool) -> Fallible<()> {
        self.file.interrupted = interrupted;
        match (self.failed, &self.store) {
            (Some(error), _) => Err(error),
            (None, Some(store)) => store.finish(&self.file),
            (None, None) => Ok(()),
        }
    }

    /// Whether the store received a request to end the run.
    fn keep(&mut self, study: &str, observation: &Observation) -> Fallible<bool> {
        let Some(store) = &self.store else {
            return Ok(false);
        };
        if self.file.observations.is_empty() {
            store.begin(&self.file, &observation.node, None)?;
        }
        if self.file.parts.last().is_none_or(|part| part.name != study) {
            self.file.parts.push(Part {
                name: study.to_owned(),
                first: self.file.observations.len() as u64,
                observations: 0,
                found: None,
                refused: None,
            });
        }
        if let Some(part) = self.file.parts.last_mut() {
            part.observations += 1;
        }
        self.file.observations.push(observation.clone());
        Ok(store.keep(&self.file)?)
    }
}

impl NodeSource for Source {
    fn node(
        &mut self,
        name: &str,
        set: &BTreeMap<String, String>,
    ) -> std::result::Result<Box<dyn Node>, String> {
        Nodes.node(name, set)
    }

    fn observed(&mut self, study: &str, observation: &Observation) -> bool {
        self.keep(study, observation).unwrap_or_else(|error| {
            self.failed = Some(error);
            true
        })
    }
}

fn ask(
    studies: &[Study],
    node: Option<&str>,
    nodes: &mut Source,
) -> Fallible<(Vec<StudyRun>, Cancel)> {
    let (bar, cancel) = (Bar::new(), cancel_on_signal());
    let runs = studies
        .iter()
        .map(|study| {
            let run = run_study(study, node, nodes, &bar, &cancel)?;
            // A user's table need not have a model.
            let model = node.and_then(|_| run_study(study, None, &mut Nodes, &bar, &cancel).ok());
            Ok(match model {
                Some(model) => run.beside(&model),
                None => run,
            })
        })
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|error| match error {
            RunError::Privilege(_) => Failure::Privilege(error.to_string()),
            RunError::Node { .. } | RunError::NoNode { .. } | RunError::Emulated { .. } => {
                Failure::usage(error)
            }
        })?;
    bar.clear();
    Ok((runs, cancel))
}

/// All figures of all studies, one object each.
fn figures(runs: &[StudyRun]) -> Vec<&wirelab_study::figure::Figure> {
    runs.iter().flat_map(|run| &run.rows).collect()
}

fn outputs(paths: &[PathBuf]) -> Fallible<Vec<(&Path, Format)>> {
    let of = |path| {
        let format = Format::of_path(path).map_err(Failure::usage)?;
        match format {
            Format::Markdown | Format::Html | Format::Json => Ok((path, format)),
            _ => Err(Failure::usage(format!(
                "-o {}: a study has no such format; fix: name a file with .md, .html or .json",
                path.display()
            ))),
        }
    };
    paths.iter().map(|path| of(path.as_path())).collect()
}

fn report(runs: &[StudyRun], format: Format) -> Fallible<String> {
    let options = report_options(None, false);
    pages::render(runs, format, &options).map_err(Failure::usage)
}

fn written(runs: &[StudyRun], outputs: &[(&Path, Format)]) -> Fallible<()> {
    for (path, format) in outputs {
        let text = match format {
            Format::Json => json_text(&figures(runs))?,
            format => report(runs, *format)?,
        };
        save(path, &text)?;
    }
    Ok(())
}
