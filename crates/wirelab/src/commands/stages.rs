//! `wirelab stages`: the table of a node's stages, from a run or from results, and what grew since another run.

use std::path::{Path, PathBuf};

use serde_json::json;
use wirelab_bench::NoCeiling;
use wirelab_bench::run::NODE_FAILED;
use wirelab_bench::ways::{beside, loss_free, overheads};
use wirelab_board::count::CountNode;
use wirelab_board::{Emulator, Options, catalogue};
use wirelab_ports::PortsOptions;
use wirelab_report::{Format, render_stages};
use wirelab_trial::crossover::crossovers;
use wirelab_trial::measuring::Measuring;
use wirelab_trial::stage::{self, Change, StageFigures};
use wirelab_trial::{ClockKind, Found, Node, Observation, ResultsFile, Status};

use crate::args::StagesArgs;
use crate::commands::report::{on_paper, read, save};
use crate::commands::trials::{Outputs, Ran};
use crate::exit::{Failure, Outcome, Result};
use crate::labs::LabNode;
use crate::nodes::{self, REFERENCE};
use crate::terminal::{Bar, cancel_on_signal, put, report_options, say};

mod alone;
mod background;
mod flow;
mod here;
mod options;
mod plan;
mod predicted;
mod sweep;
mod told;
mod warm;

use plan::{Offered, Ways};

type Asked<T> = std::result::Result<T, Failure>;

/// Frames of a trial where none are asked.
const FRAMES: u64 = 512;
/// The set-up key by which a Linux node tells how it traces itself.
const TRACES: &str = "probes";
/// Payload of the longest frame of a lab that is made for the trials.
const LARGEST_PAYLOAD: u32 = 1500;

pub fn run(args: &StagesArgs) -> Result {
    // What cannot be compared or written is refused before anything runs.
    let before = args.against.as_deref().map(instructions).transpose()?;
    for path in &args.output {
        Format::of_path(path).map_err(Failure::usage)?;
    }
    options::refuse(args)?;
    if is_file(&args.node) {
        let file = read(Path::new(&args.node))?;
        return show(args, &file, before.as_deref(), &args.output);
    }
    if let Some(port) = args.node.strip_prefix("here:") {
        return here::run(args, port);
    }
    let (results, pages) = split(&args.output);
    let outputs = Outputs::of(&results)?;
    let measured = measure(args, &outputs)?;
    if measured.ran.file.observations.is_empty() {
        // No trial was begun: what ended that is the answer, and there is no table.
        return outputs.end(measured.ran);
    }
    let shown = show(args, &measured.ran.file, before.as_deref(), &pages)?;
    match outputs.end(measured.ran)? {
        Outcome::Done if measured.is_whole => Ok(shown),
        Outcome::Done => Ok(Outcome::Missed),
        missed => Ok(missed),
    }
}

/// Whether a name is that of a results file.
fn is_file(name: &str) -> bool {
    let extension = Path::new(name).extension();
    extension.is_some_and(|e| e == "json")
}

/// What was asked, and what came of it.
struct Measured {
    ran: Ran,
    /// Whether all was asked that the user wanted.
    is_whole: bool,
}

/// Results files, and pages.
fn split(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let is_results =
        |path: &PathBuf| Format::of_path(path).is_ok_and(|format| format == Format::Json);
    paths.iter().cloned().partition(is_results)
}

