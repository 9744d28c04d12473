//! The machine: core, memories and devices on one clock.

use crate::bus::{BusFault, Device, Width};
use crate::cpu::{CodeAccount, Core, Crash, Reason, Sleep, Spent, System, Trap, disassemble};
use crate::devices::Devices;
use crate::elf::{self, ElfError};
use crate::memory::Memory;

/// Why [`Machine::run_until`] returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The cycle is reached.
    Reached,
    /// BKPT with this number; `run_until` continues after it.
    Breakpoint(u8),
    /// The program requested a reset: [`Machine::reset`].
    Reset,
    /// The program failed; the machine keeps its state.
    Crash(Box<Crash>),
}

/// An LPC1768 without devices; [`Machine::attach`] adds them.
pub struct Machine {
    core: Core,
    memory: Memory,
    devices: Devices,
    /// The address of the vector table after a reset.
    vectors: u32,
    crash: Option<Box<Crash>>,
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

impl Machine {
    /// A machine with empty memories.
    pub fn new() -> Self {
        Self {
            core: Core::new(0),
            memory: Memory::default(),
            devices: Devices::default(),
            vectors: 0,
            crash: None,
        }
    }

    /// Adds a device at `base..base + bytes`, on the interrupt line `line` (0 to 34); returns its number.
    pub fn attach(
        &mut self,
        base: u32,
        bytes: u32,
        line: Option<u8>,
        device: Box<dyn Device>,
    ) -> usize {
        self.devices
            .attach(base, bytes, line.filter(|line| *line < 48), device)
    }

    /// Calls `act` with the device of this number if it is a `T`; its changes take effect immediately.
    pub fn device<T: 'static, R>(
        &mut self,
        number: usize,
        act: impl FnOnce(&mut T) -> R,
    ) -> Option<R> {
        let result = self.devices.with(number, act);
        self.core.set_lines(self.devices.lines);
        result
    }

    /// Loads a program and starts it at its reset vector. A program in RAM has its vector table at the lowest loaded
    /// address, as when a debugger loads an image into RAM.
    ///
    /// # Errors
    ///
    /// Where the file is not such a program or does not fit the memories.
    pub fn load_elf(&mut self, file: &[u8]) -> Result<(), ElfError> {
        self.vectors = elf::load(file, &mut self.memory)?;
        self.reset();
        Ok(())
    }

    /// Restarts at the reset vector; memories, devices and the clock keep their state. An invalid vector is reported by
    /// the next [`Machine::run_until`].
    pub fn reset(&mut self) {
        self.crash = None;
        if let Err(trap) = self.core.reset(self.vectors, &self.memory) {
            self.stop(trap);
        }
        self.core.set_lines(self.devices.lines);
    }

    /// Copies bytes into a memory, in no simulated time. `false` where no memory holds them all.
    #[must_use]
    pub fn write_memory(&mut self, address: u32, data: &[u8]) -> bool {
        self.memory.load(address, data)
    }

    /// `length` bytes from `address` on, if one memory holds them all.
    pub fn memory(&self, address: u32, length: usize) -> Option<&[u8]> {
        self.memory.bytes(address, length)
    }

    /// Continues at `entry` (bit 0 set, as for BX) with the stack `sp`.
    pub fn start(&mut self, entry: u32, sp: u32) {
        self.crash = None;
        if let Err(trap) = self.core.start(entry, sp) {
            self.stop(trap);
        }
    }

    /// The core's registers.
    pub const fn registers(&self) -> &[u32; 16] {
        &self.core.registers
    }

    /// Sets one of the registers 0 to 14.
    pub fn set_register(&mut self, register: u8, value: u32) {
        if let Some(place) = self.core.registers.get_mut(register as usize) {
            *place = if register == 13 { value & !3 } else { value };
        }
    }

    /// The cycle in which the next instruction starts.
    pub const fn cycle(&self) -> u64 {
        self.core.pipeline.cycle
    }

    /// Instructions executed so far.
    pub const fn instructions(&self) -> u64 {
        self.core.instructions
    }

