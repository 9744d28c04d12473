//! The Cortex-M3: registers, and the execution of one instruction at a time.

mod access;
mod decode16;
mod decode32;
mod exception;
mod execute;
mod flow;
pub mod inst;
pub mod nvic;
mod scs;
mod table;
mod text;
mod trap;
mod watch;

use crate::bus::Width;
pub use crate::devices::Devices;
use crate::memory::Memory;
use crate::pipeline::Pipeline;
use inst::{Flags, Inst, Op};
use nvic::{Nvic, SysTick};
use scs::Control;
use table::DecodedCode;
pub use text::disassemble;
pub use trap::{Crash, Reason, Trap};
pub use watch::{CodeAccount, Spent};

/// Everything outside the core.
pub struct System<'a> {
    /// The memories and buses.
    pub memory: &'a mut Memory,
    /// The devices.
    pub devices: &'a mut Devices,
}

/// The condition flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Apsr {
    n: bool,
    z: bool,
    c: bool,
    v: bool,
    q: bool,
}

/// Whether the core runs or sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// The core executes instructions.
    Awake,
    /// WFI: until an interrupt is pending that would be taken if PRIMASK were clear.
    Interrupt,
    /// WFE: until an event.
    Event,
}

/// The core.
pub struct Core {
    /// Registers 0 to 14; 15 reads as the instruction's address plus 4.
    pub registers: [u32; 16],
    /// The address of the instruction that executes.
    pub pc: u32,
    /// The address of the next one.
    next: u32,
    flags: Apsr,
    /// The rest of an IT block (ITSTATE).
    it: u8,
    primask: bool,
    faultmask: bool,
    basepri: u8,
    /// CONTROL: bit 0 unprivileged, bit 1 process stack.
    stack: u8,
    /// The stack pointer that is not in use.
    other_sp: u32,
    /// The running exception, 0 for none.
    pub ipsr: u16,
    event: bool,
    /// The address that LDREX marked.
    monitor: Option<u32>,
    /// Whether exceptions must be checked before the next instruction.
    attention: bool,
    /// Interrupt lines at the last check.
    lines: u64,
    /// Whether the core sleeps.
    pub sleep: Sleep,
    /// The exceptions.
    pub nvic: Nvic,
    systick: SysTick,
    /// The cycle of the next SysTick event.
    pub systick_event: Option<u64>,
    control: Control,
    /// The timing.
    pub pipeline: Pipeline,
    /// Instructions executed since power-on.
    pub instructions: u64,
    table: DecodedCode,
    /// Accounting for a range of code, where requested.
    pub watch: Option<Box<CodeAccount>>,
}

impl Core {
    /// A core before its reset; its first cycle is `cycle`.
    pub fn new(cycle: u64) -> Self {
        Self {
            registers: [0; 16],
            pc: 0,
            next: 0,
            flags: Apsr::default(),
            it: 0,
            primask: false,
            faultmask: false,
            basepri: 0,
            stack: 0,
            other_sp: 0,
            ipsr: 0,
            event: false,
            monitor: None,
            attention: true,
            lines: 0,
            sleep: Sleep::Awake,
            nvic: Nvic::default(),
            systick: SysTick::default(),
            systick_event: None,
            control: Control::new(),
            pipeline: Pipeline::new(0, cycle),
            instructions: 0,
            table: DecodedCode::default(),
            watch: None,
        }
    }

    /// Starts at the reset vector of the table at `vectors`.
    ///
    /// # Errors
    ///
    /// Where there is no memory or the vector is not a Thumb address.
    pub fn reset(&mut self, vectors: u32, memory: &Memory) -> Result<(), Trap> {
        let (cycle, instructions) = (self.pipeline.cycle, self.instructions);
        let (table, watch) = (std::mem::take(&mut self.table), self.watch.take());
        *self = Self {
            instructions,
            table,
            watch,
            ..Self::new(cycle)
        };
        let word = |at: u32| {
            memory
                .peek(at, Width::Word)
                .ok_or(Trap::Crash(Reason::Vector(at)))
        };
        let (sp, entry) = (word(vectors)?, word(vectors.wrapping_add(4))?);
        self.control.vectors = vectors;
        self.start(entry, sp)
    }

    /// Starts at `entry` (bit 0 set, as in a vector) with this stack.
    ///
    /// # Errors
    ///
    /// Where the address is not Thumb code.
    pub fn start(&mut self, entry: u32, sp: u32) -> Result<(), Trap> {
        self.registers[13] = sp & !3;
        self.registers[14] = u32::MAX;
        if entry & 1 == 0 {
            return Err(Trap::Crash(Reason::NotThumb(entry)));
        }
        self.pc = entry & !1;
        self.next = self.pc;
        self.pipeline = Pipeline::new(self.pc, self.pipeline.cycle);
        Ok(())
    }

