//! The timing rules, each in one place with its source. All values are CPU cycles. "TRM" is ARM DDI 0337I, the
//! Cortex-M3's manual; "UM" is NXP UM10360, the LPC176x's.
//!
//! The core works in phases. A load or store has an address phase in the first cycle of its execution and a data phase
//! in a later one. A fetch has a data phase, is decoded in the next cycle and executed in the one after. The rules of
//! pairing, stalls and refills follow from the phases that may share a cycle (`pipeline`).

/// Cycles from the data phase of an instruction's last halfword to its execution: it is decoded between them
/// (TRM 1.1, three stages; ARM's article KA 8521 shows the same).
pub const FETCH_TO_EXECUTE: u64 = 2;

/// Words in the prefetch unit (DDI 0337G, 1.4).
pub const PREFETCH_WORDS: usize = 3;

/// The data phase of a branch target, in cycles after the branch's own cycle. With [`FETCH_TO_EXECUTE`] these give the
/// manual's P = 1 to 3 (TRM table 3-1); a 32-bit target across two words costs one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refill {
    /// The target is sent to the bus while the branch is decoded: PC-relative branches, and those through LR (DDI
    /// 0337G, 1.5 and 15.3). P = 1.
    Decode,
    /// The target is sent while the branch executes: CBZ, other registers (DDI 0337G, 15.3). P = 2.
    Execute,
    /// The target is the result of a load or an addition and is sent in the next cycle: LDR PC, TBB (TRM 3.3.2, "three
    /// cycles for the pipeline reload"). P = 3.
    Loaded,
}

impl Refill {
    /// Cycles from the branch's last own cycle to the data phase of its target: P - 1.
    pub const fn data_phase(self) -> u64 {
        match self {
            Self::Decode => 0,
            Self::Execute => 1,
            Self::Loaded => 2,
        }
    }
}

/// The addition in TBB and TBH, between the load's two cycles and the reload (TRM 3.3.2).
pub const TABLE_ADD: u64 = 1;

/// Cycles that a load or store waits where its address is from the data processing instruction just before (TRM 3.3.2:
/// no forwarding path).
pub const ADDRESS_STALL: u64 = 1;

/// Cycles of MLA and MLS (TRM table 3-1).
pub const MULTIPLY_ADD: u64 = 2;

/// Cycles of MRS and MSR (TRM table 3-1).
pub const SPECIAL: u64 = 2;

/// Cycles of a barrier other than ISB (TRM table 3-1: 1 + B with B at least 0; no document gives B).
pub const BARRIER: u64 = 1;

/// From the cycle in which an exception is recognized to its handler's first instruction, without wait states (TRM 3.9,
/// "Exceptions": 12 cycles).
pub const EXCEPTION_ENTRY: u64 = 12;

/// From a handler's end to the next handler's first instruction (the same: 6 cycles).
pub const TAIL_CHAIN: u64 = 6;

/// From a handler's return to the first instruction of the interrupted code, including the return. Assumption: the
/// manual has no figure; eight words are unstacked while the pipeline refills, which takes as long as stacking.
pub const EXCEPTION_RETURN: u64 = 12;

/// Cycles of SDIV and UDIV. The manual gives the bounds 2 and 12 and says that leading zeros and ones end it early (TRM
/// table 3-1, note b). Assumption for what lies between: four bits of quotient per cycle.
pub const fn divide(dividend: u32, divisor: u32) -> u64 {
    if divisor == 0 || dividend < divisor {
        return 2;
    }
    let bits = divisor.leading_zeros() - dividend.leading_zeros() + 1;
    4 + bits.div_ceil(4) as u64
}

/// Cycles of UMULL and SMULL (3 to 5) and of UMLAL and SMLAL (4 to 7). The manual gives the bounds and says that the
/// sizes of the values decide (TRM table 3-1, note a). Assumption: a value of more than 16 bits costs one more, and
/// with an addition another one if both have.
pub const fn multiply_long(a: u32, b: u32, signed: bool, add: bool) -> u64 {
    let large = large(a, signed) as u64 + large(b, signed) as u64;
    match add {
        false => 3 + large,
        true => 4 + large + large / 2,
    }
}

const fn large(value: u32, signed: bool) -> bool {
    if signed {
        value as i32 as i64 != value as i16 as i64
    } else {
        value > 0xffff
    }
}

/// How long one CPU access occupies a memory: SRAM has no wait states (UM 1.6 calls the local SRAM one "for
/// high-performance CPU access" and gives no wait states for either).
pub const CPU_ACCESS: u32 = 1;

/// How long one access of a DMA master occupies a memory: NXP approximates the raw bandwidth of the AHB by 4 bytes in
/// two system clocks (UM10237). That is the manual of the LPC24xx, which has the same Ethernet block and a similar DMA.
pub const DMA_ACCESS: u32 = 2;

/// Cycles of a read from an APB peripheral. Assumption: the bridge's two phases at half the clock. The bridge buffers
/// writes (UM 1.6), so they cost the same as a write to memory.
pub const APB_READ: u32 = 4;

/// Additional cycles of a fetch over the system bus, which registers it, so that fetches are never back to back (TRM
/// 6.3, "Pipelined instruction fetches").
pub const SYSTEM_BUS_FETCH: u64 = 1;

/// CPU cycles of one access to the flash array: FLASHTIM + 1 (UM 5.4). The register's reset value gives 4.
pub const fn flash_access(flashcfg: u32) -> u64 {
    (flashcfg >> 12 & 15) as u64 + 1
}

/// FLASHCFG after reset (UM 5.4).
pub const FLASHCFG_RESET: u32 = 0x303a;

/// 128-bit lines that the flash accelerator buffers (UM 5.3).
pub const FLASH_BUFFERS: usize = 8;
