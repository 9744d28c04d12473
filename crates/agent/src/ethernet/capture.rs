//! The capture points of frames that come: when the kernel got a frame from the driver, and when the application has it.

use wirelab_control::value::Mac;
use wirelab_socket::flow::{Capture, Expect};
use wirelab_trial::Cancel;
use wirelab_trial::host_clock::{WallOffset, now_ns};
use wirelab_wire::{Flow, Verdict, classify};

use super::link::Link;

/// The longest frame that is looked at.
const LONGEST: usize = 9300;

/// Take the capture points of the first frames of the flow, as many as are wanted, until the flag is set.
pub fn arrivals(link: &Link, peer: Mac, expect: &Expect, cancel: &Cancel) -> Vec<Capture> {
    let flow = Flow {
        source: Some(peer.0),
        udp_port: 0,
        stream: Some(expect.stream),
        dscp: None,
    };
    let wanted = expect.captures as usize;
    let mut captures = Vec::with_capacity(wanted);
    let mut frame = vec![0; LONGEST];
    if link.stamp_arrivals().is_err() {
        return captures;
    }
    while captures.len() < wanted && !cancel.is_cancelled() {
        let Ok(taken) = link.receive(&mut frame) else {
            continue;
        };
        let application_ns = now_ns();
        let Verdict::Good(header) = classify(&frame[..taken.len], &flow) else {
            continue;
        };
        let driver_ns = taken.unix_ns.and_then(|unix| before(unix, application_ns));
        if let Some(driver_ns) = driver_ns {
            captures.push(Capture {
                sequence: header.sequence,
                driver_ns,
                application_ns,
            });
        }
    }
    captures
}

/// The longest that a frame may have waited for the application, in ns: an older stamp is of a clock that was set.
const OLDEST_NS: u64 = 1_000_000_000;

/// The monotonic time of a stamp that was taken not long before `now_ns`; `None` where the wall clock was set meanwhile.
fn before(unix_ns: u64, now_ns: u64) -> Option<u64> {
    let offset = WallOffset::read();
    let ns = offset.to_monotonic(unix_ns);
    let age = (now_ns + offset.uncertainty_ns).checked_sub(ns)?;
    (age <= OLDEST_NS).then_some(ns.min(now_ns))
}
