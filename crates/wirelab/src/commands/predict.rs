//! `wirelab predict`: the trials of measure, asked of a node model.

use wirelab_bench::{NoCeiling, Plan};
use wirelab_model::file::NodeFile;
use wirelab_model::library;
use wirelab_model::node::ModelNode;

use crate::args::PredictArgs;
use crate::ask;
use crate::commands::trials::{Outputs, Show};
use crate::exit::{Failure, Outcome, Result};
use crate::nodes;
use crate::terminal::{Bar, cancel_on_signal, say};

/// A second, as measure takes.
pub const DEFAULT_TIME_PS: u64 = 1_000_000_000_000;

pub fn run(args: &PredictArgs) -> Result {
    let Some(name) = &args.node else {
        return list(args.json);
    };
    let file = nodes::model(name, &args.set)?;
    let plan = match &args.plan {
        Some(path) => Plan::load(path).map_err(Failure::usage)?,
        None => Plan {
            title: None,
            node: None,
            matrices: vec![ask::matrix(&args.matrix, &args.extent, DEFAULT_TIME_PS)?],
        },
    };
    let outputs = Outputs::of(&args.output)?;
    let mut node = ModelNode::new(file);
    let mut ceiling = NoCeiling("a model needs no tester".to_owned());
    let (bar, cancel) = (Bar::new(), cancel_on_signal());
    let ran = outputs.run(&mut node, &plan, &mut ceiling, &bar, &cancel)?;
    let show = Show {
        each_flow: args.each_flow,
        json: args.json,
    };
    outputs.show(ran, &plan, show)
}

fn list(json: bool) -> Result {
    let files = library::names().map(|name| library::open(name).map_err(Failure::failed));
    let files: Vec<NodeFile> = files.collect::<std::result::Result<_, _>>()?;
    if json {
        let all: Vec<_> = files
            .iter()
            .map(|f| serde_json::json!({ "name": f.name, "title": f.title, "source": f.source }))
            .collect();
        say!("{}", serde_json::Value::Array(all));
        return Ok(Outcome::Done);
    }
    for file in &files {
        say!("{:18} {}", file.name, file.title);
    }
    Ok(Outcome::Done)
}
