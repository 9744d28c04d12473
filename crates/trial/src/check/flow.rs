//! Impossible figures of a flow.

use wirelab_wire::Overhead;
use wirelab_wire::header::TIME_MODULUS;

use super::{Findings, MOST_FRAMES_PER_S, ROUNDING, counter, counts, near, sender, series};
use crate::field::Field;
use crate::format;
use crate::interval::Stated;
use crate::observation::{FlowObservation, Observation};
use crate::series::Series;
use crate::series_name::FixedSeries;
use crate::trial::Extent;

/// How long a host may delay its own clock at the edge of a trial, in seconds: a rate from the first to the last
/// arrival may exceed that of the link by as much.
pub(super) const EDGE_S: f64 = 0.1;
/// Allowed relative difference between a rate times its time and the frames: both are rounded to a ps or a digit.
const SAME_TIME: f64 = 1e-3;
/// Frames or bytes by which the slices of a short flow may differ from its counts.
const LATE: u64 = 1500;
/// Longest time from the last sent frame to the end of the trial, in seconds: it settles, and requests what is missing.
const AFTER_S: f64 = 60.0;

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
    counts::look_at(of, flow, findings);
    if let (Some(sent), Extent::Frames { frames }) = (flow.sent_frames.value(), of.trial.extent) {
        findings.must(*sent <= frames, "sent_frames", || {
            format!("{sent}, but the trial ends after {frames}")
        });
    }
    intervals(flow, findings);
    rates(of, flow, findings);
    over_time(of, flow, findings);
    findings.within("over_time", |f| slices(flow, f));
    link(of, flow, findings);
    if let Some(one) = flow.sender.value() {
        findings.within("sender", |f| sender::look_at(of, flow, one, f));
    }
    for one in &flow.series {
        series::look_at(one, findings);
    }
    durations(of, flow, findings);
}

/// Each interval contains its figure, and those of the rates, which are one rate in several units, agree.
fn intervals(flow: &FlowObservation, findings: &mut Findings) {
    let of = &flow.intervals;
    let rates = [
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
    ];
    findings.within("intervals", |f| {
        for (field, interval, value) in &rates {
            if let Some(interval) = interval {
                f.within_run(field, interval, value.value().copied());
            }
        }
        if let Some(interval) = &of.loss_ratio {
            const FIELD: &str = "loss_ratio";
            f.within_run(FIELD, interval, flow.loss_ratio.value().copied());
            f.share(FIELD, interval.high);
            f.interval(FIELD, interval, flow.loss_ratio_at_most);
        }
    });
    let shares = rates.iter().filter_map(|(field, interval, value)| {
        let value = value.value().filter(|value| **value > 0.0)?;
        Some((*field, shares(interval.as_ref()?, *value)))
    });
    let mut shares = shares;
    let Some((first, (low, high))) = shares.next() else {
        return;
    };
    for (field, (other_low, other_high)) in shares {
        let alike = near(low, other_low, SAME_TIME) && near(high, other_high, SAME_TIME);
        findings.must(alike, "intervals", || {
            format!("{field} differs from {first}, of which it is a multiple")
        });
    }
}

/// The ends of an interval as shares of its figure.
fn shares(interval: &Stated, value: f64) -> (f64, f64) {
    (interval.low / value, interval.high / value)
}

/// All rates are the same rate in several units.
fn rates(of: &Observation, flow: &FlowObservation, findings: &mut Findings) {
    let Some(rate) = flow.frames_per_s.value().copied() else {
        return;
    };
    let kinds = [
        &flow.payload_bits_per_s,
        &flow.link_bits_per_s,
        &flow.goodput_bits_per_s,
    ]
    .map(Field::kind);
    let kind = flow.frames_per_s.kind();
    if let Some(other) = kinds.into_iter().flatten().find(|of| Some(*of) != kind) {
        findings.say(
            "frames_per_s",
            format!("it is not {other}, but a rate in another unit is"),
        );
    }
    let sizes = &of.sizes;
    let link_bytes = Overhead::default().link_bytes(sizes);
    for (field, value, bytes) in [
        (
            "payload_bits_per_s",
            &flow.payload_bits_per_s,
            Some(u64::from(sizes.payload)),
        ),
        ("link_bits_per_s", &flow.link_bits_per_s, Some(link_bytes)),
        (
            "goodput_bits_per_s",
            &flow.goodput_bits_per_s,
            sizes.datagram.map(u64::from),
        ),
    ] {
        if let (Some(value), Some(bytes)) = (value.value(), bytes) {
            let follows = rate * 8.0 * bytes as f64;
            findings.must(near(*value, follows, ROUNDING), field, || {
                format!("{value}, but {rate} frames/s of {bytes} bytes are {follows}")
            });
        }
    }
}

