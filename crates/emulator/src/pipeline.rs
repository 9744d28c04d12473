//! The core's timing: when an instruction can start, and when its loads, stores and branches end.

use crate::cpu::inst::Inst;
use crate::flash::Flash;
use crate::map::{self, Slave};
use crate::matrix::Matrix;
use crate::timing::{
    ADDRESS_STALL, APB_READ, CPU_ACCESS, FETCH_TO_EXECUTE, PREFETCH_WORDS, Refill,
    SYSTEM_BUS_FETCH, TABLE_ADD,
};

/// The previous instruction, as far as the next one's timing depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// An instruction without influence.
    Other,
    /// A load whose data phase may be shared with the next address phase, and the registers it wrote.
    Load(u16),
    /// A load that updated its base: it costs one cycle less if the next instruction reads no register.
    Moving,
    /// A data processing instruction, and the registers it wrote.
    Data(u16),
}

/// The buses and what serializes their accesses.
#[derive(Debug)]
pub struct Buses {
    /// The bookings of each slave.
    pub matrix: Matrix,
    /// The flash accelerator.
    pub flash: Flash,
}

impl Buses {
    /// Books a data access of the CPU; returns its first and last cycle.
    fn data(&mut self, address: u32, write: bool, not_before: u64) -> (u64, u64) {
        let Some(slave) = map::slave(address) else {
            return (not_before, not_before);
        };
        match slave {
            Slave::Flash => {
                let start = self.matrix.book(slave, not_before, CPU_ACCESS);
                (start, self.flash.data(address, start))
            }
            Slave::Apb if !write => {
                let start = self.matrix.book(slave, not_before, APB_READ);
                (start, start + u64::from(APB_READ) - 1)
            }
            _ => {
                let start = self.matrix.book(slave, not_before, CPU_ACCESS);
                (start, start)
            }
        }
    }

    /// Books a fetch; returns the cycle of its data phase.
    fn fetch(&mut self, address: u32, not_before: u64) -> u64 {
        match map::slave(address) {
            Some(slave @ Slave::Flash) => {
                let start = self.matrix.book(slave, not_before, CPU_ACCESS);
                self.flash.fetch(address, start)
            }
            Some(slave @ Slave::LocalSram) => self.matrix.book(slave, not_before, CPU_ACCESS),
            Some(slave) => self
                .matrix
                .book(slave, not_before + SYSTEM_BUS_FETCH, CPU_ACCESS),
            None => not_before,
        }
    }
}

/// The timing state.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// The cycle in which the next instruction executes if it is already fetched.
    pub cycle: u64,
    before: Before,
    /// The last cycle of the latest data phase: a store may still be in progress.
    data_end: u64,
    /// Address of the next word to fetch.
    fetched: u32,
    /// Earliest data phase of the next fetch.
    fetch_from: u64,
    /// Data phases of the latest words, by the words' low address bits.
    phases: [u64; 4],
    /// When the previous words were used up, in the same order.
    used: [u64; 4],
    /// The word of the previous instruction.
    word: u32,
    /// Whether the previous instruction was one of 16 bits in sequence, so that an IT folds onto it.
    folds: bool,
}

const _: () = assert!(PREFETCH_WORDS < 4, "the rings of words have four places");

impl Pipeline {
    /// A core that starts at `pc` in cycle `cycle`.
    pub fn new(pc: u32, cycle: u64) -> Self {
        let mut pipeline = Self {
            cycle,
            before: Before::Other,
            data_end: 0,
            fetched: 0,
            fetch_from: 0,
            phases: [0; 4],
            used: [0; 4],
            word: 0,
            folds: false,
        };
        pipeline.restart(pc, cycle);
        pipeline
    }

    /// Continues at `pc`; its instruction executes in `cycle` unless its fetch waits.
    pub fn restart(&mut self, pc: u32, cycle: u64) {
        self.cycle = cycle;
        self.refetch(pc, cycle.saturating_sub(FETCH_TO_EXECUTE));
    }

    fn refetch(&mut self, pc: u32, from: u64) {
        self.fetched = pc & !3;
        self.word = self.fetched;
        self.fetch_from = from;
        self.used = [0; 4];
        self.before = Before::Other;
        self.folds = false;
    }

    /// Waits until the instruction at `pc` is decoded, and applies its pairing with the previous one.
    pub fn start(&mut self, pc: u32, inst: &Inst, buses: &mut Buses) {
        if self.before == Before::Moving && inst.reads_none {
            self.cycle -= 1;
        }
        let last = pc.wrapping_add(inst.bytes() - 1) & !3;
        while last.wrapping_sub(self.fetched) < 0x8000_0000 {
            let word = self.fetched;
            let place = (word >> 2 & 3) as usize;
            // The word three before must be used up.
            let room = self.used[(place + 4 - PREFETCH_WORDS) & 3];
            let phase = buses.fetch(word, self.fetch_from.max(room));
            self.phases[place] = phase;
            self.fetch_from = phase + 1;
            self.fetched = word.wrapping_add(4);
        }
        let ready = self.phases[(last >> 2 & 3) as usize] + FETCH_TO_EXECUTE;
        if ready > self.cycle {
            self.cycle = ready;
            self.before = Before::Other;
        }
        if pc & !3 != self.word {
            self.used[(self.word >> 2 & 3) as usize] = self.cycle.saturating_sub(1);
            self.word = pc & !3;
        }
    }

