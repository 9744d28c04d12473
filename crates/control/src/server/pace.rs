//! A rate limit: a burst at first, then a rate. The generic cell rate algorithm (ITU-T I.371).

use std::time::Duration;

/// A limited rate of events.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Interval at the rate.
    every: Duration,
    /// How far a burst may exceed the rate.
    ahead: Duration,
    /// When the next event would be due at the rate.
    due: Duration,
}

impl Pace {
    pub(super) const fn new(burst: u32, per_s: u32) -> Pace {
        let every = Duration::from_nanos(1_000_000_000 / per_s as u64);
        Pace {
            every,
            ahead: Duration::from_nanos(every.as_nanos() as u64 * (burst as u64 - 1)),
            due: Duration::ZERO,
        }
    }

    /// Whether one more event may happen now; if so, it counts.
    pub(super) fn allows(&mut self, now: Duration) -> bool {
        let due = self.due.max(now);
        let may = due.saturating_sub(now) <= self.ahead;
        if may {
            self.due = due + self.every;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_the_rate() {
        let mut pace = Pace::new(32, 16);
        let mut allowed = |from_ms: u64, for_ms: u64| {
            (from_ms..from_ms + for_ms)
                .filter(|ms| pace.allows(Duration::from_millis(*ms)))
                .count()
        };
        assert_eq!(allowed(0, 1), 1);
        assert_eq!(allowed(1, 1000), 31 + 16);
        assert_eq!(allowed(1001, 1000), 16);
        assert_eq!(allowed(60_000, 100), 32 + 1, "after a rest");
    }
}
