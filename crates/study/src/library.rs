//! The built-in studies, and opening a study by its name or file.

use std::path::Path;

use wirelab_config::FileError;
use wirelab_trial::nearest::did_you_mean;

use crate::table::Study;

/// A file of `studies/` with its name.
macro_rules! study {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../studies/", $name, ".toml")),
        )
    };
}

/// Every file of `studies/`, in alphabetical order.
const STUDIES: &[(&str, &str)] = &[
    study!("am263x"),
    study!("esp32-nuttx"),
    study!("ethernet-fmc"),
    study!("lpc1768"),
    study!("zynq"),
];

/// Other names of studies, after their documents.
const ALSO: [(&str, &str); 1] = [("nxp-an11053", "lpc1768")];

/// Why a study cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No study has that name.
    #[error(
        "there is no study '{name}'; {meant}fix: name one of {names}, or give a file that ends in .toml"
    )]
    Unknown {
        /// The name.
        name: String,
        /// The nearest name, as a question.
        meant: String,
        /// All names.
        names: String,
    },
    /// The file is invalid or unreadable.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The names of the built-in studies.
pub fn names() -> impl Iterator<Item = &'static str> {
    STUDIES.iter().map(|(name, _)| *name)
}

/// Opens a built-in study by its name, or a file that ends in `.toml`.
///
/// # Errors
/// [`OpenError`] where there is no such study, or anything in its file is invalid.
pub fn open(name_or_path: &str) -> Result<Study, OpenError> {
    let (study, wrong) = open_whole(name_or_path)?;
    wrong
        .into_iter()
        .next()
        .map_or(Ok(study), |e| Err(e.into()))
}

/// As [`open`], as far as the file can be read; the list has the errors.
///
/// # Errors
/// [`OpenError`] where there is no such study, or nothing of its file can be read.
pub fn open_whole(name_or_path: &str) -> Result<(Study, Vec<FileError>), OpenError> {
    let path = Path::new(name_or_path);
    if path.extension().is_some_and(|end| end == "toml") {
        return Ok(Study::load_whole(path)?);
    }
    let also = ALSO.iter().find(|(other, _)| *other == name_or_path);
    let wanted = also.map_or(name_or_path, |(_, name)| name);
    let found = STUDIES.iter().find(|(name, _)| *name == wanted);
    let (name, text) = found.ok_or_else(|| OpenError::Unknown {
        name: name_or_path.chars().take(64).collect(),
        meant: did_you_mean(name_or_path, names().chain(ALSO.map(|(other, _)| other))),
        names: names().collect::<Vec<_>>().join(", "),
    })?;
    Ok(Study::parse_whole(text, &format!("studies/{name}.toml"))?)
}
