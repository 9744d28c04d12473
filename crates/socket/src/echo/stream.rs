//! The tester's side over a TCP stream, open loop: blocks leave on a schedule, and the peer returns each in the order
//! of sending.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::poll::PollFlags;
use wirelab_trial::host_clock::now_ns;
use wirelab_trial::job::CheckReport;
use wirelab_trial::slices::{Marks, Totals};
use wirelab_trial::{Cancel, Counts, Jitter, Series};

use super::ledger::Times;
use super::open_loop::{self, Schedule, Transport};
use super::{EchoReport, Wait};
use crate::flow::Offer;
use crate::udp::is_not_yet;

/// Bytes that may wait for space in the stream; if a peer takes none, the probe ends here.
const MOST_WAITING: usize = 4 << 20;
/// Longest sleep of the floor's mirror before it checks for the end.
const MIRROR_NAP: Duration = Duration::from_millis(20);

/// The blocks of a probe over a stream.
pub trait Blocks {
    /// Write all bytes of the block with this number.
    fn write(&self, block: &mut [u8], number: u64);

    /// Whether a returned block has this number, apart from what the peer may write into it.
    fn is_answer(&self, block: &[u8], number: u64) -> bool;
}

/// Send blocks of `offer.datagram_bytes` on a connected stream, on their schedule, to a peer that returns each, and
/// measure the time. The tester's own floor is measured before, over loopback.
///
/// # Errors
/// A load without a pace, or the socket's error before the first block. A later error is in [`EchoReport::failure`].
pub fn stream_probe(
    stream: &TcpStream,
    offer: &Offer,
    blocks: &dyn Blocks,
    cancel: &Cancel,
) -> io::Result<EchoReport> {
    let ipv6 = stream.local_addr()?.is_ipv6();
    let floor = open_loop::floor_field(measure_floor(ipv6, offer, blocks, cancel));
    let report = run(stream, offer, blocks, cancel)?;
    Ok(EchoReport { floor, ..report })
}

fn run(
    stream: &TcpStream,
    offer: &Offer,
    blocks: &dyn Blocks,
    cancel: &Cancel,
) -> io::Result<EchoReport> {
    let paced = open_loop::paced(offer)?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    let mut probing = Probing {
        stream,
        blocks,
        block: vec![0; offer.datagram_bytes.max(1) as usize],
        back: Vec::new(),
        waiting: Vec::new(),
        jitter: Jitter::new(),
        marks: Marks::new(),
        first: None,
        last: None,
    };
    let mut schedule = Schedule::start(&paced, Wait::Sleep);
    let failure = schedule.go(&mut probing, cancel).err();
    Ok(probing.finish(schedule, failure))
}

struct Probing<'a> {
    stream: &'a TcpStream,
    blocks: &'a dyn Blocks,
    block: Vec<u8>,
    /// Returned bytes of an incomplete block.
    back: Vec<u8>,
    /// Due bytes that did not fit yet.
    waiting: Vec<u8>,
    jitter: Jitter,
    marks: Marks,
    first: Option<(u64, u64)>,
    last: Option<(u64, u64)>,
}

impl Transport for Probing<'_> {
    fn prepare(&mut self, number: u64) {
        self.blocks.write(&mut self.block, number);
    }

    fn send(&mut self, _: u64, _: u64) -> io::Result<bool> {
        if self.waiting.len() > MOST_WAITING {
            return Err(io::Error::new(
                ErrorKind::TimedOut,
                "the peer stopped reading the stream",
            ));
        }
        self.waiting.extend_from_slice(&self.block);
        self.flush()?;
        Ok(true)
    }

    fn turn(&mut self, schedule: &mut Schedule) -> io::Result<()> {
        self.flush()?;
        self.fetch(schedule)
    }

    fn awaited(&self) -> (BorrowedFd<'_>, PollFlags) {
        let wanted = match self.waiting.is_empty() {
            true => PollFlags::POLLIN,
            false => PollFlags::POLLIN | PollFlags::POLLOUT,
        };
        (self.stream.as_fd(), wanted)
    }
}

impl Probing<'_> {
    /// Send waiting bytes, as far as there is space.
    fn flush(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            match self.stream.write(&self.waiting) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => drop(self.waiting.drain(..bytes)),
                Err(error) if is_not_yet(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Take the blocks that have arrived.
    fn fetch(&mut self, schedule: &mut Schedule) -> io::Result<()> {
        let mut bytes = [0; 16 * 1024];
        loop {
            let come = match self.stream.read(&mut bytes) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(come) => come,
                Err(error) if is_not_yet(&error) => return Ok(()),
                Err(error) => return Err(error),
            };
            let now = now_ns();
            self.back.extend_from_slice(&bytes[..come]);
            let size = self.block.len();
            let whole = self.back.len() / size;
            for at in 0..whole {
                self.arrived(at * size, now, schedule)?;
            }
            self.back.drain(..whole * size);
        }
    }

    fn arrived(&mut self, at: usize, now: u64, schedule: &mut Schedule) -> io::Result<()> {
        let number = schedule.ledger.answered();
        let block = &self.back[at..at + self.block.len()];
        if number >= schedule.run.sequences || !self.blocks.is_answer(block, number) {
            return Err(io::Error::new(
                ErrorKind::InvalidData,
                "what the peer returns is not what was sent",
            ));
        }
        if let Some(sent) = schedule.ledger.handed_over_ns(number) {
            self.jitter.observe(sent, now);
        }
        let times = Times {
            application_ns: now,
            ..Times::default()
        };
        schedule.ledger.arrived(number, times);
        if self.marks.is_due(now) {
            self.marks.come_to(now, so_far(number));
        }
        self.first.get_or_insert((now, number));
        self.last = Some((now, number));
        Ok(())
    }

    fn finish(self, schedule: Schedule, failure: Option<io::Error>) -> EchoReport {
        let answered = schedule.ledger.answered();
        let last_ns = self.last.map_or(0, |(ns, _)| ns);
        let received = CheckReport {
            counts: Counts {
                received_frames: answered,
                good_frames: answered,
                distinct_sequences: answered,
                verified_payload_bytes: answered * self.block.len() as u64,
                ..Counts::default()
            },
            first: self.first,
            last: self.last,
            slices: self.marks.finish(last_ns, so_far(answered)),
            jitter_ns: self.jitter.ns(),
            ..CheckReport::default()
        };
        let report = schedule.finish(failure);
        EchoReport {
            received: received.with_sent(report.sent.sequences),
            ..report
        }
    }
}

