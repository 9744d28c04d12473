//! The memory that wirelab shares with its plugin in QEMU: points and functions in, records out.
//!
//! The layout is that of `qemu-plugin/wirelab.c`. QEMU runs any firmware, so a record may hold any bytes.

mod sys;

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use sys::SharedFile;

const MAGIC: u32 = 0x5157_4c31;
const HEADER_BYTES: usize = 128;
const POINT_BYTES: usize = 16;
const FUNCTION_BYTES: usize = 16;
const RECORD_BYTES: usize = 40;
/// Records of the ring: a power of two. A frame has some hundred.
const RECORDS: usize = 1 << 17;

/// Offsets in the header.
mod offset {
    pub const MAGIC: usize = 0;
    pub const POINTS: usize = 4;
    pub const FUNCTIONS: usize = 8;
    pub const RECORDS: usize = 12;
    pub const WANTED: usize = 16;
    pub const LOADED: usize = 20;
    pub const ARMED: usize = 24;
    pub const VCPUS: usize = 28;
    pub const BLOCKS_LOST: usize = 32;
    pub const HEAD: usize = 40;
    pub const TAIL: usize = 48;
    pub const LOST: usize = 56;
    pub const NOW: usize = 64;
    pub const STOPS: usize = 72;
    pub const RELEASED: usize = 76;
    pub const WANTS_STOPS: usize = 80;
    pub const WANTS_REST: usize = 84;
    pub const RESTED: usize = 88;
    pub const SLEEPS: usize = 92;
    pub const IDLE: usize = 96;
    pub const REASON: usize = 100;
}

/// The meaning of a watched address to the plugin, as bits.
pub mod flag {
    /// From here on, steps between functions are recorded.
    pub const BEGINS: u32 = 1;
    /// Steps are recorded up to and including this address.
    pub const ENDS: u32 = 2;
    /// Here the machine stops, if requested.
    pub const STANDS: u32 = 4;
    /// It stops where the function at the address returns to. The address itself is not recorded.
    pub const STANDS_BEHIND: u32 = 8;
    /// Here it goes to sleep. The address itself is not recorded.
    pub const SLEEPS: u32 = 16;
    /// With [`STANDS_BEHIND`]: the function gives work to a device.
    pub const KICKS: u32 = 32;
}

/// The reason for a stop after a function that gives work to a device.
const KICK: u32 = 2;

/// An address whose passes are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spotted {
    /// The address.
    pub at: u64,
    /// Its number in records.
    pub number: u8,
    /// Bits of [`flag`].
    pub flags: u32,
}

/// When a machine rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleRule {
    /// After it has gone to sleep this many times,
    pub sleeps: u32,
    /// or has run this many instructions.
    pub idle: u32,
}

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The machine is about to run the instruction of a point.
    Point(u8),
    /// It entered another function, or reached the start of one.
    Step {
        /// Where it is now.
        at: u64,
        /// The end of the block that ran before.
        from: u64,
    },
}

/// Counters of kinds, modulo 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Accesses that read memory.
    pub loads: u32,
    /// Accesses that write memory.
    pub stores: u32,
    /// Jumps, calls and returns that were taken.
    pub branches: u32,
}

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingRecord {
    /// Instructions that ran before.
    pub count: u64,
    /// The processor.
    pub vcpu: u16,
    /// The kinds of these instructions.
    pub kinds: Kinds,
    /// What the machine did.
    pub event: Event,
}

/// The memory, seen from wirelab's side.
#[derive(Debug)]
pub struct Ring {
    shared: Arc<SharedFile>,
    records_at: usize,
    tail: u64,
    arms: u32,
}

impl Ring {
    /// Makes the file, with points and with functions in the order of their addresses, each with its end.
    ///
    /// # Errors
    /// The system's error.
    pub fn make(
        file: &Path,
        points: &[Spotted],
        functions: &[(u64, u64)],
        with_kinds: bool,
    ) -> io::Result<Ring> {
        let functions_at = HEADER_BYTES + points.len() * POINT_BYTES;
        let records_at = functions_at + functions.len() * FUNCTION_BYTES;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(file)?;
        file.set_len((records_at + RECORDS * RECORD_BYTES) as u64)?;
        let shared = SharedFile::map(&file)?;
        for (at, value) in [
            (offset::MAGIC, MAGIC),
            (offset::POINTS, points.len() as u32),
            (offset::FUNCTIONS, functions.len() as u32),
            (offset::RECORDS, RECORDS as u32),
            (offset::WANTED, u32::from(with_kinds)),
        ] {
            shared.word(at).store(value, Relaxed);
        }
        for (n, point) in points.iter().enumerate() {
            let about = u64::from(point.number) | u64::from(point.flags) << 32;
            put(&shared, HEADER_BYTES + n * POINT_BYTES, [point.at, about]);
        }
        for (n, (start, end)) in functions.iter().enumerate() {
            put(&shared, functions_at + n * FUNCTION_BYTES, [*start, *end]);
        }
        Ok(Ring {
            shared: Arc::new(shared),
            records_at,
            tail: 0,
            arms: 0,
        })
    }

    /// The version of QEMU's plugin interface, once the plugin has been loaded.
    pub fn interface(&self) -> Option<u32> {
        let loaded = self.shared.word(offset::LOADED).load(Acquire);
        (loaded != 0).then_some(loaded)
    }

    /// From now on points are recorded. Earlier records are dropped.
    pub fn arm(&mut self) {
        self.forget();
        self.arms = self.arms.wrapping_add(1).max(1);
        self.shared.word(offset::ARMED).store(self.arms, Release);
    }

    /// From now on nothing is recorded.
    pub fn disarm(&self) {
        self.shared.word(offset::ARMED).store(0, Release);
    }

