//! `wirelab measure`: runs a plan, from options or a file, on a node, and keeps results from the first trial on.

use std::time::SystemTime;

use wirelab_bench::Plan;
use wirelab_cores::prefer_this_session;
use wirelab_report::Format;
use wirelab_report::compare::{Comparison, Rules, compare, render};
use wirelab_trial::node_type::StageOption;
use wirelab_trial::open::{Path, PortsOptions};
use wirelab_trial::{ConsoleOptions, Field, NodeName, OpenOptions, Profile, Purpose, Trial};

use crate::args::MeasureArgs;
use crate::commands::compare::judge;
use crate::commands::trials::{Outputs, Show};
use crate::commands::{pulse, receive, report, results};
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::nodes::NODE_TYPES;
use crate::plans;
use crate::terminal::{Bar, cancel_on_signal, complain, put, report_options, warn_of};

pub fn run(args: &MeasureArgs) -> Result {
    let (name, node_type) = NODE_TYPES.parse(&args.node)?;
    let profile = (node_type.profile)(&name);
    if args.console.is_some() {
        node_type.check_console(&name)?;
    }
    let mut plan = plans::plan(args, &profile)?;
    refuse_without_effect(args, &name, &profile, &plan)?;
    check_pulse(args, &name, &profile, &plan)?;
    let mut outputs = Outputs::of(&args.output)?.kept(&args.keep)?;
    let earlier = args.against.as_deref();
    let earlier = earlier.map(|run| results::read(run, args.keep.store.as_deref()));
    let earlier = earlier.transpose()?;
    if earlier.is_none() && !args.gate.fail_if.is_empty() {
        return Err(Failure::usage(
            "--fail-if compares with an earlier run; fix: name its results file with --against, or select it in the store",
        ));
    }
    let before = args.resume.as_deref().map(report::read).transpose()?;
    outputs.resumes(args.resume.as_deref());
    let options = open_options(args, &plan)?;
    // Before a lab is made, which an early Ctrl-C would leave behind.
    let cancel = cancel_on_signal();
    let _preferred = prefer_this_session();
    let mut node = NODE_TYPES.open_parsed(&name, node_type, &options)?;
    if plan.datasheet {
        plan.use_layers(&node.describe().capabilities.layers);
        node.hear_second_opinion();
    }
    // They ignore the path: trials of buffers use the packet path.
    if !plan.is_of_buffers() {
        warn_of(&node.warnings());
    }
    if let Some(file) = &args.capture {
        node.start_capture(file)?;
    }
    let bar = Bar::new();
    let mut of_tester = node.tester_ceiling();
    let mut ceiling = |trial: &Trial| match args.no_ceiling && !profile.is_computed {
        true => Field::absent("not requested (--no-ceiling)"),
        false => of_tester(trial),
    };
    let begun = SystemTime::now();
    let mut run = outputs.run(&mut *node, &plan, &mut ceiling, &bar, &cancel, before)?;
    let captured = node.end_capture();
    drop(node);
    let mut pinned = Ok(());
    if let Some(file) = &args.pulse {
        pinned = pulse::take(file, begun, &mut run.file, &cancel);
        outputs.save_again(&run)?;
    }
    let show = Show {
        each_flow: args.each_flow,
        json: args.json,
    };
    let comparison = earlier.map(|(name, earlier)| {
        compare((&name, &earlier), ("this run", &run.file), Rules::default())
    });
    let mut ended = outputs.show(run, &plan, show);
    if let Some(comparison) = comparison {
        let gate = against(&comparison, args);
        ended = ended.map(|outcome| match outcome {
            Outcome::Done => gate,
            other => other,
        });
    }
    pinned?;
    // Errors of the capture come last: results are shown and saved first.
    if let Some(frames) = captured? {
        receive::tell_captured(frames);
    }
    ended
}

/// Refuses a recording of pins that no trial of this plan can have.
fn check_pulse(
    args: &MeasureArgs,
    name: &NodeName,
    profile: &Profile,
    plan: &Plan,
) -> Fallible<()> {
    let Some(file) = &args.pulse else {
        return Ok(());
    };
    if profile.is_computed {
        return Err(Failure::usage(format!(
            "--pulse: {name} is a model, which has no pin; fix: leave it out, or measure a board"
        )));
    }
    let directions = plan.matrices().flat_map(|matrix| matrix.directions.clone());
    wirelab_pulse::trial::check(directions)
        .map_err(|why| Failure::usage(format!("--pulse {}: {why}", file.path.display())))
}

/// How to open the node for this plan.
fn open_options(args: &MeasureArgs, plan: &Plan) -> Fallible<OpenOptions> {
    let usual = PortsOptions::default();
    Ok(OpenOptions {
        purpose: match plan.is_of_echoes() {
            true => Purpose::Echoes,
            false => Purpose::Trials,
        },
        payload: plan.largest_payload(),
        image: args.image.clone(),
        routed: args.routed,
        console: console(args)?,
        ports: PortsOptions {
            path: args.paths.host_path(),
            buffer_runs: args.buffer_runs.unwrap_or(usual.buffer_runs),
            ..usual
        },
        ..OpenOptions::default()
    })
}

/// Refuses options that would change nothing of this plan on this node.
fn refuse_without_effect(
    args: &MeasureArgs,
    name: &NodeName,
    profile: &Profile,
    plan: &Plan,
) -> Fallible<()> {
    let host_path = args.paths.host_path();
    let is_set = args.datasheet || args.quick || args.plan.is_some();
    let ports = profile.takes_ports;
    let cases = [
        (
            args.routed && !profile.stages.takes(StageOption::Routed),
            format!("--routed: {name} is not behind a router"),
            "leave it out",
        ),
        (
            host_path != Path::Auto && !ports,
            format!("--path {host_path}: no port of this host carries the frames of {name}"),
            "leave it out",
        ),
        (
            args.paths.is_of_node() && is_set,
            format!(
                "--path {}: the trials of a plan and of a datasheet have their own paths",
                args.paths.path
            ),
            "leave it out, or write the path into a plan",
        ),
        (
            args.buffer_runs.is_some() && !ports,
            format!("--buffer-runs: one run of {name} says all"),
            "leave it out",
        ),
        (
            args.buffer_runs.is_some() && !plan.is_of_buffers(),
            "--buffer-runs: no trial is of a kind of buffers".to_owned(),
            "add --buffers, or leave it out",
        ),
    ];
    match cases.into_iter().find(|(is_given, ..)| *is_given) {
        Some((_, what, fix)) => Err(Failure::usage(format!("{what}; fix: {fix}"))),
        None => Ok(()),
    }
}

/// The console of a board and how it is used.
fn console(args: &MeasureArgs) -> Fallible<Option<ConsoleOptions>> {
    let Some(console) = args.console.clone() else {
        return Ok(None);
    };
    let profile = args.profile.clone().ok_or_else(|| {
        let how = "name the board's system with --profile, e.g. --profile nuttx (wirelab console list has all)";
        Failure::usage(format!("--console without --profile; fix: {how}"))
    })?;
    Ok(Some(ConsoleOptions { console, profile }))
}

/// Show what changed since an earlier run, on standard error where JSON has the other stream.
fn against(comparison: &Comparison, args: &MeasureArgs) -> Outcome {
    let options = report_options(None, false);
    let text = render(comparison, Format::Terminal, &options, &args.gate.fail_if)
        .expect("a terminal has a place for it");
    match args.json {
        true => complain(format_args!("{}", text.trim_end())),
        false => put!("\n{text}"),
    }
    judge(comparison, &args.gate.fail_if)
}
