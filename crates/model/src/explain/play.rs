//! Simulates the steady state: rates, losses, how busy each resource is, and a timeline of two periods.

use wirelab_trial::explanation::{Lane, StageBox, Timeline};

use crate::build::Instance;
use wirelab_sim::net::{Chain, Net, Trigger};
use wirelab_sim::sim::{
    ChainRun, Edge, EdgeTimer, Firing, SimError, SimRequest, SimResult, TimerSamples, simulate,
};

/// Frames of each chain for an explanation. The second half is evaluated, when rings have filled.
pub(super) const FRAMES: u64 = 2_000;
/// Frames of each chain where only a rate is needed.
pub(super) const FEW_FRAMES: u64 = 800;
/// Factor on the number of frames where most of them are lost.
const MORE: u64 = 32;
/// Firings kept for shares and the timeline.
const FIRINGS: usize = 1 << 18;
/// Most events of a run. A net that needs more for so few frames never ends.
const EVENTS: u64 = 20_000_000;
/// Most stages drawn in a timeline.
const BOXES: usize = 4_000;
/// Rows of the timeline for one delay that several frames share.
const DELAY_LANES: usize = 4;

/// The evaluated simulation.
pub(super) struct Played {
    /// Frames/s that leave each chain.
    pub frames_per_s: Vec<f64>,
    /// Share of frames of each chain that are lost in the node, 0 to 1.
    pub loss_ratio: Vec<f64>,
    /// Share of frames of each chain that never reach the node.
    pub lost_before_ratio: Vec<f64>,
    /// Share of the time in which each stage works.
    pub share_ratio: Vec<f64>,
    /// Share of the time in which each resource is held, 0 to 1.
    pub busy_ratio: Vec<f64>,
    /// Mean cost of each stage a frame of its chain, in ps; a batch shares it.
    pub cost_a_frame_ps: Vec<f64>,
    /// Mean time a frame waits before each stage; `None` for the first stage of a chain.
    pub waits_ps: Vec<Option<f64>>,
    /// Frames lost at each stage.
    pub lost_at: Vec<u64>,
    firings: Vec<Firing>,
    from_ps: u64,
}

/// Simulates a net until its rings have filled, and then for the same time again.
pub(super) fn play(net: &Net, frames: u64) -> Result<Played, SimError> {
    let pairs: Vec<(usize, usize)> = net
        .chains
        .iter()
        .flat_map(|c| c.stages.windows(2).map(|p| (p[0], p[1])))
        .collect();
    let watch = |(before, stage): &(usize, usize)| EdgeTimer {
        from: (*before, Edge::End),
        to: (*stage, Edge::Start),
    };
    let ask = |frames: u64| SimRequest {
        frames_kept: frames as usize,
        events_max: EVENTS,
        watches: pairs.iter().map(watch).collect(),
        ..SimRequest::frames(net, frames)
    };
    let mut first = ask(frames);
    let mut run = simulate(net, &first)?;
    // If most frames are lost, rings fill, and pacing shows only after more frames.
    let done = run
        .chains
        .iter()
        .map(|c| c.done.max(1))
        .min()
        .unwrap_or(frames);
    if done < frames / 4 {
        first = ask(frames * (frames / done).min(MORE));
        run = simulate(net, &first)?;
    }
    if end_together(&mut first, &run) {
        run = simulate(net, &first)?;
    }
    let from_ps = run
        .chains
        .iter()
        .filter_map(|c| c.frames.get(c.frames.len() / 2))
        .map(|f| f.start_ps)
        .max();
    let from_ps = from_ps.unwrap_or(0);
    let again = SimRequest {
        firings_kept: FIRINGS,
        firings_from_ps: from_ps,
        ..first
    };
    let run = simulate(net, &again)?;
    let stage_shares = stage_shares(net, &run, window(&run, from_ps));
    let mut waits_ps = vec![None; net.stages.len()];
    for ((_, stage), samples) in pairs.iter().zip(&run.samples) {
        waits_ps[*stage] = late_mean(samples);
    }
    let until_ps = run.offered_until_ps().unwrap_or(run.end_ps);
    let chains = || net.chains.iter().zip(&run.chains);
    let share = |part: u64, of: u64| {
        if of == 0 {
            0.0
        } else {
            part as f64 / of as f64
        }
    };
    Ok(Played {
        frames_per_s: chains()
            .map(|(chain, done)| rate(net, chain, done, until_ps))
            .collect(),
        loss_ratio: run.chains.iter().map(late_loss).collect(),
        lost_before_ratio: run
            .chains
            .iter()
            .map(|c| share(c.lost_before, c.offered))
            .collect(),
        busy_ratio: busy(net, &stage_shares),
        share_ratio: stage_shares,
        cost_a_frame_ps: run
            .stages
            .iter()
            .map(|s| share(s.busy_ps, s.frames))
            .collect(),
        waits_ps,
        lost_at: run.stages.iter().map(|s| s.lost).collect(),
        firings: run.firings,
        from_ps,
    })
}

