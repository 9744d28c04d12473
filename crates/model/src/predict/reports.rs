//! What a test tool's server would report of a flow: intervals, losses by identifiers, jitter.

use std::collections::BTreeMap;

use wirelab_trial::{Direction, Extent, Field, Jitter, Layer};

use super::Subject;
use super::flow::Times;
use crate::build::{Instance, Tool};
use crate::sim::Firing;

/// Most intervals that are reported.
const MOST_INTERVALS: u64 = 99;

/// Whether the tool on the other end reports intervals of this trial.
pub fn wanted(instance: &Instance) -> bool {
    let udp = matches!(
        instance.resolved.trial.framing.layer,
        Layer::UdpIpv4 | Layer::UdpIpv6
    );
    udp && instance.resolved.trial.direction == Direction::Transmit
        && instance.tool.interval_ps.is_some()
}

/// Counters of each interval, by name: `interval_01_datagrams` (by their identifiers, as iperf counts),
/// `interval_01_lost`, `interval_01_bytes`, `interval_01_jitter_ps`; `None` where the tool reports none.
pub fn intervals(subject: &Subject<'_>, times: &Times<'_>) -> Option<BTreeMap<String, Field<u64>>> {
    let (instance, trial) = (subject.instance, subject.trial);
    let interval_ps = instance.tool.interval_ps.filter(|_| wanted(instance))?;
    let Extent::Time { time_ps } = trial.extent else {
        return None;
    };
    let datagram = u64::from(instance.resolved.sizes.datagram?);
    let first = times.wire.first()?.end_ps;
    let mut server = Server::new(&instance.tool);
    let mut counters = BTreeMap::new();
    let mut arrived = 0;
    for number in 1..=(time_ps / interval_ps).min(MOST_INTERVALS) {
        let end = first + number * interval_ps;
        let here = times.wire[arrived..].partition_point(|f| f.end_ps < end);
        if arrived + here == times.wire.len() {
            // The simulation ended in it: only full intervals are reported.
            break;
        }
        let before = server.highest_id;
        times.wire[arrived..arrived + here]
            .iter()
            .for_each(|f| server.take(f));
        arrived += here;
        let by_id = server.highest_id - before;
        let mut put = |what: &str, value: u64| {
            let name = format!("interval_{number:02}_{what}");
            let kind = subject.kind(&format!("interval {what}"), None);
            counters.insert(name, Field::Observed { value, kind });
        };
        put("datagrams", by_id);
        put("lost", by_id - here as u64);
        put("bytes", here as u64 * datagram);
        put("jitter_ps", server.jitter.ps().unwrap_or(0));
    }
    Some(counters)
}

/// The RFC 3550 jitter at the end of the flow, as the tool's server computes it.
pub fn jitter(subject: &Subject<'_>, times: &Times<'_>) -> Field<u64> {
    if !wanted(subject.instance) {
        return Field::absent("nothing in the model reports it on this path");
    }
    let mut server = Server::new(&subject.instance.tool);
    times.wire.iter().for_each(|f| server.take(f));
    match server.jitter.ps() {
        Some(value) => Field::Observed {
            value,
            kind: subject.kind("jitter", None),
        },
        None => Field::absent("no datagram arrived"),
    }
}

/// A server that counts by identifiers from 0 on.
struct Server<'a> {
    tool: &'a Tool,
    /// One more than the highest identifier seen.
    highest_id: u64,
    jitter: Jitter,
}

impl Server<'_> {
    fn new(tool: &Tool) -> Server<'_> {
        Server {
            tool,
            highest_id: 0,
            jitter: Jitter::new(),
        }
    }

    /// Take a datagram off the wire. A sender without timestamps leaves the field 0, so that the server takes the
    /// spacing of datagrams for a change of their transit time.
    fn take(&mut self, datagram: &Firing) {
        self.highest_id = self.tool.first_id + datagram.frame.unwrap_or(0) + 1;
        let sent_ns = if self.tool.timestamps {
            datagram.start_ps / 1000
        } else {
            0
        };
        self.jitter.observe(sent_ns, datagram.end_ps / 1000);
    }
}
