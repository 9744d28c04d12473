//! `wirelab explain`: what limits a node, or the explanation of a results file.

use std::path::Path;

use wirelab_model::explain::{explain, explain_file};
use wirelab_report::format;
use wirelab_report::{Format, Options, render_explanation, render_results_explanation};

use wirelab_trial::ResultsFile;

use crate::args::{ExplainArgs, ExtentArgs};
use crate::ask;
use crate::commands::report::{read, save};
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::nodes;
use crate::terminal::{put, report_options, show_json};

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
    of_one_trial(args.output.as_deref(), trials.len())?;
    let mut all = Vec::new();
    for trial in &trials {
        all.push(explain(&file, trial).map_err(Failure::usage)?);
    }
    if args.json {
        show_json(&all)?;
    } else {
        for (at, explanation) in all.iter().enumerate() {
            let options = report_options(None, false);
            let text = render_explanation(explanation, Format::Terminal, &options)
                .map_err(Failure::usage)?;
            put!("{}{text}", if at == 0 { "" } else { "\n" });
        }
    }
    let (Some(path), [explanation]) = (&args.output, all.as_slice()) else {
        return Ok(Outcome::Done);
    };
    let (format, options) = page(path)?;
    let text = render_explanation(explanation, format, &options).map_err(Failure::usage)?;
    write(path, &text)
}

fn results(args: &ExplainArgs) -> Result {
    let beside_rate = ExtentArgs {
        rate: None,
        ..args.extent.clone()
    };
    if !args.set.is_empty() || ask::asks_something(&args.matrix, &beside_rate) {
        return Err(Failure::usage(
            "a results file holds its own trials; fix: leave out --set and the options that say what to offer; only --rate may \
             be given, for the rate of the link",
        ));
    }
    let mut file = read(Path::new(&args.node))?;
    if let Some(rate) = args.extent.rate.as_deref() {
        on_link(&mut file, ask::rate("--rate", rate)?)?;
    }
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

/// Adds the link's rate to trials that were measured without it.
fn on_link(file: &mut ResultsFile, bits_per_s: u64) -> Fallible<()> {
    for (at, observation) in file.observations.iter_mut().enumerate() {
        let trial = &mut observation.trial;
        match trial.link_bits_per_s.replace(bits_per_s) {
            Some(requested) if requested != bits_per_s => {
                return Err(Failure::usage(format!(
                    "--rate: trial {} was measured with a link of {}; fix: leave --rate out",
                    at + 1,
                    format::si(requested as f64, "bit/s")
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Refuses a page of several trials, before any of them is computed.
pub fn of_one_trial(output: Option<&Path>, trials: usize) -> Fallible<()> {
    if output.is_none() || trials == 1 {
        return Ok(());
    }
    Err(Failure::usage(
        "-o writes the page of one trial; fix: give one size, load, direction and kind of buffers",
    ))
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
    save(path, text)?;
    Ok(Outcome::Done)
}
