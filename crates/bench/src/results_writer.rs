//! Writes observations to a results file while a plan runs, so that an interruption loses almost nothing.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wirelab_trial::results_reader::{MOST_BYTES, ResultsError};
use wirelab_trial::{
    ConsoleLog, Environment, Observation, Part, ResultsFile, SearchOutcome, check as figures,
};

use crate::matrix::PlannedTrial;
use crate::resume::Stored;
use crate::run::Sink;
use crate::save::{Target, WriteError, atomically, check};

/// Shortest time between two writes of the file while a plan runs.
pub const SAVE_EVERY: Duration = Duration::from_secs(1);
/// Writing takes at most this fraction (1/N) of the time, for any length of the file.
const SHARE_OF_TIME: u32 = 10;

/// Bytes that are checked before the rest of a file is read.
const HEAD: u64 = 4096;

/// Why a results file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadResultsError {
    /// The file cannot be opened or read.
    #[error("{}: {source}; fix: give a results file that 'wirelab measure -o' wrote", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// It is not a results file.
    #[error("{}: {source}", path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// What is wrong and where.
        source: ResultsError,
    },
}

/// Writes a results file completely, or leaves the existing file unchanged. A pipe or device is written directly.
///
/// # Errors
/// [`WriteError`] names the file and the reason, e.g. a full disk.
pub fn save(file: &ResultsFile, path: &Path) -> Result<(), WriteError> {
    let failed = |source| WriteError {
        path: path.to_owned(),
        source,
    };
    let json = file.to_json();
    match Target::of(path).map_err(failed)? {
        Target::Replace(real) => atomically(&real, |f| f.write_all(json.as_bytes())),
        Target::Into(real) => std::fs::OpenOptions::new()
            .write(true)
            .open(real)
            .and_then(|mut f| f.write_all(json.as_bytes())),
    }
    .map_err(failed)
}

/// Reads a results file: a file or a pipe of at most [`MOST_BYTES`].
///
/// # Errors
/// [`LoadResultsError`] names the file, and what is wrong with it.
pub fn load(path: &Path) -> Result<ResultsFile, LoadResultsError> {
    let text = text_of(path).map_err(|source| LoadResultsError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    ResultsFile::parse(&text).map_err(|source| LoadResultsError::Bad {
        path: path.to_owned(),
        source,
    })
}

/// The text of a file, if it may be a results file; others are refused before they take memory.
fn text_of(path: &Path) -> std::io::Result<String> {
    let refused = |why: String| Err(std::io::Error::other(why));
    // Before the file is opened, because opening a device can have effects.
    let about = std::fs::metadata(path)?;
    let kind = about.file_type();
    if !kind.is_file() && !kind.is_fifo() {
        return refused("not a regular file".to_owned());
    }
    let too_long = format!("longer than the {} MiB that are read", MOST_BYTES >> 20);
    if about.len() > MOST_BYTES {
        return refused(too_long);
    }
    let mut file = File::open(path)?.take(MOST_BYTES + 1);
    let mut bytes = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut bytes)?;
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_some_and(|byte| *byte != b'{') {
        return refused("not a results file: it does not begin with {".to_owned());
    }
    file.read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MOST_BYTES {
        true => refused(too_long),
        false => String::from_utf8(bytes).or_else(|_| refused("not text in UTF-8".to_owned())),
    }
}

/// A [`Sink`] that keeps observations, in memory and, where it has a path, in a results file.
///
/// While the plan runs the file has the status `interrupted`, which is true if it is never written again.
#[derive(Debug)]
pub struct ResultsWriter {
    path: Option<PathBuf>,
    file: ResultsFile,
    every: Duration,
    next_save: Instant,
    /// Observations that are already in the file on disk: it is not written with fewer.
    on_disk: usize,
    /// The place of this run's console among those of the file.
    console: Option<usize>,
}

impl ResultsWriter {
    /// An empty results file of this host and command, begun at `created_unix_ns`.
    ///
    /// With a path it checks immediately whether it can be written; an existing file is not changed before the first
    /// observation.
    ///
    /// # Errors
    /// [`WriteError`] where the path cannot be written.
    pub fn create(
        path: Option<&Path>,
        environment: Environment,
        command: Vec<String>,
        wirelab_version: &str,
        created_unix_ns: u64,
    ) -> Result<ResultsWriter, WriteError> {
        if let Some(path) = path {
            check(path).map_err(|source| WriteError {
                path: path.to_owned(),
                source,
            })?;
        }
        Ok(ResultsWriter {
            path: path.map(Path::to_owned),
            file: ResultsFile {
                interrupted: true,
                ..ResultsFile::new(wirelab_version, command, created_unix_ns, environment)
            },
            every: SAVE_EVERY,
            next_save: Instant::now(),
            on_disk: 0,
            console: None,
        })
    }

