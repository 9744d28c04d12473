//! The results file: versioned JSON of these types; `spec/results.schema.json` is generated from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check::{self, Impossible};
use crate::field::Field;
use crate::measuring::Measuring;
use crate::observation::Observation;
use crate::search::{BurstResult, CurveResult, SearchResult};

/// The word that identifies a results file.
pub const FORMAT: &str = "wirelab-results";
/// Version of the format; a reader refuses others.
pub const VERSION: u32 = 1;

/// The host the tester ran on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Operating system and kernel release.
    pub kernel: Field<String>,
    /// CPU model.
    pub cpu: Field<String>,
    /// Processors the tester may use.
    pub cpus: Field<u32>,
    /// Memory in bytes.
    pub memory_bytes: Field<u64>,
    /// Whether the host is a virtual machine.
    pub virtual_machine: Field<bool>,
}

/// A part of a plan: consecutive observations, and the result of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Its name in the plan, e.g. `UDP RX, datagram 64`.
    pub name: String,
    /// Index of its first observation in the file, from 0.
    pub first: u64,
    /// How many observations it has.
    pub observations: u64,
    /// The result of a search; `None` for listed trials, and while the search runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
    /// Why a search could not begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl Part {
    /// Its observations in the file; fewer than it claims where the file has fewer.
    pub fn of<'a>(&self, all: &'a [Observation]) -> &'a [Observation] {
        let place = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).min(all.len());
        &all[place(self.first)..place(self.first.saturating_add(self.observations))]
    }
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Found {
    /// The rates of its goals.
    Rates(SearchResult),
    /// The loss against the load.
    LossCurve(CurveResult),
    /// The longest bursts without loss.
    Bursts(BurstResult),
}

/// A results file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultsFile {
    /// [`FORMAT`].
    #[schemars(extend("const" = FORMAT))]
    pub format: String,
    /// [`VERSION`].
    #[schemars(extend("const" = VERSION))]
    pub version: u32,
    /// Version of wirelab that wrote it.
    pub wirelab_version: String,
    /// The command that made it.
    pub command: Vec<String>,
    /// When it was begun, ns since 1970.
    pub created_unix_ns: u64,
    /// The tester's host.
    pub environment: Environment,
    /// Whether the run ended before its plan was done.
    pub interrupted: bool,
    /// The observation of each trial, in order.
    pub observations: Vec<Observation>,
    /// The begun parts of the plan, in order; empty for a file without a plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The cost of measuring stages, where stages were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measuring: Option<Measuring>,
}

/// Why a text is not a results file.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// Not JSON, or a field is missing or has another type; the text has line and column.
    #[error("not a results file: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON of something else.
    #[error("not a results file: its format is '{0}', expected '{FORMAT}'")]
    Format(String),
    /// Written by another version.
    #[error(
        "results file of version {0}, but this wirelab reads version {VERSION}: use the wirelab that wrote it"
    )]
    Version(u32),
    /// It holds impossible figures, each with its place.
    #[error(
        "the results file holds impossible figures, so it was changed after the measurement: {}; fix: take the file as wirelab wrote it, or measure again",
        check::in_words(.0)
    )]
    Impossible(Vec<Impossible>),
    /// More values than a reader should need memory for.
    #[error(
        "not an acceptable results file: it holds more than {MOST_VALUES} values; fix: measure fewer trials in one file"
    )]
    TooManyValues,
}

/// Most values (separated by commas) of a results file: together with [`MOST_BYTES`] they bound the memory for reading,
/// at most some 100 bytes per value.
pub const MOST_VALUES: usize = 40_000_000;
/// Most bytes of a results file: 40,000 observations of a flow with latencies in buckets take half of it.
pub const MOST_BYTES: u64 = 512 << 20;

impl ResultsFile {
    /// Reads and checks a results file's text: what [`check::file`] finds is refused.
    ///
    /// # Errors
    /// [`ResultsError`] says what is wrong and where.
    pub fn parse(text: &str) -> Result<ResultsFile, ResultsError> {
        let file = ResultsFile::parse_unchecked(text)?;
        match check::file(&file) {
            none if none.is_empty() => Ok(file),
            some => Err(ResultsError::Impossible(some)),
        }
    }

    /// Reads a results file's text without checking for contradictions, e.g. to test that such figures break nothing.
    ///
    /// # Errors
    /// [`ResultsError`] says what is wrong and where.
    pub fn parse_unchecked(text: &str) -> Result<ResultsFile, ResultsError> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        if text.bytes().filter(|byte| *byte == b',').count() > MOST_VALUES {
            return Err(ResultsError::TooManyValues);
        }
        // The head is read first, so that the error names another version and not a missing field.
        let head: Head = serde_json::from_str(text)?;
        if head.format != FORMAT {
            return Err(ResultsError::Format(head.format));
        }
        if head.version != VERSION {
            return Err(ResultsError::Version(head.version));
        }
        Ok(serde_json::from_str(text)?)
    }

    /// Appends the observations and parts of another file.
    pub fn append(&mut self, other: ResultsFile) {
        let before = self.observations.len() as u64;
        self.interrupted |= other.interrupted;
        self.observations.extend(other.observations);
        self.parts.extend(other.parts.into_iter().map(|part| Part {
            first: part.first.saturating_add(before),
            ..part
        }));
        if let Some(more) = other.measuring {
            let all = self.measuring.get_or_insert_default();
            all.overheads.extend(more.overheads);
            all.costs.extend(more.costs);
            all.notes.extend(more.notes);
        }
    }

    /// The file's text: pretty-printed JSON with a newline at the end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("plain data always serialise");
        text.push('\n');
        text
    }

    /// The JSON schema of the format, as in `spec/results.schema.json`.
    pub fn schema_json() -> String {
        let schema = schemars::schema_for!(ResultsFile);
        let mut text = serde_json::to_string_pretty(&schema).expect("a schema always serialises");
        text.push('\n');
        text
    }
}

/// Entry for fuzzing: reads hostile bytes as a results file, and uses everything that a report does.
///
/// # Panics
/// If a file differs after it was written and read again.
pub fn fuzz_results(bytes: &[u8]) {
    let Some(file) = std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| ResultsFile::parse_unchecked(text).ok())
    else {
        return;
    };
    let sound = check::file(&file).is_empty();
    for observation in &file.observations {
        let _ = (observation.passed(), observation.trial.sizes());
        for flow in &observation.flows {
            if let (Some(sent), Some(counts)) = (flow.sent_frames.value(), flow.counts.value()) {
                let _ = counts.check_identity(*sent);
            }
            for series in flow.series.iter().chain(&observation.series) {
                let _ = (series.percentile(99.9), crate::pdv::Pdv::of(series));
                let _ = series.histogram.clone().merge(&series.histogram);
            }
        }
    }
    for part in &file.parts {
        let _ = part.of(&file.observations).len();
    }
    let text = file.to_json();
    let again = ResultsFile::parse_unchecked(&text).expect("what was written can be read");
    assert!(
        check::file(&again).is_empty() == sound,
        "written, and judged otherwise"
    );
    for observation in file.observations {
        assert!(check::observation(&check::kept(observation)).is_empty());
    }
    assert!(again.to_json() == text, "written twice, not the same");
}
