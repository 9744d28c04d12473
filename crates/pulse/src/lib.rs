//! Pulses of a pin in the recordings of logic analysers and oscilloscopes: their times, and how far the sampling leaves
//! them open.
//!
//! A file is read as a stream of samples ([`Samples`]) by its format: a value change dump ([`vcd`]), a session of
//! sigrok ([`sigrok`]), or a table ([`table`]) of Saleae's programs and oscilloscopes. An analogue channel becomes
//! levels ([`levels`]); edges become pulses ([`find`]). [`trial`] makes a pulse the time of a trial, whose recording
//! [`saved`] waits for.
//!
//! Files are hostile: memory is bounded, and nothing panics.
//!
//! `report` and the command line use it. It knows `config`, `trial` and `wire`. Start reading at [`read`].
#![forbid(unsafe_code)]

mod error;
pub mod find;
pub mod levels;
pub mod saved;
pub mod sigrok;
pub mod table;
pub mod trial;
mod units;
pub mod vcd;
mod wanted;

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

pub use error::PulseError;
pub use find::{Pulse, Pulses, Uncertainty};
pub use wanted::{Active, PulseFile, PulseOptions};

/// Most samples of an analogue channel, and most rows of a table.
pub const MOST_SAMPLES: usize = 32 << 20;
/// Most edges of a channel.
pub const MOST_EDGES: usize = 1 << 20;
/// Ps a second.
pub const SECOND_PS: f64 = 1e12;

/// A change of the level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// When it was first seen, in ps of the recording's clock.
    pub ps: i64,
    /// The level after it.
    pub high: bool,
}

/// One channel of a recording as levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// The format, e.g. `vcd`.
    pub format: &'static str,
    /// The channel, as the file names it.
    pub channel: String,
    /// The level before the first edge; `None` where it is unknown.
    pub begins_high: Option<bool>,
    /// The changes of the level, in their order.
    pub edges: Vec<Edge>,
    /// First and last time of the recording, in ps.
    pub span_ps: (i64, i64),
    /// How far an edge may be from its true time, in ps.
    pub step_ps: u64,
    /// Where that comes from.
    pub source: UncertaintySource,
    /// The voltage between the two levels, of an analogue channel.
    pub threshold: Option<f64>,
}

/// Where the uncertainty of an edge comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UncertaintySource {
    /// The sampling period that the file states, or that its rows have.
    Sampling,
    /// The sampling period that the user gave.
    Given,
    /// The resolution of the times in the file, which does not state how it was sampled: the truth may be further.
    Resolution,
}

/// The pulses of a file.
///
/// # Errors
/// [`PulseError`] with the file, the place and the fix.
pub fn read(path: &Path, wanted: &PulseOptions) -> Result<Pulses, PulseError> {
    let of = |why| PulseError::new(path, why);
    let not_there = |error| format!("{error}; fix: name the file that the recording was saved to");
    let open = File::open(path).map_err(|error| of(not_there(error).into()))?;
    let samples = samples(open, wanted).map_err(of)?;
    find::pulses(&samples, wanted).map_err(of)
}

/// The channel of a recording, whatever its format.
///
/// # Errors
/// Why it cannot be read, with the fix.
pub fn samples(
    mut file: impl Read + Seek,
    wanted: &PulseOptions,
) -> Result<Samples, error::PulseFault> {
    let mut start = [0; 512];
    let mut len = 0;
    while len < start.len() {
        match file.read(&mut start[len..])? {
            0 => break,
            read => len += read,
        }
    }
    file.seek(SeekFrom::Start(0))?;
    let start = &start[..len];
    let text = start.trim_ascii_start();
    match () {
        () if text.is_empty() => Err("the file is empty; fix: record and export again".into()),
        () if start.starts_with(b"PK") => sigrok::read(file, wanted),
        () if text.starts_with(b"$") => vcd::read(BufReader::new(file), wanted),
        () if start.contains(&0) => Err(
            "it is neither a value change dump nor a session of sigrok (.sr) nor text; fix: export the recording as VCD, \
             .sr or CSV"
                .into(),
        ),
        () => table::read(BufReader::new(file), wanted),
    }
}

/// Hostile bytes as a recording, for the fuzz target and the replay of its corpus.
pub fn fuzz_pulse(bytes: &[u8]) {
    let wanted = PulseOptions::default();
    for wanted in [
        &wanted,
        &PulseOptions {
            channel: Some("D0".to_owned()),
            ..wanted.clone()
        },
    ] {
        if let Ok(samples) = samples(Cursor::new(bytes), wanted) {
            assert!(samples.edges.len() <= MOST_EDGES);
            assert!(samples.edges.is_sorted_by_key(|edge| edge.ps));
            if let Ok(found) = find::pulses(&samples, wanted) {
                assert!(found.pulses.len() <= samples.edges.len());
            }
        }
    }
}
