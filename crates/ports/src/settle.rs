//! Before and after a run, after RFC 2544 (23): a frame from which switches learn, and time for frames in flight.

use std::time::{Duration, Instant};

use wirelab_port::inject::Schedule;
use wirelab_port::job::{Pace, SendJob, SendReport};
use wirelab_port::packet;
use wirelab_trial::{Cancel, Extent, Warning, WarningCode};
use wirelab_wire::Transport;

use crate::checker::{AnyChecker, QUIET};
use crate::flow::FlowPlan;

/// A frame that does not reach a capture within this time is missing there.
const CAPTURE_QUIET: Duration = Duration::from_millis(500);
/// Longest wait for frames in flight (RFC 2544, 23: two seconds).
const LONGEST_DRAIN: Duration = Duration::from_secs(2);
/// How long to look for frames of another run before a run.
const GLANCE: Duration = Duration::from_millis(10);
/// How long to look if frames were still arriving at the end of the previous run.
const LONG_GLANCE: Duration = Duration::from_millis(300);
/// Longest wait for frames of another run to end.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// No frame for this many mean gaps means that none follow.
const GAPS: u32 = 10;
/// Number of frames that search for a receiver, and the wait for each. A path that loses all delays a trial by at
/// most 0.33 s.
const PROBES: u32 = 10;
const PROBE_WAIT: Duration = Duration::from_millis(30);
/// Interval between two checks.
const LOOK: Duration = Duration::from_millis(2);

/// Send a frame from each receiving port to its sender, so that switches learn its place. If the host does not allow
/// that, the trial still runs: the first frames are then flooded.
pub fn announce(flows: &[FlowPlan]) {
    for flow in flows {
        let frame = &flow.job.frame;
        let _ = packet::announce(&flow.to, frame.source, frame.vlans);
    }
}

/// Reply for the IP addresses of the receiving ports as long as the result lives, and send frames that belong to no
/// run until one arrives. A router has then resolved the receiver, so it does not drop the first frames of the run. If no frame
/// arrives in time, the trial still runs.
pub fn resolve(flows: &[FlowPlan], cancel: &Cancel) -> Vec<packet::Neighbour> {
    flows
        .iter()
        .filter_map(|f| resolve_one(f, cancel))
        .collect()
}

fn resolve_one(flow: &FlowPlan, cancel: &Cancel) -> Option<packet::Neighbour> {
    let frame = &flow.job.frame;
    let (address, udp_port) = match frame.transport {
        Transport::Ethernet => return None,
        Transport::UdpIpv4 { addresses, ports } => (addresses[1].into(), ports[1]),
        Transport::UdpIpv6 { addresses, ports } => (addresses[1].into(), ports[1]),
    };
    let neighbour = packet::Neighbour::start(&flow.to, address, frame.vlans).ok()?;
    let arrival = packet::Arrival::listen(&flow.to, udp_port).ok()?;
    let probe = SendJob {
        pace: Pace::Interval { ps: 1_000_000 },
        extent: Extent::Frames { frames: 1 },
        faults: Schedule::default(),
        buffers: None,
        ..flow.job.clone()
    };
    for _ in 0..PROBES {
        let sent = packet::send(&flow.from, &probe, &packet::SendOptions::default(), cancel);
        // The trial itself reports what is wrong with the path.
        if sent.is_err() || cancel.is_cancelled() || arrival.arrived_within(PROBE_WAIT).ok()? {
            break;
        }
    }
    Some(neighbour)
}

/// Wait until frames of another run end; a warning if they do not.
pub fn wait_for_others(
    checkers: &[AnyChecker],
    restless: bool,
    cancel: &Cancel,
) -> Option<Warning> {
    let total = || checkers.iter().map(AnyChecker::other_run).sum::<u64>();
    let glance = if restless { LONG_GLANCE } else { GLANCE };
    let ended = wait(total, |_| glance, LONGEST_WAIT, cancel);
    (!ended).then(|| {
        Warning::new(
            WarningCode::OTHER_RUN,
            format!("frames of an earlier run still arrived {LONGEST_WAIT:?} before this one; they are counted separately, and fill the path's queues"),
            "stop their sender, or wait until the node's queues are empty",
        )
    })
}

