//! Faults that a sender makes on purpose, decided beforehand, with a ledger of what was done.
//!
//! [`Schedule::plan`] decides them from rates and a seed, [`Schedule::cursor`] walks them frame by frame,
//! [`Mutation::apply`] damages a built frame, and [`Schedule::ledger`] says what a receiver must find.

mod asked;
mod ledger;
mod plan;

pub use asked::{InjectError, MAX_STEPS};

use wirelab_wire::{header, lfsr};

/// Which emissions of a flow differ from the plain sequence 0, 1, 2, …, in order.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// The differing emissions, ascending by [`Step::emission`].
    pub steps: Vec<Step>,
}

/// One emission that differs. Emission `e` sends `steps[i].sequence` with `mutation` where `e` equals
/// `steps[i].emission`; any other emission sends `e + offset` unchanged, where `offset` is `offset_after` of the
/// last step before it (0 before the first).
///
/// So a step that raises the offset leaves sequences out in front of it, one that lowers it is a second copy of
/// the sequence just sent, and of two swapped frames the first step sends one more and the second one less than
/// `e + offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Number of the emission, counted from 0.
    pub emission: u64,
    /// Sequence it sends.
    pub sequence: u32,
    /// What is done to it.
    pub mutation: Mutation,
    /// What the emissions after it add to their number to get their sequence.
    pub offset_after: i64,
}

/// What is done to one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// Nothing (the step only changes the order).
    None,
    /// Bit 0 to 143 of the test header inverted (bit 0 is the top bit of its first byte).
    HeaderBit(u16),
    /// The frame cut by this many bytes of its LFSR part.
    Truncate(u16),
    /// Content of the sequence this far back.
    Stale(u16),
    /// Bit of the LFSR part inverted (bit 0 is the top bit of its first byte).
    LfsrBit(u32),
}

impl Schedule {
    /// A walk over all emissions from the first on; it never ends.
    pub fn cursor(&self) -> ScheduleCursor<'_> {
        ScheduleCursor {
            rest: &self.steps,
            emission: 0,
            offset: 0,
        }
    }

    /// What emission number `emission` sends, and what is done to it. A search; for a walk use
    /// [`Schedule::cursor`].
    pub fn get(&self, emission: u64) -> (u32, Mutation) {
        let after = self.steps.partition_point(|s| s.emission <= emission);
        match after.checked_sub(1).map(|i| self.steps[i]) {
            Some(step) if step.emission == emission => (step.sequence, step.mutation),
            Some(step) => (plain(emission, step.offset_after) as u32, Mutation::None),
            None => (emission as u32, Mutation::None),
        }
    }
}

/// The sequence that an emission without a step sends, not wrapped.
const fn plain(emission: u64, offset: i64) -> u64 {
    emission.wrapping_add_signed(offset)
}

/// Where a walk over the emissions of a [`Schedule`] is.
#[derive(Clone, Debug)]
pub struct ScheduleCursor<'a> {
    rest: &'a [Step],
    emission: u64,
    offset: i64,
}

impl ScheduleCursor<'_> {
    /// The sequence of the next emission, and what is done to it.
    #[allow(
        clippy::should_implement_trait,
        reason = "the walk never ends, so an Option would be empty talk"
    )]
    pub fn next(&mut self) -> (u32, Mutation) {
        let emission = self.emission;
        self.emission += 1;
        match self.rest.split_first() {
            Some((step, rest)) if step.emission == emission => {
                self.rest = rest;
                self.offset = step.offset_after;
                (step.sequence, step.mutation)
            }
            _ => (plain(emission, self.offset) as u32, Mutation::None),
        }
    }
}

impl Mutation {
    /// Whether a receiver can still read the test header.
    pub const fn keeps_header(self) -> bool {
        !matches!(self, Mutation::HeaderBit(_))
    }

    /// Damage a built frame whose test header lies at `header_offset`, and return the length to send in bytes.
    ///
    /// A cut is counted from the end of the LFSR part, so that padding behind it goes too. Checksums of IP and
    /// UDP stay those of the faultless frame: the fault happens on the way. Bytes that the frame does not have
    /// are left alone.
    pub fn apply(self, frame: &mut [u8], header_offset: usize) -> usize {
        let data = header_offset + header::LEN;
        let length = frame.len();
        let Some(head) = frame.get(header_offset..data) else {
            return length;
        };
        let sequence = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        let lfsr_len = usize::from(u16::from_be_bytes([head[14], head[15]]));
        match self {
            Mutation::None => {}
            Mutation::HeaderBit(bit) => invert(&mut frame[header_offset..data], u32::from(bit)),
            Mutation::LfsrBit(bit) => invert(&mut frame[data..], bit),
            Mutation::Truncate(cut) => {
                return length.min(data + lfsr_len.saturating_sub(usize::from(cut)));
            }
            Mutation::Stale(back) => {
                let len = lfsr_len.min(length - data).min(lfsr::MAX_BYTES);
                let content = lfsr::payload(sequence.wrapping_sub(u32::from(back)), len);
                frame[data..data + len].copy_from_slice(content);
            }
        }
        length
    }
}

fn invert(bytes: &mut [u8], bit: u32) {
    if let Some(byte) = bytes.get_mut(bit as usize / 8) {
        *byte ^= 0x80 >> (bit % 8);
    }
}
