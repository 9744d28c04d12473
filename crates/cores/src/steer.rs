//! The cores that do the receive work of an interface: receive packet steering (`rps_cpus` of each receive queue, see
//! Documentation/networking/scaling.rst of the kernel).
//!
//! On veth, and on every interface without interrupts, the sender's core does the receive work unless it is steered.
//!
//! The process restores what it changed. A record in the folder of [`crate::runtime`] lets the next process restore
//! what a killed one left.

use crate::interface::{InterfaceId, Namespace, done};
use crate::list::Cores;
use crate::records::{ProcessRecord, Record, Records};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Most receive queues of an interface that are read.
const MOST_QUEUES: usize = 1024;

/// Why receive work cannot be steered.
#[derive(Debug, thiserror::Error)]
pub enum SteerError {
    /// The interface does not exist here.
    #[error(
        "there is no interface {0} with receive queues in this network namespace; fix: choose one of `ip link`"
    )]
    NoInterface(String),
    /// sysfs shows another namespace, and cannot be mounted again.
    #[error(
        "/sys shows another network namespace than the one of {0}; CAP_SYS_ADMIN is missing; fix: run it with `sudo wirelab …`"
    )]
    OtherNamespace(String),
    /// Not allowed.
    #[error(
        "missing the right to steer the receive work of {interface}; fix: run it with `sudo wirelab …`, or steer it yourself: `echo {mask} | sudo tee /sys/class/net/{interface}/queues/rx-*/rps_cpus`"
    )]
    Privilege {
        /// The interface.
        interface: String,
        /// The value to write.
        mask: String,
    },
    /// The kernel refused.
    #[error(
        "the receive work of {interface} cannot be steered: {source}; fix: leave it where it is, or let a driver with receive queues do it"
    )]
    Io {
        /// The interface.
        interface: String,
        /// The kernel's error.
        source: io::Error,
    },
}

/// Steered receive work. Dropping it restores the previous cores.
#[derive(Debug)]
pub struct Steering {
    interface: String,
    cores: Cores,
    changed: Changed,
}

impl Steering {
    /// Let `cores` do the receive work of an interface in the network namespace of the calling thread. What a killed
    /// process left steered there is restored first.
    ///
    /// # Errors
    /// [`SteerError`]; nothing is changed then.
    pub fn to(interface: &str, cores: &Cores) -> Result<Steering, SteerError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                SteerError::Privilege {
                    interface: interface.to_owned(),
                    mask: cores.mask(),
                }
            }
            _ => SteerError::Io {
                interface: interface.to_owned(),
                source,
            },
        };
        let queues = open_queues(interface, failed)?;
        restore_left().map_err(failed)?;
        Ok(Steering {
            interface: interface.to_owned(),
            cores: cores.clone(),
            changed: Changed::set(interface, queues, &cores.mask()).map_err(failed)?,
        })
    }

    /// The interface.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// The cores of its receive work.
    pub const fn cores(&self) -> &Cores {
        &self.cores
    }

    /// Number of receive queues.
    pub fn queues(&self) -> usize {
        self.changed.len()
    }
}

/// The present steering of each receive queue of an interface, as masks of the kernel.
///
/// # Errors
/// [`SteerError`].
pub fn masks(interface: &str) -> Result<Vec<String>, SteerError> {
    let failed = |source| SteerError::Io {
        interface: interface.to_owned(),
        source,
    };
    let read = |(_, mut file): (String, File)| {
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        Ok(text.trim().to_owned())
    };
    on_own_sysfs(interface, |folder| open_all(folder, false))?
        .map_err(failed)?
        .into_iter()
        .map(read)
        .collect()
}

fn open_queues(
    interface: &str,
    failed: impl Fn(io::Error) -> SteerError,
) -> Result<Vec<(String, File)>, SteerError> {
    let files = on_own_sysfs(interface, |folder| open_all(folder, true))?;
    match files {
        Ok(files) if files.is_empty() => Err(SteerError::NoInterface(interface.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(SteerError::NoInterface(interface.to_owned()))
        }
        other => other.map_err(failed),
    }
}

/// The setting of each receive queue by its path in the interface's folder, and its open file.
fn open_all(folder: &Path, write: bool) -> io::Result<Vec<(String, File)>> {
    let mut queues: Vec<String> = fs::read_dir(folder.join("queues"))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("rx-"))
        .take(MOST_QUEUES)
        .collect();
    queues.sort();
    let open = |queue: String| {
        let name = format!("queues/{queue}/rps_cpus");
        let file = OpenOptions::new()
            .read(true)
            .write(write)
            .custom_flags(nix::libc::O_CLOEXEC)
            .open(folder.join(&name))?;
        Ok((name, file))
    };
    queues.into_iter().map(open).collect()
}

