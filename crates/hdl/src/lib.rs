//! Ports of hardware in simulation: the VHDL of `rtl/src`, compiled into this crate, clock by clock.
//!
//! A [`Port`] is generator, MAC, checker, packet identifier, capture unit and rate meter behind AXI4-Lite; one clock
//! of 125 MHz carries a byte on each line. A [`Bench`] joins ports by cables and controls them only through their
//! registers, as a CPU would. Its constants are in [`registers`]. An [`HdlNode`] is such a bench as a node that runs
//! trials. A [`reference::Reference`] is a whole node with a CPU that runs a program.
//!
//! A node type, behind the feature `hdl`. The command line uses it. It knows `control`, `port`, `trial` and `wire`.
//! Start reading at [`HDL`], then [`HdlNode`], then `node/plan.rs` and `node/run.rs`. `build.rs` calls
//! `rtl/tools/model.py`, which makes the library.

mod bench;
mod facts;
mod kind;
mod node;
mod port;
pub mod reference;
pub mod reference_node;
mod sys;
mod tap;
mod wire;

pub use bench::{Bench, BenchError};
pub use kind::HDL;
pub use node::{
    HdlNode, HdlOptions, JoinError, JoinRequest, Joined, JoinedPort, JoinedRecord, MOST_PORTS,
    RunLimits,
};
pub use port::{BusError, Line, Port};
pub use tap::{TapCable, TapCableError};
pub use wire::{LineFrame, Sniffer, Talker};

/// Picoseconds of a clock at 125 MHz, in which a line of 1 Gbit/s carries a byte (IEEE 802.3, clause 35).
pub const CLOCK_PS: u64 = 8_000;

/// The longest trial in ps of simulated time: 10 s, for which a host needs minutes (`hdl:reference`) to most of an
/// hour (`hdl:N`).
const LONGEST_TRIAL_PS: u64 = 10_000_000_000_000;

/// Register offsets and field positions, from `rtl/registers/ethernet_port.rdl`.
pub mod registers {
    /// The position of a field in its register.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Field {
        /// Its lowest bit.
        pub shift: u32,
        /// Its number of bits.
        pub width: u32,
    }

    impl Field {
        /// The register's bits for a value of this field. Bits that do not fit are cut off.
        #[must_use]
        pub const fn of(self, value: u32) -> u32 {
            (value & self.mask()) << self.shift
        }

        /// The value of this field in a register.
        #[must_use]
        pub const fn from(self, register: u32) -> u32 {
            (register >> self.shift) & self.mask()
        }

        const fn mask(self) -> u32 {
            u32::MAX >> (32 - self.width)
        }
    }

    include!(env!("WIRELAB_HDL_ETHERNET_PORT"));
}