    /// Sets the levels of the interrupt lines.
    pub fn set_lines(&mut self, lines: u64) {
        if lines != self.lines {
            self.lines = lines;
            self.nvic.set_lines(lines);
            self.attention = true;
        }
    }

    /// Advances SysTick to `now`.
    pub fn tick(&mut self, now: u64) {
        if self.systick.run(now) {
            self.nvic.pending |= 1 << nvic::number::SYSTICK;
            self.attention = true;
        }
    }

    /// Executes one instruction, or takes an exception.
    ///
    /// # Errors
    ///
    /// Where the core cannot continue, or stops at a breakpoint or for a reset.
    pub fn step(&mut self, system: &mut System<'_>) -> Result<(), Trap> {
        if self.attention {
            self.attention = false;
            if std::mem::take(&mut self.control.reset) {
                self.attention = true;
                return Err(Trap::Reset);
            }
            self.take_exceptions(system)?;
            self.systick_event = self.systick.next_event();
        }
        if self.sleep != Sleep::Awake {
            return Ok(());
        }
        self.pc = self.next;
        let inst = self.fetch(system.memory)?;
        self.registers[15] = self.pc.wrapping_add(4);
        self.next = self.pc.wrapping_add(inst.bytes());
        self.pipeline
            .start(self.pc, &inst, &mut system.memory.buses);
        self.instructions += 1;
        if let Some(watch) = &mut self.watch {
            watch.note(self.pc, self.pipeline.cycle);
        }
        if self.it == 0 {
            return self.execute(&inst, false, system);
        }
        let condition = self.it >> 4;
        // The last instruction of a block leaves the block before it executes, so it may be a branch out of it.
        self.it = if self.it & 7 == 0 {
            0
        } else {
            self.it & 0xe0 | self.it << 1 & 0x1f
        };
        if self.passes(condition) {
            return self.execute(&inst, true, system);
        }
        self.pipeline.other(1, &inst);
        Ok(())
    }

    fn fetch(&mut self, memory: &Memory) -> Result<Inst, Trap> {
        let half = |at: u32| {
            memory
                .peek(at, Width::Half)
                .ok_or(Trap::Crash(Reason::Fetch(at)))
        };
        let first = half(self.pc)?;
        if first < 0xe800 {
            return Ok(self.table.narrow(first as u16));
        }
        let second = half(self.pc.wrapping_add(2))?;
        Ok(self.table.wide(first << 16 | second))
    }

    /// Whether a condition holds (ARM DDI 0403, A7.3).
    const fn passes(&self, condition: u8) -> bool {
        let Apsr { n, z, c, v, .. } = self.flags;
        let holds = match condition >> 1 {
            0 => z,
            1 => c,
            2 => n,
            3 => v,
            4 => c && !z,
            5 => n == v,
            6 => n == v && !z,
            _ => return true,
        };
        holds != (condition & 1 != 0)
    }

    const fn sets(flags: Flags, in_it: bool) -> bool {
        match flags {
            Flags::Keep => false,
            Flags::Set => true,
            Flags::OutsideIt => !in_it,
        }
    }

    fn set(&mut self, register: u8, value: u32) {
        let register = (register & 15) as usize;
        self.registers[register] = if register == 13 { value & !3 } else { value };
    }

    const fn get(&self, register: u8) -> u32 {
        self.registers[(register & 15) as usize]
    }

    fn execute(&mut self, inst: &Inst, in_it: bool, system: &mut System<'_>) -> Result<(), Trap> {
        match inst.op {
            Op::Alu { .. } | Op::ShiftBy { .. } | Op::MovTop { .. } | Op::Adr { .. } => {
                self.alu(inst, in_it)
            }
            Op::Bitfield { .. }
            | Op::Saturate { .. }
            | Op::Extend { .. }
            | Op::Reverse { .. }
            | Op::Clz { .. } => self.bits(inst),
            Op::Mul { .. } | Op::MulAdd { .. } | Op::MulLong { .. } | Op::Divide { .. } => {
                self.multiply(inst, in_it)
            }
            Op::Load { .. } | Op::Store { .. } => self.single(inst, system),
            Op::LoadPair { .. } | Op::StorePair { .. } => self.pair(inst, system),
            Op::LoadMany { .. } | Op::StoreMany { .. } => self.many(inst, system),
            Op::LoadExclusive { .. } | Op::StoreExclusive { .. } | Op::ClearExclusive => {
                self.exclusive(inst, system)
            }
            _ => self.flow(inst, system),
        }
    }
}
