//! The requests to senders and receivers of test frames over sockets, and their reports.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use wirelab_trial::Extent;
use wirelab_trial::job::{CheckReport, Pace, SendReport};
use wirelab_wire::{header, lfsr};

/// Most captures of a sender; the tables of the Zynq document have as many samples.
pub const CAPTURES: u32 = 512;

/// Most captures of a receiver, whatever the request.
pub const MOST_CAPTURES: u32 = 65_536;

/// A request to a sender.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// Stream number in the test header.
    pub stream: u8,
    /// Bytes of each datagram; on TCP of each frame of the stream.
    pub datagram_bytes: u32,
    /// The requested rate.
    pub pace: Pace,
    /// When to stop.
    pub extent: Extent,
    /// Whether each frame carries its transmit time.
    pub with_time: bool,
    /// Whether that time is of the node's clock, not the tester's. The sender's user sets it when it sends for a
    /// node.
    pub node_clock: bool,
}

/// A request to a receiver.
#[derive(Clone, Copy, Debug)]
pub struct Expect {
    /// The stream that belongs to the flow.
    pub stream: u8,
    /// Bytes of each datagram; on TCP of each frame of the stream.
    pub datagram_bytes: u32,
    /// Number of frames, from the first on, whose capture points are recorded (UDP only).
    pub captures: u32,
}

/// The progress of a flow, for other threads.
#[derive(Debug, Default)]
pub struct FlowProgress {
    /// Frames of the flow.
    pub frames: AtomicU64,
    /// Their application bytes.
    pub bytes: AtomicU64,
    /// Time of the first in ns of CLOCK_MONOTONIC; 0 before it.
    pub first_ns: AtomicU64,
    /// Time of the last in ns of CLOCK_MONOTONIC; 0 before the first.
    pub last_ns: AtomicU64,
}

impl FlowProgress {
    /// Set total frames and bytes, the last of them at `now_ns`.
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
/// Received: the kernel gets it from the driver, then the application has it. Sent: the application hands it over,
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

/// A sender's result.
#[derive(Debug, Default)]
pub struct Sent {
    /// Frames, times and gaps.
    pub report: SendReport,
    /// Whether the system took several datagrams in one buffer and segmented it (UDP at [`Pace::Max`] only).
    pub segmented: bool,
    /// Capture points of the first frames, up to [`CAPTURES`], of a UDP flow of at most 50,000 frames/s.
    pub captures: Vec<Capture>,
    /// The error that ended it early. The results until then are kept.
    pub failure: Option<io::Error>,
}

/// A receiver's result.
#[derive(Debug, Default)]
pub struct Reception {
    /// Counts and times. It has no latency, because sender and receiver need not share a clock.
    pub report: CheckReport,
    /// Capture points of the first frames, as many as requested.
    pub captures: Vec<Capture>,
    /// Frames that a reflector sent back.
    pub sent_back_frames: u64,
    /// Whether the device's clock stamped the arrival of every datagram.
    pub by_card: bool,
    /// The error that ended it early. The results until then are kept.
    pub failure: Option<io::Error>,
}

/// Least bytes of a datagram with a test header.
pub const LEAST_BYTES: u32 = header::LEN as u32;
/// Most bytes of a datagram; the table of the LFSR part covers no more.
pub const MOST_BYTES: u32 = (header::LEN + lfsr::MAX_BYTES) as u32;

/// Refuse an invalid size of a test frame.
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
