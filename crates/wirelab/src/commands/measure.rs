//! `wirelab measure`: a plan, from options or a file, run on a node; results kept from the first trial on.

use std::sync::{Arc, Mutex};

use wirelab_bench::{Plan, Section};
use wirelab_cores::prefer_this_session;
use wirelab_port::pcapng::{CaptureWriter, WriterOptions};
use wirelab_ports::{Path, PortsOptions, bypassed_shapers};
use wirelab_trial::{Field, Node, Trial};

use crate::args::MeasureArgs;
use crate::ask;
use crate::commands::report;
use crate::commands::trials::{Outputs, Show};
use crate::exit::{Failure, Result};
use crate::nodes::{self, AnyNode};
use crate::plans;
use crate::terminal::{Bar, cancel_on_signal, warn_of};

type Asked<T> = std::result::Result<T, Failure>;

pub fn run(args: &MeasureArgs) -> Result {
    let mut plan = plans::plan(args)?;
    let mut outputs = Outputs::of(&args.output)?;
    let before = args.resume.as_deref().map(report::read).transpose()?;
    outputs.resumes(args.resume.as_deref());
    let options = PortsOptions {
        path: match plans::node_paths(&args.offer.path) {
            Some(_) => Path::Auto,
            None => ask::path(&args.offer.path)?,
        },
        buffer_runs: args.buffer_runs,
        ..PortsOptions::default()
    };
    // Before the lab is made, which an early Ctrl-C would leave behind.
    let cancel = cancel_on_signal();
    let _preferred = prefer_this_session();
    let image = args.image.as_deref();
    let payload = plans::largest_payload(&plan);
    let mut node = match nodes::that_echoes(&args.node, &plan, payload)? {
        Some(node) => node,
        None => nodes::with_image(&args.node, image, options, payload)?,
    };
    if plan.datasheet {
        plan.use_layers(&node.describe().capabilities.layers);
        if let AnyNode::Board(board) = &mut node {
            board.hear_second_opinion();
        }
    }
    let model = matches!(node, AnyNode::Model(_));
    if model && args.offer.path != "auto" && plans::node_paths(&args.offer.path).is_none() {
        return Err(Failure::usage(
            "--path is a way through the kernel, and a model sends nothing: leave it out",
        ));
    }
    if !has_only_buffers(&plan) {
        warn_of_shapers(&node, options.path);
    }
    let capture = start_capture(args, &mut node)?;
    let bar = Bar::new();
    let tester = node.tester();
    let mut ceiling = |trial: &Trial| match args.no_ceiling {
        true if !model => Field::absent("not asked for (--no-ceiling)"),
        _ => tester.ceiling_frames_per_s(trial, options),
    };
    let run = outputs.run(&mut node, &plan, &mut ceiling, &bar, &cancel, before)?;
    match &mut node {
        AnyNode::Ports(node) => node.end_capture(),
        AnyNode::Hdl(node) => node.end_capture(),
        _ => {}
    }
    drop(node);
    // Errors of the capture come last: the results are shown and kept first.
    let captured = capture.map(super::receive::finish).transpose();
    let show = Show {
        each_flow: args.each_flow,
        json: args.json,
    };
    let ended = outputs.show(run, &plan, show);
    captured.and(ended)
}

/// Whether all that is asked are trials of buffers, which take the packet path.
fn has_only_buffers(plan: &Plan) -> bool {
    let of_buffers = |section: &Section| match section {
        Section::Matrix(matrix) => {
            !matrix.buffers.is_empty() && matrix.buffers.iter().all(Option::is_some)
        }
        Section::Search(_) => false,
    };
    plan.sections.iter().all(of_buffers)
}

/// Which pair sends which way is the plan's matter: either end of each may.
fn warn_of_shapers(node: &AnyNode, path: Path) {
    if let AnyNode::Ports(ports) = node {
        let ends = ports.pairs().iter().flat_map(|p| [&p.node, &p.tester]);
        warn_of(&bypassed_shapers(ends, path));
    }
}

fn start_capture(
    args: &MeasureArgs,
    node: &mut AnyNode,
) -> Asked<Option<Arc<Mutex<CaptureWriter>>>> {
    let Some(path) = &args.capture else {
        return Ok(None);
    };
    let interfaces = match node {
        AnyNode::Ports(node) => node.capture_interfaces(),
        AnyNode::Hdl(node) => node.capture_interfaces(),
        _ => {
            return Err(Failure::usage(
                "--capture takes frames between ports: measure lab:N, ports:… or hdl:N with it",
            ));
        }
    };
    let writer = CaptureWriter::create(path, &interfaces, &WriterOptions::default())
        .map_err(Failure::usage)?;
    let shared = Arc::new(Mutex::new(writer));
    match node {
        AnyNode::Ports(node) => node.capture_into(Arc::clone(&shared)),
        AnyNode::Hdl(node) => node.capture_into(Arc::clone(&shared)),
        _ => {}
    }
    Ok(Some(shared))
}
