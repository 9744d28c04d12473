//! Named network namespaces. For root they are those of `ip netns`, `/run/netns/NAME`; users without that right have
//! names of their own, see [`held`].
//!
//! The calling thread never changes its namespace. Work inside a namespace runs on a separate thread
//! ([`NetNs::run_in`]) or in a separate process ([`NetNs::spawn`]). A socket belongs to the namespace of the thread
//! that opened it, so a socket made by `run_in` can be used from any thread.

mod error;
mod held;
mod privilege;
mod sys;
mod tool;

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use nix::sched::{CloneFlags, setns, unshare};

pub(crate) use error::known_names;
pub use error::{NetNsError, ToolError};
pub use privilege::{Privilege, PrivilegedWork, grant};
pub(crate) use privilege::{lacks, may_send};
pub(crate) use tool::Tool;

/// Where `ip netns` keeps the names.
const DIRECTORY: &str = "/run/netns";

/// linux/capability.h.
const CAP_NET_ADMIN: u32 = 12;

/// The namespace of the calling thread.
const OWN: &str = "/proc/thread-self/ns/net";

/// An open network namespace. It exists at least as long as this value, even if its name is deleted.
#[derive(Debug)]
pub struct NetNs {
    name: Option<String>,
    file: File,
}

impl NetNs {
    /// The namespace of the calling thread.
    ///
    /// # Errors
    /// [`NetNsError::Io`] if `/proc` is not mounted.
    pub fn current() -> Result<NetNs, NetNsError> {
        let file = File::open(OWN).map_err(|source| NetNsError::io(OWN, source))?;
        Ok(NetNs { name: None, file })
    }

