//! A lab that ends with its process: on drop, on panic, and by a watchdog also when the process is killed.
//!
//! The watchdog is a shell that waits for the end of a pipe whose other end only the owner holds. When the owner
//! dies, the kernel closes the pipe, and the shell removes what the owner could not. If the watchdog is killed too,
//! the next operation on any lab finds the unlocked record and removes the lab.

use std::fs::File;
use std::ops::Deref;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use nix::fcntl::Flock;

use super::record::{self, LabFile};
use super::{Lab, LabError, LabSpec, Side, build};
use crate::netns::{NetNs, Tool};

/// Arguments: the list's lock, the record, its token, `ip`, the paths of the node's and the tester's namespace, the
/// number of pairs, and the prefix of the records of the owner's session. Under the lock it checks that the record is
/// still that of its own lab, because another lab may have got the name. Last, when the owner's locks are certainly
/// free, it restores the priority of the owner's session, unless another process measures in it.
const WATCHDOG: &str = r#"
trap '' HUP INT TERM
read -r _
exec 9>>"$1"
flock 9 2>/dev/null
grep -qsx "token=$3" "$2" || exit 0
for process in /proc/[0-9]*; do
    if [ "$process/ns/net" -ef "$5" ] || [ "$process/ns/net" -ef "$6" ]; then
        kill -9 "${process#/proc/}" 2>/dev/null
    fi
done
case "$5" in /run/netns/*)
    pair=0
    while [ "$pair" -lt "$7" ]; do
        "$4" -n "${5##*/}" link del dev "n$pair" 2>/dev/null
        pair=$((pair + 1))
    done
    "$4" netns del "${5##*/}" 2>/dev/null
    "$4" netns del "${6##*/}" 2>/dev/null ;;
*) rm -f "$5" "$6" ;;
esac
rm -f "$2"
[ -n "$8" ] || exit 0
exec 8>>"${8%/*}/.lock"
flock 8
for record in "$8"*; do
    { [ -e "$record" ] && flock -n "$record" true; } || exit 0
done
rm -f "$8"*
if grep -q ' nice -19$' /proc/self/autogroup; then
    echo 0 >/proc/self/autogroup
fi
"#;

/// A lab that is removed when this value is dropped, and also if the process dies before.
#[derive(Debug)]
pub struct EphemeralLab {
    lab: Lab,
    record: LabFile,
    watchdog: Option<Watchdog>,
    /// Shows others that the owner lives.
    _held: Option<Flock<File>>,
}

impl EphemeralLab {
    /// Makes a lab that lives as long as this process, and waits until its links are up.
    ///
    /// # Errors
    /// As [`Lab::up`], and if no watchdog can be started.
    pub fn up(spec: &LabSpec) -> Result<EphemeralLab, LabError> {
        let mut watchdog = None;
        let (record, held) = build::up(spec, |record| {
            watchdog = Some(Watchdog::start(record)?);
            Ok(())
        })?;
        Ok(EphemeralLab {
            lab: Lab { spec: spec.clone() },
            record,
            watchdog,
            _held: held,
        })
    }

    /// Keeps the lab until [`Lab::down`]. Before this call it ends with the process, so an interrupted process leaves
    /// no part of a lab.
    ///
    /// # Errors
    /// [`LabError::Registry`]; the lab is then removed.
    pub fn keep(mut self) -> Result<Lab, LabError> {
        build::give_up(&self.record)?;
        // The watchdog finds another record, and ends.
        drop(self.watchdog.take());
        Ok(self.lab.clone())
    }

    /// Removes the lab now and returns the error, which dropping cannot.
    ///
    /// # Errors
    /// Errors of the tools. The watchdog tries again.
    pub fn down(mut self) -> Result<(), LabError> {
        self.remove()
    }

    fn remove(&mut self) -> Result<(), LabError> {
        let Some(watchdog) = self.watchdog.take() else {
            return Ok(());
        };
        let result = build::down_own(&self.record);
        drop(watchdog);
        result
    }
}

impl Deref for EphemeralLab {
    type Target = Lab;

    fn deref(&self) -> &Lab {
        &self.lab
    }
}

impl Drop for EphemeralLab {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            eprintln!(
                "wirelab: lab {} could not be removed: {error}",
                self.lab.name()
            );
        }
    }
}

#[derive(Debug)]
struct Watchdog {
    child: Child,
    pipe: Option<ChildStdin>,
}

impl Watchdog {
    fn start(record: &LabFile) -> Result<Watchdog, LabError> {
        let spec = &record.spec;
        let mut child = Command::new("/bin/sh")
            .args(["-c", WATCHDOG, "wirelab-watchdog"])
            .arg(record::lock_path()?)
            .arg(record::path(&spec.name)?)
            .arg(&record.token)
            .arg(Tool::Ip.program())
            .args([
                NetNs::path_of_new(&spec.namespace(Side::Node))?,
                NetNs::path_of_new(&spec.namespace(Side::Tester))?,
            ])
            .arg(spec.pairs.to_string())
            .arg(wirelab_cores::session_records().unwrap_or_default())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C signals the whole foreground group, which would include the watchdog.
            .process_group(0)
            .spawn()
            .map_err(|e| LabError::io("to start the watchdog of a lab (/bin/sh)", e))?;
        let pipe = child.stdin.take();
        Ok(Watchdog { child, pipe })
    }
}

impl Drop for Watchdog {
    /// Closes the pipe: the watchdog sees that its lab is gone, or removes what is left, and ends.
    fn drop(&mut self) {
        drop(self.pipe.take());
        let _ = self.child.wait();
    }
}
