//! What a retired instruction costs in the pipeline of VexRiscv besides its own clock: branches, and waiting for a
//! result.
//!
//! The stages are fetch, decode, execute, memory and write-back, as in `VexRiscv_Full` (its `GenCoreDefault.scala`).
//! Decode has static prediction; memory decides branches, and has the results of shifts and of control registers;
//! write-back has the results of loads and products.

/// Major opcodes (The RISC-V Instruction Set Manual, volume I, table 24.1).
const LOAD: u32 = 0x03;
const IMMEDIATE: u32 = 0x13;
const STORE: u32 = 0x23;
const REGISTER: u32 = 0x33;
const LUI: u32 = 0x37;
const AUIPC: u32 = 0x17;
const BRANCH: u32 = 0x63;
const JALR: u32 = 0x67;
const JAL: u32 = 0x6F;
const SYSTEM: u32 = 0x73;
const MRET: u32 = 0x3020_0073;

/// Clocks from a jump in decode to the instruction at its target, besides the jump's own clock.
pub const JUMP_CLOCKS: u64 = 1;
/// Clocks to that instruction if memory, two stages later, corrects the prediction of decode.
pub const TURN_CLOCKS: u64 = 3;

/// Where execution continues after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// At the next instruction, as predicted.
    On,
    /// At the predicted target.
    Jump,
    /// At another target.
    Turn,
    /// After a trap, by a return.
    Return,
    /// In a trap, not caused by the instruction itself.
    Trap,
}

/// An instruction at its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired {
    /// Its address.
    pub pc: u32,
    /// Its word.
    pub word: u32,
}

impl Retired {
    fn opcode(self) -> u32 {
        self.word & 0x7F
    }

    fn function(self) -> u32 {
        self.word >> 12 & 7
    }

    /// Whether it reads from memory or a register of a block.
    pub fn is_load(self) -> bool {
        self.opcode() == LOAD
    }

    /// Whether it writes to memory or a register of a block.
    pub fn is_store(self) -> bool {
        self.opcode() == STORE
    }

    fn is_product_or_quotient(self) -> bool {
        self.opcode() == REGISTER && self.word >> 25 == 1
    }

    /// Whether it computes a quotient or a remainder, one bit for each clock.
    pub fn is_division(self) -> bool {
        self.is_product_or_quotient() && self.function() >= 4
    }

    fn is_shift(self) -> bool {
        let has_shifts = matches!(self.opcode(), IMMEDIATE | REGISTER);
        has_shifts && !self.is_product_or_quotient() && matches!(self.function(), 1 | 5)
    }

    /// The register that it writes, if any.
    fn target(self) -> Option<usize> {
        let register = (self.word >> 7 & 31) as usize;
        let writes = !matches!(self.opcode(), STORE | BRANCH);
        (writes && register != 0).then_some(register)
    }

    /// The registers that it reads.
    fn operands(self) -> impl Iterator<Item = usize> {
        let first = (self.word >> 15 & 31) as usize;
        let second = (self.word >> 20 & 31) as usize;
        let (has_first, has_second) = match self.opcode() {
            LUI | AUIPC | JAL => (false, false),
            STORE | BRANCH | REGISTER => (true, true),
            SYSTEM => (matches!(self.function(), 1..=3), false),
            _ => (true, false),
        };
        let first = has_first.then_some(first);
        first.into_iter().chain(has_second.then_some(second))
    }

    /// Stages by which its result is later than that of a sum, which the next instruction gets at once.
    fn result_after(self) -> u64 {
        if self.is_load() || self.is_product_or_quotient() && !self.is_division() {
            2
        } else if self.is_shift() || self.is_division() || self.opcode() == SYSTEM {
            1
        } else {
            0
        }
    }

    /// Offset of a conditional branch's target (volume I, section 2.3, format B).
    fn branch_offset(self) -> i32 {
        let sign = (self.word as i32) >> 31 << 12;
        let rest = (self.word >> 7 & 1) << 11
            | (self.word >> 25 & 0x3F) << 5
            | (self.word >> 8 & 0xF) << 1;
        sign | rest as i32
    }

    /// Offset of a jump's target (format J).
    fn jump_offset(self) -> i32 {
        let sign = (self.word as i32) >> 31 << 20;
        let rest =
            self.word & 0xF_F000 | (self.word >> 20 & 1) << 11 | (self.word >> 21 & 0x3FF) << 1;
        sign | rest as i32
    }

    /// Where it continued, from the instruction that retired next.
    pub fn flow(self, next: Retired) -> Flow {
        let on = next.pc == self.pc.wrapping_add(4);
        let to = |offset: i32| next.pc == self.pc.wrapping_add_signed(offset);
        match self.opcode() {
            _ if self.word == MRET => Flow::Return,
            JALR => Flow::Turn,
            JAL if to(self.jump_offset()) => Flow::Jump,
            // Decode predicts that backward branches are taken.
            BRANCH if on => {
                if self.branch_offset() < 0 {
                    Flow::Turn
                } else {
                    Flow::On
                }
            }
            BRANCH if to(self.branch_offset()) => {
                if self.branch_offset() < 0 {
                    Flow::Jump
                } else {
                    Flow::Turn
                }
            }
            _ if on => Flow::On,
            _ => Flow::Trap,
        }
    }
}

/// When each register has its value, in clocks of a pipeline that has no other stalls.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    now: u64,
    ready: [u64; 32],
}

impl Scoreboard {
    /// The next instruction: returns its clocks of waiting in decode for its operands.
    pub fn next(&mut self, instruction: Retired) -> u64 {
        let at = self.now + 1;
        let latest = instruction
            .operands()
            .map(|register| self.ready[register])
            .max();
        self.now = at.max(latest.unwrap_or(0));
        if let Some(register) = instruction.target() {
            self.ready[register] = self.now + 1 + instruction.result_after();
        }
        self.now - at
    }

    /// The pipeline was empty for this many clocks.
    pub fn pass(&mut self, clocks: u64) {
        self.now += clocks;
    }
}
