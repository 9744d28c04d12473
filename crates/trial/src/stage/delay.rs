//! Delays of a results file: each stage, and stages taken together, with their samples and figures.

use std::collections::BTreeMap;

use super::chain::{Chain, Stage};
use super::{CapturePoint, PassedOver, StageFigures};
use crate::clock::ClockKind;
use crate::node_path::Probes;
use crate::observation::Observation;
use crate::pool::pooled_runs;
use crate::results::ResultsFile;
use crate::series::Series;
use crate::trial::Direction;

/// The point that does not see some frames because their reader does not sleep (`docs/stages.md`).
const SELDOM: &str = CapturePoint::COPY.word();

/// A stage, or several in a row, at one size, with its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Delay {
    /// Its row of the table.
    pub figures: StageFigures,
    /// Its samples.
    pub series: Series,
}

/// The stages of all observations of a file, in its order, with the blocks of a trial taken together ([`pooled_runs`]). Each
/// stage comes first. Then come the sums of stages from the first point, or in a transmit flow up to the last, because delays
/// count from the wire in both directions. The last are the paths of the processor: from the interrupt and from the driver on,
/// or of a sent frame up to the driver.
pub fn delays(file: &ResultsFile) -> Vec<Delay> {
    let whole = pooled_runs(file);
    let off = |o: &&Observation| o.trial.probes == Some(Probes::Off);
    // Beside trials with probes, those without only show the cost of the probes.
    let both = whole.iter().any(|o| o.trial.probes.is_some() && !off(&o));
    let shown = whole.iter().filter(|o| !(both && off(o)));
    shown.flat_map(delays_of).collect()
}

/// The figures of [`delays`].
pub fn table(file: &ResultsFile) -> Vec<StageFigures> {
    delays(file).into_iter().map(|d| d.figures).collect()
}

/// The delays of one observation, as [`delays`] has them. Pass the blocks of a trial
/// [`pooled`](crate::pooled): all of its frames decide which points are skipped.
pub fn delays_of(observation: &Observation) -> Vec<Delay> {
    let chains = by_chain(observation).into_iter();
    chains.flat_map(pass_over).collect()
}

/// The delays of one observation, for every point at which any of its frames has a time.
pub fn every_delay_of(observation: &Observation) -> Vec<Delay> {
    by_chain(observation).into_iter().flatten().collect()
}

fn by_chain(observation: &Observation) -> Vec<Vec<Delay>> {
    let mut all = Vec::new();
    for flow in &observation.flows {
        for chain in Chain::all_of(&flow.series) {
            let work = chain.work(flow.direction);
            let row = |s: &Stage<'_>, cumulated, series: Series| {
                let figures = figures(observation, flow.direction, s, &series)?;
                Some(Delay {
                    figures: StageFigures {
                        cumulated,
                        cpu_time: work == Some((s.from, s.to)),
                        ..figures
                    },
                    series,
                })
            };
            let steps = chain.steps.iter();
            let steps = steps.filter_map(|s| row(s, false, s.series.clone()));
            let sums = chain.cumulated(flow.direction).into_iter();
            let sums = sums.filter_map(|(s, sum)| row(&s, true, sum));
            all.push(steps.chain(sums).collect());
        }
    }
    all
}

/// Leaves out the point that sees only frames of a sleeping reader, if these are less than half: their times would
/// pass for those of all. The stages before and after it become one stage of every frame, which says so. If the point
/// sees every frame, only the two stages are shown.
fn pass_over(mut chain: Vec<Delay>) -> Vec<Delay> {
    let place = |is: &dyn Fn(&StageFigures) -> bool| chain.iter().position(|d| is(&d.figures));
    let into = place(&|f| !f.cumulated && f.to == SELDOM);
    let next = place(&|f| !f.cumulated && f.from == SELDOM);
    let (Some(into), Some(next)) = (into, next) else {
        return chain;
    };
    let (from, to) = (&chain[into].figures.from, &chain[next].figures.to);
    let Some(past) = place(&|f| (&f.from, &f.to) == (from, to)) else {
        return chain;
    };
    let (count, all) = (chain[into].figures.count, chain[past].figures.count);
    if count >= all {
        chain.remove(past);
    }
    if count.saturating_mul(2) >= all {
        return chain;
    }
    let mut whole = chain.remove(past);
    whole.figures.cumulated = false;
    whole.figures.passed_over = Some(PassedOver {
        point: SELDOM.to_owned(),
        count,
    });
    chain.insert(into, whole);
    chain.retain(|d| d.figures.from != SELDOM && d.figures.to != SELDOM);
    chain
}

fn figures(
    observation: &Observation,
    direction: Direction,
    stage: &Stage<'_>,
    series: &Series,
) -> Option<StageFigures> {
    let histogram = &series.histogram;
    let mode = (series.clock.kind != ClockKind::Simulated)
        .then(|| mode(series))
        .flatten();
    Some(StageFigures {
        node: observation.node.name.clone(),
        layer: observation.trial.framing.layer,
        direction,
        length_bytes: observation.sizes.length,
        path: observation.trial.path,
        wait: observation.trial.wait,
        rule: observation.trial.rule.clone(),
        background: observation.trial.background,
        probes: observation.trial.probes,
        from: stage.from.to_owned(),
        to: stage.to.to_owned(),
        cumulated: false,
        cpu_time: false,
        passed_over: None,
        kind: series.kind,
        clock: series.clock.kind,
        tick_ps: series.clock.tick_ps,
        count: histogram.count,
        mean_ticks: histogram.mean_ticks,
        stddev_ticks: histogram.stddev_ticks,
        min_ticks: histogram.min_ticks,
        median_ticks: series.percentile(50.0)?,
        p99_ticks: series.percentile(99.0)?,
        p999_ticks: series.percentile(99.9)?,
        max_ticks: histogram.max_ticks,
        mode_ticks: mode.map(|(ticks, _)| ticks),
        outliers: mode.map(|(_, count)| histogram.count.saturating_sub(count)),
    })
}

/// The value that occurs most often, the smallest of several, and how often; exact where all samples are kept.
fn mode(series: &Series) -> Option<(u64, u64)> {
    let mut times: BTreeMap<u64, u64> = BTreeMap::new();
    match series.sampled {
        true => times.extend(series.histogram.buckets.iter().copied()),
        false => series
            .raw_ticks
            .iter()
            .for_each(|ticks| *times.entry(*ticks).or_default() += 1),
    }
    let more = |most: (u64, u64), next: (u64, u64)| if next.1 > most.1 { next } else { most };
    times.into_iter().reduce(more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, Owner};
    use crate::series::SeriesBuilder;

    fn series(ticks: &[u64]) -> Series {
        let clock = Clock {
            kind: ClockKind::Instructions,
            tick_ps: None,
            resolution_ticks: 1,
            owner: Owner::Node,
        };
        let mut series = SeriesBuilder::new(("a", "b"), clock, 0);
        ticks.iter().for_each(|t| series.push(*t));
        series.finish()
    }

    #[test]
    fn most_frames_and_the_others() {
        let all = series(&[2717, 5, 2717, 2717, 5, 9]);
        assert_eq!(mode(&all), Some((2717, 3)));
        assert_eq!(mode(&series(&[])), None);
    }
}
