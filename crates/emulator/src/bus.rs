//! What devices, memories and bus masters say to each other.

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

    /// The bits of a word that an access of this size carries.
    pub const fn mask(self) -> u32 {
        match self {
            Self::Byte => 0xff,
            Self::Half => 0xffff,
            Self::Word => u32::MAX,
        }
    }

    /// Refuses what is no access of 32 bits, for this reason.
    ///
    /// # Errors
    ///
    /// Where the size is another.
    pub const fn only_word(self, reason: &'static str) -> Result<(), Fault> {
        match self {
            Self::Word => Ok(()),
            _ => Err(Fault::new(reason)),
        }
    }
}

/// An access that the bus refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("address {address:#010x}: {reason}")]
pub struct Fault {
    /// Where; devices leave 0, the machine fills it in.
    pub address: u32,
    /// Why.
    pub reason: &'static str,
}

impl Fault {
    /// A refusal for this reason; the machine knows the address.
    pub const fn new(reason: &'static str) -> Self {
        Self { address: 0, reason }
    }

    /// The same refusal with its place.
    #[must_use]
    pub const fn at(self, address: u32) -> Self {
        Self {
            address,
            reason: self.reason,
        }
    }
}

/// Who uses the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Master {
    /// The core's data accesses.
    Cpu,
    /// The Ethernet MAC's own DMA.
    Emac,
    /// The general purpose DMA controller.
    Gpdma,
}

/// The memories as DMA masters reach them through the AHB matrix.
///
/// Each access starts no earlier than `not_before` (a CPU cycle), waits for its turn, and says when it is done: the
/// first cycle after it. Only memories can be reached, no device.
pub trait Masters {
    /// Reads `width` at `address`; the value and when it is there.
    ///
    /// # Errors
    ///
    /// Where no memory is, or the address is no multiple of the size.
    fn read(
        &mut self,
        master: Master,
        address: u32,
        width: Width,
        not_before: u64,
    ) -> Result<(u32, u64), Fault>;

    /// Writes the low `width` of `value` at `address`; when it is done.
    ///
    /// # Errors
    ///
    /// Where no memory is that can be written, or the address is no multiple of the size.
    fn write(
        &mut self,
        master: Master,
        address: u32,
        width: Width,
        value: u32,
        not_before: u64,
    ) -> Result<u64, Fault>;

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
    ) -> Result<(u32, u64), Fault> {
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
    ) -> Result<u64, Fault> {
        self.write(master, address, Width::Word, value, not_before)
    }
}

/// A device on the bus. Times are CPU cycles since power-on.
pub trait Device: Any + Send {
    /// Reads the register at `offset` from the device's base. May change the device (a FIFO moves on).
    ///
    /// # Errors
    ///
    /// Where there is no such register or it cannot be read in this width.
    fn read(&mut self, offset: u32, width: Width, now: u64) -> Result<u32, Fault>;

    /// Writes the register at `offset`.
    ///
    /// # Errors
    ///
    /// Where there is no such register or it cannot be written in this width.
    fn write(&mut self, offset: u32, width: Width, value: u32, now: u64) -> Result<(), Fault>;

    /// The cycle at which [`Device::run`] wants to be called next, if anything is to come. Asked after each access and
    /// each run. A device without activity of its own has none.
    fn next_event(&self) -> Option<u64> {
        None
    }

    /// Does all that is due up to and including `now`. The cycle of an event may lie a few cycles back, as an
    /// instruction is not interrupted: a device goes by its own times, not by `now`.
    fn run(&mut self, _now: u64, _bus: &mut dyn Masters) {}

    /// The level of the device's interrupt line, low where it has none. Asked after each access and each run.
    fn irq(&self) -> bool {
        false
    }

    /// The device itself, for whoever holds the machine and wants more than registers.
    fn as_any(&mut self) -> &mut dyn Any;
}
