//! A second flow that one thread sends beside a paced one, in the time that the first leaves free.

use std::io;
use std::net::UdpSocket;

use wirelab_trial::Cancel;
use wirelab_trial::host_clock::{now_ns, wait_until};

use super::{PATIENCE, is_full};
use crate::flow::{Offer, Sent, checked};
use crate::frames::{Frames, Progressing};

/// Highest cost of a datagram, in ns: the cost of an interrupted call must not delay all later datagrams.
const MOST_COST_NS: u64 = 50_000;
/// Weight of a new cost in the moving mean: an eighth.
const COST_SHIFT: u32 = 3;

/// A flow of datagrams with its own pace. It starts no datagram that would delay the flow beside it, as estimated from the cost
/// of earlier datagrams.
#[derive(Debug)]
pub struct Background<'a> {
    socket: &'a UdpSocket,
    frames: Frames,
    buf: Vec<u8>,
    run: Progressing,
    /// Time to send a datagram, in ns: a moving mean.
    cost_ns: u64,
    failure: Option<io::Error>,
}

impl<'a> Background<'a> {
    /// A flow on a connected socket, whose schedule starts now. The offer needs a pace.
    ///
    /// # Errors
    /// An invalid size of a test frame, or the socket's error.
    pub fn new(socket: &'a UdpSocket, offer: &Offer) -> io::Result<Background<'a>> {
        let bytes = checked(offer.datagram_bytes)?;
        socket.set_nonblocking(false)?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(Background {
            socket,
            frames: Frames::new(offer, bytes),
            buf: vec![0; bytes],
            cost_ns: 0,
            failure: None,
            run: Progressing::new(offer, now_ns()),
        })
    }

    /// Wait until `due_ns` or the run is cancelled, and send what is due meanwhile; returns the time then.
    pub fn until(&mut self, due_ns: u64, cancel: &Cancel) -> u64 {
        loop {
            let next = self.next_ns().unwrap_or(u64::MAX);
            if next.saturating_add(self.cost_ns) >= due_ns {
                return wait_until(due_ns, cancel);
            }
            let now = wait_until(next, cancel);
            if now < next {
                return now;
            }
            if now.saturating_add(self.cost_ns) >= due_ns {
                return wait_until(due_ns, cancel);
            }
            self.send(now);
        }
    }

    /// Send until `cancel` is set, if another thread sends the flow beside it.
    pub fn alone(&mut self, cancel: &Cancel) {
        while let Some(next) = self.next_ns().filter(|_| !cancel.is_cancelled()) {
            let now = wait_until(next, cancel);
            if now >= next {
                self.send(now);
            }
        }
    }

    fn next_ns(&self) -> Option<u64> {
        self.run.due_ns().filter(|_| self.failure.is_none())
    }

    fn send(&mut self, now: u64) {
        let sequence = self.run.sequences as u32;
        self.frames.write_content(&mut self.buf, sequence);
        self.run.start(now);
        self.frames.write_header(&mut self.buf, sequence, now);
        match self.socket.send(&self.buf) {
            Ok(_) => {}
            Err(error) if is_full(&error) => self.run.report.refused_frames += 1,
            Err(error) => {
                self.failure = Some(error);
                return;
            }
        }
        self.run.frame(now);
        let took = now_ns().saturating_sub(now).min(MOST_COST_NS);
        self.cost_ns = self.cost_ns - (self.cost_ns >> COST_SHIFT) + (took >> COST_SHIFT);
    }

    /// The result.
    pub fn finish(self) -> Sent {
        Sent {
            report: self.run.finish(now_ns()),
            failure: self.failure,
            ..Sent::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_trial::Extent;
    use wirelab_trial::job::Pace;

    fn pair() -> (UdpSocket, UdpSocket) {
        let (from, to) = (
            UdpSocket::bind("127.0.0.1:0").unwrap(),
            UdpSocket::bind("127.0.0.1:0").unwrap(),
        );
        from.connect(to.local_addr().unwrap()).unwrap();
        (from, to)
    }

    fn offer() -> Offer {
        Offer {
            stream: 2,
            datagram_bytes: 22,
            pace: Pace::Interval { ps: 1_000_000_000 },
            extent: Extent::Frames { frames: u64::MAX },
            with_time: true,
            node_clock: false,
        }
    }

    #[test]
    fn what_is_due_is_sent_until_the_other_flow_is_due() {
        let (from, to) = pair();
        let mut background = Background::new(&from, &offer()).unwrap();
        let due = now_ns() + 5_000_000;
        assert!(background.until(due, &Cancel::new()) >= due);
        let sent = background.finish();
        // Six are due in 5 ms; a busy host may leave some out, and then moves the schedule.
        let left = sent.report.emitted_frames;
        assert!((1..=6).contains(&left), "{left}");
        to.set_nonblocking(true).unwrap();
        let mut buf = [0; 64];
        let mut arrived = 0;
        while let Ok(bytes) = to.recv(&mut buf) {
            assert_eq!((bytes, buf[3]), (22, 2), "the background's stream");
            arrived += 1;
        }
        assert_eq!(arrived, left);
    }

    #[test]
    fn a_flow_that_leaves_no_time_is_not_held_up() {
        let (from, _to) = pair();
        let mut background = Background::new(&from, &offer()).unwrap();
        background.cost_ns = MOST_COST_NS;
        let due = now_ns() + MOST_COST_NS / 2;
        background.until(due, &Cancel::new());
        assert_eq!(background.finish().report.sequences, 0);
    }

    #[test]
    fn a_socket_that_fails_ends_the_background_alone() {
        let (from, to) = pair();
        drop(to);
        let mut background = Background::new(&from, &offer()).unwrap();
        let due = now_ns() + 5_000_000;
        assert!(background.until(due, &Cancel::new()) >= due);
        let sent = background.finish();
        assert!(
            sent.failure.is_some() || sent.report.sequences <= 1,
            "{sent:?}"
        );
    }
}
