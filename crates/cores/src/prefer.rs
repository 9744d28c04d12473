//! Raises the priority of a thread that keeps a schedule, as far as permitted.
//!
//! A thread that sleeps between its frames requests a real-time priority: it is then woken at once, whatever the
//! session of other work. A thread that spins requests the highest ordinary priority. With a real-time priority, the
//! kernel's throttle would stop it for 50 ms of each second (`sched_rt_runtime_us`, or the fair server since Linux
//! 6.12). Until then, the kernel threads that bring its frames to the node would have no core.

use crate::sys;

/// The highest ordinary priority, as a nice value. In one session with a thread of the usual priority, it gets 98 % of
/// a core (sched(7): a weight of 88,761 against 1,024).
const FIRST: i32 = -20;

/// The least interval between frames, in ps, at which a sender mostly sleeps: it spins for 60 µs.
const SLEEPS_PS: u64 = 500_000_000;

/// The priority that the system granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preferred {
    /// Higher than every ordinary priority.
    RealTime,
    /// Higher than most.
    Nice,
    /// Not raised: the process has no CAP_SYS_NICE.
    Not,
}

/// Raise the priority of the calling thread. It sends a frame each `interval_ps`; `None` if it always has work.
/// Threads and processes that it starts later are not real-time.
pub fn prefer_this_thread(interval_ps: Option<u64>) -> Preferred {
    if interval_ps.is_some_and(|ps| ps >= SLEEPS_PS) && sys::real_time().is_ok() {
        Preferred::RealTime
    } else if sys::nice(FIRST).is_ok() {
        Preferred::Nice
    } else {
        Preferred::Not
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(interval_ps: Option<u64>) -> (Preferred, sys::Priority, sys::Priority) {
        let thread = std::thread::spawn(move || {
            let granted = prefer_this_thread(interval_ps);
            let child = std::thread::spawn(sys::priority).join().unwrap();
            (granted, sys::priority(), child)
        });
        thread.join().unwrap()
    }

    #[test]
    fn a_thread_that_sleeps_is_real_time_and_one_that_spins_is_not() {
        let before = sys::priority();
        for interval_ps in [None, Some(SLEEPS_PS / 2), Some(SLEEPS_PS)] {
            let (granted, own, child) = inside(interval_ps);
            match granted {
                Preferred::RealTime => {
                    assert_eq!(interval_ps, Some(SLEEPS_PS));
                    assert!(own.is_real_time && !child.is_real_time);
                }
                Preferred::Nice => assert_eq!((own.nice, own.is_real_time), (FIRST, false)),
                Preferred::Not => assert_eq!(own, before),
            }
        }
        assert_eq!(sys::priority(), before, "nobody else is preferred");
    }
}
