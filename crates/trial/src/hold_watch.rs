//! Measures pauses of a thread by the host: time in which it neither worked nor was waiting.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use crate::host_clock::now_ns;

/// Time between checks, in ns: rare enough to cost nothing, and far below a significant pause.
const EVERY_NS: u64 = 5_000_000;

/// How late a socket's timeout may be without a pause: the kernel counts it in ticks of at most 10 ms and rounds up
/// (SO_RCVTIMEO, socket(7)).
const TICKS_NS: u64 = 20_000_000;

/// A pause in one piece that is no interrupt work, in ns: the kernel leaves a core to threads again after milliseconds
/// (`netdev_budget_usecs`).
const LONG_NS: u64 = 100_000_000;

/// The pauses that a watch found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    /// Number of pauses.
    pub count: u64,
    /// Their sum in ns.
    pub held_ns: u64,
    /// The part of it in ns of pauses that were each too long for interrupt work of the kernel.
    pub long_ns: u64,
    /// Time in ns of back-pressure.
    pub blocked_ns: u64,
}

/// Watches the clocks of the thread that it was made on.
///
/// Between two checks the thread worked (its own CPU clock), waited for what [`HoldWatch::waited`] and similar
/// functions name, or was paused: it was stopped, or ready to run while another thread had its processor. A wait counts
/// no longer than the thread intended, so a late wake-up is a pause.
#[derive(Debug)]
pub struct HoldWatch {
    /// Shortest pause between two checks that counts.
    least_ns: u64,
    /// Time on the processor and time ready to run, of this thread (Documentation/scheduler/sched-stats.rst).
    schedstat: Option<File>,
    /// The time of the last check by the caller's clock.
    ticked_ns: u64,
    wall_ns: u64,
    cpu_ns: u64,
    ready_ns: u64,
    /// Since the last check: the time of all waits, and the time of waits for room in the path.
    waited_ns: u64,
    blocked_ns: u64,
    /// Whether nothing was pending for the thread since the last check, where known.
    behind: Option<bool>,
    found: Holds,
}

impl HoldWatch {
    /// For a sender over sockets: a tenth of the time between two checks, as much as may be missing of a trial.
    pub const SENDER: Duration = Duration::from_micros(500);
    /// For a receiver over sockets, whose queue holds far more than what arrives in that time.
    pub const RECEIVER: Duration = Duration::from_millis(2);

    /// Starts to watch the calling thread. Pauses of less than `least` in each 5 ms do not count.
    pub fn start(least: Duration) -> HoldWatch {
        let mut watch = HoldWatch {
            least_ns: least.as_nanos() as u64,
            // A kernel without it does not see pauses inside of waits.
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
            ticked_ns: 0,
            wall_ns: now_ns(),
            cpu_ns: cpu_ns(),
            ready_ns: 0,
            waited_ns: 0,
            blocked_ns: 0,
            behind: None,
            found: Holds::default(),
        };
        watch.ready_ns = watch.read_ready().unwrap_or(0);
        watch
    }

    /// Records that the thread waited from `began_ns` to `ended_ns`, and intended to wait for `at_most_ns`.
    pub fn waited(&mut self, began_ns: u64, ended_ns: u64, at_most_ns: u64) {
        self.waited_ns += ended_ns.saturating_sub(began_ns).min(at_most_ns);
    }

    /// Records that the thread waited in a socket from `began_ns` to `ended_ns`, for `patience` at most, for an event
    /// at an unknown time.
    pub fn idle(&mut self, began_ns: u64, ended_ns: u64, patience: Duration) {
        self.waited(began_ns, ended_ns, timeout_ns(patience));
    }

    /// Records that the path took no more from `began_ns` to `ended_ns`, while the thread intended to check again after
    /// `patience`; returns that wait in ns.
    pub fn blocked(&mut self, began_ns: u64, ended_ns: u64, patience: Duration) -> u64 {
        let waited = ended_ns.saturating_sub(began_ns);
        let blocked = waited.min(timeout_ns(patience));
        self.blocked_for(blocked);
        blocked
    }

    /// Records that the path took no more for `ns` in all, where no wait was longer than intended.
    pub fn blocked_for(&mut self, ns: u64) {
        self.waited_ns += ns;
        self.blocked_ns += ns;
    }

    /// Records whether the path that the thread feeds always had work until now. If so from one check to the next, no
    /// work waited for the thread, whatever kept it from running.
    pub fn behind(&mut self, all_along: bool) {
        self.behind = Some(self.behind.unwrap_or(true) && all_along);
    }

    /// Checks the clocks if a check is due, by any steady clock.
    #[inline]
    pub fn tick(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.ticked_ns) >= EVERY_NS {
            self.ticked_ns = now_ns;
            self.look();
        }
    }

    /// Checks the clocks.
    pub fn look(&mut self) {
        let (wall, cpu) = (now_ns(), cpu_ns());
        let ready = self.read_ready().unwrap_or(self.ready_ns);
        let off = wall
            .saturating_sub(self.wall_ns)
            .saturating_sub(cpu.saturating_sub(self.cpu_ns));
        let mut waited = std::mem::take(&mut self.waited_ns);
        let mut blocked = std::mem::take(&mut self.blocked_ns);
        let mut ready_ns = ready.saturating_sub(self.ready_ns).min(off);
        if self.behind.take() == Some(true) {
            (waited, blocked, ready_ns) = (off, off, 0);
        }
        let held = off.saturating_sub(waited).max(ready_ns);
        (self.wall_ns, self.cpu_ns, self.ready_ns) = (wall, cpu, ready);
        if held >= self.least_ns {
            self.found.count += 1;
            self.found.held_ns += held;
            self.found.long_ns += if held >= LONG_NS { held } else { 0 };
        }
        self.found.blocked_ns += blocked.min(off - held);
    }

    /// The pauses up to the last check.
    pub const fn found(&self) -> Holds {
        self.found
    }

    /// Checks once more; returns all pauses.
    pub fn finish(&mut self) -> Holds {
        self.look();
        self.found
    }

    /// The second number of the file, in ns.
    fn read_ready(&self) -> Option<u64> {
        let mut bytes = [0; 64];
        let len = self.schedstat.as_ref()?.read_at(&mut bytes, 0).ok()?;
        let text = std::str::from_utf8(&bytes[..len]).ok()?;
        text.split_whitespace().nth(1)?.parse().ok()
    }
}

