//! The folder of a running board: its sockets and logs, and what others need to find it.
//!
//! The owner holds a lock on a file in it, which the kernel releases when the owner dies. A folder that can be locked
//! is a leftover, and the next board that starts removes it.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::fcntl::Flock;
use serde::{Deserialize, Serialize};
use wirelab_port::runtime;

/// The file from which others identify a board.
const ABOUT: &str = "about.json";
/// The file that the owner holds.
const HELD: &str = "held";
/// Locked while folders are made and swept.
const LOCK: &str = "lock";
/// Most bytes of a description that are read.
const MOST_ABOUT: u64 = 64 * 1024;

/// What others need to find and reach a running board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardEntry {
    /// Its name in the catalogue.
    pub board: String,
    /// The process that runs it.
    pub process: u32,
    /// Its firmware.
    pub image: PathBuf,
    /// Its address; none without an interface on this host.
    pub ip: Option<Ipv4Addr>,
    /// Its Ethernet address.
    pub mac: String,
    /// The network namespace of the tester's end; none without an interface on this host.
    pub namespace: Option<String>,
    /// The socket of its console.
    pub uart: PathBuf,
    /// What it printed.
    pub log: PathBuf,
}

/// A folder that is removed with this value.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _held: Flock<File>,
}

impl Folder {
    /// Makes a folder for a board called `name`, and removes the folders of dead owners.
    ///
    /// # Errors
    /// The system's error.
    pub fn make(name: &str) -> io::Result<Folder> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let base = base()?;
        let _lock = runtime::lock(&base.join(LOCK))?;
        sweep(&base);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = base.join(format!("{name}-{}-{number}", std::process::id()));
        private().create(&path)?;
        let held = runtime::lock(&path.join(HELD))?;
        Ok(Folder { path, _held: held })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes the description by which others find the board.
    ///
    /// # Errors
    /// The system's error.
    pub fn describe(&self, about: &BoardEntry) -> io::Result<()> {
        fs::write(self.join(ABOUT), serde_json::to_vec(about)?)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A file that cannot be removed now is swept later.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A board that another process, or this one, runs.
#[derive(Clone, Debug, Serialize)]
pub struct Running {
    /// The name of its folder: board, process, number.
    pub id: String,
    /// Its folder.
    #[serde(skip)]
    pub path: PathBuf,
    /// The description that its owner wrote.
    #[serde(flatten)]
    pub about: BoardEntry,
}

/// The running boards of this user.
///
/// # Errors
/// The system's error for the folder of all boards.
pub fn running() -> io::Result<Vec<Running>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(base()?)?.flatten() {
        let path = entry.path();
        let Some(about) = read_about(&path) else {
            continue;
        };
        if is_held(&path) {
            let id = entry.file_name().to_string_lossy().into_owned();
            all.push(Running { id, path, about });
        }
    }
    all.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(all)
}

fn read_about(path: &Path) -> Option<BoardEntry> {
    use std::io::Read;
    let mut text = String::new();
    let file = File::open(path.join(ABOUT)).ok()?;
    file.take(MOST_ABOUT).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// The parent of the folders.
fn base() -> io::Result<PathBuf> {
    let path = runtime::folder().map_err(io::Error::other)?.join("boards");
    runtime::private(&path)?;
    Ok(path)
}

fn private() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

fn is_held(folder: &Path) -> bool {
    runtime::is_held(&folder.join(HELD))
}

/// Removes the folders of dead owners. The caller holds the lock.
fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() && !is_held(&path) {
            let _ = fs::remove_dir_all(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_found_while_it_is_held_and_goes_with_its_owner() {
        let folder = Folder::make("test-board").unwrap();
        let about = BoardEntry {
            board: "test-board".to_owned(),
            process: std::process::id(),
            image: "test.elf".into(),
            ip: Some(Ipv4Addr::LOCALHOST),
            mac: "02:00:00:00:00:01".to_owned(),
            namespace: None,
            uart: folder.join("uart"),
            log: folder.join("log"),
        };
        folder.describe(&about).unwrap();
        let path = folder.path().to_owned();
        let mine = |path: &Path| running().unwrap().into_iter().find(|r| r.path == path);
        assert_eq!(mine(&path).unwrap().about, about);
        drop(folder);
        assert!(!path.exists());
        assert!(mine(&path).is_none());
    }

    #[test]
    fn what_a_dead_owner_left_is_swept() {
        let base = base().unwrap();
        let left = base.join(format!("left-{}", std::process::id()));
        // Every start of a board sweeps too, so half of the leftovers may be gone while they are made.
        let lock = runtime::lock(&base.join(LOCK)).unwrap();
        fs::create_dir(&left).unwrap();
        fs::write(left.join(HELD), "").unwrap();
        drop(lock);
        let _folder = Folder::make("test-sweep").unwrap();
        assert!(!left.exists());
    }
}
