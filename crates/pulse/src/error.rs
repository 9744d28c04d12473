//! Why a recording has no pulse to read.

use std::fmt;
use std::path::{Path, PathBuf};

/// The file, what is wrong with it, and the fix.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct PulseError {
    path: PathBuf,
    why: PulseFault,
}

impl PulseError {
    pub(crate) fn new(path: &Path, why: PulseFault) -> PulseError {
        PulseError {
            path: path.to_owned(),
            why,
        }
    }
}

/// What is wrong, and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PulseFault(String);

impl fmt::Display for PulseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for PulseFault {
    fn from(why: String) -> PulseFault {
        PulseFault(why)
    }
}

impl From<&str> for PulseFault {
    fn from(why: &str) -> PulseFault {
        PulseFault(why.to_owned())
    }
}

impl From<std::io::Error> for PulseFault {
    fn from(error: std::io::Error) -> PulseFault {
        PulseFault(format!(
            "it cannot be read: {error}; fix: export the recording again"
        ))
    }
}

/// The channels of a file as a user may name them, few enough for one line.
pub fn named(channels: &[String]) -> String {
    const MOST: usize = 20;
    let mut shown: Vec<&str> = channels.iter().map(String::as_str).take(MOST).collect();
    if channels.len() > MOST {
        shown.push("…");
    }
    shown.join(", ")
}

/// The channel that `wanted` names: the same name, or the only one with the same number (`D0` for `Channel 0`). Without
/// a name, the only channel.
pub fn choose(channels: &[String], wanted: Option<&str>) -> Result<usize, PulseFault> {
    let Some(wanted) = wanted else {
        return match channels.len() {
            0 => Err("it has no channel of one bit; fix: export the channel of the pin".into()),
            1 => Ok(0),
            n => Err(format!(
                "it has {n} channels; fix: choose one with --channel: {}",
                named(channels)
            )
            .into()),
        };
    };
    let same = |name: &String| name.eq_ignore_ascii_case(wanted.trim());
    if let Some(at) = channels.iter().position(same) {
        return Ok(at);
    }
    let number = number(wanted);
    let alike: Vec<usize> = (0..channels.len())
        .filter(|at| number.is_some() && self::number(&channels[*at]) == number)
        .collect();
    match alike[..] {
        [at] => Ok(at),
        _ => Err(format!(
            "it has no channel '{wanted}'; fix: choose one with --channel: {}",
            named(channels)
        )
        .into()),
    }
}

/// The number in a name such as `D0`, `CH1` or `Channel 0`.
fn number(name: &str) -> Option<u32> {
    let name = name.trim().to_ascii_lowercase();
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let word = name[..name.len() - digits.len()].trim();
    let known = ["", "d", "ch", "channel", "probe", "digital"].contains(&word);
    // A voltage's unit may follow.
    let digits = digits.trim_end_matches(['v', ' ']);
    known.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_chosen_by_name_or_number() {
        let channels = ["Channel 0", "Channel 1", "SCL"].map(str::to_owned);
        for (wanted, at) in [("Channel 1", 1), ("scl", 2), ("D0", 0), ("1", 1)] {
            assert_eq!(choose(&channels, Some(wanted)), Ok(at), "{wanted}");
        }
        for wanted in ["D2", "SDA", ""] {
            let why = choose(&channels, Some(wanted)).unwrap_err().to_string();
            assert!(
                why.contains("fix: ") && why.contains("Channel 0, Channel 1, SCL"),
                "{why}"
            );
        }
        assert_eq!(choose(&channels[..1], None), Ok(0));
        let why = choose(&channels, None).unwrap_err().to_string();
        assert!(
            why.contains("3 channels") && why.contains("--channel"),
            "{why}"
        );
    }
}
