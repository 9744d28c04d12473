//! The studies that come with the program, and how a study is opened by its name or its file.

use std::path::Path;

use wirelab_config::FileError;
use wirelab_config::table::did_you_mean;

use crate::table::Study;

/// Name and text of every file of `studies/`.
const STUDIES: &[(&str, &str)] = &[];

/// The names of the studies that come with the program.
pub fn names() -> impl Iterator<Item = &'static str> {
    STUDIES.iter().map(|(name, _)| *name)
}

/// Why a study cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is no such study.
    #[error("'{name}' is no study: {meant}The studies are {}; or give a file's path", names().collect::<Vec<_>>().join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest name, as a question.
        meant: String,
    },
}

/// A study by its name, or by the path of its file.
///
/// # Errors
/// [`OpenError`] where there is none, or its file cannot be used.
pub fn open(name_or_path: &str) -> Result<Study, OpenError> {
    if let Some((name, text)) = STUDIES.iter().find(|(name, _)| *name == name_or_path) {
        return Ok(Study::parse(text, &format!("studies/{name}.toml"))?);
    }
    let path = Path::new(name_or_path);
    let looks_like_a_file = name_or_path.contains('/') || path.extension().is_some();
    if looks_like_a_file || path.is_file() {
        return Ok(Study::load(path)?);
    }
    Err(OpenError::Unknown {
        name: name_or_path.to_owned(),
        meant: did_you_mean(name_or_path, names()),
    })
}
