//! Builds the engine's compact tables from a net.

use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use wirelab_statistics::random::SplitMix64;

use super::arrivals::ArrivalClock;
use super::engine::Engine;
use super::frames::{Frames, NONE};
use super::state::{PlaceState, ResourceState, Source, StageState, Wake, WatchEdge};
use super::{ChainRun, Edge, KEPT_MAX, SimError, SimRequest, SimResult, StageRun, TimerSamples};
use crate::net::{Net, OnMissing, Place, Trigger};

/// The engine of a checked net.
pub fn engine<'a>(net: &'a Net, ask: &'a SimRequest) -> Result<Engine<'a>, SimError> {
    let count = net.stages.len();
    for stage in ask
        .watches
        .iter()
        .flat_map(|watch| [watch.from.0, watch.to.0])
    {
        if stage >= count {
            return Err(SimError::NoSuchStage { stage, count });
        }
    }
    let mut links = Vec::new();
    let mut marks = Vec::new();
    let mut stages: Vec<StageState> = (0..count)
        .map(|index| stage_state(net, ask, index, &mut links, &mut marks))
        .collect();
    let sources = sources(net, ask, &mut stages)?;
    for (index, chain) in net.chains.iter().enumerate() {
        stages[chain.stages[chain.stages.len() - 1]].ends = index as u32;
        for &stage in &chain.stages {
            stages[stage].chain = index as u32;
        }
    }
    Ok(Engine {
        net,
        ask,
        places: net.places.iter().map(place_state).collect(),
        resources: vec![ResourceState::default(); net.resources.len()],
        open: sources.iter().filter(|source| source.is_open()).count(),
        rngs: (0..count as u64)
            .map(|stream| SplitMix64::stream(ask.seed, stream))
            .collect(),
        frames: Frames::new(ask.watches.len()),
        samples_kept: ask.samples_kept.min(KEPT_MAX),
        frames_kept: ask.frames_kept.min(KEPT_MAX),
        firings_kept: ask.firings_kept.min(KEPT_MAX),
        events: BinaryHeap::new(),
        together: Vec::new(),
        woken: Vec::new(),
        ready_delays: Vec::new(),
        sequence: 0,
        now_ps: 0,
        run: SimResult {
            chains: vec![ChainRun::default(); net.chains.len()],
            stages: vec![StageRun::default(); count],
            busy_ps: vec![0; net.resources.len()],
            samples: vec![TimerSamples::default(); ask.watches.len()],
            ..SimResult::default()
        },
        stages,
        sources,
        links,
        marks,
    })
}

fn place_state(place: &Place) -> PlaceState {
    PlaceState {
        to: place.to as u32,
        tokens: u64::from(place.tokens),
        frames: VecDeque::new(),
    }
}

/// Adds the places that fit to the table of links, and returns their range.
fn link(net: &Net, links: &mut Vec<u32>, fits: impl Fn(&Place) -> bool) -> Range<usize> {
    let begin = links.len();
    links.extend(
        net.places
            .iter()
            .enumerate()
            .filter(|(_, place)| fits(place))
            .map(|(index, _)| index as u32),
    );
    begin..links.len()
}

fn mark(ask: &SimRequest, marks: &mut Vec<WatchEdge>, at: (usize, Edge)) -> Range<usize> {
    let begin = marks.len();
    for (watch, ends) in ask.watches.iter().enumerate() {
        // A watch from an edge to itself takes 0, so its start comes before its end.
        marks.extend((ends.from == at).then_some(WatchEdge {
            watch,
            begins: true,
        }));
        marks.extend((ends.to == at).then_some(WatchEdge {
            watch,
            begins: false,
        }));
    }
    begin..marks.len()
}

fn stage_state(
    net: &Net,
    ask: &SimRequest,
    index: usize,
    links: &mut Vec<u32>,
    marks: &mut Vec<WatchEdge>,
) -> StageState {
    let stage = &net.stages[index];
    let frame_inputs = link(net, links, |place| {
        place.to == index && place.carries_frames
    });
    let room_inputs = link(net, links, |place| {
        place.to == index && !place.carries_frames
    });
    let empty = net
        .places
        .iter()
        .filter(|place| place.to == index && place.tokens == 0)
        .count();
    let drops = stage.on_missing == OnMissing::Drop && !frame_inputs.is_empty();
    let freed = net.chains.iter().find_map(|chain| {
        let position = chain.stages.iter().position(|&other| other == index)?;
        Some(&chain.stages[..position])
    });
    let freed = if drops {
        freed.unwrap_or_default()
    } else {
        &[]
    };
    StageState {
        resource: stage.resource.map_or(NONE, |resource| resource as u32),
        priority: stage.priority,
        wake: match stage.trigger {
            Trigger::Tokens | Trigger::Arrivals(_) => Wake::Tokens,
            Trigger::Paced { period_ps } => Wake::Paced { period_ps },
            Trigger::Polled { period_ps } => Wake::Polled { period_ps },
        },
        takes_all: matches!(
            stage.trigger,
            Trigger::Paced { .. } | Trigger::Polled { .. }
        ),
        drops,
        cost_ps: stage.cost_ps,
        spread: stage.spread,
        missing: empty as u32,
        since_ps: 0,
        next_ps: 0,
        source: NONE,
        chain: NONE,
        ends: NONE,
        frame_inputs,
        room_inputs,
        room_outputs: link(net, links, |place| {
            place.from == index && !place.carries_frames
        }),
        frame_outputs: link(net, links, |place| {
            place.from == index && place.carries_frames
        }),
        freed_by_drop: link(net, links, |place| {
            place.from == index && !place.carries_frames && freed.contains(&place.to)
        }),
        at_start: mark(ask, marks, (index, Edge::Start)),
        at_end: mark(ask, marks, (index, Edge::End)),
    }
}

/// Makes a source for each chain whose first stage gets frames from no place.
fn sources(
    net: &Net,
    ask: &SimRequest,
    stages: &mut [StageState],
) -> Result<Vec<Source>, SimError> {
    let mut sources = Vec::new();
    for (index, chain) in net.chains.iter().enumerate() {
        let first = chain.stages[0];
        let stage = &mut stages[first];
        if !stage.frame_inputs.is_empty() {
            continue;
        }
        let frames = ask.frames.get(index).copied().flatten();
        if frames.is_none() && ask.time_ps.is_none() {
            return Err(SimError::NoEnd(chain.name.clone()));
        }
        stage.source = sources.len() as u32;
        stage.takes_all = false;
        let arrivals = match net.stages[first].trigger {
            Trigger::Arrivals(arrivals) => Some(ArrivalClock::new(&arrivals)),
            _ => None,
        };
        let remaining = frames.unwrap_or(u64::MAX);
        // The source's own frames count as one more input.
        stage.missing += u32::from(arrivals.is_some() || remaining == 0);
        sources.push(Source {
            stage: first as u32,
            chain: index,
            remaining,
            waiting: VecDeque::new(),
            next_id: 0,
            arrivals,
        });
    }
    Ok(sources)
}
