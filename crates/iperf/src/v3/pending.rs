//! Connections that have not said yet what they are: bounded in number and time, none can block another.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use wirelab_socket::access::{Access, Proof};

use super::control::{COOKIE_LEN, Cookie, State};
use super::link::PATIENCE;
use crate::sending::is_wait;

/// The most connections that wait at a time; one more puts the oldest out.
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
    /// Accept what there is from those that may use the server, and give the connections whose cookie is complete. Never blocks.
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
                // None is there, or one was reset too early, or no descriptor is free: the next call may do.
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

/// Tell a client that another test runs. It may be gone already, and that is no matter.
pub(super) fn deny(mut stream: TcpStream) {
    // What is unread when a socket is closed makes the system reset the connection, and the word may be lost.
    let _ = stream.read(&mut [0; 4096]);
    let _ = stream.write(&[State::AccessDenied.byte()]);
}
