//! When each frame is due: absolute times, and the fate of a schedule after a pause by its host.
//!
//! All paced senders use one rule. A sender that was paused catches up: overdue frames are sent back to back until the
//! schedule is reached again, so that the offered load is the requested one. A catch-up has at most the frames due in
//! 100 ms, at most 10,000 and at least ten, including those that become due meanwhile. The rest is dropped: the
//! schedule moves, which is a slip. iperf3 catches up without a limit, so a node may get a second of traffic at once.
//! RFC 2544 does not cover this, and hardware generators are never paused; with strict gaps at most ten frames are
//! caught up, as there. The longest burst of a catch-up is part of the result.

/// Longest part of the schedule that a catch-up covers, in ns.
const CATCH_UP_NS: u64 = 100_000_000;

/// Most frames of a catch-up.
const CATCH_UP_FRAMES: u64 = 10_000;

/// The least lateness in ns that counts as a pause, whatever the interval.
const LEAST_PAUSE_NS: u64 = 20_000;

/// Up to this many intervals late is not a pause yet.
const PAUSE_INTERVALS: u64 = 10;

/// The schedule of a paced sender.
#[derive(Clone, Debug)]
pub struct Pacer {
    /// Start of the schedule, in ps of the sender's clock.
    origin_ps: u128,
    interval_ps: u64,
    /// Lateness that is caught up, in ns.
    limit_ns: u64,
    /// Most frames sent back to back to catch up.
    most_frames: u64,
    /// Whether a lateness beyond the limit is not caught up at all, not even the part within the limit.
    strict: bool,
    frame: u64,
    /// Start of the previous frame, in ns.
    last_ns: u64,
    /// Lateness in ns caused by back-pressure; the rest is caused by the host.
    blocked_ns: u64,
    /// Frames of the present burst.
    burst: u64,
    /// Start of its first frame, in ns.
    burst_ns: u64,
    /// Whether the path was blocked since the previous frame.
    blocked: bool,
    /// How often the sender was so late that the schedule moved.
    pub slips: u64,
    /// The total of these moves, in ns: time in which nothing was offered.
    pub slipped_ns: u64,
    /// Most frames sent back to back to catch up; 1 where none were.
    pub longest_burst: u64,
}

impl Pacer {
    /// Frame n is due at `start_ns` + n intervals. Frames delayed by a pause are caught up.
    pub fn new(start_ns: u64, interval_ps: u64) -> Pacer {
        let of = |frames: u64| interval_ps.saturating_mul(frames) / 1000;
        let caught_up = CATCH_UP_NS.min(of(CATCH_UP_FRAMES));
        let strict = Pacer::strict(start_ns, interval_ps);
        let limit_ns = strict.limit_ns.max(caught_up);
        Pacer {
            // The frame due now is sent together with the overdue ones.
            limit_ns: limit_ns - of(1),
            most_frames: frames_in(limit_ns, interval_ps),
            strict: false,
            ..strict
        }
    }

    /// As [`Pacer::new`], but a frame that is more than ten intervals late keeps its distance to the next.
    pub fn strict(start_ns: u64, interval_ps: u64) -> Pacer {
        let limit_ns = LEAST_PAUSE_NS.max(interval_ps.saturating_mul(PAUSE_INTERVALS) / 1000);
        Pacer {
            origin_ps: u128::from(start_ns) * 1000,
            interval_ps,
            limit_ns,
            // The frame due now is sent together with the overdue ones.
            most_frames: frames_in(limit_ns, interval_ps) + 1,
            frame: 0,
            last_ns: 0,
            blocked_ns: 0,
            burst: 0,
            burst_ns: 0,
            blocked: false,
            slips: 0,
            slipped_ns: 0,
            longest_burst: 1,
            strict: true,
        }
    }

    /// Lateness in ns up to which a frame does not move the schedule.
    pub const fn limit_ns(&self) -> u64 {
        self.limit_ns
    }

    /// Most frames sent back to back to catch up.
    pub const fn most_frames(&self) -> u64 {
        self.most_frames
    }