/// The totals of a stream with this many returned blocks: it loses none and changes no order.
const fn so_far(answered: u64) -> Totals {
    Totals {
        amount: answered,
        distinct: answered,
        passed: answered,
    }
}

/// Round trips of the same blocks to the tester's own mirror.
fn measure_floor(
    ipv6: bool,
    offer: &Offer,
    blocks: &dyn Blocks,
    cancel: &Cancel,
) -> io::Result<Series> {
    let listener = match ipv6 {
        false => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)),
        true => TcpListener::bind((Ipv6Addr::LOCALHOST, 0)),
    }?;
    let tester = TcpStream::connect(listener.local_addr()?)?;
    let (mirror, _) = listener.accept()?;
    let size = offer.datagram_bytes.max(1) as usize;
    open_loop::floor(
        offer,
        |over| return_blocks(mirror, size, over),
        |offer| run(&tester, offer, blocks, cancel),
    )
}

/// Return each whole block, until the other end closes or the probe ends.
fn return_blocks(mut stream: TcpStream, size: usize, over: &Cancel) {
    let mut block = vec![0; size];
    let mut filled = 0;
    let ready = stream.set_read_timeout(Some(MIRROR_NAP));
    if ready.and_then(|()| stream.set_nodelay(true)).is_err() {
        return;
    }
    while !over.is_cancelled() {
        match stream.read(&mut block[filled..]) {
            Ok(0) => return,
            Ok(bytes) => filled += bytes,
            Err(error) if is_not_yet(&error) => {}
            Err(_) => return,
        }
        if filled == size {
            filled = 0;
            if stream.write_all(&block).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_trial::Extent;
    use wirelab_trial::job::Pace;

    /// A block with its number in each byte.
    struct Numbered;

    impl Blocks for Numbered {
        fn write(&self, block: &mut [u8], number: u64) {
            block.fill(number as u8);
        }

        fn is_answer(&self, block: &[u8], number: u64) -> bool {
            block.iter().all(|byte| *byte == number as u8)
        }
    }

    fn offer(frames: u64) -> Offer {
        Offer {
            stream: 0,
            datagram_bytes: 100,
            pace: Pace::Interval { ps: 1_000_000_000 },
            extent: Extent::Frames { frames },
            with_time: true,
            node_clock: false,
        }
    }

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tester = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (tester, listener.accept().unwrap().0)
    }

    #[test]
    fn blocks_of_an_open_loop_come_back_with_their_times() {
        let (tester, peer) = pair();
        let over = Cancel::new();
        let report = std::thread::scope(|scope| {
            scope.spawn(|| return_blocks(peer, 100, &over));
            let report = stream_probe(&tester, &offer(50), &Numbered, &Cancel::new());
            over.cancel();
            report
        });
        let report = report.unwrap();
        assert!(report.failure.is_none(), "{:?}", report.failure);
        assert_eq!(report.sent.sequences, 50);
        assert_eq!(report.round_trip.histogram.count, 50);
        assert_eq!(report.received.counts.verified_payload_bytes, 50 * 100);
        assert_eq!(report.received.counts.lost_frames, 0);
        assert!(report.floor.value().is_some_and(|s| s.histogram.count > 0));
    }

    #[test]
    fn a_stalled_peer_is_still_asked_and_a_stranger_is_reported() {
        let (tester, mut peer) = pair();
        let report = std::thread::scope(|scope| {
            scope.spawn(move || {
                // Ten blocks are due meanwhile.
                std::thread::sleep(Duration::from_millis(10));
                let mut all = [0; 20 * 100];
                peer.read_exact(&mut all).unwrap();
                peer.write_all(&all).unwrap();
            });
            run(&tester, &offer(20), &Numbered, &Cancel::new()).unwrap()
        });
        assert_eq!(report.round_trip.histogram.count, 20);
        assert!(report.round_trip.histogram.max_ticks >= 10_000_000, "ns");

        let (tester, mut peer) = pair();
        peer.write_all(b"HTTP/1.1 400 Bad Request").unwrap();
        peer.write_all(&[7; 100]).unwrap();
        let report = run(&tester, &offer(20), &Numbered, &Cancel::new()).unwrap();
        let failure = report.failure.expect("that was not sent");
        assert_eq!(failure.kind(), ErrorKind::InvalidData);
    }
}
