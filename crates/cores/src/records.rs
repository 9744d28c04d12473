//! Records of what a process has changed, in a folder of [`crate::runtime`]. A process locks each of its records, and
//! the kernel frees the lock when the process ends, however it ends. A record without a lock was left by a killed
//! process.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use nix::fcntl::{Flock, FlockArg};

use crate::runtime;

/// Locked while records are written or searched; no record has this name.
const LOCK: &str = ".lock";
/// Most bytes of a record that are read.
const MOST_BYTES: u64 = 1 << 20;

/// All records of one type. While this value exists, no other process may change them.
#[derive(Debug)]
pub(crate) struct Records {
    folder: PathBuf,
    _lock: Flock<File>,
}

/// A record of this process; removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Record {
    path: PathBuf,
    _held: Flock<File>,
}

/// A record of any process.
#[derive(Debug)]
pub(crate) struct ProcessRecord {
    pub(crate) name: String,
    path: PathBuf,
}

/// The folder of one type of records, made if it is missing.
pub(crate) fn folder(kind: &str) -> io::Result<PathBuf> {
    let folder = runtime::folder().map_err(io::Error::other)?.join(kind);
    runtime::private(&folder)?;
    Ok(folder)
}

impl Records {
    /// Waits for the lock of one type of records and takes it.
    pub(crate) fn open(kind: &str) -> io::Result<Records> {
        Records::open_in(folder(kind)?)
    }

    fn open_in(folder: PathBuf) -> io::Result<Records> {
        let lock = runtime::lock(&folder.join(LOCK))?;
        Ok(Records {
            folder,
            _lock: lock,
        })
    }

    /// A new record. Its name begins with `front` and is unique; a process number alone may be reused.
    pub(crate) fn write(&self, front: &str, text: &str) -> io::Result<Record> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let time = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |passed| passed.as_nanos());
        let pid = std::process::id();
        let path = self.folder.join(format!("{front}{pid}-{time}-{number}"));
        let file = OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&path)?;
        let mut held = Flock::lock(file, FlockArg::LockExclusiveNonblock)
            .map_err(|(_, errno)| io::Error::from(errno))?;
        held.write_all(text.as_bytes())?;
        Ok(Record { path, _held: held })
    }

    /// The records of living processes.
    pub(crate) fn held(&self) -> impl Iterator<Item = ProcessRecord> {
        self.all().filter(|found| runtime::is_held(&found.path))
    }

    /// The records of killed processes.
    pub(crate) fn left(&self) -> impl Iterator<Item = ProcessRecord> {
        self.all().filter(|found| !runtime::is_held(&found.path))
    }

    fn all(&self) -> impl Iterator<Item = ProcessRecord> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            (!name.starts_with('.')).then(|| ProcessRecord {
                name,
                path: entry.path(),
            })
        })
    }
}

impl ProcessRecord {
    /// Its text; empty if it cannot be read.
    pub(crate) fn text(&self) -> String {
        let read = |path: &Path| {
            let mut bytes = Vec::new();
            File::open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
            io::Result::Ok(bytes)
        };
        String::from_utf8_lossy(&read(&self.path).unwrap_or_default()).into_owned()
    }

    pub(crate) fn remove(self) {
        let _ = fs::remove_file(self.path);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_on_record_is_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::open_in(folder.path().to_owned()).unwrap();
        let left = || records.left().map(|found| found.text()).collect::<Vec<_>>();
        let record = records.write("", "one").unwrap();
        assert_eq!((records.held().count(), left()), (1, vec![]));
        // As after a kill: the lock is free, and the next process has the same number.
        fs::copy(&record.path, folder.path().join("copy")).unwrap();
        drop(record);
        assert_eq!(
            (records.held().count(), left()),
            (0, vec!["one".to_owned()])
        );
        let others: Vec<Record> = (0..8).map(|_| records.write("", "two").unwrap()).collect();
        assert_eq!((records.held().count(), left().len()), (others.len(), 1));
        records.left().for_each(ProcessRecord::remove);
        assert_eq!((records.held().count(), left().len()), (others.len(), 0));
    }
}
