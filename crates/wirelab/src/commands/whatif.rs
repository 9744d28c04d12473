//! `wirelab whatif`: ranks the gains of changes to a node.

use wirelab_model::whatif::{WhatifOptions, whatif};
use wirelab_report::{Format, render_whatif};
use wirelab_trial::nearest::unknown;
use wirelab_trial::whatif::{Aim, Change, Whatif};

use crate::args::WhatifArgs;
use crate::ask;
use crate::commands::explain::{of_one_trial, page, write};
use crate::exit::{Failure, Outcome, Result};
use crate::nodes;
use crate::terminal::{put, report_options, show_json};

pub fn run(args: &WhatifArgs) -> Result {
    // An unwritable page is refused before any computation.
    args.output.as_deref().map(page).transpose()?;
    let file = nodes::model(&args.node, &[])?;
    let options = WhatifOptions {
        own: args.set.clone(),
        aim: args.by.as_deref().map(aim).transpose()?,
        point: args.point.clone(),
    };
    let trials = ask::model_trials(&file, &args.matrix, &args.extent)?;
    of_one_trial(args.output.as_deref(), trials.len())?;
    let mut all = Vec::new();
    for trial in &trials {
        all.push(whatif(&file, trial, &options).map_err(Failure::usage)?);
    }
    if args.json {
        show_json(&all)?;
    }
    all.iter_mut().for_each(|whatif| cut(whatif, args.top));
    let options = report_options(None, false);
    for (at, whatif) in all.iter().enumerate().filter(|_| !args.json) {
        let text = render_whatif(whatif, Format::Terminal, &options).map_err(Failure::usage)?;
        put!("{}{text}", if at == 0 { "" } else { "\n" });
    }
    let (Some(path), [whatif]) = (&args.output, all.as_slice()) else {
        return Ok(Outcome::Done);
    };
    let (format, options) = page(path)?;
    let text = render_whatif(whatif, format, &options).map_err(Failure::usage)?;
    write(path, &text)
}

fn aim(word: &str) -> std::result::Result<Aim, Failure> {
    match word {
        "throughput" => Ok(Aim::Throughput),
        "load" => Ok(Aim::Load),
        "latency" => Ok(Aim::Latency),
        _ => Err(Failure::usage(unknown(
            "order of --by",
            word,
            ["throughput", "load", "latency"],
        ))),
    }
}

/// Keeps the best `top` changes with a gain; 0 keeps all.
fn cut(whatif: &mut Whatif, top: usize) {
    if top == 0 {
        return;
    }
    for changes in [&mut whatif.singles, &mut whatif.pairs] {
        let mut gaining = 0;
        changes.retain(|change: &Change| {
            gaining += usize::from(change.why_not.is_none());
            change.why_not.is_some() || gaining <= top
        });
    }
}
