//! The data bus of the CPU, access by access.

use super::super::registers::{
    CAPTURE_2_CONTROL, CAPTURE_3_CONTROL, CAPTURE_CONTROL, RING_MAC_CONTROL, SLOT_MAC_CONTROL,
    SLOT_MAC_TX_GO,
};
use super::super::sys::Trace;

/// Words of a cache line.
const LINE_WORDS: u32 = 8;
/// Where the registers are.
const REGISTERS: u32 = 0x8000_0000;
/// Bits of a word's address within a block of registers (`rtl/reference/address_decoder.vhd`).
const BLOCK_BITS: u32 = 14;

/// The word of a register.
const fn word(offset: u32) -> u32 {
    (REGISTERS + offset) >> 2
}

/// What an access reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The memory, through the cache.
    Memory,
    /// The memory, past it.
    Uncached,
    /// The slot MAC, behind the bus bridge.
    Slot,
    /// A block that answers at once.
    Block,
}

/// An access.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Of its first word.
    address: u32,
    /// Where it goes.
    pub place: Target,
    /// It writes.
    pub write: bool,
    words_left: u32,
}

impl Access {
    fn new(trace: Trace) -> Access {
        let place = match trace.address >> 26 {
            0 => Target::Memory,
            8 if trace.address >> BLOCK_BITS == word(SLOT_MAC_CONTROL) >> BLOCK_BITS => {
                Target::Slot
            }
            8 => Target::Block,
            _ => Target::Uncached,
        };
        Access {
            address: trace.address,
            place,
            write: trace.write != 0,
            words_left: if trace.burst != 0 { LINE_WORDS } else { 1 },
        }
    }

    /// A capture unit is told.
    pub fn is_mark(&self) -> bool {
        let units = [CAPTURE_CONTROL, CAPTURE_2_CONTROL, CAPTURE_3_CONTROL];
        self.write && units.map(word).contains(&self.address)
    }

    /// One of the MACs is started.
    pub fn starts_mac(&self) -> bool {
        self.write && [word(SLOT_MAC_TX_GO), word(RING_MAC_CONTROL)].contains(&self.address)
    }
}

/// Who has the bus.
#[derive(Debug, Default)]
pub struct Bus {
    now: Option<Access>,
}

impl Bus {
    /// The access whose first clock this is.
    pub fn begins(&mut self, trace: Trace) -> Option<Access> {
        if trace.request == 0 || self.now.is_some() {
            return None;
        }
        self.now = Some(Access::new(trace));
        self.now
    }

    /// The end of a clock, with an answer or without.
    pub fn ends(&mut self, trace: Trace) {
        if let Some(access) = self.now.as_mut().filter(|_| trace.answer != 0) {
            access.words_left -= 1;
            if access.words_left == 0 {
                self.now = None;
            }
        }
    }

    /// A line of the data cache is on its way.
    pub fn fills(&self) -> bool {
        self.now
            .is_some_and(|access| access.place == Target::Memory && !access.write)
    }

    /// A word behind the bridge is on its way.
    pub fn writes_slot(&self) -> bool {
        self.now
            .is_some_and(|access| access.place == Target::Slot && access.write)
    }
}
