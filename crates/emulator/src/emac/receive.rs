//! The receive side: frames from the wire, the filter's decision, and the DMA that writes data and status.
//!
//! As UM10360 says (chapter 10, receive process): while RECEIVE ENABLE and RxEnable are set, a frame that passes the
//! filter is written into the buffers of the descriptors, byte for byte with its FCS. The status of each fragment (two
//! words) is written after its data and advances RxProduceIndex. A frame that finds no descriptor is an overrun. Runts
//! are dropped without PassRuntFrame.
//!
//! Assumptions where the manual is silent: the receive buffer, which delays frames for the filter, holds
//! [`DELAY_BYTES`]; data are written by [`BURST_BYTES`]; the descriptor is read when the frame is known to be kept. A
//! frame is truncated at MAXF, and marked by a wrong FCS.

use super::descriptors::Ring;
use super::regs::{int, ring, rsv};
use super::wire::{Arrival, PREAMBLE_BYTES, WirePace};
use crate::bus::{BusFault, Master, Masters, Width};
use crate::fcs;

/// Bytes of the receive buffer. Assumption: the smallest frame, so that a runt can be dropped before anything is
/// written.
pub const DELAY_BYTES: usize = 64;
/// Bytes written at once. Assumption: four words, the burst of AHB.
pub const BURST_BYTES: usize = 16;
/// The smallest frame with FCS (IEEE 802.3).
const SMALLEST: usize = 64;

/// The emulator's own counts of received frames, which no register holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmacReceived {
    /// Written to memory, good or bad.
    pub kept: u64,
    /// Of these, with an error other than the harmless RangeError.
    pub bad: u64,
    /// Arrived while the receiver was off.
    pub deaf: u64,
    /// Not accepted by the filter.
    pub filtered: u64,
    /// Shorter than 64 bytes.
    pub runts: u64,
    /// No descriptor was free.
    pub overruns: u64,
    /// Control frames that the MAC did not pass on.
    pub control: u64,
}

/// Receiver settings for a frame.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The speed of the wire.
    pub pace: WirePace,
    /// Whether receiver and channel are on.
    pub on: bool,
    /// PassRuntFrame.
    pub pass_runts: bool,
    /// PassRxFilter.
    pub pass_filter: bool,
    /// PASS ALL RECEIVE FRAMES: includes control frames.
    pub pass_control: bool,
    /// FRAME LENGTH CHECKING.
    pub check_length: bool,
    /// Longest frame, `None` with HUGE FRAME ENABLE.
    pub longest: Option<usize>,
}

/// A frame that is being written.
#[derive(Clone, Debug)]
struct Work {
    start: u64,
    bytes: Vec<u8>,
    written: usize,
    /// The fragment's address, its bytes, and how many of them are written.
    address: u32,
    room: usize,
    filled: usize,
    control: u32,
    open: bool,
    flags: u32,
    at: u64,
}

/// The receive side.
#[derive(Clone, Debug, Default)]
pub struct Receive {
    /// Its registers.
    pub ring: Ring,
    /// RSV of the last frame.
    pub vector: u32,
    /// Counts of received frames.
    pub counts: EmacReceived,
    work: Option<Work>,
}

impl Receive {
    /// Whether a frame is being written.
    pub const fn is_busy(&self) -> bool {
        self.work.is_some()
    }

    /// RxReset: drops a frame in progress and resets the indices.
    pub fn reset(&mut self) {
        self.work = None;
        (self.ring.produce, self.ring.consume) = (0, 0);
    }

    /// The next event of the frame in progress.
    pub fn next_event(&self) -> Option<u64> {
        self.work.as_ref().map(|work| work.at)
    }

    /// When enough of a frame that begins at `start` has arrived to decide on it.
    pub fn decides_at(start: u64, bytes: usize, pace: WirePace) -> u64 {
        start + pace.bytes(PREAMBLE_BYTES + bytes.min(DELAY_BYTES) as u64)
    }

