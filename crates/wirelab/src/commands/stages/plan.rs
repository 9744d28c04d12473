//! Which trials `wirelab stages` asks: each length both ways, and where a fast track or a background was asked, the
//! ways beside each other in blocks that alternate.

use wirelab_bench::ways::{block, blocks};
use wirelab_bench::{Matrix, Plan, Section};
use wirelab_trial::{
    Background, Capabilities, Direction, Extent, Framing, Layer, Load, Path, Probes, Size,
    SizeUnit, Wait,
};
use wirelab_wire::rule::Rules;

use crate::args::StagesArgs;
use crate::exit::Failure;

type Asked<T> = Result<T, Failure>;

/// Most blocks that the frames of a trial are divided into where two things alternate: with 8 pairs the order
/// statistics of the median hold it with more than 95 % (RFC 2544 knows none; see `wirelab_trial::Summary`).
const MOST_BLOCKS: u32 = 8;

/// What was asked of a Linux node beyond lengths and frames.
#[derive(Clone, Debug)]
pub struct Ways {
    /// How the application waits.
    pub waits: Vec<Option<Wait>>,
    /// The frames of the fast track, where it was asked.
    pub rule: Option<String>,
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
    /// Read what was asked.
    pub fn of(args: &StagesArgs) -> Asked<Ways> {
        let rule = match &args.fast_track[..] {
            [] => None,
            rules => {
                let rules = rules.join(";");
                let read: Result<Rules, _> = rules.parse();
                let read =
                    read.map_err(|e| Failure::usage(format!("--fast-track {rules}: {e}")))?;
                Some(read.to_string())
            }
        };
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
        let probes = args.probes.parse();
        Ok(Ways {
            waits,
            rule,
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

/// The trials of a node that cannot be asked more than lengths, load and frames.
pub fn plain(args: &StagesArgs, able: &Capabilities, frames: u64, counts: bool) -> Asked<Plan> {
    let mut matrix = matrix("stages", args, able);
    matrix.extent = Extent::Frames { frames };
    matrix.loads = vec![Load::Max];
    matrix.directions = vec![Direction::Both];
    if !counts {
        matrix.loads = vec![load(args)?];
        matrix.directions = both_ways(able);
    }
    Ok(Plan::of(Section::Matrix(matrix)))
}

/// The trials of a Linux node: each length both ways with the probes on and off in turn, and the fast track beside the
/// stack, unloaded and with the background.
pub fn linux(
    args: &StagesArgs,
    able: &Capabilities,
    frames: u64,
    ways: &Ways,
    background: Option<Background>,
) -> Asked<Plan> {
    let repeats = blocks(frames, MOST_BLOCKS);
    let mut sections = Vec::new();
    let mut common = matrix("stages", args, able);
    common.loads = vec![load(args)?];
    common.extent = block(frames, repeats);
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
            beside.directions = vec![Direction::Receive];
            beside.paths = vec![Some(Path::Stack), Some(Path::FastTrack)];
            beside.rule = Some(rule.clone());
            beside.waits.clone_from(&ways.waits);
            beside.backgrounds = backgrounds;
            beside.probes = vec![Some(ways.probes)];
            sections.push(Section::Matrix(beside));
        }
    }
    Ok(Plan {
        sections,
        ..Plan::default()
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

fn both_ways(able: &Capabilities) -> Vec<Direction> {
    let ways = [Direction::Receive, Direction::Transmit];
    let ways = ways.into_iter().filter(|way| able.directions.contains(way));
    ways.collect()
}

fn load(args: &StagesArgs) -> Asked<Load> {
    let load = args.load.parse();
    load.map_err(|e| Failure::usage(format!("--load: {e}")))
}