/// Slices hold no more than the whole flow.
fn slices(flow: &FlowObservation, findings: &mut Findings) {
    let of = &flow.over_time;
    let rows = of.slice_ns.len();
    let same = of.arrived.len() == rows && of.missing_frames.len() == rows;
    findings.must(same, "arrived", || {
        format!("its lists have {rows} and other numbers of slices")
    });
    let sum = |list: &[u64]| list.iter().fold(0u64, |sum, one| sum.saturating_add(*one));
    let counted_by = |name| counter(&flow.counters, name);
    let counted = flow.counts.value().map(|counts| counts.received_frames);
    let counted =
        counted.or_else(|| counted_by("received_datagrams").or_else(|| counted_by("stream_bytes")));
    let elapsed = flow.elapsed.value().map(|elapsed| elapsed.ps / 1000);
    let edge_ns = (EDGE_S * 1e9) as u64;
    for (field, list, whole) in [
        ("arrived", &of.arrived, counted),
        (
            "missing_frames",
            &of.missing_frames,
            flow.sent_frames.value().copied(),
        ),
        (
            "slice_ns",
            &of.slice_ns,
            elapsed.map(|ns| ns.saturating_add(edge_ns)),
        ),
    ] {
        if let Some(whole) = whole {
            let all = sum(list);
            // Frames after the last slice, and duplicates, are counted in only one of the two.
            let most = whole.saturating_add(whole / 10 + LATE);
            findings.must(all <= most, field, || {
                format!("{all} in all slices, but {whole} in the whole flow")
            });
        }
    }
}

/// A rate is what arrived over its time.
fn over_time(of: &Observation, flow: &FlowObservation, findings: &mut Findings) {
    let Some(elapsed) = flow.elapsed.value() else {
        return;
    };
    let seconds = elapsed.ps as f64 / 1e12;
    let counted_by = |name| counter(&flow.counters, name);
    let bytes = counted_by("stream_bytes").zip(flow.goodput_bits_per_s.value());
    if let (Some((bytes, goodput)), None) = (bytes, flow.frames_per_s.value()) {
        let bits = bytes as f64 * 8.0;
        findings.must(
            near(goodput * seconds, bits, SAME_TIME),
            "goodput_bits_per_s",
            || format!("{goodput} for {seconds} s, but {bytes} bytes were transferred"),
        );
    }
    let Some(rate) = flow.frames_per_s.value() else {
        return;
    };
    findings.must(elapsed.ps > 0 || *rate == 0.0, "elapsed", || {
        format!("0 ps, but at {rate} frames/s a frame takes longer")
    });
    let counted = flow.counts.value().map(|counts| counts.received_frames);
    let counted = counted.or_else(|| counted_by("received_datagrams"));
    if let Some(received) = counted {
        let holds = near(rate * seconds, received as f64, SAME_TIME);
        findings.must(holds, "frames_per_s", || {
            format!(
                "{rate} for {seconds} s, but {} received",
                format::count(received, "frame")
            )
        });
        return;
    }
    let requested = match of.trial.extent {
        Extent::Frames { frames } => Some(frames),
        Extent::Time { .. } => None,
    };
    if let Some(sent) = flow.sent_frames.value().copied().or(requested) {
        // Each may have arrived twice.
        let most = sent as f64 * 2.0;
        findings.must(
            rate * seconds <= most * (1.0 + ROUNDING),
            "frames_per_s",
            || {
                format!(
                    "{rate} for {seconds} s, but {} sent",
                    format::count(sent, "frame")
                )
            },
        );
    }
}

