//! Memory that a packet socket shares with the kernel.

use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU32;

use super::socket::PacketSocket;

/// The mapped ring of a socket. It stays readable after the socket is closed, because the mapping keeps the pages.
pub(super) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: only this value owns the mapping, and any thread may access the memory.
unsafe impl Send for Mapping {}

impl Mapping {
    pub(super) fn new(socket: &PacketSocket, bytes: usize) -> io::Result<Mapping> {
        // SAFETY: a new mapping at an address that the kernel chooses overlaps no other memory.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Mapping { start, bytes })
    }

    /// A word of a ring's header, which the kernel changes concurrently.
    pub(super) fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at % 4 == 0 && at + 4 <= self.bytes);
        // SAFETY: inside the mapping, aligned (the mapping starts at a page), and valid as long as `self`; the kernel
        // reads and writes such words atomically.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// Memory that the kernel does not write while its status word gives it to the application.
    ///
    /// # Safety
    /// The status word of these bytes must say so, and no other slice of them may exist.
    pub(super) unsafe fn slice_mut(&mut self, at: usize, len: usize) -> &mut [u8] {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.bytes));
        // SAFETY: inside the mapping; the caller guarantees the rest.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(at), len) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this address and length, and no borrow of it exists.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
