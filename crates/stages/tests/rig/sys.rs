//! A datagram whose data stay in their page: splice(2) from a pipe.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Write};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// Send `data` to the connected peer of `socket`, without copying them after the headers.
pub fn send_spliced(pipe: &mut (File, File), socket: &UdpSocket, data: &[u8]) {
    pipe.1.write_all(data).unwrap();
    let (from, to) = (pipe.0.as_raw_fd(), socket.as_raw_fd());
    let none = std::ptr::null_mut();
    // SAFETY: no pointers except null, which means the descriptors' own positions.
    let sent = unsafe { libc::splice(from, none, to, none, data.len(), 0) };
    assert_eq!(sent, data.len() as isize, "{}", io::Error::last_os_error());
}
