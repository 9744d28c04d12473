//! The folder in which one user's processes record what they have made or changed: `/run/wirelab` for root, a private
//! folder for others. It must be private, because another user who holds a lock would block all.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc::{O_CLOEXEC, O_DIRECTORY, O_NOFOLLOW};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::geteuid;

/// Root's folder. If it is used, namespaces have the names of `ip netns`.
pub const SYSTEM: &str = "/run/wirelab";

/// No folder is available.
#[derive(Debug, thiserror::Error)]
#[error(
    "no private folder for locks and records ({tried}); fix: set XDG_RUNTIME_DIR to a folder of \
     yours that nobody else may enter (chmod 700)"
)]
pub struct RuntimeError {
    tried: String,
}

/// The folder of this user, made if missing, of mode 0700: [`SYSTEM`] for root, else `wirelab` in `XDG_RUNTIME_DIR`
/// or `/run/user/UID`, else `/tmp/wirelab-UID`. The first available one is used.
///
/// # Errors
/// [`RuntimeError`], with the error of each folder.
pub fn folder() -> Result<PathBuf, RuntimeError> {
    let mut tried = Vec::new();
    for path in candidates() {
        match private(&path) {
            Ok(()) => return Ok(path),
            Err(error) => tried.push(format!("{}: {error}", path.display())),
        }
    }
    Err(RuntimeError {
        tried: tried.join("; "),
    })
}

fn candidates() -> Vec<PathBuf> {
    let user = outer_user();
    let given = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let system = mounts_for_all().then(|| PathBuf::from(SYSTEM));
    system
        .into_iter()
        .chain(given.filter(|p| p.is_absolute()).map(|p| p.join("wirelab")))
        .chain([
            PathBuf::from(format!("/run/user/{user}/wirelab")),
            PathBuf::from(format!("/tmp/wirelab-{user}")),
        ])
        .collect()
}

/// Whether this process is root and the host sees its mounts. Root of a user namespace (`unshare -r`) mounts only for
/// itself: the kernel lets a process enter a mount namespace only with the right to change it.
fn mounts_for_all() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    let enter = || {
        let own = File::open("/proc/thread-self/ns/mnt").ok()?;
        // A thread that shares its root with others cannot enter any.
        unshare(CloneFlags::CLONE_FS).ok()?;
        setns(own, CloneFlags::CLONE_NEWNS).ok()
    };
    *FOUND.get_or_init(|| {
        let entered = std::thread::spawn(enter).join();
        geteuid().is_root() && entered.is_ok_and(|entered| entered.is_some())
    })
}

/// This user's number outside its user namespace: root of each such namespace is another user there.
fn outer_user() -> u32 {
    let user = geteuid().as_raw();
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    outer_in(&map, user).unwrap_or(user)
}

/// See user_namespaces(7): first number inside, first outside, count.
fn outer_in(map: &str, user: u32) -> Option<u32> {
    map.lines().find_map(|line| {
        let mut numbers = line.split_whitespace().map(|word| word.parse::<u32>().ok());
        let (inside, outside, many) = (numbers.next()??, numbers.next()??, numbers.next()??);
        let further = user.checked_sub(inside).filter(|further| *further < many)?;
        outside.checked_add(further)
    })
}

/// Makes `path` a private folder of this user, or checks that it is one. It never follows a link: in a folder that
/// all may write, another user may have made the name first.
///
/// # Errors
/// The system's error; [`io::ErrorKind::PermissionDenied`] for a folder of another user.
pub fn private(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let folder = OpenOptions::new()
        .read(true)
        .custom_flags(O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        .open(path)?;
    let found = folder.metadata()?;
    if found.uid() != geteuid().as_raw() {
        let text = format!("it belongs to another user ({})", found.uid());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    // Its own, but open to others, as an earlier version made it.
    if found.mode() & 0o077 != 0 {
        folder.set_permissions(Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Waits for a lock and takes it. It is freed when the value is dropped or the process ends, however it ends.
///
/// # Errors
/// The system's error. A link instead of the file is refused.
pub fn lock(path: &Path) -> io::Result<Flock<File>> {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .custom_flags(O_NOFOLLOW | O_CLOEXEC)
        .open(path)?;
    loop {
        match Flock::lock(file, FlockArg::LockExclusive) {
            Ok(held) => return Ok(held),
            // The command line handles signals; callers that wait here are about to clean up.
            Err((again, Errno::EINTR)) => file = again,
            Err((_, errno)) => return Err(errno.into()),
        }
    }
}

/// Whether a living process holds the lock of this file.
pub fn is_held(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| Flock::lock(file, FlockArg::LockExclusiveNonblock).is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_numbers_are_those_outside() {
        assert_eq!(outer_in("0 1000 1\n", 0), Some(1000));
        assert_eq!(outer_in("0 1000 1\n1 100000 65536", 5), Some(100_004));
        assert_eq!(outer_in("0 1000 1\n", 1), None);
        for damaged in ["", "0 1", "a b c", "0 4294967295 4294967295"] {
            assert_eq!(outer_in(damaged, 7), None, "{damaged}");
        }
    }

    #[test]
    fn a_folder_is_private_and_a_link_is_not_followed() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("open");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        private(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        let link = base.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(private(&link).is_err());
        let lock_link = path.join("lock");
        std::os::unix::fs::symlink(base.path().join("elsewhere"), &lock_link).unwrap();
        assert!(lock(&lock_link).is_err());
        assert!(!base.path().join("elsewhere").exists());
    }

    #[test]
    fn a_folder_of_another_program_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let mut path = base.path().to_owned();
        if geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
        } else {
            path = PathBuf::from("/");
        }
        let error = private(&path).unwrap_err();
        assert!(error.to_string().contains("another user"), "{error}");
    }

    #[test]
    fn a_lock_is_held_as_long_as_its_value() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("lock");
        assert!(!is_held(&path));
        let held = lock(&path).unwrap();
        assert!(is_held(&path));
        drop(held);
        assert!(!is_held(&path));
    }
}
