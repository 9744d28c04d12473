//! `wirelab stages`: the table of a node's stages, from a run or from results, and what grew since another run.

use std::path::{Path, PathBuf};

use wirelab_bench::stages::request::{LARGEST_PAYLOAD, begun, nodes};
use wirelab_bench::stages::{Request, RequestWords, StagesRecord};
use wirelab_bench::{NoCeiling, PlanResult};
use wirelab_model::reference;
use wirelab_report::stages::{Before, growth, is_of_paths, paths_as, reasons};
use wirelab_report::{Format, paths_of, render_stages};
use wirelab_stages::Xdp;
use wirelab_trial::stage;
use wirelab_trial::stage::functions::changed;
use wirelab_trial::{
    Node, NodeName, NodeType, OpenOptions, Profile, Purpose, ResultsFile, Warning,
};

use crate::args::StagesArgs;
use crate::commands::report::{on_paper, read, save};
use crate::commands::trials::Outputs;
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::nodes::NODE_TYPES;
use crate::terminal::{Bar, cancel_on_signal, complain, put, report_options, show_json};

mod here;
mod options;
mod predicted;

pub fn run(args: &StagesArgs) -> Result {
    // What cannot be compared or written is refused before anything runs.
    let before = before(args)?;
    for path in args.output.iter().filter(|path| !is_of_paths(path)) {
        Format::of_path(path).map_err(Failure::usage)?;
    }
    let subject = Subject::of(&args.node)?;
    options::refuse(args, &subject)?;
    let node = match subject {
        Subject::File(path) => {
            let file = read(&path)?;
            has_stages(args, &file)?;
            return show(args, &file, before.as_ref(), &args.output);
        }
        Subject::Node(node) if node.node_type.only_stages => return here::run(args, &node.name),
        Subject::Node(node) => node,
    };
    let (results, pages) = split(&args.output);
    let outputs = Outputs::of(&results)?.kept(&args.keep)?;
    let measured = measure(args, &node, &outputs)?;
    if measured.result.file.observations.is_empty() {
        // No trial began: the reason is the answer, and there is no table.
        return outputs.end(measured.result);
    }
    has_stages(args, &measured.result.file)?;
    let shown = show(args, &measured.result.file, before.as_ref(), &pages)?;
    match outputs.end(measured.result)? {
        Outcome::Done if measured.is_whole => Ok(shown),
        Outcome::Done => Ok(Outcome::Missed),
        missed => Ok(missed),
    }
}

/// The source of the stages.
enum Subject {
    /// Of a results file.
    File(PathBuf),
    /// Of a node.
    Node(NodeToOpen),
}

/// A node that is not open, and what is known of it.
struct NodeToOpen {
    name: NodeName,
    node_type: &'static NodeType,
    profile: Profile,
}

impl Subject {
    fn of(text: &str) -> Fallible<Subject> {
        let path = Path::new(text);
        if path.extension().is_some_and(|e| e == "json") {
            return Ok(Subject::File(path.to_owned()));
        }
        let has_stages = |of: &NodeType| !of.with_stages.is_empty();
        let (name, node_type) = NODE_TYPES.parse_for(text, has_stages)?;
        let profile = (node_type.profile)(&name);
        Ok(Subject::Node(NodeToOpen {
            name,
            node_type,
            profile,
        }))
    }
}

/// The request and its results.
struct Measured {
    result: PlanResult,
    /// Whether everything that the user wanted was requested.
    is_whole: bool,
}

/// Results files, and pages.
fn split(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let is_results =
        |path: &PathBuf| Format::of_path(path).is_ok_and(|format| format == Format::Json);
    paths.iter().cloned().partition(is_results)
}

fn measure(args: &StagesArgs, node: &NodeToOpen, outputs: &Outputs) -> Fallible<Measured> {
    let request = request(args, node.profile.stages.may_add_tag)?;
    let (bar, cancel) = (Bar::new(), cancel_on_signal());
    let mut ceiling =
        NoCeiling("stages are the node's own, whatever the tester reaches".to_owned());
    let names = nodes(&node.name, args.mac.as_deref(), &args.wait_states);
    let names = names.map_err(Failure::usage)?;
    predicted::refuse(args, node.node_type, &names)?;
    // Of several nodes the results are one file, which is saved after each of them.
    let is_sweep = names.len() > 1;
    let unsaved = Outputs::of(&[])?;
    let mut all: Option<PlanResult> = None;
    let mut is_whole = true;
    for name in &names {
        if is_sweep {
            bar.line(&format!("measuring {name}"));
        }
        let mut node = open(args, node.node_type, name)?;
        for notice in node.notices() {
            bar.line(&format!("node: {notice}"));
        }
        let prepared = request.prepare(&mut *node, &bar, &cancel);
        bar.clear();
        let prepared = prepared.map_err(Failure::usage)?;
        if let Some(note) = prepared.search_note() {
            bar.line(note);
        }
        let frames = prepared.frames;
        let saved = if is_sweep { &unsaved } else { outputs };
        let plan = &prepared.plan;
        let mut result = saved.run(&mut *node, plan, &mut ceiling, &bar, &cancel, None)?;
        let is_done = result.outcome.is_done();
        is_whole &= request.complete(prepared, &mut *node, &mut result.file, &cancel);
        if args.predicted {
            let predicted = reference::delays(&node.describe(), &args.length, frames, &cancel)?;
            result.file.observations.extend(predicted);
        }
        let has_more = args.predicted || result.file.measuring.is_some();
        let result = match &mut all {
            None => all.insert(result),
            Some(all) => {
                all.join(result);
                all
            }
        };
        if is_sweep || has_more {
            outputs.save_again(result)?;
        }
        if !is_done {
            break;
        }
    }
    let result = all.expect("there is a name at least");
    Ok(Measured { result, is_whole })
}

