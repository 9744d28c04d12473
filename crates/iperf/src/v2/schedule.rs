//! When each packet is due, by the rule of all paced senders ([`Pacer`]), and the achieved gaps.

use wirelab_trial::series::{BUCKETS, bucket_of};
use wirelab_trial::{Histogram, Pacer};

/// The schedule of a sender, and the gaps that it achieved.
#[derive(Clone, Debug)]
pub struct Schedule {
    pacer: Option<Pacer>,
    packet: u64,
    last_ns: Option<u64>,
    gaps: Box<[u64]>,
    least_ns: u64,
    most_ns: u64,
    sum_ns: u128,
}

impl Schedule {
    /// Packet n is due at `start_ns` + n intervals; without an interval immediately.
    pub fn new(start_ns: u64, interval_ps: Option<u64>) -> Schedule {
        Schedule::of(start_ns, interval_ps, false)
    }

    /// A schedule that with `strict_gaps` does not catch up: a late packet keeps its distance to the next.
    pub fn of(start_ns: u64, interval_ps: Option<u64>, strict_gaps: bool) -> Schedule {
        let pacer = match strict_gaps {
            true => Pacer::strict,
            false => Pacer::new,
        };
        Schedule {
            pacer: interval_ps.map(|ps| pacer(start_ns, ps)),
            packet: 0,
            last_ns: None,
            gaps: vec![0; BUCKETS].into_boxed_slice(),
            least_ns: u64::MAX,
            most_ns: 0,
            sum_ns: 0,
        }
    }

    /// Whether there is an interval.
    pub const fn is_paced(&self) -> bool {
        self.pacer.is_some()
    }

    /// When the next packet is due, in ns; 0 for immediately.
    pub fn due_ns(&self) -> u64 {
        self.pacer.as_ref().map_or(0, Pacer::due_ns)
    }

    /// Records that the path took nothing for this many ns.
    pub fn was_blocked(&mut self, ns: u64) {
        if let Some(pacer) = &mut self.pacer {
            pacer.was_blocked(ns);
        }
    }

    /// Records that the next packet is sent at `now_ns`. After a pause that is too long to catch up, the schedule
    /// moves.
    pub fn leaves(&mut self, now_ns: u64) {
        if let Some(pacer) = &mut self.pacer {
            pacer.start(now_ns);
        }
        self.packet += 1;
        if let Some(last) = self.last_ns.replace(now_ns) {
            let gap = now_ns.saturating_sub(last);
            self.gaps[bucket_of(gap)] += 1;
            self.least_ns = self.least_ns.min(gap);
            self.most_ns = self.most_ns.max(gap);
            self.sum_ns += u128::from(gap);
        }
    }

    /// Records packets that are sent together at `now_ns`; with an interval only one may be.
    pub fn leave_together(&mut self, now_ns: u64, packets: u64) {
        let Some(others) = packets.checked_sub(1) else {
            return;
        };
        self.leaves(now_ns);
        if others > 0 {
            self.packet += others;
            self.gaps[bucket_of(0)] += others;
            self.least_ns = 0;
        }
    }

    /// How often the sender was so late that the schedule moved.
    pub fn slips(&self) -> u64 {
        self.pacer.as_ref().map_or(0, |pacer| pacer.slips)
    }
    /// The total of these moves, in ns: time in which nothing was offered.
    pub fn slipped_ns(&self) -> u64 {
        self.pacer.as_ref().map_or(0, |pacer| pacer.slipped_ns)
    }
    /// Most packets sent back to back to catch up, 1 where none were; `None` without an interval.
    pub fn longest_burst(&self) -> Option<u64> {
        self.pacer.as_ref().map(|pacer| pacer.longest_burst)
    }
    /// Sent packets.
    pub const fn packets(&self) -> u64 {
        self.packet
    }
    /// The gaps from one packet to the next, in ticks of 1 ns.
    pub fn gaps(&self) -> Histogram {
        let least_ns = if self.packet > 1 { self.least_ns } else { 0 };
        Histogram::from_log_linear(Some(1000), &self.gaps, least_ns, self.most_ns, self.sum_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_do_not_drift() {
        let mut schedule = Schedule::new(1_000, Some(6_720_333));
        for _ in 0..100_000 {
            let due = schedule.due_ns();
            schedule.leaves(due);
        }
        assert_eq!(schedule.due_ns(), 1_000 + 672_033_300);
        assert_eq!(schedule.slips(), 0);
        let gaps = schedule.gaps();
        assert_eq!(
            (gaps.count, gaps.min_ticks, gaps.max_ticks),
            (99_999, 6720, 6721)
        );
    }

    #[test]
    fn a_pause_is_caught_up_with_unless_gaps_are_strict() {
        let mut schedule = Schedule::new(0, Some(1_000_000_000));
        schedule.leaves(0);
        schedule.leaves(50_000_000);
        assert_eq!((schedule.slips(), schedule.due_ns()), (0, 2_000_000));
        let mut schedule = Schedule::of(0, Some(1_000_000_000), true);
        schedule.leaves(0);
        schedule.leaves(1_000_500);
        assert_eq!(
            schedule.due_ns(),
            2_000_000,
            "a small lateness moves nothing"
        );
        schedule.leaves(50_000_000);
        assert_eq!((schedule.slips(), schedule.slipped_ns()), (1, 48_000_000));
        assert_eq!(schedule.due_ns(), 51_000_000, "no burst: an interval later");
    }

    #[test]
    fn what_leaves_together_has_no_gaps() {
        let mut schedule = Schedule::new(0, None);
        schedule.leave_together(100, 3);
        schedule.leave_together(1100, 2);
        schedule.leave_together(1200, 0);
        let gaps = schedule.gaps();
        assert_eq!((schedule.packets(), gaps.count), (5, 4));
        assert_eq!((gaps.min_ticks, gaps.max_ticks), (0, 1000));
    }

    #[test]
    fn without_an_interval_all_is_due() {
        let mut schedule = Schedule::new(7, None);
        for now in [100, 5_000_000_000] {
            assert_eq!(schedule.due_ns(), 0);
            schedule.leaves(now);
        }
        assert_eq!((schedule.slips(), schedule.packets()), (0, 2));
        assert_eq!(Schedule::new(0, None).gaps().count, 0);
    }
}