/// Wait for frames of this run in flight; a warning if they do not end.
///
/// If as many as were sent have arrived, a short wait for copies is enough. Otherwise the wait depends on the path's
/// delay: many times the gap and latency so far, or the longest wait if no frame has arrived.
pub fn wait_for_own(
    checkers: &[AnyChecker],
    sent: &[SendReport],
    cancel: &Cancel,
) -> Option<Warning> {
    let total = || checkers.iter().map(AnyChecker::received).sum::<u64>();
    let emitted: u64 = sent.iter().map(|s| s.emitted_frames).sum();
    let patience = |(checker, sent): (&AnyChecker, &SendReport)| match checker.first_ns() {
        Some(first) => {
            let latency_ns = first.saturating_sub(sent.first_ns);
            latency_and_gap(latency_ns, checker.received(), sent.call_ns)
        }
        None if sent.emitted_frames == 0 => QUIET,
        None => LONGEST_DRAIN,
    };
    let quiet = |received| match received >= emitted {
        true => QUIET,
        false => checkers
            .iter()
            .zip(sent)
            .map(patience)
            .max()
            .unwrap_or(QUIET),
    };
    let ended = wait(total, quiet, LONGEST_DRAIN, cancel);
    (!ended).then(|| {
        Warning::new(
            WarningCode::LATE_FRAMES,
            format!("frames still arrived {LONGEST_DRAIN:?} after the last was sent; later ones count as lost (RFC 2544, 23)"),
            "lower the load, so that queues on the path do not fill",
        )
    })
}

/// Wait until captures have the frames that the checkers passed on, or none arrives for a while. A busy host may
/// deliver frames long after their checker saw them.
pub fn wait_for_captures(recorders: &[packet::Checker], checkers: &[AnyChecker], cancel: &Cancel) {
    let passed: u64 = checkers.iter().map(AnyChecker::received).sum();
    let total = || recorders.iter().map(|r| r.received_frames()).sum::<u64>();
    let quiet = |captured| match captured >= passed {
        true => Duration::ZERO,
        false => CAPTURE_QUIET,
    };
    wait(total, quiet, LONGEST_DRAIN, cancel);
}

/// Wait until no frame arrives for a while.
pub fn drain(checkers: &[AnyChecker], cancel: &Cancel) {
    let total = || checkers.iter().map(AnyChecker::received).sum::<u64>();
    wait(total, |_| QUIET, LONGEST_DRAIN, cancel);
}

/// The time without a frame after which the rest is lost.
fn latency_and_gap(latency_ns: u64, received: u64, sending_ns: u64) -> Duration {
    let gap = Duration::from_nanos(sending_ns / received.max(1));
    let latency = Duration::from_nanos(latency_ns);
    (gap * GAPS).max(latency * 3).clamp(QUIET, LONGEST_DRAIN)
}

/// Waits until `total` has been constant for the time of `quiet` and for many of the observed gaps, or until the run is
/// cancelled; returns whether that was within `longest`.
fn wait(
    total: impl Fn() -> u64,
    quiet: impl Fn(u64) -> Duration,
    longest: Duration,
    cancel: &Cancel,
) -> bool {
    let begun = Instant::now();
    let (first, mut last, mut since) = (total(), total(), begun);
    loop {
        let gaps = u32::try_from(last - first).unwrap_or(u32::MAX);
        let gap = (gaps > 0).then(|| since.duration_since(begun) / gaps);
        let patience = quiet(last).max(gap.unwrap_or_default().saturating_mul(GAPS));
        if since.elapsed() >= patience || cancel.is_cancelled() {
            return true;
        }
        if begun.elapsed() >= longest {
            return false;
        }
        std::thread::sleep(LOOK);
        let now = total();
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_wait_is_as_long_as_the_path_makes_frames_wait() {
        let ms = |n| Duration::from_millis(n);
        assert_eq!(latency_and_gap(1000, 1_000_000, 1_000_000_000), QUIET);
        assert_eq!(
            latency_and_gap(1000, 100, 2_000_000_000),
            ms(200),
            "ten gaps of 20 ms"
        );
        assert_eq!(
            latency_and_gap(50_000_000, 100, 1_000_000),
            ms(150),
            "three latencies"
        );
        assert_eq!(latency_and_gap(0, 0, 60_000_000_000), LONGEST_DRAIN);
    }

    #[test]
    fn a_wait_ends_when_frames_end_and_gives_up_where_they_do_not() {
        let going = Cancel::new();
        let short = Duration::from_millis(20);
        assert!(wait(|| 7, |_| short, short * 50, &going));
        let count = Cell::new(0);
        let more = || {
            count.set(count.get() + 1);
            count.get()
        };
        assert!(!wait(more, |_| short, short * 3, &going));
        let cancelled = Cancel::new();
        cancelled.cancel();
        assert!(wait(more, |_| short, short * 50, &cancelled));
    }
}
