//! The capture points of received frames: when the kernel got a frame from the driver, and when the application has
//! it.

use wirelab_control::value::Mac;
use wirelab_socket::flow::{Capture, Expect};
use wirelab_trial::Cancel;
use wirelab_trial::host_clock::{WallOffset, now_ns};
use wirelab_wire::{Flow, Verdict, classify};

use super::link::TestSocket;

/// Longer frames are cut.
const LONGEST: usize = 9300;

/// Record the capture points of the first frames of the flow, up to the requested number, until the flag is set.
pub fn arrivals(link: &TestSocket, peer: Mac, expect: &Expect, cancel: &Cancel) -> Vec<Capture> {
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

/// The longest time in ns that a frame may wait for the application. An older stamp means that the wall clock was
/// set.
const OLDEST_NS: u64 = 1_000_000_000;

/// The monotonic time of a stamp taken shortly before `now_ns`; `None` if the wall clock was set meanwhile.
fn before(unix_ns: u64, now_ns: u64) -> Option<u64> {
    let offset = WallOffset::read();
    let ns = offset.to_monotonic(unix_ns);
    let age = (now_ns + offset.uncertainty_ns).checked_sub(ns)?;
    (age <= OLDEST_NS).then_some(ns.min(now_ns))
}
