//! The data bus of the CPU, access by access.

use super::super::registers::{
    CAPTURE_2_CONTROL, CAPTURE_3_CONTROL, CAPTURE_CONTROL, RING_MAC_CONTROL, SLOT_MAC_CONTROL,
    SLOT_MAC_TX_GO,
};
use super::super::sys::Trace;

/// Words of a cache line.
const LINE_WORDS: u32 = 8;
/// Start address of the registers.
const REGISTERS: u32 = 0x8000_0000;
/// Bits of a word's address within a block of registers (`rtl/reference/address_decoder.vhd`).
const BLOCK_BITS: u32 = 14;

/// The word of a register.
const fn word(offset: u32) -> u32 {
    (REGISTERS + offset) >> 2
}

/// The target of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The memory, through the cache.
    Memory,
    /// The memory, bypassing the cache.
    Uncached,
    /// The slot MAC, behind the bus bridge.
    Slot,
    /// A block that answers at once.
    Block,
}

/// An access.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The address of its first word.
    address: u32,
    /// Its target.
    pub target: Target,
    /// Whether it is a write.
    pub write: bool,
    words_left: u32,
}

impl Access {
    fn new(trace: Trace) -> Access {
        let target = match trace.address >> 26 {
            0 => Target::Memory,
            8 if trace.address >> BLOCK_BITS == word(SLOT_MAC_CONTROL) >> BLOCK_BITS => {
                Target::Slot
            }
            8 => Target::Block,
            _ => Target::Uncached,
        };
        Access {
            address: trace.address,
            target,
            write: trace.write != 0,
            words_left: if trace.burst != 0 { LINE_WORDS } else { 1 },
        }
    }

    /// Whether it marks a time in a capture unit.
    pub fn is_mark(&self) -> bool {
        let units = [CAPTURE_CONTROL, CAPTURE_2_CONTROL, CAPTURE_3_CONTROL];
        self.write && units.map(word).contains(&self.address)
    }

    /// Whether it starts one of the MACs.
    pub fn starts_mac(&self) -> bool {
        self.write && [word(SLOT_MAC_TX_GO), word(RING_MAC_CONTROL)].contains(&self.address)
    }
}

/// The present access of the bus.
#[derive(Debug, Default)]
pub struct Bus {
    now: Option<Access>,
}

impl Bus {
    /// The access that begins in this clock.
    pub fn begins(&mut self, trace: Trace) -> Option<Access> {
        if trace.request == 0 || self.now.is_some() {
            return None;
        }
        self.now = Some(Access::new(trace));
        self.now
    }

    /// The end of a clock, with or without a reply.
    pub fn ends(&mut self, trace: Trace) {
        if let Some(access) = self.now.as_mut().filter(|_| trace.answer != 0) {
            access.words_left -= 1;
            if access.words_left == 0 {
                self.now = None;
            }
        }
    }

    /// Whether a line of the data cache is being filled.
    pub fn fills(&self) -> bool {
        self.now
            .is_some_and(|access| access.target == Target::Memory && !access.write)
    }

    /// Whether a word behind the bridge is being written.
    pub fn writes_slot(&self) -> bool {
        self.now
            .is_some_and(|access| access.target == Target::Slot && access.write)
    }
}
