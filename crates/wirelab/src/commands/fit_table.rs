//! `wirelab fit TABLE`: fits a node file to a published table, and asks that file for every figure of the table.

use std::collections::BTreeMap;

use wirelab_model::file::NodeFile;
use wirelab_model::fit::{Captures, Fit, FitOptions, LOST_BEFORE, Rounding, fit as fit_node};
use wirelab_model::node::ModelNode;
use wirelab_report::{Format, study as pages};
use wirelab_study::library;
use wirelab_study::metric::Metric;
use wirelab_study::observe::{self as study, HoldOut};
use wirelab_study::run::{NodeSource, StudyRun, run as run_study};
use wirelab_study::table::{Row, Study};
use wirelab_trial::{Cancel, Node};

use crate::args::FitArgs;
use crate::commands::fit::{self, options, print};
use crate::commands::report::save;
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::terminal::{put, report_options, say};

/// A table, and what of it is held out.
struct Table {
    study: Study,
    /// The node whose rows are fitted.
    node: String,
    hold_out: Option<HoldOut>,
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
                "--hold-out is for published tables: results are left out cell by cell anyway; fix: leave it out",
            )),
        };
    }
    let [path] = args.results.as_slice() else {
        return Err(Failure::usage(
            "a table is fitted alone; fix: name one table (a study's name or a .toml file), or results files (.json) only",
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
        let mut file = self.file.clone();
        let known = set
            .iter()
            .filter(|(key, _)| self.file.parameters.contains_key(*key));
        for (key, value) in known {
            file.set(&format!("{key}={value}"))
                .map_err(|e| e.to_string())?;
        }
        let node = ModelNode::new(file);
        Ok(Box::new(match self.intervals {
            true => node,
            false => node.without_intervals(),
        }))
    }
}

/// A fit, and what its node file says of the whole table, or of one row.
fn fit_and_ask(
    table: &Table,
    options: &FitOptions,
    trains: impl Fn(&Row, Metric) -> bool,
    only: Option<&Row>,
) -> Fallible<(Fit, StudyRun)> {
    let name = options.name.as_deref().unwrap_or(&table.node);
    let mut asked = table
        .study
        .fitted_by(&table.node, (name, LOST_BEFORE), trains);
    let (observations, rounding): (Vec<_>, Vec<_>) = asked.observations().into_iter().unzip();
    let in_fit = |printed: study::Rounding| Rounding {
        frames_per_s: printed.rate,
        cpu_load: printed.cpu_load,
        series_ns: 1e9 * printed.latency_s,
    };
    let options = FitOptions {
        node: None,
        // Whatever its points are the times between, a line over the sizes is one of each.
        captures: Captures::Stages,
        rounding: rounding.into_iter().map(in_fit).collect(),
        ..options.clone()
    };
    let fitted = fit_node(&observations, &options).map_err(Failure::usage)?;
    let file = NodeFile::parse(&fitted.node_toml, "the fitted file").map_err(Failure::usage)?;
    let mut node = Fitted {
        file,
        intervals: false,
    };
    let ask = |study: &Study, node: &mut Fitted, name| {
        run_study(study, name, node, &(), &Cancel::new()).map_err(Failure::usage)
    };
    let first = ask(&asked, &mut node, Some("the fitted file"))?;
    asked.hold_out_predicted(&first);
    if let Some(only) = only {
        asked.rows.retain(|row| row.name == only.name);
    }
    node.intervals = true;
    let run = ask(&asked, &mut node, None)?;
    Ok((fitted, run))
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
    let held_out = |row: &Row, metric| {
        table
            .hold_out
            .as_ref()
            .is_some_and(|h| h.holds_out(row, metric))
    };
    let (mut fitted, mut run) =
        fit_and_ask(table, &options, |row, metric| !held_out(row, metric), None)?;
    if !matches!(table.hold_out, None | Some(HoldOut::LeaveOneOut))
        && !run.rows.iter().any(|figure| figure.counted)
    {
        return Err(Failure::usage(
            "the hold-out matches no figure that the fitted node predicts; fix: see the rows with `wirelab study show`",
        ));
    }
    if table.hold_out == Some(HoldOut::LeaveOneOut) {
        run = table.study.leave_one_out(run, |row| {
            let others = |other: &Row, _| other.name != row.name;
            let asked = fit_and_ask(table, &options, others, Some(row));
            asked.ok().map(|(_, run)| run)
        });
    }
    // Errors of the lines that were fitted are not those of the file: the table below has them.
    fitted.leave_one_out.clear();
    if let Some(path) = &args.output {
        save(path, &fitted.node_toml)?;
    }
    if args.json {
        let all = serde_json::json!({ "fit": fitted, "figures": run.rows, "errors": run.errors() });
        say!(
            "{}",
            serde_json::to_string_pretty(&all).expect("plain data become JSON")
        );
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
