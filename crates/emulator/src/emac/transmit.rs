//! The transmit side: descriptors, the DMA that fetches frame data, the FIFO, and the MAC that sends frames.
//!
//! As UM10360 says (chapter 10, transmit process): while TxEnable is set and produce and consume index differ, the DMA
//! manager reads a descriptor (two words), then its data. The status of a fragment is written when its data are
//! accepted, that of the last fragment when the frame has been sent. Each status advances TxConsumeIndex. An AHB access
//! takes the time that the matrix gives (two clocks without contention).
//!
//! Assumptions where the manual is silent: the FIFO holds [`FIFO_BYTES`], is filled by [`BURST_BYTES`], and the MAC
//! begins when it holds [`START_BYTES`]; the next descriptor is read when the status before it is written, not ahead.

use super::descriptors::Ring;
use super::regs::{int, mac2, ring, tsv0};
use super::wire::{CYCLE_PS, MOST_FRAME_BYTES, PREAMBLE_BYTES, SentFrame, WirePace};
use crate::bus::{BusFault, Master, Masters};
use crate::fcs;

/// Bytes of the transmit FIFO. Assumption: the 64 bytes that may have to be sent again after a collision (IEEE 802.3,
/// slot time), which the retry module of the block diagram must hold.
pub const FIFO_BYTES: u64 = 64;
/// Bytes fetched at once. Assumption: four words, the burst of AHB.
pub const BURST_BYTES: u64 = 16;
/// Bytes in the FIFO at which the MAC begins. Assumption: one burst.
pub const START_BYTES: u64 = 16;
/// Most frames that are kept until they are taken: software that only sends must not fill the host's memory.
pub const MOST_SENT: usize = 65_536;
/// A frame's smallest length without FCS, to which it is padded (IEEE 802.3, 3.2.8).
const SMALLEST: usize = 60;

/// Transmitter settings for a frame.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// MAC2.
    pub mac2: u32,
    /// MAXF: the length from which a frame is a giant.
    pub maxf: u32,
    /// The speed of the wire.
    pub pace: WirePace,
    /// Nibbles from the end of a frame to the start of the next.
    pub gap_nibbles: u64,
}

/// The next action of the DMA, and its earliest cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransmitStep {
    /// Nothing to do.
    Idle,
    /// Read the descriptor.
    Descriptor { at: u64 },
    /// Fetch data of the fragment.
    Data { at: u64 },
    /// Write the fragment's status.
    Status { at: u64 },
}

/// The transmit side.
#[derive(Clone, Debug)]
pub struct Transmit {
    /// Its registers.
    pub ring: Ring,
    /// TSV0 and TSV1 of the last frame.
    pub vectors: [u32; 2],
    /// Sent frames, until they are taken.
    pub sent: Vec<SentFrame>,
    enabled: bool,
    step: TransmitStep,
    /// The fragment in progress: control word, next address, bytes left.
    control: u32,
    address: u32,
    left: u64,
    /// Data of the frame so far, and the cycle its preamble began.
    frame: Vec<u8>,
    started: Option<u64>,
    underrun: bool,
    broken: bool,
    /// The cycle from which the wire is free for a frame.
    free: u64,
}

impl Default for Transmit {
    fn default() -> Transmit {
        Transmit {
            ring: Ring::default(),
            vectors: [0; 2],
            sent: Vec::new(),
            enabled: false,
            step: TransmitStep::Idle,
            control: 0,
            address: 0,
            left: 0,
            frame: Vec::new(),
            started: None,
            underrun: false,
            broken: false,
            free: 0,
        }
    }
}

impl Transmit {
    /// Whether the channel is active, as in Status: enabled and working, or a frame is still being sent.
    pub fn is_active(&self) -> bool {
        self.enabled || self.step != TransmitStep::Idle
    }

    /// Handles a write to TxEnable; a frame in progress is finished even after a disable. Returns interrupt bits.
    pub fn enable(&mut self, on: bool, now: u64) -> u32 {
        let rises = on && !self.enabled;
        self.enabled = on;
        self.wake(now);
        // UM10360, chapter 10, transmit example: enabled with nothing to send, TxFinished is set.
        let empty = self.ring.produce == self.ring.consume;
        if rises && empty { int::TX_FINISHED } else { 0 }
    }

    /// Handles a write to TxProduceIndex.
    pub fn produce(&mut self, index: u32, now: u64) {
        self.ring.produce = index & 0xFFFF;
        self.wake(now);
    }

