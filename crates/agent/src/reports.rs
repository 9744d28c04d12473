//! The result of a trial in terms of the control protocol: counters, times and capture points.

use std::sync::atomic::Ordering;

use wirelab_control::Refusal;
use wirelab_control::message::Point;
use wirelab_control::message::Record;
use wirelab_socket::flow::FlowProgress;
use wirelab_trial::ClockKind;
use wirelab_trial::job::CheckReport;

use crate::host::sender_held_ns;
use crate::supervisor::{Running, TrialReport};

/// Frames so far; `None` for a sender that reports them only at its end.
pub fn frames(live: &FlowProgress) -> Option<u64> {
    let frames = live.frames.load(Ordering::Relaxed);
    (frames > 0 || live.first_ns.load(Ordering::Relaxed) == 0).then_some(frames)
}

/// All counters of a trial; those known so far while it runs.
pub fn counters(running: &Running) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    let mut put = |name: &str, value: u64| all.push((name.to_owned(), value));
    let of = |live: &FlowProgress| Some((frames(live)?, live.bytes.load(Ordering::Relaxed)));
    let result = running.result();
    if let Some((frames, bytes)) = running.sending.as_deref().and_then(of) {
        let sent = result.as_deref().and_then(|result| result.sent.as_deref());
        put("sent_frames", sent.map_or(frames, |s| s.report.sequences));
        put("sent_bytes", bytes);
        if let Some(sent) = sent {
            put("sent_first_ns", sent.report.first_ns);
            put("sent_last_ns", sent.report.last_ns);
            put("sent_refused_frames", sent.report.refused_frames);
            put("sent_slips", sent.report.slips);
            put("sent_slipped_ns", sent.report.slipped_ns);
            put("sent_held_up_ns", sender_held_ns(&sent.report));
            let pairs = [
                ("sent_blocked_ns", sent.report.blocked_ns),
                (
                    "sent_longest_burst_frames",
                    sent.report.longest_burst_frames,
                ),
            ];
            for (name, value) in pairs {
                if let Some(value) = value {
                    put(name, value);
                }
            }
            put("sent_segmented", u64::from(sent.segmented));
        }
    }
    if let Some((frames, bytes)) = running.receiving.as_deref().and_then(of) {
        let reception = result
            .as_deref()
            .and_then(|result| result.received.as_deref());
        let echoed = result.as_deref().and_then(|result| result.echoed);
        put(
            "received_frames",
            reception.map_or(frames, |s| s.report.counts.received_frames),
        );
        // A reflector in the driver counts no bytes.
        if bytes > 0 || frames == 0 {
            put("received_bytes", bytes);
        }
        if let Some(echoed) = echoed {
            put("sent_frames", echoed);
        }
        if let Some(reception) = reception {
            received(&reception.report, &mut put);
            // The tester counts what it gets back.
            if echoed.is_none() {
                let slices = wirelab_control::slices::counters(&reception.report.slices);
                slices.iter().for_each(|(name, value)| put(name, *value));
            }
        }
    }
    if let Some(result) = result {
        all.extend(result.counters.iter().cloned());
    }
    all
}

fn received(report: &CheckReport, put: &mut impl FnMut(&str, u64)) {
    let c = &report.counts;
    put("good_frames", c.good_frames);
    put("header_corrupt_frames", c.header_corrupt_frames);
    put("truncated_frames", c.truncated_frames);
    put("stale_frames", c.stale_frames);
    put("corrupted_frames", c.corrupted_frames);
    put("duplicated_frames", c.duplicated_frames);
    put("reordered_frames", c.reordered_frames);
    put("reordering_extent_frames", c.reordering_extent_frames);
    put("too_late_frames", c.too_late_frames);
    put("distinct_sequences", c.distinct_sequences);
    put("foreign_frames", c.foreign_frames);
    if c.other_run_frames > 0 {
        put("other_run_frames", c.other_run_frames);
    }
    put("verified_payload_bytes", c.verified_payload_bytes);
    put("checker_missed_frames", report.missed.at_least);
    let times = [
        ("received_first_ns", report.first),
        ("received_last_ns", report.last),
    ];
    for (name, time) in times {
        if let Some((ns, _)) = time {
            put(name, ns);
        }
    }
    let pairs = [
        ("received_jitter_ns", report.jitter_ns),
        ("received_held_up_ns", report.held_up_ns),
    ];
    for (name, value) in pairs {
        if let Some(ns) = value {
            put(name, ns);
        }
    }
}

/// Time from the first frame through the gap after the last in ns (`spans=wire` of the protocol); `None` for fewer
/// than two frames.
pub fn elapsed_ns(running: &Running) -> Option<u64> {
    let live = running
        .receiving
        .as_deref()
        .or(running.sending.as_deref())?;
    let frames = live.frames.load(Ordering::Relaxed);
    let first = live.first_ns.load(Ordering::Relaxed);
    let span = live.last_ns.load(Ordering::Relaxed).checked_sub(first)?;
    let span = u128::from(span) * u128::from(frames) / u128::from(frames.checked_sub(1)?.max(1));
    (frames > 1).then(|| u64::try_from(span).unwrap_or(u64::MAX))
}

/// A capture point of a trial that has ended, and the number of its records.
///
/// # Errors
/// [`Refusal`] if there is no such point.
pub fn point(result: &TrialReport, at: u32) -> Result<(Point, u32), Refusal> {
    let all = &result.points;
    let Some(taken) = all.get(at as usize) else {
        return Err(match all.len() as u64 {
            0 => Refusal::unsupported("point", "no captures were requested, or none were recorded"),
            points => Refusal::limit("point", points - 1),
        });
    };
    let records = taken.records.len() as u32;
    let about = Point {
        trial: 0,
        point: at,
        points: all.len() as u32,
        name: taken.name.clone(),
        stream: taken.stream,
        clock: ClockKind::Wall,
        tick_ps: Some(1000),
        resolution_ticks: 1,
        owner: taken.owner,
        lost: taken.lost,
    };
    Ok((about, records))
}

/// Records of a capture point.
pub fn records(result: &TrialReport, at: u32, from: u32, most: usize) -> Vec<Record> {
    let Some(taken) = result.points.get(at as usize) else {
        return Vec::new();
    };
    let record = |&(sequence, ticks): &(u32, u64)| Record { sequence, ticks };
    let rest = taken.records.get(from as usize..).unwrap_or_default();
    rest.iter().take(most).map(record).collect()
}
