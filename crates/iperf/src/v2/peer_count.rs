//! The peer's count: a number below the expected one is out of order, and is subtracted from the losses.

/// The count of the peer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PeerCount {
    pub(super) highest: i64,
    pub(super) lost: u64,
    pub(super) out_of_order: u64,
    pub(super) bytes: u64,
}

impl PeerCount {
    /// Take a datagram of a number and its bytes.
    pub(super) fn take(&mut self, id: i64, bytes: u64) {
        // A client that counts from 0 sends the first datagram for its server, which counts the final one instead.
        if id == 0 && self.highest == 0 && self.bytes == 0 {
            return;
        }
        self.bytes += bytes;
        let expected = self.highest.saturating_add(1);
        if id < expected {
            self.out_of_order += 1;
        } else {
            self.lost = self.lost.saturating_add((id - expected) as u64);
            self.highest = id;
        }
    }
}
