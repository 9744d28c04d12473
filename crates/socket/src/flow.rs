//! What senders and receivers of test frames over sockets are asked, and what they answer.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use wirelab_trial::Extent;
use wirelab_trial::job::{CheckReport, Pace, SendReport};
use wirelab_wire::{header, lfsr};

/// Most captures that a sender takes on its own account; as many samples as the Zynq document's tables have.
pub const CAPTURES: u32 = 512;

/// Most captures that a receiver takes, whatever it is asked.
pub const MOST_CAPTURES: u32 = 65_536;

/// What to send.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// Stream number in the test header.
    pub stream: u8,
    /// Bytes of each datagram; on TCP of each frame of the stream.
    pub datagram_bytes: u32,
    /// How fast.
    pub pace: Pace,
    /// When to stop.
    pub extent: Extent,
    /// Whether each frame carries its transmit time.
    pub with_time: bool,
    /// Whether that time is of the node's clock, not the tester's: set by whoever sends on a node's behalf.
    pub node_clock: bool,
}

/// What to look for.
#[derive(Clone, Copy, Debug)]
pub struct Expect {
    /// The stream that belongs to the flow.
    pub stream: u8,
    /// Bytes of each datagram; on TCP of each frame of the stream.
    pub datagram_bytes: u32,
    /// Of how many frames, the first ones, the capture points are wanted (UDP alone).
    pub captures: u32,
}

/// What a flow has moved so far, for others to look at while it runs.
#[derive(Debug, Default)]
pub struct Live {
    /// Frames of the flow.
    pub frames: AtomicU64,
    /// Their application bytes.
    pub bytes: AtomicU64,
    /// Time of the first in ns of CLOCK_MONOTONIC; 0 before it.
    pub first_ns: AtomicU64,
    /// Time of the last in ns of CLOCK_MONOTONIC; 0 before the first.
    pub last_ns: AtomicU64,
}

impl Live {
    /// Frames and bytes in all, the last of them at `now_ns`.
    pub(crate) fn tell(&self, frames: u64, bytes: u64, now_ns: u64) {
        if frames == 0 {
            return;
        }
        if self.first_ns.load(Ordering::Relaxed) == 0 {
            self.first_ns.store(now_ns, Ordering::Relaxed);
        }
        self.last_ns.store(now_ns, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
        self.frames.store(frames, Ordering::Relaxed);
    }
}

/// When one frame passed the two capture points of a node, in ns of CLOCK_MONOTONIC.
///
/// Received: the kernel got it from the driver, then the application has it. Sent: the application hands it over,
/// then the kernel gives it to the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Sequence number in the test header.
    pub sequence: u32,
    /// Time stamp of the kernel at the driver (SO_TIMESTAMPNS, SO_TIMESTAMPING), converted from CLOCK_REALTIME.
    pub driver_ns: u64,
    /// Time of the application.
    pub application_ns: u64,
}

/// What a sender did.
#[derive(Debug, Default)]
pub struct Sent {
    /// Frames, times and gaps.
    pub report: SendReport,
    /// Whether the system got several datagrams in one piece and cut them late (UDP at [`Pace::Max`] alone).
    pub segmented: bool,
    /// Capture points of the first frames, up to [`CAPTURES`], of a UDP flow of at most 50,000 frames/s.
    pub captures: Vec<Capture>,
    /// What ended it early. What was done until then is kept.
    pub failure: Option<io::Error>,
}

/// What a receiver saw.
#[derive(Debug, Default)]
pub struct Reception {
    /// Counts and times. There is no latency in it: sender and receiver need not share a clock.
    pub report: CheckReport,
    /// Capture points of the first frames, as many as were wanted.
    pub captures: Vec<Capture>,
    /// Frames that a reflector sent back.
    pub sent_back_frames: u64,
    /// What ended it early. What was seen until then is kept.
    pub failure: Option<io::Error>,
}

/// Fewest bytes of a datagram that holds a test header.
pub const LEAST_BYTES: u32 = header::LEN as u32;
/// Most bytes of a datagram that the table of the LFSR part covers.
pub const MOST_BYTES: u32 = (header::LEN + lfsr::MAX_BYTES) as u32;

/// Refuse a size that is no test frame's.
pub(crate) fn checked(datagram_bytes: u32) -> io::Result<usize> {
    if (LEAST_BYTES..=MOST_BYTES).contains(&datagram_bytes) {
        return Ok(datagram_bytes as usize);
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!(
            "a test frame has {LEAST_BYTES} to {MOST_BYTES} bytes of datagram, not {datagram_bytes}"
        ),
    ))
}
