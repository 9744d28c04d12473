//! Writes a file completely or not at all: to a temporary file beside it, flushed to disk, then renamed.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

/// A results file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}; the file there is unchanged; fix: {}", path.display(), write_fix(source))]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    pub source: std::io::Error,
}

/// What to do where a file cannot be written.
#[must_use]
pub fn write_fix(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            "make its folder, or name a file in another with -o"
        }
        ErrorKind::PermissionDenied => "name a file that you may write with -o",
        ErrorKind::IsADirectory => "name a file, not a folder, with -o",
        _ => "free the space or name another file with -o",
    }
}

/// The target of a write, with links resolved.
pub enum Target {
    /// A new or existing file, which is replaced.
    Replace(PathBuf),
    /// A pipe or device, which is written directly and must never be replaced.
    Into(PathBuf),
}

impl Target {
    /// The target at `path`.
    pub fn of(path: &Path) -> Result<Target> {
        match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => {
                Err(Error::new(ErrorKind::IsADirectory, "it is a directory"))
            }
            // The link stays, its target is replaced.
            Ok(meta) if meta.is_file() => Ok(Target::Replace(path.canonicalize()?)),
            Ok(_) => Ok(Target::Into(path.to_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Ok(Target::Replace(path.to_owned()))
            }
            Err(error) => Err(error),
        }
    }
}

/// Writes `path` completely, or leaves it unchanged.
pub fn atomically(path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let (temporary, mut file) = beside(path)?;
    let written = write(&mut file)
        .and_then(|()| same_permissions(path, &file))
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        // Removes the partial file; the first error matters more than a failure here.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// Checks that a file can be made in the folder of `path`, before hours are spent on its content.
pub fn check(path: &Path) -> Result<()> {
    match Target::of(path)? {
        Target::Into(path) => OpenOptions::new().write(true).open(path).map(drop),
        Target::Replace(path) => {
            let (temporary, mut file) = beside(&path)?;
            let written = file.write_all(b"\n");
            std::fs::remove_file(temporary)?;
            written
        }
    }
}

/// A new file in the same folder: a rename is atomic only within one file system.
fn beside(path: &Path) -> Result<(PathBuf, File)> {
    let name = path
        .file_name()
        .ok_or_else(|| Error::new(ErrorKind::InvalidInput, "it is not a file name"))?;
    for attempt in 0..100 {
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}-{attempt}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)
        {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(
        ErrorKind::AlreadyExists,
        "a hundred temporary files of earlier runs remain: remove them",
    ))
}

fn same_permissions(path: &Path, file: &File) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(before) => file.set_permissions(before.permissions()),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_whole_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.json");
        atomically(&path, |f| f.write_all(b"before")).unwrap();
        let error = atomically(&path, |f| {
            f.write_all(b"half of it")?;
            Err(Error::from(ErrorKind::StorageFull))
        })
        .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_and_the_rights_stay() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        std::fs::write(&real, "old").unwrap();
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let Target::Replace(path) = Target::of(&link).unwrap() else {
            panic!("a link to a file is a file");
        };
        atomically(&path, |f| f.write_all(b"new")).unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read(&real).unwrap(), b"new");
        let mode = real.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }
}
