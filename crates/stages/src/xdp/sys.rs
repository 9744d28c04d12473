//! The unsafe code: structures that the XDP program may write.
#![allow(unsafe_code)]

use wirelab_port::ebpf::Plain;

use super::abi::{NodeCfg, NodeState};

// SAFETY: repr(C), integers and arrays of them, no padding.
unsafe impl Plain for NodeCfg {}
// SAFETY: as above.
unsafe impl Plain for NodeState {}