fn measure(args: &StagesArgs, outputs: &Outputs) -> Asked<Measured> {
    let ways = Ways::of(args)?;
    let (bar, cancel) = (Bar::new(), cancel_on_signal());
    let mut ceiling =
        NoCeiling("stages are the node's own, whatever the tester reaches".to_owned());
    if let Some(mut node) = counting(args)? {
        refuse(args, &ways)?;
        let able = node.describe().capabilities;
        let frames = frames(args.count, None)?;
        let plan = plan::plain(args, &able, frames, None)?;
        let ran = outputs.run(&mut node, &plan, &mut ceiling, &bar, &cancel, None)?;
        return Ok(Measured::whole(ran));
    }
    let names = sweep::names(args)?;
    predicted::refuse(args, &sweep::setups(&names)?)?;
    if names.len() > 1 {
        return sweep::measure(args, outputs, &names, &ways, (&bar, &cancel));
    }
    let (mut node, most) = open(args, &names[0], &bar)?;
    let description = node.describe();
    let able = &description.capabilities;
    let frames = frames(args.count, most.in_all)?;
    if args.node.starts_with(REFERENCE) {
        let plan = plan::reference(args, able, frames, &ways)?;
        let mut ran = outputs.run(&mut *node, &plan, &mut ceiling, &bar, &cancel, None)?;
        if args.predicted {
            let told = predicted::of(args, &description, frames, &cancel)?;
            ran.file.observations.extend(told);
            outputs.save_again(&ran)?;
        }
        return Ok(Measured::whole(ran));
    }
    if !description.setup.contains_key(TRACES) {
        refuse(args, &ways)?;
        let plan = plan::plain(args, able, frames, Some(most.of_a_trial))?;
        let ran = outputs.run(&mut *node, &plan, &mut ceiling, &bar, &cancel, None)?;
        return Ok(Measured::whole(ran));
    }
    if ways.rule.is_some() && !able.paths.contains(&wirelab_trial::Path::FastTrack) {
        let why = description.setup.get("xdp").map_or("none", String::as_str);
        return Err(Failure::usage(format!(
            "{}: this node has no path fast-track (XDP: {why}): see what it says when it starts, or leave --fast-track out",
            args.node
        )));
    }
    let (mut notes, mut searched) = (Vec::new(), None);
    let background = match ways.background {
        Offered::Nothing => None,
        Offered::Load(background) => Some(background),
        Offered::Half => {
            let wait = ways.waits.first().copied().flatten();
            let half = background::half(&mut *node, plan::framing(able), wait, &bar, &cancel)?;
            bar.line(&half.text);
            notes.push(half.text);
            searched = Some(half.part);
            half.background
        }
    };
    let is_whole = background.is_some() || ways.background == Offered::Nothing;
    let plan = plan::linux(args, able, (frames, most.of_a_trial), &ways, background)?;
    let mut ran = outputs.run(&mut *node, &plan, &mut ceiling, &bar, &cancel, None)?;
    notes.extend(told::notes(&description, &ran.file.observations));
    let seen = &ran.file.observations;
    let costs = warm::costs(&mut *node, args, &ways, seen, &mut notes, &cancel);
    ran.file.measuring = Some(Measuring {
        overheads: overheads(&ran.file.observations),
        costs,
        notes,
    });
    ran.file.parts.extend(searched);
    outputs.save_again(&ran)?;
    Ok(Measured { ran, is_whole })
}

impl Measured {
    const fn whole(ran: Ran) -> Measured {
        Measured {
            ran,
            is_whole: true,
        }
    }
}

/// Frames whose times a node keeps.
struct Kept {
    /// Of a trial; a trial of more is asked in parts.
    of_a_trial: u64,
    /// In all, where that is few.
    in_all: Option<u64>,
}

/// The node of a name that is made of what was asked, and how many frames it keeps the times of.
fn open(args: &StagesArgs, name: &str, bar: &Bar) -> Asked<(Box<dyn Node>, Kept)> {
    if let Some(rest) = args.node.strip_prefix("lab:") {
        // Steered, the stack's work would move to another core and the fast track's would not; and there it interrupts
        // whatever runs, which on some hosts may be a process during which no tracing program is run.
        let options = ["--xdp", &args.xdp, "--receive-work", "leave"].map(str::to_owned);
        let node = LabNode::start(&args.node, rest, LARGEST_PAYLOAD, &options)?;
        for notice in node.notices() {
            bar.line(&format!("node: {notice}"));
        }
        let kept = Kept {
            of_a_trial: node.most_captures(),
            in_all: None,
        };
        return Ok((Box::new(node), kept));
    }
    let image = args.image.as_deref();
    let node = nodes::with_image(name, image, PortsOptions::default(), LARGEST_PAYLOAD)?;
    let kept = Kept {
        of_a_trial: node.captures_of_a_trial(),
        in_all: node.most_captures(),
    };
    Ok((Box::new(node), kept))
}

/// Refuse what only a Linux node can be asked.
fn refuse(args: &StagesArgs, ways: &Ways) -> Asked<()> {
    match ways.is_plain() {
        true => Ok(()),
        false => Err(Failure::usage(format!(
            "{}: --fast-track, --wait, --background and --probes are for Linux nodes that trace themselves: lab:, or \
             node:HOST where 'wirelab node serve' runs",
            args.node
        ))),
    }
}

