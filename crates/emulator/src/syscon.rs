//! System control: clock, power and reset registers (UM10360, chapters 3 and 4), and their state for other devices.
//!
//! The emulated core always runs at 100 MHz: PLLs lock immediately, and dividers are stored and can be read back.
//! [`Clocks::core_hz`] returns the clock that the software set, so that figures of software for another clock can be
//! refused. The flash accelerator's register is in the same block, but belongs to the core.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::bus::{BusFault, Device, Masters, Width};

/// The crystal of the MCB1700 in Hz.
pub const CRYSTAL_HZ: u64 = 12_000_000;
/// The internal RC oscillator in Hz (UM10360, chapter 4).
pub const INTERNAL_HZ: u64 = 4_000_000;
/// PCONP after a reset (UM10360, PCONP).
const PCONP_RESET: u32 = 0x0428_87DE;
/// Bits of PCONP.
pub mod power {
    /// PCTIM0.
    pub const TIMER0: u32 = 1 << 1;
    /// PCTIM1.
    pub const TIMER1: u32 = 1 << 2;
    /// PCUART0.
    pub const UART0: u32 = 1 << 3;
    /// PCGPIO.
    pub const GPIO: u32 = 1 << 15;
    /// PCTIM2.
    pub const TIMER2: u32 = 1 << 22;
    /// PCTIM3.
    pub const TIMER3: u32 = 1 << 23;
    /// PCGPDMA.
    pub const GPDMA: u32 = 1 << 29;
    /// PCENET.
    pub const EMAC: u32 = 1 << 30;
}

/// The location of a peripheral's divider in PCLKSEL0 and PCLKSEL1 (UM10360): register and lowest bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOf(usize, u32);

impl ClockOf {
    /// TIMER0 to TIMER3.
    pub const TIMERS: [ClockOf; 4] = [ClockOf(0, 2), ClockOf(0, 4), ClockOf(1, 12), ClockOf(1, 14)];
    /// UART0.
    pub const UART0: ClockOf = ClockOf(0, 6);
}

/// Clock and power settings that devices read.
#[derive(Debug)]
pub struct Clocks {
    selections: [AtomicU32; 2],
    power: AtomicU32,
    core_hz: AtomicU32,
}

impl Default for Clocks {
    fn default() -> Clocks {
        Clocks {
            selections: Default::default(),
            power: AtomicU32::new(PCONP_RESET),
            core_hz: AtomicU32::new(INTERNAL_HZ as u32),
        }
    }
}

impl Clocks {
    /// Core cycles of one cycle of a peripheral's clock (UM10360, PCLKSEL0 and 1).
    pub fn divider(&self, of: ClockOf) -> u64 {
        let selection = self.selections[of.0].load(Ordering::Relaxed);
        [4, 1, 2, 8][(selection >> of.1 & 3) as usize]
    }

    /// Whether a bit of PCONP is set.
    pub fn is_powered(&self, bit: u32) -> bool {
        self.power.load(Ordering::Relaxed) & bit != 0
    }

    /// The core clock that the software set, in Hz, with the MCB1700's crystal; `None` where a setting is not in the
    /// manual.
    pub fn core_hz(&self) -> Option<u64> {
        let hz = self.core_hz.load(Ordering::Relaxed);
        (hz != 0).then_some(u64::from(hz))
    }
}

/// A device that responds only while its bit of PCONP is set.
#[derive(Debug)]
pub struct Powered<D> {
    device: D,
    bit: u32,
    clocks: Arc<Clocks>,
}

impl<D> Powered<D> {
    /// Makes `device` depend on a bit of PCONP.
    pub fn new(device: D, bit: u32, clocks: &Arc<Clocks>) -> Powered<D> {
        let clocks = Arc::clone(clocks);
        Powered {
            device,
            bit,
            clocks,
        }
    }

    fn check(&self) -> Result<(), BusFault> {
        if self.clocks.is_powered(self.bit) {
            return Ok(());
        }
        Err(BusFault::new(
            "the peripheral has no power: its bit of PCONP is not set",
        ))
    }
}

