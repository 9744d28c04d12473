//! Why the core stops.

use crate::bus::BusFault;
use std::fmt;

/// Why the core cannot continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// No memory at an instruction's address.
    #[error("no memory to fetch an instruction from at {0:#010x}")]
    Fetch(u32),
    /// No memory at a vector's address.
    #[error("no memory with a vector at {0:#010x}")]
    Vector(u32),
    /// The instruction does not exist, or ARM calls its effect unpredictable.
    #[error("undefined instruction")]
    Undefined,
    /// A branch to an address without bit 0.
    #[error("branch to {0:#010x}, which is not Thumb code (bit 0 is clear)")]
    NotThumb(u32),
    /// A load or store that the bus refuses.
    #[error("{0}")]
    Bus(BusFault),
    /// An unaligned access where it is not allowed.
    #[error("unaligned access to {0:#010x}")]
    Unaligned(u32),
    /// A division by zero, with CCR.DIV_0_TRP set.
    #[error("division by zero")]
    DivideByZero,
    /// The value in LR or on the stack is not a valid exception return.
    #[error("invalid exception return {0:#010x} in this state")]
    Return(u32),
    /// SVC where its exception cannot be taken.
    #[error("SVC at a priority that does not let its exception in")]
    Supervisor,
}

/// Why a step did not end normally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// A fault. A real core would take HardFault; the machine stops instead.
    Crash(Reason),
    /// BKPT.
    Breakpoint(u8),
    /// The program requested a reset.
    Reset,
}

/// A fault, with the state of the core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The reason.
    pub reason: Reason,
    /// The instruction's address.
    pub pc: u32,
    /// Its first four bytes, where there is memory.
    pub code: Option<u32>,
    /// Registers 0 to 12, SP, LR, PC.
    pub registers: [u32; 16],
    /// The running exception, 0 for none.
    pub exception: u16,
    /// The cycle.
    pub cycle: u64,
}

impl std::error::Error for Crash {}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the program failed at pc {:#010x}: {}",
            self.pc, self.reason
        )?;
        if let Some(code) = self.code {
            write!(f, " (code {:04x} {:04x})", code & 0xffff, code >> 16)?;
        }
        write!(f, "; cycle {}, exception {}", self.cycle, self.exception)?;
        for (n, value) in self.registers.iter().enumerate() {
            let name = ["sp", "lr", "pc"].get(n.wrapping_sub(13));
            let gap = if n % 8 == 0 { "\n  " } else { " " };
            match name {
                Some(name) => write!(f, "{gap}{name} {value:08x}")?,
                None => write!(f, "{gap}r{n} {value:08x}")?,
            }
        }
        Ok(())
    }
}
