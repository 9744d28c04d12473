//! The counters of a port after a run, read register by register.

use wirelab_trial::Counts;

use crate::bench::{Bench, BenchError};
use crate::registers as reg;

/// A bit that should not be set after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sticky {
    /// Its block and name.
    pub name: &'static str,
    /// Whether it makes the figures of the run void.
    pub voids: bool,
}

/// With this bit set, the figures can be used with care.
const fn doubtful(name: &'static str) -> Sticky {
    Sticky { name, voids: false }
}

/// With this bit set, no figure can be used: a count wrapped around, or a frame is not as requested.
const fn void(name: &'static str) -> Sticky {
    Sticky { name, voids: true }
}

/// The bits of [`reg::MAC_OVERFLOW`] for sending: the counts `sent` and `underruns`
/// (rtl/registers/ethernet_port.rdl). The others are for receiving.
const MAC_SENDS: u32 = 0b11;

/// The counts of a generator, its MAC and the rate meter between them.
#[derive(Clone, Debug, Default)]
pub struct Sent {
    /// Frames whose last byte the MAC took.
    pub frames: u64,
    /// Used sequences, sent or dropped.
    pub sequences: u64,
    /// Injected faults.
    pub injected: u64,
    /// Frames that left the MAC.
    pub mac_frames: u64,
    /// The intervals at the MAC's input.
    pub rate: Rate,
    /// The set bits that should not be set after a run.
    pub sticky: Vec<Sticky>,
}

/// The values of a rate meter; times in ticks of its probe.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rate {
    /// Intervals between two frames.
    pub periods: u64,
    /// Their sum.
    pub total: u64,
    /// The shortest interval.
    pub shortest: u64,
    /// The last interval.
    pub last: u64,
    /// The longest interval.
    pub longest: u64,
}

/// The counts of a checker and its MAC.
#[derive(Clone, Debug, Default)]
pub struct CheckerReading {
    /// The checker's counts; losses are those that it can see alone.
    pub counts: Counts,
    /// The sequence that it expects next.
    pub next_sequence: u64,
    /// Frames with a wrong FCS, which are not judged.
    pub bad_fcs: u64,
    /// Frames with other damage, which are not judged.
    pub damaged: u64,
    /// Frames that the MAC received.
    pub mac_frames: u64,
    /// Ends of the first and the last frame of the flow, in ns.
    pub times_ns: Option<(u64, u64)>,
    /// The set bits that should not be set after a run.
    pub sticky: Vec<Sticky>,
}

/// Reads the counts of a sending port.
pub fn sent(bench: &mut Bench, port: usize) -> Result<Sent, BenchError> {
    let status = bench.read(port, reg::GENERATOR_STATUS)?;
    let meter = bench.read(port, reg::RATE_STATUS)?;
    let mac = bench.read(port, reg::MAC_OVERFLOW)? & MAC_SENDS;
    let mut word = |register| bench.read(port, register).map(u64::from);
    let underruns = word(reg::MAC_UNDERRUNS)?;
    let mut sent = Sent {
        frames: word(reg::GENERATOR_SENT_FRAMES)?,
        sequences: word(reg::GENERATOR_USED_SEQUENCES)?,
        injected: word(reg::GENERATOR_INJECTED_FAULTS)?,
        mac_frames: word(reg::MAC_SENT)?,
        rate: Rate {
            periods: word(reg::RATE_PERIODS)?,
            shortest: word(reg::RATE_SHORTEST)?,
            last: word(reg::RATE_LAST_PERIOD)?,
            longest: word(reg::RATE_LONGEST)?,
            total: 0,
        },
        sticky: set([
            (
                reg::GENERATOR_STATUS_CONFIG_ERROR.from(status),
                void("generator.config_error"),
            ),
            (
                reg::GENERATOR_STATUS_UNDERRUN.from(status),
                void("generator.underrun"),
            ),
            (
                reg::GENERATOR_STATUS_OVERFLOW.from(status),
                void("generator.overflow"),
            ),
            (meter, void("rate.overflow")),
            (u32::from(underruns > 0), void("mac.underruns")),
            (mac, void("mac.overflow")),
        ]),
    };
    sent.rate.total = bench.read_wide(port, reg::RATE_TOTAL)?;
    Ok(sent)
}

/// Fields of [`Counts`] that no register has, so they are absent and not 0. A checker in hardware keeps no extents;
/// repeating frames and queues of a tester exist only on hosts.
pub const NOT_COUNTED: [&str; 3] = ["reordering_extent_frames", "order_breaks", "missed_frames"];

/// Reads the counts of a receiving port; the fields of [`NOT_COUNTED`] stay 0.
pub fn received(bench: &mut Bench, port: usize) -> Result<CheckerReading, BenchError> {
    let status = bench.read(port, reg::CHECKER_STATUS)?;
    let mut word = |register| bench.read(port, register).map(u64::from);
    let (checker, mac) = (word(reg::CHECKER_OVERFLOW)?, word(reg::MAC_OVERFLOW)?);
    let mac = mac & !u64::from(MAC_SENDS);
    let mut counts = Counts {
        good_frames: word(reg::CHECKER_GOOD)?,
        header_corrupt_frames: word(reg::CHECKER_HEADER_CORRUPT)?,
        truncated_frames: word(reg::CHECKER_TRUNCATED)?,
        stale_frames: word(reg::CHECKER_STALE)?,
        corrupted_frames: word(reg::CHECKER_CORRUPTED)?,
        duplicated_frames: word(reg::CHECKER_DUPLICATED)?,
        reordered_frames: word(reg::CHECKER_REORDERED)?,
        too_late_frames: word(reg::CHECKER_TOO_LATE)?,
        distinct_sequences: word(reg::CHECKER_DISTINCT)?,
        lost_frames: word(reg::CHECKER_LOST)?,
        foreign_frames: word(reg::CHECKER_FOREIGN)?,
        ..Counts::default()
    };
    counts.received_frames = counts.good_frames
        + counts.header_corrupt_frames
        + counts.truncated_frames
        + counts.stale_frames
        + counts.corrupted_frames;
    let mut reading = CheckerReading {
        next_sequence: word(reg::CHECKER_NEXT_SEQUENCE)?,
        bad_fcs: word(reg::CHECKER_BAD_FCS)?,
        damaged: word(reg::CHECKER_DAMAGED)?,
        mac_frames: word(reg::MAC_RECEIVED)?,
        sticky: set([
            (u32::from(checker > 0), void("checker.overflow")),
            (u32::from(mac > 0), void("mac.overflow")),
            (
                reg::CHECKER_STATUS_SEARCH_OVERRUN.from(status),
                doubtful("checker.search_overrun"),
            ),
        ]),
        ..CheckerReading::default()
    };
    counts.verified_payload_bytes = bench.read_wide(port, reg::CHECKER_VERIFIED_BYTES)?;
    if reg::CHECKER_STATUS_TIMES.from(status) == 1 {
        let first = bench.read_wide(port, reg::CHECKER_FIRST_TIME)?;
        reading.times_ns = Some((first, bench.read_wide(port, reg::CHECKER_LAST_TIME)?));
    }
    Ok(CheckerReading { counts, ..reading })
}

fn set<const N: usize>(bits: [(u32, Sticky); N]) -> Vec<Sticky> {
    let set = bits.into_iter().filter(|(bit, _)| *bit != 0);
    set.map(|(_, sticky)| sticky).collect()
}
