//! Options of sockets that no library names.
#![allow(unsafe_code)]

use std::io;
use std::net::{TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd as _};

use nix::libc;

/// Acknowledges at once what comes next, and not with the next segment; the kernel forgets it after some segments.
pub fn acknowledge_at_once(stream: &TcpStream) -> io::Result<()> {
    set(stream, libc::IPPROTO_TCP, libc::TCP_QUICKACK, 1)
}

/// Never fragments, so that the kernel gives a socket's datagrams without a connection no numbers.
pub fn leave_unnumbered(socket: &UdpSocket) -> io::Result<()> {
    let never = libc::IP_PMTUDISC_DO;
    set(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, never)
}

fn set(
    socket: &impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let bytes = size_of_val(&value) as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the option is an int, which lives until the call returns.
    let done = unsafe { libc::setsockopt(fd, level, option, (&raw const value).cast(), bytes) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
