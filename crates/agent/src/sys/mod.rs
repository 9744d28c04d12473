//! System calls that no library wraps.

pub mod ethtool;
pub mod link;
