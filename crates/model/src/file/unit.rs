//! Units of parameters.

use std::fmt;
use wirelab_trial::nearest::unknown;

/// What a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Hz; the factor gives Hz.
    Frequency,
    /// A time; the factor gives ps.
    Time,
    /// Periods of a clock.
    Clocks,
    /// A time for so many bytes; the factor gives ps.
    TimePer {
        /// Bytes that are moved at once.
        bytes: u32,
    },
    /// Periods of a clock for so many bytes.
    ClocksPer {
        /// Bytes that are moved at once.
        bytes: u32,
    },
    /// bit/s; the factor gives bit/s.
    BitRate,
    /// Bytes.
    Bytes,
    /// A number of things.
    Count(CountedThing),
    /// Percent; the factor gives a ratio.
    Ratio,
}

/// The things of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedThing {
    /// Frames.
    Frames,
    /// Descriptors of a DMA engine.
    Descriptors,
    /// Buffers.
    Buffers,
    /// Clients of a resource.
    Clients,
    /// Others, or a plain number.
    Others,
}

impl CountedThing {
    /// The name of one of them as a token that a stage takes and gives back.
    pub const fn token(self) -> &'static str {
        match self {
            CountedThing::Frames => "frame",
            CountedThing::Descriptors => "descriptor",
            CountedThing::Buffers => "buffer",
            CountedThing::Clients => "client",
            CountedThing::Others => "token",
        }
    }
}

/// A unit of node files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Its spelling.
    pub name: &'static str,
    /// What it measures.
    pub kind: Kind,
    /// Factor from this unit to the base unit of its kind.
    pub factor: f64,
}

const fn unit(name: &'static str, kind: Kind, factor: f64) -> Unit {
    Unit { name, kind, factor }
}

/// All units.
const UNITS: [Unit; 33] = [
    unit("Hz", Kind::Frequency, 1.0),
    unit("kHz", Kind::Frequency, 1e3),
    unit("MHz", Kind::Frequency, 1e6),
    unit("GHz", Kind::Frequency, 1e9),
    unit("ps", Kind::Time, 1.0),
    unit("ns", Kind::Time, 1e3),
    unit("us", Kind::Time, 1e6),
    unit("ms", Kind::Time, 1e9),
    unit("s", Kind::Time, 1e12),
    unit("clk", Kind::Clocks, 1.0),
    unit("clk/byte", Kind::ClocksPer { bytes: 1 }, 1.0),
    unit("clk/halfword", Kind::ClocksPer { bytes: 2 }, 1.0),
    unit("clk/word", Kind::ClocksPer { bytes: 4 }, 1.0),
    unit("ps/byte", Kind::TimePer { bytes: 1 }, 1.0),
    unit("ps/halfword", Kind::TimePer { bytes: 2 }, 1.0),
    unit("ps/word", Kind::TimePer { bytes: 4 }, 1.0),
    unit("ns/byte", Kind::TimePer { bytes: 1 }, 1e3),
    unit("ns/halfword", Kind::TimePer { bytes: 2 }, 1e3),
    unit("ns/word", Kind::TimePer { bytes: 4 }, 1e3),
    unit("bit/s", Kind::BitRate, 1.0),
    unit("kbit/s", Kind::BitRate, 1e3),
    unit("Mbit/s", Kind::BitRate, 1e6),
    unit("Gbit/s", Kind::BitRate, 1e9),
    unit("B", Kind::Bytes, 1.0),
    unit("frames", Kind::Count(CountedThing::Frames), 1.0),
    unit("descriptors", Kind::Count(CountedThing::Descriptors), 1.0),
    unit("buffers", Kind::Count(CountedThing::Buffers), 1.0),
    unit("clients", Kind::Count(CountedThing::Clients), 1.0),
    unit("words", Kind::Count(CountedThing::Others), 1.0),
    unit("packets", Kind::Count(CountedThing::Others), 1.0),
    unit("tokens", Kind::Count(CountedThing::Others), 1.0),
    unit("1", Kind::Count(CountedThing::Others), 1.0),
    unit("%", Kind::Ratio, 0.01),
];

impl Unit {
    /// Parses the unit `text`.
    ///
    /// # Errors
    /// A text that lists all units.
    pub fn parse(text: &str) -> Result<Unit, String> {
        UNITS
            .into_iter()
            .find(|unit| unit.name == text)
            .ok_or_else(|| unknown("unit", text, UNITS.iter().map(|unit| unit.name)))
    }

    /// Whether it counts periods of a clock.
    pub fn counts_clocks(&self) -> bool {
        matches!(self.kind, Kind::Clocks | Kind::ClocksPer { .. })
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_is_there_once() {
        for (i, unit) in UNITS.iter().enumerate() {
            assert_eq!(Unit::parse(unit.name), Ok(*unit));
            assert!(UNITS[i + 1..].iter().all(|other| other.name != unit.name));
        }
    }

    #[test]
    fn what_is_no_unit_says_what_is() {
        let error = Unit::parse("cycles").unwrap_err();
        assert!(
            error.starts_with("unknown unit 'cycles'; fix: write one of Hz, kHz,"),
            "{error}"
        );
        assert!(Unit::parse(&"x".repeat(9_000)).unwrap_err().len() < 400);
    }
}
