//! Loading the compiled programs: data maps by name, the LFSR window, the maps' sizes checked.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use libbpf_rs::{MapCore, Object, ObjectBuilder, OpenObject};
use wirelab_wire::lfsr;

use super::abi;
use super::error::XdpError;
use super::sys::{Plain, Shared};

/// A loaded object with one XDP program.
pub struct Loaded {
    object: Object,
    fd: OwnedFd,
}

/// Open a compiled object, fill its read-only data, and load it.
pub fn load(
    bytes: &[u8],
    program: &'static str,
    resize: impl FnOnce(&mut OpenObject) -> libbpf_rs::Result<()>,
) -> Result<Loaded, XdpError> {
    const WHAT: &str = "loading the eBPF programs";
    silence_libbpf();
    let mut open = ObjectBuilder::default()
        .open_memory(bytes)
        .map_err(|e| XdpError::libbpf(WHAT, e))?;
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        let filled = match name.as_str() {
            ".rodata.window" => map.set_initial_value(&window()),
            ".rodata.sums" => map.set_initial_value(&window_sums()),
            _ => Ok(()),
        };
        filled.map_err(|e| XdpError::libbpf(WHAT, e))?;
    }
    resize(&mut open).map_err(|e| XdpError::libbpf(WHAT, e))?;
    let object = open.load().map_err(|e| XdpError::libbpf(WHAT, e))?;
    let fd = object
        .progs()
        .find(|p| p.name() == program)
        .expect("the object was built from this source with this program")
        .as_fd()
        .try_clone_to_owned()
        .map_err(|e| XdpError::kernel(WHAT, e))?;
    Ok(Loaded { object, fd })
}

impl Loaded {
    /// The program's descriptor.
    pub fn program(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// A map by name.
    pub fn map(&self, name: &str) -> libbpf_rs::Map<'_> {
        self.object
            .maps()
            .find(|m| m.name().to_string_lossy() == name)
            .expect("the object was built from this source with this map")
    }

    /// The memory of a map's `entries` values, after checking that both sides agree on their size.
    pub fn shared<T: Plain>(&self, name: &str, entries: usize) -> Result<Shared<T>, XdpError> {
        let map = self.map(name);
        if map.value_size() as usize != size_of::<T>() {
            return Err(XdpError::BadJob(format!(
                "the eBPF map {name} has values of {} bytes, this program expects {}: rebuild wirelab",
                map.value_size(),
                size_of::<T>()
            )));
        }
        Shared::map(map.as_fd(), entries).map_err(|e| XdpError::kernel("mapping an eBPF map", e))
    }
}

/// libbpf prints to stderr unless told otherwise; errors reach the user through [`XdpError`] instead.
fn silence_libbpf() {
    libbpf_rs::set_print(None);
}

fn window() -> Vec<u8> {
    let mut bytes = lfsr::WINDOW.to_vec();
    bytes.resize(abi::WINDOW_BYTES, 0);
    bytes
}

/// Folded ones' complement sums of the window's big-endian 16-bit words before each word.
fn window_sums() -> Vec<u8> {
    let mut sum = 0u32;
    let mut sums = Vec::with_capacity(abi::WINDOW_SUMS * 2);
    for pair in window().chunks_exact(2) {
        sums.extend_from_slice(&(sum as u16).to_ne_bytes());
        sum += u32::from(u16::from_be_bytes([pair[0], pair[1]]));
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sums.extend_from_slice(&(sum as u16).to_ne_bytes());
    sums.resize(abi::WINDOW_SUMS * 2, 0);
    sums
}

/// The start word of each first word of content, as the checker's map wants it.
pub fn fill_starts(map: &libbpf_rs::Map<'_>) -> Result<(), XdpError> {
    for word in 0..lfsr::START_WORDS {
        let key = &lfsr::WINDOW[word * 4..word * 4 + 4];
        map.update(key, &(word as u32).to_ne_bytes(), libbpf_rs::MapFlags::ANY)
            .map_err(|e| XdpError::libbpf("filling an eBPF map", e))?;
    }
    Ok(())
}
