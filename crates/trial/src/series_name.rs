//! The names of series: one table of those that are always the same, the stages between two points, and the probes of spacings.
//!
//! In memory a name is its parts. In a results file it is a text with its parts beside it: `name`, and `from` and `to` of a stage
//! or `probe` of times between frames.

use serde::{Deserialize, Serialize};

use crate::named::named;
use crate::stage::StageName;

/// Which times a series of a fixed name has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesTimes {
    /// From one end to the other.
    OneWay,
    /// From the tester to the node and back.
    RoundTrip,
    /// From the tester to itself and back.
    TesterAlone,
    /// Of something else than a frame.
    NoFrame,
}

named! {
    /// A series whose name is always the same.
    FixedSeries of SeriesTimes {
        "the tester", SeriesTimes::OneWay => {
            LATENCY = "latency": "from the sending of a frame to its arrival";
        }
        "the tester", SeriesTimes::RoundTrip => {
            ROUND_TRIP = "round trip": "from the time at which a frame was due to the arrival of its echo";
            FROM_SENDING = "round trip from sending": "from the sending of a frame to the arrival of its echo";
        }
        "the tester", SeriesTimes::TesterAlone => {
            FLOOR = "tester's floor": "a round trip of the tester to itself";
        }
        "the tester", SeriesTimes::NoFrame => {
            RUN_TIMES = "time of a run": "the time of each run of a trial of buffers";
        }
    }
}

/// The prefix of the name of a series of times between frames.
const SPACING: &str = "spacing: ";

/// The name of a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(from = "Written", into = "Written")]
#[cfg_attr(test, schemars(with = "Written"))]
pub enum SeriesName {
    /// One of the table.
    Fixed(FixedSeries),
    /// The times between two points of a frame's way.
    Stage {
        /// Where it begins.
        from: String,
        /// Where it ends.
        to: String,
    },
    /// The times between frames at a probe.
    Spacing {
        /// The probe.
        probe: String,
    },
    /// A name of the node's own.
    Other(String),
}

impl SeriesName {
    /// The name of the stage between two points.
    pub fn stage(from: impl Into<String>, to: impl Into<String>) -> SeriesName {
        SeriesName::Stage {
            from: from.into(),
            to: to.into(),
        }
    }

    /// The name of the times between frames at a probe.
    pub fn spacing(probe: impl Into<String>) -> SeriesName {
        SeriesName::Spacing {
            probe: probe.into(),
        }
    }

    /// The name of a text without parts: one of the table, a stage between two known points, or a probe; `None` for a name of
    /// the node's own.
    pub fn parse(text: &str) -> Option<SeriesName> {
        let fixed = FixedSeries::of(text).map(SeriesName::Fixed);
        let stage = || StageName::between_known(text).map(SeriesName::from);
        let probe = || text.strip_prefix(SPACING).map(SeriesName::spacing);
        fixed.or_else(stage).or_else(probe)
    }

    /// The points of a stage.
    pub fn points(&self) -> Option<StageName<'_>> {
        match self {
            SeriesName::Stage { from, to } => Some(StageName::new(from, to)),
            _ => None,
        }
    }

    /// The probe, if the name is that of times between frames.
    pub fn probe(&self) -> Option<&str> {
        match self {
            SeriesName::Spacing { probe } => Some(probe),
            _ => None,
        }
    }

    /// The row of the table, if the name is a fixed one.
    pub fn fixed(&self) -> Option<FixedSeries> {
        match self {
            SeriesName::Fixed(fixed) => Some(*fixed),
            _ => None,
        }
    }

    /// Which times it has, if the name is a fixed one.
    pub fn times(&self) -> Option<SeriesTimes> {
        self.fixed().map(FixedSeries::kind)
    }
}

impl From<FixedSeries> for SeriesName {
    fn from(fixed: FixedSeries) -> SeriesName {
        SeriesName::Fixed(fixed)
    }
}

impl From<StageName<'_>> for SeriesName {
    fn from(stage: StageName<'_>) -> SeriesName {
        SeriesName::stage(stage.from, stage.to)
    }
}

/// A stage, by the points where it begins and ends.
impl From<(&str, &str)> for SeriesName {
    fn from((from, to): (&str, &str)) -> SeriesName {
        SeriesName::stage(from, to)
    }
}

impl PartialEq<FixedSeries> for SeriesName {
    fn eq(&self, fixed: &FixedSeries) -> bool {
        self.fixed() == Some(*fixed)
    }
}

/// Whether a reader sees it as this text.
impl PartialEq<&str> for SeriesName {
    fn eq(&self, text: &&str) -> bool {
        let shown = self.to_string();
        shown == *text
    }
}

/// As readers see it and results files have it.
impl std::fmt::Display for SeriesName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SeriesName::Fixed(fixed) => f.write_str(fixed.word()),
            SeriesName::Stage { from, to } => StageName::new(from, to).fmt(f),
            SeriesName::Spacing { probe } => write!(f, "{SPACING}{probe}"),
            SeriesName::Other(name) => f.write_str(name),
        }
    }
}

/// A name with its parts, as a results file has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Written {
    /// What was measured, as people read it.
    name: String,
    /// The point where a stage begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// The point where a stage ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// The probe of times between frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probe: Option<String>,
}

impl From<SeriesName> for Written {
    fn from(name: SeriesName) -> Written {
        let text = name.to_string();
        let (from, to, probe) = match name {
            SeriesName::Stage { from, to } => (Some(from), Some(to), None),
            SeriesName::Spacing { probe } => (None, None, Some(probe)),
            SeriesName::Fixed(_) | SeriesName::Other(_) => (None, None, None),
        };
        Written {
            name: text,
            from,
            to,
            probe,
        }
    }
}

impl From<Written> for SeriesName {
    fn from(written: Written) -> SeriesName {
        match written {
            Written {
                from: Some(from),
                to: Some(to),
                ..
            } => SeriesName::Stage { from, to },
            Written {
                probe: Some(probe), ..
            } => SeriesName::Spacing { probe },
            Written { name, .. } => SeriesName::parse(&name).unwrap_or(SeriesName::Other(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(name: &SeriesName) -> String {
        serde_json::to_string(name).expect("a name")
    }

    #[test]
    fn a_name_is_read_as_it_was_written() {
        for (name, text) in [
            (
                SeriesName::from(FixedSeries::LATENCY),
                r#"{"name":"latency"}"#,
            ),
            (
                SeriesName::stage("hand to DMA", "line"),
                r#"{"name":"hand to DMA to line","from":"hand to DMA","to":"line"}"#,
            ),
            (
                SeriesName::spacing("mac-rx"),
                r#"{"name":"spacing: mac-rx","probe":"mac-rx"}"#,
            ),
            (
                SeriesName::Other("Rx PBUF".to_owned()),
                r#"{"name":"Rx PBUF"}"#,
            ),
        ] {
            assert_eq!(written(&name), text);
            assert_eq!(
                serde_json::from_str::<SeriesName>(text).expect("a name"),
                name
            );
        }
    }

    #[test]
    fn a_text_is_a_stage_where_it_names_two_known_points() {
        for (text, name) in [
            (
                "driver to stack",
                Some(SeriesName::stage("driver", "stack")),
            ),
            ("spacing: mac-rx", Some(SeriesName::spacing("mac-rx"))),
            ("round trip", Some(FixedSeries::ROUND_TRIP.into())),
            ("hand to DMA to line", None),
            ("driver to ", None),
        ] {
            assert_eq!(SeriesName::parse(text), name);
        }
    }
}
