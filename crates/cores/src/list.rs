//! A set of cores, as users write it (`1,3-5`) and as the kernel's masks (`3a`).

use std::fmt;
use std::str::FromStr;

/// One more than the largest allowed core number: `CPU_SETSIZE` of glibc.
pub const MOST: usize = 1024;

/// A set of cores, sorted, at least one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cores(Vec<usize>);

/// Why a text is not a set of cores, or a core cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CoreError {
    /// Not a list.
    #[error("'{0}' is not a list of cores; fix: write numbers and ranges, such as 1 or 1,3-5")]
    Text(String),
    /// The number is too large.
    #[error("core {core} is too high; fix: use cores below {limit}")]
    Number {
        /// The given number.
        core: usize,
        /// The limit.
        limit: usize,
    },
    /// The kernel does not report where this process may run.
    #[error(
        "the cores that this process may use are unknown: {0}; fix: let the container permit sched_getaffinity"
    )]
    Unknown(String),
    /// The kernel refused.
    #[error(
        "cannot run on cores {cores}: {why}; fix: choose some that `lscpu --online` shows and `taskset -p $$` permits"
    )]
    Refused {
        /// The cores.
        cores: Cores,
        /// The kernel's error.
        why: String,
    },
}

impl Cores {
    /// A set of these cores.
    ///
    /// # Errors
    /// [`CoreError::Text`] for none, [`CoreError::Number`] for one beyond [`MOST`].
    pub fn new(cores: impl IntoIterator<Item = usize>) -> Result<Cores, CoreError> {
        let mut all: Vec<usize> = cores.into_iter().collect();
        if let Some(core) = all.iter().copied().find(|core| *core >= MOST) {
            return Err(CoreError::Number { core, limit: MOST });
        }
        all.sort_unstable();
        all.dedup();
        if all.is_empty() {
            return Err(CoreError::Text(String::new()));
        }
        Ok(Cores(all))
    }

    /// The cores, sorted.
    pub fn numbers(&self) -> &[usize] {
        &self.0
    }

    /// The cores that are not in `other`; `None` if none is left.
    pub fn without(&self, other: &Cores) -> Option<Cores> {
        Cores::new(
            self.0
                .iter()
                .copied()
                .filter(|core| !other.0.contains(core)),
        )
        .ok()
    }

    /// In the format of sysfs: hexadecimal words of 32 bits, the highest first, separated by commas.
    pub fn mask(&self) -> String {
        let words = self.0.last().map_or(1, |last| last / 32 + 1);
        let mut bits = vec![0u32; words];
        for core in &self.0 {
            bits[core / 32] |= 1 << (core % 32);
        }
        let words: Vec<String> = bits
            .iter()
            .rev()
            .map(|word| format!("{word:08x}"))
            .collect();
        words.join(",")
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut at = 0;
        while at < self.0.len() {
            let first = self.0[at];
            let mut end = at;
            while self.0.get(end + 1) == Some(&(self.0[end] + 1)) {
                end += 1;
            }
            let comma = if at > 0 { "," } else { "" };
            match self.0[end] {
                last if last == first => write!(f, "{comma}{first}")?,
                last => write!(f, "{comma}{first}-{last}")?,
            }
            at = end + 1;
        }
        Ok(())
    }
}

impl FromStr for Cores {
    type Err = CoreError;

    fn from_str(text: &str) -> Result<Cores, CoreError> {
        let bad = || CoreError::Text(text.chars().take(80).collect());
        let number = |part: &str| part.parse::<usize>().map_err(|_| bad());
        let mut all = Vec::new();
        for part in text.trim().split(',') {
            let (first, last) = match part.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(part)?, number(part)?),
            };
            if let Some(core) = [first, last].into_iter().find(|core| *core >= MOST) {
                return Err(CoreError::Number { core, limit: MOST });
            }
            if first > last {
                return Err(bad());
            }
            all.extend(first..=last);
        }
        Cores::new(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_and_masks_are_those_of_the_kernel() {
        let cores: Cores = "1,3-5".parse().unwrap();
        assert_eq!(cores.numbers(), [1, 3, 4, 5]);
        assert_eq!(cores.to_string(), "1,3-5");
        assert_eq!(cores.mask(), "0000003a");
        assert_eq!("0,33".parse::<Cores>().unwrap().mask(), "00000002,00000001");
    }

    #[test]
    fn what_is_no_list_is_named() {
        for text in [
            "",
            "a",
            "3-1",
            "1,,2",
            "-1",
            "1-",
            "1,2000",
            "0-999999999999",
        ] {
            assert!(text.parse::<Cores>().is_err(), "{text}");
        }
        let error = "1,2000".parse::<Cores>().unwrap_err().to_string();
        assert!(error.contains("2000") && error.contains("1024"), "{error}");
    }

    #[test]
    fn sets_are_told_apart() {
        let all: Cores = "0-3".parse().unwrap();
        let one: Cores = "3".parse().unwrap();
        assert_eq!(all.without(&one).unwrap().to_string(), "0-2");
        assert_eq!(one.without(&all), None);
    }

    proptest! {
        #[test]
        fn any_list_comes_back(cores in proptest::collection::vec(0usize..MOST, 1..40)) {
            let cores = Cores::new(cores).unwrap();
            prop_assert_eq!(cores.to_string().parse::<Cores>().unwrap(), cores);
        }

        #[test]
        fn any_text_is_taken_or_refused(text in ".{0,40}") {
            let _ = text.parse::<Cores>();
        }
    }
}
