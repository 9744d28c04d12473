//! Memory that two processes share, by a file.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

/// A mapped file; every access is checked against its length.
#[derive(Debug)]
pub struct SharedFile {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory belongs to this value, and is only accessed by atomics and by copies of bytes.
unsafe impl Send for SharedFile {}
// SAFETY: as above; all methods take it by reference.
unsafe impl Sync for SharedFile {}

impl SharedFile {
    /// Maps a file as long as it is.
    pub fn map(file: &File) -> io::Result<SharedFile> {
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let length = NonZeroUsize::new(bytes).ok_or(io::ErrorKind::InvalidInput)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping at an address of the system's choice, of a file of that length.
        let start = unsafe { mmap(None, length, access, MapFlags::MAP_SHARED, file, 0) }?;
        Ok(SharedFile {
            start: start.cast(),
            bytes,
        })
    }

    fn check(&self, at: usize, bytes: usize) {
        let end = at.checked_add(bytes);
        assert!(end.is_some_and(|end| end <= self.bytes) && at % 4 == 0);
    }

    /// The number at a place.
    pub fn word(&self, at: usize) -> &AtomicU32 {
        self.check(at, 4);
        // SAFETY: inside the mapping, which begins at a page, and aligned, as checked.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// The long number at a place.
    pub fn long(&self, at: usize) -> &AtomicU64 {
        self.check(at, 8);
        assert!(at % 8 == 0);
        // SAFETY: inside the mapping and aligned, as checked.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// Copies bytes in, before another process maps the file.
    pub fn write(&self, at: usize, from: &[u8]) {
        self.check(at, from.len());
        // SAFETY: inside the mapping, as checked; `from` is memory of this process.
        unsafe {
            self.start
                .as_ptr()
                .add(at)
                .copy_from(from.as_ptr(), from.len());
        }
    }

    /// Copies bytes out. If another process writes them meanwhile, they may have any value.
    pub fn read<const N: usize>(&self, at: usize) -> [u8; N] {
        self.check(at, N);
        // SAFETY: inside the mapping, as checked; bytes have no invalid value, and a volatile read is one.
        unsafe {
            self.start
                .as_ptr()
                .add(at)
                .cast::<[u8; N]>()
                .read_volatile()
        }
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        // SAFETY: the mapping of this value, to which no reference is left.
        let _ = unsafe { munmap(self.start.cast(), self.bytes) };
    }
}
