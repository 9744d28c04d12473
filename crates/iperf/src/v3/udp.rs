//! The loops that move datagrams: together where nothing paces them, else each on its own time.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use wirelab_socket::batch::Receiver as Joined;
use wirelab_socket::{Batch, lengthen_queue};

use super::datagram::{Head, OPENING_LEN, reply_to};
use super::parameters::Parameters;
use super::run::Run;
use super::stream::{Done, Meter, until_quiet};
use crate::sending::{Sending, has_no_room};
use crate::v2::schedule::Schedule;

/// Bytes of datagrams that leave together: few enough to stay in the processor's cache.
const BYTES: usize = 128 * 1024;
/// Most datagrams that leave together: between them the clock is not read.
const MOST: usize = 128;
/// Pieces of joined datagrams that are taken with one system call.
const PIECES: usize = 32;
/// What the system shall keep of datagrams that were not read yet, where no window is asked: a pause of some ms.
const QUEUE_BYTES: u32 = 4 << 20;

/// The sending end of one stream.
pub(super) struct Sender<'a> {
    run: &'a Run,
    meter: &'a Meter,
    socket: &'a UdpSocket,
    /// Whom to send to, where the socket is not connected.
    to: Option<SocketAddr>,
    length: usize,
    counters_64: bool,
    number: u64,
}

impl<'a> Sender<'a> {
    pub(super) fn new(
        run: &'a Run,
        meter: &'a Meter,
        socket: &'a UdpSocket,
        to: Option<SocketAddr>,
        parameters: &Parameters,
    ) -> Sender<'a> {
        Sender {
            run,
            meter,
            socket,
            to,
            length: parameters.length_bytes as usize,
            counters_64: parameters.counters_64,
            number: 1,
        }
    }

    /// Send `block` with a new head again and again until the test is over; whether the system got several in one
    /// piece. Those that a schedule paces leave one by one.
    pub(super) fn send(
        &mut self,
        block: Vec<u8>,
        schedule: &mut Schedule,
        sending: &mut Sending,
    ) -> bool {
        let paced = schedule.is_paced();
        let (most, cut) = match paced {
            true => (1, false),
            false => (
                (BYTES / self.length).clamp(2, MOST),
                self.run.options().segmentation,
            ),
        };
        let mut batch = Batch::new(self.length, most, cut).without_waiting();
        for at in 0..most {
            batch.slot_mut(at).copy_from_slice(&block);
        }
        while !self.run.stopped() && !self.run.reached() {
            if paced {
                self.run.wait_until(schedule.due_ns());
            }
            let left = self.run.left().div_ceil(self.length as u64);
            let count = most.min(usize::try_from(left).unwrap_or(most));
            let now_ns = self.run.now_ns();
            sending.tick(now_ns);
            let stamp_ns = self.run.stamp_ns(now_ns);
            for at in 0..count {
                let head = Head::new(self.number + at as u64, stamp_ns);
                head.emit(batch.slot_mut(at), self.counters_64);
            }
            match self.send_once(&mut batch, count, now_ns, schedule) {
                Ok(()) => {}
                Err(error) if has_no_room(&error) => {
                    schedule.was_blocked(sending.wait_for_room(self.socket));
                }
                // An unreachable peer shows on the control connection, where it can be told apart from a lost datagram.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(_) => break,
            }
        }
        batch.segmented()
    }

    fn send_once(
        &mut self,
        batch: &mut Batch,
        count: usize,
        now_ns: u64,
        schedule: &mut Schedule,
    ) -> io::Result<()> {
        // Numbers of what was not sent are used again.
        let sent = batch.send(self.socket, self.to, 0..count)?;
        schedule.leave_together(now_ns, sent as u64);
        let bytes = (sent * self.length) as u64;
        self.meter
            .add(self.run, bytes, sent as u64, self.run.now_ns());
        self.number += sent as u64;
        Ok(())
    }
}

/// Take one stream from its own socket until nothing more comes.
pub(super) fn receive(
    run: &Run,
    meter: &Meter,
    socket: &UdpSocket,
    parameters: &Parameters,
) -> Done {
    let mut joined = joined(socket, parameters);
    until_quiet(run, Duration::ZERO, || {
        let came = joined.receive_resting(socket)?;
        let now_ns = run.now_ns();
        // A repeated answer to the opening is no data.
        let data = came
            .map(|datagram| datagram.bytes)
            .filter(|bytes| bytes.len() != OPENING_LEN);
        meter.take(run, now_ns, data);
        Ok(now_ns)
    })
}

/// Take the streams of `meters` from one socket, told apart by the sender's address, until nothing more comes. All
/// `greeted` get another answer to an opening.
pub(super) fn receive_shared(
    run: &Run,
    socket: &UdpSocket,
    meters: &[(SocketAddr, Arc<Meter>)],
    greeted: &[SocketAddr],
    parameters: &Parameters,
) -> Done {
    let mut joined = joined(socket, parameters);
    until_quiet(run, Duration::ZERO, || {
        let mut came = joined.receive_resting(socket)?.peekable();
        let now_ns = run.now_ns();
        while let Some(first) = came.next() {
            let from = first.from;
            if let Some(reply) = reply_to(first.bytes) {
                if greeted.contains(&from) {
                    socket.send_to(&reply, from)?;
                }
            } else if let Some((_, meter)) = meters.iter().find(|(remote, _)| *remote == from) {
                // Nearly always the next ones are of the same stream.
                let next =
                    || came.next_if(|next| next.from == from && reply_to(next.bytes).is_none());
                let rest = std::iter::from_fn(next).map(|next| next.bytes);
                meter.take(run, now_ns, std::iter::once(first.bytes).chain(rest));
            }
        }
        Ok(now_ns)
    })
}

fn joined(socket: &UdpSocket, parameters: &Parameters) -> Joined {
    if parameters.window_bytes == 0 {
        lengthen_queue(socket, QUEUE_BYTES);
    }
    Joined::joining(socket, PIECES)
}