/// A board that counts instructions, where that was asked.
fn counting(args: &StagesArgs) -> Asked<Option<CountNode>> {
    let Some(name) = args.node.strip_prefix("board:") else {
        return Ok(None);
    };
    if nodes::lpc1768(&args.node).is_some() {
        return match &args.image {
            // Its options stand behind its name.
            Some(image) => Err(Failure::usage(format!(
                "--image is for boards in QEMU; write board:lpc1768,image={}",
                image.display()
            ))),
            None => Ok(None),
        };
    }
    let board = catalogue::find(name).map_err(Failure::usage)?;
    if args.wall || !matches!(board.emulator, Emulator::Qemu(_)) {
        return Ok(None);
    }
    let options = Options {
        image: args.image.clone(),
        ..Options::default()
    };
    CountNode::open(&args.node, name, &options)
        .map(Some)
        .map_err(Failure::from)
}

/// Frames of each trial: more than a node keeps the times of would come without them, in silence.
fn frames(asked: Option<u64>, most: Option<u64>) -> Asked<u64> {
    let most = most.unwrap_or(u64::MAX);
    match asked {
        Some(0) => Err(Failure::usage(
            "--count 0: of no frame there is no time to show: ask for at least 1, e.g. --count 512",
        )),
        Some(frames) if frames > most => Err(Failure::usage(format!(
            "--count {frames}: this node keeps the records of 1 to {most} frames of a trial: ask for --count \
             {most}, several times where more are wanted"
        ))),
        Some(frames) => Ok(frames),
        None => Ok(FRAMES.min(most)),
    }
}

/// The stages of a results file to compare with, which must be counted.
fn instructions(path: &Path) -> Asked<Vec<StageFigures>> {
    let rows = stage::table(&read(path)?);
    match rows.iter().any(|row| row.clock == ClockKind::Instructions) {
        true => Ok(rows),
        false => Err(Failure::usage(format!(
            "--against {}: it holds no stages counted in instructions, and times are not compared; make one with \
             'wirelab stages board:NAME -o FILE.json'",
            path.display()
        ))),
    }
}

/// Whether a trial came to pass; a table without a row is no answer to what was refused.
fn begun(observation: &Observation) -> Asked<()> {
    match &observation.status {
        Status::Void { why } if observation.warnings.iter().any(|w| w.code == NODE_FAILED) => {
            Err(Failure::failed(why))
        }
        Status::Void { why } => Err(Failure::usage(why)),
        _ => Ok(()),
    }
}

/// The rate without loss that each search of a results file tells, or why it tells none.
fn rates(file: &ResultsFile) -> Vec<serde_json::Value> {
    let found = file.parts.iter().filter_map(|part| part.found.as_ref());
    let rates = found.filter_map(|found| match found {
        Found::Rates(found) => Some(loss_free(found)),
        _ => None,
    });
    rates
        .map(|rate| match rate {
            Ok(rate) => json!(rate),
            Err(why) => json!({ "absent": why }),
        })
        .collect()
}

/// Write the pages, show the table, and compare.
fn show(
    args: &StagesArgs,
    file: &ResultsFile,
    before: Option<&[StageFigures]>,
    pages: &[PathBuf],
) -> Result {
    let rows = stage::table(file);
    if rows.is_empty() {
        file.observations.iter().try_for_each(begun)?;
        if !args.node.starts_with("here:") {
            return Err(Failure::usage(format!(
                "{} has no capture points, or took no times: ask {REFERENCE}, board:NAME, node:HOST, or results of them",
                args.node
            )));
        }
    }
    let changes: Option<Vec<Change>> = before.and_then(|before| stage::changes(before, &rows));
    let options = report_options(None, false);
    for path in pages {
        let format = Format::of_path(path).map_err(Failure::usage)?;
        let text = match format {
            Format::Json => file.to_json(),
            _ => render_stages(file, changes.as_deref(), format, &on_paper(&options))
                .map_err(Failure::usage)?,
        };
        save(path, &text)?;
    }
    if args.json {
        let all = json!({
            "stages": rows,
            "changes": changes,
            "ways": beside(&file.observations),
            "trials": told::trials(file),
            "crossovers": crossovers(file),
            "measuring": file.measuring,
            "searches": file.parts.iter().filter(|part| part.found.is_some()).collect::<Vec<_>>(),
            "loss_free": rates(file),
        });
        let text = serde_json::to_string_pretty(&all).expect("plain data become JSON");
        say!("{text}");
    } else {
        let text = render_stages(file, changes.as_deref(), Format::Terminal, &options);
        put!("{}", text.map_err(Failure::usage)?);
    }
    if rows.is_empty() {
        let said = file.observations.iter().flat_map(|o| &o.warnings);
        let said: Vec<String> = said.map(|w| format!("{}; {}", w.text, w.way_out)).collect();
        return Err(Failure::failed(said.join("\n")));
    }
    let grew = changes.iter().flatten().any(Change::is_worse);
    Ok(Outcome::of(!grew))
}
