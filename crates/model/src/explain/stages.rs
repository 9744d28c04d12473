//! The cost of each stage, term by term, with every parameter and its source.

use wirelab_trial::explanation::{CostTerm, Provenance as Origin, UsedParameter};

use crate::build::{Instance, Law};
use crate::file::{NodeFile, Provenance};

/// The terms of the cost of one stage of the net.
pub(super) fn terms(file: &NodeFile, instance: &Instance, stage: usize) -> Vec<CostTerm> {
    let Some(origin) = instance.origins.get(stage) else {
        return Vec::new();
    };
    let term = |line: &crate::build::CostLine| CostTerm {
        law: law(line.law).to_owned(),
        words: line.words.clone(),
        cost_ps: line.ps,
        parameters: line
            .parameters
            .iter()
            .map(|name| used(file, name))
            .collect(),
    };
    origin.costs.iter().map(term).collect()
}

const fn law(law: Law) -> &'static str {
    match law {
        Law::Constant => "constant",
        Law::Bytes => "bytes",
        Law::Accesses => "accesses",
        Law::Link => "link",
    }
}

/// A parameter with its source.
pub(super) fn used(file: &NodeFile, name: &str) -> UsedParameter {
    let Some(parameter) = file.parameters.get(name) else {
        return UsedParameter {
            name: name.to_owned(),
            value: "unknown".to_owned(),
            provenance: Origin::Set,
            from: String::new(),
        };
    };
    let (provenance, from) = match &parameter.provenance {
        Provenance::Source(source) => (Origin::Sourced, source.clone()),
        Provenance::CalibratedFrom(names) => (Origin::Calibrated, calibrations(file, names)),
        Provenance::Set => (Origin::Set, String::new()),
    };
    let from = match &parameter.chosen_after {
        Some(after) => format!("{from}; chosen after seeing {after}"),
        None => from,
    };
    UsedParameter {
        name: name.to_owned(),
        value: format!("{} {}", parameter.value, parameter.unit),
        provenance,
        from,
    }
}

fn calibrations(file: &NodeFile, names: &[String]) -> String {
    let what = names.iter().map(|name| {
        let known = file.calibrations.get(name);
        known.map_or_else(|| name.clone(), |c| c.what.clone())
    });
    what.collect::<Vec<_>>().join("; ")
}
