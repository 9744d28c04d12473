//! A table of decoded instructions. The key is the code, so self-modifying code needs no special treatment.

use super::inst::{Inst, Op};
use super::{decode16, decode32};
use std::sync::OnceLock;

/// Cached 32-bit instructions; a power of two.
const WIDE: usize = 4096;

/// All instructions of 16 bits.
static NARROW: OnceLock<Vec<Inst>> = OnceLock::new();

/// The decoded instructions.
pub struct DecodedCode {
    narrow: &'static [Inst],
    /// Some instructions of 32 bits, indexed by a hash of their code.
    wide: Vec<(u32, Inst)>,
}

impl Default for DecodedCode {
    fn default() -> Self {
        let undefined = Inst::new(Op::Undefined, true);
        let narrow = || {
            (0..=u16::MAX)
                .map(|code| Inst::new(decode16::decode(code), false))
                .collect()
        };
        Self {
            narrow: NARROW.get_or_init(narrow),
            wide: vec![(0, undefined); WIDE],
        }
    }
}

impl DecodedCode {
    /// The instruction of 16 bits.
    pub fn narrow(&self, code: u16) -> Inst {
        self.narrow[code as usize]
    }

    /// The instruction of 32 bits.
    pub fn wide(&mut self, code: u32) -> Inst {
        let place = (code ^ code >> 16).wrapping_mul(0x9e37_79b1) as usize >> 20 & (WIDE - 1);
        let slot = &mut self.wide[place];
        if slot.0 != code {
            *slot = (code, Inst::new(decode32::decode(code), true));
        }
        slot.1
    }
}
