//! What the impairer did, and what it lost by itself.

/// Most single events that are listed in each direction; counts go on beyond.
pub const MOST_EVENTS: usize = 1 << 20;

/// One thing done to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It was not forwarded.
    Dropped,
    /// It was forwarded twice.
    Duplicated,
    /// It was forwarded after its successor.
    Swapped,
    /// It was held for a swap, but no other frame came in time, so it went on in its place.
    SwapExpired,
    /// A bit was inverted.
    BitError {
        /// Which: bit 0 is the top bit of the first byte of the destination address.
        bit: u32,
    },
    /// It was delayed.
    Delayed {
        /// By how much at least, in picoseconds.
        ps: u64,
    },
}

/// One event of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The frame's number, see the module.
    pub frame: u64,
    /// What was done to it.
    pub action: Action,
}

/// Frames that the impairer lost without meaning to. Any of these makes its ledger incomplete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnLoss {
    /// Its receive buffer was full (`tp_drops` of PACKET_STATISTICS), or still held them when it was stopped.
    pub ring_frames: u64,
    /// Too many frames waited to go on.
    pub queue_frames: u64,
    /// The port refused to send them.
    pub send_frames: u64,
    /// They were longer than a frame can be here, or many frames in one (segmentation offload was on).
    pub oversize_frames: u64,
}

impl OwnLoss {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.ring_frames + self.queue_frames + self.send_frames + self.oversize_frames
    }
}

/// What was done one way. All counts are frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectionReport {
    /// Received and subject to impairment; each has a number.
    pub received_frames: u64,
    /// Received and not subject to impairment (another EtherType); forwarded as they were.
    pub untouched_frames: u64,
    /// Dropped on purpose.
    pub dropped_frames: u64,
    /// Forwarded twice.
    pub duplicated_frames: u64,
    /// Forwarded after their successor.
    pub swapped_frames: u64,
    /// Held for a swap that did not come about.
    pub swap_expired_frames: u64,
    /// Damaged.
    pub damaged_frames: u64,
    /// Delayed.
    pub delayed_frames: u64,
    /// Sent, copies included.
    pub sent_frames: u64,
    /// Lost by the impairer itself.
    pub own_loss: OwnLoss,
    /// Every single thing done, if [`super::ImpairSpec::record`] was set, in the order of frames; at most
    /// [`MOST_EVENTS`].
    pub events: Vec<Event>,
    /// Events that did not fit.
    pub events_omitted: u64,
    /// What the port said to the last frame that it refused to send, if it refused any.
    pub refusal: Option<String>,
    /// What the receiving port said if it went down or away meanwhile; what arrived then is not known.
    pub failure: Option<String>,
}

impl DirectionReport {
    /// Whether nothing is missing: the impairer lost no frame by itself, ran to the end, and sent what it
    /// received, less what it dropped, plus its copies.
    pub fn is_complete(&self) -> bool {
        self.own_loss == OwnLoss::default() && self.failure.is_none() && self.balances()
    }

    /// The count identity: received + untouched + duplicated = sent + dropped + lost after reception. Frames
    /// that did not fit the receive buffer or a frame were never received.
    pub fn balances(&self) -> bool {
        let lost = self.own_loss.queue_frames + self.own_loss.send_frames;
        self.received_frames + self.untouched_frames + self.duplicated_frames
            == self.sent_frames + self.dropped_frames + lost
    }

    pub(super) fn note(&mut self, record: bool, frame: u64, action: Action) {
        match action {
            Action::Dropped => self.dropped_frames += 1,
            Action::Duplicated => self.duplicated_frames += 1,
            Action::Swapped => self.swapped_frames += 1,
            Action::SwapExpired => self.swap_expired_frames += 1,
            // Counted per frame by the engine: one frame may have many of them.
            Action::BitError { .. } => {}
            Action::Delayed { .. } => self.delayed_frames += 1,
        }
        if !record {
            return;
        }
        if self.events.len() < MOST_EVENTS {
            self.events.push(Event { frame, action });
        } else {
            self.events_omitted += 1;
        }
    }

    /// Swaps are noted when they come about, which is later than what was noted for the frames in between.
    pub(super) fn sort(&mut self) {
        self.events.sort_by_key(|event| event.frame);
    }
}

/// What was done in both directions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImpairReport {
    /// From the first port to the second.
    pub forward: DirectionReport,
    /// From the second port to the first.
    pub backward: DirectionReport,
}

impl ImpairReport {
    /// Whether nothing is missing either way, see [`DirectionReport::is_complete`].
    pub fn is_complete(&self) -> bool {
        self.forward.is_complete() && self.backward.is_complete()
    }
}
