//! Faults that a sender makes on purpose, decided beforehand, with a ledger of what was done.

/// Which emissions of a flow differ from the plain sequence 0, 1, 2, …, in order.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// The differing emissions, ascending by [`Step::emission`].
    pub steps: Vec<Step>,
}

/// One emission that differs. Emission `e` sends `steps[i].sequence` with `mutation` where `e` equals
/// `steps[i].emission`; any other emission sends `e + offset` unchanged, where `offset` is `offset_after` of the
/// last step before it (0 before the first).
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
