//! `wirelab stages`: the table of a node's stages, from a run or from results, and what grew since another run.

use std::path::{Path, PathBuf};

use wirelab_bench::NoCeiling;
use wirelab_bench::stages::{self, Offered, Trials, Ways, facts, framing};
use wirelab_model::reference;
use wirelab_report::compare::share;
use wirelab_report::{Against, Format, folded, paths_of, reason, render_stages, svg};
use wirelab_stages::Watch;
use wirelab_trial::stage::functions::changed;
use wirelab_trial::stage::{self, Change, StageFigures};
use wirelab_trial::{
    ClockKind, Node, NodeKind, NodeName, Observation, OpenOptions, Profile, Purpose, ResultsFile,
    StageSource, Status, WarningCode,
};

use crate::args::StagesArgs;
use crate::commands::report::{on_paper, read, save};
use crate::commands::trials::{Outputs, PlanResult};
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::nodes::KINDS;
use crate::terminal::{Bar, cancel_on_signal, complain, put, report_options, say};

mod here;
mod json;
mod options;
mod predicted;
mod sweep;
mod ways;

/// Frames of a trial where none are asked.
const FRAMES: u64 = 512;
/// Extensions of files with paths of calls: a flame graph, and text for other tools.
const SVG: &str = "svg";
const FOLDED: &str = "folded";
/// Payload of the longest frame of a lab that is made for the trials.
const LARGEST_PAYLOAD: u32 = 1500;

pub fn run(args: &StagesArgs) -> Result {
    // What cannot be compared or written is refused before anything runs.
    let before = Before::of(args)?;
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
        Subject::Here(port) => return here::run(args, &port),
        Subject::Node(node) => node,
    };
    let (results, pages) = split(&args.output);
    let outputs = Outputs::of(&results)?.kept(&args.keep)?;
    let measured = measure(args, &node, &outputs)?;
    if measured.ran.file.observations.is_empty() {
        // No trial was begun: what ended that is the answer, and there is no table.
        return outputs.end(measured.ran);
    }
    has_stages(args, &measured.ran.file)?;
    let shown = show(args, &measured.ran.file, before.as_ref(), &pages)?;
    match outputs.end(measured.ran)? {
        Outcome::Done if measured.is_whole => Ok(shown),
        Outcome::Done => Ok(Outcome::Missed),
        missed => Ok(missed),
    }
}

/// What the stages are of.
enum Subject {
    /// Of a results file.
    File(PathBuf),
    /// Of this host, at an interface whose frames another host sends.
    Here(String),
    /// Of a node that runs trials.
    Node(Asking),
}

/// The name of a node, and what is known of it before it is opened.
struct Asking {
    name: NodeName,
    kind: &'static NodeKind,
    profile: Profile,
}

impl Subject {
    fn of(text: &str) -> Fallible<Subject> {
        let path = Path::new(text);
        if path.extension().is_some_and(|e| e == "json") {
            return Ok(Subject::File(path.to_owned()));
        }
        let name: NodeName = text.parse()?;
        if let Some(interface) = Watch::interface_of(&name)? {
            return Ok(Subject::Here(interface));
        }
        let (name, kind) = KINDS.parse(text)?;
        let profile = (kind.profile)(&name);
        Ok(Subject::Node(Asking {
            name,
            kind,
            profile,
        }))
    }
}

/// The request and its results.
struct Measured {
    ran: PlanResult,
    /// Whether all was asked that the user wanted.
    is_whole: bool,
}

/// Results files, and pages.
fn split(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let is_results =
        |path: &PathBuf| Format::of_path(path).is_ok_and(|format| format == Format::Json);
    paths.iter().cloned().partition(is_results)
}

