//! An option of TCP sockets that no library names.
#![allow(unsafe_code)]

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd as _;

use nix::libc;

/// Acknowledges at once what comes next, and not with the next segment; the kernel forgets it after some segments.
pub fn acknowledge_at_once(stream: &TcpStream) -> io::Result<()> {
    let on: libc::c_int = 1;
    let bytes = size_of_val(&on) as libc::socklen_t;
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_QUICKACK);
    // SAFETY: the option is an int, which lives until the call returns.
    let done = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            level,
            option,
            (&raw const on).cast(),
            bytes,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
