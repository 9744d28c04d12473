//! How busy cores were in a window: the wall time less the idle time in `/proc/stat`.
//!
//! A kernel that stops the tick of idle cores (`CONFIG_NO_HZ_COMMON`, which distributions set) reads the clock at
//! each entry into and exit from idle (`get_cpu_idle_time_us` in kernel/time/tick-sched.c). So the idle columns are
//! exact, and only rounded to [`tick_ns`]. The tick counts the busy columns beside them, and misses work between two
//! ticks, so they are not used. Work in interrupts counts as busy, whatever its purpose, and so does time that a
//! hypervisor took from a busy core.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, sysconf};

use crate::list::Cores;

/// Shortest window in ticks: the ends of a shorter one are too uncertain for a share.
pub const LEAST_TICKS: u64 = 20;

/// Reading takes some 50 µs. One that took longer than this, in ns, was interrupted and is repeated.
const READING_NS: u64 = 500_000;

/// Bytes of `/proc/stat` that are read: the lines of cores come first, 100 bytes each.
const MOST_BYTES: usize = 192 * 1024;

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum BusyError {
    /// The kernel does not report it.
    #[error(
        "the load of the cores is unknown: /proc/stat: {0}; fix: mount /proc, and let the container show it"
    )]
    Read(#[from] io::Error),
    /// A core does not exist.
    #[error(
        "core {0} is not in /proc/stat: it is offline or does not exist; fix: choose one that `lscpu --online` shows"
    )]
    NoCore(usize),
    /// Too short for a share.
    #[error(
        "{window_ms} ms are too short for a share of busy time: /proc/stat counts in steps of {tick_ms} ms, and {least_ms} ms are needed; fix: measure for longer"
    )]
    TooShort {
        /// The window.
        window_ms: u64,
        /// Step of the counters.
        tick_ms: u64,
        /// The shortest possible window.
        least_ms: u64,
    },
}

/// The step of the counters in ns: 1/`USER_HZ`, 10 ms on every common architecture.
pub fn tick_ns() -> u64 {
    match sysconf(SysconfVar::CLK_TCK) {
        Ok(Some(hz)) if hz > 0 => 1_000_000_000 / hz.unsigned_abs(),
        _ => 10_000_000,
    }
}

/// Idle time of each core since the start of the machine, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The time, CLOCK_MONOTONIC in ns.
    pub at_ns: u64,
    /// Idle ticks of each requested core, in their order.
    idle: Vec<u64>,
}

#[cfg(test)]
impl Sample {
    /// A reading of these idle ticks.
    pub(crate) const fn of(at_ns: u64, idle: Vec<u64>) -> Sample {
        Sample { at_ns, idle }
    }
}

/// The load of one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// Busy time in ns, at most the window.
    pub busy_ns: u64,
    /// Length of the window in ns.
    pub window_ns: u64,
    /// Step of the busy time in ns; each end of the window may be wrong by one step.
    pub step_ns: u64,
}

impl Busy {
    /// Busy time over window, 0 to 1.
    pub fn ratio(&self) -> f64 {
        self.busy_ns as f64 / self.window_ns as f64
    }
}

/// Reads how long cores were idle. During a measurement it allocates only the samples.
#[derive(Debug)]
pub struct Meter {
    file: File,
    text: Vec<u8>,
    cores: Cores,
    tick_ns: u64,
}

impl Meter {
    /// A meter of these cores.
    ///
    /// # Errors
    /// [`BusyError::Read`], [`BusyError::NoCore`].
    pub fn new(cores: &Cores) -> Result<Meter, BusyError> {
        let mut meter = Meter {
            file: File::open("/proc/stat")?,
            text: vec![0; MOST_BYTES],
            cores: cores.clone(),
            tick_ns: tick_ns(),
        };
        meter.sample()?;
        Ok(meter)
    }

    /// The cores.
    pub const fn cores(&self) -> &Cores {
        &self.cores
    }

    /// Read once, and again if the reading itself was interrupted; the better one counts.
    ///
    /// # Errors
    /// [`BusyError::Read`], and [`BusyError::NoCore`] for one that went offline.
    pub fn sample(&mut self) -> Result<Sample, BusyError> {
        let (first, took) = self.read()?;
        if took <= READING_NS {
            return Ok(first);
        }
        let (second, again) = self.read()?;
        Ok(if again < took { second } else { first })
    }

