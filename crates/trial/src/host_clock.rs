//! The host's clocks: reading, waiting for a due time, and the offset between wall clock and monotonic clock.
//!
//! Test headers carry CLOCK_MONOTONIC, which is never set; time stamps of the kernel are CLOCK_REALTIME, which may step
//! at any moment. [`WallOffset`] converts the one into the other.

use std::time::Duration;

use crate::node::Cancel;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// How long before a due time a sleep ends and spinning begins: the possible delay of a wake-up, in ns.
const SPIN_NS: u64 = 60_000;

/// Longest sleep, so that a cancelled run ends soon, in ns.
const NAP_NS: u64 = 20_000_000;

/// Smallest detectable step of the wall clock, given the uncertainty of reading two clocks, in ns.
const STEP_NS: u64 = 20_000;

/// CLOCK_MONOTONIC in ns.
#[inline]
pub fn now_ns() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// Nanoseconds since 1970, for the start of an observation.
pub fn unix_ns() -> u64 {
    read(ClockId::CLOCK_REALTIME)
}

/// Seconds since 1970.
pub fn unix_s() -> u64 {
    unix_ns() / 1_000_000_000
}

#[inline]
fn read(clock: ClockId) -> u64 {
    // Both clocks exist on every Linux, so reading them cannot fail.
    clock_gettime(clock).map_or(0, |t| {
        t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64
    })
}

/// Waits until CLOCK_MONOTONIC reaches `due_ns` or the run is cancelled; returns the time then.
pub fn wait_until(due_ns: u64, cancel: &Cancel) -> u64 {
    loop {
        let now = now_ns();
        if now >= due_ns {
            return now;
        }
        if due_ns - now > SPIN_NS {
            if cancel.is_cancelled() {
                return now;
            }
            let wake = (due_ns - SPIN_NS).min(now + NAP_NS);
            let at = TimeSpec::from_duration(Duration::from_nanos(wake));
            // After an interruption the loop checks again.
            let _ = clock_nanosleep(
                ClockId::CLOCK_MONOTONIC,
                ClockNanosleepFlags::TIMER_ABSTIME,
                &at,
            );
        } else {
            std::hint::spin_loop();
        }
    }
}

/// The offset of the wall clock to the monotonic clock, and its uncertainty.
#[derive(Clone, Copy, Debug)]
pub struct WallOffset {
    ns: u64,
    /// Half of the time that reading took, in ns.
    pub uncertainty_ns: u64,
}

impl WallOffset {
    /// An offset from another source, with its uncertainty in ns.
    pub const fn of(ns: u64, uncertainty_ns: u64) -> WallOffset {
        WallOffset { ns, uncertainty_ns }
    }

    /// The best of a few readings.
    pub fn read() -> WallOffset {
        let once = |_| {
            let before = now_ns();
            let wall = read(ClockId::CLOCK_REALTIME);
            let after = now_ns();
            let half = (after - before) / 2;
            WallOffset {
                ns: wall.wrapping_sub(before + half),
                uncertainty_ns: half + 1,
            }
        };
        let readings: [WallOffset; 3] = std::array::from_fn(once);
        readings
            .into_iter()
            .min_by_key(|r| r.uncertainty_ns)
            .unwrap_or(readings[0])
    }

    /// The monotonic time of a time of the wall clock, both in ns.
    #[inline]
    pub fn to_monotonic(self, unix_ns: u64) -> u64 {
        unix_ns.wrapping_sub(self.ns)
    }

    /// By how many ns the wall clock was stepped between two readings; `None` if it was not.
    pub fn step_to(self, later: WallOffset) -> Option<i64> {
        let step = later.ns.wrapping_sub(self.ns) as i64;
        let known = STEP_NS + self.uncertainty_ns + later.uncertainty_ns;
        (step.unsigned_abs() > known).then_some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_at_the_due_time_or_when_cancelled() {
        let due = now_ns() + 200_000;
        assert!(wait_until(due, &Cancel::new()) >= due);
        let cancel = Cancel::new();
        cancel.cancel();
        let far = now_ns() + 3_600_000_000_000;
        assert!(wait_until(far, &cancel) < far);
    }

    #[test]
    fn a_step_of_the_wall_clock_is_seen_and_a_wobble_is_not() {
        let before = WallOffset {
            ns: 1_000_000_000_000,
            uncertainty_ns: 30,
        };
        let after = |ns| WallOffset {
            ns,
            uncertainty_ns: 30,
        };
        assert_eq!(before.step_to(after(1_000_000_000_500)), None);
        assert_eq!(
            before.step_to(after(1_500_000_000_000)),
            Some(500_000_000_000)
        );
        assert_eq!(before.step_to(after(999_000_000_000)), Some(-1_000_000_000));
    }

    #[test]
    fn wall_times_become_monotonic_times() {
        let offset = WallOffset::read();
        let before = now_ns();
        let converted = offset.to_monotonic(read(ClockId::CLOCK_REALTIME));
        let after = now_ns();
        let slack = offset.uncertainty_ns + STEP_NS;
        assert!(converted + slack >= before && converted <= after + slack);
    }
}
