//! A decoded instruction, and the registers that matter for its timing.

use crate::bus::Width;

/// An operation on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alu {
    And,
    Bic,
    Orr,
    Orn,
    Eor,
    Add,
    Adc,
    Sbc,
    Sub,
    Rsb,
    Mov,
    Mvn,
    Tst,
    Teq,
    Cmp,
    Cmn,
}

impl Alu {
    /// Whether only the flags receive the result.
    pub const fn only_flags(self) -> bool {
        matches!(self, Self::Tst | Self::Teq | Self::Cmp | Self::Cmn)
    }

    /// Whether there is no first operand.
    pub const fn unary(self) -> bool {
        matches!(self, Self::Mov | Self::Mvn)
    }
}

/// A shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    Lsl,
    Lsr,
    Asr,
    Ror,
    Rrx,
}

/// The second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A constant, and the carry that its encoding gives, if it changes the carry.
    Imm { value: u32, carry: Option<bool> },
    /// A register, shifted.
    Reg { rm: u8, shift: Shift, amount: u8 },
}

/// Whether the flags change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flags {
    /// They do not change.
    Keep,
    /// The instruction sets them.
    Set,
    /// They change unless the instruction is in an IT block.
    OutsideIt,
}

/// The address of a load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// Base and offset.
    Offset { rn: u8, offset: i32 },
    /// As `Offset`; the base becomes the address.
    Pre { rn: u8, offset: i32 },
    /// The base, which then moves on.
    Post { rn: u8, offset: i32 },
    /// Base and shifted register.
    Index { rn: u8, rm: u8, shift: u8 },
    /// Relative to the instruction.
    Literal { offset: i32 },
}

impl Address {
    /// The registers that form the address.
    const fn registers(self) -> u16 {
        match self {
            Self::Offset { rn, .. } | Self::Pre { rn, .. } | Self::Post { rn, .. } => 1 << rn,
            Self::Index { rn, rm, .. } => 1 << rn | 1 << rm,
            Self::Literal { .. } => 0,
        }
    }
}

/// The operation of a bit field instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// BFI, and BFC with register 15.
    Insert,
    /// UBFX.
    Unsigned,
    /// SBFX.
    Signed,
}

/// How the bits of a register are reversed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reverse {
    /// REV.
    Bytes,
    /// REV16.
    Halves,
    /// REVSH.
    SignedHalf,
    /// RBIT.
    Bits,
}

/// An instruction without operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// NOP, YIELD, DBG and the preloads.
    Nop,
    /// WFE.
    WaitEvent,
    /// WFI.
    WaitInterrupt,
    /// SEV.
    SendEvent,
}

