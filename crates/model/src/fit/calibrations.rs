//! The calibrations of a fitted node file: the trials that its parameters come from.

use wirelab_config::quoted;
use wirelab_trial::{Load, Trial};

use super::paths::PathFit;
use super::text::{Text, short};
use crate::file::CalibratedMetric;

/// Sizes of a path that are written as its calibrations.
const MAX_CALIBRATIONS: usize = 24;

/// The trials that a path was fitted to: the model does not predict these.
pub(super) fn calibrations(out: &mut Text, fit: &PathFit, file: &str, linked: bool, most: usize) {
    let name = fit.key.name();
    // A relative load needs a link, and the file may have none. A sender at maximum load needs none.
    let of_itself = |t: &Trial| match t.load {
        Load::FrameRate { .. } | Load::BitRate { .. } => true,
        Load::Max => !fit.key.receive,
        _ => false,
    };
    let stages = fit.chain.iter().flat_map(|c| &c.trials);
    let stages = stages
        .take(MAX_CALIBRATIONS)
        .map(|trial| (trial, CalibratedMetric::Latency, None));
    let trained = fit.trained.iter();
    let others = trained.map(|t| (&t.trial, t.metric, t.point.as_deref()));
    let mut known: Vec<(String, CalibratedMetric, Option<&str>)> = Vec::new();
    for (trial, metric, point) in stages.chain(others) {
        let keys = trial_keys(trial, fit);
        let one = (keys.clone(), metric, point);
        if known.contains(&one) || !(linked || of_itself(trial)) {
            continue;
        }
        let bytes = trial.size.bytes;
        let unit = trial.size.unit.name();
        let (of, at) = match metric {
            CalibratedMetric::Latency => ("latencies", String::new()),
            CalibratedMetric::Time => ("frames/s", format!("-time-{}", known.len())),
            CalibratedMetric::CpuLoad => ("the CPU load", format!("-load-{}", known.len())),
        };
        let is_latency = metric == CalibratedMetric::Latency;
        let mut title = format!("{name}-{unit}-{bytes}{at}");
        if is_latency && known.iter().any(|(_, m, _)| *m == metric) && fit.chain.is_none() {
            title.push_str(&format!("-{}", known.len()));
        }
        out.line(&format!("[calibration.{title}]"));
        let what = match fit.chain.is_some() && is_latency {
            true => format!("stages of {unit} {bytes}: the series of {file}"),
            false => format!("{of} of {unit} {bytes} at {}: {file}", trial.load),
        };
        out.line(&format!("what = {}", quoted(&what)));
        out.line(&format!("trial = {{ {keys} }}"));
        out.line(&format!("metric = {}", quoted(metric.word())));
        if let Some(point) = point {
            out.line(&format!("point = {}", quoted(&short(point))));
        }
        out.line("");
        known.push(one);
        if known.len() >= most {
            break;
        }
    }
}

/// A trial as node files write it.
fn trial_keys(trial: &Trial, fit: &PathFit) -> String {
    let mut keys = vec![
        format!("layer = {}", quoted(fit.key.layer())),
        format!("direction = {}", quoted(fit.key.direction())),
        format!("{} = {}", trial.size.unit.name(), trial.size.bytes),
        format!("load = {}", quoted(&trial.load.to_string())),
    ];
    if trial.framing.vlan_tags > 0 {
        keys.push(format!("vlan = {}", trial.framing.vlan_tags));
    }
    if trial.ports > 1 {
        keys.push(format!("ports = {}", trial.ports));
    }
    if let Some(buffers) = trial.buffers {
        keys.push(format!("buffers = {}", quoted(&buffers.to_string())));
    }
    if let Some(path) = trial.path {
        keys.push(format!("path = {}", quoted(&path.to_string())));
    }
    if let Some(wait) = trial.wait {
        keys.push(format!("wait = {}", quoted(&wait.to_string())));
    }
    keys.join(", ")
}
