//! Which trials `wirelab stages` asks: each length both ways, and where a fast track or a background was asked, the
//! ways beside each other in blocks that alternate.

use wirelab_bench::ways::{FRAMES_FOR_P99, block, blocks};
use wirelab_bench::{Matrix, Plan, Section};
use wirelab_trial::{
    Background, Capabilities, Direction, Extent, Framing, Layer, Load, Path, Probes, Size,
    SizeUnit, Wait,
};
use wirelab_wire::rule::Rules;

use super::flow;
use crate::args::StagesArgs;
use crate::exit::{Failure, Fallible};

/// Blocks that the frames of a trial are divided into where two things alternate: with 8 pairs the order
/// statistics of the median hold it with more than 95 % (RFC 2544 knows none; see `wirelab_trial::Summary`).
const USUAL_BLOCKS: u32 = 8;

/// What was asked of a Linux node beyond lengths and frames.
#[derive(Clone, Debug)]
pub struct Ways {
    /// How the application waits.
    pub waits: Vec<Option<Wait>>,
    /// The frames of the fast track, where it was asked.
    pub rule: Option<String>,
    /// The flow whose frames those can be.
    pub flow: Framing,
    /// What else arrives.
    pub background: Offered,
    /// What takes the times.
    pub probes: Probes,
}

/// A background as it was asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offered {
    /// Nothing else.
    Nothing,
    /// Half of the stack's loss-free rate, which is to be found.
    Half,
    /// That.
    Load(Background),
}

impl Ways {
    /// Read what was asked; `may_add_tag` says that a VLAN interface may be on the way to the node.
    pub fn of(args: &StagesArgs, may_add_tag: bool) -> Fallible<Ways> {
        let (rule, flow) = rules(args, may_add_tag)?;
        let waits = match (args.wait.as_deref(), &rule) {
            (Some("both"), _) | (None, Some(_)) => vec![Some(Wait::Spin), Some(Wait::Sleep)],
            (Some(word), _) => {
                let wait = word.parse::<Wait>();
                vec![Some(wait.map_err(|_| {
                    Failure::usage(format!("--wait {word}: write sleep, spin or both"))
                })?)]
            }
            (None, None) => vec![None],
        };
        let background = match args.background.as_deref() {
            None => Offered::Nothing,
            Some("half") => Offered::Half,
            Some(text) => Offered::Load(text.parse().map_err(|e| {
                Failure::usage(format!(
                    "--background: {e}, or half of the stack's own rate"
                ))
            })?),
        };
        let offered = match background {
            Offered::Nothing => None,
            Offered::Half => Some(Background {
                load: Load::Max,
                size: Background::SIZE,
            }),
            Offered::Load(background) => Some(background),
        };
        if let Some((rules, background)) = rule.as_ref().zip(offered) {
            flow::keeps_off(rules, &background)
                .map_err(|why| Failure::usage(format!("--fast-track {rules}: {why}")))?;
        }
        let probes = args.probes.parse();
        Ok(Ways {
            waits,
            rule: rule.map(|rules| rules.to_string()),
            flow,
            background,
            probes: probes.map_err(|e| Failure::usage(format!("--probes: {e}")))?,
        })
    }

    /// Whether anything was asked that only a Linux node can do.
    pub fn is_plain(&self) -> bool {
        let plain = self.rule.is_none() && self.background == Offered::Nothing;
        plain && self.waits == [None] && self.probes == Probes::Auto
    }
}

/// The rules of the fast track, where it was asked, and the framing of a flow that they can want.
fn rules(args: &StagesArgs, may_add_tag: bool) -> Fallible<(Option<Rules>, Framing)> {
    let bad = |rules: &str, why: &dyn std::fmt::Display| {
        Failure::usage(format!("--fast-track {rules}: {why}"))
    };
    if args.fast_track.is_empty() {
        return Ok((None, Framing::default()));
    }
    let text = args.fast_track.join(";");
    let rules: Rules = text.parse().map_err(|error| bad(&text, &error))?;
    if args.xdp == "off" {
        let why = "the identifier is an XDP program, and --xdp off allows none: leave --xdp out, or ask --xdp generic";
        return Err(bad(&text, &why));
    }
    let flow = flow::matching(&rules, may_add_tag).map_err(|why| bad(&text, &why))?;
    Ok((Some(rules), flow))
}

/// The trials of a node that cannot be asked more than lengths, load and frames: of one that keeps the times of so many
/// frames of a trial, or, where it keeps `None`, counts instructions.
pub fn plain(
    args: &StagesArgs,
    able: &Capabilities,
    frames: u64,
    kept: Option<u64>,
) -> Fallible<Plan> {
    let mut matrix = matrix("stages", args, able);
    matrix.shared.extent = Extent::Frames { frames };
    matrix.loads = vec![Load::Max];
    matrix.directions = vec![Direction::Both];
    if let Some(kept) = kept {
        let repeats = divided(frames, 1, kept)?;
        matrix.shared.extent = block(frames, repeats);
        matrix.repeats = repeats;
        matrix.loads = vec![load(args)?];
        matrix.directions = both_ways(able);
    }
    Ok(Plan::of(Section::Matrix(matrix)))
}

