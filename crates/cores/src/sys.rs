//! System calls that no safe library offers.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;

use nix::libc;

/// Of asm-generic/socket.h, since Linux 5.14.
const SO_NETNS_COOKIE: libc::c_int = 71;

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

/// Make the calling thread real-time, at the lowest such priority; threads and processes that it starts are not.
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

/// A number that identifies the calling thread's network namespace since the start of the host.
pub fn namespace_cookie() -> io::Result<u64> {
    // Any socket has this option.
    let socket = UnixDatagram::unbound()?;
    let mut cookie = 0_u64;
    let mut length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `cookie`; both outlive the call.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    })?;
    Ok(cookie)
}

/// Run `work` when the process exits, also if another thread than the main one ends it.
pub fn at_exit(work: extern "C" fn()) -> io::Result<()> {
    // SAFETY: a function is valid as long as the process.
    checked(unsafe { libc::atexit(work) })
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
