//! What a child process does between fork and exec so that it never outlives its parent.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::signal::Signal;

/// Most bytes of each file that the process writes: its logs.
pub(super) const MOST_FILE_BYTES: u64 = 16 << 20;

/// Have a command that is about to be started be killed when the calling thread ends, however it ends.
pub(crate) fn end_with_this_thread(command: &mut Command) {
    tie(command, Signal::SIGKILL, None);
}

/// Have `command` get `signal` of the kernel when the thread that starts it ends, however it ends; bound its files to
/// [`MOST_FILE_BYTES`] each; and let it have the descriptor `keep`.
pub(super) fn tie(command: &mut Command, signal: Signal, keep: Option<RawFd>) {
    let parent = std::process::id();
    let child = move || prepare(parent, signal, keep);
    // SAFETY: the closure runs after fork in a process of one thread; it allocates nothing and calls only functions
    // that signal-safety(7) lists, or that are plain system calls.
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
        // The parent may have died before the line above.
        if libc::getppid() as u32 != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        let limit = libc::rlimit {
            rlim_cur: MOST_FILE_BYTES,
            rlim_max: MOST_FILE_BYTES,
        };
        check(libc::setrlimit(libc::RLIMIT_FSIZE, &limit))?;
        // A log that is full is no reason to end.
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        if let Some(fd) = keep {
            check(libc::fcntl(fd, libc::F_SETFD, 0))?;
        }
    }
    Ok(())
}
