//! The unsafe code: structures that eBPF programs may write, and a plain system call.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use libbpf_rs::libbpf_sys;
use wirelab_port::ebpf::Plain;

use crate::abi::{Cfg, Head, Poll, Record, Slot, Word};

// SAFETY: repr(C), integers and arrays of them, no padding.
unsafe impl Plain for Cfg {}
// SAFETY: as above.
unsafe impl Plain for Head {}
// SAFETY: as above.
unsafe impl Plain for Record {}
// SAFETY: as above.
unsafe impl Plain for Poll {}
// SAFETY: as above.
unsafe impl Plain for Slot {}
// SAFETY: as above.
unsafe impl Plain for Word {}

/// The kernel's number of a socket (SO_COOKIE, Linux 4.12), which is unique until the next boot.
pub fn cookie(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let (mut cookie, mut len) = (0u64, size_of::<u64>() as libc::socklen_t);
    // SAFETY: the kernel writes at most `len` bytes to `cookie`, which outlives the call.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut len,
        )
    };
    match done {
        0 => Ok(cookie),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Runs of a program that the kernel skipped since it was loaded, because the program was already running on that core
/// (`recursion_misses` of `struct bpf_prog_info`, Linux 5.12); 0 on older kernels.
pub fn skipped_runs(program: BorrowedFd<'_>) -> io::Result<u64> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut len = size_of_val(&info) as u32;
    // SAFETY: the kernel writes at most `len` bytes to `info`, which outlives the call; its pointers are null.
    let done = unsafe {
        libbpf_sys::bpf_obj_get_info_by_fd(
            program.as_raw_fd(),
            (&raw mut info).cast(),
            &raw mut len,
        )
    };
    match done {
        0 => Ok(info.recursion_misses),
        _ => Err(io::Error::last_os_error()),
    }
}
