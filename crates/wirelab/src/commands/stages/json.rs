//! What `wirelab stages --json` prints.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wirelab_bench::paths::{BackgroundResult, beside, loss_free};
use wirelab_report::{Against, paths_of};
use wirelab_trial::crossover::crossovers;
use wirelab_trial::stage::StageFigures;
use wirelab_trial::stage::functions::changed;
use wirelab_trial::{Field, Observation, ResultsFile, SearchOutcome, pooled_runs};

/// All of it.
pub fn of(file: &ResultsFile, rows: &[StageFigures], against: Option<&Against<'_>>) -> Value {
    let functions = against.map(|against| changed(against.paths, paths_of(file)));
    json!({
        "stages": rows,
        "changes": against.map(|against| &against.changes),
        "functions_changed": functions,
        "ways": beside(&file.observations),
        "trials": trials(file),
        "crossovers": crossovers(file),
        "measuring": file.measuring,
        "searches": file.parts.iter().filter(|part| part.found.is_some()).collect::<Vec<_>>(),
        "loss_free": rates(file),
    })
}

/// The rate without loss that each search of a results file gives, or why it gives none.
fn rates(file: &ResultsFile) -> Vec<Value> {
    let found = file.parts.iter().filter_map(|part| part.found.as_ref());
    let rates = found.filter_map(|found| match found {
        SearchOutcome::Rates(found) => Some(loss_free(found)),
        _ => None,
    });
    rates
        .map(|rate| match rate {
            Ok(rate) => json!(rate),
            Err(why) => json!({ "absent": why }),
        })
        .collect()
}

/// Each trial with its counts, all its blocks together.
fn trials(file: &ResultsFile) -> Vec<Value> {
    pooled_runs(file).iter().map(trial).collect()
}

fn trial(whole: &Observation) -> Value {
    let trial = &whole.trial;
    let mut counters: BTreeMap<&str, &Field<u64>> = BTreeMap::new();
    let flows = whole.flows.iter().map(|flow| &flow.counters);
    for all in std::iter::once(&whole.counters).chain(flows) {
        counters.extend(all.iter().map(|(name, value)| (name.as_str(), value)));
    }
    let flows: Vec<Value> = whole
        .flows
        .iter()
        .map(|flow| {
            json!({
                "direction": flow.direction, "stream": flow.stream,
                "sent_frames": flow.sent_frames, "counts": flow.counts,
            })
        })
        .collect();
    json!({
        "direction": trial.direction, "layer": trial.framing.layer, "length_bytes": whole.sizes.length,
        "load": trial.load, "path": trial.path, "wait": trial.wait, "rule": trial.rule,
        "background": trial.background,
        "background_ran": BackgroundResult::of(std::slice::from_ref(whole)), "probes": trial.probes, "status": whole.status,
        "flows": flows, "counters": counters, "setup": whole.node.setup, "warnings": whole.warnings,
    })
}
