//! The frames in flight: reusable slots, with the start times of watches.

/// Stands for no frame, stage or other index.
pub const NONE: u32 = u32::MAX;
/// Stands for a watch that has not begun. Its bytes are not all equal, so filling a few of them needs no call of
/// `memset`, which took a third of the time.
const NOT_YET: u64 = u64::MAX - 1;

/// A frame in flight.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Its number within its chain.
    pub id: u64,
    /// When its first stage started on it, in ps.
    pub start_ps: u64,
    /// Number of tokens of this frame; more than one after a branch.
    tokens: u32,
}

/// All frames in flight.
#[derive(Debug, Default)]
pub struct Frames {
    slots: Vec<Frame>,
    free: Vec<u32>,
    watches: usize,
    begun_ps: Vec<u64>,
    /// Frames that one firing took together.
    batches: Vec<Vec<u32>>,
    free_batches: Vec<u32>,
}

impl Frames {
    /// An empty set, for this number of watches.
    pub fn new(watches: usize) -> Frames {
        Frames {
            watches,
            ..Frames::default()
        }
    }

    /// Frames in flight.
    #[inline]
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// A new frame as one token.
    #[inline]
    pub fn make(&mut self, id: u64, start_ps: u64) -> u32 {
        let frame = Frame {
            id,
            start_ps,
            tokens: 1,
        };
        let Some(slot) = self.free.pop() else {
            self.slots.push(frame);
            self.begun_ps
                .resize(self.slots.len() * self.watches, NOT_YET);
            return self.slots.len() as u32 - 1;
        };
        self.slots[slot as usize] = frame;
        let first = slot as usize * self.watches;
        self.begun_ps[first..first + self.watches].fill(NOT_YET);
        slot
    }

    /// The frame in a slot.
    #[inline]
    pub fn get(&self, slot: u32) -> Frame {
        self.slots[slot as usize]
    }

    /// Replaces one token of a frame by `outputs` tokens; a frame without tokens is removed.
    #[inline]
    pub fn split(&mut self, slot: u32, outputs: u32) {
        let frame = &mut self.slots[slot as usize];
        frame.tokens = frame.tokens + outputs - 1;
        if frame.tokens == 0 {
            self.free.push(slot);
        }
    }

    /// Starts a watch for a frame.
    pub fn begin(&mut self, slot: u32, watch: usize, now_ps: u64) {
        self.begun_ps[slot as usize * self.watches + watch] = now_ps;
    }

    /// The time since a watch began, if it did.
    pub fn since(&self, slot: u32, watch: usize, now_ps: u64) -> Option<u64> {
        let begun = self.begun_ps[slot as usize * self.watches + watch];
        (begun != NOT_YET).then(|| now_ps - begun)
    }

    /// Keeps frames together until [`Frames::end_batch`].
    pub fn batch(&mut self, frames: impl Iterator<Item = u32>) -> u32 {
        let index = self.free_batches.pop().unwrap_or_else(|| {
            self.batches.push(Vec::new());
            self.batches.len() as u32 - 1
        });
        self.batches[index as usize].extend(frames);
        index
    }

    /// One frame of a batch.
    #[inline]
    pub fn of_batch(&self, batch: u32, index: u32) -> u32 {
        self.batches[batch as usize][index as usize]
    }

    /// Splits a batch into its frames.
    pub fn end_batch(&mut self, batch: u32) {
        self.batches[batch as usize].clear();
        self.free_batches.push(batch);
    }
}
