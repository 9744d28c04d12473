//! The tests of this crate, one module a file: one binary compiles and links in a fraction of the time of many.

mod bench;
mod firmware;
mod node;
mod reference;
mod reference_firmware;
mod reference_node;
mod smoke;
mod tap;
mod tshark;
