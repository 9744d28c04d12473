//! The interfaces between devices, memories and bus masters.

use std::any::Any;

/// The size of one access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 8 bits.
    Byte,
    /// 16 bits.
    Half,
    /// 32 bits.
    Word,
}

impl Width {
    /// The size in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Byte => 1,
            Self::Half => 2,
            Self::Word => 4,
        }
    }

    /// The bits of a word that an access of this size uses.
    pub const fn mask(self) -> u32 {
        match self {
            Self::Byte => 0xff,
            Self::Half => 0xffff,
            Self::Word => u32::MAX,
        }
    }

    /// Refuses any access that is not 32 bits wide, with this reason.
    ///
    /// # Errors
    ///
    /// Where the access has another size.
    pub const fn only_word(self, reason: &'static str) -> Result<(), BusFault> {
        match self {
            Self::Word => Ok(()),
            _ => Err(BusFault::new(reason)),
        }
    }
}

/// An access that the bus refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("address {address:#010x}: {reason}")]
pub struct BusFault {
    /// The address; devices leave 0, and the machine fills it in.
    pub address: u32,
    /// The reason.
    pub reason: &'static str,
}

impl BusFault {
    /// A refusal with this reason; the machine adds the address.
    pub const fn new(reason: &'static str) -> Self {
        Self { address: 0, reason }
    }

    /// Adds the address.
    #[must_use]
    pub const fn at(self, address: u32) -> Self {
        Self {
            address,
            reason: self.reason,
        }
    }
}

/// The users of the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Master {
    /// The core's data accesses.
    Cpu,
    /// The Ethernet MAC's own DMA.
    Emac,
    /// The general purpose DMA controller.
    Gpdma,
}

/// The memories as DMA masters access them through the AHB matrix.
///
/// Each access starts no earlier than `not_before` (a CPU cycle), waits for the slave, and returns the first cycle
/// after it. Only memories can be accessed, not devices.
pub trait Masters {
    /// Reads `width` at `address`; returns the value and the first cycle after the access.
    ///
    /// # Errors
    ///
    /// Where there is no memory, or the address is not a multiple of the size.
    fn read(
        &mut self,
        master: Master,
        address: u32,
        width: Width,
        not_before: u64,
    ) -> Result<(u32, u64), BusFault>;

    /// Writes the low `width` of `value` at `address`; returns the first cycle after the access.
    ///
    /// # Errors
    ///
    /// Where there is no writable memory, or the address is not a multiple of the size.
    fn write(
        &mut self,
        master: Master,
        address: u32,
        width: Width,
        value: u32,
        not_before: u64,
    ) -> Result<u64, BusFault>;

    /// Reads a word.
    ///
    /// # Errors
    ///
    /// As [`Masters::read`].
    fn read32(
        &mut self,
        master: Master,
        address: u32,
        not_before: u64,
    ) -> Result<(u32, u64), BusFault> {
        self.read(master, address, Width::Word, not_before)
    }

    /// Writes a word.
    ///
    /// # Errors
    ///
    /// As [`Masters::write`].
    fn write32(
        &mut self,
        master: Master,
        address: u32,
        value: u32,
        not_before: u64,
    ) -> Result<u64, BusFault> {
        self.write(master, address, Width::Word, value, not_before)
    }
}

/// A device on the bus. Times are CPU cycles since power-on.
pub trait Device: Any + Send {
    /// Reads the register at `offset` from the device's base. A read may change the device (a FIFO advances).
    ///
    /// # Errors
    ///
    /// Where the register does not exist or cannot be read with this width.
    fn read(&mut self, offset: u32, width: Width, now: u64) -> Result<u32, BusFault>;

    /// Writes the register at `offset`.
    ///
    /// # Errors
    ///
    /// Where the register does not exist or cannot be written with this width.
    fn write(&mut self, offset: u32, width: Width, value: u32, now: u64) -> Result<(), BusFault>;

    /// The cycle at which [`Device::run`] must be called next; `None` if nothing is pending. Read after each access and
    /// each run. A device without activity of its own always returns `None`.
    fn next_event(&self) -> Option<u64> {
        None
    }

    /// Does everything that is due up to and including `now`. An event may be a few cycles in the past, because
    /// instructions are not interrupted: a device uses the times of its events, not `now`.
    fn run(&mut self, _now: u64, _bus: &mut dyn Masters) {}

    /// The level of the device's interrupt line; low where it has none. Read after each access and each run.
    fn irq(&self) -> bool {
        false
    }

    /// The device itself, for owners of the machine that need more than registers.
    fn as_any(&mut self) -> &mut dyn Any;
}
