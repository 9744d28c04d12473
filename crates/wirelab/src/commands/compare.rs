//! `wirelab compare`: two results files, figure by figure, and the gate on them.

use wirelab_report::compare::{Comparison, FailIf, Rules, answer, compare, render, share};
use wirelab_report::{Format, format};

use super::report::{on_paper, save};
use super::results::read;
use crate::args::CompareArgs;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{complain, put, report_options};

pub fn run(args: &CompareArgs) -> Result {
    let margin = share(&args.margin).ok_or_else(|| {
        Failure::usage(format!(
            "--margin: invalid share '{}'; fix: write a percentage, e.g. 2%",
            args.margin
        ))
    })?;
    let store = args.at.store.as_deref();
    let (first, before) = read(&args.before, store)?;
    let (second, after) = read(&args.after, store)?;
    let rules = Rules {
        margin,
        ..Rules::default()
    };
    let comparison = compare((&first, &before), (&second, &after), rules);
    let (options, fail_if) = (report_options(None, false), &args.gate.fail_if);
    for path in &args.output {
        let format = Format::of_path(path).map_err(Failure::usage)?;
        let text = render(&comparison, format, &on_paper(&options), fail_if);
        save(path, &text.map_err(Failure::usage)?)?;
    }
    let format = match args.json {
        true => Format::Json,
        false => Format::Terminal,
    };
    if args.json || args.output.is_empty() {
        let text = render(&comparison, format, &options, fail_if);
        put!("{}", text.map_err(Failure::usage)?);
    }
    Ok(judge(&comparison, fail_if))
}

/// Whether the gate lets the second run pass; shows the reason on the terminal.
pub fn judge(comparison: &Comparison, fail_if: &[FailIf]) -> Outcome {
    let passes = comparison.passes(fail_if);
    if !passes {
        let failed = comparison.failed(fail_if).count() as u64;
        match failed {
            0 => complain(format_args!("wirelab: {}", answer(comparison))),
            n => complain(format_args!(
                "wirelab: {} failed by --fail-if",
                format::count(n, "figure")
            )),
        }
    }
    Outcome::of(passes)
}
