//! What the receiving host dropped of a flow before its checker. These are bounds, because the system counts the
//! buffers of a queue, whose frames may be from any sender.

use crate::iface::PortName;
use crate::job::Missed;
use wirelab_trial::Counts;

/// Drops between a port and its checker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drops {
    /// Drops of a queue whose filter passes only possible test frames.
    pub own: u64,
    /// Drops of queues that also hold foreign frames: the interface's, and a ring that a capture shares.
    pub shared: u64,
    /// Whether a dropped buffer may have held many frames, because such buffers arrived.
    pub joined: bool,
}

impl Drops {
    /// Bounds on how many frames of the flow were dropped, besides the `judged` frames.
    ///
    /// Upper bound: every buffer held one frame of the flow, or any number if buffers hold many.
    /// [`wirelab_trial::job::CheckReport::with_sent`] limits it to the frames that did not arrive.
    ///
    /// Lower bound: a shared queue adds nothing, since every frame that it dropped may have been foreign. The foreign
    /// frames that it passed before and after do not limit that. Each drop of the own queue is a frame of the flow
    /// with its own sequence number, unless other frames look like it: test frames of another stream or run, and
    /// copies. If any of these was seen, some may be among the dropped ones, and the lower bound is 0.
    pub(crate) fn missed(&self, judged: &Counts, strangers: u64) -> Missed {
        let at_most = match self.joined {
            true => u64::MAX,
            false => self.own + self.shared,
        };
        let alike = strangers + judged.other_run_frames + judged.duplicated_frames;
        Missed {
            at_least: if alike == 0 { self.own } else { 0 },
            at_most,
        }
    }
}

/// Whether an interface counts frames as dropped that a program has judged and ended with the verdict `XDP_DROP`.
/// virtio_net and tun do, veth does not, others may. There is no list, so both counts are compared while frames
/// arrive. If they grow one to one, the interface does; if it dropped fewer than were judged, it does not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JudgedDrops {
    agreed: u32,
    agreed_at: u64,
    never: bool,
}

/// A driver may update its counter only at the end of a poll, which has this many frames (NAPI_POLL_WEIGHT).
const POLL_FRAMES: u64 = 64;
/// Both counts grew by the same number at this many comparisons: more than chance.
const AGREED: u32 = 2;

impl JudgedDrops {
    /// Both counts start again; the knowledge about the interface stays.
    pub(crate) fn begin_anew(&mut self) {
        self.agreed_at = 0;
    }

    /// Whether further comparisons are unnecessary.
    pub(crate) fn is_known(&self) -> bool {
        self.never || self.agreed >= AGREED
    }

    /// Whether this many judged frames are enough for a comparison.
    pub(crate) fn is_due(&self, judged: u64) -> bool {
        !self.is_known() && judged >= self.agreed_at + 2 * POLL_FRAMES
    }

    /// The interface had dropped `dropped` frames in total at a time when between `judged.0` and `judged.1` were
    /// judged.
    pub(crate) fn look(&mut self, judged: (u64, u64), dropped: u64) {
        if dropped < judged.0 / 2 {
            self.never = true;
        } else if dropped + POLL_FRAMES >= judged.0 && dropped <= judged.1 {
            self.agreed += 1;
            self.agreed_at = judged.1;
        }
    }

    /// How many of `dropped` frames were judged, of `judged` in total, while no frames arrive. If that is unknown, 0:
    /// all of them may be frames that never reached the program.
    pub(crate) fn among(&self, judged: u64, dropped: u64) -> u64 {
        let counts = dropped == judged || (!self.never && self.agreed >= AGREED);
        if counts { judged.min(dropped) } else { 0 }
    }
}

/// Frames from the interface that the host has dropped, since it was created; `None` if the system does not report
/// them. The system also counts frames as dropped that no receiver after the checker takes, e.g. those of a VLAN that
/// the host does not have. So that count is used only if the checker passes no frame of the flow (`is_end`).
/// Otherwise only the device's ring and the processors' queues count, and those queues serve all interfaces.
pub(crate) fn of_interface(port: &PortName, is_end: bool) -> Option<u64> {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{name}"));
    let tables = || Some((read("dev").ok()?, read("softnet_stat").ok()?));
    let (interfaces, queues) = port.netns().ok()?.run_in(tables).ok()??;
    let (dropped, ring) = of_table(&interfaces, &port.interface)?;
    let queued = match is_end {
        true => dropped,
        false => of_queues(&queues)?,
    };
    ring.checked_add(queued)
}

