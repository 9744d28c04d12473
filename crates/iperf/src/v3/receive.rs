//! The receiving end of a UDP stream, without I/O: what arrived and what is missing.
//!
//! It keeps two separate counts. Wirelab's own count follows RFC 5560, so a duplicate never hides a loss. The peer gets
//! iperf3's count: a number below the expected one is out of order and is subtracted from the losses.

use wirelab_trial::job::Missed;
use wirelab_trial::{Jitter, Tracker};

use super::datagram::DatagramHead;
use crate::queue::too_slow;

/// Most numbers that one jump may skip in wirelab's count: a number beyond that counts as damaged.
const LARGEST_JUMP: u64 = i32::MAX as u64;

/// What has arrived so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Application bytes, including duplicates.
    pub bytes: u64,
    /// Datagrams, including duplicates.
    pub datagrams: u64,
    /// Different numbers.
    pub distinct: u64,
    /// Numbers up to the highest that never arrived, and were not dropped by this host's own queues.
    pub lost: u64,
    /// Numbers lost or dropped by this host's own queues; which of the two is unknown.
    pub lost_or_missed: u64,
    /// Duplicates.
    pub duplicated: u64,
    /// Numbers that arrived after a higher one.
    pub reordered: u64,
    /// Datagrams so far behind that a duplicate and a late one look the same.
    pub too_late: u64,
    /// Datagrams that are too short, or have an impossible number.
    pub ignored: u64,
    /// iperf3's count of datagrams: the highest number.
    pub peer_packets: u64,
    /// iperf3's count of losses, including drops by this host's own queues.
    pub peer_lost: u64,
    /// iperf3's count of numbers out of order.
    pub peer_out_of_order: u64,
    /// Jitter of RFC 3550 in ns.
    pub jitter_ns: u64,
}

impl Received {
    /// Counts up to `at_most` of the losses as dropped by this host's own queues.
    #[must_use]
    pub fn with_missed(self, at_most: u64) -> Received {
        let missed = Missed {
            at_least: 0,
            at_most,
        };
        let (_, lost_or_missed, lost) = missed.split(self.lost);
        Received {
            lost,
            lost_or_missed,
            ..self
        }
    }

    /// The note about datagrams that this host's own queues may have dropped.
    pub fn missed_note(&self) -> Option<String> {
        (self.lost_or_missed > 0).then(|| too_slow(0, self.lost_or_missed, self.lost))
    }

    /// iperf3's count of losses, minus those that this host's own queues may have dropped.
    pub const fn shown_lost(&self) -> u64 {
        self.peer_lost.saturating_sub(self.lost_or_missed)
    }
}

/// The receiving end of one stream. Nothing is allocated after [`Receiver::new`].
#[derive(Clone, Debug)]
pub struct Receiver {
    counters_64: bool,
    tracker: Tracker,
    jitter: Jitter,
    counted: Received,
    longest_bytes: u64,
}

impl Receiver {
    /// A stream of which nothing has arrived.
    pub fn new(counters_64: bool) -> Receiver {
        Receiver {
            counters_64,
            tracker: Tracker::new(),
            jitter: Jitter::new(),
            counted: Received::default(),
            longest_bytes: 0,
        }
    }

    /// Takes a datagram that arrived at `now_ns` of any steady clock; returns whether it was counted.
    pub fn take(&mut self, datagram: &[u8], now_ns: u64) -> bool {
        let head = DatagramHead::parse(datagram, self.counters_64);
        let highest = self.counted.peer_packets;
        let Some(head) =
            head.filter(|head| head.number > 0 && head.number <= highest + LARGEST_JUMP)
        else {
            self.counted.ignored += 1;
            return false;
        };
        let counted = &mut self.counted;
        counted.bytes += datagram.len() as u64;
        counted.datagrams += 1;
        self.longest_bytes = self.longest_bytes.max(datagram.len() as u64);
        if head.number > highest {
            counted.peer_lost += head.number - highest - 1;
            counted.peer_packets = head.number;
        } else {
            counted.peer_out_of_order += 1;
            counted.peer_lost = counted.peer_lost.saturating_sub(1);
        }
        // The tracker counts from 0, modulo 2³².
        self.tracker.observe((head.number - 1) as u32);
        self.jitter.observe(head.time_ns(), now_ns);
        true
    }

    /// Bytes of the longest datagram.
    pub const fn longest_bytes(&self) -> u64 {
        self.longest_bytes
    }

    /// What has arrived so far.
    pub fn received(&self) -> Received {
        Received {
            distinct: self.tracker.distinct(),
            lost: self.tracker.lost(self.counted.peer_packets),
            duplicated: self.tracker.duplicated(),
            reordered: self.tracker.reordered(),
            too_late: self.tracker.too_late(),
            jitter_ns: self.jitter.ns().unwrap_or(0),
            ..self.counted
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(numbers: &[u64]) -> Received {
        let mut receiver = Receiver::new(true);
        for (at, number) in numbers.iter().enumerate() {
            let mut datagram = [0; 100];
            let time = at as u64 * 1_000_000;
            DatagramHead::new(*number, time).emit(&mut datagram, true);
            receiver.take(&datagram, 5 + time);
        }
        receiver.received()
    }

    #[test]
    fn a_duplicate_hides_a_loss_from_the_peer_alone() {
        let received = after(&[1, 2, 4, 4, 5]);
        assert_eq!(
            (received.lost, received.duplicated, received.distinct),
            (1, 1, 4)
        );
        assert_eq!(
            (
                received.peer_lost,
                received.peer_out_of_order,
                received.peer_packets
            ),
            (0, 1, 5)
        );
        assert_eq!(
            (received.bytes, received.datagrams, received.jitter_ns),
            (500, 5, 0)
        );
    }

    #[test]
    fn a_late_number_is_no_loss() {
        let received = after(&[1, 3, 2, 4]);
        assert_eq!(
            (received.lost, received.reordered, received.peer_lost),
            (0, 1, 0)
        );
    }

    #[test]
    fn damaged_numbers_are_set_aside() {
        let received = after(&[1, 0, u64::MAX, 2]);
        assert_eq!(
            (
                received.ignored,
                received.distinct,
                received.lost,
                received.peer_lost
            ),
            (2, 2, 0, 0)
        );
        let mut receiver = Receiver::new(false);
        assert!(!receiver.take(&[0; 11], 0));
        assert_eq!(receiver.received().ignored, 1);
    }
}