    /// The namespace called `name`.
    ///
    /// # Errors
    /// [`NetNsError::Unknown`], which lists the existing names; [`NetNsError::BadName`]; [`NetNsError::Privilege`];
    /// [`NetNsError::OfOtherUsers`] for a namespace of another user namespace.
    pub fn open(name: &str) -> Result<NetNs, NetNsError> {
        let path = path_of(name)?;
        let file = File::open(&path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => NetNsError::Unknown {
                name: name.to_owned(),
                known: NetNs::list().unwrap_or_default(),
            },
            std::io::ErrorKind::PermissionDenied => match held::holder_of(name) {
                Some(holder) => NetNsError::OfOtherUsers {
                    name: name.to_owned(),
                    holder,
                },
                None => {
                    let what = format!("to open network namespace {name}");
                    Privilege::new(what, PrivilegedWork::Namespace).into()
                }
            },
            _ => NetNsError::io(path.display(), source),
        })?;
        Ok(NetNs {
            name: Some(name.to_owned()),
            file,
        })
    }

    /// Makes a namespace called `name` and opens it: as `ip netns add` does, if `/run/netns` is writable.
    ///
    /// # Errors
    /// [`NetNsError::Exists`], [`NetNsError::BadName`], [`NetNsError::Privilege`], or an error of `ip`.
    pub fn create(name: &str) -> Result<NetNs, NetNsError> {
        if is_there(name)? {
            return Err(NetNsError::Exists {
                name: name.to_owned(),
            });
        }
        let failed = |source| NetNsError::io(format!("network namespace {name}"), source);
        match held::folder().map_err(failed)? {
            None => {
                Tool::Ip.run(&["netns", "add", name])?;
            }
            Some(folder) => on_thread(|| {
                unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| match errno {
                    nix::Error::EPERM => Privilege::new(
                        format!("to make network namespace {name}"),
                        PrivilegedWork::Lab,
                    )
                    .into(),
                    _ => failed(errno.into()),
                })?;
                held::hold(&folder.join(name)).map_err(failed)
            })?,
        }
        NetNs::open(name)
    }

    /// Deletes the name `name`. The kernel removes the namespace after its last user.
    ///
    /// # Errors
    /// [`NetNsError::Unknown`], [`NetNsError::BadName`], [`NetNsError::Privilege`], or an error of `ip`.
    pub fn delete(name: &str) -> Result<(), NetNsError> {
        if !is_there(name)? {
            return Err(NetNsError::Unknown {
                name: name.to_owned(),
                known: NetNs::list().unwrap_or_default(),
            });
        }
        match held::find(name) {
            None => {
                Tool::Ip.run(&["netns", "del", name])?;
                Ok(())
            }
            Some(link) => held::release(&link)
                .map_err(|source| NetNsError::io(format!("network namespace {name}"), source)),
        }
    }

    /// Removes the leftovers of a namespace that ended on its own. [`NetNs::create`] made its name.
    pub(crate) fn forget(name: &str) {
        if check_name(name).is_ok() {
            held::forget(name);
        }
    }

    /// The names of all named namespaces, sorted.
    ///
    /// # Errors
    /// [`NetNsError::Io`] if `/run/netns` exists and cannot be read.
    pub fn list() -> Result<Vec<String>, NetNsError> {
        let mut names = held::names();
        match fs::read_dir(DIRECTORY) {
            Ok(entries) => {
                names
                    .extend(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()));
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(NetNsError::io(DIRECTORY, e)),
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// The path of the namespace called `name`.
    ///
    /// # Errors
    /// [`NetNsError::BadName`].
    pub fn path(name: &str) -> Result<PathBuf, NetNsError> {
        path_of(name)
    }

    /// The path that a new namespace called `name` will have.
    pub(crate) fn path_of_new(name: &str) -> Result<PathBuf, NetNsError> {
        check_name(name)?;
        let own = held::folder()
            .map_err(|source| NetNsError::io(format!("network namespace {name}"), source))?;
        Ok(own.unwrap_or_else(|| DIRECTORY.into()).join(name))
    }

    /// Whether `ip netns` knows the name too.
    pub(crate) fn is_ip_netns(name: &str) -> bool {
        held::find(name).is_none()
    }

    /// The visible processes inside, without those that only hold the namespace.
    ///
    /// # Errors
    /// [`NetNsError::Io`] if `/proc` cannot be read.
    pub(crate) fn processes(&self) -> Result<Vec<i32>, NetNsError> {
        let id = self.id()?;
        let entries = fs::read_dir("/proc").map_err(|e| NetNsError::io("/proc", e))?;
        Ok(entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|pid: &i32| {
                fs::metadata(format!("/proc/{pid}/ns/net"))
                    .is_ok_and(|found| (found.dev(), found.ino()) == id)
            })
            .filter(|pid| !held::is_holder(*pid))
            .collect())
    }

    /// The name by which it was opened; `None` for [`NetNs::current`].
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Its name in messages.
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("network namespace {name}"),
            None => "this network namespace".to_owned(),
        }
    }

    /// Device and inode number, which identify a namespace.
    ///
    /// # Errors
    /// [`NetNsError::Io`] if the kernel does not report them.
    pub fn id(&self) -> Result<(u64, u64), NetNsError> {
        let meta = self
            .file
            .metadata()
            .map_err(|source| NetNsError::io(self.label(), source))?;
        Ok((meta.dev(), meta.ino()))
    }

    /// Runs `work` inside the namespace on a separate thread and waits for it. A panic in `work` continues in the
    /// caller. It needs no privilege if the caller is already in that namespace.
    ///
    /// # Errors
    /// [`NetNsError::Privilege`] naming CAP_SYS_ADMIN if the kernel refuses entry.
    pub fn run_in<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NetNsError> {
        on_thread(|| {
            self.enter()?;
            Ok(work())
        })
    }

    /// Like [`NetNs::run_in`], and `/sys/class/net` shows the namespace's interfaces to `work`: the thread has its
    /// own mount namespace with its own sysfs, which ends with it.
    ///
    /// # Errors
    /// [`NetNsError::Privilege`] naming CAP_SYS_ADMIN; [`NetNsError::Io`] if sysfs cannot be mounted.
    pub fn run_with_sysfs<T: Send>(
        &self,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, NetNsError> {
        on_thread(|| {
            self.enter()?;
            wirelab_cores::mount_own_sysfs().map_err(|errno| {
                let what = format!("to mount a sysfs of {}", self.label());
                match errno {
                    nix::Error::EPERM => Privilege::new(what, PrivilegedWork::Namespace).into(),
                    _ => NetNsError::io(what, errno.into()),
                }
            })?;
            Ok(work())
        })
    }

    /// Runs a tool of iproute2 inside the namespace, with `input` on its standard input, and returns its output.
    pub(crate) fn run_tool(
        &self,
        tool: Tool,
        arguments: &[&str],
        input: &str,
    ) -> Result<String, NetNsError> {
        self.run_in(|| {
            // Capabilities are passed only to the system's own programs, because a program found by PATH may be any.
            if !nix::unistd::geteuid().is_root() && tool.program().starts_with('/') {
                // If this thread has no capability to pass on, the tool reports what is not permitted.
                let _ = sys::pass_on(CAP_NET_ADMIN);
            }
            Ok(tool.run_with_input(arguments, input)?)
        })?
    }

    /// Starts a process inside the namespace, with a `/sys` that shows the namespace's interfaces.
    ///
    /// # Errors
    /// [`NetNsError::Command`] naming the program if it cannot be started; [`NetNsError::Privilege`].
    pub fn spawn(&self, command: &mut Command) -> Result<Child, NetNsError> {
        let program = command.get_program().to_string_lossy().into_owned();
        self.run_with_sysfs(|| command.spawn())?
            .map_err(|source| NetNsError::Command {
                program,
                namespace: self.label(),
                source,
            })
    }

    /// Moves the calling thread. Private, so that only threads of this module are moved.
    fn enter(&self) -> Result<(), NetNsError> {
        if NetNs::current()?.id()? == self.id()? {
            return Ok(());
        }
        setns(&self.file, CloneFlags::CLONE_NEWNET).map_err(|errno| match errno {
            nix::Error::EPERM => Privilege::new(
                format!("to enter {}", self.label()),
                PrivilegedWork::Namespace,
            )
            .into(),
            _ => NetNsError::io(self.label(), errno.into()),
        })
    }
}