    /// Takes a frame whose first bytes are in the receive buffer at `now`; returns interrupt bits.
    pub fn take(
        &mut self,
        frame: Arrival,
        start: u64,
        now: u64,
        set: &Settings,
        passes: bool,
    ) -> u32 {
        if !set.on {
            self.counts.deaf += 1;
            return 0;
        }
        if frame.bytes.len() < SMALLEST && !set.pass_runts {
            self.counts.runts += 1;
            return 0;
        }
        let mut flags = self.judge(&frame, set);
        if flags & (ring::RX_CONTROL | ring::RX_CRC) == ring::RX_CONTROL && !set.pass_control {
            self.counts.control += 1;
            return 0;
        }
        if !passes && !set.pass_filter {
            self.counts.filtered += 1;
            return 0;
        }
        if self.ring.is_full() {
            self.counts.overruns += 1;
            return int::RX_OVERRUN;
        }
        if !passes {
            flags |= ring::RX_FAIL_FILTER;
        }
        let mut bytes = frame.bytes;
        bytes.truncate(set.longest.unwrap_or(usize::MAX));
        self.work = Some(Work {
            start,
            bytes,
            written: 0,
            address: 0,
            room: 0,
            filled: 0,
            control: 0,
            open: false,
            flags,
            at: now,
        });
        0
    }

    /// The flags of the status of the last fragment, and RSV.
    fn judge(&mut self, frame: &Arrival, set: &Settings) -> u32 {
        let bytes = &frame.bytes;
        let too_long = set.longest.is_some_and(|longest| bytes.len() > longest);
        let right = fcs::is_right(bytes) && !too_long;
        let field = bytes
            .get(12..14)
            .map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
        let data = bytes.len().saturating_sub(18);
        let padded = data == 46 && usize::from(field) < 46;
        let length = set.check_length && field <= 1500 && usize::from(field) != data && !padded;
        let group = bytes.first().is_some_and(|byte| byte & 1 == 1);
        let broadcast = bytes.starts_with(&[0xFF; 6]);
        let marks = [
            (!right, ring::RX_CRC, rsv::CRC),
            (frame.symbol_error, ring::RX_SYMBOL, rsv::SYMBOL),
            (frame.dribble, ring::RX_ALIGNMENT, rsv::DRIBBLE),
            (length, ring::RX_LENGTH, rsv::LENGTH),
            // The MAC takes a type for a length out of range; drivers mask it (UM10360, table 179, note).
            (field > 1500, ring::RX_RANGE, rsv::RANGE),
            (broadcast, ring::RX_BROADCAST, rsv::BROADCAST),
            (group && !broadcast, ring::RX_MULTICAST, rsv::MULTICAST),
            (field == 0x8808, ring::RX_CONTROL, rsv::CONTROL),
            (field == 0x8100, ring::RX_VLAN, rsv::VLAN),
            (right && !frame.symbol_error, 0, rsv::OK),
        ];
        let set = marks.iter().filter(|(is, ..)| *is);
        let (flags, vector) = set.fold((0, 0), |(a, b), (_, flag, bit)| (a | flag, b | bit));
        self.vector = vector | bytes.len() as u32 & 0xFFFF;
        flags
    }

    /// Does everything that is due up to `now`; returns interrupt bits.
    pub fn run(&mut self, now: u64, set: &Settings, bus: &mut dyn Masters) -> u32 {
        let mut raised = 0;
        while let Some(mut work) = self.work.take() {
            if work.at > now {
                self.work = Some(work);
                break;
            }
            match self.step(&mut work, set, bus) {
                Ok(ReceiveStep::More) => self.work = Some(work),
                Ok(ReceiveStep::Raised(bits)) => {
                    raised |= bits;
                    self.work = Some(work);
                }
                Ok(ReceiveStep::Done(bits)) => raised |= bits,
                Err(_) => {
                    // The bus refused: the frame is lost, and the driver sees an overrun.
                    self.counts.overruns += 1;
                    raised |= int::RX_OVERRUN;
                }
            }
        }
        raised
    }