/// Run `work` with the folder of the interface in a sysfs that shows the caller's network namespace. If that is
/// allowed, such a sysfs is mounted for a separate thread; else the host's is used if it shows the same interface.
pub(crate) fn on_own_sysfs<T: Send>(
    interface: &str,
    work: impl FnOnce(&Path) -> T + Send,
) -> Result<T, SteerError> {
    let no_interface = || SteerError::NoInterface(interface.to_owned());
    // The name becomes part of a path.
    if interface.is_empty() || interface.contains('/') || interface.starts_with('.') {
        return Err(no_interface());
    }
    let index = nix::net::if_::if_nametoindex(interface).map_err(|_| no_interface())?;
    let folder = Path::new("/sys/class/net").join(interface);
    let run = || {
        // If mounting is not permitted, the existing one may do.
        let _ = mount_own_sysfs();
        let shown = fs::read_to_string(folder.join("ifindex")).unwrap_or_default();
        if shown.trim().parse() != Ok(index) {
            return Err(SteerError::OtherNamespace(interface.to_owned()));
        }
        Ok(work(&folder))
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, run);
        let thread = thread.map_err(|source| SteerError::Io {
            interface: interface.to_owned(),
            source,
        })?;
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Gives the calling thread its own mount namespace, with a `/sys` that shows its network namespace.
///
/// # Errors
/// The kernel's error: `EPERM` without CAP_SYS_ADMIN.
pub fn mount_own_sysfs() -> nix::Result<()> {
    // Threads share one root and working directory, with which the kernel refuses a private mount namespace.
    unshare(CloneFlags::CLONE_FS | CloneFlags::CLONE_NEWNS)?;
    // Without this the mount below would propagate to the rest of the host.
    let private = MsFlags::MS_SLAVE | MsFlags::MS_REC;
    mount(None::<&str>, "/", None::<&str>, private, None::<&str>)?;
    mount(
        Some("sysfs"),
        "/sys",
        Some("sysfs"),
        MsFlags::empty(),
        None::<&str>,
    )
}

/// The folder of the records.
const FOLDER: &str = "changed";

/// Settings that have another value while this exists.
#[derive(Debug)]
pub(crate) struct Changed {
    /// Each setting's file and its old value. An open file keeps its sysfs.
    files: Vec<(File, String)>,
    /// Dropped after the settings are restored.
    _record: Record,
}

impl Changed {
    /// Writes `value` to settings of an interface, in the network namespace of the calling thread. A setting is named
    /// by its path in the interface's folder of sysfs. The old values are recorded before the first change.
    ///
    /// # Errors
    /// The system's error; nothing is changed then.
    pub(crate) fn set(
        interface: &str,
        settings: Vec<(String, File)>,
        value: &str,
    ) -> io::Result<Changed> {
        let mut text = InterfaceId::of(interface)?.to_text();
        let mut files = Vec::new();
        for (name, mut file) in settings {
            let mut old = String::new();
            file.read_to_string(&mut old)?;
            let old = old.trim().to_owned();
            text += &format!("{name} {old} {value}\n");
            files.push((file, old));
        }
        let record = Records::open(FOLDER)?.write("", &text)?;
        // If a later setting refuses, those written so far are restored.
        let mut changed = Changed {
            files,
            _record: record,
        };
        for (file, _) in &mut changed.files {
            file.write_all(value.as_bytes())?;
        }
        Ok(changed)
    }

    /// Number of settings.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        for (file, old) in &mut self.files {
            // A deleted interface needs no restoring.
            let _ = file.write_all(old.as_bytes());
        }
    }
}

/// Restores what killed processes changed on the interfaces of the calling thread's network namespace, except values
/// that were changed since.
///
/// # Errors
/// The system's error for the records.
pub(crate) fn restore_left() -> io::Result<()> {
    let records = Records::open(FOLDER)?;
    for found in records.left() {
        if is_done(&found.text())? {
            found.remove();
        }
    }
    Ok(())
}

/// The inodes of the network namespaces in which a killed process may have left an interface changed.
///
/// # Errors
/// The system's error for the records.
pub fn namespaces_left() -> io::Result<Vec<u64>> {
    let records = Records::open(FOLDER)?;
    let inode = |found: ProcessRecord| Some(Namespace::parse(found.text().lines().nth(1)?)?.inode);
    Ok(records.left().filter_map(inode).collect())
}

/// Restores the settings of a record; returns whether the record is no longer needed.
fn is_done(text: &str) -> io::Result<bool> {
    done(text, |interface, settings| {
        let restored = on_own_sysfs(interface, |folder| {
            settings.iter().all(|line| restore(folder, line).is_ok())
        });
        restored.unwrap_or(false)
    })
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

/// The kernel pads a mask and inserts commas.
fn bits(mask: &str) -> String {
    let plain = mask.trim().replace(',', "");
    plain.trim_start_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_id;

    #[test]
    fn an_unknown_interface_is_named() {
        let cores = crate::allowed().unwrap();
        for name in ["nosuch0", "", "../lo", "a/b"] {
            let error = Steering::to(name, &cores).unwrap_err();
            assert!(matches!(error, SteerError::NoInterface(_)), "{error}");
        }
    }
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
    fn a_setting_that_changed_since_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mask");
        for (now, then) in [("2", "0"), ("1", "1")] {
            fs::write(&file, now).unwrap();
            restore(folder.path(), "mask 0 2").unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), then);
        }
    }

    #[test]
    fn a_namespace_that_is_gone_is_not_taken_for_one_that_has_its_number() {
        let Namespace { inode, cookie } = Namespace::own().unwrap();
        let boot = host_id().unwrap();
        let done = |inode, cookie| {
            is_done(&format!(
                "{boot}\n{inode} {cookie}\n1\nlo\n../nowhere 0 1\n"
            ))
            .unwrap()
        };
        assert!(done(inode, cookie), "it is this one");
        assert!(done(inode, cookie + 1), "it is gone");
        assert!(!done(inode + 1, cookie + 1), "it may be there");
    }

    proptest! {
        #[test]
        fn a_damaged_record_makes_no_panic(text in "[0-9a-z/ .\n]{0,80}") {
            let _ = is_done(&text);
            let _ = is_done(&format!("{}\n{text}", host_id().unwrap_or_default()));
        }
    }
}
