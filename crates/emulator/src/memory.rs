//! The memories and their buses.

use crate::bus::{BusFault, Master, Masters, Width};
use crate::flash::Flash;
use crate::map::{self, Slave};
use crate::matrix::Matrix;
use crate::pipeline::Buses;
use crate::timing::{CPU_ACCESS, DMA_ACCESS};

/// Flash, the local SRAM and the two banks of AHB SRAM.
pub struct Memory {
    flash: Vec<u8>,
    local: Vec<u8>,
    ahb: Vec<u8>,
    /// The bookings of the buses.
    pub(crate) buses: Buses,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            // Erased flash reads as ones.
            flash: vec![0xff; map::FLASH_BYTES as usize],
            local: vec![0; map::LOCAL_SRAM_BYTES as usize],
            ahb: vec![0; 2 * map::AHB_BANK_BYTES as usize],
            buses: Buses {
                matrix: Matrix::default(),
                flash: Flash::default(),
            },
        }
    }
}

impl Memory {
    /// The memory that holds `address`, and the address in it.
    fn place(&self, address: u32) -> Option<(&[u8], usize)> {
        match map::slave(address)? {
            Slave::Flash => Some((&self.flash, address as usize)),
            Slave::LocalSram => Some((&self.local, (address - map::LOCAL_SRAM) as usize)),
            Slave::AhbBank0 | Slave::AhbBank1 => {
                Some((&self.ahb, (address - map::AHB_SRAM) as usize))
            }
            Slave::Ahb | Slave::Apb => None,
        }
    }

    fn place_mut(&mut self, address: u32) -> Option<(&mut [u8], usize)> {
        match map::slave(address)? {
            Slave::LocalSram => Some((&mut self.local, (address - map::LOCAL_SRAM) as usize)),
            Slave::AhbBank0 | Slave::AhbBank1 => {
                Some((&mut self.ahb, (address - map::AHB_SRAM) as usize))
            }
            Slave::Flash | Slave::Ahb | Slave::Apb => None,
        }
    }

    /// The value at an aligned address; `None` where there is no memory. Takes no time.
    pub fn peek(&self, address: u32, width: Width) -> Option<u32> {
        let (bytes, at) = self.place(address)?;
        Some(match width {
            Width::Byte => u32::from(*bytes.get(at)?),
            Width::Half => u32::from(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?)),
            Width::Word => u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?),
        })
    }

    /// Sets the value at an aligned address of SRAM; `None` where there is none. Takes no time.
    pub fn poke(&mut self, address: u32, width: Width, value: u32) -> Option<()> {
        let (bytes, at) = self.place_mut(address)?;
        let bytes = bytes.get_mut(at..at + width.bytes() as usize)?;
        bytes.copy_from_slice(&value.to_le_bytes()[..width.bytes() as usize]);
        Some(())
    }

    /// `length` bytes from `address` on, if one memory holds them all.
    pub fn bytes(&self, address: u32, length: usize) -> Option<&[u8]> {
        let (bytes, at) = self.place(address)?;
        bytes.get(at..at.checked_add(length)?)
    }

    /// Writes a program's bytes, also into flash. `false` where no memory holds them all.
    #[must_use]
    pub fn load(&mut self, address: u32, data: &[u8]) -> bool {
        let place = match map::slave(address) {
            Some(Slave::Flash) => Some((self.flash.as_mut_slice(), address as usize)),
            _ => self.place_mut(address),
        };
        let found = place.and_then(|(bytes, at)| bytes.get_mut(at..at.checked_add(data.len())?));
        found.map(|bytes| bytes.copy_from_slice(data)).is_some()
    }

    /// Books an access of a master; returns the first cycle after it.
    fn book(&mut self, master: Master, address: u32, not_before: u64) -> u64 {
        let cycles = if master == Master::Cpu {
            CPU_ACCESS
        } else {
            DMA_ACCESS
        };
        match map::slave(address) {
            Some(slave @ Slave::Flash) => {
                let start = self.buses.matrix.book(slave, not_before, cycles);
                self.buses.flash.data(address, start) + u64::from(cycles)
            }
            Some(slave) => self.buses.matrix.book(slave, not_before, cycles) + u64::from(cycles),
            None => not_before,
        }
    }
}

const UNALIGNED: BusFault = BusFault::new("not a multiple of the access's size");

impl Masters for Memory {
    fn read(
        &mut self,
        master: Master,
        address: u32,
        width: Width,
        not_before: u64,
    ) -> Result<(u32, u64), BusFault> {
        if address % width.bytes() != 0 {
            return Err(UNALIGNED.at(address));
        }
        let value = self
            .peek(address, width)
            .ok_or(BusFault::new("no memory there").at(address))?;
        Ok((value, self.book(master, address, not_before)))
    }

    fn write(
        &mut self,
        master: Master,
        address: u32,
        width: Width,
        value: u32,
        not_before: u64,
    ) -> Result<u64, BusFault> {
        if address % width.bytes() != 0 {
            return Err(UNALIGNED.at(address));
        }
        self.poke(address, width, value)
            .ok_or(BusFault::new("no writable memory").at(address))?;
        Ok(self.book(master, address, not_before))
    }
}
