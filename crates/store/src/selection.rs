//! The selected runs, as a user types them: `12`, `node=lab:1,tag=main,last`.

use std::str::FromStr;

use wirelab_trial::host_clock::unix_ns;
use wirelab_trial::nearest::{did_you_mean, head};

use crate::date;
use crate::error::StoreError;

/// The prefix of a selection where a results file is accepted too.
pub const PREFIX: &str = "store:";
const FORMS: &str = "fix: write a run's number, or node=NODE, tag=TAG, since=DATE, until=DATE, last or last=N, with commas between them";

/// The selected runs: those that meet all conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// These runs; empty for all.
    pub ids: Vec<i64>,
    /// Of this node.
    pub node: Option<String>,
    /// With this tag.
    pub tag: Option<String>,
    /// Begun at this time or later, in ns since 1970.
    pub since_ns: Option<i64>,
    /// Begun before this time, in ns since 1970.
    pub before_ns: Option<i64>,
    /// Only this number of runs, the latest ones.
    pub last: Option<u32>,
}

impl Selection {
    /// One run.
    pub fn of(id: i64) -> Selection {
        Selection {
            ids: vec![id],
            ..Selection::default()
        }
    }

    /// Begun within these dates, each as a user types it; `None` for no bound.
    ///
    /// # Errors
    /// [`StoreError::Selection`] for an invalid date.
    pub fn within(self, since: Option<&str>, until: Option<&str>) -> Result<Selection, StoreError> {
        let selection = match since {
            Some(date) => self.since(date)?,
            None => self,
        };
        match until {
            Some(date) => selection.until(date),
            None => Ok(selection),
        }
    }

    /// Begun on this date or later.
    ///
    /// # Errors
    /// [`StoreError::Selection`] for an invalid date.
    pub fn since(mut self, date: &str) -> Result<Selection, StoreError> {
        self.since_ns = Some(span(date)?.0);
        Ok(self)
    }

    /// Begun on this date or earlier: a day includes all its hours.
    ///
    /// # Errors
    /// [`StoreError::Selection`] for an invalid date.
    pub fn until(mut self, date: &str) -> Result<Selection, StoreError> {
        self.before_ns = Some(span(date)?.1);
        Ok(self)
    }

    fn add(mut self, text: &str) -> Result<Selection, StoreError> {
        let refused = |why: &str| StoreError::Selection {
            text: text.to_owned(),
            why: format!("{why}; {FORMS}"),
        };
        let Some((name, value)) = text.split_once('=') else {
            match text {
                "last" => self.last = Some(1),
                _ => self.ids.push(id(text).ok_or_else(|| {
                    let meant = did_you_mean(text, ["last"].into_iter());
                    let why = format!("it is not a run's number; {meant}");
                    refused(why.trim_end_matches([' ', ';']))
                })?),
            }
            return Ok(self);
        };
        match name {
            _ if value.is_empty() => return Err(refused("nothing follows the =")),
            "node" => self.node = Some(value.to_owned()),
            "tag" => self.tag = Some(value.to_owned()),
            "since" => return self.since(value),
            "until" => return self.until(value),
            "last" => {
                let count = value.parse().ok().filter(|n| *n > 0);
                self.last = Some(count.ok_or_else(|| refused("last takes a number from 1 on"))?);
            }
            _ => {
                let keys = ["node", "tag", "since", "until", "last"];
                let meant = did_you_mean(name, keys.into_iter());
                let why = format!("there is no '{}'; {meant}", head(name));
                return Err(refused(why.trim_end_matches([' ', ';'])));
            }
        }
        Ok(self)
    }
}

fn id(text: &str) -> Option<i64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok())?.filter(|id| *id > 0)
}

fn span(date: &str) -> Result<(i64, i64), StoreError> {
    let now = i64::try_from(unix_ns()).unwrap_or(i64::MAX);
    date::span(date, now).ok_or_else(|| StoreError::Selection {
        text: date.to_owned(),
        why: format!("it is not a date; fix: {}", date::FORMS),
    })
}

impl FromStr for Selection {
    type Err = StoreError;

    /// Parses a selection, with or without the prefix `store:`.
    fn from_str(text: &str) -> Result<Selection, StoreError> {
        let text = text.strip_prefix(PREFIX).unwrap_or(text);
        text.split(',')
            .try_fold(Selection::default(), Selection::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_selects_runs() {
        let parsed: Selection = "store:12,14".parse().unwrap();
        assert_eq!(parsed.ids, [12, 14]);
        let parsed: Selection = "node=lab:1,tag=main,since=2026-11-26,until=2026-11-26,last=3"
            .parse()
            .unwrap();
        assert_eq!(parsed.node.as_deref(), Some("lab:1"));
        assert_eq!(
            (parsed.tag.as_deref(), parsed.last),
            (Some("main"), Some(3))
        );
        let day = parsed.before_ns.unwrap() - parsed.since_ns.unwrap();
        assert_eq!(day, 86_400_000_000_000);
        for wrong in [
            "",
            "store:",
            "0",
            "-1",
            "twelve",
            "node=",
            "last=0",
            "colour=red",
            "since=soon",
            "1,,2",
            "99999999999999999999",
        ] {
            let refused = wrong.parse::<Selection>().unwrap_err();
            assert!(
                refused.is_usage() && refused.to_string().contains("fix: "),
                "{wrong}: {refused}"
            );
        }
    }
}
