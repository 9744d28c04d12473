//! Faults that a sender makes on purpose: which, and how often.
//!
//! They are written as `drop=1e-4`, a probability per frame, or as `corrupt=1/s`, a number per second.

use crate::nearest::unknown;
use serde::{Deserialize, Serialize};

/// Faults that the sender makes on purpose, each with its frequency per frame or per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FaultRates {
    /// Frame left out.
    pub drop: f64,
    /// Frame sent twice.
    pub duplicate: f64,
    /// Frame sent after its successor.
    pub swap: f64,
    /// One bit of the test header inverted.
    pub header_corrupt: f64,
    /// Frame truncated.
    pub truncate: f64,
    /// Content of an earlier sequence.
    pub stale: f64,
    /// One bit of the LFSR part inverted.
    pub corrupt: f64,
    /// Wrong FCS, so that the receiver's MAC drops the frame; only a sender that makes its own FCS can do this.
    #[serde(skip_serializing_if = "is_never")]
    pub bad_fcs: f64,
    /// The unit of the rates.
    #[serde(skip_serializing_if = "FaultsPer::is_frame")]
    pub per: FaultsPer,
    /// Seed of the random choice: the same seed gives the same faults.
    pub seed: u64,
}

fn is_never(rate: &f64) -> bool {
    *rate == 0.0
}

/// The unit of fault rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FaultsPer {
    /// Each is the probability that a frame has the fault, from 0 to 1.
    #[default]
    Frame,
    /// Each is the number of frames per second with the fault.
    Second,
}

impl FaultsPer {
    fn is_frame(&self) -> bool {
        *self == FaultsPer::Frame
    }
}

/// Why a fault is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// No fault has this name.
    #[error("{}", unknown("fault", .0, FaultRates::default().named().map(|(name, _)| name).into_iter().chain(["seed"])))]
    Unknown(String),
    /// Neither a probability nor a number per second.
    #[error(
        "invalid rate of a fault; fix: write a probability from 0 to 1, e.g. 1e-5, or a number per second as 1/s"
    )]
    Rate,
    /// Some are per frame and some per second.
    #[error(
        "the faults of a trial are either all probabilities or all numbers per second; fix: write this one like the others"
    )]
    Mixed,
}

impl FaultRates {
    /// The names of the faults, as the command line and the ledger use them, with their rates.
    pub fn named(&self) -> [(&'static str, f64); 8] {
        [
            ("drop", self.drop),
            ("duplicate", self.duplicate),
            ("swap", self.swap),
            ("header-corrupt", self.header_corrupt),
            ("truncate", self.truncate),
            ("stale", self.stale),
            ("corrupt", self.corrupt),
            ("bad-fcs", self.bad_fcs),
        ]
    }

    /// The rate of the fault called `name`; `None` if there is no such fault.
    pub fn rate_mut(&mut self, name: &str) -> Option<&mut f64> {
        match name {
            "drop" => Some(&mut self.drop),
            "duplicate" => Some(&mut self.duplicate),
            "swap" => Some(&mut self.swap),
            "header-corrupt" => Some(&mut self.header_corrupt),
            "truncate" => Some(&mut self.truncate),
            "stale" => Some(&mut self.stale),
            "corrupt" => Some(&mut self.corrupt),
            "bad-fcs" => Some(&mut self.bad_fcs),
            _ => None,
        }
    }

    /// Sets a rate from its text: `1e-4`, or `1/s` for a number per second.
    ///
    /// # Errors
    /// [`FaultError`] where there is no such fault, the rate is invalid, or others have the other unit.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), FaultError> {
        let (number, per) = match text.strip_suffix("/s") {
            Some(number) => (number, FaultsPer::Second),
            None => (text, FaultsPer::Frame),
        };
        let most = match per {
            FaultsPer::Frame => 1.0,
            FaultsPer::Second => f64::MAX,
        };
        let rate = number.parse().ok();
        let rate = rate.filter(|rate| (0.0..=most).contains(rate));
        self.set_rate(name, rate.ok_or(FaultError::Rate)?, per)
    }

    /// Sets a rate.
    ///
    /// # Errors
    /// [`FaultError`] where there is no such fault, or others have the other unit.
    pub fn set_rate(&mut self, name: &str, rate: f64, per: FaultsPer) -> Result<(), FaultError> {
        *self
            .rate_mut(name)
            .ok_or_else(|| FaultError::Unknown(name.to_owned()))? = rate;
        let mut others = self.named().into_iter().filter(|(other, _)| *other != name);
        if per != self.per && others.any(|(_, rate)| rate > 0.0) {
            return Err(FaultError::Mixed);
        }
        self.per = per;
        Ok(())
    }

    /// Whether no fault can happen.
    pub fn is_clean(&self) -> bool {
        self.named().iter().all(|(_, rate)| *rate == 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_rate_can_be_set() {
        let mut rates = FaultRates::default();
        for (i, (name, _)) in FaultRates::default().named().into_iter().enumerate() {
            *rates.rate_mut(name).unwrap() = (i + 1) as f64;
        }
        assert_eq!(
            rates.named().map(|(_, rate)| rate),
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
        );
        assert!(rates.rate_mut("melt").is_none());
    }

    #[test]
    fn rates_are_per_frame_or_per_second_and_not_both() {
        let mut rates = FaultRates::default();
        rates.set("bad-fcs", "0.25").unwrap();
        assert_eq!((rates.bad_fcs, rates.per), (0.25, FaultsPer::Frame));
        assert_eq!(rates.set("corrupt", "1/s"), Err(FaultError::Mixed));
        let mut rates = FaultRates::default();
        rates.set("corrupt", "1/s").unwrap();
        rates.set("drop", "2.5/s").unwrap();
        assert_eq!(
            (rates.corrupt, rates.drop, rates.per),
            (1.0, 2.5, FaultsPer::Second)
        );
        assert_eq!(rates.set("drop", "0.5"), Err(FaultError::Mixed));
        for bad in ["", "/s", "nan/s", "inf/s", "-1/s", "1.5", "-0.5", "1/ms"] {
            let refused = FaultRates::default().set("drop", bad);
            assert_eq!(refused, Err(FaultError::Rate), "{bad}");
        }
        let unknown = FaultRates::default().set("melt", "1").unwrap_err();
        assert!(unknown.to_string().contains("drop, duplicate, swap, "));
    }

    #[test]
    fn a_file_that_was_written_before_there_were_more_is_read() {
        let old = r#"{"drop": 0.5, "duplicate": 0, "swap": 0, "header_corrupt": 0, "truncate": 0, "stale": 0,
                      "corrupt": 0, "seed": 7}"#;
        let read: FaultRates = serde_json::from_str(old).unwrap();
        let expected = FaultRates {
            drop: 0.5,
            seed: 7,
            ..FaultRates::default()
        };
        assert_eq!(read, expected);
    }
}