    fn read(&mut self) -> Result<(Sample, u64), BusyError> {
        let before = now_ns();
        let mut len = 0;
        // The kernel may return the file in pieces; another type of line ends the lines of cores.
        loop {
            let got = self.file.read_at(&mut self.text[len..], len as u64)?;
            len += got;
            if got == 0 || len == MOST_BYTES || self.text[..len].windows(5).any(|w| w == b"\nintr")
            {
                break;
            }
        }
        let after = now_ns();
        let idle = idle_of(&self.text[..len], &self.cores)?;
        let at_ns = before + (after - before) / 2;
        Ok((Sample { at_ns, idle }, after - before))
    }

    /// The load of each core between two samples, in the order of the cores.
    ///
    /// # Errors
    /// [`BusyError::TooShort`] for a window of fewer than [`LEAST_TICKS`].
    pub fn between(&self, first: &Sample, last: &Sample) -> Result<Vec<Busy>, BusyError> {
        let window_ns = last.at_ns.saturating_sub(first.at_ns);
        let least = LEAST_TICKS * self.tick_ns;
        if window_ns < least {
            return Err(BusyError::TooShort {
                window_ms: window_ns / 1_000_000,
                tick_ms: self.tick_ns / 1_000_000,
                least_ms: least / 1_000_000,
            });
        }
        let busy = |(before, after): (&u64, &u64)| {
            // The kernel may decrease the time spent waiting for disks, but idle time is never negative.
            let idle_ns = after.saturating_sub(*before).saturating_mul(self.tick_ns);
            Busy {
                busy_ns: window_ns.saturating_sub(idle_ns),
                window_ns,
                step_ns: self.tick_ns,
            }
        };
        Ok(first.idle.iter().zip(&last.idle).map(busy).collect())
    }
}

/// Idle ticks (columns `idle` and `iowait` of proc(5)) of each core.
fn idle_of(text: &[u8], cores: &Cores) -> Result<Vec<u64>, BusyError> {
    let text = String::from_utf8_lossy(text);
    let of = |core: usize| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("cpu"));
        let numbers = lines.find_map(|rest| {
            let (number, values) = rest.split_once(' ')?;
            (number.parse() == Ok(core)).then_some(values)
        })?;
        let mut columns = numbers.split_whitespace().skip(3).map(str::parse::<u64>);
        let idle = columns.next()?.ok()?;
        let waiting = columns.next().and_then(Result::ok).unwrap_or(0);
        Some(idle.saturating_add(waiting))
    };
    let one = |core: &usize| of(*core).ok_or(BusyError::NoCore(*core));
    cores.numbers().iter().map(one).collect()
}

/// CLOCK_MONOTONIC in ns.
pub fn now_ns() -> u64 {
    // The clock exists on every Linux, so reading it cannot fail.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |t| {
        t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"cpu  9 9 9 9 9\ncpu0 1 2 3 400 50 6 7 8 9 10\ncpu10 1 2 3 77\nintr 5\n";

    fn cores(text: &str) -> Cores {
        text.parse().unwrap()
    }

    #[test]
    fn idle_and_waiting_are_read_of_the_right_core() {
        assert_eq!(idle_of(TEXT, &cores("0,10")).unwrap(), [450, 77]);
        let error = idle_of(TEXT, &cores("1")).unwrap_err().to_string();
        assert!(error.contains("core 1 "), "{error}");
        for bad in [&b"cpu0 1 2"[..], b"cpu0 a b c d e", b"\xff\xfe", b""] {
            assert!(idle_of(bad, &cores("0")).is_err());
        }
    }

    #[test]
    fn a_short_window_is_refused_with_the_step() {
        let meter = Meter::new(&crate::allowed().unwrap()).unwrap();
        let at = |at_ns, idle| Sample {
            at_ns,
            idle: vec![idle],
        };
        let error = meter.between(&at(0, 0), &at(199_000_000, 5)).unwrap_err();
        assert!(
            matches!(error, BusyError::TooShort { window_ms: 199, .. }),
            "{error}"
        );
        let busy = meter.between(&at(0, 10), &at(1_000_000_000, 90)).unwrap();
        assert_eq!(busy[0].busy_ns, 200_000_000);
        assert!((busy[0].ratio() - 0.2).abs() < 1e-9);
        let back = meter.between(&at(0, 90), &at(1_000_000_000, 10)).unwrap();
        assert_eq!(back[0].busy_ns, 1_000_000_000, "idle time never goes back");
        let over = meter.between(&at(0, 0), &at(1_000_000_000, 200)).unwrap();
        assert_eq!(over[0].busy_ns, 0);
    }
}
