//! What no safe interface offers: a datagram whose data stay in their page (splice(2) from a pipe), and a socket that
//! takes the kernel long for each frame.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Write};
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd};

/// Send `data` to the connected peer of `socket`, without copying them after the headers.
pub fn send_spliced(pipe: &mut (File, File), socket: &UdpSocket, data: &[u8]) {
    pipe.1.write_all(data).unwrap();
    let (from, to) = (pipe.0.as_raw_fd(), socket.as_raw_fd());
    let none = std::ptr::null_mut();
    // SAFETY: no pointers except null, which means the descriptors' own positions.
    let sent = unsafe { libc::splice(from, none, to, none, data.len(), 0) };
    assert_eq!(sent, data.len() as isize, "{}", io::Error::last_os_error());
}

/// The kernel divides `divisions` times (at most 2,000: the filter's memory is limited) for each frame that reaches
/// `socket`, and drops it.
pub fn take_long(socket: &impl AsFd, divisions: usize) {
    let step = |code, k| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    };
    let mut program = vec![step(libc::BPF_ALU | libc::BPF_DIV | libc::BPF_K, 3); divisions];
    program.push(step(libc::BPF_RET | libc::BPF_K, 0));
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the kernel copies the program, which outlives the call, and its length is the one given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const filter).cast(),
            size_of::<libc::sock_fprog>() as u32,
        )
    };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
}
