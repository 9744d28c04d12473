//! The unsafe calls of eBPF programs: shared memory, single runs, and links to interfaces.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

/// Plain data without padding, for which any bytes are a valid value.
///
/// # Safety
/// Implement it only for `repr(C)` structures of integers and arrays of integers.
pub unsafe trait Plain: Copy {}

// SAFETY: repr(C), integers and an array of them, no padding.
unsafe impl Plain for super::Hist {}

/// A plain value of zeros, on the heap because these structures are large.
pub fn zeroed<T: Plain>() -> Box<T> {
    let mut value = Box::<T>::new_uninit();
    // SAFETY: the box is writable for one T, and zeros are a value of every Plain type.
    unsafe {
        value.as_mut_ptr().write_bytes(0, 1);
        value.assume_init()
    }
}

/// The memory of an array map, shared with the running program.
pub struct MapMemory<T: Plain> {
    memory: NonNull<T>,
    entries: usize,
    len: NonZeroUsize,
    _type: PhantomData<T>,
}

// SAFETY: the memory is shared with the kernel anyway; access is by volatile copies of plain data.
unsafe impl<T: Plain> Send for MapMemory<T> {}
// SAFETY: as above.
unsafe impl<T: Plain> Sync for MapMemory<T> {}

impl<T: Plain> MapMemory<T> {
    /// Map `entries` values of the map `fd`.
    pub fn map(fd: BorrowedFd<'_>, entries: usize) -> io::Result<MapMemory<T>> {
        let len = NonZeroUsize::new(size_of::<T>() * entries).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: a fresh mapping of the whole map at an address the kernel chooses.
        let memory = unsafe {
            mmap(
                None,
                len,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_SHARED,
                fd,
                0,
            )?
        };
        Ok(MapMemory {
            memory: memory.cast(),
            entries,
            len,
            _type: PhantomData,
        })
    }

    /// A copy of entry `index`. During a run, its counters may differ from each other by a few frames.
    pub fn read(&self, index: usize) -> Box<T> {
        assert!(index < self.entries);
        let mut value = zeroed::<T>();
        // SAFETY: in bounds of the mapping; any bytes are a value of T.
        unsafe { std::ptr::copy_nonoverlapping(self.memory.as_ptr().add(index), &mut *value, 1) };
        value
    }

    /// A copy of a small entry.
    pub fn get(&self, index: usize) -> T {
        assert!(index < self.entries);
        // SAFETY: in bounds of the mapping, aligned; any bytes are a value of T.
        unsafe { self.memory.as_ptr().add(index).read_volatile() }
    }

    /// Replace entry `index`.
    pub fn write(&self, index: usize, value: &T) {
        assert!(index < self.entries);
        // SAFETY: in bounds of the mapping.
        unsafe { std::ptr::copy_nonoverlapping(value, self.memory.as_ptr().add(index), 1) };
    }

    /// Read the 64-bit word at byte `offset` as the program last wrote it.
    pub fn word(&self, offset: usize) -> u64 {
        assert!(offset % 8 == 0 && offset + 8 <= self.len.get());
        // SAFETY: aligned and in bounds.
        unsafe {
            self.memory
                .as_ptr()
                .cast::<u64>()
                .byte_add(offset)
                .read_volatile()
        }
    }

    /// Write the 64-bit word at byte `offset`, for the running program to read.
    pub fn set_word(&self, offset: usize, value: u64) {
        assert!(offset % 8 == 0 && offset + 8 <= self.len.get());
        // SAFETY: aligned and in bounds.
        unsafe {
            self.memory
                .as_ptr()
                .cast::<u64>()
                .byte_add(offset)
                .write_volatile(value)
        };
    }
}

