//! What the counters of a port say after a run, read register by register.

use wirelab_trial::Counts;

use crate::bench::{Bench, BenchError};
use crate::registers as reg;

/// What a generator, the MAC behind it and the rate meter between them say.
#[derive(Clone, Debug, Default)]
pub struct Sent {
    /// Frames whose last byte the MAC took.
    pub frames: u64,
    /// Sequences that were used, sent or dropped.
    pub sequences: u64,
    /// Faults that were made.
    pub injected: u64,
    /// Frames that left the MAC.
    pub mac_frames: u64,
    /// The intervals at the MAC's input.
    pub rate: Rate,
    /// What must not be set after a run, and is.
    pub sticky: Vec<&'static str>,
}

/// What a rate meter says; times in ticks of its probe.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rate {
    /// Intervals between two frames.
    pub periods: u64,
    /// Their sum.
    pub total: u64,
    /// The shortest of them.
    pub shortest: u64,
    /// The last.
    pub last: u64,
    /// The longest.
    pub longest: u64,
}

/// What a checker and the MAC in front of it say.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Its counts; losses are those that it can see alone.
    pub counts: Counts,
    /// The sequence that it waits for.
    pub next_sequence: u64,
    /// Frames with a wrong FCS, which are not judged.
    pub bad_fcs: u64,
    /// Frames that are damaged in another way, which are not judged.
    pub damaged: u64,
    /// Frames that the MAC received.
    pub mac_frames: u64,
    /// When the first and the last frame of the flow ended, in ns.
    pub times_ns: Option<(u64, u64)>,
    /// What must not be set after a run, and is.
    pub sticky: Vec<&'static str>,
}

/// Reads what a port sent.
pub fn sent(bench: &mut Bench, port: usize) -> Result<Sent, BenchError> {
    let status = bench.read(port, reg::GENERATOR_STATUS)?;
    let meter = bench.read(port, reg::RATE_STATUS)?;
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
                "generator.config_error",
            ),
            (
                reg::GENERATOR_STATUS_UNDERRUN.from(status),
                "generator.underrun",
            ),
            (
                reg::GENERATOR_STATUS_OVERFLOW.from(status),
                "generator.overflow",
            ),
            (meter, "rate.overflow"),
            (u32::from(underruns > 0), "mac.underruns"),
        ]),
    };
    sent.rate.total = bench.read_wide(port, reg::RATE_TOTAL)?;
    Ok(sent)
}

/// Reads what a port received.
pub fn seen(bench: &mut Bench, port: usize) -> Result<Seen, BenchError> {
    let status = bench.read(port, reg::CHECKER_STATUS)?;
    let mut word = |register| bench.read(port, register).map(u64::from);
    let (checker, mac) = (word(reg::CHECKER_OVERFLOW)?, word(reg::MAC_OVERFLOW)?);
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
    let mut seen = Seen {
        next_sequence: word(reg::CHECKER_NEXT_SEQUENCE)?,
        bad_fcs: word(reg::CHECKER_BAD_FCS)?,
        damaged: word(reg::CHECKER_DAMAGED)?,
        mac_frames: word(reg::MAC_RECEIVED)?,
        sticky: set([
            (u32::from(checker > 0), "checker.overflow"),
            (u32::from(mac > 0), "mac.overflow"),
            (
                reg::CHECKER_STATUS_SEARCH_OVERRUN.from(status),
                "checker.search_overrun",
            ),
        ]),
        ..Seen::default()
    };
    counts.verified_payload_bytes = bench.read_wide(port, reg::CHECKER_VERIFIED_BYTES)?;
    if reg::CHECKER_STATUS_TIMES.from(status) == 1 {
        let first = bench.read_wide(port, reg::CHECKER_FIRST_TIME)?;
        seen.times_ns = Some((first, bench.read_wide(port, reg::CHECKER_LAST_TIME)?));
    }
    Ok(Seen { counts, ..seen })
}

/// The names of the bits that are set.
fn set<const N: usize>(bits: [(u32, &'static str); N]) -> Vec<&'static str> {
    let set = bits.into_iter().filter(|(bit, _)| *bit != 0);
    set.map(|(_, name)| name).collect()
}