fn measure(args: &StagesArgs, asking: &Asking, outputs: &Outputs) -> Fallible<Measured> {
    let ways = ways::of(args, asking.profile.stages.may_add_tag)?;
    let (bar, cancel) = (Bar::new(), cancel_on_signal());
    let mut ceiling =
        NoCeiling("stages are the node's own, whatever the tester reaches".to_owned());
    let names = sweep::names(args, &asking.name)?;
    predicted::refuse(args, &sweep::setups(asking.kind, &names)?)?;
    if names.len() > 1 {
        return sweep::measure(args, outputs, (asking.kind, &names), &ways, (&bar, &cancel));
    }
    let mut node = open(args, asking.kind, &names[0])?;
    for notice in node.notices() {
        bar.line(&format!("node: {notice}"));
    }
    let (description, kept) = (node.describe(), node.capture_limits());
    let able = &description.capabilities;
    let frames = frames(args.count, kept.in_all)?;
    let trials = Trials {
        lengths: &args.length,
        frames,
        load: ways::load(args)?,
        able,
    };
    let source = node.stages();
    match source {
        StageSource::Traced => ways::has_path(args, &ways, &description)?,
        StageSource::Simulated => ways::refuse(args, &ways)?,
        StageSource::Counted | StageSource::Timed => refuse(args, &ways)?,
    }
    let mut half = None;
    if source == StageSource::Traced && ways.background == Offered::Half {
        let wait = ways.waits.first().copied().flatten();
        let found = stages::half(&mut *node, framing(able), wait, &bar, &cancel);
        bar.clear();
        let found = half.insert(found.map_err(Failure::usage)?);
        bar.line(&found.text);
    }
    let background = ways.beside(half.as_ref());
    let plan = trials.plan(source, kept.of_a_trial, &ways, background, args.count);
    let plan = plan.map_err(Failure::usage)?;
    let mut ran = outputs.run(&mut *node, &plan, &mut ceiling, &bar, &cancel, None)?;
    let is_whole = half.as_ref().is_none_or(|half| half.background.is_some());
    let (told, searched) = half.map(|half| (half.text, half.part)).unzip();
    let (seen, told) = (&ran.file.observations, told.into_iter().collect());
    ran.file.measuring = facts(&mut *node, args.length[0], &ways, seen, told, &cancel);
    ran.file.parts.extend(searched);
    if args.predicted {
        let predicted = reference::delays(&description, &args.length, frames, &cancel)?;
        ran.file.observations.extend(predicted);
    }
    if args.predicted || ran.file.measuring.is_some() {
        outputs.save_again(&ran)?;
    }
    Ok(Measured { ran, is_whole })
}

impl Measured {
    const fn whole(ran: PlanResult) -> Measured {
        Measured {
            ran,
            is_whole: true,
        }
    }
}

/// The node of a name that is made of what was asked.
fn open(args: &StagesArgs, kind: &NodeKind, name: &NodeName) -> Fallible<Box<dyn Node>> {
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
    Ok(KINDS.open_parsed(name, kind, &options)?)
}

/// Refuse what only a Linux node can be asked.
fn refuse(args: &StagesArgs, ways: &Ways) -> Fallible<()> {
    match ways.is_plain() {
        true => Ok(()),
        false => Err(Failure::usage(format!(
            "{}: --fast-track, --wait, --background and --probes are for Linux nodes that trace themselves; fix: name lab:, or \
             node:HOST where 'wirelab node serve' runs",
            args.node
        ))),
    }
}

/// Frames of each trial: more than a node keeps the times of would come without them, in silence.
fn frames(asked: Option<u64>, most: Option<u64>) -> Fallible<u64> {
    let most = most.unwrap_or(u64::MAX);
    match asked {
        Some(0) => Err(Failure::usage(
            "--count 0: without frames there are no times; fix: write at least 1, e.g. --count 512",
        )),
        Some(frames) if frames > most => Err(Failure::usage(format!(
            "--count {frames}: this node keeps the records of 1 to {most} frames of a trial; fix: give --count \
             {most}, several times where more are wanted"
        ))),
        Some(frames) => Ok(frames),
        None => Ok(FRAMES.min(most)),
    }
}

/// The run that this one is compared with, and the limit.
struct Before {
    file: ResultsFile,
    rows: Vec<StageFigures>,
    gate: Option<f64>,
}