/// `drop` and `fifo` of the receive columns (proc_pid_net(5)): bytes, packets, errs, drop, fifo.
fn of_table(text: &str, interface: &str) -> Option<(u64, u64)> {
    let row = text.lines().find_map(|line| {
        let (name, row) = line.split_once(':')?;
        (name.trim() == interface).then_some(row)
    })?;
    let mut columns = row.split_whitespace().skip(3);
    let mut next = || columns.next()?.parse::<u64>().ok();
    Some((next()?, next()?))
}

/// The second number of each processor, in hexadecimal (net/core/net-procfs.c).
fn of_queues(text: &str) -> Option<u64> {
    let second = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
    text.lines()
        .map(second)
        .try_fold(0u64, |sum, dropped| sum.checked_add(dropped?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_follow_from_what_the_queues_hold() {
        let (clean, odd) = (
            Counts::default(),
            Counts {
                duplicated_frames: 1,
                ..Counts::default()
            },
        );
        let drops = Drops {
            own: 5,
            shared: 7,
            joined: false,
        };
        let bounds = |at_least, at_most| Missed { at_least, at_most };
        assert_eq!(drops.missed(&clean, 0), bounds(5, 12));
        assert_eq!(drops.missed(&clean, 1), bounds(0, 12), "a stream of others");
        assert_eq!(drops.missed(&odd, 0), bounds(0, 12), "copies of what came");
        let joined = Drops {
            joined: true,
            ..drops
        };
        assert_eq!(joined.missed(&clean, 0), bounds(5, u64::MAX));
        assert_eq!(Drops::default().missed(&odd, 9), Missed::default());
    }

    #[test]
    fn judged_frames_among_the_dropped_are_known_by_how_both_move() {
        let known = |looks: &[((u64, u64), u64)]| {
            let mut judged = JudgedDrops::default();
            looks
                .iter()
                .for_each(|(passed, dropped)| judged.look(*passed, *dropped));
            judged
        };
        // One to one, each comparison within what arrived meanwhile; then the host dropped 30 more.
        let counting = known(&[((200, 210), 205), ((900, 940), 890)]);
        assert_eq!(counting.among(2_000, 2_030), 2_000);
        assert!(counting.is_known() && !counting.is_due(10_000));
        // None, or a few drops of the host itself.
        for dropped in [0, 30] {
            let other = known(&[((200, 210), dropped)]);
            assert_eq!(other.among(2_000, dropped), 0, "{other:?}");
        }
        // The host dropped more than it passed from the first comparison on: unknown.
        let unknown = known(&[((200, 210), 900), ((900, 940), 5_000)]);
        assert!(!unknown.is_known());
        assert_eq!(unknown.among(2_000, 9_000), 0);
        // One agreement may be chance; a short run decides at its end.
        assert_eq!(known(&[((200, 210), 205)]).among(2_000, 2_030), 0);
        assert_eq!(JudgedDrops::default().among(40, 40), 40);
        assert!(!JudgedDrops::default().is_due(100));
    }

    #[test]
    fn the_columns_are_found() {
        let text = "Inter-|   Receive                            |  Transmit\n face |bytes    packets errs drop fifo frame\n\
                    eth10: 1 2 3 4 5 6\n  eth1: 10 20 30 400 5000 0 0 0 1 1 1 1\n";
        assert_eq!(of_table(text, "eth1"), Some((400, 5000)));
        assert_eq!(of_table(text, "eth"), None);
        assert_eq!(of_table("eth1: 1 2", "eth1"), None);
        assert_eq!(of_queues("00ff 0000000a 1\n02 00000001\n"), Some(11));
        assert_eq!(of_queues("00ff\n"), None);
    }
}
