//! The sender of a UDP flow.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::sys::socket::{MsgFlags, send as send_flagged};
use wirelab_trial::Cancel;
use wirelab_trial::host_clock::{now_ns, wait_until};
use wirelab_trial::job::Pace;

use super::{Background, is_full};
use crate::batch::Batch;
use crate::flow::{CAPTURES, Capture, FlowProgress, Offer, Sent, checked};
use crate::frames::{Frames, Progressing};
use crate::stamps::{self, Fetcher, KernelClock, StampKinds};

/// Approximate bytes of datagrams built at once without a pace: what the caches of a core hold beside other data.
const BATCH_BYTES: usize = 128 * 1024;
/// Most datagrams built at once.
const MOST_BATCH: usize = 128;
/// Datagrams of a batch that share a transmit time: reading the clock for each costs 5 % of the rate.
const SHARED_TIME: usize = 16;
/// The shortest interval in ps at which departures are stamped, because fetching a stamp is a separate system call.
const STAMPED_PS: u64 = 20_000_000;
/// Time between the two frames of a pair, in ns: longer than a spinning node needs for one, and much shorter than a
/// pause of the host.
const PAIR_NS: u64 = 20_000;

/// Send a flow of test frames on a connected socket, until its extent is reached or `cancel` is set.
///
/// # Errors
/// An invalid size of a test frame, or the socket's error before the first frame. A later error is in
/// [`Sent::failure`].
pub fn send(
    socket: &UdpSocket,
    offer: &Offer,
    live: &FlowProgress,
    cancel: &Cancel,
) -> io::Result<Sent> {
    send_beside((socket, None), offer, None, live, cancel)
}

/// Like [`send`], with a background of lower priority: it is sent in the gaps of a flow with a pace, and not at all beside one
/// without. With a second socket the frames of a flow with a pace leave in pairs, one on each socket ([`is_second`]),
/// [`PAIR_NS`] apart, and no departures are stamped.
///
/// # Errors
/// As [`send`].
pub fn send_beside(
    (socket, second): (&UdpSocket, Option<&UdpSocket>),
    offer: &Offer,
    background: Option<&mut Background<'_>>,
    live: &FlowProgress,
    cancel: &Cancel,
) -> io::Result<Sent> {
    let bytes = checked(offer.datagram_bytes)?;
    for socket in [Some(socket), second].into_iter().flatten() {
        socket.set_nonblocking(false)?;
    }
    let frames = Frames::new(offer, bytes);
    match offer.pace {
        Pace::Max => Ok(at_once(socket, offer, frames, bytes, live, cancel)),
        Pace::Interval { ps } | Pace::Strict { ps } => {
            let stamps = Departures::new(socket, ps >= STAMPED_PS && second.is_none());
            Ok(Paced::new((socket, second), offer, frames, bytes, stamps)
                .run(background, live, cancel))
        }
    }
}

/// Whether a frame of a flow in pairs leaves on the second socket. Which socket sends first alternates from pair to
/// pair, so that neither has an advantage.
pub const fn is_second(sequence: u32) -> bool {
    (sequence ^ (sequence >> 1)) & 1 == 1
}

