//! The faults that a host's sender can make, and the errors for others.

use wirelab_trial::{FaultRates, FaultsPer};

/// Most steps of a schedule; each takes 32 bytes of memory.
pub const MAX_STEPS: usize = 4_000_000;

/// Why faults cannot be planned.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InjectError {
    /// The rate is not a probability.
    #[error(
        "the rate of the fault '{fault}' is {rate}; fix: give a probability per frame, from 0 to 1"
    )]
    Rate {
        /// The fault's name.
        fault: &'static str,
        /// The requested rate.
        rate: f64,
    },
    /// Only hardware can make it.
    #[error(
        "a sender on a host cannot set the FCS, so it cannot make the fault 'bad-fcs'; fix: leave it out, or request it from a \
         generator in hardware (hdl:N)"
    )]
    Fcs,
    /// A schedule counts frames, whose times are unknown beforehand.
    #[error(
        "a sender on a host makes faults per frame, not per second; fix: give a probability per \
         frame, e.g. corrupt=1e-5, or use a generator in hardware (hdl:N)"
    )]
    PerSecond,
    /// Faults that exclude each other in a frame have probabilities that add up to more than 1.
    #[error(
        "a frame can have only one fault of {faults}, but their rates add up to {sum}; fix: lower them to 1 or less"
    )]
    Sum {
        /// Their names.
        faults: String,
        /// The sum of their rates.
        sum: f64,
    },
    /// The frame is too small for the fault.
    #[error(
        "frames of this size cannot have the fault '{fault}': it needs an LFSR part of {needed} bytes or more and \
         these have {lfsr_len}; fix: add {} to the size, or leave the fault out",
        needed - lfsr_len
    )]
    TooSmall {
        /// The fault's name.
        fault: &'static str,
        /// Bytes of LFSR part that the fault needs.
        needed: u32,
        /// Bytes of LFSR part that the frames have.
        lfsr_len: u32,
    },
    /// More steps than the schedule may have.
    #[error(
        "the fault '{fault}' at a rate of {rate} over {sequences} frames needs more than {MAX_STEPS} steps; \
         fix: lower its rate to {lower} or less, or send fewer frames"
    )]
    TooMany {
        /// The fault with the highest rate.
        fault: &'static str,
        /// Its rate.
        rate: f64,
        /// Sequences to be sent.
        sequences: u64,
        /// A rate that fits.
        lower: f64,
    },
}

/// Check that this many frames can have these faults.
pub fn check(rates: &FaultRates, sequences: u64, lfsr_len: u32) -> Result<(), InjectError> {
    let named = rates.named();
    if rates.per == FaultsPer::Second && !rates.is_clean() {
        return Err(InjectError::PerSecond);
    }
    if rates.bad_fcs > 0.0 {
        return Err(InjectError::Fcs);
    }
    for (fault, rate) in named {
        if !(0.0..=1.0).contains(&rate) {
            return Err(InjectError::Rate { fault, rate });
        }
        let needed = match fault {
            "truncate" | "corrupt" => 1,
            "stale" => 4,
            _ => 0,
        };
        if rate > 0.0 && lfsr_len < needed {
            return Err(InjectError::TooSmall {
                fault,
                needed,
                lfsr_len,
            });
        }
    }
    for group in [&named[..3], &named[3..]] {
        let sum: f64 = group.iter().map(|f| f.1).sum();
        // Rates written in decimal may add up to slightly more than 1.
        if sum > 1.0 + 1e-9 {
            let names: Vec<&str> = group.iter().filter(|f| f.1 > 0.0).map(|f| f.0).collect();
            let faults = names.join(", ");
            return Err(InjectError::Sum { faults, sum });
        }
    }
    let hits: f64 = named.iter().map(|f| f.1).sum::<f64>() * sequences as f64;
    if hits > 2.0 * MAX_STEPS as f64 {
        return Err(too_many(rates, sequences));
    }
    Ok(())
}

/// The request needs more steps than a schedule holds.
pub fn too_many(rates: &FaultRates, sequences: u64) -> InjectError {
    let named = rates.named();
    let active = named.iter().filter(|f| f.1 > 0.0).count() as f64;
    let (fault, rate) = named
        .into_iter()
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .expect("there are faults");
    // A swap takes two steps. The rate is rounded down to one digit, so that it fits.
    let most = MAX_STEPS as f64 / (2.0 * active * sequences as f64);
    let digit = 10f64.powf(most.log10().floor());
    let lower = (most / digit).floor() * digit;
    InjectError::TooMany {
        fault,
        rate,
        sequences,
        lower,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Schedule;
    use super::*;

    #[test]
    fn what_cannot_be_planned_is_named() {
        let none = FaultRates::default();
        let refuse = |rates: FaultRates, sequences: u64, lfsr_len: u32| {
            Schedule::plan(&rates, sequences, lfsr_len)
                .unwrap_err()
                .to_string()
        };
        for rate in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            let text = refuse(FaultRates { swap: rate, ..none }, 10, 28);
            assert!(text.contains("'swap' is"), "{text}");
        }
        for (rates, lfsr_len, part) in [
            (
                FaultRates {
                    truncate: 0.1,
                    ..none
                },
                0,
                "'truncate'",
            ),
            (
                FaultRates {
                    corrupt: 0.1,
                    ..none
                },
                0,
                "'corrupt'",
            ),
            (FaultRates { stale: 0.1, ..none }, 3, "add 1 to the size"),
        ] {
            let text = refuse(rates, 10, lfsr_len);
            assert!(text.contains(part), "{text}");
        }
        let fcs = FaultRates {
            bad_fcs: 0.1,
            ..none
        };
        assert!(refuse(fcs, 10, 28).contains("'bad-fcs'; fix: leave it out"));
        let per_second = FaultRates {
            corrupt: 1.0,
            per: FaultsPer::Second,
            ..none
        };
        assert!(refuse(per_second, 10, 28).contains("give a probability per frame"));
        let both = FaultRates {
            drop: 0.6,
            swap: 0.6,
            ..none
        };
        assert!(refuse(both, 10, 28).contains("drop, swap, but their rates add up to 1.2"));
        let many = FaultRates {
            corrupt: 0.5,
            ..none
        };
        let text = refuse(many, 100_000_000, 28);
        assert!(
            text.contains("fix: lower its rate to 0.02 or less"),
            "{text}"
        );
        assert!(
            Schedule::plan(
                &FaultRates {
                    corrupt: 0.02,
                    ..none
                },
                100_000_000,
                28
            )
            .is_ok()
        );
        let text = refuse(
            FaultRates {
                corrupt: 0.99,
                ..none
            },
            5_000_000,
            28,
        );
        assert!(text.contains("'corrupt'"), "{text}");
    }
}
