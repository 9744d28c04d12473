//! Impossible results of a sender.

use super::{Findings, ROUNDING, series};
use crate::counts::Ledger;
use crate::format;
use crate::observation::{FlowObservation, Observation, SenderObservation};
use crate::trial::Extent;

/// Times of a sender are whole ns: two frames of a rate are no nearer.
const TIMES_PER_S: f64 = 1e9;
/// Most frames that share one time (WL_BULK in bpf/generator.bpf.c).
const BULK_FRAMES: f64 = 16.0;
/// A burst may be this long whatever was sent: frames that the driver refused were not.
const REFUSED_BURST: u64 = 100_000;

pub(super) fn look_at(
    of: &Observation,
    flow: &FlowObservation,
    sender: &SenderObservation,
    findings: &mut Findings,
) {
    requested_rate(of, sender, findings);
    if let Some(gaps) = sender.gap.value() {
        findings.within("gap", |f| series::histogram(gaps, f));
    }
    let sent = flow.sent_frames.value().copied();
    let copies = of.trial.faults.duplicate > 0.0;
    if let Some(achieved) = sender.achieved_frames_per_s.value() {
        findings.not_negative("achieved_frames_per_s", *achieved);
        achieved_by(sender, *achieved, sent.filter(|_| !copies), findings);
    }
    if let (Some(burst), Some(sent)) = (sender.longest_burst_frames.value(), sent) {
        // Each frame may have been sent twice.
        let most = sent.saturating_mul(2).max(REFUSED_BURST);
        findings.must(*burst <= most, "longest_burst_frames", || {
            format!("{burst}, but {} sent", format::count(sent, "frame"))
        });
    }
    if let Some(ledger) = &sender.ledger {
        findings.within("ledger", |f| injected(ledger, (sent, of.trial.extent), f));
    }
}

/// The requested rate of the sender is at most that of the trial.
fn requested_rate(of: &Observation, sender: &SenderObservation, findings: &mut Findings) {
    let Some(requested) = sender.asked_frames_per_s.value() else {
        return;
    };
    findings.not_negative("asked_frames_per_s", *requested);
    let trial = &of.trial;
    let load = trial.load;
    if let Ok(Some(most)) = load.frames_per_s(&of.sizes, trial.framing.layer, trial.link()) {
        findings.must(
            *requested <= most * (1.0 + ROUNDING),
            "asked_frames_per_s",
            || format!("{requested}, but a load of {load} is {most}"),
        );
    }
    if let (Some(true), Some(achieved)) = (
        sender.kept_rate.value(),
        sender.achieved_frames_per_s.value(),
    ) {
        findings.must(
            *achieved >= requested * (1.0 - ROUNDING),
            "kept_rate",
            || format!("true, but {achieved} of {requested} frames/s were achieved"),
        );
    }
}

/// A rate follows from the gaps, minus frames dropped after the sender.
fn achieved_by(
    sender: &SenderObservation,
    achieved: f64,
    sent: Option<u64>,
    findings: &mut Findings,
) {
    let field = "achieved_frames_per_s";
    if let Some(sent) = sent {
        findings.must(achieved <= sent as f64 * TIMES_PER_S, field, || {
            format!(
                "{achieved}, but {} sent, each at least 1 ns",
                format::count(sent, "frame")
            )
        });
    }
    let gap = sender.gap.value().filter(|gap| gap.count > 0);
    if let Some((gap, tick_ps)) = gap.and_then(|gap| Some((gap, gap.tick_ps?))) {
        let mean_s = gap.mean_ticks * tick_ps as f64 / 1e12;
        // Frames of a bulk are sent together, so those of the last bulk have no gap.
        let bulk = BULK_FRAMES / gap.count as f64;
        findings.must(achieved * mean_s <= 1.0 + ROUNDING + bulk, field, || {
            format!("{achieved}, but the mean gap is {mean_s} s")
        });
    }
}

/// An injector drops and damages only what it had: each sequence is sent once or, duplicated, twice.
fn injected(ledger: &Ledger, (left, extent): (Option<u64>, Extent), findings: &mut Findings) {
    let sent = ledger.sent_frames;
    let requested = match extent {
        Extent::Frames { frames } => frames,
        Extent::Time { .. } => u64::MAX,
    };
    let range = left.unwrap_or(0)..=requested;
    findings.must(range.contains(&sent), "sent_frames", || {
        format!(
            "{sent}, but {} left of the {requested} that the trial has",
            range.start()
        )
    });
    let unreadable = ledger
        .header_corrupt_frames
        .saturating_add(ledger.bad_fcs_frames);
    let dropped = ledger.dropped_frames;
    let lost = dropped..=sent.min(dropped.saturating_add(unreadable));
    findings.must(lost.contains(&ledger.lost_frames), "lost_frames", || {
        format!(
            "{}, but {dropped} of {sent} sequences left out and {} unreadable",
            ledger.lost_frames,
            format::count(unreadable, "frame")
        )
    });
    let most = sent.saturating_mul(2);
    for (field, frames) in [
        ("header_corrupt_frames", ledger.header_corrupt_frames),
        ("truncated_frames", ledger.truncated_frames),
        ("stale_frames", ledger.stale_frames),
        ("corrupted_frames", ledger.corrupted_frames),
        ("duplicated_frames", ledger.duplicated_frames),
        ("reordered_frames", ledger.reordered_frames),
        ("bad_fcs_frames", ledger.bad_fcs_frames),
    ] {
        findings.must(frames <= most, field, || {
            format!(
                "{frames}, but at most {} for {sent} sequences",
                format::count(most, "frame")
            )
        });
    }
}
