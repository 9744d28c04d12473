//! The lock on a port: two runs on one port at once would spoil each other's figures, so the second is refused.
//!
//! The lock is a listening socket with an abstract Unix address made from the interface's number. Abstract
//! addresses belong to the network namespace, as the interface does; they need no file, and the kernel frees
//! them when the process dies, however it dies.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, connect, getsockopt, listen,
    socket, sockopt,
};

use super::{IfaceError, Interface, PortName};
use crate::netns::NetNs;

/// Room for those who ask who holds the lock: each of them stays in the queue until the lock goes.
const BACKLOG: i32 = 1024;

/// A port taken by this process; free again when dropped.
#[derive(Debug)]
pub struct PortLock {
    port: PortName,
    _socket: OwnedFd,
}

impl PortLock {
    /// Takes the port, or says who has it. The same process cannot take it twice.
    ///
    /// # Errors
    /// [`IfaceError::InUse`] naming the port and, where it can be told, the process that holds it; the errors
    /// of [`Interface::query`].
    pub fn acquire(port: &PortName) -> Result<PortLock, IfaceError> {
        let namespace = port.netns()?;
        let index = Interface::query(port)?.index;
        let failed = |errno: nix::Error| IfaceError::Lock {
            port: port.clone(),
            source: errno.into(),
        };
        let address =
            UnixAddr::new_abstract(format!("wirelab-port-{index}").as_bytes()).map_err(failed)?;
        let socket = unix_socket(&namespace)?.map_err(failed)?;
        match bind(socket.as_raw_fd(), &address) {
            Ok(()) => {}
            Err(nix::Error::EADDRINUSE) => {
                return Err(IfaceError::InUse {
                    port: port.clone(),
                    holder: holder(&namespace, &address),
                });
            }
            Err(errno) => return Err(failed(errno)),
        }
        listen(&socket, Backlog::new(BACKLOG).map_err(failed)?).map_err(failed)?;
        Ok(PortLock {
            port: port.clone(),
            _socket: socket,
        })
    }

    /// The port that is taken.
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

/// Who listens at the address: the kernel tells the process of the other end of a connection.
fn holder(namespace: &NetNs, address: &UnixAddr) -> String {
    let pid = unix_socket(namespace)
        .ok()
        .and_then(Result::ok)
        .and_then(|socket| {
            connect(socket.as_raw_fd(), address).ok()?;
            Some(getsockopt(&socket, sockopt::PeerCredentials).ok()?.pid())
        });
    match pid {
        // 0 is what a process of another pid namespace looks like from here.
        None | Some(0) => "process unknown".to_owned(),
        Some(pid) => match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
            Ok(name) => format!("process {pid}, {}", name.trim()),
            Err(_) => format!("process {pid}"),
        },
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
        drop(lock);
        assert_eq!(PortLock::acquire(&port).unwrap().port(), &port);
    }
}
