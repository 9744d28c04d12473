//! The options for reading a recording, and how a command line writes them.

use std::path::PathBuf;
use std::str::FromStr;
use wirelab_trial::nearest::unknown;
use wirelab_trial::unknown_option;

use wirelab_config::parse_duration_ps;

use crate::units::period_ps;

/// The level of a pulse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Active {
    /// A pulse is high.
    #[default]
    High,
    /// A pulse is low.
    Low,
}

impl FromStr for Active {
    type Err = String;

    fn from_str(text: &str) -> Result<Active, String> {
        match text {
            "high" => Ok(Active::High),
            "low" => Ok(Active::Low),
            _ => Err(unknown("level", text, ["high", "low"])),
        }
    }
}

/// The options for reading a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PulseOptions {
    /// The channel; the only one if `None`.
    pub channel: Option<String>,
    /// The level of a pulse.
    pub active: Active,
    /// The sampling period in ps, where the file does not state it.
    pub sampling_ps: Option<f64>,
    /// The voltage between low and high; found if `None`.
    pub threshold: Option<f64>,
    /// Shorter pulses are not pulses, in ps.
    pub shortest_ps: u64,
}

impl PulseOptions {
    /// Sets an option by its name.
    ///
    /// # Errors
    /// An error text with the fix.
    pub fn set(&mut self, option: &str, value: &str) -> Result<(), String> {
        match option {
            "channel" => self.channel = Some(value.to_owned()),
            "active" => self.active = value.parse()?,
            "sampling" => {
                let why = || format!("invalid sampling rate '{value}'; fix: write e.g. 24MHz");
                let period = period_ps(value).ok_or_else(why)?;
                // Programs write a number alone for Hz, but a person may mean MHz.
                if !value.ends_with(|c: char| c.is_ascii_alphabetic()) {
                    return Err(format!(
                        "the sampling rate '{value}' has no unit; fix: write {value}MHz or {value}Hz"
                    ));
                }
                self.sampling_ps = Some(period);
            }
            "threshold" => {
                let volts = value.trim_end_matches('V').trim_end().parse::<f64>();
                let volts = volts.ok().filter(|volts| volts.is_finite());
                let why = || format!("invalid threshold '{value}'; fix: write volts, e.g. 1.5");
                self.threshold = Some(volts.ok_or_else(why)?);
            }
            "shortest" => {
                let ps = parse_duration_ps(value);
                self.shortest_ps = ps.map_err(|why| why.to_string())?;
            }
            _ => {
                let keys = ["channel", "active", "sampling", "threshold", "shortest"];
                let known = "write channel, active, sampling, threshold or shortest";
                return Err(unknown_option(option, &keys, known));
            }
        }
        Ok(())
    }
}

/// A recording as `measure --pulse` names it: `FILE[,channel=D0][,active=low][,sampling=24MHz]…`.
#[derive(Clone, Debug, PartialEq)]
pub struct PulseFile {
    /// The file.
    pub path: PathBuf,
    /// The options.
    pub wanted: PulseOptions,
}

impl FromStr for PulseFile {
    type Err = String;

    fn from_str(text: &str) -> Result<PulseFile, String> {
        let mut parts = text.split(',');
        let path = parts.next().unwrap_or_default();
        if path.is_empty() {
            return Err("no file; fix: write FILE, or FILE,channel=D0".to_owned());
        }
        let mut wanted = PulseOptions::default();
        for part in parts {
            let (option, value) = part.split_once('=').unwrap_or((part, ""));
            wanted.set(option, value)?;
        }
        Ok(PulseFile {
            path: path.into(),
            wanted,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_follow_the_file() {
        let file: PulseFile =
            "a/b.sr,channel=D1,active=low,sampling=24MHz,threshold=1.5V,shortest=2us"
                .parse()
                .unwrap();
        assert_eq!(file.path, PathBuf::from("a/b.sr"));
        assert_eq!(file.wanted.channel.as_deref(), Some("D1"));
        assert_eq!(file.wanted.active, Active::Low);
        assert_eq!(file.wanted.sampling_ps.map(f64::round), Some(41667.0));
        assert_eq!(file.wanted.threshold, Some(1.5));
        assert_eq!(file.wanted.shortest_ps, 2_000_000);
        for (bad, words) in [
            ("", "no file"),
            (
                "f,chanel=D0",
                "unknown option 'chanel'; did you mean 'channel'? fix: ",
            ),
            (
                "f,active=hihg",
                "did you mean 'high'? fix: write one of high, low",
            ),
            ("f,sampling=0", "e.g. 24MHz"),
            ("f,sampling=24", "fix: write 24MHz or 24Hz"),
            ("f,threshold=x", "write volts"),
            ("f,shortest=2", "'2'"),
        ] {
            let why = bad.parse::<PulseFile>().unwrap_err();
            assert!(why.contains(words), "{bad}: {why}");
        }
    }
}