    /// When the next frame is due, in ns.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        let due_ps = self.origin_ps + u128::from(self.frame) * u128::from(self.interval_ps);
        u64::try_from(due_ps / 1000).unwrap_or(u64::MAX)
    }

    /// Records that the next frame starts at `now_ns`. If that is too late to catch up, the schedule moves.
    #[inline]
    pub fn start(&mut self, now_ns: u64) {
        let due_ns = self.due_ns();
        if due_ns > self.last_ns || self.frame == 0 || self.is_held_to_pace(now_ns) {
            self.burst = 0;
            self.burst_ns = now_ns;
        }
        self.blocked = false;
        self.burst += 1;
        self.longest_burst = self.longest_burst.max(self.burst);
        let late = now_ns.saturating_sub(due_ns);
        if late > self.limit_ns {
            let moved = match self.strict {
                true => late,
                false => late - self.limit_ns,
            };
            self.slip(moved);
        } else if self.burst >= self.most_frames && late.saturating_mul(1000) >= self.interval_ps {
            // The next frame is overdue too, and would extend the burst.
            self.slip(late);
        } else if late.saturating_mul(1000) < self.interval_ps {
            self.blocked_ns = 0;
        }
        // The schedule advances by an interval. A path that takes a burst faster than that caused no delay: the earlier
        // pause of the sender did, and the burst after it only fills the queue.
        self.blocked_ns = self.blocked_ns.saturating_sub(self.interval_ps / 1000);
        self.last_ns = now_ns;
        self.frame += 1;
    }

    /// Whether a path that was full let a burst through no faster than its pace. If the wait was shorter than the time
    /// in which the sent frames were due, they were in a queue, and leave it back to back.
    #[inline]
    fn is_held_to_pace(&self, now_ns: u64) -> bool {
        let due_ps = u128::from(self.burst) * u128::from(self.interval_ps);
        self.blocked && u128::from(now_ns.saturating_sub(self.burst_ns)) * 1000 >= due_ps
    }

    /// Moves the schedule by `moved` ns.
    #[cold]
    fn slip(&mut self, moved: u64) {
        self.origin_ps += u128::from(moved) * 1000;
        // Delay by the path is not the host's fault.
        let held = moved.saturating_sub(self.blocked_ns);
        self.blocked_ns -= moved.min(self.blocked_ns);
        self.slips += u64::from(held > 0);
        self.slipped_ns += held;
    }

    /// Records that the path took no frame for so many ns: a schedule that moves for it does not slip, and what it lets
    /// through no faster than the pace is not a burst.
    pub fn was_blocked(&mut self, ns: u64) {
        self.blocked_ns = self.blocked_ns.saturating_add(ns);
        self.blocked |= ns > 0;
    }
}