impl<D: Device> Device for Powered<D> {
    fn read(&mut self, offset: u32, width: Width, now: u64) -> Result<u32, BusFault> {
        self.check()?;
        self.device.read(offset, width, now)
    }
    fn write(&mut self, offset: u32, width: Width, value: u32, now: u64) -> Result<(), BusFault> {
        self.check()?;
        self.device.write(offset, width, value, now)
    }
    fn next_event(&self) -> Option<u64> {
        self.device.next_event()
    }
    fn run(&mut self, now: u64, bus: &mut dyn Masters) {
        self.device.run(now, bus);
    }
    fn irq(&self) -> bool {
        self.device.irq()
    }
    fn as_any(&mut self) -> &mut dyn Any {
        self.device.as_any()
    }
}

/// One PLL: control, configuration, and the values that the feed sequence activated (UM10360, PLL0).
#[derive(Clone, Copy, Debug, Default)]
struct Pll {
    written: [u32; 2],
    effective: [u32; 2],
    fed: bool,
}

impl Pll {
    /// PLLxFEED: 0xAA, then 0x55.
    fn feed(&mut self, value: u32) {
        if self.fed && value & 0xFF == 0x55 {
            self.effective = self.written;
        }
        self.fed = value & 0xFF == 0xAA;
    }

    /// PLLxSTAT with the bits of enabled, connected and locked from `first` on.
    const fn status(self, first: u32) -> u32 {
        let [control, config] = self.effective;
        let locked = control & 1;
        config | (control & 3) << first | locked << (first + 2)
    }
}

/// The system control block.
#[derive(Debug)]
pub struct SystemControl {
    clocks: Arc<Clocks>,
    plls: [Pll; 2],
    divider: u32,
    source: u32,
    scs: u32,
    others: [u32; 0x200 / 4],
}

impl SystemControl {
    /// The block that sets `clocks`.
    pub fn new(clocks: &Arc<Clocks>) -> SystemControl {
        SystemControl {
            clocks: Arc::clone(clocks),
            plls: [Pll::default(); 2],
            divider: 0,
            source: 0,
            scs: 0,
            others: [0; 0x200 / 4],
        }
    }

    /// The core clock in Hz (UM10360, chapter 4); 0 where a setting is not in the manual.
    fn core_hz(&self) -> u32 {
        let input = match self.source & 3 {
            0 => INTERNAL_HZ,
            1 => CRYSTAL_HZ,
            _ => return 0,
        };
        let [control, config] = self.plls[0].effective;
        let multiplier = u64::from(config & 0x7FFF) + 1;
        let divisor = u64::from(config >> 16 & 0xFF) + 1;
        let before = if control & 3 == 3 {
            2 * multiplier * input / divisor
        } else {
            input
        };
        let core = before / (u64::from(self.divider & 0xFF) + 1);
        u32::try_from(core).unwrap_or(0)
    }

    fn note_clock(&self) {
        self.clocks.core_hz.store(self.core_hz(), Ordering::Relaxed);
    }
}

fn index(offset: u32, width: Width) -> Result<usize, BusFault> {
    if width != Width::Word || offset >= 0x200 {
        return Err(BusFault::new(
            "system control has 32-bit registers up to offset 0x1FC",
        ));
    }
    Ok(offset as usize / 4)
}

impl Device for SystemControl {
    fn read(&mut self, offset: u32, width: Width, _: u64) -> Result<u32, BusFault> {
        let index = index(offset, width)?;
        Ok(match offset {
            0x080 | 0x084 => self.plls[0].written[index - 0x20],
            0x088 => self.plls[0].status(24),
            0x0A0 | 0x0A4 => self.plls[1].written[index - 0x28],
            0x0A8 => self.plls[1].status(8),
            0x0C4 => self.clocks.power.load(Ordering::Relaxed),
            0x104 => self.divider,
            0x10C => self.source,
            // OSCSTAT follows OSCEN: the oscillator is ready immediately.
            0x1A0 => self.scs | (self.scs & 1 << 5) << 1,
            0x1A8 | 0x1AC => self.clocks.selections[index - 0x6A].load(Ordering::Relaxed),
            _ => self.others[index],
        })
    }

