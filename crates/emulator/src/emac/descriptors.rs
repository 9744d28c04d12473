//! The registers of a descriptor ring, the same for both directions.

/// Where descriptors and statuses are, their number, and the indices of producer and consumer (UM10360, chapter 10:
/// RxDescriptor to RxConsumeIndex, TxDescriptor to TxConsumeIndex).
#[derive(Clone, Debug, Default)]
pub struct Ring {
    /// RxDescriptor, TxDescriptor.
    pub descriptor: u32,
    /// RxStatus, TxStatus.
    pub status: u32,
    /// RxDescriptorNumber, TxDescriptorNumber: number of descriptors minus 1.
    pub number: u32,
    /// RxProduceIndex, TxProduceIndex.
    pub produce: u32,
    /// RxConsumeIndex, TxConsumeIndex.
    pub consume: u32,
}

impl Ring {
    /// The next index.
    pub const fn after(&self, index: u32) -> u32 {
        if index >= self.number { 0 } else { index + 1 }
    }

    /// Whether the ring is full.
    pub const fn is_full(&self) -> bool {
        self.after(self.produce) == self.consume
    }
}
