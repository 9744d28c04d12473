//! When each packet is due: absolute times, late where it must be, but never made up for after a pause.

use wirelab_trial::Histogram;
use wirelab_trial::series::{BUCKETS, bucket_of};

/// The least lateness in ns that counts as a pause, whatever the interval.
const LEAST_PAUSE_NS: u64 = 20_000;
/// So many intervals late is a pause.
const PAUSE_INTERVALS: u64 = 10;

/// The schedule of a sender, and the gaps that it kept.
#[derive(Clone, Debug)]
pub struct Schedule {
    origin_ps: u128,
    interval_ps: Option<u64>,
    pause_ns: u64,
    packet: u64,
    slips: u64,
    slipped_ns: u64,
    last_ns: Option<u64>,
    gaps: Box<[u64]>,
    least_ns: u64,
    most_ns: u64,
    sum_ns: u128,
}

impl Schedule {
    /// Packet n is due at `start_ns` + n intervals; without an interval at once.
    pub fn new(start_ns: u64, interval_ps: Option<u64>) -> Schedule {
        let pause_ns = interval_ps.map_or(u64::MAX, |ps| {
            LEAST_PAUSE_NS.max(ps.saturating_mul(PAUSE_INTERVALS) / 1000)
        });
        Schedule {
            origin_ps: u128::from(start_ns) * 1000,
            interval_ps,
            pause_ns,
            packet: 0,
            slips: 0,
            slipped_ns: 0,
            last_ns: None,
            gaps: vec![0; BUCKETS].into_boxed_slice(),
            least_ns: u64::MAX,
            most_ns: 0,
            sum_ns: 0,
        }
    }

    /// When the next packet is due, in ns; 0 where it is at once.
    pub fn due_ns(&self) -> u64 {
        let Some(interval_ps) = self.interval_ps else {
            return 0;
        };
        let due = self.origin_ps + u128::from(self.packet) * u128::from(interval_ps);
        u64::try_from(due / 1000).unwrap_or(u64::MAX)
    }

    /// The next packet leaves at `now_ns`. After a pause the schedule goes on from there.
    pub fn leaves(&mut self, now_ns: u64) {
        let late = now_ns.saturating_sub(self.due_ns());
        if self.interval_ps.is_some() && late > self.pause_ns {
            self.slips += 1;
            self.slipped_ns += late;
            self.origin_ps += u128::from(late) * 1000;
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

    /// How often the sender was so late that the schedule was moved.
    pub const fn slips(&self) -> u64 {
        self.slips
    }
    /// By how much in all, in ns: time in which nothing was offered.
    pub const fn slipped_ns(&self) -> u64 {
        self.slipped_ns
    }
    /// Packets that left.
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
    fn a_pause_is_not_made_up_for() {
        let mut schedule = Schedule::new(0, Some(1_000_000_000));
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