    /// TxReset: drops the frame in progress and resets the indices.
    pub fn reset(&mut self) {
        let sent = std::mem::take(&mut self.sent);
        let mut ring = std::mem::take(&mut self.ring);
        (ring.produce, ring.consume) = (0, 0);
        let (enabled, free) = (self.enabled, self.free);
        *self = Transmit {
            sent,
            ring,
            enabled,
            free,
            ..Transmit::default()
        };
    }

    /// Starts no frame before `until`, for a pause frame.
    pub fn hold(&mut self, until: u64) {
        self.free = self.free.max(until);
    }

    fn wake(&mut self, now: u64) {
        if self.step == TransmitStep::Idle && self.enabled && self.ring.produce != self.ring.consume
        {
            self.step = TransmitStep::Descriptor { at: now };
        }
    }

    /// When [`Transmit::run`] has something to do.
    pub fn next_event(&self) -> Option<u64> {
        match self.step {
            TransmitStep::Idle => None,
            TransmitStep::Descriptor { at }
            | TransmitStep::Data { at }
            | TransmitStep::Status { at } => Some(at),
        }
    }

    /// Does everything that is due up to `now`; returns interrupt bits.
    pub fn run(&mut self, now: u64, set: &Settings, bus: &mut dyn Masters) -> u32 {
        let mut raised = 0;
        loop {
            match self.step {
                TransmitStep::Descriptor { at } if at <= now => {
                    if self.read_descriptor(at, bus).is_err() {
                        self.broken = true;
                        self.end(at, set);
                    }
                }
                TransmitStep::Data { at } if at <= now => {
                    if self.fetch(at, set, bus).is_err() {
                        self.broken = true;
                        self.end(at, set);
                    }
                }
                TransmitStep::Status { at } if at <= now => raised |= self.write_status(at, bus),
                _ => return raised,
            }
        }
    }

    fn read_descriptor(&mut self, at: u64, bus: &mut dyn Masters) -> Result<(), BusFault> {
        let place = self
            .ring
            .descriptor
            .wrapping_add(self.ring.consume.wrapping_mul(8));
        let (packet, done) = bus.read32(Master::Emac, place, at)?;
        let (control, done) = bus.read32(Master::Emac, place.wrapping_add(4), done)?;
        (self.address, self.control) = (packet, control);
        self.left = u64::from(control & ring::SIZE) + 1;
        self.step = TransmitStep::Data { at: done };
        Ok(())
    }

    /// Fetches one burst. Data are read by words; bytes outside an unaligned start or end are dropped.
    fn fetch(&mut self, at: u64, set: &Settings, bus: &mut dyn Masters) -> Result<(), BusFault> {
        let (mut done, mut budget) = (at, BURST_BYTES);
        while self.left > 0 && budget > 0 {
            let skip = u64::from(self.address % 4);
            let (word, there) = bus.read32(Master::Emac, self.address & !3, done)?;
            let take = (4 - skip).min(self.left);
            let bytes = word.to_le_bytes();
            if self.is_late(there, set) {
                self.underrun = true;
            }
            self.frame
                .extend_from_slice(&bytes[skip as usize..(skip + take) as usize]);
            self.address = self.address.wrapping_add(take as u32);
            self.left -= take;
            budget = budget.saturating_sub(4);
            done = there;
        }
        let last = self.left == 0 && self.control & ring::LAST != 0;
        let in_fifo = self.frame.len() as u64;
        if self.started.is_none() && (in_fifo >= START_BYTES || last) {
            self.started = Some(set.pace.edge(done.max(self.free)));
        }
        // The frame continues in a descriptor that does not exist, so the FIFO runs empty.
        let starved =
            self.left == 0 && !last && self.ring.after(self.ring.consume) == self.ring.produce;
        self.broken |= starved || self.frame.len() > MOST_FRAME_BYTES;
        if self.underrun || self.broken || last {
            self.end(done, set);
        } else if self.left == 0 {
            self.step = TransmitStep::Status { at: done };
        } else {
            self.step = TransmitStep::Data {
                at: done.max(self.room(set)),
            };
        }
        Ok(())
    }

    /// Whether a word that arrives at `done` is too late for the wire.
    fn is_late(&self, done: u64, set: &Settings) -> bool {
        let byte = self.frame.len() as u64;
        self.started
            .is_some_and(|start| done > start + set.pace.bytes(PREAMBLE_BYTES + byte))
    }

