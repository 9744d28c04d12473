//! The system calls about a thread's priority that no safe library has.

use std::io;

use nix::libc;

/// The calling thread's priority.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    pub nice: i32,
    pub is_real_time: bool,
}

fn checked(result: libc::c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Make the calling thread real-time, at the lowest such priority; what it starts is not.
pub fn real_time() -> io::Result<()> {
    let lowest = libc::sched_param { sched_priority: 1 };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: `lowest` lives until the call returns, which only reads it.
    checked(unsafe { libc::sched_setscheduler(0, policy, &lowest) })
}

/// Set the nice value of the calling thread.
pub fn nice(value: i32) -> io::Result<()> {
    // SAFETY: a plain system call about the calling thread.
    checked(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, value) })
}

#[cfg(test)]
pub fn priority() -> Priority {
    // SAFETY: plain system calls about the calling thread.
    let (nice, policy) = unsafe {
        (
            libc::getpriority(libc::PRIO_PROCESS, 0),
            libc::sched_getscheduler(0),
        )
    };
    let is_real_time = policy & !libc::SCHED_RESET_ON_FORK == libc::SCHED_FIFO;
    Priority { nice, is_real_time }
}