/// Asks each flow for as many frames as it had while all flows were active; returns whether that changes anything. A
/// flow that ends leaves its resources to the others, so what follows is not the steady state.
fn end_together(ask: &mut SimRequest, run: &SimResult) -> bool {
    let Some(until_ps) = run.offered_until_ps().filter(|_| run.chains.len() > 1) else {
        return false;
    };
    let before = ask.frames.clone();
    for (frames, chain) in ask.frames.iter_mut().zip(&run.chains) {
        let begun = chain.frames.iter().filter(|f| f.start_ps <= until_ps);
        let ids = begun.map(|f| f.id + 1).max();
        *frames = frames.map(|most| most.min(ids.unwrap_or(most)).max(2));
    }
    before != ask.frames
}

/// From the middle of the run until the sources end.
fn window(run: &SimResult, from_ps: u64) -> (u64, u64) {
    let kept = match run.firings.last() {
        Some(f) if run.firings.len() >= FIRINGS => f.start_ps,
        _ => u64::MAX,
    };
    (
        from_ps,
        run.offered_until_ps()
            .unwrap_or(run.end_ps)
            .min(kept)
            .max(from_ps.saturating_add(1)),
    )
}

/// Mean of the second half.
fn late_mean(samples: &TimerSamples) -> Option<f64> {
    let late = &samples.kept_ps[samples.kept_ps.len() / 2..];
    let sum: f64 = late.iter().map(|ps| *ps as f64).sum();
    (!late.is_empty()).then(|| sum / late.len() as f64)
}

/// Frames lost in the node among those of the second half, by their numbers.
fn late_loss(chain: &ChainRun) -> f64 {
    if chain.lost == 0 {
        return 0.0;
    }
    let half = chain.offered / 2;
    let reached = (chain.offered - half) as f64
        * (1.0 - chain.lost_before as f64 / chain.offered.max(1) as f64);
    let done = chain.frames.iter().filter(|f| f.id >= half).count() as f64;
    (1.0 - done / reached.max(1.0)).clamp(0.0, 1.0)
}

/// Frames/s out of a chain while its source was active: offered less lost, unless the chain cannot keep up.
fn rate(net: &Net, chain: &Chain, run: &ChainRun, until_ps: u64) -> f64 {
    let within = run.frames.partition_point(|f| f.end_ps <= until_ps);
    // If few frames left by then, use all that left later.
    let frames = match within {
        0..2 => &run.frames[..],
        _ => &run.frames[..within],
    };
    let middle = frames.len() / 2;
    let measured = match (frames.get(middle), frames.last()) {
        (Some(a), Some(b)) if b.end_ps > a.end_ps => {
            (frames.len() - 1 - middle) as f64 * 1e12 / (b.end_ps - a.end_ps) as f64
        }
        _ => return 0.0,
    };
    let source = chain.stages.first().map(|s| net.stages[*s].trigger);
    if let Some(Trigger::Arrivals(arrivals)) = source {
        let kept =
            arrivals.frames_per_s * (1.0 - arrivals.lost_before_ratio) * (1.0 - late_loss(run));
        // Batches make the measured end of the window coarse; a real backlog exceeds this margin.
        if measured > 0.98 * kept {
            return kept;
        }
    }
    measured
}

/// Share of the time in which each stage works; a delay that several frames share may exceed 1.
fn stage_shares(net: &Net, run: &SimResult, (from, to): (u64, u64)) -> Vec<f64> {
    let mut held = vec![0u64; net.stages.len()];
    for firing in &run.firings {
        held[firing.stage] += firing
            .end_ps
            .min(to)
            .saturating_sub(firing.start_ps.max(from));
    }
    held.into_iter()
        .map(|ps| ps as f64 / (to - from) as f64)
        .collect()
}

