//! Consoles of boards: a serial line, telnet, ssh or a command; profiles with the input and the form of the
//! answers; and the board behind both, whose test programs wirelab starts, stops and reads.
//!
//! `remote` and the command line use it. It knows `config`, `cores` and `trial`. Start reading at [`board::Board`];
//! `docs/console.md` is the page for users. Everything that a console prints is hostile: buffers are bounded, and
//! regular expressions take time in proportion to a line.

pub mod board;
pub mod check;
mod console;
pub mod cpu;
pub mod figures;
mod line;
pub mod name;
pub mod profile;
pub mod screen;
mod sys;
pub mod telnet;
pub mod template;
mod typing;

pub use board::{Board, ConsoleError, Started, Unread};
pub use figures::{Number, TestFigures};
pub use name::ConsoleName;
pub use profile::{Profile, Program, Role};
