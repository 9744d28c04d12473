//! The list of labs: one file for each lab in the user's runtime folder (`/run/wirelab/labs` for root), written
//! before anything is made, so that the leftovers of a crash can be found.
//!
//! The owner of a lab locks its file. The kernel frees the lock when the process dies, however it dies, so a lab with
//! an unlocked file has no owner. A process number alone does not show that, because another process may have got it.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use nix::fcntl::{Flock, FlockArg};
use wirelab_cores::runtime;

use super::{LabError, LabSpec};

/// The folder of the files. A restart of the host removes both files and labs.
fn folder() -> Result<PathBuf, LabError> {
    let folder = runtime::folder()?.join("labs");
    runtime::private(&folder).map_err(registry("make the folder"))?;
    Ok(folder)
}

/// The lock that is held while labs are made, removed or listed.
pub(super) fn lock_path() -> Result<PathBuf, LabError> {
    Ok(runtime::folder()?.join("lock"))
}

/// The record of a lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LabFile {
    pub spec: LabSpec,
    /// The process with which it ends; `None` for a lab that stays.
    pub owner: Option<u32>,
    /// Distinguishes this lab from a later one of the same name.
    pub token: String,
}

impl LabFile {
    pub(super) fn new(spec: &LabSpec, owner: Option<u32>) -> LabFile {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let time = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |passed| passed.as_nanos());
        LabFile {
            spec: spec.clone(),
            owner,
            token: format!(
                "{}-{time}-{}",
                std::process::id(),
                NUMBER.fetch_add(1, Ordering::Relaxed)
            ),
        }
    }

    fn to_text(&self) -> String {
        let LabSpec {
            name,
            pairs,
            mtu,
            queues,
            offloads,
            threaded,
        } = &self.spec;
        let owner = self.owner.unwrap_or(0);
        let token = &self.token;
        format!(
            "name={name}\npairs={pairs}\nmtu={mtu}\nqueues={queues}\noffloads={offloads}\nthreaded={threaded}\nowner={owner}\ntoken={token}\n"
        )
    }

    fn from_text(text: &str) -> Option<LabFile> {
        let field = |key: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
        };
        let spec = LabSpec {
            name: field("name")?.to_owned(),
            pairs: field("pairs")?.parse().ok()?,
            mtu: field("mtu")?.parse().ok()?,
            queues: field("queues")?.parse().ok()?,
            offloads: field("offloads")?.parse().ok()?,
            threaded: field("threaded")?.parse().ok()?,
        };
        spec.check().ok()?;
        let owner: u32 = field("owner")?.parse().ok()?;
        Some(LabFile {
            spec,
            owner: (owner != 0).then_some(owner),
            token: field("token")?.to_owned(),
        })
    }
}

fn registry(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> LabError {
    let what = what.into();
    move |source| LabError::Registry {
        folder: runtime::folder().unwrap_or_default(),
        what,
        source,
    }
}

/// Waits for the list's lock and takes it, until the value is dropped.
pub(super) fn lock() -> Result<Flock<File>, LabError> {
    runtime::lock(&lock_path()?).map_err(registry("take the lock"))
}

pub(super) fn path(name: &str) -> Result<PathBuf, LabError> {
    Ok(folder()?.join(name))
}

/// Writes the record of a new lab. The returned file is locked if the lab has an owner, and appears in the list only
/// then. The caller holds the list's lock.
pub(super) fn create(record: &LabFile) -> Result<Option<Flock<File>>, LabError> {
    let name = &record.spec.name;
    let unfinished = path(&format!(".{name}"))?;
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .open(&unfinished)
        .map_err(registry(format!("write the record of lab {name}")))?;
    file.write_all(record.to_text().as_bytes())
        .map_err(registry(format!("write the record of lab {name}")))?;
    let locked = match record.owner {
        None => None,
        Some(_) => Some(Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(
            |(_, errno)| registry(format!("lock the record of lab {name}"))(errno.into()),
        )?),
    };
    fs::rename(&unfinished, path(name)?)
        .map_err(registry(format!("name the record of lab {name}")))?;
    Ok(locked)
}

/// The record of a lab; `None` if there is none, or if it cannot be read.
pub(super) fn read(name: &str) -> Result<Option<LabFile>, LabError> {
    match fs::read_to_string(path(name)?) {
        Ok(text) => Ok(LabFile::from_text(&text).filter(|record| record.spec.name == name)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(registry(format!("read the record of lab {name}"))(e)),
    }
}

/// All records, by name.
pub(super) fn all() -> Result<Vec<LabFile>, LabError> {
    let entries = fs::read_dir(folder()?).map_err(registry("read the list"))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
        .iter()
        .filter_map(|name| read(name).transpose())
        .collect()
}

/// Whether the lab's owner has died. A lab without an owner is not an orphan.
pub(super) fn is_orphan(record: &LabFile) -> bool {
    if record.owner.is_none() {
        return false;
    }
    // A missing record was removed meanwhile.
    path(&record.spec.name).is_ok_and(|path| path.exists() && !runtime::is_held(&path))
}

/// Removes a lab from the list.
pub(super) fn remove(name: &str) -> Result<(), LabError> {
    match fs::remove_file(path(name)?) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(registry(format!("remove the record of lab {name}"))(e))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_record_comes_back_as_it_was() {
        for owner in [None, Some(4711)] {
            let record = LabFile::new(&LabSpec::new("a", 3), owner);
            assert_eq!(LabFile::from_text(&record.to_text()), Some(record));
        }
    }

    proptest! {
        #[test]
        fn a_damaged_record_is_refused_without_panic(cut in 0usize..120, byte in any::<char>()) {
            let mut text = LabFile::new(&LabSpec::new("a", 3), Some(1)).to_text();
            if cut < text.len() {
                text.replace_range(cut..=cut, &byte.to_string());
            }
            if let Some(record) = LabFile::from_text(&text) {
                prop_assert!(record.spec.check().is_ok());
            }
        }
    }
}
