//! Running a trial: all cables in parallel, in slices of simulated time, so that captured frames stay in order.

use std::thread;

use wirelab_trial::{Cancel, NodeError, Progress, Series};

use super::HdlNode;
use super::island::Island;
use super::plan::HdlTrial;
use super::read::{self, CheckerReading, Sent};
use crate::CLOCK_PS;
use crate::bench::BenchError;

/// Clocks of a slice: about 0.1 s of the host's time, after which progress is reported and a cancel is noticed.
const SLICE_CLOCKS: u64 = 65_536;
/// Extra clocks of a run beyond its frames, for a swap or a duplicate at the end.
const PATIENCE_CLOCKS: u64 = 1_000_000;

/// The result of a flow.
#[derive(Clone, Debug)]
pub struct FlowResult {
    pub sent: Sent,
    pub checker: CheckerReading,
    /// The intervals at the sender's probe.
    pub spacing: Option<Series>,
    /// Intervals that were not read in time.
    pub missed_periods: u64,
}

/// The result of a trial.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// Flow by flow, in the plan's order.
    pub flows: Vec<FlowResult>,
    /// The user ended it.
    pub cancelled: bool,
    /// It did not reach its end.
    pub stuck: bool,
    /// Simulated clocks of the trial.
    pub clocks: u64,
}

/// The error of a bench, for the caller.
fn failed(error: BenchError) -> NodeError {
    NodeError::Failed(error.to_string())
}

/// Run a trial.
pub fn run(
    node: &mut HdlNode,
    plan: &HdlTrial,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<RunResult, NodeError> {
    let keep = node.capture.is_some();
    at_once(&mut node.islands, |island| {
        island.prepare(plan, keep)?;
        island.start(plan)
    })?;
    node.keep()?;
    let (all, mut clocks) = (plan.clocks(), 0);
    let mut finished = false;
    while !finished && !cancel.is_cancelled() && clocks < all + PATIENCE_CLOCKS {
        // The last slice may be shorter.
        let slice = (all.saturating_sub(clocks) + plan.period_clocks).min(SLICE_CLOCKS);
        let ended = at_once(&mut node.islands, |island| {
            island.run(slice)?;
            island.finished()
        })?;
        finished = ended.into_iter().all(|ended| ended);
        clocks += slice;
        node.keep()?;
        let done_us = clocks.min(all) * CLOCK_PS / 1_000_000;
        let all_us = all * CLOCK_PS / 1_000_000;
        progress.report(done_us, all_us, "µs of simulated time");
    }
    at_once(&mut node.islands, |island| island.stop(plan))?;
    node.keep()?;
    let flows = plan.flows.iter().map(|flow| {
        let (sent, probe) = node.at(flow.from, |island, index| {
            Ok((read::sent(island.bench(), index)?, island.take_probe(index)))
        })?;
        let checker = node.at(flow.to, |island, index| {
            read::received(island.bench(), index)
        })?;
        Ok(FlowResult {
            sent,
            checker,
            missed_periods: probe.as_ref().map_or(0, |probe| probe.missed),
            spacing: probe.and_then(super::probe::Probe::finish),
        })
    });
    let flows = flows.collect::<Result<Vec<_>, BenchError>>();
    Ok(RunResult {
        flows: flows.map_err(failed)?,
        cancelled: !finished && cancel.is_cancelled(),
        stuck: !finished && !cancel.is_cancelled(),
        clocks,
    })
}

/// Runs `work` for every island, each on its own thread; returns the results in their order.
fn at_once<T: Send>(
    islands: &mut [Island],
    work: impl Fn(&mut Island) -> Result<T, BenchError> + Sync,
) -> Result<Vec<T>, NodeError> {
    if let [alone] = islands {
        return Ok(vec![work(alone).map_err(failed)?]);
    }
    let results: Vec<Result<T, BenchError>> = thread::scope(|scope| {
        let threads: Vec<_> = islands
            .iter_mut()
            .map(|island| scope.spawn(|| work(island)))
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().expect("a bench does not panic")
        };
        threads.into_iter().map(join).collect()
    });
    results
        .into_iter()
        .map(|result| result.map_err(failed))
        .collect()
}