impl<T: Plain> Drop for MapMemory<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`, and nothing borrows from it.
        let _ = unsafe { munmap(self.memory.cast(), self.len.get()) };
    }
}

/// Run the XDP program once over `frame` without sending it; returns its verdict.
pub fn run_once(program: BorrowedFd<'_>, frame: &[u8]) -> io::Result<u32> {
    let mut opts = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as libbpf_sys::size_t,
        data_in: frame.as_ptr().cast(),
        data_size_in: frame.len() as u32,
        repeat: 1,
        ..Default::default()
    };
    // SAFETY: the options point to memory that outlives the call; the kernel only reads the frame.
    let status = unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), &mut opts) };
    if status == 0 {
        Ok(opts.retval)
    } else {
        Err(io::Error::from_raw_os_error(-status))
    }
}

/// Run the XDP program once over `frame`; returns its verdict and the frame as the program left it.
pub fn run_into(program: BorrowedFd<'_>, frame: &[u8]) -> io::Result<(u32, Vec<u8>)> {
    // Space for headers that a program adds: the kernel's headroom is 256 bytes.
    let mut out = vec![0; frame.len() + 256];
    let mut opts = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as libbpf_sys::size_t,
        data_in: frame.as_ptr().cast(),
        data_size_in: frame.len() as u32,
        data_out: out.as_mut_ptr().cast(),
        data_size_out: out.len() as u32,
        repeat: 1,
        ..Default::default()
    };
    // SAFETY: the options point to memory that outlives the call; the kernel writes at most `data_size_out` bytes.
    let status = unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), &mut opts) };
    if status != 0 {
        return Err(io::Error::from_raw_os_error(-status));
    }
    out.truncate(opts.data_size_out as usize);
    Ok((opts.retval, out))
}

/// An XDP program attached to an interface. It is detached with this value, and with the process, however that ends.
#[derive(Debug)]
pub struct XdpLink(OwnedFd);

impl Drop for XdpLink {
    fn drop(&mut self) {
        // Closing alone is not enough: a process between fork and exec holds a copy. SAFETY: plain call on an open
        // descriptor; if it fails, closing does the rest.
        unsafe { libbpf_sys::bpf_link_detach(self.0.as_raw_fd()) };
    }
}

/// Attach an XDP program to an interface by a link that ends with the process.
pub fn attach(program: BorrowedFd<'_>, ifindex: u32, flags: u32) -> io::Result<XdpLink> {
    let opts = libbpf_sys::bpf_link_create_opts {
        sz: size_of::<libbpf_sys::bpf_link_create_opts>() as libbpf_sys::size_t,
        flags,
        ..Default::default()
    };
    // SAFETY: the options outlive the call.
    let fd = unsafe {
        libbpf_sys::bpf_link_create(
            program.as_raw_fd(),
            ifindex as i32,
            libbpf_sys::BPF_XDP,
            &opts,
        )
    };
    if fd < 0 {
        return Err(io::Error::from_raw_os_error(-fd));
    }
    // SAFETY: a new descriptor that only this value owns.
    Ok(XdpLink(unsafe { OwnedFd::from_raw_fd(fd) }))
}

/// Id of the XDP program on an interface of this thread's namespace, if there is one.
pub fn attached_program(ifindex: u32) -> Option<u32> {
    let mut opts = libbpf_sys::bpf_xdp_query_opts {
        sz: size_of::<libbpf_sys::bpf_xdp_query_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    // SAFETY: the options outlive the call.
    let status = unsafe { libbpf_sys::bpf_xdp_query(ifindex as i32, 0, &mut opts) };
    (status == 0 && opts.prog_id != 0).then_some(opts.prog_id)
}

/// Name of a loaded program.
pub fn program_name(id: u32) -> Option<String> {
    // SAFETY: plain call; returns a new descriptor or a negative errno.
    let fd = unsafe { libbpf_sys::bpf_prog_get_fd_by_id(id) };
    if fd < 0 {
        return None;
    }
    // SAFETY: a new descriptor that only this value owns.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut len = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    // SAFETY: info and len describe one buffer.
    let status =
        unsafe { libbpf_sys::bpf_prog_get_info_by_fd(fd.as_fd().as_raw_fd(), &mut info, &mut len) };
    if status != 0 {
        return None;
    }
    let name: Vec<u8> = info
        .name
        .iter()
        .map(|c| *c as u8)
        .take_while(|c| *c != 0)
        .collect();
    String::from_utf8(name).ok()
}

/// Attach a tracing program: to a raw tracepoint by its name, or to the target that the program itself declares. It
/// is detached with the descriptor.
///
/// # Errors
/// The kernel's error.
pub fn attach_tracing(program: BorrowedFd<'_>, tracepoint: Option<&str>) -> io::Result<OwnedFd> {
    let name = tracepoint
        .map(CString::new)
        .transpose()
        .map_err(|_| io::ErrorKind::InvalidInput)?;
    let name = name.as_ref().map_or(std::ptr::null(), |n| n.as_ptr());
    // SAFETY: the name is a string or null and outlives the call.
    let fd = unsafe { libbpf_sys::bpf_raw_tracepoint_open(name, program.as_raw_fd()) };
    if fd < 0 {
        return Err(io::Error::from_raw_os_error(-fd));
    }
    // SAFETY: a new descriptor that only this value owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
