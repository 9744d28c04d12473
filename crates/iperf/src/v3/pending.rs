//! Connections that have not identified themselves yet: bounded in number and time, so that none can block another.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use wirelab_socket::access::{Access, Proof};

use super::control::{COOKIE_LEN, Cookie, State};
use super::link::PATIENCE;
use crate::sending::is_wait;

/// Most pending connections; a further one replaces the oldest.
const MAX_WAITING: usize = 64;

struct Waiting {
    stream: TcpStream,
    since: Instant,
    bytes: [u8; COOKIE_LEN],
    len: usize,
}

/// The connections of a listener that have not sent their cookie yet.
#[derive(Default)]
pub(super) struct Pending {
    waiting: VecDeque<Waiting>,
}

impl Pending {
    /// Accepts pending connections from hosts that may use the server, and returns those whose cookie is complete.
    /// Never blocks.
    pub(super) fn poll(
        &mut self,
        listener: &TcpListener,
        access: &Access,
    ) -> Vec<(Cookie, TcpStream)> {
        for _ in 0..MAX_WAITING {
            match listener.accept() {
                Ok((_, peer)) if !access.may_test(peer.ip()) => {}
                Ok((stream, peer)) => {
                    access.note(peer.ip(), Proof::Receives);
                    if stream.set_nonblocking(true).is_err() {
                        continue;
                    }
                    if self.waiting.len() == MAX_WAITING {
                        self.waiting.pop_front();
                    }
                    let (since, bytes, len) = (Instant::now(), [0; COOKIE_LEN], 0);
                    self.waiting.push_back(Waiting {
                        stream,
                        since,
                        bytes,
                        len,
                    });
                }
                // No connection is pending, or one was reset too early, or no descriptor is free: a later call may
                // succeed.
                Err(_) => break,
            }
        }
        let mut ready = Vec::new();
        for mut waiting in std::mem::take(&mut self.waiting) {
            match waiting.stream.read(&mut waiting.bytes[waiting.len..]) {
                Ok(0) => continue,
                Ok(len) => waiting.len += len,
                Err(error) if is_wait(&error) => {}
                Err(_) => continue,
            }
            match Cookie::parse(&waiting.bytes).filter(|_| waiting.len == COOKIE_LEN) {
                Some(cookie) => ready.push((cookie, waiting.stream)),
                None if waiting.since.elapsed() < PATIENCE => self.waiting.push_back(waiting),
                None => {}
            }
        }
        ready
    }
}

/// Reports to a client that another test runs. It does not matter if the client is already gone.
pub(super) fn deny(mut stream: TcpStream) {
    // Unread data makes the system reset the connection on close, and the message may be lost.
    let _ = stream.read(&mut [0; 4096]);
    let _ = stream.write(&[State::AccessDenied.byte()]);
}
