//! A command on a pseudo terminal of its own: a session, so that Ctrl-C reaches it and the hang-up ends it.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::{Winsize, openpty};

/// Columns of the terminal: wide enough that no shell wraps what is typed.
pub const COLUMNS: u16 = 250;

/// Starts a command on a new pseudo terminal. Its session has the priority of this one, so that the measured program does
/// not wait for the tester.
///
/// # Errors
/// The system's error.
pub fn spawn(mut command: Command) -> io::Result<(OwnedFd, Child)> {
    let size = Winsize {
        ws_row: 50,
        ws_col: COLUMNS,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let pty = openpty(&size, None)?;
    // The command must not hold its own terminal open.
    for end in [&pty.master, &pty.slave] {
        fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    }
    let slave = pty.slave.as_raw_fd();
    command
        .stdin(Stdio::from(pty.slave.try_clone()?))
        .stdout(Stdio::from(pty.slave.try_clone()?))
        .stderr(Stdio::from(pty.slave.try_clone()?));
    // SAFETY: between fork and exec only setsid and ioctl are called, which are safe there; `slave` is open until this
    // function returns, after the fork.
    unsafe {
        command.pre_exec(move || {
            nix::unistd::setsid()?;
            if nix::libc::ioctl(slave, nix::libc::TIOCSCTTY, 0) == -1 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
    let child = command.spawn()?;
    wirelab_cores::share_priority(child.id());
    Ok((pty.master, child))
}