/// Without a pace: batch after batch.
fn at_once(
    socket: &UdpSocket,
    offer: &Offer,
    frames: Frames,
    bytes: usize,
    live: &FlowProgress,
    cancel: &Cancel,
) -> Sent {
    let most = (BATCH_BYTES / bytes).clamp(1, MOST_BATCH);
    let mut batch = Batch::new(bytes, most, true).without_waiting();
    let mut run = Progressing::watched(offer);
    let mut failure = None;
    let mut now = now_ns();
    while failure.is_none() && run.left() > 0 && !run.is_over(now) && !cancel.is_cancelled() {
        let count = most.min(usize::try_from(run.left()).unwrap_or(most));
        let first = run.sequences as u32;
        let mut times = [now; MOST_BATCH];
        for (at, time) in times.iter_mut().enumerate().take(count) {
            if at % SHARED_TIME == 0 {
                now = now_ns();
            }
            *time = now;
            let sequence = first.wrapping_add(at as u32);
            let slot = batch.slot_mut(at);
            frames.write_content(slot, sequence);
            frames.write_header(slot, sequence, now);
        }
        let mut sent = 0;
        while sent < count && !cancel.is_cancelled() {
            match batch.send(socket, None, sent..count) {
                Ok(more) => sent += more,
                Err(error) if is_full(&error) => {
                    run.wait_for_room(socket);
                }
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        times[..sent].iter().for_each(|time| run.frame(*time));
        live.tell(run.sequences, run.sequences * bytes as u64, now);
        now = now_ns();
        run.tick(now);
    }
    Sent {
        report: run.finish(now_ns()),
        segmented: batch.segmented(),
        captures: Vec::new(),
        failure,
    }
}

/// A flow with a pace: each datagram when it is due.
struct Paced<'a> {
    socket: &'a UdpSocket,
    second: Option<&'a UdpSocket>,
    frames: Frames,
    buf: Vec<u8>,
    run: Progressing,
    stamps: Departures<'a>,
}

impl<'a> Paced<'a> {
    fn new(
        (socket, second): (&'a UdpSocket, Option<&'a UdpSocket>),
        offer: &Offer,
        frames: Frames,
        bytes: usize,
        stamps: Departures<'a>,
    ) -> Paced<'a> {
        Paced {
            socket,
            second,
            frames,
            buf: vec![0; bytes],
            stamps,
            // Last, so that the schedule starts when everything is ready.
            run: Progressing::watched(offer),
        }
    }

    fn run(
        mut self,
        mut background: Option<&mut Background<'_>>,
        live: &FlowProgress,
        cancel: &Cancel,
    ) -> Sent {
        let (mut failure, mut last_ns) = (None, 0);
        while let Some(due) = self.run.due_ns().filter(|_| !cancel.is_cancelled()) {
            let sequence = self.run.sequences as u32;
            let due = match self.second {
                Some(_) if sequence % 2 == 1 => due.min(last_ns + PAIR_NS),
                _ => due,
            };
            self.frames.write_content(&mut self.buf, sequence);
            let now = match &mut background {
                Some(background) => background.until(due, cancel),
                None => wait_until(due, cancel),
            };
            if now < due {
                break;
            }
            self.run.start(now);
            last_ns = now;
            match self.hand_over(sequence, now, cancel) {
                Ok(Some(left_ns)) => self.run.frame(left_ns),
                Ok(None) => break,
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
            let sent = self.run.sequences;
            live.tell(sent, sent * self.buf.len() as u64, now);
        }
        Sent {
            report: self.run.finish(now_ns()),
            segmented: false,
            captures: self.stamps.finish(),
            failure,
        }
    }
}

impl Paced<'_> {
    /// Give the frame to the system, as soon as it has space; returns the time in the frame, or `None` if the run was
    /// cancelled before.
    fn hand_over(
        &mut self,
        sequence: u32,
        mut now: u64,
        cancel: &Cancel,
    ) -> io::Result<Option<u64>> {
        let second = self.second.filter(|_| is_second(sequence));
        let socket = second.unwrap_or(self.socket);
        loop {
            self.frames.write_header(&mut self.buf, sequence, now);
            match send_at_once(socket, &self.buf) {
                Ok(()) => {
                    self.stamps.sent(sequence, now);
                    return Ok(Some(now));
                }
                Err(error) if !is_full(&error) => return Err(error),
                Err(_) if cancel.is_cancelled() || self.run.is_over(now) => return Ok(None),
                Err(_) => {}
            }
            now = self.run.wait_for_room(&socket);
        }
    }
}

/// Send a datagram on a connected socket if there is space for it.
fn send_at_once(socket: &UdpSocket, datagram: &[u8]) -> io::Result<()> {
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    send_flagged(socket.as_raw_fd(), datagram, flags)?;
    Ok(())
}

/// When the first datagrams were handed over and when they left.
struct Departures<'a> {
    socket: &'a UdpSocket,
    fetcher: Fetcher,
    clock: KernelClock,
    /// Sequence and application's time of each send call with a stamp.
    calls: Vec<(u32, u64)>,
    captures: Vec<Capture>,
    /// Whether more will be stamped.
    on: bool,
}

impl<'a> Departures<'a> {
    fn new(socket: &'a UdpSocket, wanted: bool) -> Departures<'a> {
        let most = CAPTURES as usize;
        Departures {
            socket,
            fetcher: Fetcher::new(64),
            clock: KernelClock::new(now_ns()),
            calls: Vec::with_capacity(most),
            captures: Vec::with_capacity(most),
            // A kernel without such stamps still sends.
            on: wanted && stamps::want(socket, StampKinds::Departures).is_ok(),
        }
    }

    fn sent(&mut self, sequence: u32, application_ns: u64) {
        if !self.on {
            return;
        }
        self.calls.push((sequence, application_ns));
        self.fetch();
        if self.calls.len() == CAPTURES as usize {
            self.off();
        }
    }

    fn fetch(&mut self) {
        while let Ok(Some(departure)) = self.fetcher.departure(self.socket) {
            let call = self.calls.get(departure.number as usize);
            let (Some(&(sequence, application_ns)), Some(kernel_ns)) =
                (call, departure.stamp.kernel_ns)
            else {
                continue;
            };
            let stamp = self.clock.monotonic(kernel_ns, application_ns, now_ns());
            self.captures.extend(stamp.map(|driver_ns| Capture {
                sequence,
                driver_ns,
                application_ns,
            }));
        }
    }

    fn off(&mut self) {
        self.on = false;
        let _ = stamps::want(self.socket, StampKinds::Nothing);
    }

    fn finish(mut self) -> Vec<Capture> {
        if !self.calls.is_empty() && self.captures.len() < self.calls.len() {
            // The last ones may still be on the path to the device.
            std::thread::sleep(Duration::from_millis(2));
            self.fetch();
        }
        if self.on {
            self.off();
        }
        self.captures
    }
}
