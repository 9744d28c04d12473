//! Settings of interfaces that a process changes, and what they were. The process puts them back; where it is killed,
//! the record of them in the folder of [`crate::runtime`] lets the next process do so.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::fcntl::Flock;

use crate::host::host_id;
use crate::runtime;
use crate::steer::on_own_sysfs;

/// Where the records are.
const FOLDER: &str = "changed";
/// Held while records are looked through; no record is called so.
const LOCK: &str = ".lock";
/// Most bytes of a record that are read: one line for each queue.
const MOST_BYTES: u64 = 1 << 20;

/// Settings that have another value as long as this lives.
#[derive(Debug)]
pub(crate) struct Changed {
    /// Each setting's file and what was in it. An open file keeps the sysfs that it belongs to.
    files: Vec<(File, String)>,
    record: PathBuf,
    _held: Flock<File>,
}

impl Changed {
    /// Writes `value` to settings of an interface, in the network namespace of the calling thread. A setting has the
    /// name that it has in the interface's folder of sysfs. What was is on record before the first is changed.
    ///
    /// # Errors
    /// What the system says; then nothing is changed.
    pub(crate) fn set(
        interface: &str,
        settings: Vec<(String, File)>,
        value: &str,
    ) -> io::Result<Changed> {
        let mut text = Place::of(interface)?.to_text();
        let mut files = Vec::new();
        for (name, mut file) in settings {
            let mut old = String::new();
            file.read_to_string(&mut old)?;
            let old = old.trim().to_owned();
            text += &format!("{name} {old} {value}\n");
            files.push((file, old));
        }
        let (record, held) = write_record(&text)?;
        // What was written so far is taken back where a later setting refuses.
        let mut changed = Changed {
            files,
            record,
            _held: held,
        };
        for (file, _) in &mut changed.files {
            file.write_all(value.as_bytes())?;
        }
        Ok(changed)
    }

    /// How many settings.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        for (file, old) in &mut self.files {
            // An interface that is gone has nothing to be restored.
            let _ = file.write_all(old.as_bytes());
        }
        let _ = fs::remove_file(&self.record);
    }
}

/// Which interface, so that another of its name or number is never taken for it.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    /// This start of the host.
    boot: String,
    /// The network namespace's inode.
    namespace: u64,
    index: u32,
    interface: String,
}

impl Place {
    /// In the namespace of the calling thread.
    fn of(interface: &str) -> io::Result<Place> {
        Ok(Place {
            boot: host_id().unwrap_or_default(),
            namespace: namespace()?,
            index: nix::net::if_::if_nametoindex(interface)?,
            interface: interface.to_owned(),
        })
    }

    fn to_text(&self) -> String {
        let Place {
            boot,
            namespace,
            index,
            interface,
        } = self;
        format!("{boot}\n{namespace}\n{index}\n{interface}\n")
    }
}

fn namespace() -> io::Result<u64> {
    Ok(fs::metadata("/proc/thread-self/ns/net")?.ino())
}

fn folder() -> io::Result<PathBuf> {
    let folder = runtime::folder().map_err(io::Error::other)?.join(FOLDER);
    runtime::private(&folder)?;
    Ok(folder)
}

/// A new record, locked; it has its name only when it is complete and locked.
fn write_record(text: &str) -> io::Result<(PathBuf, Flock<File>)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}-{number}", std::process::id());
    let folder = folder()?;
    let unfinished = folder.join(format!(".{name}"));
    // What a process of this number left there is of no use.
    let _ = fs::remove_file(&unfinished);
    let mut held = runtime::lock(&unfinished)?;
    held.write_all(text.as_bytes())?;
    let _lock = runtime::lock(&folder.join(LOCK))?;
    let path = folder.join(name);
    fs::rename(unfinished, &path)?;
    Ok((path, held))
}

/// Puts back what killed processes changed on the interfaces of the calling thread's network namespace, unless
/// somebody has changed it since.
///
/// # Errors
/// What the system says of the records.
pub fn restore_left() -> io::Result<()> {
    let folder = folder()?;
    let _lock = runtime::lock(&folder.join(LOCK))?;
    for entry in fs::read_dir(&folder)?.flatten() {
        let path = entry.path();
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if hidden || runtime::is_held(&path) {
            continue;
        }
        let mut text = String::new();
        File::open(&path)?
            .take(MOST_BYTES)
            .read_to_string(&mut text)?;
        if is_done(&text)? {
            let _ = fs::remove_file(path);
        }
    }
    Ok(())
}

/// Restores what a record names; whether it is of no further use.
fn is_done(text: &str) -> io::Result<bool> {
    let lines: Vec<&str> = text.lines().collect();
    let Some(([boot, inode, index, interface], settings)) = lines.split_first_chunk() else {
        return Ok(true);
    };
    if Some(*boot) != host_id().as_deref() {
        return Ok(true);
    }
    if inode.parse() != Ok(namespace()?) {
        return Ok(false);
    }
    match Place::of(interface) {
        Ok(place) if Ok(place.index) == index.parse() => {}
        // The interface is gone, and another may have its name.
        _ => return Ok(true),
    }
    let restored = on_own_sysfs(interface, |folder| {
        settings.iter().all(|line| restore(folder, line).is_ok())
    });
    Ok(restored.unwrap_or(false))
}

fn restore(folder: &Path, line: &str) -> io::Result<()> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, old, new] = words[..] else {
        return Ok(());
    };
    if name.starts_with('/') || name.contains("..") {
        return Ok(());
    }
    let path = folder.join(name);
    if bits(&fs::read_to_string(&path)?) == bits(new) {
        OpenOptions::new()
            .write(true)
            .open(&path)?
            .write_all(old.as_bytes())?;
    }
    Ok(())
}

/// The kernel pads a mask, and puts commas into it.
fn bits(mask: &str) -> String {
    let plain = mask.trim().replace(',', "");
    plain.trim_start_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn masks_are_compared_as_numbers() {
        assert_eq!(bits("00000000,00000002\n"), bits("2"));
        assert_ne!(bits("3"), bits("2"));
    }

    #[test]
    fn a_setting_outside_of_the_interface_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        fs::create_dir(&inside).unwrap();
        let outside = folder.path().join("outside");
        fs::write(&outside, "2").unwrap();
        restore(&inside, "../outside 0 2").unwrap();
        restore(&inside, &format!("{} 0 2", outside.display())).unwrap();
        assert_eq!(fs::read_to_string(outside).unwrap(), "2");
    }

    #[test]
    fn a_setting_that_somebody_changed_since_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mask");
        for (now, then) in [("2", "0"), ("1", "1")] {
            fs::write(&file, now).unwrap();
            restore(folder.path(), "mask 0 2").unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), then);
        }
    }

    proptest! {
        #[test]
        fn a_damaged_record_makes_no_panic(text in "[0-9a-z/ .\n]{0,80}") {
            let _ = is_done(&text);
            let _ = is_done(&format!("{}\n{text}", host_id().unwrap_or_default()));
        }
    }
}
