//! The CPU's work in each stage of a frame's path, counted at two sizes, for the node models of `nodes/`.

use wirelab_trial::{
    Cancel, Direction, Extent, Framing, Layer, Load, NodeError, Size, SizeUnit, Trial,
};

use super::StartError;
use super::plan;
use super::session::Session;
use crate::reference::{EchoCounts, Event, Straps};

/// Lengths that are counted, in bytes, neither of which occurs in the document.
pub const COUNTED_LENGTHS: [u32; 2] = [128, 1280];
/// Frames of each length; the first is a warm-up.
const FRAMES: u64 = 8;
/// The stages of the node models, each up to a receive point or from a transmit point.
const STAGES: [&str; EchoCounts::STAGES] = [
    "irq",
    "rx-driver",
    "udp-in",
    "udp-out",
    "tx-driver",
    "tx-start",
];

/// Means over the frames of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageCounts {
    /// Its name in the node models.
    pub name: &'static str,
    /// Each event that occurs, at each of [`COUNTED_LENGTHS`].
    pub events: Vec<(Event, [f64; COUNTED_LENGTHS.len()])>,
}

fn trial(length: u32) -> Trial {
    let framing = Framing {
        layer: Layer::UdpIpv4,
        vlan_tags: 0,
    };
    let size = Size::new(SizeUnit::Length, length);
    let extent = Extent::Frames { frames: FRAMES };
    Trial::new(framing, Direction::Both, size, Load::Max, extent)
}

/// The CPU's work for frames sent one by one, at each of some lengths (bytes without FCS), on a node with these
/// straps and a program (an ELF file).
///
/// # Errors
/// If the program does not start, or if a frame does not return or passes without its points.
pub fn counted(
    straps: Straps,
    elf: &[u8],
    lengths: &[u32],
) -> Result<Vec<Vec<EchoCounts>>, StartError> {
    let mut session = Session::start(straps, elf)?;
    let mut all = Vec::new();
    for length in lengths {
        let plan = plan::plan(&trial(*length), session.identity())?;
        session.node().count(true);
        let result = session.run(&plan, plan.whole(), &|| (), &Cancel::new());
        let counted = session.node().take_counted();
        session.node().count(false);
        result?;
        // The first one was the warm-up.
        if counted.len() as u64 != FRAMES + 1 {
            return Err(StartError::Silent(NodeError::Failed(format!(
                "hdl:reference: only {} of {} frames passed all counted points; fix: give a program that takes each frame through all of them",
                counted.len(),
                FRAMES + 1
            ))));
        }
        all.push(counted[1..].to_vec());
    }
    Ok(all)
}

/// The CPU's work in each stage of the node models.
///
/// # Errors
/// As [`counted`].
pub fn stage_counts(straps: Straps, elf: &[u8]) -> Result<Vec<StageCounts>, StartError> {
    let counted = counted(straps, elf, &COUNTED_LENGTHS)?;
    let mean = |stage: usize, event: Event, at: usize| {
        let frames = counted.get(at).map(Vec::as_slice).unwrap_or_default();
        let sum: u64 = frames.iter().map(|frame| frame.stages[stage][event]).sum();
        sum as f64 / frames.len() as f64
    };
    let mut all = Vec::new();
    for (stage, name) in STAGES.into_iter().enumerate() {
        let counts = |event| std::array::from_fn(|at| mean(stage, event, at));
        let events = Event::ALL.into_iter().map(|event| (event, counts(event)));
        let there = events.filter(|(_, counts)| counts.iter().any(|count| *count > 0.0));
        let (polls, events) = there.partition(|(event, _)| *event == Event::Poll);
        all.push(StageCounts { name, events });
        // The memory clocks that the CPU's polls take from a running MAC belong to none of the CPU's stages.
        if !Vec::is_empty(&polls) {
            all.push(StageCounts {
                name: "polls",
                events: polls,
            });
        }
    }
    Ok(all)
}
