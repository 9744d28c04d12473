//! The compiled model of the reference node: only what crosses the border to C++.
#![allow(unsafe_code)]

use std::ptr::NonNull;

/// The node's inputs in a clock. Laid out like `Inputs` of `shim.cpp`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inputs {
    pub load_address: u32,
    pub load_data: u32,
    pub rst: u8,
    pub load_enable: u8,
    pub attachment: u8,
    pub fast_track: u8,
    pub loopback_1: u8,
    pub reading: u8,
    pub writing: u8,
    pub rxd: u8,
    pub rx_dv: u8,
    pub rx_er: u8,
    pub line_1_rxd: u8,
    pub line_1_rx_dv: u8,
    pub line_1_rx_er: u8,
    pub uart_data: u8,
    pub uart_valid: u8,
}

/// The node's outputs after a clock. Laid out like `Outputs` of `shim.cpp`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outputs {
    pub exit_status: u32,
    pub line_ce: u8,
    pub txd: u8,
    pub tx_en: u8,
    pub tx_er: u8,
    pub line_1_txd: u8,
    pub line_1_tx_en: u8,
    pub line_1_tx_er: u8,
    pub uart_data: u8,
    pub uart_valid: u8,
    pub uart_ready: u8,
    pub exited: u8,
    pub trap: u8,
}

/// The CPU's activity in a clock: the last stage of its pipeline, and its buses. Laid out like `Trace` of `shim.cpp`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trace {
    pub pc: u32,
    pub instruction: u32,
    /// The address of a word, not of a byte.
    pub address: u32,
    pub valid: u8,
    pub retires: u8,
    pub fetch: u8,
    pub request: u8,
    pub write: u8,
    pub burst: u8,
    pub answer: u8,
    pub mac_irq: u8,
}

#[repr(C)]
struct Raw {
    _private: [u8; 0],
}

// SAFETY: these are the functions of shim.cpp, which build.rs compiles, with the types declared there.
unsafe extern "C" {
    fn wirelab_reference_new() -> *mut Raw;
    fn wirelab_reference_free(node: *mut Raw);
    fn wirelab_reference_clock(node: *mut Raw, inputs: *const Inputs, outputs: *mut Outputs);
    fn wirelab_reference_trace(node: *const Raw, trace: *mut Trace);
}

/// One compiled node.
pub(super) struct Model(NonNull<Raw>);

// SAFETY: a model has its own context and shares nothing with others, so one thread at a time may use it.
unsafe impl Send for Model {}

impl Model {
    /// A node before its reset.
    ///
    /// # Panics
    /// If there is no memory for it.
    pub(super) fn new() -> Self {
        // SAFETY: the function takes nothing and returns a node that the caller owns, or null.
        let raw = unsafe { wirelab_reference_new() };
        Self(NonNull::new(raw).expect("there is memory for a node"))
    }

    /// One clock.
    pub(super) fn clock(&mut self, inputs: &Inputs) -> Outputs {
        let mut outputs = Outputs::default();
        // SAFETY: the node exists until drop, and only this borrow uses it; both structures outlive the call.
        unsafe { wirelab_reference_clock(self.0.as_ptr(), inputs, &raw mut outputs) };
        outputs
    }

    /// The CPU's activity in the clock of the last outputs.
    pub(super) fn trace(&self) -> Trace {
        let mut trace = Trace::default();
        // SAFETY: the node exists until drop and does not change meanwhile; the structure outlives the call.
        unsafe { wirelab_reference_trace(self.0.as_ptr(), &raw mut trace) };
        trace
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: the node came from wirelab_reference_new and is not used after this.
        unsafe { wirelab_reference_free(self.0.as_ptr()) };
    }
}
