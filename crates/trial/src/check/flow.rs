//! What no flow can show.

use super::{Findings, ROUNDING, series};
use crate::counts::Counts;
use crate::field::{Field, Kind};
use crate::observation::{FlowObservation, Observation, SenderObservation, Spans};

/// How long a host may hold its own clock back at the edge of a trial, in seconds: by so much a rate that was taken
/// from the first to the last arrival may be above that of the link.
const EDGE_S: f64 = 0.1;

pub(super) fn look_at(of: &Observation, flow: &FlowObservation, findings: &mut Findings) {
    for (field, value) in [
        ("frames_per_s", &flow.frames_per_s),
        ("payload_bits_per_s", &flow.payload_bits_per_s),
        ("link_bits_per_s", &flow.link_bits_per_s),
        ("efficiency", &flow.efficiency),
        ("goodput_bits_per_s", &flow.goodput_bits_per_s),
    ] {
        if let Some(value) = value.value() {
            findings.not_negative(field, *value);
        }
    }
    if let Some(counts) = flow.counts.value() {
        findings.within("counts", |f| counted(of, counts, f));
    }
    of_what_was_sent(flow, findings);
    losses(flow, findings);
    intervals(flow, findings);
    rates(of, flow, findings);
    efficiency(of, flow, findings);
    if let Some(sender) = flow.sender.value() {
        findings.within("sender", |f| sent_by(sender, f));
    }
    for one in &flow.series {
        series::look_at(one, findings);
    }
}

/// What one count says of another, whatever was sent.
fn counted(of: &Observation, counts: &Counts, findings: &mut Findings) {
    let received = counts.received_frames;
    for (field, count) in [
        ("reordered_frames", counts.reordered_frames),
        ("duplicated_frames", counts.duplicated_frames),
        ("too_late_frames", counts.too_late_frames),
        ("order_breaks", counts.order_breaks),
    ] {
        findings.must(count <= received, field, || {
            format!("{count}, but only {received} frames were received")
        });
    }
    // Ethernet fills what is shorter up.
    let largest = u128::from(of.sizes.payload.max(46));
    let most = u128::from(received) * largest;
    findings.must(
        u128::from(counts.verified_payload_bytes) <= most,
        "verified_payload_bytes",
        || {
            format!(
                "{}, but {received} frames hold at most {most}",
                counts.verified_payload_bytes
            )
        },
    );
}

/// The count identity, where both ends were counted.
fn of_what_was_sent(flow: &FlowObservation, findings: &mut Findings) {
    if let (Some(sent), Some(counts)) = (flow.sent_frames.value(), flow.counts.value()) {
        if let Err(why) = counts.check_identity(*sent) {
            findings.say("counts", format!("they do not add up: {why}"));
        }
    }
}

fn losses(flow: &FlowObservation, findings: &mut Findings) {
    let least = flow.loss_ratio.value().copied();
    if let Some(ratio) = least {
        findings.share("loss_ratio", ratio);
    }
    if let Some(most) = flow.loss_ratio_at_most {
        findings.share("loss_ratio_at_most", most);
        findings.must(
            least.is_none_or(|least| least <= most),
            "loss_ratio_at_most",
            || format!("{most} is below the loss of {}", least.unwrap_or(0.0)),
        );
    }
    let (Some(sent), Some(counts), Some(ratio)) =
        (measured(&flow.sent_frames), measured(&flow.counts), least)
    else {
        return;
    };
    let counted = counts.lost_frames as f64 / (*sent).max(1) as f64;
    findings.must((ratio - counted).abs() <= 1e-6, "loss_ratio", || {
        format!(
            "{ratio}, but {} of {sent} frames were lost",
            counts.lost_frames
        )
    });
}

/// Each interval lies around its figure.
fn intervals(flow: &FlowObservation, findings: &mut Findings) {
    let of = &flow.intervals;
    for (field, interval, value) in [
        ("frames_per_s", of.frames_per_s, &flow.frames_per_s),
        (
            "payload_bits_per_s",
            of.payload_bits_per_s,
            &flow.payload_bits_per_s,
        ),
        ("link_bits_per_s", of.link_bits_per_s, &flow.link_bits_per_s),
        (
            "goodput_bits_per_s",
            of.goodput_bits_per_s,
            &flow.goodput_bits_per_s,
        ),
        ("loss_ratio", of.loss_ratio, &flow.loss_ratio),
    ] {
        let Some(interval) = interval else { continue };
        findings.within("intervals", |f| {
            f.interval(field, &interval, value.value().copied());
            if field == "loss_ratio" {
                f.share(field, interval.high);
                f.interval(field, &interval, flow.loss_ratio_at_most);
            }
        });
    }
}

