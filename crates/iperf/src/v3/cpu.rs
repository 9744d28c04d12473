//! CPU time of this process, as a share of one CPU.

use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// CPU time of this process since an instant.
pub(super) struct CpuUse {
    since: Instant,
    used_us: Option<[i64; 2]>,
}

fn used_us() -> Option<[i64; 2]> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    Some([usage.user_time(), usage.system_time()].map(|time| time.num_microseconds()))
}

impl CpuUse {
    pub(super) fn start() -> CpuUse {
        CpuUse {
            since: Instant::now(),
            used_us: used_us(),
        }
    }

    /// Percent of one CPU since the start: total, user, system; 0 where the system does not report it.
    pub(super) fn percent(&self) -> [f64; 3] {
        let elapsed_us = self.since.elapsed().as_secs_f64() * 1e6;
        let (Some(before), Some(now)) = (self.used_us, used_us()) else {
            return [0.0; 3];
        };
        let [user, system] =
            [0, 1].map(|i| (now[i] - before[i]) as f64 * 100.0 / elapsed_us.max(1.0));
        [user + system, user, system]
    }
}
