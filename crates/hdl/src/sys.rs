//! The compiled model: only what crosses the border to C++.
#![allow(unsafe_code)]

use std::ptr::NonNull;

/// A port's inputs in a clock. Laid out like `Inputs` of `shim.cpp`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Inputs {
    pub wdata: u32,
    pub awaddr: u16,
    pub araddr: u16,
    pub rst: u8,
    pub rxd: u8,
    pub rx_dv: u8,
    pub rx_er: u8,
    pub awvalid: u8,
    pub wvalid: u8,
    pub bready: u8,
    pub arvalid: u8,
    pub rready: u8,
}

/// A port's outputs: the bus at the edge, the line after it. Laid out like `Outputs` of `shim.cpp`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outputs {
    pub rdata: u32,
    pub awready: u8,
    pub wready: u8,
    pub bvalid: u8,
    pub bresp: u8,
    pub arready: u8,
    pub rvalid: u8,
    pub rresp: u8,
    pub txd: u8,
    pub tx_en: u8,
    pub tx_er: u8,
    pub wanted: u8,
}

#[repr(C)]
struct Raw {
    _private: [u8; 0],
}

// SAFETY: these are the functions of shim.cpp, which build.rs compiles, with the types declared there.
unsafe extern "C" {
    fn wirelab_hdl_new() -> *mut Raw;
    fn wirelab_hdl_free(port: *mut Raw);
    fn wirelab_hdl_clock(port: *mut Raw, inputs: *const Inputs, outputs: *mut Outputs);
}

/// One compiled port.
pub(crate) struct Model(NonNull<Raw>);

// SAFETY: a model has its own context and shares nothing with others, so one thread at a time may use it.
unsafe impl Send for Model {}

impl Model {
    /// A port before its reset.
    ///
    /// # Panics
    /// If there is no memory for it.
    pub(crate) fn new() -> Self {
        // SAFETY: the function takes nothing and returns a port that the caller owns, or null.
        let raw = unsafe { wirelab_hdl_new() };
        Self(NonNull::new(raw).expect("there is memory for a port"))
    }

    /// One clock.
    pub(crate) fn clock(&mut self, inputs: &Inputs) -> Outputs {
        let mut outputs = Outputs::default();
        // SAFETY: the port exists until drop, and only this borrow uses it; both structures outlive the call.
        unsafe { wirelab_hdl_clock(self.0.as_ptr(), inputs, &raw mut outputs) };
        outputs
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: the port came from wirelab_hdl_new and is not used after this.
        unsafe { wirelab_hdl_free(self.0.as_ptr()) };
    }
}
