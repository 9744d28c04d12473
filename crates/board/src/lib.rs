//! Boards that run real firmware, emulated: `board:NAME` as a node that anybody can start without hardware.
//!
//! - [`catalogue`] is the list of boards and what each is;
//! - [`image`] finds the firmware of a board and looks at it before anything runs it;
//! - [`Board`] starts, watches and stops one in QEMU ([`qemu`]), on a TAP or on a wire of Unix sockets ([`place`]);
//! - [`count`] runs a board's stages through its MAC's loopback and counts instructions;
//! - [`console`] is what it prints, [`folder`] where others find it, [`transport`] how it is asked.
//! - [`lpc1768`] is the board that this project emulates itself: a node of its own, in simulated time.
//!
//! A board is brought up here and hands out its ends: frames, control, IP. Trials are run on it by others.
//!
//! A node type: the command line uses it, and tests of `remote`; it knows no other kind. Start reading at
//! [`Board::start`] for QEMU, and at [`lpc1768::Lpc1768Node`] for the board of `crates/emulator`.

pub mod catalogue;
pub mod console;
pub mod count;
mod error;
pub mod folder;
pub mod image;
pub mod lpc1768;
pub mod place;
pub mod qemu;
mod running;
pub mod transport;

pub use catalogue::{BOARDS, BoardInfo, Emulator};
pub use error::BoardError;
pub use place::Connect;
pub use running::{Board, INTERFACE, Options};
