//! `wirelab study`: compares published tables with a node.

use std::path::{Path, PathBuf};

use wirelab_report::{Format, study as pages};
use wirelab_study::library;
use wirelab_study::run::{RunError, StudyRun, run as run_study};
use wirelab_study::table::Study;
use wirelab_trial::Cancel;

use crate::args::{StudyArgs, StudyCommand};
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::nodes::Nodes;
use crate::terminal::{Bar, cancel_on_signal, put, report_options, say};

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
            ..
        } => {
            // Formats are checked before anything runs.
            let outputs = outputs(output)?;
            let (runs, cancel) = ask(&studies(names)?, node.as_deref())?;
            answered(&runs)?;
            written(&runs, &outputs)?;
            if *json {
                say!("{}", pretty(&figures(&runs)));
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

fn list(json: bool) -> Result {
    let all = studies(&[])?;
    if json {
        let of = |s: &Study| serde_json::json!({ "name": s.name, "title": s.title, "source": s.source, "node": s.node });
        say!("{}", pretty(&all.iter().map(of).collect::<Vec<_>>()));
    } else {
        put!("{}", pages::list(&all, &report_options(None, false)));
    }
    Ok(Outcome::Done)
}

fn show(name: &str, json: bool) -> Result {
    let study = library::open(name).map_err(Failure::usage)?;
    if json {
        say!("{}", pretty(&cells(&study)));
    } else {
        put!("{}", pages::show(&study, &report_options(None, false)));
    }
    Ok(Outcome::Done)
}

/// Every published figure with its role, one object each.
fn cells(study: &Study) -> Vec<serde_json::Value> {
    let of_row = |row: &wirelab_study::table::Row| {
        let of_cell = |cell: &wirelab_study::table::Cell| {
            serde_json::json!({
                "study": study.name, "row": row.name, "metric": cell.metric.name(),
                "unit": cell.published.unit.name, "published": cell.published.number,
                "role": cell.role, "reason": cell.reason, "line": cell.line,
            })
        };
        row.cells.iter().map(of_cell).collect::<Vec<_>>()
    };
    study.rows.iter().flat_map(of_row).collect()
}

fn ask(studies: &[Study], node: Option<&str>) -> Fallible<(Vec<StudyRun>, Cancel)> {
    let (bar, cancel, mut nodes) = (Bar::new(), cancel_on_signal(), Nodes);
    let runs = studies
        .iter()
        .map(|study| {
            let run = run_study(study, node, &mut nodes, &bar, &cancel)?;
            // A user's table need not have a model.
            let model = node.and_then(|_| run_study(study, None, &mut nodes, &bar, &cancel).ok());
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

/// Refuses where no node supports any row: a table without values is not an answer.
fn answered(runs: &[StudyRun]) -> Fallible<()> {
    let refusal = |run: &StudyRun| {
        let why = run.refused.as_ref()?;
        let node = run.node.as_deref().unwrap_or("its node");
        Some(format!(
            "{}: {node} supports none of the rows: {why}",
            run.study
        ))
    };
    match runs.iter().map(refusal).collect::<Option<Vec<_>>>() {
        Some(why) if !why.is_empty() => Err(Failure::usage(why.join("\n"))),
        _ => Ok(()),
    }
}

/// All figures of all studies, one object each.
fn figures(runs: &[StudyRun]) -> Vec<&wirelab_study::figure::Figure> {
    runs.iter().flat_map(|run| &run.rows).collect()
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("plain data become JSON")
}

fn outputs(paths: &[PathBuf]) -> Fallible<Vec<(&Path, Format)>> {
    let of = |path| {
        let format = Format::of_path(path).map_err(Failure::usage)?;
        match format {
            Format::Markdown | Format::Html | Format::Json => Ok((path, format)),
            _ => Err(Failure::usage(format!(
                "-o {}: a study is written as .md, .html or .json",
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
            Format::Json => pretty(&figures(runs)),
            format => report(runs, *format)?,
        };
        std::fs::write(path, text)
            .map_err(|e| Failure::failed(format!("cannot write {}: {e}", path.display())))?;
    }
    Ok(())
}
