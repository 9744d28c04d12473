//! The result of a trial in terms of the control protocol: counters, times and capture points.

use std::sync::atomic::Ordering;

use wirelab_control::Refusal;
use wirelab_control::message::Point;
use wirelab_control::message::Record;
use wirelab_socket::flow::Live;
use wirelab_trial::ClockKind;
use wirelab_trial::job::CheckReport;

use crate::host::sender_held_ns;
use crate::supervisor::{Running, TrialReport};

/// Frames so far; `None` for a sender that reports them only at its end.
pub fn frames(live: &Live) -> Option<u64> {
    let frames = live.frames.load(Ordering::Relaxed);
    (frames > 0 || live.first_ns.load(Ordering::Relaxed) == 0).then_some(frames)
}

/// All counters of a trial; while it runs, those that are known.
pub fn counters(running: &Running) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    let mut put = |name: &str, value: u64| all.push((name.to_owned(), value));
    let of = |live: &Live| Some((frames(live)?, live.bytes.load(Ordering::Relaxed)));
    let came = running.came();
    if let Some((frames, bytes)) = running.sending.as_deref().and_then(of) {
        let sent = came.as_deref().and_then(|came| came.sent.as_deref());
        put("sent_frames", sent.map_or(frames, |s| s.report.sequences));
        put("sent_bytes", bytes);
        if let Some(sent) = sent {
            put("sent_first_ns", sent.report.first_ns);
            put("sent_last_ns", sent.report.last_ns);
            put("sent_refused_frames", sent.report.refused_frames);
            put("sent_slips", sent.report.slips);
            put("sent_slipped_ns", sent.report.slipped_ns);
            put("sent_held_up_ns", sender_held_ns(&sent.report));
            let told = [
                ("sent_blocked_ns", sent.report.blocked_ns),
                (
                    "sent_longest_burst_frames",
                    sent.report.longest_burst_frames,
                ),
            ];
            for (name, value) in told {
                if let Some(value) = value {
                    put(name, value);
                }
            }
            put("sent_segmented", u64::from(sent.segmented));
        }
    }
    if let Some((frames, bytes)) = running.receiving.as_deref().and_then(of) {
        let seen = came.as_deref().and_then(|came| came.seen.as_deref());
        let echoed = came.as_deref().and_then(|came| came.echoed);
        put(
            "received_frames",
            seen.map_or(frames, |s| s.report.counts.received_frames),
        );
        // A reflector in the driver counts no bytes.
        if bytes > 0 || frames == 0 {
            put("received_bytes", bytes);
        }
        if let Some(echoed) = echoed {
            put("sent_frames", echoed);
        }
        if let Some(seen) = seen {
            received(&seen.report, &mut put);
            // The tester counts what came back itself.
            if echoed.is_none() {
                let slices = wirelab_control::slices::counters(&seen.report.slices);
                slices.iter().for_each(|(name, value)| put(name, *value));
            }
        }
    }
    if let Some(came) = came {
        all.extend(came.counters.iter().cloned());
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
    let told = [
        ("received_jitter_ns", report.jitter_ns),
        ("received_held_up_ns", report.held_up_ns),
    ];
    for (name, value) in told {
        if let Some(ns) = value {
            put(name, ns);
        }
    }
}

/// First to last frame in ns, as if the last had its gap too (the design's `wire`); `None` for fewer than two.
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
/// [`Refusal`] where there is no such point.
pub fn point(came: &TrialReport, at: u32) -> Result<(Point, u32), Refusal> {
    let all = &came.points;
    let Some(taken) = all.get(at as usize) else {
        return Err(match all.len() as u64 {
            0 => Refusal::unsupported("point", "no captures were asked for, or none were taken"),
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
pub fn records(came: &TrialReport, at: u32, from: u32, most: usize) -> Vec<Record> {
    let Some(taken) = came.points.get(at as usize) else {
        return Vec::new();
    };
    let record = |&(sequence, ticks): &(u32, u64)| Record { sequence, ticks };
    let rest = taken.records.get(from as usize..).unwrap_or_default();
    rest.iter().take(most).map(record).collect()
}