fn on_thread<T: Send>(
    work: impl FnOnce() -> Result<T, NetNsError> + Send,
) -> Result<T, NetNsError> {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("netns".to_owned())
            .spawn_scoped(scope, work)
            .map_err(|source| NetNsError::io("a thread for a network namespace", source))?
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Whether namespaces can be made and entered here: makes one, enters it and deletes it.
///
/// # Errors
/// The error of the first failing step.
pub fn probe() -> Result<(), NetNsError> {
    let name = format!("wirelab-probe-{}", std::process::id());
    // Two threads of a process may probe at once, so they need different names.
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let namespace = NetNs::create(&name)?;
    let entered = namespace.run_in(|| ());
    NetNs::delete(&name)?;
    entered
}

/// For tests: whether namespaces can be made here. If privileges are missing, prints the line that the test runner
/// expects for a skip.
///
/// # Panics
/// If [`probe`] fails for another reason.
pub fn may_test() -> bool {
    use std::io::Write;
    let Err(error) = probe() else { return true };
    assert!(error.is_privilege(), "{error}");
    // Written directly, because the test harness hides printed lines.
    let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP root: {error}");
    false
}

/// Checks a namespace's name, which is used as a file name and on the command line of `ip`.
pub(crate) fn check_name(name: &str) -> Result<(), NetNsError> {
    let bad = |why| {
        Err(NetNsError::BadName {
            name: name.to_owned(),
            why,
        })
    };
    if name.is_empty() {
        return bad("it is empty");
    }
    if name.len() > 255 {
        return bad("it is longer than 255 bytes");
    }
    if name.starts_with(['-', '.']) {
        return bad("it starts with '-' or '.'");
    }
    if name.contains(|c: char| c == '/' || c.is_whitespace() || c.is_control()) {
        return bad("it contains a slash, a space or a control character");
    }
    Ok(())
}

/// If its holder lives, it exists, even if this process may not inspect it.
fn is_there(name: &str) -> Result<bool, NetNsError> {
    Ok(path_of(name)?.exists() || held::find(name).is_some())
}

fn path_of(name: &str) -> Result<PathBuf, NetNsError> {
    check_name(name)?;
    Ok(held::find(name).unwrap_or_else(|| Path::new(DIRECTORY).join(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_escape_or_confuse_are_refused() {
        for name in ["", ".", "..", "a/b", "-force", "a b", "a\nb", "a\0b"] {
            let error = NetNs::open(name).unwrap_err();
            assert!(
                matches!(error, NetNsError::BadName { .. }),
                "{name:?}: {error}"
            );
        }
    }

    #[test]
    fn the_own_namespace_is_entered_without_privilege() {
        let here = NetNs::current().unwrap();
        let there = here
            .run_in(|| NetNs::current().unwrap().id().unwrap())
            .unwrap();
        assert_eq!(there, here.id().unwrap());
    }

    #[test]
    fn a_panic_inside_goes_on_in_the_caller() {
        let caught = std::panic::catch_unwind(|| {
            let _ = NetNs::current().unwrap().run_in(|| panic!("inside"));
        });
        assert!(caught.is_err());
    }

    #[test]
    fn an_unknown_namespace_is_named() {
        let error = NetNs::open("wirelab-there-is-none").unwrap_err();
        assert!(
            error.to_string().contains("wirelab-there-is-none"),
            "{error}"
        );
    }
}
