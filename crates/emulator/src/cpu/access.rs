//! Loads and stores (ARM DDI 0403, A7.7 and B3.2 on alignment).

use super::inst::{Address, Inst, Op};
use super::trap::{Reason, Trap};
use super::{Core, System, scs};
use crate::bus::{BusFault, Width};
use crate::map::{self, PRIVATE, PRIVATE_END};
use crate::timing::Refill;

/// The aliases of single bits of the SRAM and peripheral regions (ARM DDI 0403, B3.1: bit-banding).
const BIT_ALIASES: [(u32, u32); 2] = [(0x2200_0000, 0x2000_0000), (0x4200_0000, 0x4000_0000)];

/// The address and bit of an alias.
fn alias(address: u32) -> Option<(u32, u32)> {
    let (from, to) = BIT_ALIASES
        .into_iter()
        .find(|(from, _)| address.wrapping_sub(*from) < 0x0200_0000)?;
    let bit = (address - from) / 4;
    Some((to + bit / 8, bit % 8))
}

/// The aligned accesses that an unaligned one is split into (TRM 3.3.2): at most three.
struct Pieces {
    at: [(u32, Width); 3],
    count: usize,
}

impl Pieces {
    const fn of(address: u32, width: Width) -> Self {
        use Width::{Byte, Half, Word};
        let [a, b, c] = [address, address.wrapping_add(1), address.wrapping_add(2)];
        let d = address.wrapping_add(3);
        let none = (0, Byte);
        let (at, count) = match (width, address & 3) {
            (Word, 2) => ([(a, Half), (c, Half), none], 2),
            (Word, 1 | 3) => ([(a, Byte), (b, Half), (d, Byte)], 3),
            (Half, 1 | 3) => ([(a, Byte), (b, Byte), none], 2),
            _ => ([(a, width), none, none], 1),
        };
        Self { at, count }
    }

    fn get(&self) -> &[(u32, Width)] {
        &self.at[..self.count]
    }

    fn addresses(&self) -> [u32; 3] {
        self.at.map(|(address, _)| address)
    }
}

impl Core {
    /// Reads an aligned value from a memory, a device or the core.
    fn read(&mut self, address: u32, width: Width, system: &mut System<'_>) -> Result<u32, Trap> {
        if let Some(value) = system.memory.peek(address, width) {
            return Ok(value);
        }
        let now = self.pipeline.cycle;
        let result = match address {
            map::FLASHCFG if width == Width::Word => Ok(system.memory.buses.flash.config),
            PRIVATE..PRIVATE_END => self.read_private(address, width),
            _ => match alias(address) {
                Some((byte, bit)) => {
                    return self
                        .read(byte, Width::Byte, system)
                        .map(|value| value >> bit & 1);
                }
                None => self.device(address, system).and_then(|()| {
                    let value = system.devices.read(address, width, now);
                    self.set_lines(system.devices.lines);
                    value
                }),
            },
        };
        result.map_err(|fault| Trap::Crash(Reason::Bus(fault.at(address))))
    }

    /// Writes an aligned value to a memory, a device or the core.
    fn write(
        &mut self,
        address: u32,
        width: Width,
        value: u32,
        system: &mut System<'_>,
    ) -> Result<(), Trap> {
        if system.memory.poke(address, width, value).is_some() {
            return Ok(());
        }
        let now = self.pipeline.cycle;
        let result = match address {
            map::FLASHCFG if width == Width::Word => {
                system.memory.buses.flash.config = value & 0xffff;
                Ok(())
            }
            PRIVATE..PRIVATE_END => self.write_private(address, width, value),
            _ => match alias(address) {
                Some((byte, bit)) => {
                    let old = self.read(byte, Width::Byte, system)?;
                    return self.write(
                        byte,
                        Width::Byte,
                        old & !(1 << bit) | (value & 1) << bit,
                        system,
                    );
                }
                None => self.device(address, system).and_then(|()| {
                    let done = system
                        .devices
                        .write(address, width, value & width.mask(), now);
                    self.set_lines(system.devices.lines);
                    done
                }),
            },
        };
        result.map_err(|fault| Trap::Crash(Reason::Bus(fault.at(address))))
    }

    /// Everything due must happen before a device is accessed: it may change the value read.
    fn device(&mut self, address: u32, system: &mut System<'_>) -> Result<(), BusFault> {
        if address < map::FLASH_BYTES {
            return Err(BusFault::new("flash cannot be written"));
        }
        system.devices.run(self.pipeline.cycle, system.memory);
        self.set_lines(system.devices.lines);
        Ok(())
    }

    /// The address of an access, and the new value of its base register if that changes.
    const fn resolve(&self, address: Address) -> (u32, Option<(u8, u32)>) {
        match address {
            Address::Offset { rn, offset } => (self.get(rn).wrapping_add_signed(offset), None),
            Address::Pre { rn, offset } => {
                let at = self.get(rn).wrapping_add_signed(offset);
                (at, Some((rn, at)))
            }
            Address::Post { rn, offset } => {
                let at = self.get(rn);
                (at, Some((rn, at.wrapping_add_signed(offset))))
            }
            Address::Index { rn, rm, shift } => {
                (self.get(rn).wrapping_add(self.get(rm) << shift), None)
            }
            Address::Literal { offset } => {
                ((self.registers[15] & !3).wrapping_add_signed(offset), None)
            }
        }
    }