    /// The cycle in which the FIFO has room for a burst.
    fn room(&self, set: &Settings) -> u64 {
        let wanted = self.frame.len() as u64 + BURST_BYTES;
        let taken = wanted.saturating_sub(FIFO_BYTES);
        match self.started {
            Some(start) if taken > 0 => start + set.pace.bytes(PREAMBLE_BYTES + taken),
            _ => 0,
        }
    }

    /// All data of the frame are in the FIFO, or no more will come: finishes it, and waits until it is sent.
    fn end(&mut self, done: u64, set: &Settings) {
        let mut bytes = std::mem::take(&mut self.frame);
        let (pad, crc) = self.pad_and_crc(set);
        let start = self
            .started
            .take()
            .unwrap_or_else(|| set.pace.edge(done.max(self.free)));
        if bytes.is_empty() {
            // No byte could be fetched, so nothing is sent.
            self.step = TransmitStep::Status { at: done };
            return;
        }
        if self.underrun || self.broken {
            // The MAC corrupts the FCS of a frame that it must truncate (assumption: an error is forced on the wire).
            let wrong = fcs::fcs(&bytes).map(|byte| !byte);
            bytes.extend(wrong);
        } else {
            if pad && bytes.len() < SMALLEST {
                bytes.resize(SMALLEST, 0);
            }
            if crc {
                bytes.extend(fcs::fcs(&bytes));
            }
        }
        let end = start + set.pace.bytes(PREAMBLE_BYTES + bytes.len() as u64);
        self.vectors = self.vector(&bytes, set);
        self.free = end + set.pace.nibbles(set.gap_nibbles);
        if self.sent.len() < MOST_SENT {
            self.sent.push(SentFrame {
                start_ps: start * CYCLE_PS,
                end_ps: end * CYCLE_PS,
                bytes,
            });
        }
        self.step = TransmitStep::Status { at: end.max(done) };
    }

    fn pad_and_crc(&self, set: &Settings) -> (bool, bool) {
        if self.control & ring::OVERRIDE != 0 {
            let pad = self.control & ring::PAD != 0;
            return (pad, pad || self.control & ring::CRC != 0);
        }
        let pad = set.mac2 & mac2::PAD_CRC != 0;
        (pad, pad || set.mac2 & mac2::CRC != 0)
    }

    fn vector(&self, bytes: &[u8], set: &Settings) -> [u32; 2] {
        let total = bytes.len() as u32;
        let mut low = tsv0::DONE | (total & 0xFFFF) << tsv0::BYTES_SHIFT;
        if bytes.starts_with(&[0xFF; 6]) {
            low |= tsv0::BROADCAST;
        } else if bytes.first().is_some_and(|byte| byte & 1 == 1) {
            low |= tsv0::MULTICAST;
        }
        if bytes.len() > 14 && u16::from_be_bytes([bytes[12], bytes[13]]) > 1500 {
            low |= tsv0::RANGE;
        }
        if total > set.maxf {
            low |= tsv0::GIANT;
        }
        if self.underrun {
            low |= tsv0::UNDERRUN;
        }
        [low, total & 0xFFFF]
    }

    /// Writes the status of the fragment in progress; then the index advances, and the next descriptor is read.
    fn write_status(&mut self, at: u64, bus: &mut dyn Masters) -> u32 {
        let whole = self.control & ring::LAST != 0 || self.underrun || self.broken;
        let mut status = 0;
        let mut raised = 0;
        if self.underrun {
            status |= ring::TX_UNDERRUN | ring::ERROR;
            raised |= int::TX_UNDERRUN | int::TX_ERROR;
        }
        if self.broken {
            status |= ring::TX_NO_DESCRIPTOR | ring::ERROR;
            raised |= int::TX_ERROR;
        }
        let index = self.ring.consume;
        let place = self.ring.status.wrapping_add(index.wrapping_mul(4));
        // Without memory for the status, the frame was sent nevertheless.
        let done = bus.write32(Master::Emac, place, status, at).unwrap_or(at);
        self.ring.consume = self.ring.after(index);
        if self.control & ring::INTERRUPT != 0 {
            raised |= int::TX_DONE;
        }
        if self.ring.consume == self.ring.produce {
            raised |= int::TX_FINISHED;
        }
        (self.underrun, self.broken) = (false, false);
        // A frame in progress is read to its end even if TxEnable is cleared.
        let goes_on = self.ring.consume != self.ring.produce && (self.enabled || !whole);
        self.step = if goes_on {
            TransmitStep::Descriptor { at: done }
        } else {
            TransmitStep::Idle
        };
        raised
    }
}
