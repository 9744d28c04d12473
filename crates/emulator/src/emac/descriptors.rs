//! The registers of a ring of descriptors, alike for both directions.

/// Where descriptors and statuses lie, how many, and how far producer and consumer are (UM10360, chapter 10: RxDescriptor
/// to RxConsumeIndex, TxDescriptor to TxConsumeIndex).
#[derive(Clone, Debug, Default)]
pub struct Ring {
    /// RxDescriptor, TxDescriptor.
    pub descriptor: u32,
    /// RxStatus, TxStatus.
    pub status: u32,
    /// RxDescriptorNumber, TxDescriptorNumber: descriptors less one.
    pub number: u32,
    /// RxProduceIndex, TxProduceIndex.
    pub produce: u32,
    /// RxConsumeIndex, TxConsumeIndex.
    pub consume: u32,
}

impl Ring {
    /// The index that follows.
    pub const fn after(&self, index: u32) -> u32 {
        if index >= self.number { 0 } else { index + 1 }
    }

    /// Whether the producer has no place left.
    pub const fn is_full(&self) -> bool {
        self.after(self.produce) == self.consume
    }
}
