//! Calls of a child process between fork and exec, so that it never outlives its parent.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::signal::Signal;

/// Size limit of each file that the process writes, for its logs.
pub(super) const MOST_FILE_BYTES: u64 = 16 << 20;

/// Let the kernel kill the command's process when the calling thread ends, however it ends.
pub(crate) fn end_with_this_thread(command: &mut Command) {
    tie(command, Signal::SIGKILL, None);
}

/// Let the kernel send `signal` to the command's process when the thread that starts it ends, however it ends. Limit
/// its files to [`MOST_FILE_BYTES`] each, and let it inherit the descriptor `keep`.
pub(super) fn tie(command: &mut Command, signal: Signal, keep: Option<RawFd>) {
    let parent = std::process::id();
    let child = move || prepare(parent, signal, keep);
    // SAFETY: the closure runs after fork in a process of one thread. It allocates nothing and calls only functions
    // that signal-safety(7) lists, or plain system calls.
    unsafe {
        command.pre_exec(child);
    }
}

fn prepare(parent: u32, signal: Signal, keep: Option<RawFd>) -> io::Result<()> {
    let check = |result: libc::c_int| match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    };
    // SAFETY: plain system calls on values of this process.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, signal as libc::c_int))?;
        // The parent may have died before the call above.
        if libc::getppid() as u32 != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        let limit = libc::rlimit {
            rlim_cur: MOST_FILE_BYTES,
            rlim_max: MOST_FILE_BYTES,
        };
        check(libc::setrlimit(libc::RLIMIT_FSIZE, &limit))?;
        // A full log must not end the process.
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        if let Some(fd) = keep {
            check(libc::fcntl(fd, libc::F_SETFD, 0))?;
        }
    }
    Ok(())
}