    pub(super) fn single(&mut self, inst: &Inst, system: &mut System<'_>) -> Result<(), Trap> {
        let (Op::Load {
            rt,
            address: how,
            width,
            ..
        }
        | Op::Store {
            rt,
            address: how,
            width,
        }) = inst.op
        else {
            return Ok(());
        };
        let (address, base) = self.resolve(how);
        let pieces = Pieces::of(address, width);
        if pieces.count > 1 && self.control.config & scs::UNALIGN_TRP != 0 {
            return Err(Trap::Crash(Reason::Unaligned(address)));
        }
        let indexed = matches!(how, Address::Index { .. });
        if let Op::Load { signed, .. } = inst.op {
            self.pipeline.load(
                inst,
                &pieces.addresses()[..pieces.count],
                base.is_some(),
                &mut system.memory.buses,
            );
            let mut value = 0;
            for &(at, size) in pieces.get().iter().rev() {
                value = value << ((size.bytes() * 8) & 31) | self.read(at, size, system)?;
            }
            let value = match (signed, width) {
                (true, Width::Byte) => value as i8 as u32,
                (true, Width::Half) => value as i16 as u32,
                _ => value,
            };
            self.write_base(base);
            if rt == 15 {
                return self.branch_to(value, 0, Refill::Loaded, system);
            }
            self.set(rt, value);
            return Ok(());
        }
        self.pipeline.store(
            inst,
            &pieces.addresses()[..pieces.count],
            indexed,
            &mut system.memory.buses,
        );
        let mut value = self.get(rt);
        for &(at, size) in pieces.get() {
            self.write(at, size, value & size.mask(), system)?;
            value = value.checked_shr(size.bytes() * 8).unwrap_or(0);
        }
        self.write_base(base);
        Ok(())
    }

    fn write_base(&mut self, base: Option<(u8, u32)>) {
        if let Some((register, value)) = base {
            self.set(register, value);
        }
    }

    fn aligned(address: u32, width: Width) -> Result<(), Trap> {
        match address % width.bytes() {
            0 => Ok(()),
            _ => Err(Trap::Crash(Reason::Unaligned(address))),
        }
    }

    pub(super) fn pair(&mut self, inst: &Inst, system: &mut System<'_>) -> Result<(), Trap> {
        let (Op::LoadPair { rt, rt2, address } | Op::StorePair { rt, rt2, address }) = inst.op
        else {
            return Ok(());
        };
        let (address, base) = self.resolve(address);
        Self::aligned(address, Width::Word)?;
        let store = matches!(inst.op, Op::StorePair { .. });
        self.pipeline
            .many(inst, address, 2, store, &mut system.memory.buses);
        for (register, at) in [(rt, address), (rt2, address.wrapping_add(4))] {
            if store {
                self.write(at, Width::Word, self.get(register), system)?;
            } else {
                let value = self.read(at, Width::Word, system)?;
                self.set(register, value);
            }
        }
        self.write_base(base);
        Ok(())
    }

    pub(super) fn many(&mut self, inst: &Inst, system: &mut System<'_>) -> Result<(), Trap> {
        let (Op::LoadMany {
            rn,
            list,
            writeback,
            before,
        }
        | Op::StoreMany {
            rn,
            list,
            writeback,
            before,
        }) = inst.op
        else {
            return Ok(());
        };
        let bytes = list.count_ones() * 4;
        let base = self.get(rn);
        let (first, after) = match before {
            true => (base.wrapping_sub(bytes), base.wrapping_sub(bytes)),
            false => (base, base.wrapping_add(bytes)),
        };
        Self::aligned(first, Width::Word)?;
        let store = matches!(inst.op, Op::StoreMany { .. });
        self.pipeline.many(
            inst,
            first,
            list.count_ones(),
            store,
            &mut system.memory.buses,
        );
        let mut at = first;
        let mut target = None;
        for register in (0..16u8).filter(|register| list & 1 << register != 0) {
            if store {
                self.write(at, Width::Word, self.get(register), system)?;
            } else {
                let value = self.read(at, Width::Word, system)?;
                match register {
                    15 => target = Some(value),
                    _ => self.set(register, value),
                }
            }
            at = at.wrapping_add(4);
        }
        if writeback {
            self.set(rn, after);
        }
        match target {
            Some(target) => self.branch_to(target, 0, Refill::Loaded, system),
            None => Ok(()),
        }
    }

    pub(super) fn exclusive(&mut self, inst: &Inst, system: &mut System<'_>) -> Result<(), Trap> {
        match inst.op {
            Op::LoadExclusive {
                rt,
                rn,
                offset,
                width,
            } => {
                let address = self.get(rn).wrapping_add(u32::from(offset));
                Self::aligned(address, width)?;
                self.pipeline
                    .load(inst, &[address], false, &mut system.memory.buses);
                let value = self.read(address, width, system)?;
                self.monitor = Some(address);
                self.set(rt, value);
            }
            Op::StoreExclusive {
                rd,
                rt,
                rn,
                offset,
                width,
            } => {
                let address = self.get(rn).wrapping_add(u32::from(offset));
                Self::aligned(address, width)?;
                let passes = self.monitor.take() == Some(address);
                if passes {
                    // STREX pairs and is timed like a load (TRM 3.3.2).
                    self.pipeline
                        .load(inst, &[address], false, &mut system.memory.buses);
                    self.write(address, width, self.get(rt) & width.mask(), system)?;
                } else {
                    self.pipeline.other(2, inst);
                }
                self.set(rd, u32::from(!passes));
            }
            _ => {
                self.monitor = None;
                self.pipeline.other(1, inst);
            }
        }
        Ok(())
    }
}
