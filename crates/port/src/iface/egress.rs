//! What happened to the frames that this host sends over an interface, before they left it. Its queue (the queueing
//! discipline, tc(8)) and its driver may drop frames, and a UDP sender gets no error for that.

use std::io;
use std::time::{Duration, Instant};

use nix::sys::socket::SockProtocol;
use wirelab_trial::job::{Missed, UDP_MAX_SEGMENTS};

use super::{LinkFault, LinkState, PortName};
use crate::netlink::{self, NetlinkQuery, find, number32};

const RTM_GETQDISC: u16 = 38;
const TCA_STATS: u16 = 3;
/// Length of `struct tcmsg` (linux/rtnetlink.h), and the offsets of the interface's number and the parent.
const MESSAGE: usize = 20;
const MESSAGE_INDEX: usize = 4;
const MESSAGE_PARENT: usize = 12;
/// The parent of an interface's first queueing discipline, whose counts include all disciplines below it.
const ROOT: u32 = u32::MAX;
/// Offset of the drops in `struct tc_stats` (linux/pkt_sched.h).
const STATS_DROPS: usize = 12;

/// A driver that dropped frames is still emptying its ring: it counts a frame as sent once it has left. Its counter is
/// read again until it is constant for this long, and until everything that the flow emitted was sent or dropped.
const STILL: Duration = Duration::from_millis(20);
/// The longest wait for that: other flows may count forever.
const SETTLING: Duration = Duration::from_millis(200);

/// An interface at the start of a flow.
#[derive(Clone, Debug)]
pub struct Egress {
    port: PortName,
    link: LinkState,
    queue_drops: u32,
}

/// What happened since then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Departed {
    /// What happened to the link.
    pub fault: Option<LinkFault>,
    /// Frames that the driver sent, of all flows; a segmented buffer of many datagrams may count as one.
    pub transmitted: u64,
    /// Frames that queue and driver dropped, of all flows.
    pub dropped: u64,
    /// Frames that the interface received, of all flows.
    pub received: u64,
}

impl Egress {
    /// The interface as it is now; `None` if it cannot be queried.
    pub fn begin(port: &PortName) -> Option<Egress> {
        let link = LinkState::query(port).ok()??;
        Some(Egress {
            port: port.clone(),
            link,
            queue_drops: queue_drops(port, link.index).unwrap_or(0),
        })
    }

    /// Its port.
    pub const fn port(&self) -> &PortName {
        &self.port
    }

    /// What happened since `begin`, to a flow that emitted this many frames (0 if unknown). Takes up to 200 ms where
    /// frames were dropped.
    pub fn end(&self, emitted: u64) -> Departed {
        let begun = Instant::now();
        let mut departed = self.so_far();
        while departed.dropped > 0 && begun.elapsed() < SETTLING {
            std::thread::sleep(STILL);
            let before = std::mem::replace(&mut departed, self.so_far());
            // The thread that empties the ring may itself wait for a core: a constant counter is not an end.
            let all = departed.transmitted.saturating_add(departed.dropped) >= emitted;
            if all && before.transmitted == departed.transmitted {
                break;
            }
        }
        departed
    }

    fn so_far(&self) -> Departed {
        let now = LinkState::query(&self.port).ok().flatten();
        let fault = self.link.fault_until(now.as_ref());
        let Some(now) = now.filter(|_| fault.is_none()) else {
            return Departed {
                fault,
                ..Departed::default()
            };
        };
        // A discipline that was replaced meanwhile counts from 0.
        let drops = queue_drops(&self.port, now.index).unwrap_or(0);
        let queue = drops.saturating_sub(self.queue_drops);
        let driver = now.dropped_frames.saturating_sub(self.link.dropped_frames);
        Departed {
            fault,
            transmitted: now
                .transmitted_frames
                .saturating_sub(self.link.transmitted_frames),
            dropped: u64::from(queue).saturating_add(driver),
            received: now
                .received_frames
                .saturating_sub(self.link.received_frames),
        }
    }
}

impl Departed {
    /// Subtracts this many frames of other flows, which certainly left, because they arrived.
    #[must_use]
    pub const fn beside(self, arrived: u64) -> Departed {
        Departed {
            transmitted: self.transmitted.saturating_sub(arrived),
            ..self
        }
    }

    /// Bounds on how many of `emitted` datagrams never left, of which `unseen` were not received. The interface's
    /// counts include other flows, so the flow's drops may be fewer. A drop of a segmented buffer may be many
    /// datagrams. If the interface sent and dropped at least as many frames as were emitted, it got each datagram
    /// separately, and what left is known.
    pub fn never_left(&self, emitted: u64, unseen: u64, segmented: bool) -> Missed {
        let each = if segmented { UDP_MAX_SEGMENTS } else { 1 };
        let at_most = self.dropped.saturating_mul(each).min(unseen);
        let lacking = emitted.saturating_sub(self.transmitted);
        let one_by_one = !segmented || self.transmitted.saturating_add(self.dropped) >= emitted;
        Missed {
            at_least: match one_by_one {
                true => lacking.min(self.dropped).min(at_most),
                false => 0,
            },
            at_most,
        }
    }
}

/// Frames that the queueing discipline of an interface has dropped since it was added; 0 if it has none.
fn queue_drops(port: &PortName, index: u32) -> Option<u32> {
    port.netns().ok()?.run_in(|| ask(index)).ok()?.ok()
}

/// List all queueing disciplines of the calling thread's namespace: the kernel has no query for one interface.
fn ask(index: u32) -> io::Result<u32> {
    let request = NetlinkQuery {
        kind: RTM_GETQDISC,
        all: true,
        head: &[0; MESSAGE],
        attributes: &[],
    };
    let answer = request.ask(&netlink::open(SockProtocol::NetlinkRoute)?)?;
    let drops = answer.iter().find_map(|message| drops(message, index));
    Ok(drops.unwrap_or(0))
}

/// Drops of a discipline, if it is the interface's first.
fn drops(message: &[u8], index: u32) -> Option<u32> {
    let at = |offset: usize| number32(message.get(offset..)?);
    if at(MESSAGE_INDEX)? != index || at(MESSAGE_PARENT)? != ROOT {
        return None;
    }
    let stats = find(message.get(MESSAGE..)?, TCA_STATS)?;
    number32(stats.get(STATS_DROPS..)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn departed(transmitted: u64, dropped: u64) -> Departed {
        Departed {
            fault: None,
            transmitted,
            dropped,
            received: 0,
        }
    }

    #[test]
    fn what_never_left_is_bounded_by_what_was_dropped_and_what_nobody_saw() {
        let of = |departed: Departed, unseen, segmented| {
            let missed = departed.never_left(1_000, unseen, segmented);
            (missed.at_least, missed.at_most)
        };
        assert_eq!(of(departed(900, 100), 150, false), (100, 100), "alone");
        assert_eq!(of(departed(900, 100), 40, false), (40, 40));
        assert_eq!(
            of(departed(960, 100), 150, false),
            (40, 100),
            "60 of others"
        );
        assert_eq!(of(departed(900, 0), 150, false), (0, 0), "a late counter");
        assert_eq!(of(departed(10, 2), 500, true), (0, 256), "pieces of many");
        assert_eq!(
            of(departed(903, 100), 100, true),
            (97, 100),
            "the driver got each one separately, and three of others"
        );
        let beside = departed(1_600, 100).beside(700);
        assert_eq!(of(beside, 150, false), (100, 100), "another flow is known");
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = drops(&bytes, 1);
        }
    }
}