fn frames_in(ns: u64, interval_ps: u64) -> u64 {
    ns.saturating_mul(1000) / interval_ps.max(1)
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
        assert_eq!(pacer.longest_burst, 1);
    }

    /// Frames sent until the schedule is reached again, when nothing delays the sender any more.
    fn catch_up(pacer: &mut Pacer, now_ns: u64) -> u64 {
        let mut frames = 0;
        while pacer.due_ns() <= now_ns {
            pacer.start(now_ns);
            frames += 1;
        }
        frames
    }

    #[test]
    fn a_hold_is_caught_up_with_within_the_limit() {
        // 100,000 frames/s, paused for 40 ms.
        let mut pacer = Pacer::new(0, 10_000_000);
        pacer.start(0);
        assert_eq!(catch_up(&mut pacer, 40_000_000), 4_000);
        assert_eq!((pacer.slips, pacer.slipped_ns), (0, 0));
        assert_eq!(pacer.longest_burst, 4_000);
        assert_eq!(pacer.due_ns(), 40_010_000, "on the old schedule");
        // And for a second: the frames due in the last 100 ms are sent, the rest is dropped.
        let sent = catch_up(&mut pacer, 1_040_010_000);
        assert_eq!((sent, pacer.longest_burst), (10_000, 10_000));
        assert_eq!((pacer.slips, pacer.slipped_ns), (1, 900_010_000));
    }

    #[test]
    fn no_burst_is_longer_than_ten_thousand_frames_or_shorter_than_ten() {
        let mut fast = Pacer::new(0, 1_000_000);
        assert_eq!(catch_up(&mut fast, 1_000_000_000), 10_000);
        assert_eq!((fast.longest_burst, fast.slipped_ns), (10_000, 990_001_000));
        let mut slow = Pacer::new(0, 1_000_000_000_000);
        assert_eq!(catch_up(&mut slow, 9_000_000_000), 10);
        assert_eq!((slow.slips, slow.longest_burst), (0, 10));
        assert_eq!(catch_up(&mut slow, 30_000_000_000), 10);
        assert_eq!((slow.slips, slow.slipped_ns), (1, 11_000_000_000));
    }

    #[test]
    fn a_frame_that_is_late_by_less_than_its_gap_is_no_burst() {
        let mut pacer = Pacer::new(0, 1_000_000);
        for due in [0, 1_000, 2_000] {
            pacer.start(due + 900);
        }
        assert_eq!(pacer.longest_burst, 1);
        pacer.start(5_100);
        assert_eq!(catch_up(&mut pacer, 5_200), 2);
        assert_eq!((pacer.longest_burst, pacer.slips), (3, 0));
    }

    #[test]
    fn what_the_path_held_up_is_no_slip() {
        let mut pacer = Pacer::new(0, 1_000_000_000);
        pacer.start(0);
        pacer.was_blocked(400_000_000);
        pacer.start(500_000_000);
        assert_eq!((pacer.slips, pacer.slipped_ns), (0, 0), "400 ms of excess");
        pacer.was_blocked(100_000_000);
        let due = pacer.due_ns();
        pacer.start(due + 299_000_000);
        assert_eq!((pacer.slips, pacer.slipped_ns), (1, 100_000_000));
    }

    #[test]
    fn a_path_that_is_faster_than_the_pace_explains_no_lateness() {
        // 6,839 frames/s on a path that carries 8,256; the host pauses the sender for 250 ms now and then. The burst
        // that follows fills the queue, and the path takes a frame each 121 µs.
        let mut pacer = Pacer::new(0, 146_220_000);
        let (mut now, mut holds) = (0, 0);
        while now < 2_000_000_000 {
            if pacer.frame % 3_000 == 2_999 {
                now += 250_000_000;
                holds += 1;
            }
            let late = pacer.due_ns() <= now;
            now = now.max(pacer.due_ns());
            pacer.start(now);
            if late {
                pacer.was_blocked(121_000);
                now += 121_000;
            }
        }
        // Each pause allows a burst of 100 ms, and that uses the path's higher speed.
        let slipped = holds * 200_000_000..=holds * 250_000_000;
        assert!(
            holds > 1 && slipped.contains(&pacer.slipped_ns),
            "{pacer:?}"
        );
    }

    #[test]
    fn a_full_queue_that_a_catch_up_meets_does_not_hide_its_burst() {
        // 100,000 frames/s, paused for 100 ms; then the queue takes a hundred frames, and is full for 50 µs.
        let mut pacer = Pacer::new(0, 10_000_000);
        pacer.start(0);
        let mut now = 100_000_000;
        let mut sent = 0;
        while pacer.due_ns() <= now {
            pacer.start(now);
            sent += 1;
            if sent % 100 == 0 {
                pacer.was_blocked(50_000);
                now += 50_000;
            }
        }
        // Five more frames are sent at their pace, while the queue is full.
        assert_eq!((sent, pacer.longest_burst), (10_005, 10_000));
    }

    #[test]
    fn a_sender_that_is_hardly_faster_than_its_pace_makes_no_longer_burst() {
        // 100,000 frames/s, paused for 100 ms, by a sender that takes 9.9 µs for a frame.
        for (mut pacer, most) in [
            (Pacer::new(0, 10_000_000), 10_000),
            (Pacer::strict(0, 10_000_000), 11),
        ] {
            assert_eq!(pacer.most_frames(), most);
            let mut now = 100_000_000;
            for _ in 0..50_000 {
                now = now.max(pacer.due_ns()) + 9_900;
                pacer.start(now);
            }
            assert!(pacer.longest_burst <= most, "{pacer:?}");
            assert!(pacer.slips > 0 && pacer.slipped_ns <= 100_010_000);
        }
    }

    #[test]
    fn what_leaves_no_faster_than_the_pace_is_no_burst_however_long_the_path_is_full() {
        // 100,000 frames/s on a path that takes a hundred in 1.01 ms; the waits do not compensate for all of that.
        let mut pacer = Pacer::new(0, 10_000_000);
        let mut now = 0;
        for _ in 0..1_000 {
            for _ in 0..100 {
                pacer.start(now.max(pacer.due_ns()));
                now = now.max(pacer.last_ns);
            }
            pacer.was_blocked(900_000);
            now += 1_010_000;
        }
        assert!((99..=200).contains(&pacer.longest_burst), "{pacer:?}");
    }

    #[test]
    fn strict_a_pause_moves_the_schedule_and_a_small_lateness_does_not() {
        let mut pacer = Pacer::strict(0, 1_000_000);
        pacer.start(20_000);
        assert_eq!(pacer.slips, 0);
        assert_eq!(pacer.due_ns(), 1_000, "still on the old schedule");
        pacer.start(21_000);
        assert_eq!(
            (pacer.slips, pacer.slipped_ns),
            (0, 0),
            "20 µs late is not a pause"
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
    fn slow_strict_paces_allow_ten_intervals() {
        let mut pacer = Pacer::strict(0, 1_000_000_000);
        pacer.start(10_000_000);
        assert_eq!(pacer.slips, 0);
        pacer.start(11_000_001);
        assert_eq!(pacer.slips, 1);
    }
}
