//! The system calls and shared memory of AF_PACKET (packet(7), Documentation/networking/packet_mmap.rst).
//!
//! All unsafe code of the portable path is here: [`socket`] opens, sets and sends, [`mapping`] holds the memory
//! shared with the kernel, [`tx`] and [`rx`] walk its rings.
#![allow(unsafe_code)]

mod mapping;
pub(super) mod rx;
pub(super) mod socket;
pub(super) mod tx;
