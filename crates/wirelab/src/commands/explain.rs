//! `wirelab explain`: what limits a node, or the explanation of a results file.

use std::path::Path;

use wirelab_model::explain::{explain, explain_file, on_link};
use wirelab_report::{
    Format, NoExplanation, Options, render_explanation, render_results_explanation,
};

use crate::args::{ExplainArgs, ExtentArgs};
use crate::ask;
use crate::commands::report::{on_paper, read, save};
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::nodes;
use crate::terminal::{put, report_options};

pub fn run(args: &ExplainArgs) -> Result {
    // An unwritable page is refused before any computation.
    let output = Answers::to(args.output.as_deref(), args.json)?;
    if Path::new(&args.node)
        .extension()
        .is_some_and(|e| e == "json")
    {
        return output.write(&[explain_file(&results(args)?)], render_results_explanation);
    }
    let file = nodes::model(&args.node, &args.set)?;
    let trials = ask::model_trials(&file, &args.matrix, &args.extent)?;
    output.of_trials(trials.len())?;
    let all = trials.iter().map(|trial| explain(&file, trial));
    let all = all.collect::<std::result::Result<Vec<_>, _>>();
    output.write(&all.map_err(Failure::usage)?, render_explanation)
}

/// The results file to explain; its trials may have been measured without the rate of the link.
fn results(args: &ExplainArgs) -> Fallible<wirelab_trial::ResultsFile> {
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
        on_link(&mut file, ask::rate("--rate", rate)?)
            .map_err(|why| Failure::usage(format!("--rate: {why}")))?;
    }
    Ok(file)
}

/// Where the answers to trials go: one after another to standard output, and the only one to a page.
pub struct Answers<'a> {
    page: Option<(&'a Path, Format)>,
    json: bool,
}

impl<'a> Answers<'a> {
    pub fn to(page: Option<&'a Path>, json: bool) -> Fallible<Answers<'a>> {
        let format = page.map(Format::of_path).transpose();
        Ok(Answers {
            page: page.zip(format.map_err(Failure::usage)?),
            json,
        })
    }

    /// Refuses a page of several trials, before any of them is computed.
    pub fn of_trials(&self, trials: usize) -> Fallible<()> {
        if self.page.is_none() || trials == 1 {
            return Ok(());
        }
        Err(Failure::usage(
            "-o writes the page of one trial; fix: give one size, load, direction and kind of buffers",
        ))
    }

    pub fn write<T>(
        &self,
        all: &[T],
        render: impl Fn(&T, Format, &Options) -> std::result::Result<String, NoExplanation>,
    ) -> Result {
        let options = report_options(None, false);
        let format = match self.json {
            true => Format::Json,
            false => Format::Terminal,
        };
        for (at, answer) in all.iter().enumerate() {
            let text = render(answer, format, &options).map_err(Failure::usage)?;
            put!("{}{text}", if at == 0 || self.json { "" } else { "\n" });
        }
        if let (Some((path, format)), [answer]) = (self.page, all) {
            let text = render(answer, format, &on_paper(&options)).map_err(Failure::usage)?;
            save(path, &text)?;
        }
        Ok(Outcome::Done)
    }
}
