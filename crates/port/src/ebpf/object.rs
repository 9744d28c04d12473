//! Loading compiled eBPF programs: data maps by name, with checked sizes.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use libbpf_rs::{MapCore, Object, ObjectBuilder, OpenObject};

use super::sys::{self, MapMemory, Plain};
use crate::xdp::XdpError;

/// The action, for errors.
pub const LOADING: &str = "loading the eBPF programs";

/// A loaded object with one XDP program.
pub struct Loaded {
    object: Object,
    fd: OwnedFd,
}

/// Open a compiled object, prepare its maps and read-only data, and load it.
///
/// # Errors
/// [`XdpError`] names the privilege or the kernel feature that is missing.
pub fn load(
    bytes: &[u8],
    program: &'static str,
    prepare: impl FnOnce(&mut OpenObject) -> libbpf_rs::Result<()>,
) -> Result<Loaded, XdpError> {
    silence_libbpf();
    let mut open = ObjectBuilder::default()
        .open_memory(bytes)
        .map_err(|e| XdpError::libbpf(LOADING, e))?;
    prepare(&mut open).map_err(|e| XdpError::libbpf(LOADING, e))?;
    let object = open.load().map_err(|e| XdpError::libbpf(LOADING, e))?;
    let fd = object
        .progs()
        .find(|p| p.name() == program)
        .expect("the object was built from this source with this program")
        .as_fd()
        .try_clone_to_owned()
        .map_err(|e| XdpError::kernel(LOADING, e))?;
    Ok(Loaded { object, fd })
}

impl Loaded {
    /// The program's descriptor.
    pub fn program(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Attach the object's tracing program of this name to a raw tracepoint; it is detached with the descriptor.
    ///
    /// # Errors
    /// [`XdpError`] names the privilege or the kernel feature that is missing.
    ///
    /// # Panics
    /// If the object has no such program.
    pub fn attach_tracing(&self, program: &str, tracepoint: &str) -> Result<OwnedFd, XdpError> {
        let program = self
            .object
            .progs()
            .find(|p| p.name() == program)
            .expect("the object was built from this source with this program");
        sys::attach_tracing(program.as_fd(), Some(tracepoint))
            .map_err(|e| XdpError::kernel("tracing the frames that a driver takes", e))
    }

    /// A map by name.
    ///
    /// # Panics
    /// If the object has no map of this name.
    pub fn map(&self, name: &str) -> libbpf_rs::Map<'_> {
        self.object
            .maps()
            .find(|m| m.name().to_string_lossy() == name)
            .expect("the object was built from this source with this map")
    }

    /// The memory of a map's `entries` values. Checks that both sides agree on their size.
    ///
    /// # Errors
    /// [`XdpError::BadJob`] if they disagree; otherwise the kernel's error.
    pub fn shared<T: Plain>(&self, name: &str, entries: usize) -> Result<MapMemory<T>, XdpError> {
        let map = self.map(name);
        if map.value_size() as usize != size_of::<T>() {
            return Err(XdpError::BadJob(format!(
                "the eBPF map {name} has values of {} bytes, this program expects {}: rebuild wirelab",
                map.value_size(),
                size_of::<T>()
            )));
        }
        MapMemory::map(map.as_fd(), entries).map_err(|e| XdpError::kernel("mapping an eBPF map", e))
    }
}

/// libbpf prints to stderr by default; errors reach the user through [`XdpError`] instead.
pub fn silence_libbpf() {
    libbpf_rs::set_print(None);
}
