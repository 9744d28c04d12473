//! Impossible counts of a receiver.

use super::{Findings, ROUNDING, counter, near};
use crate::counts::Counts;
use crate::facts::Unverified;
use crate::format;
use crate::observation::{FlowObservation, Observation};
use crate::trial::Direction;

/// Two shares of the same frames.
const SAME_SHARE: f64 = 1e-9;

pub(super) fn look_at(of: &Observation, flow: &FlowObservation, findings: &mut Findings) {
    if let Some(counts) = flow.counts.value() {
        findings.within("counts", |f| {
            counted(counts, f);
            verified(of, flow, counts, f);
        });
    }
    if let (Some(sent), Some(counts)) = (flow.sent_frames.value(), flow.counts.value()) {
        if let Err(why) = counts.check_identity(*sent) {
            findings.say("counts", format!("they do not add up: {why}"));
        }
    }
    losses(flow, findings);
}

/// Relations between the counts, independent of what was sent.
fn counted(counts: &Counts, findings: &mut Findings) {
    let received = counts.received_frames;
    for (field, count) in [
        ("reordered_frames", counts.reordered_frames),
        ("reordering_extent_frames", counts.reordering_extent_frames),
        ("duplicated_frames", counts.duplicated_frames),
        ("too_late_frames", counts.too_late_frames),
        ("order_breaks", counts.order_breaks),
    ] {
        findings.must(count <= received, field, || {
            format!(
                "{count}, but only {} received",
                format::count(received, "frame")
            )
        });
    }
}

/// The verified bytes are those of the good frames, which all have the same length.
fn verified(of: &Observation, flow: &FlowObservation, counts: &Counts, findings: &mut Findings) {
    let good = counts.good_frames;
    let sizes = &of.sizes;
    // A node may count only the data of its layer, and Ethernet pads shorter frames.
    let least = sizes.datagram.unwrap_or(sizes.payload).min(sizes.payload);
    let least = good as f64 * f64::from(least);
    let most = good as f64 * f64::from(sizes.payload.max(46));
    let verified = counts.verified_payload_bytes;
    let is_untold = verified == 0 && is_reported_by_node(of, flow);
    // A few late frames of a run with another size may be among them.
    let range = least * (1.0 - ROUNDING)..=most * (1.0 + ROUNDING);
    findings.must(
        is_untold || range.contains(&(verified as f64)),
        "verified_payload_bytes",
        || format!("{verified}, but {good} good frames hold {least} to {most}"),
    );
}

/// Whether the node may have counted: it need not report how many bytes it verified.
fn is_reported_by_node(of: &Observation, flow: &FlowObservation) -> bool {
    match of.node.facts().unverified {
        Unverified::All => true,
        Unverified::Received => {
            flow.direction == Direction::Receive || of.trial.direction == Direction::Both
        }
        Unverified::None => false,
    }
}

/// A loss follows from its counts, whatever counted them.
fn losses(flow: &FlowObservation, findings: &mut Findings) {
    let least = flow.loss_ratio.value().copied();
    let most = flow.loss_ratio_at_most;
    if let Some(ratio) = least {
        findings.share("loss_ratio", ratio);
    }
    if let Some(most) = most {
        findings.share("loss_ratio_at_most", most);
        findings.must(
            least.is_none_or(|least| least <= most),
            "loss_ratio_at_most",
            || format!("{most} is below the loss of {}", least.unwrap_or(0.0)),
        );
    }
    let (Some(sent), Some((lost, either))) = (flow.sent_frames.value(), lost(flow)) else {
        return;
    };
    let share = |frames: u64| frames as f64 / (*sent).max(1) as f64;
    if let Some(ratio) = least {
        findings.must(near(ratio, share(lost), SAME_SHARE), "loss_ratio", || {
            format!(
                "{ratio}, but {lost} lost of {}",
                format::count(*sent, "frame")
            )
        });
    }
    if let (Some(most), Some(either)) = (most, either) {
        let is_range = either > 0 && near(most, share(lost.saturating_add(either)), SAME_SHARE);
        findings.must(is_range, "loss_ratio_at_most", || {
            format!(
                "{most}, but possibly {} lost besides the {lost}",
                format::count(either, "frame")
            )
        });
    }
}

/// Frames that certainly were lost, and those that may have been, where known.
fn lost(flow: &FlowObservation) -> Option<(u64, Option<u64>)> {
    match flow.counts.value() {
        Some(counts) => Some((counts.lost_frames, Some(counts.lost_or_missed_frames))),
        None => Some((
            counter(&flow.counters, "lost_datagrams")?,
            counter(&flow.counters, "lost_or_missed_datagrams"),
        )),
    }
}