fn timeout_ns(patience: Duration) -> u64 {
    let ns = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
    ns.saturating_add(TICKS_NS)
}

/// CPU time of the calling thread in ns.
fn cpu_ns() -> u64 {
    // Every Linux has this clock, so reading it cannot fail.
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(0, |t| {
        t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A sleep of this thread, long enough that the delays of a busy host are small beside it.
    const NAP: Duration = Duration::from_millis(300);
    const LEAST: Duration = Duration::from_millis(200);

    fn slept(watch: &mut HoldWatch, tell: impl FnOnce(&mut HoldWatch, u64, u64)) -> Holds {
        let began = now_ns();
        std::thread::sleep(NAP);
        tell(watch, began, now_ns());
        watch.finish()
    }

    #[test]
    fn a_sleep_that_was_not_named_is_a_hold_and_one_that_was_is_none() {
        let mut watch = HoldWatch::start(LEAST);
        let found = slept(&mut watch, |_, _, _| {});
        assert_eq!(found.count, 1);
        assert!(
            found.held_ns >= 290 * MS && found.blocked_ns == 0,
            "{found:?}"
        );
        assert_eq!(found.long_ns, found.held_ns);

        let mut watch = HoldWatch::start(LEAST);
        let found = slept(&mut watch, |watch, began, now| {
            watch.waited(began, now, 300 * MS);
        });
        assert!(found.held_ns == 0 || found.held_ns >= 200 * MS, "{found:?}");
        assert_eq!(found.blocked_ns, 0, "nothing was in the way");
    }

    #[test]
    fn a_wait_counts_no_longer_than_it_was_meant_to_be() {
        let patience = Duration::from_millis(20);
        let mut watch = HoldWatch::start(LEAST);
        let found = slept(&mut watch, |watch, began, now| {
            watch.idle(began, now, patience)
        });
        assert!(found.count == 1 && found.held_ns >= 250 * MS, "{found:?}");

        let mut watch = HoldWatch::start(LEAST);
        let found = slept(&mut watch, |watch, began, now| {
            assert_eq!(watch.blocked(began, now, patience), 40 * MS);
        });
        assert!(found.count == 1 && found.held_ns >= 250 * MS, "{found:?}");
        assert!(found.blocked_ns <= 40 * MS, "{found:?}");
    }

    #[test]
    fn a_full_path_and_a_timeout_that_the_kernel_rounds_up_hold_nothing_up() {
        let mut watch = HoldWatch::start(LEAST);
        let found = slept(&mut watch, |watch, began, now| {
            let blocked = watch.blocked(began, now, NAP);
            assert!((300 * MS..=320 * MS).contains(&blocked), "{blocked}");
        });
        // A busy host may wake this thread late, within the wait.
        assert!(found.held_ns == 0 || found.held_ns >= 200 * MS, "{found:?}");
        assert!(found.blocked_ns + found.held_ns >= 300 * MS, "{found:?}");
        let mut watch = HoldWatch::start(LEAST);
        let found = slept(&mut watch, |watch, began, now| {
            watch.idle(began, now, NAP - Duration::from_millis(10));
        });
        assert!(found.held_ns == 0 || found.held_ns >= 200 * MS, "{found:?}");
    }

    #[test]
    fn a_thread_for_which_nothing_waited_was_not_held_up() {
        let mut watch = HoldWatch::start(LEAST);
        for (all_along, count) in [([true, true], 0), ([true, false], 1), ([true, true], 1)] {
            for busy in all_along {
                watch.behind(busy);
            }
            let found = slept(&mut watch, |_, _, _| {});
            assert_eq!(found.count, count, "{found:?}");
        }
        let found = watch.found();
        assert!(
            found.held_ns >= 290 * MS && found.blocked_ns >= 590 * MS,
            "{found:?}"
        );
        let found = slept(&mut watch, |_, _, _| {});
        assert_eq!(
            found.count, 2,
            "only what is said of the time since the last look counts"
        );
    }

    #[test]
    fn work_is_no_hold() {
        let mut watch = HoldWatch::start(Duration::from_millis(1));
        let begun = cpu_ns();
        while cpu_ns() - begun < 20 * MS {
            std::hint::spin_loop();
        }
        let wall = now_ns() - watch.wall_ns;
        let found = watch.finish();
        assert!(found.held_ns <= wall - 19 * MS, "{found:?} of {wall} ns");
    }

    #[test]
    fn it_looks_now_and_then_by_the_callers_clock() {
        let mut watch = HoldWatch::start(Duration::ZERO);
        for (now, looks) in [(EVERY_NS, 1), (EVERY_NS + 1, 1), (2 * EVERY_NS, 2)] {
            watch.tick(now);
            assert_eq!(watch.found.count, looks, "{now}");
        }
    }
}
