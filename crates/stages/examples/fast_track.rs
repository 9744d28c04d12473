//! How an application receives priority datagrams past the stack of Linux: copy this and put your own work into
//! `handle`.
//!
//! ```text
//! cargo run -p wirelab-stages --example fast_track -- eth0 'port=1026' [--spin] [--seconds N]
//! ```
//! Datagrams to UDP port 1026 of eth0 arrive here directly from the driver; everything else, ordinary UDP too, passes
//! the stack to its own sockets. The rules are described in `docs/fast-track.md`. It needs CAP_BPF, CAP_NET_ADMIN,
//! CAP_NET_RAW and CAP_PERFMON, or root.

use std::error::Error;
use std::time::{Duration, Instant};

use wirelab_stages::{FastTrack, FastTrackCounters, FastTrackOptions};
use wirelab_trial::Wait;
use wirelab_wire::rule::{Datagram, datagram};

/// The application's work for a priority datagram. The data are where the driver (or the kernel's only copy) put
/// them, and this memory is reused after the return: copy what you need longer.
fn handle(datagram: Datagram<'_>, total: &mut Total) {
    // No program has checked the UDP checksum on this path; the MAC checked the Ethernet FCS.
    total.datagrams += 1;
    total.bytes += datagram.data.len() as u64;
}

/// The result of this example.
#[derive(Debug, Default)]
pub struct Total {
    /// Priority datagrams that arrived.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Serve a port until `over`, which is called after each look, returns true.
///
/// # Errors
/// What is missing, in words: a privilege, XDP in the driver, a port without another XDP program.
pub fn serve(
    port: &str,
    rules: &str,
    wait: Wait,
    mut over: impl FnMut(&Total) -> bool,
) -> Result<(Total, FastTrackCounters), Box<dyn Error>> {
    let options = FastTrackOptions::default();
    let mut track = FastTrack::open(&port.parse()?, &rules.parse()?, &options, None)?;
    if let Some(remark) = track.node().remark() {
        eprintln!("fast_track: {remark}");
    }
    let mut total = Total::default();
    while !over(&total) {
        // Returns as soon as there are frames, or after 50 ms without any.
        track.receive(wait, |frame| {
            if let Some(datagram) = datagram(frame) {
                handle(datagram, &mut total);
            }
        })?;
    }
    // Dropping `track` detaches the program from the port: all frames pass the stack again.
    Ok((total, track.counters()?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let after = |word: &str| words.iter().skip_while(|w| *w != word).nth(1);
    let (Some(port), Some(rules)) = (words.first(), words.get(1)) else {
        return Err("usage: fast_track PORT RULES [--spin] [--seconds N]".into());
    };
    let wait = if words.iter().any(|w| w == "--spin") {
        Wait::Spin
    } else {
        Wait::Sleep
    };
    let seconds = after("--seconds").map_or(Ok(10), |n| n.parse())?;
    let end = Instant::now() + Duration::from_secs(seconds);
    let (total, counters) = serve(port, rules, wait, |_| Instant::now() >= end)?;
    println!(
        "{} priority datagrams, {} bytes",
        total.datagrams, total.bytes
    );
    println!(
        "matched {}, received {}, lost to a full ring {}, other frames left to the stack {}",
        counters.node.all_matched(),
        counters.received_frames,
        counters.ring_full_frames + counters.dropped_frames,
        counters.node.passed
    );
    Ok(())
}
