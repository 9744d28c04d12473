//! The system calls that no library has.

pub mod ethtool;
pub mod link;