fn rates(of: &Observation, flow: &FlowObservation, findings: &mut Findings) {
    let Some(rate) = flow.frames_per_s.value().copied() else {
        return;
    };
    let payload = u64::from(of.sizes.payload);
    let datagram = of.sizes.datagram.map(u64::from);
    for (field, value, bytes) in [
        (
            "payload_bits_per_s",
            &flow.payload_bits_per_s,
            Some(payload),
        ),
        ("goodput_bits_per_s", &flow.goodput_bits_per_s, datagram),
    ] {
        if let (Some(value), Some(bytes)) = (value.value(), bytes) {
            let follows = rate * 8.0 * bytes as f64;
            findings.must(near(*value, follows), field, || {
                format!("{value}, but {rate} frames/s of {bytes} bytes are {follows}")
            });
        }
    }
    if let (Some(payload), Some(link)) = (
        flow.payload_bits_per_s.value(),
        flow.link_bits_per_s.value(),
    ) {
        findings.must(*link >= *payload, "link_bits_per_s", || {
            format!("{link} is below the payload in it, {payload}")
        });
    }
    let received = flow.counts.value().map(|counts| counts.received_frames);
    let wire = |spans| matches!(spans, Spans::Wire);
    if let (Some(received), Some(elapsed)) = (received, measured(&flow.elapsed)) {
        // Twice, and two more: the first frame, and those that came with it, are before the time begins.
        let most = received as f64 * 2.0 + 2.0;
        let seconds = elapsed.ps as f64 / 1e12;
        findings.must(
            !wire(elapsed.spans) || rate * seconds <= most,
            "frames_per_s",
            || format!("{rate} for {seconds} s, but only {received} frames were received"),
        );
    }
}

/// No link carries more than it carries, and the share follows from the rate.
fn efficiency(of: &Observation, flow: &FlowObservation, findings: &mut Findings) {
    let Some(share) = flow.efficiency.value().copied() else {
        return;
    };
    let seconds = flow.elapsed.value().map(|e| e.ps as f64 / 1e12);
    let edge = seconds.map_or(0.0, |s| if s > 0.0 { EDGE_S / s } else { f64::INFINITY });
    findings.must(share <= 1.0 + ROUNDING + edge, "efficiency", || {
        format!("{share} is more than all that the link carries")
    });
    let given = of.trial.link().map(|link| link.bits_per_s());
    let link = given.or(of.node.capabilities.link_bits_per_s);
    if let (Some(link), Some(payload)) = (link, flow.payload_bits_per_s.value()) {
        let follows = payload / link as f64;
        findings.must(near(share, follows), "efficiency", || {
            format!("{share}, but {payload} bit/s of {link} are {follows}")
        });
    }
}

fn sent_by(sender: &SenderObservation, findings: &mut Findings) {
    for (field, value) in [
        ("asked_frames_per_s", &sender.asked_frames_per_s),
        ("achieved_frames_per_s", &sender.achieved_frames_per_s),
    ] {
        if let Some(value) = value.value() {
            findings.not_negative(field, *value);
        }
    }
    if let Some(gaps) = sender.gap.value() {
        findings.within("gap", |f| series::histogram(gaps, f));
    }
    if let (Some(true), Some(asked), Some(achieved)) = (
        sender.kept_rate.value(),
        sender.asked_frames_per_s.value(),
        sender.achieved_frames_per_s.value(),
    ) {
        findings.must(*achieved >= asked * (1.0 - ROUNDING), "kept_rate", || {
            format!("true, but {achieved} of {asked} frames/s were achieved")
        });
    }
}

fn measured<T>(field: &Field<T>) -> Option<&T> {
    field
        .value()
        .filter(|_| field.kind() == Some(Kind::Measured))
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= ROUNDING * a.abs().max(b.abs()) + f64::MIN_POSITIVE
}