/// No link carries more than its rate, and the share follows from the rate.
fn link(of: &Observation, flow: &FlowObservation, findings: &mut Findings) {
    let seconds = flow.elapsed.value().map(|e| e.ps as f64 / 1e12);
    let edge = |s: f64| if s > 0.0 { EDGE_S / s } else { f64::INFINITY };
    let most = 1.0 + ROUNDING + seconds.map_or(0.0, edge);
    let given = of.trial.link_bits_per_s;
    let link = given.or(of.node.capabilities.link_bits_per_s);
    if let (Some(link), Some(bits)) = (link, flow.link_bits_per_s.value()) {
        findings.must(*bits <= link as f64 * most, "link_bits_per_s", || {
            format!("{bits}, but the link has {link} bit/s")
        });
    }
    let Some(share) = flow.efficiency.value().copied() else {
        return;
    };
    findings.must(share <= most, "efficiency", || {
        format!("{share} is more than all that the link carries")
    });
    if let (Some(link), Some(payload)) = (link, flow.payload_bits_per_s.value()) {
        let follows = payload / link as f64;
        findings.must(near(share, follows, ROUNDING), "efficiency", || {
            format!("{share}, but {payload} bit/s of {link} are {follows}")
        });
    }
}

/// Nothing in a trial takes longer than the trial.
fn durations(of: &Observation, flow: &FlowObservation, findings: &mut Findings) {
    for one in &flow.series {
        latency(flow, one, findings);
    }
    let Some(run_s) = longest_s(of, flow) else {
        return;
    };
    // Twice: the overdue time and a pause may be the same.
    let most_s = 2.0 * run_s + AFTER_S;
    if let Some(counts) = flow.counts.value() {
        let beside = counts.foreign_frames.max(counts.other_run_frames);
        let most = most_s * MOST_FRAMES_PER_S;
        findings.must(beside as f64 <= most, "counts, foreign_frames", || {
            format!("{beside} or more, but the trial took {run_s} s")
        });
    }
    let mut within = |field: &str, ps: Option<u64>, most_s: f64| {
        let Some(ps) = ps else { return };
        findings.must(ps as f64 <= most_s * 1e12, field, || {
            format!("{ps} ps, but the trial took {run_s} s")
        });
    };
    // A jitter is a mean difference of transit times: at most the longest gap between two frames.
    within(
        "jitter_ps",
        flow.jitter_ps.value().copied(),
        2.0 * run_s + 1.0,
    );
    within(
        "checker_held_up_ps",
        flow.checker_held_up_ps.value().copied(),
        most_s,
    );
    if let Some(sender) = flow.sender.value() {
        within(
            "sender, slipped_ps",
            sender.slipped_ps.value().copied(),
            most_s,
        );
        within(
            "sender, blocked_ps",
            sender.blocked_ps.value().copied(),
            most_s,
        );
    }
    for one in &flow.series {
        let ps = one
            .clock
            .tick_ps
            .map(|tick| one.histogram.max_ticks.saturating_mul(tick));
        within(&format!("series {}, max_ticks", one.name), ps, most_s);
    }
}

/// Each frame has one latency, and times in frames are modulo 2⁴⁸ ns, of which half is before.
fn latency(flow: &FlowObservation, series: &Series, findings: &mut Findings) {
    if series.name != FixedSeries::LATENCY {
        return;
    }
    let h = &series.histogram;
    if let Some(counts) = flow.counts.value() {
        let received = counts.received_frames;
        findings.must(h.count <= received, "series latency, count", || {
            format!(
                "{}, but only {} received",
                h.count,
                format::count(received, "frame")
            )
        });
    }
    let longest_ps = u128::from(TIME_MODULUS / 2) * 1000;
    let ps = u128::from(h.max_ticks) * u128::from(series.clock.tick_ps.unwrap_or(0));
    findings.must(ps <= longest_ps, "series latency, max_ticks", || {
        format!("{ps} ps, but a test frame cannot encode more than {longest_ps}")
    });
}

/// Upper bound for the time of a flow, in seconds; `None` where nothing gives one.
fn longest_s(of: &Observation, flow: &FlowObservation) -> Option<f64> {
    let arriving = flow.elapsed.value().map(|elapsed| elapsed.ps as f64 / 1e12);
    let achieved = flow
        .sender
        .value()
        .and_then(|s| s.achieved_frames_per_s.value());
    let sent = flow.sent_frames.value().zip(achieved);
    let sending = sent.map(|(sent, rate)| *sent as f64 / rate);
    let requested = match of.trial.extent {
        Extent::Time { time_ps } => Some(time_ps as f64 / 1e12),
        Extent::Frames { .. } => None,
    };
    [arriving, sending, requested]
        .into_iter()
        .flatten()
        .filter(|s| s.is_finite())
        .reduce(f64::max)
}
