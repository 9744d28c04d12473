//! The trials that measure the stages of a node: each length in both directions and, if a fast track or a background was
//! requested, the paths in alternating blocks. [`crate::paths`] and [`notes()`] interpret the results.

use wirelab_trial::{
    Background, Capabilities, Direction, Extent, Framing, Layer, Load, Path, Probes, Size,
    SizeUnit, Wait,
};

use crate::paths::{FRAMES_FOR_P99, block, blocks};
use crate::{Matrix, Plan, Section};

mod facts;
pub mod flow;
mod half;
mod notes;
mod record;
pub mod request;

use facts::facts;
use half::HalfLoad;
use notes::notes;
pub use record::StagesRecord;
pub use request::{Request, RequestWords};

/// Blocks that the frames of a trial are divided into where two things alternate: with 8 pairs the order
/// statistics of the median hold it with more than 95 % (RFC 2544 knows none; see `wirelab_trial::Summary`).
const USUAL_BLOCKS: u32 = 8;

/// The paths through a Linux node that are requested, and under which conditions.
#[derive(Clone, Debug)]
pub struct PathRequest {
    /// How the application waits.
    pub waits: Vec<Option<Wait>>,
    /// The frames of the fast track, if it was requested.
    pub rule: Option<String>,
    /// The flow that can have these frames.
    pub flow: Framing,
    /// What else arrives.
    pub background: Offered,
    /// What takes the times.
    pub probes: Probes,
}

/// A requested background.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offered {
    /// No background.
    Nothing,
    /// Half of the stack's loss-free rate, which a search finds.
    Half,
    /// This load.
    Load(Background),
}

impl PathRequest {
    /// Whether anything was requested that only a Linux node can do.
    pub fn is_plain(&self) -> bool {
        let plain = self.rule.is_none() && self.background == Offered::Nothing;
        plain && self.waits == [None] && self.probes == Probes::Auto
    }

    /// The background; `half` is the result of the search, if half of a rate was requested.
    pub fn beside(&self, half: Option<&HalfLoad>) -> Option<Background> {
        match self.background {
            Offered::Nothing => None,
            Offered::Half => half?.background,
            Offered::Load(background) => Some(background),
        }
    }
}

/// The trials for any node, whose capabilities are `able`.
struct Trials<'a> {
    lengths: &'a [u32],
    frames: u64,
    load: Load,
    able: &'a Capabilities,
}

impl Trials<'_> {
    /// For a node that runs both directions of all frames in one trial: one that counts instructions, or the reference node,
    /// which sends a frame when the one before is back. With a rule, the stack and the fast track are compared.
    fn at_once(&self, rule: Option<&str>) -> Plan {
        let mut matrix = self.matrix("stages");
        matrix.shared.extent = Extent::Frames {
            frames: self.frames,
        };
        matrix.loads = vec![Load::Max];
        matrix.directions = vec![Direction::Both];
        if let Some(rule) = rule {
            matrix.paths = vec![Some(Path::Stack), Some(Path::FastTrack)];
            matrix.shared.rule = Some(rule.to_owned());
        }
        Plan::of(Section::Matrix(matrix))
    }

    /// For a node that keeps the times of `kept` frames of a trial, by its own clock.
    fn timed(&self, kept: u64) -> Result<Plan, String> {
        let mut matrix = self.matrix("stages");
        divide(&mut matrix, self.frames, 1, kept)?;
        matrix.directions = both_directions(self.able);
        Ok(Plan::of(Section::Matrix(matrix)))
    }

    /// For a Linux node: each length in both directions with the probes on and off in turn, and the fast track beside the
    /// stack, unloaded and with the background; there with `loaded_frames`.
    fn linux(
        &self,
        kept: u64,
        paths: &PathRequest,
        background: Option<Background>,
        loaded_frames: Option<u64>,
    ) -> Result<Plan, String> {
        let mut stages = self.matrix("stages");
        divide(&mut stages, self.frames, USUAL_BLOCKS, kept)?;
        let mut beside = stages.clone();
        stages.directions = both_directions(self.able);
        stages.probes = match paths.probes {
            Probes::Off => vec![Some(Probes::Off)],
            on => vec![Some(on), Some(Probes::Off)],
        };
        let Some(rule) = &paths.rule else {
            // The stack alone, also with a background.
            stages.waits.clone_from(&paths.waits);
            stages.backgrounds = vec![None];
            stages.backgrounds.extend(background.map(Some));
            return Ok(Plan::of(Section::Matrix(stages)));
        };
        "fast track beside the stack".clone_into(&mut beside.name);
        beside.framings = vec![paths.flow];
        beside.directions = vec![Direction::Receive];
        beside.paths = vec![Some(Path::Stack), Some(Path::FastTrack)];
        beside.shared.rule = Some(rule.clone());
        beside.waits.clone_from(&paths.waits);
        beside.backgrounds = vec![None];
        beside.probes = vec![Some(paths.probes)];
        let mut sections = vec![stages, beside.clone()];
        if let Some(background) = background {
            let mut loaded = beside;
            "fast track beside the stack, beside a background".clone_into(&mut loaded.name);
            loaded.backgrounds = vec![Some(background)];
            // There a 99 % is judged block by block, and the two paths alternate in one trial, which has the times of
            // both.
            let frames = loaded_frames.unwrap_or(FRAMES_FOR_P99);
            divide(&mut loaded, frames, USUAL_BLOCKS, (kept / 2).max(1))?;
            sections.push(loaded);
        }
        Ok(Plan {
            sections: sections.into_iter().map(Section::Matrix).collect(),
            ..Plan::default()
        })
    }

    fn matrix(&self, name: &str) -> Matrix {
        let sizes = self.lengths.iter();
        let sizes = sizes.map(|b| Size::new(SizeUnit::Length, *b)).collect();
        let mut matrix = Matrix::new(name, sizes);
        matrix.framings = vec![framing(self.able)];
        matrix.loads = vec![self.load];
        matrix
    }
}

/// Divides the frames of a trial into blocks of one size that fit the times that a node keeps.
fn divide(matrix: &mut Matrix, frames: u64, usual: u32, kept: u64) -> Result<(), String> {
    let repeats = blocks(frames, usual, kept).map_err(|[fewer, more]| {
        format!(
            "--count {frames}: the node keeps the times of {kept} frames of a trial, and {frames} cannot be \
             divided into few enough trials of one size; fix: give --count {fewer} or {more}"
        )
    })?;
    matrix.repeats = repeats;
    matrix.shared.extent = block(frames, repeats);
    Ok(())
}

/// UDP if the node has it, like the document's application; else its only layer, or Ethernet.
pub fn framing(able: &Capabilities) -> Framing {
    let layer = match able.layers[..] {
        [only] => only,
        _ if able.layers.contains(&Layer::UdpIpv4) => Layer::UdpIpv4,
        _ => Layer::Ethernet,
    };
    Framing {
        layer,
        vlan_tags: 0,
    }
}

/// The directions, in and out, that the node has.
pub fn both_directions(able: &Capabilities) -> Vec<Direction> {
    let directions = [Direction::Receive, Direction::Transmit];
    let directions = directions
        .into_iter()
        .filter(|direction| able.directions.contains(direction));
    directions.collect()
}
