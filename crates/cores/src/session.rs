//! Lets the user's session go before others while something is measured.
//!
//! Where the kernel groups processes by session (autogroup, sched(7)), the priority of a thread counts within its session
//! alone: work in another session takes its full share of the core. The session is the user's, and outlives this process:
//! each process that has it go before others has that on record, and the last one that ends takes it back.

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
/// What a session has that nobody changed, as `nice` counts.
const USUAL: i32 = 0;
/// What this gives it.
const OURS: i32 = -19;

/// Where the records are. A record's name says of which session it is, so that a shell can find it too.
const FOLDER: &str = "sessions";

/// Without CAP_SYS_ADMIN the kernel takes one change in 100 ms, of all users together.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(50);

/// What this process has on record.
static CURRENT: Mutex<Option<Record>> = Mutex::new(None);

/// The session goes before others as long as this lives, or another process that measures in it.
#[derive(Debug)]
pub struct PreferredSession(());

/// Let the calling process's session go before others; `None` where the kernel does not group by session, does not
/// permit it (CAP_SYS_NICE), the user has given the session another priority, this process does so already, or it cannot
/// be on record. What killed processes left is put back first.
pub fn prefer_this_session() -> Option<PreferredSession> {
    let mut current = current();
    if current.is_some() {
        return None;
    }
    *current = prefer().ok().flatten();
    current.as_ref()?;
    // Where this fails, the next run puts it back.
    let _ = sys::at_exit(give_back);
    Some(PreferredSession(()))
}

/// What the names of all records of the calling process's session begin with, and their folder; `None` where the kernel
/// does not group by session.
pub fn session_records() -> Option<PathBuf> {
    let id = Session::of(Path::new(AUTOGROUP))?.id;
    Some(records::folder(FOLDER).ok()?.join(front(&id)))
}

/// Puts back what killed processes changed.
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
    /// No other one has it until the host is started again.
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

/// What the name of a record begins with.
fn front(id: &str) -> String {
    format!("{}-{id}.", host_id().unwrap_or_default())
}

/// Whether a living process lets the session go before others.
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

/// Takes back what this process did, unless another one still needs it or somebody has changed it since.
extern "C" fn give_back() {
    let mut current = current();
    let Some(record) = current.take() else {
        return;
    };
    // Taken until the end: nobody who begins now sees half of it.
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

/// Puts back what is on record and belongs to no living process. The session may be another one than the caller's.
fn restore(records: &Records) {
    for found in records.left() {
        let front = found.name.split_inclusive('.').next().unwrap_or_default();
        // Who lives puts it back.
        let done = is_preferred(records, front) || restore_one(front).is_ok();
        if done {
            found.remove();
        }
    }
}

/// Whatever is of the session can be asked, and told; where nothing is, the session is gone.
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
