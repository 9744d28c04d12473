//! A memory for devices on their own: two clocks an access, one access after another.

use wirelab_emulator::{BusFault, Device, Master, Masters, Width};

/// First address of the memory: AHB SRAM.
pub const BASE: u32 = 0x2007_C000;

/// 32 KiB in which an access takes [`Memory::clocks`].
pub struct Memory {
    pub bytes: Vec<u8>,
    /// Clocks of an access; 2 as UM10237 says of the AHB.
    pub clocks: u64,
    /// Who accessed what, when it was done, and whether it was a write.
    pub log: Vec<(Master, u32, u64, bool)>,
    free: u64,
}

impl Memory {
    pub fn new() -> Memory {
        Memory {
            bytes: vec![0; 32 << 10],
            clocks: 2,
            log: Vec::new(),
            free: 0,
        }
    }

    fn place(&self, address: u32, width: Width) -> Result<std::ops::Range<usize>, BusFault> {
        let at = address.wrapping_sub(BASE) as usize;
        let bytes = width.bytes() as usize;
        if at + bytes > self.bytes.len() || at % bytes != 0 {
            return Err(BusFault::new("no memory there").at(address));
        }
        Ok(at..at + bytes)
    }

    fn access(&mut self, master: Master, address: u32, not_before: u64, write: bool) -> u64 {
        self.free = self.free.max(not_before) + self.clocks;
        self.log.push((master, address, self.free, write));
        self.free
    }

    pub fn set(&mut self, address: u32, bytes: &[u8]) {
        let at = (address - BASE) as usize;
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub fn set_word(&mut self, address: u32, value: u32) {
        self.set(address, &value.to_le_bytes());
    }

    pub fn get(&self, address: u32, bytes: usize) -> &[u8] {
        let at = (address - BASE) as usize;
        &self.bytes[at..at + bytes]
    }

    pub fn word(&self, address: u32) -> u32 {
        u32::from_le_bytes(self.get(address, 4).try_into().unwrap())
    }
}

impl Masters for Memory {
    fn read(
        &mut self,
        master: Master,
        address: u32,
        width: Width,
        not_before: u64,
    ) -> Result<(u32, u64), BusFault> {
        let place = self.place(address, width)?;
        let mut word = [0; 4];
        word[..place.len()].copy_from_slice(&self.bytes[place]);
        let done = self.access(master, address, not_before, false);
        Ok((u32::from_le_bytes(word), done))
    }

    fn write(
        &mut self,
        master: Master,
        address: u32,
        width: Width,
        value: u32,
        not_before: u64,
    ) -> Result<u64, BusFault> {
        let place = self.place(address, width)?;
        let size = place.len();
        self.bytes[place].copy_from_slice(&value.to_le_bytes()[..size]);
        Ok(self.access(master, address, not_before, true))
    }
}

/// Write a register.
pub fn put(device: &mut dyn Device, offset: u32, value: u32, now: u64) {
    device.write(offset, Width::Word, value, now).unwrap();
}

/// Read a register.
pub fn get(device: &mut dyn Device, offset: u32, now: u64) -> u32 {
    device.read(offset, Width::Word, now).unwrap()
}

/// Let a device run until `until`, event by event; gives the cycle of its last event.
pub fn run(device: &mut dyn Device, memory: &mut Memory, until: u64) -> u64 {
    let mut last = 0;
    while let Some(at) = device.next_event().filter(|at| *at <= until) {
        last = at;
        device.run(at, memory);
    }
    last
}
