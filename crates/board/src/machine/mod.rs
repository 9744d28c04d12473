//! Any firmware in QEMU as a node, `qemu:NAME` and `qemu:FILE.toml`: measured over its network, and counted inside.
//!
//! - [`mod@file`]: machine files, which say how to start and reach a machine, and where the points of its paths are;
//! - [`image`], [`plan`]: its image, and what to watch in it;
//! - [`running`]: a started machine, with its console, its network and the plugin (`qemu-plugin/wirelab.c`);
//! - [`ring`]: the memory that wirelab and the plugin share;
//! - [`symbols`], [`point`]: the contents of the image: functions, code, and the addresses of points;
//! - [`walk`]: from the plugin's records to calls, returns and interrupts; [`attribute`]: to the stages of a frame;
//! - [`steps`]: a machine that runs step by step; [`traffic`]: the tester's stack at its wire;
//! - [`count`]: frames through the machine, one at a time; [`stages`] makes an observation of the counts.
//!
//! Start reading at [`QEMU`], then at [`stages::StagesNode`] and [`count::count`].

pub mod attribute;
pub mod count;
pub mod dhcp;
mod dialogue;
mod error;
pub mod file;
pub mod image;
pub mod measure;
mod node_type;
pub mod plan;
pub mod point;
pub mod ring;
pub mod running;
pub mod stages;
pub mod steps;
pub mod symbols;
pub mod traffic;
pub mod walk;

pub use error::MachineError;
pub use node_type::QEMU;

/// The node type of `qemu:`.
const NODE_TYPE: &str = "qemu";
