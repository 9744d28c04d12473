//! The devices on the bus: their addresses, next events and interrupt lines.

use crate::bus::{BusFault, Device, Masters, Width};

/// A device and its address range.
struct Slot {
    base: u32,
    bytes: u32,
    line: Option<u8>,
    device: Box<dyn Device>,
    next: Option<u64>,
}

/// All devices.
#[derive(Default)]
pub struct Devices {
    slots: Vec<Slot>,
    /// The slot of the latest access; the next one is mostly to the same.
    latest: usize,
    /// The earliest cycle at which a device must run.
    pub next: Option<u64>,
    /// The interrupt lines' levels, bit by line.
    pub lines: u64,
}

impl Devices {
    /// Adds a device and returns its number.
    pub fn attach(
        &mut self,
        base: u32,
        bytes: u32,
        line: Option<u8>,
        device: Box<dyn Device>,
    ) -> usize {
        self.slots.push(Slot {
            base,
            bytes,
            line,
            next: device.next_event(),
            device,
        });
        let number = self.slots.len() - 1;
        self.refresh(number);
        number
    }

    fn find(&mut self, address: u32) -> Option<usize> {
        let holds = |slot: &Slot| address.wrapping_sub(slot.base) < slot.bytes;
        if !self.slots.get(self.latest).is_some_and(holds) {
            self.latest = self.slots.iter().position(holds)?;
        }
        Some(self.latest)
    }

    /// Updates the next event and the interrupt line of a device.
    fn refresh(&mut self, number: usize) {
        let slot = &mut self.slots[number];
        let next = slot.device.next_event();
        let changed = next != slot.next;
        slot.next = next;
        if let Some(line) = slot.line {
            // Two devices may share a line.
            let up = self
                .slots
                .iter()
                .any(|other| other.line == Some(line) && other.device.irq());
            self.lines = self.lines & !(1 << line) | u64::from(up) << line;
        }
        if changed || self.next.is_none() {
            self.next = self.slots.iter().filter_map(|slot| slot.next).min();
        }
    }

    /// Reads a device's register.
    pub fn read(&mut self, address: u32, width: Width, now: u64) -> Result<u32, BusFault> {
        let number = self
            .find(address)
            .ok_or(BusFault::new("nothing there").at(address))?;
        let slot = &mut self.slots[number];
        let value = slot
            .device
            .read(address - slot.base, width, now)
            .map_err(|fault| fault.at(address));
        self.refresh(number);
        value
    }

    /// Writes a device's register.
    pub fn write(
        &mut self,
        address: u32,
        width: Width,
        value: u32,
        now: u64,
    ) -> Result<(), BusFault> {
        let number = self
            .find(address)
            .ok_or(BusFault::new("nothing there").at(address))?;
        let slot = &mut self.slots[number];
        let done = slot
            .device
            .write(address - slot.base, width, value, now)
            .map_err(|fault| fault.at(address));
        self.refresh(number);
        done
    }

    /// Runs the devices that have something due by `now`, the earliest first.
    pub fn run(&mut self, now: u64, bus: &mut dyn Masters) {
        while let Some(next) = self.next.filter(|next| *next <= now) {
            let Some(number) = self.slots.iter().position(|slot| slot.next == Some(next)) else {
                break;
            };
            self.slots[number].device.run(next, bus);
            self.refresh(number);
            if self.slots[number].next.is_some_and(|again| again <= next) {
                // A device that stays due would run forever; it runs again after the next instruction.
                self.slots[number].next = Some(now + 1);
                self.next = self.slots.iter().filter_map(|slot| slot.next).min();
            }
        }
    }

    /// Calls `act` with the device of this number if it is a `T`.
    pub fn with<T: 'static, R>(
        &mut self,
        number: usize,
        act: impl FnOnce(&mut T) -> R,
    ) -> Option<R> {
        let result = self
            .slots
            .get_mut(number)?
            .device
            .as_any()
            .downcast_mut()
            .map(act)?;
        self.refresh(number);
        Some(result)
    }
}