/// The trials of the reference node: both ways of the same frames, one when the one before is back; with a rule the stack and
/// the fast track beside each other.
pub fn reference(
    args: &StagesArgs,
    able: &Capabilities,
    frames: u64,
    ways: &Ways,
) -> Fallible<Plan> {
    if ways.probes != Probes::Auto || args.wait.is_some() {
        return Err(Failure::usage(format!(
            "{}: --wait and --probes are for Linux nodes: leave them out",
            args.node
        )));
    }
    let mut matrix = matrix("stages", args, able);
    matrix.shared.extent = Extent::Frames { frames };
    matrix.loads = vec![Load::Max];
    matrix.directions = vec![Direction::Both];
    if ways.rule.is_some() {
        matrix.paths = vec![Some(Path::Stack), Some(Path::FastTrack)];
        matrix.shared.rule.clone_from(&ways.rule);
    }
    Ok(Plan::of(Section::Matrix(matrix)))
}

/// The trials of a Linux node: each length both ways with the probes on and off in turn, and the fast track beside the
/// stack, unloaded and with the background.
pub fn linux(
    args: &StagesArgs,
    able: &Capabilities,
    (frames, kept): (u64, u64),
    ways: &Ways,
    background: Option<Background>,
) -> Fallible<Plan> {
    let repeats = divided(frames, USUAL_BLOCKS, kept)?;
    let mut sections = Vec::new();
    let mut common = matrix("stages", args, able);
    common.loads = vec![load(args)?];
    common.shared.extent = block(frames, repeats);
    common.repeats = repeats;
    let backgrounds: Vec<Option<Background>> = match background {
        Some(background) => vec![None, Some(background)],
        None => vec![None],
    };
    let mut stages = common.clone();
    stages.directions = both_ways(able);
    stages.probes = match ways.probes {
        Probes::Off => vec![Some(Probes::Off)],
        on => vec![Some(on), Some(Probes::Off)],
    };
    match &ways.rule {
        // The stack alone, also with what else arrives.
        None => {
            stages.waits.clone_from(&ways.waits);
            stages.backgrounds = backgrounds;
            sections.push(Section::Matrix(stages));
        }
        Some(rule) => {
            sections.push(Section::Matrix(stages));
            let mut beside = common;
            "fast track beside the stack".clone_into(&mut beside.name);
            beside.framings = vec![ways.flow];
            beside.directions = vec![Direction::Receive];
            beside.paths = vec![Some(Path::Stack), Some(Path::FastTrack)];
            beside.shared.rule = Some(rule.clone());
            beside.waits.clone_from(&ways.waits);
            beside.backgrounds = vec![None];
            beside.probes = vec![Some(ways.probes)];
            let loaded = background.map(|background| -> Fallible<Matrix> {
                let mut loaded = beside.clone();
                "fast track beside the stack, beside a background".clone_into(&mut loaded.name);
                loaded.backgrounds = vec![Some(background)];
                // A 99 % is judged there, block by block; and the two ways take turns in one trial, which has the times
                // of both.
                let frames = args.count.unwrap_or(FRAMES_FOR_P99);
                loaded.repeats = divided(frames, USUAL_BLOCKS, (kept / 2).max(1))?;
                loaded.shared.extent = block(frames, loaded.repeats);
                Ok(loaded)
            });
            sections.push(Section::Matrix(beside));
            sections.extend(loaded.transpose()?.map(Section::Matrix));
        }
    }
    Ok(Plan {
        sections,
        ..Plan::default()
    })
}

/// Into how many blocks of one size the frames of a trial are divided, so that a node that keeps the times of so many
/// keeps those of all.
fn divided(frames: u64, usual: u32, kept: u64) -> Fallible<u32> {
    blocks(frames, usual, kept).map_err(|[fewer, more]| {
        Failure::usage(format!(
            "--count {frames}: the node keeps the times of {kept} frames of a trial, and {frames} cannot be \
             divided into few enough trials of one size: ask --count {fewer} or {more}"
        ))
    })
}

fn matrix(name: &str, args: &StagesArgs, able: &Capabilities) -> Matrix {
    let sizes = args.length.iter();
    let sizes = sizes.map(|b| Size::new(SizeUnit::Length, *b)).collect();
    let mut matrix = Matrix::new(name, sizes);
    matrix.framings = vec![framing(able)];
    matrix
}

/// UDP where the node has it, as the document's application.
pub fn framing(able: &Capabilities) -> Framing {
    let layer = match able.layers.contains(&Layer::UdpIpv4) {
        true => Layer::UdpIpv4,
        false => Layer::Ethernet,
    };
    Framing {
        layer,
        vlan_tags: 0,
    }
}

/// The ways in and out that the node has.
pub fn both_ways(able: &Capabilities) -> Vec<Direction> {
    let ways = [Direction::Receive, Direction::Transmit];
    let ways = ways.into_iter().filter(|way| able.directions.contains(way));
    ways.collect()
}

fn load(args: &StagesArgs) -> Fallible<Load> {
    let load = args.load.parse();
    let load: Load = load.map_err(|e| Failure::usage(format!("--load: {e}")))?;
    match load {
        Load::Max => Err(Failure::usage(
            "--load max: at the highest load queues are full, and a stage's time is the queue's; give a rate that the \
             node takes with ease, e.g. --load 1kpps",
        )),
        load => Ok(load),
    }
}