    fn step(
        &mut self,
        work: &mut Work,
        set: &Settings,
        bus: &mut dyn Masters,
    ) -> Result<ReceiveStep, BusFault> {
        if !work.open {
            return self.open(work, bus).map(|()| ReceiveStep::More);
        }
        let rest = work.bytes.len() - work.written;
        if rest == 0 || work.filled == work.room {
            return self.close(work, rest == 0, bus);
        }
        let burst = BURST_BYTES.min(rest).min(work.room - work.filled);
        let there = work.start
            + set
                .pace
                .bytes(PREAMBLE_BYTES + (work.written + burst) as u64);
        if there > work.at {
            work.at = there;
            return Ok(ReceiveStep::More);
        }
        let mut left = &work.bytes[work.written..work.written + burst];
        while !left.is_empty() {
            let (width, taken) = match (work.address % 4, left.len()) {
                (0, 4..) => (Width::Word, 4),
                (0 | 2, 2..) => (Width::Half, 2),
                _ => (Width::Byte, 1),
            };
            let mut word = [0; 4];
            word[..taken].copy_from_slice(&left[..taken]);
            let value = u32::from_le_bytes(word);
            work.at = bus.write(Master::Emac, work.address, width, value, work.at)?;
            work.address = work.address.wrapping_add(taken as u32);
            left = &left[taken..];
        }
        work.written += burst;
        work.filled += burst;
        Ok(ReceiveStep::More)
    }

    fn open(&mut self, work: &mut Work, bus: &mut dyn Masters) -> Result<(), BusFault> {
        let index = self.ring.produce.wrapping_mul(8);
        let place = self.ring.descriptor.wrapping_add(index);
        let (packet, done) = bus.read32(Master::Emac, place, work.at)?;
        let (control, done) = bus.read32(Master::Emac, place.wrapping_add(4), done)?;
        (work.address, work.control, work.at) = (packet, control, done);
        work.room = (control & ring::SIZE) as usize + 1;
        (work.filled, work.open) = (0, true);
        Ok(())
    }

    /// Writes the status of a fragment; `last` where it ends the frame.
    fn close(
        &mut self,
        work: &mut Work,
        last: bool,
        bus: &mut dyn Masters,
    ) -> Result<ReceiveStep, BusFault> {
        let next = self.ring.after(self.ring.produce);
        // There is no descriptor for the rest of the frame.
        let starved = !last && self.ring.after(next) == self.ring.consume;
        let mut status = (work.filled as u32).saturating_sub(1) & ring::SIZE;
        if last {
            status |= work.flags | ring::LAST;
        }
        if starved {
            status |= ring::RX_NO_DESCRIPTOR | ring::RX_OVERRUN | ring::LAST;
        }
        let errors = status & ERRORS;
        if errors != 0 {
            status |= ring::ERROR;
        }
        let index = self.ring.produce.wrapping_mul(8);
        let place = self.ring.status.wrapping_add(index);
        let done = bus.write32(Master::Emac, place, status, work.at)?;
        let hash = hash_word(&work.bytes);
        work.at = bus.write32(Master::Emac, place.wrapping_add(4), hash, done)?;
        self.ring.produce = next;
        work.open = false;
        let mut raised = 0;
        if work.control & ring::INTERRUPT != 0 {
            raised |= int::RX_DONE;
        }
        if errors != 0 {
            raised |= int::RX_ERROR;
        }
        if next == self.ring.consume {
            raised |= int::RX_FINISHED;
        }
        if starved {
            self.counts.overruns += 1;
            return Ok(ReceiveStep::Done(raised | int::RX_OVERRUN));
        }
        if last {
            self.counts.kept += 1;
            self.counts.bad += u64::from(errors & !ring::RX_RANGE != 0);
            return Ok(ReceiveStep::Done(raised));
        }
        Ok(ReceiveStep::Raised(raised))
    }
}

/// The Error bit is the OR of these (UM10360, table 179).
const ERRORS: u32 = ring::RX_ALIGNMENT
    | ring::RX_RANGE
    | ring::RX_LENGTH
    | ring::RX_SYMBOL
    | ring::RX_CRC
    | ring::RX_OVERRUN
    | ring::RX_NO_DESCRIPTOR;

enum ReceiveStep {
    More,
    Raised(u32),
    Done(u32),
}

/// The second status word: hashes of source and destination (UM10360, table 178).
fn hash_word(bytes: &[u8]) -> u32 {
    let of = |range: std::ops::Range<usize>| {
        let address = bytes.get(range).and_then(|b| b.try_into().ok());
        address.map_or(0, fcs::hash_bits)
    };
    of(6..12) | of(0..6) << 16
}
