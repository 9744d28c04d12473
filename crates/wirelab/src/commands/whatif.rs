//! `wirelab whatif`: ranks the gains of changes to a node.

use wirelab_model::whatif::{WhatifOptions, whatif};
use wirelab_report::{Format, Options, render_whatif};
use wirelab_trial::whatif::{Aim, Whatif};

use crate::args::WhatifArgs;
use crate::ask;
use crate::commands::explain::Answers;
use crate::exit::{Failure, Result};
use crate::nodes;

/// How many changes a table shows.
const USUAL_MOST: usize = 15;

pub fn run(args: &WhatifArgs) -> Result {
    // An unwritable page is refused before any computation.
    let output = Answers::to(args.output.as_deref(), args.json)?;
    let file = nodes::model(&args.node, &[])?;
    let aim = args.by.as_deref().map(str::parse::<Aim>).transpose();
    let options = WhatifOptions {
        own: args.set.clone(),
        aim: aim.map_err(Failure::usage)?,
        point: args.point.clone(),
    };
    let trials = ask::model_trials(&file, &args.matrix, &args.extent)?;
    output.of_trials(trials.len())?;
    let all = trials.iter().map(|trial| whatif(&file, trial, &options));
    let all = all.collect::<std::result::Result<Vec<_>, _>>();
    // A script gets all changes, a reader the best ones, and both the number that was given.
    let render = |whatif: &Whatif, format, options: &Options| {
        let usual = if format == Format::Json {
            0
        } else {
            USUAL_MOST
        };
        render_whatif(&whatif.best(args.top.unwrap_or(usual)), format, options)
    };
    output.write(&all.map_err(Failure::usage)?, render)
}
