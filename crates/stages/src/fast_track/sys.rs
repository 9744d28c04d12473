//! The unsafe calls: AF_XDP sockets, and the memory and rings that they share with the kernel (linux/if_xdp.h,
//! Documentation/networking/af_xdp.rst).
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Memory mapped for this process, and perhaps the kernel.
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: only this value owns the mapping, and any thread may access the memory.
unsafe impl Send for Mapping {}

impl Mapping {
    /// `file`: a socket and the offset of one of its rings; `None` for new memory.
    fn new(bytes: usize, file: Option<(BorrowedFd<'_>, i64)>) -> io::Result<Mapping> {
        let (fd, offset, flags) = match file {
            Some((fd, offset)) => (fd.as_raw_fd(), offset, libc::MAP_SHARED),
            None => (-1, 0, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS),
        };
        // SAFETY: a new mapping at an address that the kernel chooses overlaps no other memory.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                flags | libc::MAP_POPULATE,
                fd,
                offset,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { start, bytes })
    }

    fn at(&self, at: u64, bytes: usize, align: usize) -> io::Result<NonNull<u8>> {
        let fits = usize::try_from(at).ok().filter(|at| {
            at % align == 0 && at.checked_add(bytes).is_some_and(|end| end <= self.bytes)
        });
        // SAFETY: inside the mapping, as just checked.
        fits.map(|at| unsafe { self.start.add(at) })
            .ok_or_else(|| io::Error::other("the kernel's layout of an AF_XDP ring does not fit"))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this address and length, and no borrow of it exists.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Frames that the kernel writes and the application reads: chunks of one size.
pub(super) struct Umem {
    memory: Mapping,
    chunk_bytes: u32,
}

impl Umem {
    /// `chunk_bytes` is 2048 or 4096.
    pub(super) fn new(chunks: u32, chunk_bytes: u32) -> io::Result<Umem> {
        let memory = Mapping::new(chunks as usize * chunk_bytes as usize, None)?;
        Ok(Umem {
            memory,
            chunk_bytes,
        })
    }

    fn chunks(&self) -> u32 {
        (self.memory.bytes / self.chunk_bytes as usize) as u32
    }

    /// The chunk that contains a descriptor, if any.
    fn chunk_of(&self, descriptor: Descriptor) -> Option<u32> {
        chunk_of(descriptor, self.chunks(), self.chunk_bytes)
    }

    /// The bytes of a descriptor that [`Umem::chunk_of`] found sound.
    fn bytes(&self, descriptor: Descriptor) -> &[u8] {
        // SAFETY: inside the mapping, because the descriptor lies in a chunk. The kernel does not write to a chunk
        // between handing it over and getting it back, which happens after this borrow has ended.
        unsafe {
            std::slice::from_raw_parts(
                self.memory.start.as_ptr().add(descriptor.address as usize),
                descriptor.length as usize,
            )
        }
    }
}

/// The kernel's descriptor of a frame that it wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub(super) address: u64,
    pub(super) length: u32,
}

/// The chunk that completely contains a descriptor. For any descriptor, the result is below `chunks`.
pub(super) fn chunk_of(descriptor: Descriptor, chunks: u32, chunk_bytes: u32) -> Option<u32> {
    let chunk_bytes = u64::from(chunk_bytes);
    let chunk = descriptor.address.checked_div(chunk_bytes)?;
    let end = (descriptor.address % chunk_bytes).checked_add(u64::from(descriptor.length))?;
    (chunk < u64::from(chunks) && end <= chunk_bytes).then_some(chunk as u32)
}

/// A ring shared with the kernel: indices count without end and are taken modulo its size.
struct Ring {
    _memory: Mapping,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<u8>,
    size: u32,
}

// SAFETY: the pointers go into the mapping that the value owns.
unsafe impl Send for Ring {}

impl Ring {
    fn map(
        socket: BorrowedFd<'_>,
        offsets: &libc::xdp_ring_offset,
        page_offset: i64,
        size: u32,
        entry_bytes: usize,
    ) -> io::Result<Ring> {
        let bytes = usize::try_from(offsets.desc).unwrap_or(usize::MAX);
        let bytes = bytes.saturating_add(size as usize * entry_bytes);
        let memory = Mapping::new(bytes, Some((socket, page_offset)))?;
        Ok(Ring {
            producer: memory.at(offsets.producer, 4, 4)?.cast(),
            consumer: memory.at(offsets.consumer, 4, 4)?.cast(),
            flags: memory.at(offsets.flags, 4, 4)?.cast(),
            entries: memory.at(offsets.desc, size as usize * entry_bytes, 8)?,
            _memory: memory,
            size,
        })
    }

