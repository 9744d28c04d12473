//! The programs of the fast path, loaded with the LFSR window, and kept for the next run.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use libbpf_rs::{MapCore, OpenObject};
use wirelab_wire::lfsr;

use super::abi;
use super::error::XdpError;
use crate::ebpf::{self, Loaded};

/// Loaded objects without a user. The kernel verifies a program each time it is loaded, which takes longer than the other
/// steps of a short run.
pub struct Pool(Mutex<Vec<Loaded>>);

impl Pool {
    /// Nothing is loaded yet.
    pub const fn new() -> Pool {
        Pool(Mutex::new(Vec::new()))
    }

    /// An object that an earlier run returned, or one that `load` makes. Its maps hold what the earlier run left.
    ///
    /// # Errors
    /// The errors of `load`.
    pub fn take(
        &'static self,
        load: impl FnOnce() -> Result<Loaded, XdpError>,
    ) -> Result<Borrowed, XdpError> {
        let idle = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Ok(Borrowed {
            loaded: Some(idle.map_or_else(load, Ok)?),
            home: Some(self),
        })
    }
}

/// A loaded object in use. It returns to its pool when this value is dropped.
pub struct Borrowed {
    loaded: Option<Loaded>,
    home: Option<&'static Pool>,
}

impl Borrowed {
    /// An object that no later run can use; it returns to no pool.
    pub fn of_one_run(loaded: Loaded) -> Borrowed {
        Borrowed {
            loaded: Some(loaded),
            home: None,
        }
    }
}

impl Deref for Borrowed {
    type Target = Loaded;

    fn deref(&self) -> &Loaded {
        self.loaded.as_ref().expect("only drop takes it")
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if let (Some(loaded), Some(Pool(idle))) = (self.loaded.take(), self.home) {
            idle.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(loaded);
        }
    }
}

/// Open a compiled object, fill its window, and load it.
pub fn load(
    bytes: &[u8],
    program: &'static str,
    resize: impl FnOnce(&mut OpenObject) -> libbpf_rs::Result<()>,
) -> Result<Loaded, XdpError> {
    ebpf::load(bytes, program, |open| {
        for mut map in open.maps_mut() {
            match map.name().to_string_lossy().as_ref() {
                ".rodata.window" => map.set_initial_value(&window())?,
                ".rodata.sums" => map.set_initial_value(&window_sums())?,
                _ => {}
            }
        }
        resize(open)
    })
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

/// The start word of each first word of content, in the layout of the checker's map.
pub fn fill_starts(map: &libbpf_rs::Map<'_>) -> Result<(), XdpError> {
    for word in 0..lfsr::START_WORDS {
        let key = &lfsr::WINDOW[word * 4..word * 4 + 4];
        map.update(key, &(word as u32).to_ne_bytes(), libbpf_rs::MapFlags::ANY)
            .map_err(|e| XdpError::libbpf("filling an eBPF map", e))?;
    }
    Ok(())
}
