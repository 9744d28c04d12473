//! Which cores do the receive work of an interface: receive packet steering (`rps_cpus` of each receive queue, see
//! Documentation/networking/scaling.rst of the kernel).
//!
//! On veth, and on every interface without interrupts of its own, the receive work is done on the sender's core
//! unless it is steered.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::changed::{self, Changed};
use crate::list::Cores;

/// Most receive queues of an interface that are looked at.
const MOST_QUEUES: usize = 1024;

/// Why receive work cannot be steered.
#[derive(Debug, thiserror::Error)]
pub enum SteerError {
    /// There is no such interface here.
    #[error(
        "there is no interface {0} with receive queues in this network namespace (see `ip link`)"
    )]
    NoInterface(String),
    /// sysfs shows another namespace, and it cannot be mounted anew.
    #[error(
        "/sys shows another network namespace than the one of {0}; missing CAP_SYS_ADMIN, run it with `sudo wirelab …`"
    )]
    OtherNamespace(String),
    /// Not allowed.
    #[error(
        "missing the right to steer the receive work of {interface}; run it with `sudo wirelab …`, or steer it yourself: `echo {mask} | sudo tee /sys/class/net/{interface}/queues/rx-*/rps_cpus`"
    )]
    Privilege {
        /// The interface.
        interface: String,
        /// What to write.
        mask: String,
    },
    /// The kernel refused.
    #[error("the receive work of {interface} cannot be steered: {source}")]
    Io {
        /// The interface.
        interface: String,
        /// What it said.
        source: io::Error,
    },
}

/// Receive work that was steered; dropped, it goes where it went before.
#[derive(Debug)]
pub struct Steering {
    interface: String,
    cores: Cores,
    changed: Changed,
}

impl Steering {
    /// Let `cores` do the receive work of an interface in the network namespace of the calling thread. What a killed
    /// process has left steered there goes first where it went before that.
    ///
    /// # Errors
    /// [`SteerError`]; then nothing is changed.
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
        changed::restore_left().map_err(failed)?;
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

    /// Where its receive work goes.
    pub const fn cores(&self) -> &Cores {
        &self.cores
    }

    /// Receive queues.
    pub fn queues(&self) -> usize {
        self.changed.len()
    }
}

/// What steers each receive queue of an interface now, as masks of the kernel.
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

/// The setting of each receive queue by its name in the interface's folder, and its file.
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

/// Run `work` with the folder of the interface in a sysfs that shows the caller's network namespace: one mounted for
/// a thread of its own where that is allowed, else the host's if it shows the same interface.
pub(crate) fn on_own_sysfs<T: Send>(
    interface: &str,
    work: impl FnOnce(&Path) -> T + Send,
) -> Result<T, SteerError> {
    let no_interface = || SteerError::NoInterface(interface.to_owned());
    // The name becomes a part of a path.
    if interface.is_empty() || interface.contains('/') || interface.starts_with('.') {
        return Err(no_interface());
    }
    let index = nix::net::if_::if_nametoindex(interface).map_err(|_| no_interface())?;
    let folder = Path::new("/sys/class/net").join(interface);
    let run = || {
        // Where it may not be mounted, the one that is there may do.
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

/// Give the calling thread a mount namespace of its own, with a sysfs that shows its network namespace.
fn mount_own_sysfs() -> nix::Result<()> {
    // Threads share one root and working directory, and the kernel refuses a private mount namespace then.
    unshare(CloneFlags::CLONE_FS | CloneFlags::CLONE_NEWNS)?;
    // Without this the mount below would spread to the rest of the host.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_interface_is_named() {
        let cores = crate::allowed().unwrap();
        for name in ["nosuch0", "", "../lo", "a/b"] {
            let error = Steering::to(name, &cores).unwrap_err();
            assert!(matches!(error, SteerError::NoInterface(_)), "{error}");
        }
    }
}
