//! Datagrams that leave together, where nothing paces them.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use wirelab_socket::Batch;

use super::io::{Env, wait_for_room};
use super::send::Sender;
use crate::sending::{Sending, has_no_room};

/// Bytes of datagrams that leave together: few enough to stay in the processor's cache.
const BYTES: usize = 128 * 1024;
/// Most datagrams that leave together: between them the clock is not read.
const MOST: usize = 128;

/// The datagrams of one sender.
pub(super) struct Together {
    batch: Batch,
}

impl Together {
    /// Room for them, each a copy of the first bytes of `prepared`; `None` for a sender that is paced.
    pub(super) fn of(sender: &Sender, prepared: &[u8]) -> Option<Together> {
        if !sender.is_unpaced() {
            return None;
        }
        let (length, cut) = (
            sender.plan().length_bytes as usize,
            sender.plan().sending.segmentation,
        );
        let mut batch = Batch::new(length, (BYTES / length).clamp(2, MOST), cut).without_waiting();
        for at in 0..batch.most() {
            batch.slot_mut(at).copy_from_slice(&prepared[..length]);
        }
        Some(Together { batch })
    }

    /// Send as many as there is room for; whether there were any to be sent so.
    pub(super) fn send(
        &mut self,
        (socket, to): (&UdpSocket, Option<SocketAddr>),
        sender: &mut Sender,
        sending: &mut Sending,
        env: &Env<'_>,
        now_ns: u64,
    ) -> io::Result<bool> {
        let wall = env.wall(now_ns);
        let Some(ids) = sender.take_together(now_ns, self.batch.most()) else {
            return Ok(false);
        };
        let mut count = 0;
        for id in ids {
            sender.write(id, wall, self.batch.slot_mut(count));
            count += 1;
        }
        let (mut sent, mut again) = (0, to.is_some());
        while sent < count {
            match self.batch.send(socket, to, sent..count) {
                Ok(more) => {
                    sent += more;
                    again = to.is_some();
                }
                Err(error) if has_no_room(&error) => {
                    if !wait_for_room(socket, sender, sending, env) {
                        sender.was_refused();
                        sent += 1;
                    }
                }
                // What the host of another peer of this socket said comes first.
                Err(_) if again => again = false,
                Err(error) => return Err(error),
            }
        }
        if self.batch.segmented() {
            sender.was_segmented();
        }
        Ok(true)
    }
}
