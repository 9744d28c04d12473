//! The memory map (UM10360, chapter 2): the memory or device at each address.

/// 512 KB of flash, behind the flash accelerator.
pub const FLASH: u32 = 0x0000_0000;
/// Bytes of flash.
pub const FLASH_BYTES: u32 = 512 << 10;
/// 32 KB of SRAM on the core's I-code and D-code buses.
pub const LOCAL_SRAM: u32 = 0x1000_0000;
/// Bytes of local SRAM.
pub const LOCAL_SRAM_BYTES: u32 = 32 << 10;
/// The two consecutive 16 KB banks of SRAM on the AHB matrix.
pub const AHB_SRAM: u32 = 0x2007_C000;
/// Bytes of one bank of AHB SRAM.
pub const AHB_BANK_BYTES: u32 = 16 << 10;
/// First address of the APB peripherals.
pub const APB: u32 = 0x4000_0000;
/// First address after the APB peripherals.
pub const APB_END: u32 = 0x4010_0000;
/// The flash accelerator's configuration register FLASHCFG; it belongs to the core.
pub const FLASHCFG: u32 = 0x400F_C000;
/// The fast GPIO ports, on the AHB.
pub const GPIO: u32 = 0x2009_C000;
/// The Ethernet MAC, on the AHB.
pub const EMAC: u32 = 0x5000_0000;
/// The DMA controller, on the AHB.
pub const GPDMA: u32 = 0x5000_4000;
/// First address of the core's private peripherals.
pub const PRIVATE: u32 = 0xE000_0000;
/// First address after the core's private peripherals.
pub const PRIVATE_END: u32 = 0xE010_0000;

/// Units that serve one access at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Slave {
    /// Flash.
    Flash,
    /// The SRAM of code and data.
    LocalSram,
    /// The first bank of AHB SRAM.
    AhbBank0,
    /// The second bank of AHB SRAM.
    AhbBank1,
    /// The AHB peripherals.
    Ahb,
    /// The APB peripherals.
    Apb,
}

/// Number of [`Slave`]s.
pub const SLAVES: usize = 6;

/// The slave at `address`; the core's private peripherals are on no matrix.
pub const fn slave(address: u32) -> Option<Slave> {
    match address {
        0..FLASH_BYTES => Some(Slave::Flash),
        LOCAL_SRAM..0x1000_8000 => Some(Slave::LocalSram),
        AHB_SRAM..0x2008_0000 => Some(Slave::AhbBank0),
        0x2008_0000..0x2008_4000 => Some(Slave::AhbBank1),
        0x2009_C000..0x200A_0000 | 0x5000_0000..0x5020_0000 => Some(Slave::Ahb),
        APB..APB_END => Some(Slave::Apb),
        _ => None,
    }
}