/// The request of the options.
fn request(args: &StagesArgs, may_add_tag: bool) -> Fallible<Request<'_>> {
    let xdp = args.xdp.parse::<Xdp>();
    let xdp = xdp.map_err(|why| Failure::usage(format!("--xdp: {why}")))?;
    let words = RequestWords {
        lengths: &args.length,
        count: args.count,
        load: &args.load,
        fast_track: &args.fast_track,
        wait: args.wait.as_deref(),
        background: args.background.as_deref(),
        probes: &args.probes,
        without_xdp: xdp == Xdp::Off,
    };
    words.read(may_add_tag).map_err(Failure::usage)
}

/// Opens a node for its stages.
fn open(args: &StagesArgs, node_type: &NodeType, name: &NodeName) -> Fallible<Box<dyn Node>> {
    let options = OpenOptions {
        purpose: Purpose::Stages {
            by_clock: args.wall,
            xdp: args.xdp.clone(),
        },
        payload: LARGEST_PAYLOAD,
        image: args.image.clone(),
        routed: args.routed,
        ..OpenOptions::default()
    };
    Ok(NODE_TYPES.open_parsed(name, node_type, &options)?)
}

/// The run that this one is compared with.
fn before(args: &StagesArgs) -> Fallible<Option<Before>> {
    let gate = args.gate.as_deref().map(growth).transpose();
    let gate = gate.map_err(|why| Failure::usage(format!("--gate: {why}")))?;
    let Some(path) = &args.against else {
        return match gate {
            None => Ok(None),
            Some(_) => Err(Failure::usage(
                "--gate compares this run with another; fix: name its results file with --against FILE.json, made by \
                 'wirelab stages NODE -o FILE.json'",
            )),
        };
    };
    let before = Before::new(read(path)?, gate);
    let named = |why| Failure::usage(format!("--against {}: {why}", path.display()));
    before.map(Some).map_err(named)
}

/// Whether there is anything to show.
fn has_stages(args: &StagesArgs, file: &ResultsFile) -> Fallible<()> {
    if !stage::table(file).is_empty() {
        return Ok(());
    }
    begun(&file.observations)?;
    let with_stages: Vec<String> = NODE_TYPES
        .stage_lines()
        .into_iter()
        .map(|(form, _)| form)
        .collect();
    Err(Failure::usage(format!(
        "{} has no capture points, or took no times; fix: name a node with points ({}), or results of one",
        args.node,
        with_stages.join(", ")
    )))
}

/// Write the pages, show the table, and compare.
fn show(
    args: &StagesArgs,
    file: &ResultsFile,
    before: Option<&Before>,
    pages: &[PathBuf],
) -> Result {
    let rows = stage::table(file);
    let against = before.and_then(|before| before.against(&rows));
    let against = against.as_ref();
    let options = report_options(None, false);
    for path in pages {
        if is_of_paths(path) {
            let paths = paths_as(path, file, against).map_err(Failure::usage)?;
            save(path, &paths)?;
            continue;
        }
        let format = Format::of_path(path).map_err(Failure::usage)?;
        let text = match format {
            Format::Json => file.to_json(),
            _ => {
                render_stages(file, against, format, &on_paper(&options)).map_err(Failure::usage)?
            }
        };
        save(path, &text)?;
    }
    if args.json {
        let compared =
            against.map(|against| (&*against.changes, changed(against.paths, paths_of(file))));
        show_json(&StagesRecord::of(file, &rows, compared))?;
    } else {
        let text = render_stages(file, against, Format::Terminal, &options);
        put!("{}", text.map_err(Failure::usage)?);
    }
    if rows.is_empty() {
        let said = file.observations.iter().flat_map(|o| &o.warnings);
        let said: Vec<String> = said.map(Warning::in_words).collect();
        return Err(Failure::failed(said.join("\n")));
    }
    let Some(against) = against else {
        return Ok(Outcome::Done);
    };
    for reason in reasons(against, file) {
        complain(format_args!("wirelab: {reason}"));
    }
    Ok(Outcome::of(against.passed()))
}