    /// A writer that resumes a results file: the stored observations come first, and until all of them are there the
    /// file on disk stays unchanged.
    ///
    /// # Errors
    /// [`WriteError`] where the path cannot be written.
    pub fn resume(
        path: Option<&Path>,
        file: ResultsFile,
        stored: &Stored,
    ) -> Result<ResultsWriter, WriteError> {
        let of = ResultsWriter::create(path, file.environment, file.command, "", 0)?;
        Ok(ResultsWriter {
            on_disk: stored.observations(),
            file: ResultsFile {
                wirelab_version: file.wirelab_version,
                created_unix_ns: file.created_unix_ns,
                consoles: file.consoles,
                ..of.file
            },
            ..of
        })
    }

    /// Sets the shortest time between two writes; zero writes after every trial.
    pub fn save_every(mut self, every: Duration) -> ResultsWriter {
        self.every = every;
        self
    }

    /// What is kept so far.
    pub const fn file(&self) -> &ResultsFile {
        &self.file
    }

    /// Keeps the console's transcript so far, in place of the earlier one.
    pub fn keep_console(&mut self, log: ConsoleLog) {
        let of_this_run = self.console.get_or_insert(self.file.consoles.len());
        self.file.consoles.truncate(*of_this_run);
        self.file.consoles.push(log);
    }

    /// Keeps one more observation, and writes the file if the last write is long enough ago. An observation with
    /// impossible figures is kept as void, with the reason.
    ///
    /// # Errors
    /// [`WriteError`]; the observation is still kept in memory.
    pub fn push(&mut self, observation: Observation) -> Result<(), WriteError> {
        self.file.observations.push(figures::kept(observation));
        if let Some(part) = self.file.parts.last_mut() {
            part.observations += 1;
        }
        let Some(path) = self.path.as_ref().filter(|_| self.is_ahead()) else {
            return Ok(());
        };
        // A pipe gets one file at the end, not one for each trial.
        let replaced = matches!(Target::of(path), Ok(Target::Replace(_)));
        let begun = Instant::now();
        if !replaced || begun < self.next_save {
            return Ok(());
        }
        save(&self.file, path)?;
        let pause = begun
            .elapsed()
            .saturating_mul(SHARE_OF_TIME)
            .max(self.every);
        self.next_save = if self.every.is_zero() {
            begun
        } else {
            Instant::now() + pause
        };
        Ok(())
    }

    /// Whether something here is not in the file on disk yet.
    fn is_ahead(&self) -> bool {
        self.file.observations.len() > self.on_disk
    }

    /// Ends the file: records whether the plan ended early (by Ctrl-C or by an error), and writes it. Without
    /// observations nothing is written, so that a run that failed at its start does not destroy older results.
    ///
    /// # Errors
    /// [`WriteError`] together with what is kept, so that it can be shown or written elsewhere.
    pub fn finish(
        mut self,
        interrupted: bool,
    ) -> Result<ResultsFile, (WriteError, Box<ResultsFile>)> {
        self.file.interrupted = interrupted;
        // With the same number of observations the last search may have ended since.
        if self.file.observations.is_empty() || self.file.observations.len() < self.on_disk {
            return Ok(self.file);
        }
        if let Some(path) = &self.path {
            if let Err(error) = save(&self.file, path) {
                return Err((error, Box::new(self.file)));
            }
        }
        Ok(self.file)
    }
}

impl Sink for ResultsWriter {
    fn take(&mut self, _: &PlannedTrial, observation: Observation) -> Result<(), WriteError> {
        self.push(observation)
    }

    fn begin_part(&mut self, name: &str) {
        self.file.parts.push(Part {
            name: name.to_owned(),
            first: self.file.observations.len() as u64,
            observations: 0,
            found: None,
            refused: None,
        });
    }

    fn end_part(&mut self, result: Result<SearchOutcome, String>) {
        let Some(part) = self.file.parts.last_mut() else {
            return;
        };
        let sound = result.and_then(|found| match figures::found(&found) {
            none if none.is_empty() => Ok(found),
            some => {
                let some = figures::in_words(&some);
                Err(format!("the search's result is impossible: {some}"))
            }
        });
        match sound {
            Ok(found) => part.found = Some(found),
            Err(why) => part.refused = Some(why),
        }
    }
}