impl Before {
    /// The stages of a results file to compare with, which must be counted.
    fn of(args: &StagesArgs) -> Fallible<Option<Before>> {
        let gate = args.gate.as_deref().map(limit).transpose()?;
        let Some(path) = &args.against else {
            return match gate {
                None => Ok(None),
                Some(_) => Err(Failure::usage(
                    "--gate compares this run with another; fix: name its results file with --against FILE.json, made by \
                     'wirelab stages NODE -o FILE.json'",
                )),
            };
        };
        let file = read(path)?;
        let rows = stage::table(&file);
        match rows.iter().any(|row| row.clock == ClockKind::Instructions) {
            true => Ok(Some(Before { file, rows, gate })),
            false => Err(Failure::usage(format!(
                "--against {}: it holds no stages counted in instructions, and times are not compared; fix: make one with \
                 'wirelab stages board:NAME -o FILE.json'",
                path.display()
            ))),
        }
    }

    fn against(&self, rows: &[StageFigures]) -> Option<Against<'_>> {
        Some(Against {
            before: &self.rows,
            changes: stage::changes(&self.rows, rows)?,
            paths: paths_of(&self.file),
            gate: self.gate,
        })
    }
}

/// By how much a stage may grow.
fn limit(text: &str) -> Fallible<f64> {
    share(text.strip_prefix('+').unwrap_or(text)).ok_or_else(|| {
        Failure::usage(format!(
            "--gate: invalid share '{text}'; fix: write a percentage, e.g. +2%"
        ))
    })
}

/// Whether a file is one of paths of calls: a flame graph, or folded paths.
fn is_of_paths(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == SVG || e == FOLDED)
}

/// The paths of a run as a picture or as text.
fn paths_as(path: &Path, file: &ResultsFile, against: Option<&Against<'_>>) -> Fallible<String> {
    let now = paths_of(file);
    if now.is_empty() {
        return Err(Failure::usage(format!(
            "{}: these results hold no paths of calls; fix: count them: wirelab stages qemu:FILE.toml",
            path.display()
        )));
    }
    let before = against
        .map(|against| against.paths)
        .filter(|paths| !paths.is_empty());
    Ok(match path.extension().is_some_and(|e| e == SVG) {
        true => svg(now, before),
        false => folded(now),
    })
}

/// The error of a trial that did not run: an empty table would hide the reason.
fn begun(observation: &Observation) -> Fallible<()> {
    match &observation.status {
        Status::Void { why } if observation.warned(WarningCode::NODE_FAILED) => {
            Err(Failure::failed(why))
        }
        Status::Void { why } => Err(Failure::usage(why)),
        _ => Ok(()),
    }
}

/// Whether there is anything to show.
fn has_stages(args: &StagesArgs, file: &ResultsFile) -> Fallible<()> {
    if !stage::table(file).is_empty() {
        return Ok(());
    }
    file.observations.iter().try_for_each(begun)?;
    Err(Failure::usage(format!(
        "{} has no capture points, or took no times; fix: name hdl:reference, board:NAME, a node:HOST with points, or results of them",
        args.node
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
            save(path, &paths_as(path, file, against)?)?;
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
        let all = json::of(file, &rows, against);
        let text = serde_json::to_string_pretty(&all).expect("plain data become JSON");
        say!("{text}");
    } else {
        let text = render_stages(file, against, Format::Terminal, &options);
        put!("{}", text.map_err(Failure::usage)?);
    }
    if rows.is_empty() {
        let said = file.observations.iter().flat_map(|o| &o.warnings);
        let said: Vec<String> = said.map(|w| format!("{}; {}", w.text, w.fix)).collect();
        return Err(Failure::failed(said.join("\n")));
    }
    let Some(against) = against else {
        return Ok(Outcome::Done);
    };
    let failed: Vec<&Change> = against
        .changes
        .iter()
        .filter(|c| against.fails(c))
        .collect();
    if let Some(limit) = against.gate {
        let functions = changed(against.paths, paths_of(file));
        for change in &failed {
            complain(format_args!(
                "wirelab: {}",
                reason(change, &functions, limit)
            ));
        }
    }
    Ok(Outcome::of(failed.is_empty()))
}
