//! Where the time of a single frame goes: the longest stage of a model, or of measured stages.

use std::collections::{BTreeMap, BTreeSet};

use wirelab_trial::format::{percent, time, time_f};
use wirelab_trial::stage::{Delay, StageName, delays_of};
use wirelab_trial::{Direction, FlowObservation, Observation, Probes, pooled};

use crate::build::Instance;

/// With fewer stages, naming the longest shows nothing.
const SEVERAL: usize = 3;
/// Sizes of one group that are listed.
const SIZES: usize = 8;
/// Stages of one flow that are considered.
const STAGES: usize = 64;

/// For a model whose path has capture points: the stages of the longest latency.
pub(super) fn of_model(instance: &Instance) -> Option<String> {
    let chain = instance.chains.first()?;
    let index_of = |stage: usize| chain.stages.iter().position(|s| *s == stage);
    let cost = |stage: usize| instance.net.stages[stage].cost_ps;
    let own = |s: &usize| *s != chain.wire && Some(*s) != chain.source;
    let spans = chain.points.iter().filter_map(|point| {
        let (from, to) = (index_of(point.from.0)?, index_of(point.to.0)?);
        let stages = chain.stages.get(from..=to)?;
        let stages: Vec<usize> = stages.iter().copied().filter(own).collect();
        let total: u64 = stages.iter().map(|s| cost(*s)).sum();
        Some((total, stages, &point.name))
    });
    let (total, stages, point) = spans.max_by_key(|span| span.0)?;
    let longest = *stages.iter().max_by_key(|s| cost(**s))?;
    (stages.len() >= SEVERAL && total > 0).then(|| {
        format!(
            "Of the {} that the node itself takes for one frame ({point}), {} takes most: {}, {} %.",
            time(total),
            instance.net.stages[longest].name,
            time(cost(longest)),
            percent(cost(longest) as f64 / total as f64)
        )
    })
}

/// For measured stages: one sentence for each size, from the medians of the series.
pub(super) fn of_results(flows: &[(usize, &Observation, &FlowObservation)]) -> Vec<String> {
    let mut sizes: BTreeMap<u32, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    let mut trials: Vec<&(usize, &Observation, &FlowObservation)> = flows.iter().collect();
    trials.dedup_by_key(|(trial, ..)| *trial);
    let probed = trials.into_iter().map(|(_, o, _)| *o);
    let probed = probed.filter(|o| o.trial.probes != Some(Probes::Off));
    let probed: Vec<Observation> = probed.cloned().collect();
    let directions: BTreeSet<bool> = flows.iter().map(|(.., f)| is_sent(f.direction)).collect();
    // The blocks of a trial are pooled, because a point's frames are counted over all blocks.
    for observation in pooled(&probed) {
        let delays = delays_of(&observation);
        let own =
            |d: &&Delay| !d.figures.cumulated && directions.contains(&is_sent(d.figures.direction));
        for delay in delays.iter().filter(own).take(STAGES) {
            let figures = &delay.figures;
            let Some(tick_ps) = figures.tick_ps else {
                continue;
            };
            let name = StageName::new(&figures.from, &figures.to).to_string();
            let stages = sizes.entry(figures.length_bytes).or_default();
            let ps = figures.median_ticks as f64 * tick_ps as f64;
            stages.entry(name).or_default().push(ps);
        }
    }
    let sentence = |(length, stages): (u32, BTreeMap<String, Vec<f64>>)| {
        let middles: Vec<(String, f64)> = stages.into_iter().map(|(n, m)| (n, middle(m))).collect();
        let total: f64 = middles.iter().map(|m| m.1).sum();
        let (name, most) = middles.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (middles.len() > 1 && total > 0.0).then(|| {
            format!(
                "Length {length} B: of {} in all, '{name}' takes most: {}, {} %.",
                time_f(total),
                time_f(*most),
                percent(most / total)
            )
        })
    };
    sizes.into_iter().take(SIZES).filter_map(sentence).collect()
}

fn is_sent(direction: Direction) -> bool {
    direction == Direction::Transmit
}

fn middle(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}
