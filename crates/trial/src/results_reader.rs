//! Reading a results file: of this format and version, of a bounded size, and with no figure that cannot be.

use serde::Deserialize;

use crate::check::{self, Impossible};
use crate::results::{FORMAT, ResultsFile, VERSION};

/// Why a text is not a results file.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// Not JSON, or a field is missing or has another type; the text has line and column.
    #[error("not a results file: {0}; fix: give a file that 'wirelab measure -o' wrote")]
    Json(#[from] serde_json::Error),
    /// JSON of something else.
    #[error(
        "not a results file: its format is '{0}', expected '{FORMAT}'; fix: give a file that 'wirelab measure -o' wrote"
    )]
    Format(String),
    /// Written by another version.
    #[error(
        "results file of version {0}, but this wirelab reads versions 1 to {VERSION}; fix: use the wirelab that wrote it"
    )]
    Version(u32),
    /// It holds impossible figures, each with its place.
    #[error(
        "the results file holds impossible figures, so it was changed after the measurement: {}; fix: take the file as wirelab wrote it, or measure again",
        check::in_words(.0)
    )]
    Impossible(Vec<Impossible>),
    /// A packed list does not belong to the text, or is damaged.
    #[error(
        "not an acceptable results file: {place}: {what}; fix: take the file as wirelab wrote it, or measure again"
    )]
    Samples {
        /// The observation and the series.
        place: String,
        /// What is wrong with its list.
        what: String,
    },
    /// More values than a reader should need memory for.
    #[error(
        "not an acceptable results file: it holds more than {MOST_VALUES} values; fix: measure fewer trials in one file"
    )]
    TooManyValues,
}

/// Most values (separated by commas, or in packed lists) of a results file: together with [`MOST_BYTES`] they bound the memory for reading,
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
        let (mut file, values) = read(text)?;
        file.unpack(values)?;
        Ok(file)
    }
}

/// The file with its long lists still packed, and how many values its text has.
fn read(text: &str) -> Result<(ResultsFile, usize), ResultsError> {
    #[derive(Deserialize)]
    struct Head {
        format: String,
        version: u32,
    }
    let values = text.bytes().filter(|byte| *byte == b',').count();
    if values > MOST_VALUES {
        return Err(ResultsError::TooManyValues);
    }
    let (file, head) = match serde_json::from_str::<ResultsFile>(text) {
        Ok(file) => {
            let head = Head {
                format: file.format.clone(),
                version: file.version,
            };
            (Ok(file), head)
        }
        // The head comes first, so that the error names another version and not a missing field.
        Err(error) => (Err(error), serde_json::from_str(text)?),
    };
    if head.format != FORMAT {
        return Err(ResultsError::Format(head.format));
    }
    if !(1..=VERSION).contains(&head.version) {
        return Err(ResultsError::Version(head.version));
    }
    let mut file = file?;
    file.version = VERSION;
    Ok((file, values))
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
