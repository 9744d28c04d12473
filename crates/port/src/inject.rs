//! Faults that a sender makes on purpose, decided beforehand, with a ledger of them.
//!
//! [`Schedule::plan`] decides them from rates and a seed, [`Schedule::cursor`] walks them frame by frame,
//! [`Mutation::apply`] damages a built frame, and [`Schedule::ledger`] counts what a receiver must find.

mod ledger;
mod limits;
mod plan;

pub use limits::{InjectError, MAX_STEPS};

use wirelab_wire::{header, lfsr};

/// Which emissions of a flow differ from the plain sequence 0, 1, 2, …, in order.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// The differing emissions, ascending by [`ChangedEmission::emission`].
    pub steps: Vec<ChangedEmission>,
}

/// One emission that differs. Emission `e` sends `steps[i].sequence` with `mutation` if `e` equals
/// `steps[i].emission`. Any other emission sends `e + offset` unchanged, where `offset` is `offset_after` of the last
/// step before it (0 before the first).
///
/// A step that raises the offset leaves out the sequences before it. A step that lowers it sends a second copy of the
/// sequence just sent. Of two swapped frames, the first step sends one more and the second one less than `e +
/// offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedEmission {
    /// Number of the emission, counted from 0.
    pub emission: u64,
    /// The sequence number that it sends.
    pub sequence: u32,
    /// How its frame is changed.
    pub mutation: Mutation,
    /// Later emissions add this to their number to get their sequence.
    pub offset_after: i64,
}

/// A change of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// None: the step only changes the order.
    None,
    /// Inverts bit 0 to 143 of the test header (bit 0 is the top bit of its first byte).
    HeaderBit(u16),
    /// Cuts this many bytes of the LFSR part.
    Truncate(u16),
    /// The content of the sequence this far back.
    Stale(u16),
    /// Inverts a bit of the LFSR part (bit 0 is the top bit of its first byte).
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

    /// The sequence of emission number `emission`, and its change. This searches; for a walk use
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

/// The sequence of an emission without a step, not wrapped.
const fn plain(emission: u64, offset: i64) -> u64 {
    emission.wrapping_add_signed(offset)
}

/// The position of a walk over the emissions of a [`Schedule`].
#[derive(Clone, Debug)]
pub struct ScheduleCursor<'a> {
    rest: &'a [ChangedEmission],
    emission: u64,
    offset: i64,
}

impl ScheduleCursor<'_> {
    /// The sequence of the next emission, and its change.
    #[allow(
        clippy::should_implement_trait,
        reason = "the walk never ends, so an Option would always be Some"
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

    /// Damage a built frame with its test header at `header_offset`, and return the length to send in bytes.
    ///
    /// A cut counts from the end of the LFSR part, so the padding after it goes too. The checksums of IP and UDP stay
    /// those of the faultless frame, because the fault stands for one on the path. Offsets beyond the frame change
    /// nothing.
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
