//! Names of namespaces for users without access to `/run/netns`, or without the right to mount there (root of a user
//! namespace). A process in each namespace holds it, and a link in the user's own folder points to the process.

use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, pipe2};
use wirelab_cores::runtime;

/// The name of the holder process, so that a later process with its number is not mistaken for it.
const MARK: &str = "wirelab-netns";

/// The holder's script; its argument is the link. It waits for a pipe of which it holds both ends. If its starter has
/// died, it removes the link itself, because no other process could.
const HOLDER: &str = r#"
trap '' HUP INT PIPE
ln -s "/proc/$$/ns/net" "$1" || exit 1
echo made >&2 || { rm -f "$1"; exit 1; }
exec 2>/dev/null
read -r _
"#;

/// The folder of the links; `None` if names are those of `ip netns`.
pub(super) fn folder() -> io::Result<Option<PathBuf>> {
    let own = runtime::folder().map_err(io::Error::other)?;
    if own == Path::new(runtime::SYSTEM) {
        return Ok(None);
    }
    let folder = own.join("netns");
    runtime::private(&folder)?;
    Ok(Some(folder))
}

/// The link of a namespace whose holder lives.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let link = folder().ok()??.join(name);
    holder(&link).map(|_| link)
}

/// The process that holds a namespace.
pub(super) fn holder_of(name: &str) -> Option<i32> {
    holder(&find(name)?).map(Pid::as_raw)
}

/// The names whose holder lives.
pub(super) fn names() -> Vec<String> {
    let Ok(Some(entries)) = folder().map(|f| f.map(fs::read_dir)) else {
        return Vec::new();
    };
    let entries = entries.into_iter().flatten().flatten();
    entries
        .filter(|entry| holder(&entry.path()).is_some())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// Starts a holder in the network namespace of the calling thread.
pub(super) fn hold(link: &Path) -> io::Result<()> {
    if holder(link).is_none() {
        // Left by a killed holder.
        let _ = fs::remove_file(link);
    }
    let mut child = start(link)?;
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        // The holder closes its end after its message.
        stderr.read_to_string(&mut said)?;
    }
    if said == "made\n" {
        return Ok(());
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(io::Error::other(said.trim().to_owned()))
}

fn start(link: &Path) -> io::Result<Child> {
    let (read, write) = pipe2(OFlag::O_CLOEXEC)?;
    Command::new("/bin/sh")
        .args(["-c", HOLDER, MARK])
        .arg(link)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .current_dir("/")
        .stdin(read)
        .stdout(write)
        .stderr(Stdio::piped())
        // Ctrl-C goes to the whole foreground group.
        .process_group(0)
        .spawn()
}

/// Ends the holder and removes its link.
pub(super) fn release(link: &Path) -> io::Result<()> {
    if let Some(pid) = holder(link) {
        kill(pid, Signal::SIGKILL)?;
        // If another process started it, that one or init reaps it.
        let _ = waitpid(pid, None);
    }
    fs::remove_file(link)
}

/// Removes the link of a namespace whose holder was killed, if there is one.
pub(super) fn forget(name: &str) {
    if let (Ok(Some(folder)), None) = (folder(), find(name)) {
        let _ = fs::remove_file(folder.join(name));
    }
}

/// The living process that a link points to.
fn holder(link: &Path) -> Option<Pid> {
    let target = fs::read_link(link).ok()?;
    let pid = target.iter().nth(2)?.to_str()?.parse().ok()?;
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = command
        .split(|byte| *byte == 0)
        .skip_while(|word| *word != MARK.as_bytes());
    let is_this = words.nth(1) == Some(link.as_os_str().as_encoded_bytes());
    is_this.then(|| Pid::from_raw(pid))
}

/// Whether a process holds any namespace.
pub(super) fn is_holder(pid: i32) -> bool {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    command
        .split(|byte| *byte == 0)
        .any(|word| word == MARK.as_bytes())
}