    fn producer(&self) -> &AtomicU32 {
        // SAFETY: aligned and inside the mapping, as `map` checked; both sides access it atomically.
        unsafe { self.producer.as_ref() }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.consumer.as_ref() }
    }

    fn wants_wakeup(&self) -> bool {
        // SAFETY: as above.
        let flags = unsafe { self.flags.as_ref() };
        flags.load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    /// The first word of entry `index`, of `words` words each.
    fn entry(&self, index: u32, words: usize) -> NonNull<AtomicU64> {
        let slot = (index & (self.size - 1)) as usize;
        // SAFETY: the size is a power of two, so the offset is below it and the entry inside the mapping.
        unsafe { self.entries.cast::<AtomicU64>().add(slot * words) }
    }
}

/// Words of a receive descriptor: address, then length and options.
const DESCRIPTOR_WORDS: usize = 2;
/// Entries of the ring for sent frames, which the kernel requires although nothing is sent.
const UNUSED_RING: u32 = 8;

/// A socket on one receive queue.
pub(super) struct XskSocket {
    fd: OwnedFd,
    received: Ring,
    fill: Ring,
    umem: Umem,
    zero_copy: bool,
    /// Descriptors in no chunk.
    pub(super) invalid: u64,
}

impl XskSocket {
    /// A socket whose chunks the kernel may all fill; [`XskSocket::bind`] binds it. Call it in the port's namespace.
    /// `umem` has a power of two of chunks.
    pub(super) fn new(umem: Umem) -> io::Result<XskSocket> {
        // SAFETY: no pointers; a failure is -1, which is checked.
        let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the socket was just opened and has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let chunks = umem.chunks();
        let region = libc::xdp_umem_reg {
            addr: umem.memory.start.as_ptr() as u64,
            len: umem.memory.bytes as u64,
            chunk_size: umem.chunk_bytes,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        set(&fd, libc::XDP_UMEM_REG, &region)?;
        set(&fd, libc::XDP_UMEM_FILL_RING, &chunks)?;
        set(&fd, libc::XDP_UMEM_COMPLETION_RING, &UNUSED_RING)?;
        set(&fd, libc::XDP_RX_RING, &chunks)?;
        // SAFETY: all-zero is a valid xdp_mmap_offsets.
        let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
        get(&fd, libc::XDP_MMAP_OFFSETS, &mut offsets)?;
        let (rx, fr) = (&offsets.rx, &offsets.fr);
        let received = Ring::map(
            fd.as_fd(),
            rx,
            libc::XDP_PGOFF_RX_RING,
            chunks,
            8 * DESCRIPTOR_WORDS,
        )?;
        // The C library declares this one as unsigned.
        let at_fill = libc::XDP_UMEM_PGOFF_FILL_RING as i64;
        let fill = Ring::map(fd.as_fd(), fr, at_fill, chunks, 8)?;
        let socket = XskSocket {
            fd,
            received,
            fill,
            umem,
            zero_copy: false,
            invalid: 0,
        };
        for chunk in 0..chunks {
            socket.give(chunk, chunk);
        }
        socket.fill.producer().store(chunks, Ordering::Release);
        Ok(socket)
    }

    /// Bind to a receive queue of an interface in this thread's namespace. `copy` forbids zero copy, which the kernel
    /// otherwise uses if the driver supports it.
    pub(super) fn bind(&mut self, ifindex: u32, queue: u32, copy: bool) -> io::Result<()> {
        let copy = if copy { libc::XDP_COPY } else { 0 };
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: libc::XDP_USE_NEED_WAKEUP | copy,
            sxdp_ifindex: ifindex,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        // SAFETY: the address is initialised, outlives the call, and its size is the one given.
        let result = unsafe {
            libc::bind(
                self.fd.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_xdp>() as u32,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut options = 0u32;
        get(&self.fd, libc::XDP_OPTIONS, &mut options)?;
        self.zero_copy = options & libc::XDP_OPTIONS_ZEROCOPY != 0;
        Ok(())
    }

    pub(super) fn is_zero_copy(&self) -> bool {
        self.zero_copy
    }

    /// Pass the frames that have arrived, at most `most`, to `take`, in place; then return their chunks to the
    /// kernel. Returns the number of frames.
    #[inline]
    pub(super) fn receive(&mut self, most: u32, mut take: impl FnMut(&[u8])) -> u32 {
        let first = self.received.consumer().load(Ordering::Relaxed);
        let there = self.received.producer().load(Ordering::Acquire);
        // More than fits is invalid, but must not make this read beyond the ring.
        let count = there.wrapping_sub(first).min(self.received.size).min(most);
        if count == 0 {
            return 0;
        }
        let mut free = self.fill.producer().load(Ordering::Relaxed);
        let mut taken = 0;
        for index in 0..count {
            let descriptor = self.descriptor(first.wrapping_add(index));
            let Some(chunk) = self.umem.chunk_of(descriptor) else {
                self.invalid += 1;
                continue;
            };
            take(self.umem.bytes(descriptor));
            self.give(free, chunk);
            free = free.wrapping_add(1);
            taken += 1;
        }
        self.received
            .consumer()
            .store(first.wrapping_add(count), Ordering::Release);
        self.fill.producer().store(free, Ordering::Release);
        if self.fill.wants_wakeup() {
            self.wake();
        }
        taken
    }

    fn descriptor(&self, index: u32) -> Descriptor {
        let words = self.received.entry(index, DESCRIPTOR_WORDS);
        // SAFETY: two words inside the ring's mapping, which the kernel has published by its producer index.
        let (address, rest) = unsafe {
            let words = std::slice::from_raw_parts(words.as_ptr(), DESCRIPTOR_WORDS);
            (words[0].load(Ordering::Relaxed), &words[1])
        };
        let rest = rest.load(Ordering::Relaxed).to_ne_bytes();
        let length = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]);
        Descriptor { address, length }
    }

    /// Write a chunk's address into the fill ring; published by its producer index.
    fn give(&self, index: u32, chunk: u32) {
        let address = u64::from(chunk) * u64::from(self.umem.chunk_bytes);
        // SAFETY: a word inside the ring's mapping.
        unsafe { self.fill.entry(index, 1).as_ref() }.store(address, Ordering::Relaxed);
    }

    /// Wake a driver that went to sleep because it had no chunks.
    fn wake(&self) {
        // SAFETY: no buffer is given, so nothing is written.
        unsafe {
            libc::recvfrom(
                self.fd.as_raw_fd(),
                ptr::null_mut(),
                0,
                libc::MSG_DONTWAIT,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
    }

    /// The entry for [`poll`].
    pub(super) fn watched(&self) -> libc::pollfd {
        libc::pollfd {
            fd: self.fd.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        }
    }

    /// The kernel's counts for this socket.
    pub(super) fn statistics(&self) -> io::Result<libc::xdp_statistics> {
        // SAFETY: all-zero is a valid xdp_statistics.
        let mut statistics: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        get(&self.fd, libc::XDP_STATISTICS, &mut statistics)?;
        Ok(statistics)
    }
}

impl AsFd for XskSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Sleep until one of the sockets has a frame, or the timeout.
pub(super) fn poll(watched: &mut [libc::pollfd], longest: Duration) -> io::Result<()> {
    let milliseconds = longest.as_millis().clamp(1, i32::MAX as u128) as i32;
    let count = watched.len() as libc::nfds_t;
    // SAFETY: this many initialised entries, which outlive the call.
    match unsafe { libc::poll(watched.as_mut_ptr(), count, milliseconds) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn set<T>(fd: &OwnedFd, option: i32, value: &T) -> io::Result<()> {
    // SAFETY: the value outlives the call, and its size is the given one.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_XDP,
            option,
            ptr::from_ref(value).cast(),
            size_of::<T>() as u32,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn get<T>(fd: &OwnedFd, option: i32, value: &mut T) -> io::Result<()> {
    let mut bytes = size_of::<T>() as u32;
    // SAFETY: the value is writable, outlives the call, and its size is the given one; these options are integers.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_XDP,
            option,
            ptr::from_mut(value).cast(),
            &raw mut bytes,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_descriptor_says_only_bytes_of_one_chunk_are_read() {
        let at = |address, length| chunk_of(Descriptor { address, length }, 4, 2048);
        assert_eq!(at(256, 60), Some(0));
        assert_eq!(at(3 * 2048, 2048), Some(3));
        assert_eq!(at(2048 + 256, 1792), Some(1));
        for (address, length) in [
            (256, 1793),
            (4 * 2048, 0),
            (4 * 2048 - 1, 2),
            (u64::MAX, 1),
            (u64::MAX - 2047, u32::MAX),
            (0, u32::MAX),
        ] {
            assert_eq!(at(address, length), None, "{address} {length}");
        }
        assert_eq!(
            chunk_of(
                Descriptor {
                    address: 0,
                    length: 0
                },
                0,
                0
            ),
            None
        );
    }

    #[test]
    fn offsets_of_a_ring_that_lie_outside_of_it_are_refused() {
        let memory = Mapping::new(4096, None).unwrap();
        assert!(memory.at(4092, 4, 4).is_ok());
        for (at, bytes, align) in [(4093, 4, 4), (4096, 4, 4), (u64::MAX, 4, 1), (2, 4, 4)] {
            assert!(memory.at(at, bytes, align).is_err(), "{at}");
        }
    }
}
