//! State shared by the threads of a running test: its clock, its end, and the moved bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use wirelab_trial::host_clock::unix_ns;

use crate::sending::SendOptions;

/// Longest time that a socket may block before its thread checks whether the test is over.
pub(super) const SLICE: Duration = Duration::from_millis(20);
/// For shorter waits sleep is too coarse.
const SPIN_NS: u64 = 100_000;

/// State shared by the threads of a test.
pub(super) struct Run {
    began: Instant,
    /// [`Run::now_ns`] at its start, in ns since 1970.
    epoch_ns: u64,
    stop: AtomicBool,
    moved: AtomicU64,
    /// 0 where no amount ends the test.
    wanted: AtomicU64,
    /// How this side sends.
    options: SendOptions,
}

impl Run {
    /// A test that begins now; at a sender `wanted` bytes end it.
    pub(super) fn new(wanted: Option<u64>, options: SendOptions) -> Arc<Run> {
        Arc::new(Run {
            began: Instant::now(),
            epoch_ns: unix_ns(),
            stop: AtomicBool::new(false),
            moved: AtomicU64::new(0),
            wanted: AtomicU64::new(wanted.unwrap_or(0)),
            options,
        })
    }

    pub(super) fn now_ns(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The time of a datagram that leaves at `now_ns`, in ns since 1970. A receiver before 3.8 computes jitter from the
    /// difference to its own clock, so only this clock works.
    pub(super) const fn stamp_ns(&self, now_ns: u64) -> u64 {
        self.epoch_ns.saturating_add(now_ns)
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether the wanted amount was transferred.
    pub(super) fn reached(&self) -> bool {
        self.left() == 0
    }

    /// Bytes until the wanted amount is reached.
    pub(super) fn left(&self) -> u64 {
        match self.wanted.load(Relaxed) {
            0 => u64::MAX,
            wanted => wanted.saturating_sub(self.moved.load(Relaxed)),
        }
    }

    pub(super) const fn options(&self) -> SendOptions {
        self.options
    }

    /// Waits exactly until then, or until the test is over. The thread spins for waits that are too short for a sleep.
    pub(super) fn wait_until(&self, until_ns: u64) {
        loop {
            let left_ns = until_ns.saturating_sub(self.now_ns());
            if left_ns == 0 || self.stopped() {
                return;
            }
            if left_ns > SPIN_NS {
                thread::sleep(Duration::from_nanos(left_ns - SPIN_NS).min(SLICE));
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// Bytes that all streams have moved.
    pub(super) fn moved(&self) -> u64 {
        self.moved.load(Relaxed)
    }

    /// Adds moved bytes.
    pub(super) fn add(&self, bytes: u64) {
        self.moved.fetch_add(bytes, Relaxed);
    }

    /// Restarts the count towards another amount; bytes moved before belong to the omitted start.
    pub(super) fn count_anew(&self, wanted: Option<u64>) {
        self.moved.store(0, Relaxed);
        self.wanted.store(wanted.unwrap_or(0), Relaxed);
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    #[test]
    fn datagrams_carry_the_time_of_day() {
        let unix = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let before = unix();
        let run = Run::new(None, SendOptions::DEFAULT);
        let after = unix();
        let stamp = Duration::from_nanos(run.stamp_ns(0));
        assert!(
            (before..=after).contains(&stamp),
            "{before:?} {stamp:?} {after:?}"
        );
        assert_eq!(run.stamp_ns(7) - run.stamp_ns(0), 7);
    }
}
