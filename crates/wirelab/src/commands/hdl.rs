//! `wirelab hdl`: a simulated hardware port behind an interface of this host, where this program has it.

#[cfg(feature = "hdl")]
mod joined;

#[cfg(feature = "hdl")]
pub use joined::run;

/// Says what is missing.
#[cfg(not(feature = "hdl"))]
pub fn run(_: &crate::args::HdlArgs) -> crate::exit::Result {
    let why = crate::nodes::HDL.left_out.unwrap_or_default();
    Err(crate::exit::Failure::usage(format!("wirelab hdl: {why}")))
}
