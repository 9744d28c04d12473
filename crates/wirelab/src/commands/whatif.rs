//! `wirelab whatif`: ranks the gains of changes to a node.

use wirelab_model::whatif::{WhatifOptions, whatif};
use wirelab_report::{Format, Options, render_whatif};
use wirelab_trial::whatif::{Aim, Whatif};

use crate::args::WhatifArgs;
use crate::ask;
use crate::commands::explain::Answers;
use crate::exit::{Failure, Result};
use crate::nodes;

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
    // A script gets all changes, a reader the best ones.
    let render = |whatif: &Whatif, format, options: &Options| match format {
        Format::Json => render_whatif(whatif, format, options),
        _ => render_whatif(&whatif.best(args.top), format, options),
    };
    output.write(&all.map_err(Failure::usage)?, render)
}
