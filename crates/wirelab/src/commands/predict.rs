//! `wirelab predict`: runs the trials of measure on a node model.

use serde::Serialize;
use wirelab_bench::{NoCeiling, Plan, Section, expand};
use wirelab_model::cycle::minimum_cycle;
use wirelab_model::file::NodeFile;
use wirelab_model::library;
use wirelab_model::node::ModelNode;
use wirelab_report::document::Block;
use wirelab_report::{Format, render_cycle};
use wirelab_trial::node_type::SECOND;

use crate::args::PredictArgs;
use crate::ask;
use crate::commands::trials::{Outputs, Show};
use crate::exit::{Failure, Outcome, Result};
use crate::nodes;
use crate::terminal::{Bar, cancel_on_signal, put, report_options, show, show_json_line};

pub fn run(args: &PredictArgs) -> Result {
    let Some(name) = &args.node else {
        return list(args.json);
    };
    let file = nodes::model(name, &args.set)?;
    let plan = match &args.plan {
        Some(path) => Plan::load(path).map_err(Failure::usage)?,
        None => Plan::of(Section::Matrix(ask::matrix(
            &args.matrix,
            &args.extent,
            file.first_layer(),
            SECOND,
        )?)),
    };
    if let Some(nodes) = args.cycle {
        return cycle(args, &file, &plan, nodes);
    }
    let outputs = Outputs::of(&args.output)?.kept(&args.keep)?;
    let mut node = ModelNode::new(file);
    let mut ceiling = NoCeiling("a model needs no tester".to_owned());
    let (bar, cancel) = (Bar::new(), cancel_on_signal());
    let result = outputs.run(&mut node, &plan, &mut ceiling, &bar, &cancel, None)?;
    let show = Show {
        each_flow: args.each_flow,
        json: args.json,
    };
    outputs.show(result, &plan, show)
}

/// Shortest cycle times of `nodes` such nodes, with the link and framing of the plan's first trial.
fn cycle(args: &PredictArgs, file: &NodeFile, plan: &Plan, nodes: u32) -> Result {
    let steps = expand(plan, 1).map_err(Failure::usage)?;
    let forward_ps = ask::time_ps("--forward", &args.forward)?;
    let times = minimum_cycle(file, &steps[0].trial, nodes, args.data, forward_ps)
        .map_err(Failure::usage)?;
    let format = if args.json {
        Format::Json
    } else {
        Format::Terminal
    };
    let text =
        render_cycle(&times, format, &report_options(None, false)).map_err(Failure::usage)?;
    put!("{text}");
    Ok(Outcome::Done)
}

/// A model, as `--json` prints it.
#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    title: &'a str,
    source: &'a str,
}

fn list(json: bool) -> Result {
    let files = library::names().map(|name| library::open(name).map_err(Failure::failed));
    let files: Vec<NodeFile> = files.collect::<std::result::Result<_, _>>()?;
    if json {
        let all = files.iter().map(|file| Listed {
            name: &file.name,
            title: &file.title,
            source: &file.source,
        });
        show_json_line(&all.collect::<Vec<_>>())?;
        return Ok(Outcome::Done);
    }
    let rows = files.into_iter().map(|file| vec![file.name, file.title]);
    let table = Block::sentences(
        vec![("model", false), ("what it is", false)],
        rows.collect(),
    );
    show("Built-in models".to_owned(), vec![table]);
    Ok(Outcome::Done)
}
