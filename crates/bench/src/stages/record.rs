//! The stages of a node as a record for scripts: the figures of the tables, by the functions that the tables use.

use std::collections::BTreeMap;

use serde::Serialize;
use wirelab_trial::crossover::{Crossover, crossovers};
use wirelab_trial::measuring::Measuring;
use wirelab_trial::stage::functions::FunctionChange;
use wirelab_trial::stage::{Change, StageFigures};
use wirelab_trial::{
    Background, Counts, Direction, Field, Layer, Load, Observation, Part, Path, Probes,
    ResultsFile, SearchOutcome, Status, Wait, Warning, pooled_runs,
};

use crate::paths::{BackgroundResult, LossFree, PathComparison, beside, loss_free};

/// All of it.
#[derive(Debug, Serialize)]
pub struct StagesRecord<'a> {
    stages: &'a [StageFigures],
    changes: Option<&'a [Change]>,
    functions_changed: Option<Vec<FunctionChange>>,
    #[serde(rename = "ways")]
    comparisons: Vec<PathComparison>,
    trials: Vec<TrialRecord>,
    crossovers: Vec<Crossover>,
    measuring: Option<&'a Measuring>,
    searches: Vec<&'a Part>,
    loss_free: Vec<RateRecord>,
}

/// A rate without loss, or why there is none.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum RateRecord {
    Found(LossFree),
    Absent { absent: String },
}

/// A trial with what was counted, its blocks taken together.
#[derive(Debug, Serialize)]
struct TrialRecord {
    direction: Direction,
    layer: Layer,
    length_bytes: u32,
    load: Load,
    path: Option<Path>,
    wait: Option<Wait>,
    rule: Option<String>,
    background: Option<Background>,
    background_ran: Option<BackgroundResult>,
    probes: Option<Probes>,
    status: Status,
    flows: Vec<FlowRecord>,
    counters: BTreeMap<String, Field<u64>>,
    setup: BTreeMap<String, String>,
    warnings: Vec<Warning>,
}

#[derive(Debug, Serialize)]
struct FlowRecord {
    direction: Direction,
    stream: u8,
    sent_frames: Field<u64>,
    counts: Field<Counts>,
}

impl<'a> StagesRecord<'a> {
    /// Of a results file with these stages; where it was compared with an earlier run, what changed, in stages and in
    /// functions.
    pub fn of(
        file: &'a ResultsFile,
        rows: &'a [StageFigures],
        compared: Option<(&'a [Change], Vec<FunctionChange>)>,
    ) -> StagesRecord<'a> {
        let (changes, functions_changed) = compared.unzip();
        StagesRecord {
            stages: rows,
            changes,
            functions_changed,
            comparisons: beside(&file.observations),
            trials: pooled_runs(file).iter().map(trial).collect(),
            crossovers: crossovers(file),
            measuring: file.measuring.as_ref(),
            searches: file.parts.iter().filter(|p| p.found.is_some()).collect(),
            loss_free: rates(file),
        }
    }
}

/// The rate without loss that each search of a results file found, or why it found none.
fn rates(file: &ResultsFile) -> Vec<RateRecord> {
    let found = file.parts.iter().filter_map(|part| part.found.as_ref());
    let rates = found.filter_map(|found| match found {
        SearchOutcome::Rates(found) => Some(loss_free(found)),
        _ => None,
    });
    rates
        .map(|rate| match rate {
            Ok(rate) => RateRecord::Found(rate),
            Err(absent) => RateRecord::Absent { absent },
        })
        .collect()
}

fn trial(whole: &Observation) -> TrialRecord {
    let trial = &whole.trial;
    let mut counters = BTreeMap::new();
    let flows = whole.flows.iter().map(|flow| &flow.counters);
    for all in std::iter::once(&whole.counters).chain(flows) {
        counters.extend(all.clone());
    }
    let flows = whole.flows.iter().map(|flow| FlowRecord {
        direction: flow.direction,
        stream: flow.stream,
        sent_frames: flow.sent_frames.clone(),
        counts: flow.counts.clone(),
    });
    TrialRecord {
        direction: trial.direction,
        layer: trial.framing.layer,
        length_bytes: whole.sizes.length,
        load: trial.load,
        path: trial.path,
        wait: trial.wait,
        rule: trial.rule.clone(),
        background: trial.background,
        background_ran: BackgroundResult::of(std::slice::from_ref(whole)),
        probes: trial.probes,
        status: whole.status.clone(),
        flows: flows.collect(),
        counters,
        setup: whole.node.setup.clone(),
        warnings: whole.warnings.clone(),
    }
}
