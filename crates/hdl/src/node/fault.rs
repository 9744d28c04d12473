//! The requested fault of a trial as values of the generator's registers (docs/blocks/packet_generator.md), and what
//! a checker must find.

use wirelab_trial::{FaultsPer, Ledger, NodeError, Sizes, Trial, TrialOption};
use wirelab_wire::header;

use crate::CLOCK_PS;

/// The generator's number of the fault that sends a frame twice (rtl/src/ethernet_pkg.vhd).
const DUPLICATE: u32 = 3;
/// Offset of the sequence in the test header, in bytes (spec/test-frame.md).
const SEQUENCE_AT: u32 = 4;
/// The longest interval between two faults in clocks: the generator's register has 31 bits.
const LONGEST_INTERVAL_CLOCKS: f64 = ((1_u32 << 31) - 1) as f64;

/// A fault, as the generator is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Number of the fault in the generator.
    pub kind: u32,
    /// The name of its rate.
    pub name: &'static str,
    /// When it occurs.
    pub when: FaultPeriod,
    /// The inverted bit of the frame.
    pub position: u32,
    /// Number of cut bytes.
    pub cut: u32,
}

/// When a fault occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultPeriod {
    /// In one of this many frames.
    EveryFrames(u32),
    /// In the next frame after each interval of this many clocks.
    EveryClocks(u32),
}

impl Fault {
    /// Values of the registers `fault_every` and `fault_interval`.
    pub fn periods(&self) -> (u32, u32) {
        match self.when {
            FaultPeriod::EveryFrames(frames) => (frames, 0),
            FaultPeriod::EveryClocks(clocks) => (0, clocks),
        }
    }

    /// What a receiver must find of this many faults.
    pub fn ledger(&self, sequences: u64, injected: u64) -> Ledger {
        let mut ledger = Ledger {
            sent_frames: sequences,
            ..Ledger::default()
        };
        let count = match self.name {
            "drop" => {
                ledger.lost_frames = injected;
                &mut ledger.dropped_frames
            }
            "header-corrupt" => {
                ledger.lost_frames = injected;
                &mut ledger.header_corrupt_frames
            }
            "bad-fcs" => {
                ledger.lost_frames = injected;
                &mut ledger.bad_fcs_frames
            }
            "duplicate" => &mut ledger.duplicated_frames,
            "swap" => &mut ledger.reordered_frames,
            "truncate" => &mut ledger.truncated_frames,
            "stale" => &mut ledger.stale_frames,
            _ => &mut ledger.corrupted_frames,
        };
        *count = injected;
        ledger
    }
}

/// Most frames on the line for this many sequences: each duplicate is one more.
pub fn on_the_line(sequences: u64, fault: Option<Fault>, period_clocks: u64) -> u64 {
    let every = repeated_every(fault, period_clocks);
    sequences + every.map_or(0, |every| sequences / every)
}

/// Least sequences for this many frames on the line.
pub fn that_fit(places: u64, fault: Option<Fault>, period_clocks: u64) -> u64 {
    match repeated_every(fault, period_clocks) {
        None => places,
        // The last sequence of a group does not fit if its duplicate does not.
        Some(every) => places / (every + 1) * every + (places % (every + 1)).min(every - 1),
    }
}

/// At most one of this many sequences is sent twice.
fn repeated_every(fault: Option<Fault>, period_clocks: u64) -> Option<u64> {
    let duplicates = fault.filter(|fault| fault.kind == DUPLICATE)?;
    Some(match duplicates.when {
        FaultPeriod::EveryFrames(frames) => u64::from(frames),
        // One of the frames in an interval is a duplicate; two or more fit.
        FaultPeriod::EveryClocks(clocks) => u64::from(clocks) / period_clocks - 1,
    })
}

