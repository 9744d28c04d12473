//! Counts the cycles of each instruction in a range of code, to explain the time of a loop.

/// The cycles of one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Its address.
    pub address: u32,
    /// How often it was executed.
    pub count: u64,
    /// Cycles from each execution to the next instruction: a branch includes its refill, a load its waits, and an
    /// interrupted instruction the interrupt.
    pub cycles: u64,
}

/// The accounting of a range of code.
pub struct CodeAccount {
    start: u32,
    spent: Vec<Spent>,
    /// The index of the executing instruction, and its first cycle.
    open: Option<(usize, u64)>,
}

/// Most bytes that can be watched: the flash.
const MAX_BYTES: u32 = crate::map::FLASH_BYTES;

impl CodeAccount {
    /// An empty account of the code at `start..start + bytes`.
    pub fn new(start: u32, bytes: u32) -> Self {
        let halves = bytes.min(MAX_BYTES).div_ceil(2);
        let place = |n| Spent {
            address: start + 2 * n,
            ..Spent::default()
        };
        Self {
            start,
            spent: (0..halves).map(place).collect(),
            open: None,
        }
    }

    /// Records that the instruction at `pc` begins to execute in `cycle`.
    pub fn note(&mut self, pc: u32, cycle: u64) {
        if let Some((place, since)) = self.open.take() {
            self.spent[place].cycles += cycle - since;
        }
        let place = (pc.wrapping_sub(self.start) / 2) as usize;
        if let Some(spent) = self.spent.get_mut(place) {
            spent.count += 1;
            self.open = Some((place, cycle));
        }
    }

    /// The executed instructions, by address.
    pub fn spent(&self) -> Vec<Spent> {
        self.spent
            .iter()
            .filter(|spent| spent.count > 0)
            .copied()
            .collect()
    }
}
