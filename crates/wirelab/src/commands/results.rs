//! `wirelab results`: the runs of the store.

use std::path::{Path, PathBuf};

use wirelab_report::document::Block;
use wirelab_report::{Format, format, refuse_mixed, render};
use wirelab_store::{Location, PREFIX, Run, Selection, Store, StoreError, page};
use wirelab_trial::ResultsFile;

use super::report;
use crate::args::{ResultsArgs, ResultsCommand};
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::terminal::{put, report_options, say, show, show_document, show_json};

pub fn run(args: &ResultsArgs) -> Result {
    match &args.command {
        ResultsCommand::List {
            at,
            node,
            tag,
            since,
            until,
            limit,
            json,
        } => {
            let selection = Selection {
                node: node.clone(),
                tag: tag.clone(),
                // One more shows whether there are more.
                last: Some(limit.saturating_add(1)),
                ..Selection::default()
            };
            let selection = selection.within(since.as_deref(), until.as_deref())?;
            let runs = open(at.store.as_deref())?.list(&selection)?;
            list(runs, *limit, *json)
        }
        ResultsCommand::Show {
            selection,
            at,
            output,
            each_flow,
            json,
        } => {
            let (_, file) = chosen(selection, at.store.as_deref())?;
            shown(&file, output, *each_flow, *json)
        }
        ResultsCommand::Tag {
            selection,
            tags,
            remove,
            at,
        } => {
            let mut store = open(at.store.as_deref())?;
            let runs = ids(&mut store, selection)?;
            for tag in tags {
                match remove {
                    true => store.untag(&runs, tag)?,
                    false => store.tag(&runs, tag)?,
                }
            }
            Ok(Outcome::Done)
        }
        ResultsCommand::Stop { selection, at } => {
            let mut store = open(at.store.as_deref())?;
            let runs = ids(&mut store, selection)?;
            store.stop(&runs)?;
            Ok(Outcome::Done)
        }
        ResultsCommand::Delete { selection, at } => {
            let mut store = open(at.store.as_deref())?;
            let runs = ids(&mut store, selection)?;
            store.delete(&runs)?;
            say!("{} deleted", format::count(runs.len() as u64, "run"));
            Ok(Outcome::Done)
        }
        ResultsCommand::Export {
            selection,
            at,
            output,
        } => export(selection, at.store.as_deref(), output),
        ResultsCommand::Import { files, tag, at } => import(files, tag, at.store.as_deref()),
    }
}

/// The store that a command line names.
pub fn location(store: Option<&str>) -> Fallible<Location> {
    Ok(match store.filter(|text| !text.is_empty()) {
        Some(text) => text.parse()?,
        None => Location::default_of_user()?,
    })
}

fn open(store: Option<&str>) -> Fallible<Store> {
    Ok(Store::open_existing(&location(store)?)?)
}

fn ids(store: &mut Store, selection: &str) -> Fallible<Vec<i64>> {
    let runs = store.chosen(&selection.parse()?)?;
    Ok(runs.iter().map(|run| run.id).collect())
}

/// A results file, or the runs of a selection joined, and its name.
pub fn read(text: &Path, store: Option<&str>) -> Fallible<(String, ResultsFile)> {
    match text.to_str().and_then(|text| text.strip_prefix(PREFIX)) {
        Some(selection) => chosen(selection, store),
        None => Ok((report::name(text), report::read(text)?)),
    }
}

fn chosen(selection: &str, store: Option<&str>) -> Fallible<(String, ResultsFile)> {
    let mut store = open(store)?;
    let ids = ids(&mut store, selection)?;
    let load = |id: i64| Ok((format!("run {id}"), store.load(id)?));
    let files = ids.iter().copied().map(load);
    let files = files.collect::<std::result::Result<Vec<_>, StoreError>>()?;
    refuse_mixed(&files).map_err(Failure::usage)?;
    let name = match &ids[..] {
        [one] => format!("run {one}"),
        some => {
            let ids: Vec<String> = some.iter().map(ToString::to_string).collect();
            format!("runs {}", ids.join(", "))
        }
    };
    Ok((name, report::joined(files)))
}

fn list(mut runs: Vec<Run>, limit: u32, json: bool) -> Result {
    let more = runs.len() > limit as usize;
    runs.truncate(limit as usize);
    if json {
        show_json(&runs)?;
        return Ok(Outcome::Done);
    }
    show_document(&page(&runs, more.then_some(limit)));
    Ok(Outcome::Done)
}

fn shown(file: &ResultsFile, output: &[PathBuf], each_flow: bool, json: bool) -> Result {
    let options = report_options(None, each_flow);
    for path in output {
        report::write(file, path, &options)?;
    }
    if json {
        put!("{}", file.to_json());
    } else if output.is_empty() {
        put!("{}", render(file, Format::Terminal, &options));
    }
    Ok(Outcome::Done)
}

fn export(selection: &str, store: Option<&str>, output: &[PathBuf]) -> Result {
    let known = |path: &&PathBuf| !matches!(extension(path), "json" | "parquet");
    if let Some(path) = output.iter().find(known) {
        return Err(Failure::usage(format!(
            "-o {}: runs are exported as .json or .parquet; fix: 'wirelab results show -o FILE' writes reports",
            path.display()
        )));
    }
    for path in output {
        if extension(path) == "json" {
            let (_, file) = chosen(selection, store)?;
            wirelab_bench::save(&file, path).map_err(Failure::failed)?;
            continue;
        }
        let mut store = open(store)?;
        let runs = store.chosen(&selection.parse()?)?;
        report::save(path, &store.parquet(&runs)?)?;
    }
    Ok(Outcome::Done)
}

fn extension(path: &Path) -> &str {
    path.extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default()
}

fn import(files: &[PathBuf], tags: &[String], store: Option<&str>) -> Result {
    let mut store = Store::open(&location(store)?)?;
    let mut rows = Vec::new();
    let imported = files.iter().try_for_each(|path| {
        let file = report::read(path)?;
        let (run, how) = match store.import(&file)? {
            Ok(run) => (run, "new"),
            Err(run) => (run, "already in the store"),
        };
        rows.push(vec![
            path.display().to_string(),
            run.to_string(),
            how.to_owned(),
        ]);
        for tag in tags {
            store.tag(&[run], tag)?;
        }
        Ok(())
    });
    // Files before a wrong one are in the store.
    if !rows.is_empty() {
        let heads = vec![("file", false), ("run", true), ("", false)];
        show(String::new(), vec![Block::sentences(heads, rows)]);
    }
    imported.map(|()| Outcome::Done)
}
