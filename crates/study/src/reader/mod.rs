//! Reads a study's TOML. Every error names its place and the fix.
mod claims;
mod matrix;
mod row;
mod sections;

pub(crate) use matrix::{filled, fits};
pub(crate) use row::OF_ROWS;

use std::path::Path;

use wirelab_config::{Entry, FileError, Read, Table, read_text};

use crate::quantity::{Dimension, Quantity};
use crate::table::Study;

/// Longest accepted study, in bytes.
pub const MAX_STUDY_BYTES: u64 = 256 * 1024;
/// Most rows of a study.
pub const MAX_ROWS: usize = 1_000;
/// Most figures of a study.
pub const MAX_CELLS: usize = 5_000;
/// Most claims and most sums of a study.
pub const MAX_CLAIMS: usize = 200;
/// Most rows of a claim or a sum.
pub const MAX_PARTS: usize = 64;
/// Longest name of a row, a claim, a column or a capture point, in characters.
pub const MAX_NAME: usize = 100;

const STUDY_KEYS: [&str; 12] = [
    "title", "source", "about", "node", "link", "clocks", "defaults", "row", "table", "note",
    "claim", "sum",
];

impl Study {
    /// Reads a study's text. `file` is its name in errors; its last part without `.toml` is the study's name.
    ///
    /// # Errors
    /// [`FileError`] names the file, line, column and field, what is wrong, and the fix.
    pub fn parse(text: &str, file: &str) -> Result<Study, FileError> {
        let (study, wrong) = Study::parse_whole(text, file)?;
        wrong.into_iter().next().map_or(Ok(study), Err)
    }

    /// Reads a study's text as far as it goes: a row, claim or sum that cannot be read is an error in the list, and
    /// hides none of the others.
    ///
    /// # Errors
    /// [`FileError`] where nothing can be read.
    pub fn parse_whole(text: &str, file: &str) -> Result<(Study, Vec<FileError>), FileError> {
        if text.len() as u64 > MAX_STUDY_BYTES {
            return Err(FileError::TooLong {
                file: file.into(),
                kind: "a study",
                limit_bytes: MAX_STUDY_BYTES,
            });
        }
        wirelab_config::read(text, file, |top| study(top, file))
    }

    /// Reads a study file.
    ///
    /// # Errors
    /// [`FileError`], as [`Study::parse_whole`], and where the file cannot be read.
    pub fn load_whole(path: &Path) -> Result<(Study, Vec<FileError>), FileError> {
        let text = read_text(path, "a study", MAX_STUDY_BYTES)?;
        Study::parse_whole(&text, &path.display().to_string())
    }
}

fn study(top: &Table<'_>, file: &str) -> Read<(Study, Vec<FileError>)> {
    top.known_keys(&STUDY_KEYS)?;
    let stem = Path::new(file).file_stem().and_then(|s| s.to_str());
    let mut study = Study {
        name: stem.unwrap_or("study").to_owned(),
        file: file.to_owned(),
        title: top.need("title", "write what the table is about")?.text()?,
        source: top
            .need("source", "write where the figures were printed")?
            .text()?,
        about: top.text("about")?,
        node: match top.get("node") {
            Some(entry) => name(&entry)?,
            None => String::new(),
        },
        link_bits_per_s: top.get("link").map(|e| e.rate()).transpose()?,
        clocks_hz: top.get("clocks").map_or(Ok(Vec::new()), clocks)?,
        rows: Vec::new(),
        claims: Vec::new(),
        sums: Vec::new(),
    };
    let mut wrong = Vec::new();
    sections::rows(top, &mut study, &mut wrong)?;
    claims::claims(top, &mut study, &mut wrong)?;
    claims::sums(top, &mut study, &mut wrong)?;
    Ok((study, wrong))
}

fn clocks(entry: Entry<'_>) -> Read<Vec<f64>> {
    entry.list("keep one of them", |e| {
        let clock: Quantity = e.word()?;
        if clock.unit.dimension != Dimension::Frequency || clock.number <= 0.0 {
            return Err(e.invalid("write a clock, e.g. \"100 MHz\""));
        }
        Ok(clock.base())
    })
}

pub(crate) fn too_many(most: usize) -> String {
    format!("there are too many; fix: write at most {most}")
}

/// The values of a list of bounded length.
fn list<'a>(entry: &Entry<'a>) -> Read<Vec<Entry<'a>>> {
    let all = if entry.is_list() {
        entry.entries()
    } else {
        Vec::new()
    };
    match all.len() {
        0 => Err(entry.invalid("write a list that is not empty")),
        n if n > MAX_PARTS => Err(entry.error(too_many(MAX_PARTS))),
        _ => Ok(all),
    }
}

/// A name of bounded length.
fn name(entry: &Entry<'_>) -> Read<String> {
    let text = entry.text()?;
    if text.chars().count() > MAX_NAME {
        return Err(entry.error(format!(
            "the name is too long; fix: write at most {MAX_NAME} characters"
        )));
    }
    Ok(text)
}

/// Entry for fuzzing: reads and audits hostile bytes as a study; errors must name a place in the text, and the fix.
///
/// # Panics
/// If an error names a place outside the text or no fix, or an accepted figure prints differently.
pub fn fuzz_study(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Study::parse_whole(text, "fuzz.toml") {
        Ok((study, wrong)) => {
            for error in &wrong {
                points_into(text, error);
            }
            for cell in study.rows.iter().flat_map(|row| &row.cells) {
                let printed = cell.published.to_string();
                assert_eq!(printed.parse().as_ref(), Ok(&cell.published), "{printed}");
            }
            crate::audit::audit(&study);
        }
        Err(error) => points_into(text, &error),
    }
}

fn points_into(text: &str, error: &FileError) {
    match error {
        FileError::At {
            line, column, what, ..
        } => {
            assert!(what.contains("fix: "), "{error}");
            assert!(*line >= 1 && *line <= text.split('\n').count());
            assert!(*column >= 1 && *column <= text.chars().count() + 1);
        }
        _ => assert!(text.len() as u64 > MAX_STUDY_BYTES),
    }
}
