//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod engine_errors;
mod engine_figures;
mod engine_properties;
