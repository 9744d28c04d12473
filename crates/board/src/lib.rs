//! Boards that run real firmware, emulated: `board:NAME` as a node that anybody can start without hardware.
//!
//! - [`catalogue`] is the list of boards and what each is;
//! - [`image`] finds the firmware of a board and looks at it before anything runs it.
//!
//! A board is brought up here and hands out its ends: frames, control, IP. Trials are run on it by others.
#![deny(unsafe_code)]

pub mod catalogue;
mod error;
pub mod image;

pub use catalogue::{BOARDS, BoardInfo, Emulator};
pub use error::BoardError;