/// The one requested fault as the generator can make it, in frames this many clocks apart.
pub fn fault(trial: &Trial, sizes: &Sizes, period_clocks: u64) -> Result<Option<Fault>, NodeError> {
    let named = trial.faults.named().into_iter();
    let rates: Vec<(&'static str, f64)> = named.filter(|(_, rate)| *rate > 0.0).collect();
    let (name, rate) = match rates[..] {
        [] => return Ok(None),
        [one] => one,
        _ => {
            let why = "the generator makes one type of fault in a run; fix: request one at a time";
            return Err(NodeError::unsupported(TrialOption::Faults, why));
        }
    };
    let when = match trial.faults.per {
        FaultsPer::Frame => in_every_frame(name, rate)?,
        FaultsPer::Second => in_every_interval(name, rate, period_clocks)?,
    };
    let test_header = trial.framing.header_bytes() + trial.framing.layer.header_bytes();
    let lfsr = sizes.lfsr_len();
    // Numbers of rtl/src/ethernet_pkg.vhd; LFSR bytes that the fault needs.
    let (kind, needed) = match name {
        "drop" => (2, 0),
        "duplicate" => (DUPLICATE, 0),
        "swap" => (4, 0),
        "bad-fcs" => (5, 0),
        "stale" => (6, 4),
        // The MAC pads a frame that a cut makes too short.
        "truncate" => (7, 1 + 60_u32.saturating_sub(sizes.length - lfsr)),
        "header-corrupt" => (1, 0),
        _ => (1, 1),
    };
    if lfsr < needed {
        return Err(NodeError::bad(format!(
            "frames of this size cannot have the fault '{name}'; fix: add {} to the size, or leave the fault out",
            needed - lfsr
        )));
    }
    let byte = match name {
        "header-corrupt" => test_header + SEQUENCE_AT,
        _ => test_header + header::LEN as u32 + lfsr / 2,
    };
    Ok(Some(Fault {
        kind,
        name,
        when,
        position: 8 * byte,
        cut: 1,
    }))
}

fn in_every_frame(name: &str, rate: f64) -> Result<FaultPeriod, NodeError> {
    let every = (1.0 / rate).round();
    if every <= f64::from(u32::MAX) && (every * rate - 1.0).abs() < 1e-9 {
        return Ok(FaultPeriod::EveryFrames(every as u32));
    }
    let nearest = 1.0 / every.min(f64::from(u32::MAX));
    let why = format!(
        "the generator puts a fault into every n-th frame, so a rate is 1/n; fix: request {name}={nearest} for {name}={rate}"
    );
    Err(NodeError::unsupported(TrialOption::Faults, why))
}

fn in_every_interval(name: &str, rate: f64, period_clocks: u64) -> Result<FaultPeriod, NodeError> {
    let clocks_per_s = 1e12 / CLOCK_PS as f64;
    let clocks = (clocks_per_s / rate).round();
    let shortest = 2.0 * period_clocks as f64;
    if (shortest..=LONGEST_INTERVAL_CLOCKS).contains(&clocks) {
        return Ok(FaultPeriod::EveryClocks(clocks as u32));
    }
    let most = (clocks_per_s / shortest).floor();
    let least = clocks_per_s / LONGEST_INTERVAL_CLOCKS;
    let why = format!(
        "faults come {least:.4} to {most} times a second with this load, so that each has its own frame; fix: request \
         {name} within that, or in every n-th frame ({name}=0.1), for {name}={rate}/s"
    );
    Err(NodeError::unsupported(TrialOption::Faults, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duplicate(when: FaultPeriod) -> Option<Fault> {
        Some(Fault {
            kind: DUPLICATE,
            name: "duplicate",
            when,
            position: 0,
            cut: 0,
        })
    }

    #[test]
    fn as_many_sequences_fit_as_find_a_place_with_their_duplicates() {
        for every in 1..6 {
            let fault = duplicate(FaultPeriod::EveryFrames(every));
            for places in 0..50 {
                let fit = that_fit(places, fault, 104);
                assert!(on_the_line(fit, fault, 104) <= places, "{places}, {every}");
                assert!(
                    on_the_line(fit + 1, fault, 104) > places,
                    "{places}, {every}"
                );
            }
        }
    }

    #[test]
    fn duplicates_by_time_take_one_place_of_an_interval() {
        // In 1,200 clocks there are 12 frames, one of which is a duplicate.
        let fault = duplicate(FaultPeriod::EveryClocks(1_200));
        assert_eq!(on_the_line(110, fault, 100), 120);
        assert_eq!(that_fit(120, fault, 100), 110);
        // The highest rate: each frame twice.
        assert_eq!(
            on_the_line(7, duplicate(FaultPeriod::EveryClocks(200)), 100),
            14
        );
    }

    #[test]
    fn times_a_second_are_intervals_in_clocks_within_what_the_register_and_the_load_allow() {
        let of = |rate| in_every_interval("corrupt", rate, 104);
        assert_eq!(of(1.0).unwrap(), FaultPeriod::EveryClocks(125_000_000));
        assert_eq!(of(600_961.0).unwrap(), FaultPeriod::EveryClocks(208));
        for rate in [0.05, 610_000.0, f64::MAX, 5e-324] {
            let error = of(rate).unwrap_err().to_string();
            assert!(
                error.contains("0.0582 to 600961 times a second"),
                "{rate}: {error}"
            );
        }
    }
}
