//! The unsafe calls of the fast path: live-frame runs, and a signal that ends a run.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use super::abi;
use crate::ebpf::Plain;

// SAFETY: repr(C), integers and arrays of integers only.
unsafe impl Plain for abi::GenCfg {}
// SAFETY: as above.
unsafe impl Plain for abi::GenState {}
// SAFETY: as above.
unsafe impl Plain for abi::RawStep {}
// SAFETY: as above.
unsafe impl Plain for abi::ChkCfg {}
// SAFETY: as above.
unsafe impl Plain for abi::ChkState {}

/// How a run of a program over live frames ended.
#[derive(Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// All repeats were done.
    Done,
    /// A signal ended it.
    Interrupted,
}

/// Run the XDP program over `repeat` live frames made from `template`, `batch` at a time.
pub fn run_live_frames(
    program: BorrowedFd<'_>,
    template: &[u8],
    repeat: u32,
    batch: u32,
) -> io::Result<RunEnd> {
    let mut opts = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as libbpf_sys::size_t,
        data_in: template.as_ptr().cast(),
        data_size_in: template.len() as u32,
        repeat: repeat as i32,
        flags: libbpf_sys::BPF_F_TEST_XDP_LIVE_FRAMES,
        batch_size: batch,
        ..Default::default()
    };
    // SAFETY: the options point to memory that outlives the call; the kernel only reads the template.
    let status = unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), &mut opts) };
    match -status {
        0 => Ok(RunEnd::Done),
        libc::EINTR => Ok(RunEnd::Interrupted),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// The signal that interrupts a sending thread's system call. Its handler does nothing.
const WAKE: Signal = Signal::SIGURG;

extern "C" fn ignore(_: libc::c_int) {}

/// Let [`wake`] interrupt system calls of this process.
pub fn install_wake_handler() -> io::Result<()> {
    let action = SigAction::new(
        SigHandler::Handler(ignore),
        SaFlags::empty(),
        SigSet::empty(),
    );
    // SAFETY: the handler does nothing, so it is safe at any time.
    unsafe { sigaction(WAKE, &action)? };
    Ok(())
}

/// The kernel's number of the calling thread.
pub fn thread_id() -> i32 {
    nix::unistd::gettid().as_raw()
}

/// Interrupt the system call of a thread of this process; nothing happens if the thread has ended.
pub fn wake(thread: i32) {
    // SAFETY: plain system call; a thread that has ended gives ESRCH.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, WAKE as i32) };
}
