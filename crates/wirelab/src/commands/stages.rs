//! `wirelab stages`: the table of a node's stages, from a run or from results, and what grew since another run.

use std::path::Path;

use serde_json::json;
use wirelab_bench::run::NODE_FAILED;
use wirelab_bench::{Matrix, NoCeiling, Plan, Section};
use wirelab_board::count::CountNode;
use wirelab_board::{Emulator, Options, catalogue};
use wirelab_ports::PortsOptions;
use wirelab_report::{Format, render_stages};
use wirelab_trial::stage::{self, Change, StageFigures};
use wirelab_trial::{
    ClockKind, Description, Direction, Extent, Framing, Layer, Load, Node, Observation,
    ResultsFile, Size, SizeUnit, Status,
};

use crate::args::StagesArgs;
use crate::commands::report::{on_paper, read, save};
use crate::commands::trials::{Outputs, Ran};
use crate::exit::{Failure, Outcome, Result};
use crate::nodes;
use crate::terminal::{Bar, cancel_on_signal, put, report_options, say};

type Asked<T> = std::result::Result<T, Failure>;

/// Frames of a trial where none are asked.
const FRAMES: u64 = 512;
/// Payload of the longest frame of a lab that is made for the trials.
const LARGEST_PAYLOAD: u32 = 1500;

pub fn run(args: &StagesArgs) -> Result {
    // What cannot be compared or written is refused before anything runs.
    let before = args.against.as_deref().map(instructions).transpose()?;
    for path in &args.output {
        Format::of_path(path).map_err(Failure::usage)?;
    }
    if Path::new(&args.node)
        .extension()
        .is_some_and(|e| e == "json")
    {
        let file = read(Path::new(&args.node))?;
        return show(args, &file, before.as_deref(), &args.output);
    }
    let (results, pages): (Vec<_>, Vec<_>) = args
        .output
        .iter()
        .cloned()
        .partition(|path| Format::of_path(path).is_ok_and(|format| format == Format::Json));
    let outputs = Outputs::of(&results)?;
    let (plan, ran) = measure(args, &outputs)?;
    let shown = show(args, &ran.file, before.as_deref(), &pages)?;
    match outputs.end(ran, &plan)? {
        Outcome::Done => Ok(shown),
        missed => Ok(missed),
    }
}

fn measure(args: &StagesArgs, outputs: &Outputs) -> Asked<(Plan, Ran)> {
    let (bar, cancel) = (Bar::new(), cancel_on_signal());
    let mut ceiling =
        NoCeiling("stages are the node's own, whatever the tester reaches".to_owned());
    if let Some(mut node) = counting(args)? {
        let plan = plan(args, &node.describe(), args.count.unwrap_or(FRAMES), true)?;
        let ran = outputs.run(&mut node, &plan, &mut ceiling, &bar, &cancel, None)?;
        return Ok((plan, ran));
    }
    let image = args.image.as_deref();
    let mut node = nodes::with_image(&args.node, image, PortsOptions::default(), LARGEST_PAYLOAD)?;
    let plan = plan(
        args,
        &node.describe(),
        frames(args.count, node.most_captures())?,
        false,
    )?;
    let ran = outputs.run(&mut node, &plan, &mut ceiling, &bar, &cancel, None)?;
    Ok((plan, ran))
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
        Some(frames) if !(1..=most).contains(&frames) => Err(Failure::usage(format!(
            "--count {frames}: this node keeps the records of 1 to {most}"
        ))),
        Some(frames) => Ok(frames),
        None => Ok(FRAMES.min(most)),
    }
}

fn plan(args: &StagesArgs, node: &Description, frames: u64, counts: bool) -> Asked<Plan> {
    let able = &node.capabilities;
    let layer = match able.layers.contains(&Layer::UdpIpv4) {
        true => Layer::UdpIpv4,
        false => Layer::Ethernet,
    };
    let sizes = args.length.iter();
    let sizes = sizes.map(|b| Size::new(SizeUnit::Length, *b)).collect();
    let mut matrix = Matrix::new("stages", sizes);
    matrix.framings = vec![Framing {
        layer,
        vlan_tags: 0,
    }];
    matrix.extent = Extent::Frames { frames };
    matrix.loads = vec![Load::Max];
    matrix.directions = vec![Direction::Both];
    if !counts {
        let load = args.load.parse();
        matrix.loads = vec![load.map_err(|e| Failure::usage(format!("--load: {e}")))?];
        let ways = [Direction::Receive, Direction::Transmit];
        let ways = ways.into_iter().filter(|way| able.directions.contains(way));
        matrix.directions = ways.collect();
    }
    Ok(Plan::of(Section::Matrix(matrix)))
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

/// Write the pages, show the table, and compare.
fn show(
    args: &StagesArgs,
    file: &ResultsFile,
    before: Option<&[StageFigures]>,
    pages: &[std::path::PathBuf],
) -> Result {
    let rows = stage::table(file);
    if rows.is_empty() {
        file.observations.iter().try_for_each(begun)?;
    }
    let changes: Option<Vec<Change>> = before.and_then(|before| stage::changes(before, &rows));
    let options = report_options(None, false);
    for path in pages {
        let format = Format::of_path(path).map_err(Failure::usage)?;
        let text = match format {
            Format::Json => file.to_json(),
            _ => render_stages(&rows, changes.as_deref(), format, &on_paper(&options))
                .map_err(Failure::usage)?,
        };
        save(path, &text)?;
    }
    if args.json {
        let all = json!({ "stages": rows, "changes": changes });
        let text = serde_json::to_string_pretty(&all).expect("plain data become JSON");
        say!("{text}");
    } else {
        let text = render_stages(&rows, changes.as_deref(), Format::Terminal, &options);
        put!("{}", text.map_err(Failure::usage)?);
    }
    if rows.is_empty() {
        return Err(Failure::usage(format!(
            "{} has no capture points, or took no times: ask board:NAME, node:HOST, or results of them",
            args.node
        )));
    }
    let grew = changes.iter().flatten().any(Change::is_worse);
    Ok(Outcome::of(!grew))
}