/// The operation of a decoded instruction. Register numbers are below 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Undefined,
    Alu {
        kind: Alu,
        rd: u8,
        rn: u8,
        operand: Operand,
        flags: Flags,
    },
    ShiftBy {
        shift: Shift,
        rd: u8,
        rn: u8,
        rm: u8,
        flags: Flags,
    },
    MovTop {
        rd: u8,
        imm: u16,
    },
    Adr {
        rd: u8,
        offset: i32,
    },
    Bitfield {
        field: Field,
        rd: u8,
        rn: u8,
        lsb: u8,
        width: u8,
    },
    Saturate {
        signed: bool,
        rd: u8,
        rn: u8,
        bits: u8,
        shift: Shift,
        amount: u8,
    },
    Extend {
        signed: bool,
        width: Width,
        rd: u8,
        rm: u8,
        rotate: u8,
    },
    Reverse {
        how: Reverse,
        rd: u8,
        rm: u8,
    },
    Clz {
        rd: u8,
        rm: u8,
    },
    Mul {
        rd: u8,
        rn: u8,
        rm: u8,
        flags: Flags,
    },
    MulAdd {
        rd: u8,
        rn: u8,
        rm: u8,
        ra: u8,
        subtract: bool,
    },
    MulLong {
        signed: bool,
        add: bool,
        lo: u8,
        hi: u8,
        rn: u8,
        rm: u8,
    },
    Divide {
        signed: bool,
        rd: u8,
        rn: u8,
        rm: u8,
    },
    Load {
        rt: u8,
        address: Address,
        width: Width,
        signed: bool,
    },
    Store {
        rt: u8,
        address: Address,
        width: Width,
    },
    LoadPair {
        rt: u8,
        rt2: u8,
        address: Address,
    },
    StorePair {
        rt: u8,
        rt2: u8,
        address: Address,
    },
    LoadMany {
        rn: u8,
        list: u16,
        writeback: bool,
        before: bool,
    },
    StoreMany {
        rn: u8,
        list: u16,
        writeback: bool,
        before: bool,
    },
    LoadExclusive {
        rt: u8,
        rn: u8,
        offset: u16,
        width: Width,
    },
    StoreExclusive {
        rd: u8,
        rt: u8,
        rn: u8,
        offset: u16,
        width: Width,
    },
    ClearExclusive,
    Table {
        rn: u8,
        rm: u8,
        half: bool,
    },
    Branch {
        cond: u8,
        offset: i32,
    },
    BranchLink {
        offset: i32,
    },
    BranchTo {
        rm: u8,
    },
    CallTo {
        rm: u8,
    },
    CompareBranch {
        nonzero: bool,
        rn: u8,
        offset: u8,
    },
    IfThen {
        state: u8,
    },
    Hint(Hint),
    Barrier {
        instructions: bool,
    },
    Supervisor,
    Breakpoint {
        imm: u8,
    },
    ChangeState {
        disable: bool,
        primask: bool,
        faultmask: bool,
    },
    ReadSpecial {
        rd: u8,
        special: u8,
    },
    WriteSpecial {
        special: u8,
        rn: u8,
        mask: u8,
    },
}

/// An operation, and what its timing depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inst {
    /// Its operation.
    pub op: Op,
    /// Whether it has 32 bits.
    pub wide: bool,
    /// Registers that form the address of a load or store.
    pub address: u16,
    /// Registers that a data processing instruction or load writes.
    pub result: u16,
    /// Whether it reads no register (flags do not count).
    pub reads_none: bool,
}

impl Inst {
    /// The instruction for this operation.
    pub const fn new(op: Op, wide: bool) -> Self {
        Self {
            op,
            wide,
            address: address(op),
            result: result(op),
            reads_none: reads_none(op),
        }
    }

    /// The size in bytes.
    pub const fn bytes(self) -> u32 {
        if self.wide { 4 } else { 2 }
    }
}

const fn address(op: Op) -> u16 {
    match op {
        Op::Load { address, .. } | Op::Store { address, .. } => address.registers(),
        Op::LoadPair { address, .. } | Op::StorePair { address, .. } => address.registers(),
        Op::LoadMany { rn, .. } | Op::StoreMany { rn, .. } => 1 << rn,
        Op::LoadExclusive { rn, .. } | Op::StoreExclusive { rn, .. } => 1 << rn,
        Op::Table { rn, rm, .. } => 1 << rn | 1 << rm,
        _ => 0,
    }
}

const fn result(op: Op) -> u16 {
    match op {
        Op::Alu { kind, rd, .. } if !kind.only_flags() => 1 << rd,
        Op::ShiftBy { rd, .. }
        | Op::MovTop { rd, .. }
        | Op::Adr { rd, .. }
        | Op::Bitfield { rd, .. } => 1 << rd,
        Op::Saturate { rd, .. }
        | Op::Extend { rd, .. }
        | Op::Reverse { rd, .. }
        | Op::Clz { rd, .. } => 1 << rd,
        Op::Mul { rd, .. } | Op::MulAdd { rd, .. } | Op::Divide { rd, .. } => 1 << rd,
        Op::MulLong { lo, hi, .. } => 1 << lo | 1 << hi,
        Op::Load { rt, .. } | Op::LoadExclusive { rt, .. } => 1 << rt,
        Op::StoreExclusive { rd, .. } => 1 << rd,
        _ => 0,
    }
}

const fn reads_none(op: Op) -> bool {
    match op {
        Op::Alu {
            kind,
            operand: Operand::Imm { .. },
            ..
        } => kind.unary(),
        Op::Adr { .. } | Op::Branch { .. } | Op::IfThen { .. } | Op::Hint(_) => true,
        _ => false,
    }
}