    fn write(&mut self, offset: u32, width: Width, value: u32, _: u64) -> Result<(), BusFault> {
        let index = index(offset, width)?;
        match offset {
            0x080 | 0x084 => self.plls[0].written[index - 0x20] = value,
            0x08C => self.plls[0].feed(value),
            0x0A0 | 0x0A4 => self.plls[1].written[index - 0x28] = value,
            0x0AC => self.plls[1].feed(value),
            0x088 | 0x0A8 => return Err(BusFault::new("the register is read-only")),
            0x0C4 => self.clocks.power.store(value, Ordering::Relaxed),
            0x104 => self.divider = value & 0xFF,
            0x10C => self.source = value & 3,
            0x1A0 => self.scs = value & 0x3F,
            0x1A8 | 0x1AC => self.clocks.selections[index - 0x6A].store(value, Ordering::Relaxed),
            _ => self.others[index] = value,
        }
        self.note_clock();
        Ok(())
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// Registers that only store a value: the pin connect block, and others that software sets up once.
#[derive(Debug)]
pub struct StoredRegisters {
    words: Vec<u32>,
}

impl StoredRegisters {
    /// So many bytes of registers.
    pub fn new(bytes: u32) -> StoredRegisters {
        StoredRegisters {
            words: vec![0; bytes as usize / 4],
        }
    }

    fn word(&mut self, offset: u32, width: Width) -> Result<&mut u32, BusFault> {
        let word = self.words.get_mut(offset as usize / 4);
        word.filter(|_| width == Width::Word)
            .ok_or(BusFault::new("the block has no such 32-bit register"))
    }
}

impl Device for StoredRegisters {
    fn read(&mut self, offset: u32, width: Width, _: u64) -> Result<u32, BusFault> {
        self.word(offset, width).copied()
    }
    fn write(&mut self, offset: u32, width: Width, value: u32, _: u64) -> Result<(), BusFault> {
        *self.word(offset, width)? = value;
        Ok(())
    }
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_tree_of_the_mcb1700_gives_100_mhz() {
        let clocks = Arc::new(Clocks::default());
        let mut block = SystemControl::new(&clocks);
        let mut write = |offset, value| block.write(offset, Width::Word, value, 0).unwrap();
        write(0x1A0, 0x20);
        write(0x10C, 1);
        // 2 · 100 · 12 MHz / 6 = 400 MHz, divided by 4.
        write(0x084, 99 | 5 << 16);
        write(0x080, 1);
        write(0x08C, 0xAA);
        write(0x08C, 0x55);
        write(0x104, 3);
        assert_eq!(clocks.core_hz(), Some(CRYSTAL_HZ / 4));
        let mut write = |offset, value| block.write(offset, Width::Word, value, 0).unwrap();
        write(0x080, 3);
        write(0x08C, 0xAA);
        write(0x08C, 0x54);
        assert_eq!(
            clocks.core_hz(),
            Some(CRYSTAL_HZ / 4),
            "a wrong feed changes nothing"
        );
        for value in [0xAA, 0x55] {
            block.write(0x08C, Width::Word, value, 0).unwrap();
        }
        assert_eq!(clocks.core_hz(), Some(100_000_000));
        let status = block.read(0x088, Width::Word, 0).unwrap();
        assert_eq!(status, 7 << 24 | 5 << 16 | 99);
        let scs = block.read(0x1A0, Width::Word, 0).unwrap();
        assert_eq!(scs, 0x60, "the oscillator is ready");
    }

    #[test]
    fn dividers_of_peripherals_are_those_of_the_manual() {
        let clocks = Arc::new(Clocks::default());
        let mut block = SystemControl::new(&clocks);
        assert_eq!(clocks.divider(ClockOf::UART0), 4);
        for (code, divider) in [(0, 4), (1, 1), (2, 2), (3, 8)] {
            block.write(0x1A8, Width::Word, code << 6, 0).unwrap();
            assert_eq!(clocks.divider(ClockOf::UART0), divider);
        }
    }

    #[test]
    fn a_device_without_power_refuses() {
        let clocks = Arc::new(Clocks::default());
        let mut block = SystemControl::new(&clocks);
        let mut device = Powered::new(StoredRegisters::new(16), power::EMAC, &clocks);
        let error = device.read(0, Width::Word, 0).unwrap_err();
        assert!(error.reason.contains("PCONP"), "{error}");
        block.write(0x0C4, Width::Word, power::EMAC, 0).unwrap();
        assert_eq!(device.read(0, Width::Word, 0), Ok(0));
        assert!(device.read(16, Width::Word, 0).is_err());
    }
}
