//! What was wrong with a trial, in words: the same sentences in every format.

use wirelab_trial::system_error::without_fix;
use wirelab_trial::{Counts, FlowObservation, Kind, Observation, ResultsFile, Status, WarningCode};

use crate::format::{count, integer};
use crate::row::{bad, searched};

/// Something wrong with a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Number of the trial, from 1.
    pub trial: usize,
    /// The sentence.
    pub text: String,
}

/// Everything wrong with one observation; empty for one that passed and whose figures are sound.
pub fn findings(trial: usize, observation: &Observation) -> Vec<Finding> {
    let mut texts = Vec::new();
    match &observation.status {
        Status::Complete => {}
        Status::Partial { why } => texts.push(format!(
            "ended early: {why}. The figures cover the time until then."
        )),
        Status::Void { why } if unsupported(observation) => {
            texts.push(format!("not run: {}.", without_fix(why)));
        }
        Status::Void { why } => {
            texts.push(format!("void: {why}. Its figures must not be used."));
        }
    }
    let mut wrong: Vec<(&FlowObservation, &Counts)> = observation
        .flows
        .iter()
        .filter_map(|flow| flow.counts.value().map(|counts| (flow, counts)))
        .filter(|(_, counts)| !counts.is_clean())
        .collect();
    wrong.sort_by_key(|(_, c)| std::cmp::Reverse(severity(c)));
    if let Some((worst, counts)) = wrong.first() {
        let text = format!("{}: {}", name(worst), counts_in_words(worst, counts));
        texts.push(match wrong.len() {
            1 => format!("{text}."),
            n => format!("{n} flows are not clean, the worst: {text}."),
        });
    }
    for flow in &observation.flows {
        texts.extend(contradictions(flow));
        if let Some(share) = reported_loss(flow) {
            let share = crate::format::percent(share);
            texts.push(format!(
                "{}: {share} % lost, as the node reports it.",
                name(flow)
            ));
        }
    }
    texts
        .into_iter()
        .map(|text| Finding { trial, text })
        .collect()
}

/// What was wrong with any trial of a file, in order. Trials of a search lose frames on purpose; a warning says why a node does
/// not support a trial.
pub fn all(file: &ResultsFile) -> Vec<Finding> {
    let searched = searched(file);
    let each = file.observations.iter().enumerate();
    each.flat_map(
        |(at, observation)| match searched[at] || unsupported(observation) {
            true => beyond_loss(at + 1, observation),
            false => findings(at + 1, observation),
        },
    )
    .collect()
}

/// What was wrong with any trial of a file where loss is a figure like others and what a node cannot do is not a fault.
pub fn all_beyond_loss(file: &ResultsFile) -> Vec<Finding> {
    let each = file.observations.iter().enumerate();
    each.flat_map(|(at, observation)| beyond_loss(at + 1, observation))
        .collect()
}

/// What was wrong with an observation beside frames that were lost, late or out of order.
pub fn beyond_loss(trial: usize, observation: &Observation) -> Vec<Finding> {
    if unsupported(observation) {
        return Vec::new();
    }
    let flows = observation.flows.iter();
    let damaged = flows.filter(|flow| {
        let bad = flow.counts.value().is_some_and(|counts| bad(counts) > 0);
        bad || contradiction(flow).is_some()
    });
    let observation = Observation {
        flows: damaged.cloned().collect(),
        series: Vec::new(),
        ..observation.clone()
    };
    findings(trial, &observation)
}

/// Whether a trial was never run because the node cannot do it.
pub fn unsupported(observation: &Observation) -> bool {
    matches!(observation.status, Status::Void { .. })
        && observation.warned(WarningCode::UNSUPPORTED)
}

/// The share of frames lost above 0 that a flow reports and that was not counted here.
pub fn reported_loss(flow: &FlowObservation) -> Option<f64> {
    let is_reported =
        flow.counts.value().is_none() && flow.loss_ratio.kind() != Some(Kind::Predicted);
    flow.lost_share().filter(|_| is_reported)
}

fn severity(counts: &Counts) -> u64 {
    [
        counts.lost_frames,
        counts.missed_frames,
        counts.lost_or_missed_frames,
        counts.duplicated_frames,
        counts.reordered_frames,
        counts.too_late_frames,
        counts.order_breaks,
    ]
    .iter()
    .fold(bad(counts), |sum, n| sum.saturating_add(*n))
}

/// A flow's name: direction and port.
pub fn name(flow: &FlowObservation) -> String {
    format!("{} on {}", flow.direction, flow.port)
}

fn counts_in_words(flow: &FlowObservation, counts: &Counts) -> String {
    let words: Vec<String> = [
        ("lost", counts.lost_frames),
        ("missed by the tester's own queue", counts.missed_frames),
        (
            "lost, or missed by the tester's own queue",
            counts.lost_or_missed_frames,
        ),
        ("header-corrupt", counts.header_corrupt_frames),
        ("truncated", counts.truncated_frames),
        ("stale", counts.stale_frames),
        ("corrupted", counts.corrupted_frames),
        ("duplicated", counts.duplicated_frames),
        ("reordered", counts.reordered_frames),
        ("too late", counts.too_late_frames),
        ("out of slot order", counts.order_breaks),
    ]
    .iter()
    .filter(|(_, n)| *n > 0)
    .map(|(word, n)| format!("{} {word}", integer(*n)))
    .collect();
    let of = match flow.sent_frames.value() {
        Some(sent) => format!("of {} sent", count(*sent, "frame")),
        None => format!("of {} received", count(counts.received_frames, "frame")),
    };
    if words.is_empty() {
        return format!(
            "{} good frames {of}, and the fate of the rest is not recorded",
            integer(counts.good_frames)
        );
    }
    format!("{} {of}", words.join(", "))
}

/// The sum of a flow's counts that does not hold.
fn contradiction(flow: &FlowObservation) -> Option<String> {
    let (counts, sent) = (flow.counts.value()?, flow.sent_frames.value()?);
    let sum = counts.check_identity(*sent).err()?;
    let name = name(flow);
    Some(format!("{name}: the counts contradict each other: {sum}."))
}

/// Sums that do not hold, and differences from what an injector reports.
fn contradictions(flow: &FlowObservation) -> Vec<String> {
    let Some(counts) = flow.counts.value() else {
        return Vec::new();
    };
    let mut out: Vec<String> = contradiction(flow).into_iter().collect();
    let ledger = flow.sender.value().and_then(|sender| sender.ledger);
    if let Some(ledger) = ledger {
        let differences: Vec<String> = ledger
            .differences(counts)
            .iter()
            .map(|(field, injected, counted)| {
                let field = field.trim_end_matches("_frames").replace('_', "-");
                format!(
                    "{field} {} injected, {} counted",
                    integer(*injected),
                    integer(*counted)
                )
            })
            .collect();
        out.push(if differences.is_empty() {
            format!("{}: the counts equal the injector's ledger.", name(flow))
        } else {
            format!(
                "{}: the counts differ from the injector's ledger: {}.",
                name(flow),
                differences.join("; ")
            )
        });
    }
    out
}
