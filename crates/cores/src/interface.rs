//! Which interface a record is about, and settings of interfaces that other crates put on record.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use crate::host::host_id;
use crate::records::{Record, Records};
use crate::sys;

/// Identifies an interface, so that another one of its name or number is not mistaken for it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InterfaceId {
    /// The boot id of the host.
    boot: String,
    namespace: Namespace,
    index: u32,
    interface: String,
}

/// The network namespace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Namespace {
    /// Unique among the namespaces that exist at one time; a later one may reuse it.
    pub(crate) inode: u64,
    /// Unique since the start of the host; 0 before Linux 5.14.
    pub(crate) cookie: u64,
}

impl Namespace {
    /// The network namespace of the calling thread.
    pub(crate) fn own() -> io::Result<Namespace> {
        Ok(Namespace {
            inode: fs::metadata("/proc/thread-self/ns/net")?.ino(),
            cookie: sys::namespace_cookie().unwrap_or(0),
        })
    }

    pub(crate) fn parse(text: &str) -> Option<Namespace> {
        let (inode, cookie) = text.split_once(' ')?;
        Some(Namespace {
            inode: inode.parse().ok()?,
            cookie: cookie.parse().ok()?,
        })
    }
}

impl InterfaceId {
    /// An interface in the network namespace of the calling thread.
    pub(crate) fn of(interface: &str) -> io::Result<InterfaceId> {
        Ok(InterfaceId {
            boot: host_id().unwrap_or_default(),
            namespace: Namespace::own()?,
            index: nix::net::if_::if_nametoindex(interface)?,
            interface: interface.to_owned(),
        })
    }

    pub(crate) fn to_text(&self) -> String {
        let InterfaceId {
            boot,
            namespace: Namespace { inode, cookie },
            index,
            interface,
        } = self;
        format!("{boot}\n{inode} {cookie}\n{index}\n{interface}\n")
    }
}

/// Calls `restore` with the interface and the values of a record, if the interface is in the calling thread's network
/// namespace. Returns whether the record is no longer needed.
pub(crate) fn done(text: &str, restore: impl FnOnce(&str, &[&str]) -> bool) -> io::Result<bool> {
    let lines: Vec<&str> = text.lines().collect();
    let Some(([boot, namespace, index, interface], settings)) = lines.split_first_chunk() else {
        return Ok(true);
    };
    let (Some(namespace), true) = (
        Namespace::parse(namespace),
        Some(*boot) == host_id().as_deref(),
    ) else {
        return Ok(true);
    };
    let own = Namespace::own()?;
    if namespace != own {
        // Another namespace has its number, so it is gone.
        return Ok(namespace.inode == own.inode);
    }
    match InterfaceId::of(interface) {
        Ok(found) if Ok(found.index) == index.parse() => Ok(restore(interface, settings)),
        // The interface is gone, and another may have its name.
        _ => Ok(true),
    }
}

/// The record of an interface's setting that this process changed. It is removed when this value is dropped; if the
/// process is killed, the next one finds it ([`restore_recorded`]).
#[derive(Debug)]
pub struct Recorded(#[expect(dead_code, reason = "it is on record while it exists")] Record);

impl Recorded {
    /// Records the old value of the setting `kind` of an interface in the calling thread's network namespace. Call it
    /// before the change.
    ///
    /// # Errors
    /// The system's error; nothing is recorded then.
    pub fn new(kind: &str, interface: &str, old: &str) -> io::Result<Recorded> {
        let text = format!("{}{old}\n", InterfaceId::of(interface)?.to_text());
        Ok(Recorded(Records::open(kind)?.write("", &text)?))
    }
}

/// Calls `restore` with each interface in the calling thread's network namespace whose setting `kind` was changed by a
/// killed process, and with the old value. A record is removed once `restore` returns true.
///
/// # Errors
/// The system's error for the records.
pub fn restore_recorded(kind: &str, mut restore: impl FnMut(&str, &str) -> bool) -> io::Result<()> {
    let records = Records::open(kind)?;
    for found in records.left() {
        let restored = done(&found.text(), |interface, old| {
            old.first().is_none_or(|old| restore(interface, old))
        });
        if restored? {
            found.remove();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_is_restored_once() {
        let kind = format!("test-recorded-{}", std::process::id());
        let left = |restore: bool| {
            let mut restored = Vec::new();
            restore_recorded(&kind, |interface, old| {
                restored.push(format!("{interface} {old}"));
                restore
            })
            .unwrap();
            restored
        };
        let held = Recorded::new(&kind, "lo", "0 1").unwrap();
        // Its process lives, and restores it itself.
        assert_eq!(left(true), Vec::<String>::new());
        drop(held);
        assert_eq!(left(true), Vec::<String>::new());
        // As after a kill: the record is there, and its lock is free.
        let folder = crate::runtime::folder().unwrap().join(&kind);
        let id = InterfaceId::of("lo").unwrap();
        fs::write(folder.join("left"), format!("{}0 1\n", id.to_text())).unwrap();
        assert_eq!(left(false), ["lo 0 1"]);
        assert_eq!(left(true), ["lo 0 1"]);
        assert_eq!(left(true), Vec::<String>::new());
        let gone = InterfaceId {
            interface: "nosuch0".to_owned(),
            ..id
        };
        fs::write(folder.join("left"), format!("{}0 1\n", gone.to_text())).unwrap();
        assert_eq!(left(false), Vec::<String>::new());
        assert!(!folder.join("left").exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
