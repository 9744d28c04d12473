//! The lock on a port. Two runs on one port would distort each other's figures, so the second is refused.
//!
//! Runs of one user lock a byte of a file in the user's own folder, which the kernel frees when the process ends,
//! however it ends. For runs of other users, and to show who holds the lock, the holder listens at an abstract Unix
//! address made from the interface's number. Such addresses belong to the network namespace, as the interface does.
//! Any user can listen there, so root believes only listeners that could use the port.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, UnixCredentials, bind, connect,
    getsockopt, listen, socket, sockopt,
};

use super::{IfaceError, Interface, PortName};
use crate::netns::{self, NetNs};
use crate::runtime;

/// Queue for processes that ask who holds the lock: each stays in it until the lock is released.
const BACKLOG: i32 = 1024;

/// A program that this process starts has copies of its locks until exec, so a lock that was just released becomes free
/// only then.
const FORKED: Duration = Duration::from_millis(200);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// A port taken by this process; free again when dropped.
#[derive(Debug)]
pub struct PortLock {
    port: PortName,
    _lock: File,
    /// Absent if another process listens at the address and is not believed.
    _socket: Option<OwnedFd>,
}

impl PortLock {
    /// Takes the port, or names its holder. The same process cannot take it twice.
    ///
    /// # Errors
    /// [`IfaceError::InUse`] with the port and, if known, the process that holds it; the errors of
    /// [`Interface::query`].
    pub fn acquire(port: &PortName) -> Result<PortLock, IfaceError> {
        let begun = Instant::now();
        loop {
            match PortLock::take(port) {
                Err(IfaceError::InUse { .. }) if begun.elapsed() < FORKED => {
                    std::thread::sleep(LOOK_AGAIN);
                }
                taken => return taken,
            }
        }
    }

    fn take(port: &PortName) -> Result<PortLock, IfaceError> {
        let namespace = port.netns()?;
        let index = Interface::query(port)?.index;
        let failed = |errno: nix::Error| IfaceError::Lock {
            port: port.clone(),
            source: errno.into(),
        };
        let name = format!("wirelab-port-{index}");
        let address = UnixAddr::new_abstract(name.as_bytes()).map_err(failed)?;
        let in_use = |holder: Holder| IfaceError::InUse {
            port: port.clone(),
            holder: holder.to_string(),
        };
        let lock = match lock_byte(&namespace, index) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(in_use(Holder::at(&namespace, &address)));
            }
            Err(source) => {
                return Err(IfaceError::Lock {
                    port: port.clone(),
                    source,
                });
            }
        };
        let socket = unix_socket(&namespace)?.map_err(failed)?;
        let socket = match bind(socket.as_raw_fd(), &address) {
            Ok(()) => {
                listen(&socket, Backlog::new(BACKLOG).map_err(failed)?).map_err(failed)?;
                Some(socket)
            }
            Err(nix::Error::EADDRINUSE) => match Holder::at(&namespace, &address) {
                holder if holder.is_believed() => return Err(in_use(holder)),
                _ => None,
            },
            Err(errno) => return Err(failed(errno)),
        };
        Ok(PortLock {
            port: port.clone(),
            _lock: lock,
            _socket: socket,
        })
    }

    /// The locked port.
    pub fn port(&self) -> &PortName {
        &self.port
    }
}

fn unix_socket(namespace: &NetNs) -> Result<nix::Result<OwnedFd>, IfaceError> {
    Ok(namespace.run_in(|| {
        socket(
            AddressFamily::Unix,
            SockType::Stream,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            None,
        )
    })?)
}

/// The lock of an interface in the user's own folder: one file for all, and a byte for each.
fn lock_byte(namespace: &NetNs, index: u32) -> io::Result<File> {
    let path = runtime::folder().map_err(io::Error::other)?.join("ports");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)?;
    let (_, inode) = namespace.id().map_err(io::Error::other)?;
    // A namespace creates far fewer than 2^20 interfaces, and inodes of namespaces have 32 bits.
    let byte = (inode << 20 | u64::from(index)) & (i64::MAX as u64);
    let whole = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: byte as libc::off_t,
        l_len: 1,
        l_pid: 0,
    };
    fcntl(&file, FcntlArg::F_OFD_SETLK(&whole))?;
    Ok(file)
}

/// The process that listens at an address: the kernel reports the other end of a connection.
struct Holder(Option<UnixCredentials>);

impl Holder {
    fn at(namespace: &NetNs, address: &UnixAddr) -> Holder {
        let ask = || {
            let socket = unix_socket(namespace).ok()?.ok()?;
            connect(socket.as_raw_fd(), address).ok()?;
            getsockopt(&socket, sockopt::PeerCredentials).ok()
        };
        Holder(ask())
    }

    /// Whether it can be a run of wirelab at this port. Only root doubts other users: they must be able to use packet
    /// sockets, so they must be in root's user namespace.
    fn is_believed(&self) -> bool {
        let own = nix::unistd::geteuid();
        let Some(found) = &self.0 else { return true };
        if !own.is_root() || found.uid() == own.as_raw() {
            return true;
        }
        let user = |who: &str| std::fs::read_link(format!("/proc/{who}/ns/user")).ok();
        let pid = found.pid();
        user(&pid.to_string()) == user("self") && netns::may_send(pid)
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.map(|found| found.pid()) {
            // The kernel shows a process of another pid namespace as 0.
            None | Some(0) => f.write_str("process unknown"),
            Some(pid) => match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
                Ok(name) => write!(f, "process {pid}, {}", name.trim()),
                Err(_) => write!(f, "process {pid}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_taken_once_and_the_holder_is_named() {
        let port: PortName = "lo".parse().unwrap();
        let lock = PortLock::acquire(&port).unwrap();
        let text = PortLock::acquire(&port).unwrap_err().to_string();
        assert!(
            text.contains("lo") && text.contains(&std::process::id().to_string()),
            "{text}"
        );
        // As when another thread starts a program during the release of the lock.
        let late = std::thread::spawn(move || {
            std::thread::sleep(FORKED / 4);
            drop(lock);
        });
        assert_eq!(PortLock::acquire(&port).unwrap().port(), &port);
        late.join().unwrap();
    }

    /// A process without privileges listens at the run's address, in a namespace that no other test uses.
    #[test]
    fn a_user_without_rights_does_not_hold_root_up() {
        const LISTEN: &str = r#"use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0) or die $!;
            bind(S, pack_sockaddr_un("\0wirelab-port-1")) or die $!; listen(S, 5) or die $!;
            $| = 1; print "there\n"; sleep 600"#;
        use std::io::{BufRead, BufReader};
        if !netns::may_test() {
            return;
        }
        let name = format!("wlt-lock-{}", std::process::id());
        let namespace = NetNs::create(&name).unwrap();
        let mut command = std::process::Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
            .args(["unshare", "-r", "perl", "-e", LISTEN])
            .stdout(std::process::Stdio::piped());
        let mut stranger = namespace.spawn(&mut command).unwrap();
        let mut line = String::new();
        BufReader::new(stranger.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let port = PortName::new(Some(&name), "lo").unwrap();
        let first = PortLock::acquire(&port);
        let second = PortLock::acquire(&port);
        stranger.kill().unwrap();
        stranger.wait().unwrap();
        NetNs::delete(&name).unwrap();
        assert_eq!(line, "there\n");
        assert_eq!(first.unwrap().port(), &port);
        assert!(second.is_err(), "root's own runs still exclude each other");
    }
}
