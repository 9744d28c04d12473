//! `wirelab explain`: what limits a node, or the explanation of a results file.

use std::path::Path;

use wirelab_model::explain::{explain, explain_file};
use wirelab_report::{Format, Options, render_explanation, render_results_explanation};

use crate::args::ExplainArgs;
use crate::ask;
use crate::commands::report::read;
use crate::exit::{Failure, Outcome, Result};
use crate::nodes;
use crate::terminal::{put, report_options, say};

pub fn run(args: &ExplainArgs) -> Result {
    // An unwritable page is refused before any computation.
    args.output.as_deref().map(page).transpose()?;
    if Path::new(&args.node)
        .extension()
        .is_some_and(|e| e == "json")
    {
        return results(args);
    }
    let file = nodes::model(&args.node, &args.set)?;
    let trials = ask::model_trials(&file, &args.matrix, &args.extent)?;
    let mut all = Vec::new();
    for trial in &trials {
        all.push(explain(&file, trial).map_err(Failure::usage)?);
    }
    if args.json {
        let text = serde_json::to_string_pretty(&all).expect("plain data become JSON");
        say!("{text}");
    } else {
        for (at, explanation) in all.iter().enumerate() {
            let options = report_options(None, false);
            let text = render_explanation(explanation, Format::Terminal, &options)
                .map_err(Failure::usage)?;
            put!("{}{text}", if at == 0 { "" } else { "\n" });
        }
    }
    let Some(path) = &args.output else {
        return Ok(Outcome::Done);
    };
    let [explanation] = all.as_slice() else {
        return Err(Failure::usage(
            "-o writes the page of one trial: give one size, load, direction and kind of buffers",
        ));
    };
    let (format, options) = page(path)?;
    let text = render_explanation(explanation, format, &options).map_err(Failure::usage)?;
    write(path, &text)
}

fn results(args: &ExplainArgs) -> Result {
    if !args.set.is_empty() || ask::asks_something(&args.matrix, &args.extent) {
        return Err(Failure::usage(
            "a results file holds its own trials: leave out --set and the options that say what to offer",
        ));
    }
    let file = read(Path::new(&args.node))?;
    let explanation = explain_file(&file);
    let options = report_options(None, false);
    let format = if args.json {
        Format::Json
    } else {
        Format::Terminal
    };
    let text =
        render_results_explanation(&explanation, format, &options).map_err(Failure::usage)?;
    put!("{text}");
    let Some(path) = &args.output else {
        return Ok(Outcome::Done);
    };
    let (format, options) = page(path)?;
    let text =
        render_results_explanation(&explanation, format, &options).map_err(Failure::usage)?;
    write(path, &text)
}

/// The format of a page, without the colours of a terminal.
pub fn page(path: &Path) -> std::result::Result<(Format, Options), Failure> {
    let format = Format::of_path(path).map_err(Failure::usage)?;
    let options = Options {
        colour: false,
        width: None,
        ..report_options(None, false)
    };
    Ok((format, options))
}

pub fn write(path: &Path, text: &str) -> Result {
    std::fs::write(path, text).map_err(|e| {
        Failure::failed(format!(
            "{} cannot be written: {e}; free the space or name another file with -o",
            path.display()
        ))
    })?;
    Ok(Outcome::Done)
}
