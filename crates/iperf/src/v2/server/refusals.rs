//! Finds which hosts refuse what the server sends from its own UDP port: the ICMP messages of a socket that is not
//! connected.
//!
//! Linux keeps them in a queue (`IP_RECVERR`, ip(7)) with the destination of each datagram. Without it a forged request
//! for traffic back would continue although the victim's host reports that no program listens.

use std::collections::HashMap;
use std::io::IoSliceMut;
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::cmsg_space;
use nix::libc;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
};

/// Most messages read at once: a flood of them must not keep the server from its work.
const MOST_AT_ONCE: usize = 256;

/// The peers that the server sends to on its own port, and whether their hosts refuse it: at most as many as the
/// server's sending flows.
#[derive(Debug, Default)]
pub(super) struct Senders(Mutex<HashMap<SocketAddr, Arc<AtomicBool>>>);

impl Senders {
    /// Begins a flow to `peer`; the returned flag is set when its host refuses it.
    pub(super) fn begin(&self, peer: SocketAddr) -> Arc<AtomicBool> {
        let refused = Arc::default();
        self.lock().insert(peer, Arc::clone(&refused));
        refused
    }

    /// Ends that flow.
    pub(super) fn end(&self, peer: SocketAddr, refused: &Arc<AtomicBool>) {
        let mut all = self.lock();
        // The peer may have begun another flow since.
        if all.get(&peer).is_some_and(|now| Arc::ptr_eq(now, refused)) {
            all.remove(&peer);
        }
    }

    /// Marks that the host of `peer` refuses the traffic.
    pub(super) fn refuse(&self, peer: SocketAddr) {
        if let Some(refused) = self.lock().get(&peer) {
            refused.store(true, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SocketAddr, Arc<AtomicBool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the system keep the messages.
pub(super) fn keep(socket: &UdpSocket) {
    // On failure, traffic back is still bounded in time, rate and number. An IPv6 socket may carry both.
    let _ = setsockopt(socket, sockopt::Ipv4RecvErr, &true);
    let _ = setsockopt(socket, sockopt::Ipv6RecvErr, &true);
}

/// Takes the pending messages, and reports whose host refuses.
pub(super) fn take(socket: &UdpSocket, mut refused: impl FnMut(SocketAddr)) {
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    let mut space = cmsg_space!([u8; 128]);
    for _ in 0..MOST_AT_ONCE {
        let mut payload = [0; 64];
        let mut parts = [IoSliceMut::new(&mut payload)];
        let fd = socket.as_raw_fd();
        let Ok(message) = recvmsg::<SockaddrStorage>(fd, &mut parts, Some(&mut space), flags)
        else {
            return;
        };
        let refuses = message.cmsgs().is_ok_and(|mut all| {
            all.any(|control| match control {
                ControlMessageOwned::Ipv4RecvErr(error, _) => is_refusal(error.ee_errno),
                ControlMessageOwned::Ipv6RecvErr(error, _) => is_refusal(error.ee_errno),
                _ => false,
            })
        });
        if let (true, Some(to)) = (refuses, message.address.and_then(|to| address(&to))) {
            refused(to);
        }
    }
}

/// Excludes the messages that a datagram was too long for the path.
const fn is_refusal(errno: u32) -> bool {
    matches!(
        errno as i32,
        libc::ECONNREFUSED | libc::EHOSTUNREACH | libc::ENETUNREACH | libc::EACCES
    )
}

fn address(of: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = of
        .as_sockaddr_in()
        .map(|v4| SocketAddr::from(SocketAddrV4::from(*v4)));
    let v6 = of.as_sockaddr_in6();
    v4.or_else(|| v6.map(|v6| SocketAddr::from(SocketAddrV6::from(*v6))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::time::{Duration, Instant};

    #[test]
    fn only_the_flow_that_runs_is_refused() {
        let senders = Senders::default();
        let peer = SocketAddr::from(([198, 18, 0, 2], 9));
        senders.refuse(peer);
        let before = senders.begin(peer);
        let now = senders.begin(peer);
        senders.end(peer, &before);
        senders.refuse(peer);
        assert_eq!(
            (before.load(Ordering::Relaxed), now.load(Ordering::Relaxed)),
            (false, true)
        );
        senders.end(peer, &now);
        assert!(senders.lock().is_empty());
    }

    #[test]
    fn a_closed_port_is_reported_and_an_open_one_is_not() {
        for ip in ["127.0.0.1", "::1"] {
            let socket = UdpSocket::bind((ip, 0)).unwrap();
            keep(&socket);
            let open = UdpSocket::bind((ip, 0)).unwrap();
            let closed = UdpSocket::bind((ip, 0)).unwrap().local_addr().unwrap();
            let since = Instant::now();
            let mut refused = HashSet::new();
            while refused.is_empty() && since.elapsed() < Duration::from_secs(20) {
                for to in [open.local_addr().unwrap(), closed] {
                    // Either may return the message of the other.
                    let _ = socket.send_to(b"x", to);
                }
                take(&socket, |to| {
                    refused.insert(to);
                });
            }
            assert_eq!(refused, HashSet::from([closed]));
        }
    }
}