fn busy(net: &Net, shares: &[f64]) -> Vec<f64> {
    let mut busy = vec![0.0; net.resources.len()];
    for (stage, share) in net.stages.iter().zip(shares) {
        if let Some(resource) = stage.resource {
            busy[resource] += share;
        }
    }
    busy.into_iter().map(|ratio: f64| ratio.min(1.0)).collect()
}

/// A timeline of two periods, beginning at a start of `anchor`.
pub(super) fn timeline(
    instance: &Instance,
    played: &Played,
    period_ps: f64,
    critical: &[usize],
    anchor: usize,
) -> Timeline {
    let net = &instance.net;
    let period_ps = repeats_after(net, period_ps);
    let span = span(net, period_ps).clamp(1.0, 1e18) as u64;
    // One period after the first kept firing, so that work that began earlier is included.
    let earliest = played.from_ps.saturating_add(period_ps as u64);
    let begin = played
        .firings
        .iter()
        .find(|f| f.stage == anchor && f.start_ps >= earliest);
    let start_ps = begin.map_or(played.from_ps, |f| f.start_ps);
    let end_ps = start_ps.saturating_add(span);
    let mut lanes: Vec<(Option<usize>, Lane)> = Vec::new();
    let shown = shown(instance);
    let inside = |f: &&Firing| {
        f.end_ps > start_ps && f.start_ps < end_ps && f.end_ps > f.start_ps && shown[f.stage]
    };
    for firing in played.firings.iter().filter(inside).take(BOXES) {
        let stage = &net.stages[firing.stage];
        let name = stage
            .resource
            .map_or(&stage.name, |r| &net.resources[r].name);
        let drawn = StageBox {
            stage: stage.name.clone(),
            frame: firing.frame,
            frames: firing.frames,
            start_ps: firing.start_ps,
            end_ps: firing.end_ps,
            critical: critical.contains(&firing.stage),
        };
        let free = |lane: &&mut (Option<usize>, Lane)| {
            lane.1.name == *name
                && lane
                    .1
                    .boxes
                    .last()
                    .is_none_or(|b| b.end_ps <= firing.start_ps)
        };
        let alike = lanes.iter().filter(|(_, lane)| lane.name == *name).count();
        match lanes.iter_mut().find(free) {
            Some((_, lane)) => lane.boxes.push(drawn),
            None if alike == 0 || (stage.resource.is_none() && alike < DELAY_LANES) => {
                let order = instance
                    .chains
                    .iter()
                    .flat_map(|c| &c.stages)
                    .position(|s| *s == firing.stage);
                lanes.push((
                    order,
                    Lane {
                        name: name.clone(),
                        boxes: vec![drawn],
                    },
                ));
            }
            None => {}
        }
    }
    lanes.sort_by_key(|(order, _)| *order);
    Timeline {
        start_ps,
        end_ps,
        period_ps,
        lanes: lanes.into_iter().map(|(_, lane)| lane).collect(),
    }
}

/// Two periods; if the node is idle for most of that, the time in which it works.
fn span(net: &Net, period_ps: f64) -> f64 {
    let waits = |t: &Trigger| matches!(t, Trigger::Paced { .. } | Trigger::Polled { .. });
    let works: f64 = net.stages.iter().map(|s| s.cost_ps as f64).sum();
    let rests = works > 0.0 && works < period_ps / 4.0;
    match rests && !net.stages.iter().any(|s| waits(&s.trigger)) {
        true => 1.25 * works,
        false => 2.0 * period_ps,
    }
}

/// Stages of the first port, and all that share a resource with them.
fn shown(instance: &Instance) -> Vec<bool> {
    let net = &instance.net;
    let first = |stage: &usize| instance.origins.get(*stage).is_none_or(|o| o.port <= 1);
    let resources: Vec<usize> = (0..net.stages.len())
        .filter(first)
        .filter_map(|s| net.stages[s].resource)
        .collect();
    (0..net.stages.len())
        .map(|s| {
            first(&s)
                || net.stages[s]
                    .resource
                    .is_some_and(|r| resources.contains(&r))
        })
        .collect()
}

/// Time after which the picture repeats: the period, that of a slower paced or polled stage, or that of bursts.
fn repeats_after(net: &Net, period_ps: f64) -> f64 {
    let own = net.stages.iter().map(|stage| match stage.trigger {
        Trigger::Paced { period_ps } | Trigger::Polled { period_ps } => period_ps as f64,
        Trigger::Arrivals(a) => f64::from(a.burst) * 1e12 / a.frames_per_s,
        Trigger::Tokens => 0.0,
    });
    own.fold(period_ps, f64::max)
}
