//! `wirelab whatif`: ranks the gains of changes to a node.

use wirelab_model::whatif::{WhatifOptions, whatif};
use wirelab_report::{Format, render_whatif};
use wirelab_trial::whatif::{Aim, Change, Whatif};

use crate::args::WhatifArgs;
use crate::ask;
use crate::commands::explain::{of_one_trial, page, write};
use crate::exit::{Failure, Outcome, Result};
use crate::nodes;
use crate::terminal::{put, report_options, show_json};

/// How many changes a table shows.
const USUAL_MOST: usize = 15;

pub fn run(args: &WhatifArgs) -> Result {
    // An unwritable page is refused before any computation.
    args.output.as_deref().map(page).transpose()?;
    let file = nodes::model(&args.node, &[])?;
    let by = args.by.as_deref().map(str::parse::<Aim>).transpose();
    let by = by.map_err(Failure::usage)?;
    let options = WhatifOptions {
        own: args.set.clone(),
        aim: by,
        point: args.point.clone(),
    };
    let trials = ask::model_trials(&file, &args.matrix, &args.extent)?;
    of_one_trial(args.output.as_deref(), trials.len())?;
    let mut all = Vec::new();
    for trial in &trials {
        all.push(whatif(&file, trial, &options).map_err(Failure::usage)?);
    }
    // JSON has all changes, unless a number was given.
    let most = if args.json { 0 } else { USUAL_MOST };
    all.iter_mut()
        .for_each(|whatif| cut(whatif, args.top.unwrap_or(most)));
    if args.json {
        show_json(&all)?;
    }
    all.iter_mut()
        .for_each(|whatif| cut(whatif, args.top.unwrap_or(USUAL_MOST)));
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