    /// A data processing instruction of `cycles` that writes the registers `result`.
    pub fn data(&mut self, cycles: u64, inst: &Inst) {
        self.cycle += cycles;
        self.before = Before::Data(inst.result);
        self.folds = !inst.wide;
    }

    /// Any other instruction of `cycles`.
    pub fn other(&mut self, cycles: u64, inst: &Inst) {
        self.cycle += cycles;
        self.before = Before::Other;
        self.folds = !inst.wide;
    }

    /// IT: no cycle where it folds onto an instruction of 16 bits, else one (TRM table 3-1, note on IT).
    pub fn if_then(&mut self) {
        if !self.folds {
            self.cycle += 1;
        }
        self.before = Before::Other;
        self.folds = false;
    }

    /// The cycle of the address phase of a single load or store; `true` if it overlaps the data phase of a load before
    /// it.
    fn address_phase(&mut self, inst: &Inst) -> (u64, bool) {
        let pairs = matches!(self.before, Before::Load(result) if result & inst.address == 0);
        if matches!(self.before, Before::Data(result) if result & inst.address != 0) {
            self.cycle += ADDRESS_STALL;
        }
        // One store can be in progress; the next access's address phase is in its last cycle at the earliest.
        self.cycle = self.cycle.max(self.data_end);
        (if pairs { self.cycle - 1 } else { self.cycle }, pairs)
    }

    /// The next instruction pairs with no earlier load.
    fn unpair(&mut self) {
        if matches!(self.before, Before::Load(_)) {
            self.before = Before::Other;
        }
    }

    /// A single load of one or more pieces (more for an unaligned one). `moves`: the base register is updated, so it
    /// pairs with nothing.
    pub fn load(&mut self, inst: &Inst, pieces: &[u32], moves: bool, buses: &mut Buses) {
        if moves {
            self.unpair();
        }
        let (mut phase, _) = self.address_phase(inst);
        for &address in pieces {
            phase = buses.data(address, false, phase + 1).1;
        }
        self.data_end = phase;
        self.cycle = phase + 1;
        self.before = if moves {
            Before::Moving
        } else {
            Before::Load(inst.result)
        };
        self.folds = !inst.wide;
    }

    /// A single store of one or more pieces: one cycle, because the data are written while the next instruction
    /// executes; with a register offset two, but one after a load (TRM 3.3.2).
    pub fn store(&mut self, inst: &Inst, pieces: &[u32], indexed: bool, buses: &mut Buses) {
        let (address_phase, pairs) = self.address_phase(inst);
        let own = if indexed && !pairs { 2 } else { 1 };
        let mut phase = if indexed && !pairs {
            address_phase + 1
        } else {
            address_phase
        };
        for &address in pieces {
            phase = buses.data(address, true, phase + 1).1;
        }
        self.data_end = phase;
        self.cycle += own;
        self.before = Before::Other;
        self.folds = !inst.wide;
    }

    /// Loads or stores of several words: one cycle, plus one for each word; they pair with nothing (TRM 3.3.2).
    pub fn many(&mut self, inst: &Inst, first: u32, count: u32, write: bool, buses: &mut Buses) {
        self.unpair();
        let (mut phase, _) = self.address_phase(inst);
        for n in 0..count {
            phase = buses.data(first.wrapping_add(4 * n), write, phase + 1).1;
        }
        self.data_end = phase;
        self.cycle = phase + 1;
        self.before = Before::Other;
        self.folds = !inst.wide;
    }

    /// A branch's own cycle (none if its cycles are already counted) and the refill from `target`.
    pub fn branch(&mut self, own: u64, target: u32, refill: Refill) {
        self.cycle += own;
        self.refetch(target, self.cycle - 1 + refill.data_phase());
    }

    /// Whether the value of a register is known while a branch through it is decoded: not if the previous instruction
    /// has just written it.
    pub fn knows(&self, register: u8) -> bool {
        !matches!(self.before, Before::Load(result) | Before::Data(result) if result & 1 << register != 0)
    }

    /// A conditional branch that is not taken: its target was fetched unnecessarily, which costs a fetch (DDI 0337G, 1.5).
    pub fn not_taken(&mut self, inst: &Inst) {
        self.fetch_from += 1;
        self.other(1, inst);
    }

    /// The addition of TBB and TBH.
    pub fn table_add(&mut self) {
        self.cycle += TABLE_ADD;
    }

    /// Books the eight words that an exception's entry or return moves on the stack; returns the additional cycles from
    /// waits for the memory.
    pub fn stack(&mut self, frame: u32, write: bool, buses: &mut Buses) -> u64 {
        let first = self.cycle.max(self.data_end);
        let mut phase = first;
        for n in 0..8 {
            phase = buses.data(frame.wrapping_add(4 * n), write, phase + 1).1;
        }
        self.data_end = phase;
        phase - first - 8
    }
}
