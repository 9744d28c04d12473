//! When each frame is due: absolute times, late where it must be, but never made up for after a pause.

/// The least lateness in ns that counts as a pause, whatever the interval.
const LEAST_PAUSE_NS: u64 = 20_000;

/// So many intervals late is a pause.
const PAUSE_INTERVALS: u64 = 10;

/// The schedule of a paced sender.
#[derive(Clone, Debug)]
pub struct Pacer {
    /// Start of the schedule, in ps of the sender's clock.
    origin_ps: u128,
    interval_ps: u64,
    pause_ns: u64,
    frame: u64,
    /// How often the sender was so late that the schedule was moved.
    pub slips: u64,
    /// By how much in all, in ns: time in which nothing was offered.
    pub slipped_ns: u64,
}

impl Pacer {
    /// Frame n is due at `start_ns` + n intervals.
    pub fn new(start_ns: u64, interval_ps: u64) -> Pacer {
        Pacer {
            origin_ps: u128::from(start_ns) * 1000,
            interval_ps,
            pause_ns: LEAST_PAUSE_NS.max(interval_ps.saturating_mul(PAUSE_INTERVALS) / 1000),
            frame: 0,
            slips: 0,
            slipped_ns: 0,
        }
    }

    /// When the next frame is due, in ns.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        let due_ps = self.origin_ps + u128::from(self.frame) * u128::from(self.interval_ps);
        u64::try_from(due_ps / 1000).unwrap_or(u64::MAX)
    }

    /// The next frame starts at `now_ns`. After a pause the schedule goes on from there.
    #[inline]
    pub fn start(&mut self, now_ns: u64) {
        let late = now_ns.saturating_sub(self.due_ns());
        if late > self.pause_ns {
            self.slips += 1;
            self.slipped_ns += late;
            self.origin_ps += u128::from(late) * 1000;
        }
        self.frame += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_do_not_drift() {
        // 148,809.52 frames/s: an interval of 6,720,000 ps and a third that has no decimal end.
        let mut pacer = Pacer::new(1_000, 6_720_333);
        for _ in 0..1_000_000 {
            let due = pacer.due_ns();
            pacer.start(due);
        }
        assert_eq!(pacer.due_ns(), 1_000 + 6_720_333_000);
        assert_eq!((pacer.slips, pacer.slipped_ns), (0, 0));
    }

    #[test]
    fn a_pause_moves_the_schedule_and_a_small_lateness_does_not() {
        let mut pacer = Pacer::new(0, 1_000_000);
        pacer.start(20_000);
        assert_eq!(pacer.slips, 0);
        assert_eq!(pacer.due_ns(), 1_000, "still on the old schedule");
        pacer.start(21_000);
        assert_eq!(
            (pacer.slips, pacer.slipped_ns),
            (0, 0),
            "20 µs late is no pause"
        );
        pacer.start(1_002_000);
        assert_eq!((pacer.slips, pacer.slipped_ns), (1, 1_000_000));
        assert_eq!(
            pacer.due_ns(),
            1_003_000,
            "an interval after the late frame"
        );
    }

    #[test]
    fn slow_paces_allow_ten_intervals() {
        let mut pacer = Pacer::new(0, 1_000_000_000);
        pacer.start(10_000_000);
        assert_eq!(pacer.slips, 0);
        pacer.start(11_000_001);
        assert_eq!(pacer.slips, 1);
    }
}
