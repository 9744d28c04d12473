//! Emulated boards with real firmware: `board:NAME` is a node that needs no hardware.
//!
//! - [`catalogue`] lists the boards;
//! - [`image`] finds the firmware of a board and checks it before anything runs it;
//! - [`Board`] starts, watches and stops one in QEMU ([`qemu`]), connected by a TAP or by Unix sockets ([`connection`]);
//! - [`count`] runs a board's stages through its MAC's loopback and counts instructions;
//! - [`console`] is what it prints, [`folder`] how others find it, [`transport`] how the control protocol reaches it.
//! - [`lpc1768`] is the board that this project emulates itself: a separate node type, in simulated time;
//! - [`machine`] is any other firmware in QEMU, by a machine file: `qemu:`, measured and counted inside.
//!
//! A board gives access to its frames, its control protocol and its IP address. [`BoardNode`] runs trials on one as on
//! any node of the control protocol.
//!
//! A node type, for the tests of `remote`, too. The command line uses it. It knows `config`, `control`, `emulator`,
//! `port`, `remote`, `trial` and `wire`. Start reading at [`BOARD`], then at [`BoardNode`] and [`Board::start`] for
//! QEMU, and at [`lpc1768::Lpc1768Node`] for the board of `crates/emulator`.

pub mod catalogue;
pub mod connection;
pub mod console;
pub mod count;
mod error;
mod facts;
pub mod folder;
pub mod image;
mod kind;
mod listed;
pub mod lpc1768;
pub mod machine;
mod node;
pub mod qemu;
mod running;
pub mod transport;

pub use catalogue::{BOARDS, BoardInfo, Emulator};
pub use connection::Connect;
pub use error::BoardError;
pub use kind::BOARD;
pub use listed::ListedBoard;
pub use machine::QEMU;
pub use node::BoardNode;
pub use running::{Board, INTERFACE, Options};