    /// Takes all records away.
    pub fn forget(&mut self) {
        self.tail = self.shared.long(offset::HEAD).load(Acquire);
        self.shared.long(offset::TAIL).store(self.tail, Release);
        self.shared.long(offset::LOST).store(0, Relaxed);
    }

    /// Takes the next record.
    pub fn take(&mut self) -> Option<RingRecord> {
        loop {
            let head = self.shared.long(offset::HEAD).load(Acquire);
            // A wrong head means that other code has overwritten the plugin's memory.
            if head.wrapping_sub(self.tail).wrapping_sub(1) >= RECORDS as u64 {
                return None;
            }
            let slot = (self.tail % RECORDS as u64) as usize;
            let bytes = self.shared.read(self.records_at + slot * RECORD_BYTES);
            self.tail += 1;
            self.shared.long(offset::TAIL).store(self.tail, Release);
            if let Some(record) = decode(&bytes) {
                return Some(record);
            }
        }
    }

    /// The part that stops and resumes the machine.
    pub fn control(&self) -> Control {
        Control(Arc::clone(&self.shared))
    }

    /// Records since it was armed that did not fit.
    pub fn lost(&self) -> u64 {
        self.shared.long(offset::LOST).load(Relaxed)
    }

    /// How many processors have run.
    pub fn vcpus(&self) -> u32 {
        self.shared.word(offset::VCPUS).load(Relaxed)
    }

    /// Whether more code was translated than the plugin has memory to distinguish.
    pub fn is_overrun(&self) -> bool {
        self.shared.word(offset::BLOCKS_LOST).load(Relaxed) > 0
    }
}

/// The part of the memory that stops and resumes a machine.
#[derive(Clone, Debug)]
pub struct Control(Arc<SharedFile>);

impl Control {
    /// From now on the machine stops at points whose flags request it.
    pub fn stop_at_points(&self) {
        self.0.word(offset::WANTS_STOPS).store(1, Release);
    }

    /// Requests that the machine stops once it rests; the count for rest starts again.
    pub fn ask_for_rest(&self, rest: IdleRule) {
        self.0.word(offset::SLEEPS).store(rest.sleeps, Relaxed);
        self.0.word(offset::IDLE).store(rest.idle, Relaxed);
        self.0.word(offset::WANTS_REST).fetch_add(1, Release);
    }

    /// Whether the machine is stopped.
    pub fn stands(&self) -> bool {
        let stops = self.0.word(offset::STOPS).load(Acquire);
        stops != self.0.word(offset::RELEASED).load(Relaxed)
    }

    /// Whether it is stopped so that a device can do its work.
    pub fn waits_for_device(&self) -> bool {
        self.stands() && self.0.word(offset::REASON).load(Relaxed) == KICK
    }

    /// Whether it has reached the requested rest.
    pub fn has_rested(&self) -> bool {
        let rested = self.0.word(offset::RESTED).load(Acquire);
        rested == self.0.word(offset::WANTS_REST).load(Relaxed)
    }

    /// Resumes a stopped machine.
    pub fn release(&self) {
        let stops = self.0.word(offset::STOPS).load(Acquire);
        self.0.word(offset::RELEASED).store(stops, Release);
    }

    /// Instructions that the machine has run.
    pub fn now(&self) -> u64 {
        self.0.long(offset::NOW).load(Relaxed)
    }
}

fn put(shared: &SharedFile, at: usize, values: [u64; 2]) {
    for (n, value) in values.into_iter().enumerate() {
        shared.write(at + 8 * n, &value.to_ne_bytes());
    }
}

fn decode(bytes: &[u8; RECORD_BYTES]) -> Option<RingRecord> {
    let long = |at: usize| bytes[at..at + 8].try_into().map(u64::from_ne_bytes).ok();
    let word = |at: usize| bytes[at..at + 4].try_into().map(u32::from_ne_bytes).ok();
    let event = match bytes[38] {
        1 => Event::Point(bytes[39]),
        2 => Event::Step {
            at: long(8)?,
            from: long(16)?,
        },
        _ => return None,
    };
    Some(RingRecord {
        count: long(0)?,
        vcpu: u16::from_ne_bytes([bytes[36], bytes[37]]),
        kinds: Kinds {
            loads: word(24)?,
            stores: word(28)?,
            branches: word(32)?,
        },
        event,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_any_bytes_are_read_and_a_wrong_head_gives_none() {
        let folder = tempfile::tempdir().unwrap();
        let point = Spotted {
            at: 0x1000,
            number: 3,
            flags: flag::BEGINS,
        };
        let file = folder.path().join("ring");
        let mut ring = Ring::make(&file, &[point], &[(0x1000, 0x1010)], false).unwrap();
        assert!(Ring::make(&file, &[], &[], false).is_err(), "it exists");
        assert_eq!((ring.interface(), ring.take()), (None, None));
        let mut bytes = [0xFF; RECORD_BYTES];
        let kinds = [1, 2, 0, 0xFF];
        for (n, kind) in kinds.into_iter().enumerate() {
            (bytes[38], bytes[39]) = (kind, 3);
            ring.shared
                .write(ring.records_at + n * RECORD_BYTES, &bytes);
        }
        ring.shared.long(offset::HEAD).store(4, Release);
        assert_eq!(ring.take().unwrap().event, Event::Point(3));
        let step = Event::Step {
            at: u64::MAX,
            from: u64::MAX,
        };
        assert_eq!(ring.take().unwrap().event, step);
        assert_eq!(ring.take(), None, "the others have no kind");
        ring.shared.long(offset::HEAD).store(u64::MAX, Release);
        assert_eq!(ring.take(), None);
    }
}
