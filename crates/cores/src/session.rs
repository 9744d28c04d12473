//! Raises the priority of the user's session during a measurement.
//!
//! If the kernel groups processes by session (autogroup, sched(7)), the priority of a thread counts only within its
//! session: work in another session takes its full share of the core. The session is the user's and outlives this
//! process. So each process that raises its priority has a record of it, and the last one that ends restores it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use crate::host::host_id;
use crate::records::{self, Record, Records};
use crate::sys;

/// The calling process's session, as the scheduler sees it.
const AUTOGROUP: &str = "/proc/self/autogroup";
/// Nice value of an unchanged session.
const USUAL: i32 = 0;
/// Nice value during a measurement.
const OURS: i32 = -19;

/// The folder of the records. A record's name starts with its session, so that a shell can find it too.
const FOLDER: &str = "sessions";

/// Without CAP_SYS_ADMIN the kernel allows one change in 100 ms, for all users together.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(50);

/// This process's record.
static CURRENT: Mutex<Option<Record>> = Mutex::new(None);

/// The session has priority while this exists, or while another process measures in it.
#[derive(Debug)]
pub struct PreferredSession(());

/// Raise the priority of the calling process's session. What killed processes left is restored first. `None` if the
/// kernel does not group by session or does not permit it (CAP_SYS_NICE), or if it cannot be recorded; also if the user
/// has given the session another priority, or this process has already raised it.
pub fn prefer_this_session() -> Option<PreferredSession> {
    let mut current = current();
    if current.is_some() {
        return None;
    }
    *current = prefer().ok().flatten();
    current.as_ref()?;
    // If this fails, the next run restores it.
    let _ = sys::at_exit(give_back);
    Some(PreferredSession(()))
}

/// Gives the session of a started process the priority of the calling process's session. Without the right to it, that
/// session has the usual priority.
pub fn share_priority(process: u32) {
    let ours = Session::of(Path::new(AUTOGROUP)).map_or(USUAL, |session| session.nice);
    if ours != USUAL {
        let _ = set(
            &Path::new("/proc")
                .join(process.to_string())
                .join("autogroup"),
            ours,
        );
    }
}

/// Folder and prefix of all records of the calling process's session; `None` if the kernel does not group by session.
pub fn session_records() -> Option<PathBuf> {
    let id = Session::of(Path::new(AUTOGROUP))?.id;
    Some(records::folder(FOLDER).ok()?.join(front(&id)))
}

/// Restores what killed processes changed.
pub(crate) fn restore_left() -> io::Result<()> {
    restore(&Records::open(FOLDER)?);
    Ok(())
}

fn current() -> MutexGuard<'static, Option<Record>> {
    CURRENT.lock().unwrap_or_else(|e| e.into_inner())
}

/// A session, as the scheduler sees it.
#[derive(Debug, PartialEq, Eq)]
struct Session {
    /// Unique until the host restarts.
    id: String,
    nice: i32,
}

impl Session {
    fn of(autogroup: &Path) -> Option<Session> {
        Session::parse(&fs::read_to_string(autogroup).ok()?)
    }

    /// From `/autogroup-4 nice 0`.
    fn parse(text: &str) -> Option<Session> {
        let (id, nice) = text.trim_end().split_once(" nice ")?;
        let id = id.strip_prefix('/')?;
        let plain = id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        Some(Session {
            id: plain.then(|| id.to_owned())?,
            nice: nice.parse().ok()?,
        })
    }
}

/// The prefix of a record's name.
fn front(id: &str) -> String {
    format!("{}-{id}.", host_id().unwrap_or_default())
}

/// Whether a living process has raised the session's priority.
fn is_preferred(records: &Records, front: &str) -> bool {
    records.held().any(|found| found.name.starts_with(front))
}

fn prefer() -> io::Result<Option<Record>> {
    let records = Records::open(FOLDER)?;
    restore(&records);
    let Some(session) = Session::of(Path::new(AUTOGROUP)) else {
        return Ok(None);
    };
    let front = front(&session.id);
    let ours = session.nice == OURS && is_preferred(&records, &front);
    if session.nice != USUAL && !ours {
        return Ok(None);
    }
    let record = records.write(&front, "")?;
    if !ours {
        set(Path::new(AUTOGROUP), OURS)?;
    }
    Ok(Some(record))
}

/// Restores what this process changed, unless another one still needs it or the value has been changed since.
extern "C" fn give_back() {
    let mut current = current();
    let Some(record) = current.take() else {
        return;
    };
    // Held until the end, so that a process that begins now sees the complete change.
    let records = Records::open(FOLDER).ok();
    drop(record);
    let Some(session) = Session::of(Path::new(AUTOGROUP)) else {
        return;
    };
    let needed = records
        .as_ref()
        .is_some_and(|records| is_preferred(records, &front(&session.id)));
    if session.nice == OURS && !needed {
        let _ = set(Path::new(AUTOGROUP), USUAL);
    }
}

fn set(autogroup: &Path, nice: i32) -> io::Result<()> {
    let mut result = Ok(());
    for _ in 0..TRIES {
        result = fs::write(autogroup, nice.to_string());
        match &result {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(PAUSE),
            _ => break,
        }
    }
    result
}

/// Restores the recorded sessions of no living process. They may differ from the caller's session.
fn restore(records: &Records) {
    for found in records.left() {
        let front = found.name.split_inclusive('.').next().unwrap_or_default();
        // A living process restores it.
        let done = is_preferred(records, front) || restore_one(front).is_ok();
        if done {
            found.remove();
        }
    }
}

/// Any process of the session can read and set its priority; without processes, the session has ended.
fn restore_one(front: &str) -> io::Result<()> {
    for entry in fs::read_dir("/proc")?.flatten() {
        let autogroup = entry.path().join("autogroup");
        match Session::of(&autogroup) {
            Some(session) if self::front(&session.id) == front => {
                return match session.nice {
                    OURS => set(&autogroup, USUAL),
                    _ => Ok(()),
                };
            }
            _ => {}
        }
    }
    Ok(())
}

impl Drop for PreferredSession {
    fn drop(&mut self) {
        give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_read_as_the_kernel_writes_it() {
        let is = |id: &str, nice| {
            Some(Session {
                id: id.to_owned(),
                nice,
            })
        };
        assert_eq!(
            Session::parse("/autogroup-4 nice 0\n"),
            is("autogroup-4", 0)
        );
        assert_eq!(
            Session::parse("/autogroup-31 nice -19"),
            is("autogroup-31", -19)
        );
        for damaged in [
            "",
            "nice x",
            "/autogroup-4 nice x",
            "/a/../b nice 0",
            "a nice 0",
        ] {
            assert_eq!(Session::parse(damaged), None, "{damaged}");
        }
        assert_eq!(Session::of(Path::new("/nowhere/autogroup")), None);
    }
}