    /// The address of the instruction executed last.
    pub const fn pc(&self) -> u32 {
        self.core.pc
    }

    /// Whether the core waits for an interrupt or event.
    pub fn asleep(&self) -> bool {
        self.core.sleep != Sleep::Awake
    }

    /// Starts counting the cycles of the instructions at `start..start + bytes`; an earlier count ends.
    pub fn watch(&mut self, start: u32, bytes: u32) {
        self.core.watch = Some(Box::new(CodeAccount::new(start, bytes)));
    }

    /// The executed instructions of the watched code, by address, with their cycles.
    pub fn spent(&self) -> Vec<Spent> {
        self.core
            .watch
            .as_ref()
            .map(|watch| watch.spent())
            .unwrap_or_default()
    }

    /// The executed instructions of the watched code, with their cycles and text.
    pub fn listing(&self) -> Vec<(Spent, String)> {
        let line = |spent: Spent| {
            let half = |at: u32| self.memory.peek(at, Width::Half).unwrap_or(0);
            let code = half(spent.address) | half(spent.address.wrapping_add(2)) << 16;
            let (text, _) = disassemble(spent.address, code);
            (spent, text)
        };
        self.spent().into_iter().map(line).collect()
    }

    /// Runs until `cycle` (the last instruction may end a few cycles after it) or until something stops it.
    pub fn run_until(&mut self, cycle: u64) -> Stop {
        while self.core.pipeline.cycle < cycle {
            if let Err(stop) = self.step(cycle) {
                return stop;
            }
        }
        Stop::Reached
    }

    /// Runs one instruction, or sleeps up to `limit`.
    fn step(&mut self, limit: u64) -> Result<(), Stop> {
        if let Some(crash) = &self.crash {
            return Err(Stop::Crash(crash.clone()));
        }
        if self
            .devices
            .next
            .is_some_and(|next| next <= self.core.pipeline.cycle)
        {
            self.devices.run(self.core.pipeline.cycle, &mut self.memory);
            self.core.set_lines(self.devices.lines);
        }
        if self
            .core
            .systick_event
            .is_some_and(|event| event <= self.core.pipeline.cycle)
        {
            self.core.tick(self.core.pipeline.cycle);
        }
        let mut system = System {
            memory: &mut self.memory,
            devices: &mut self.devices,
        };
        let done = self.core.step(&mut system);
        if self.core.sleep != Sleep::Awake {
            let next = self
                .devices
                .next
                .into_iter()
                .chain(self.core.systick_event)
                .min()
                .unwrap_or(u64::MAX);
            self.core.pipeline.cycle = self.core.pipeline.cycle.max(next.min(limit));
        }
        done.map_err(|trap| self.stop(trap))
    }

    fn stop(&mut self, trap: Trap) -> Stop {
        match trap {
            Trap::Breakpoint(number) => Stop::Breakpoint(number),
            Trap::Reset => Stop::Reset,
            Trap::Crash(reason) => {
                let crash = Box::new(self.crash_report(reason));
                self.crash = Some(crash.clone());
                Stop::Crash(crash)
            }
        }
    }

    fn crash_report(&self, reason: Reason) -> Crash {
        let core = &self.core;
        let half = |at: u32| self.memory.peek(at, Width::Half);
        let mut registers = core.registers;
        registers[15] = core.pc;
        Crash {
            reason,
            pc: core.pc,
            code: half(core.pc)
                .map(|first| first | half(core.pc.wrapping_add(2)).unwrap_or(0) << 16),
            registers,
            exception: core.ipsr,
            cycle: core.pipeline.cycle,
        }
    }

    /// Reads a word as the core would, from devices too, but in no simulated time.
    ///
    /// # Errors
    ///
    /// Where the bus would refuse the access.
    pub fn peek(&mut self, address: u32) -> Result<u32, BusFault> {
        match self.memory.peek(address & !3, Width::Word) {
            Some(value) => Ok(value),
            None => self
                .devices
                .read(address & !3, Width::Word, self.core.pipeline.cycle),
        }
    }
}
