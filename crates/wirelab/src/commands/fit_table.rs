//! `wirelab fit TABLE`: fits a node file to a published table, and shows what that file predicts for it.

use std::collections::BTreeMap;

use serde::Serialize;
use wirelab_model::file::NodeFile;
use wirelab_model::fit::{Fit, LOST_BEFORE, fit_printed};
use wirelab_model::node::ModelNode;
use wirelab_report::{Format, study as pages};
use wirelab_study::figure::{Errors, Figure};
use wirelab_study::fitted::FitOf;
use wirelab_study::library;
use wirelab_study::observe::HoldOut;
use wirelab_study::run::NodeSource;
use wirelab_study::table::Study;
use wirelab_trial::Node;

use crate::args::FitArgs;
use crate::commands::fit::{self, options, print};
use crate::commands::report::save;
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::terminal::{put, report_options, say, show_json};

/// A table, and the part that is held out.
struct Table {
    study: Study,
    /// The node whose rows are fitted.
    node: String,
    hold_out: Option<HoldOut>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    fit: &'a Fit,
    figures: &'a [Figure],
    errors: Vec<Errors>,
}

/// The table that is to be fitted; none where the arguments are results.
fn of(args: &FitArgs) -> Fallible<Option<Table>> {
    let hold_out = args.hold_out.as_deref().map(str::parse).transpose();
    let hold_out: Option<HoldOut> = hold_out.map_err(Failure::usage)?;
    let named = |path: &std::path::PathBuf| path.extension().is_none_or(|e| e != "json");
    if !args.results.iter().any(named) {
        return match hold_out {
            None => Ok(None),
            Some(_) => Err(Failure::usage(
                "--hold-out is for published tables: a fit of results leaves out each cell anyway; fix: leave it out",
            )),
        };
    }
    let [path] = args.results.as_slice() else {
        return Err(Failure::usage(
            "a table cannot be combined with other inputs; fix: name one table (a study's name or a .toml file), or results files (.json) only",
        ));
    };
    let study = library::open(&path.to_string_lossy()).map_err(Failure::usage)?;
    let node = study.node_to_fit(args.node.as_deref());
    let node = node.map_err(Failure::usage)?.to_owned();
    Ok(Some(Table {
        study,
        node,
        hold_out,
    }))
}

/// The fitted node, whatever name a study gives it.
struct Fitted {
    file: NodeFile,
    intervals: bool,
}

impl NodeSource for Fitted {
    fn node(
        &mut self,
        _: &str,
        set: &BTreeMap<String, String>,
    ) -> std::result::Result<Box<dyn Node>, String> {
        let file = self.file.with_known(set);
        let node = ModelNode::new(file.map_err(|error| error.to_string())?);
        Ok(Box::new(match self.intervals {
            true => node,
            false => node.without_intervals(),
        }))
    }
}

/// Fits to a table, or to results.
pub fn run(args: &FitArgs) -> Result {
    match of(args)? {
        Some(table) => fit_to(args, &table),
        None => fit::run(args),
    }
}

fn fit_to(args: &FitArgs, table: &Table) -> Result {
    let options = options(args, table.study.file.clone());
    let of = FitOf {
        study: &table.study,
        node: &table.node,
        fitted: (options.name.as_deref().unwrap_or(&table.node), LOST_BEFORE),
        hold_out: table.hold_out.as_ref(),
    };
    let outcome = of.run(|figures| {
        let (fitted, file) = fit_printed(figures, &options).map_err(|error| error.to_string())?;
        let nodes = [false, true].map(|intervals| Fitted {
            file: file.clone(),
            intervals,
        });
        Ok((fitted, nodes))
    });
    let (mut fitted, run) = outcome.map_err(Failure::usage)?;
    // Errors of the lines that were fitted are not those of the file: the table below has them.
    fitted.leave_one_out.clear();
    if let Some(path) = &args.output {
        save(path, &fitted.node_toml)?;
    }
    if args.json {
        show_json(&Report {
            fit: &fitted,
            figures: &run.rows,
            errors: run.errors(),
        })?;
        return Ok(Outcome::Done);
    }
    if args.output.is_none() {
        say!("{}", fitted.node_toml);
        return Ok(Outcome::Done);
    }
    print(&fitted, args.confidence);
    let page = pages::render(&[run], Format::Terminal, &report_options(None, false));
    put!("{}", page.map_err(Failure::usage)?);
    Ok(Outcome::Done)
}
