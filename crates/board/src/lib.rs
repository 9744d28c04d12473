//! Boards that run real firmware, emulated: `board:NAME` as a node that anybody can start without hardware.
//!
//! - [`catalogue`] is the list of boards and what each is;
//! - [`image`] finds the firmware of a board and looks at it before anything runs it;
//! - [`Board`] starts, watches and stops one in QEMU ([`qemu`]), on a TAP or on a wire of Unix sockets ([`place`]);
//! - [`count`] runs a board's stages through its MAC's loopback and counts instructions;
//! - [`console`] is what it prints, [`folder`] where others find it, [`transport`] how it is asked.
//! - [`lpc1768`] is the board that this project emulates itself: a node of its own, in simulated time.
//!
//! A board hands out its ends: frames, control, IP. [`BoardNode`] runs trials on one as on any node of the control protocol.
//!
//! A node type: the command line uses it, and tests of `remote`. Start reading at [`BOARD`], then at [`BoardNode`] and
//! [`Board::start`] for QEMU, and at [`lpc1768::Lpc1768Node`] for the board of `crates/emulator`.

pub mod catalogue;
pub mod console;
pub mod count;
mod error;
pub mod folder;
pub mod image;
mod kind;
pub mod lpc1768;
mod node;
pub mod place;
pub mod qemu;
mod running;
pub mod transport;

pub use catalogue::{BOARDS, BoardInfo, Emulator};
pub use error::BoardError;
pub use kind::BOARD;
pub use node::BoardNode;
pub use place::Connect;
pub use running::{Board, INTERFACE, Options};
