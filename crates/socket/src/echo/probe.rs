//! The tester's side, open loop: frames leave on a schedule, independent of their echoes.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};

use nix::poll::PollFlags;
use wirelab_trial::Cancel;
use wirelab_trial::host_clock::now_ns;
use wirelab_trial::job::Judge;
use wirelab_wire::check::classify_data;
use wirelab_wire::{Layer, Verdict};

use super::ledger::{Times, number_of};
use super::open_loop::{self, Schedule, Transport};
use super::{EchoReport, Wait, floor};
use crate::flow::{MOST_BYTES, Offer, checked};
use crate::frames::Frames;
use crate::stamps::{self, Fetcher, KernelClock, StampKinds};
use crate::udp::Drops;
use crate::udp::{PATIENCE, is_full, is_not_yet, prepare};

/// Send test frames on a connected socket, on their schedule, to a node that sends them back, and measure the time.
/// The tester's own floor is measured before, over loopback.
///
/// # Errors
/// An invalid size of a test frame, a load without a pace, or the socket's error before the first frame. A later
/// error is in [`EchoReport::failure`].
pub fn probe(
    socket: &UdpSocket,
    offer: &Offer,
    wait: Wait,
    cancel: &Cancel,
) -> io::Result<EchoReport> {
    checked(offer.datagram_bytes)?;
    open_loop::paced(offer)?;
    let floor = floor(offer, socket.local_addr()?.is_ipv6(), wait, cancel);
    let report = run(socket, offer, wait, cancel)?;
    Ok(EchoReport { floor, ..report })
}

/// A probe without its floor.
pub(super) fn run(
    socket: &UdpSocket,
    offer: &Offer,
    wait: Wait,
    cancel: &Cancel,
) -> io::Result<EchoReport> {
    let bytes = checked(offer.datagram_bytes)?;
    let offer = open_loop::paced(offer)?;
    socket.set_nonblocking(false)?;
    socket.set_write_timeout(Some(PATIENCE))?;
    // Before anything that takes time: echoes that the queue drops from here on are not a loss of the node.
    let ready = prepare(socket);
    let header_bytes = match socket.local_addr()?.is_ipv6() {
        true => Layer::UdpIpv6.header_bytes(),
        false => Layer::UdpIpv4.header_bytes(),
    };
    // If the kernel cannot stamp, the application's times are used.
    let stamped = stamps::want(socket, StampKinds::Both).is_ok();
    let mut probing = Probing {
        socket,
        wait,
        frames: Frames::new(&offer, bytes),
        stream: offer.stream,
        header_bytes: u64::from(header_bytes),
        buf: vec![0; bytes],
        fetcher: Fetcher::new(MOST_BYTES as usize),
        judge: Judge::new(None, 1),
        clock: KernelClock::new(now_ns()),
        stamped,
    };
    let mut schedule = Schedule::start(&offer, wait);
    let failure = schedule.go(&mut probing, cancel).err();
    let _ = stamps::want(socket, StampKinds::Nothing);
    let dropped = Drops::of(socket).since_made(ready.before);
    let mut report = probing.finish(schedule, failure);
    report.received.missed = dropped.of_flow(&report.received.counts, offer.datagram_bytes, false);
    report.received = report.received.with_sent(report.sent.sequences);
    report.received.notes.extend(ready.note);
    Ok(report)
}

struct Probing<'a> {
    socket: &'a UdpSocket,
    wait: Wait,
    frames: Frames,
    stream: u8,
    header_bytes: u64,
    buf: Vec<u8>,
    fetcher: Fetcher,
    judge: Judge,
    clock: KernelClock,
    /// Whether the numbers of departures are those of the frames.
    stamped: bool,
}

impl Transport for Probing<'_> {
    fn prepare(&mut self, number: u64) {
        self.frames.write_content(&mut self.buf, number as u32);
    }

    fn send(&mut self, number: u64, now_ns: u64) -> io::Result<bool> {
        self.frames
            .write_header(&mut self.buf, number as u32, now_ns);
        match self.socket.send(&self.buf) {
            Ok(_) => Ok(true),
            Err(error) if is_full(&error) => {
                // It is unknown whether the kernel has counted it.
                self.stamped = false;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn turn(&mut self, schedule: &mut Schedule) -> io::Result<()> {
        self.fetch(schedule)
    }

    fn awaited(&self) -> (BorrowedFd<'_>, PollFlags) {
        // Stamps of departures arrive with POLLERR, which poll always reports.
        (self.socket.as_fd(), PollFlags::POLLIN)
    }
}

impl Probing<'_> {
    /// Take what has arrived: echoes, then stamps of departures.
    fn fetch(&mut self, schedule: &mut Schedule) -> io::Result<()> {
        let mut arrived = false;
        loop {
            let fetched = match self.fetcher.arrival(self.socket, false) {
                Ok(fetched) => fetched,
                Err(error) if is_not_yet(&error) => break,
                Err(error) => return Err(error),
            };
            arrived = true;
            let now = now_ns();
            let verdict = classify_data(fetched.bytes, Some(self.stream), true);
            let payload = fetched.bytes.len() as u64 + self.header_bytes;
            let header = match verdict {
                Verdict::Foreign | Verdict::HeaderCorrupt => None,
                Verdict::Truncated(header)
                | Verdict::Stale { header, .. }
                | Verdict::Corrupted(header)
                | Verdict::Good(header) => Some(header),
            };
            let number = header.and_then(|h| number_of(h.sequence, &schedule.run));
            let handed_over = number.and_then(|number| schedule.ledger.handed_over_ns(number));
            let kernel_ns = fetched
                .stamp
                .kernel_ns
                .zip(handed_over)
                .and_then(|(ns, earliest)| self.clock.monotonic(ns, earliest, now));
            self.judge
                .take(verdict, payload, Some(kernel_ns.unwrap_or(now)));
            if let Some(number) = number {
                let times = Times {
                    application_ns: now,
                    kernel_ns: kernel_ns.unwrap_or(0),
                    device_ns: fetched.stamp.device_ns.unwrap_or(0),
                };
                schedule.ledger.arrived(number, times);
            }
        }
        // A spinning probe looks for departures only after an echo; a sleeping one may have been woken by one.
        if arrived || self.wait == Wait::Sleep {
            self.fetch_departures(schedule)?;
        }
        Ok(())
    }

    fn fetch_departures(&mut self, schedule: &mut Schedule) -> io::Result<()> {
        while let Some(departure) = self.fetcher.departure(self.socket)? {
            let sequence = departure.number;
            let Some(number) = number_of(sequence, &schedule.run).filter(|_| self.stamped) else {
                continue;
            };
            let handed_over = schedule.ledger.handed_over_ns(number);
            let kernel_ns = departure
                .stamp
                .kernel_ns
                .zip(handed_over)
                .and_then(|(ns, earliest)| self.clock.monotonic(ns, earliest, now_ns()));
            schedule
                .ledger
                .left(number, kernel_ns, departure.stamp.device_ns);
        }
        Ok(())
    }

    fn finish(mut self, mut schedule: Schedule, failure: Option<io::Error>) -> EchoReport {
        // A network error comes before waiting echoes, the stamp of a device after its echo.
        let _ = self.fetch(&mut schedule);
        let _ = self.fetch_departures(&mut schedule);
        let mut received = self.judge.finish_apart();
        received.notes.extend(self.clock.note());
        let report = schedule.finish(failure);
        EchoReport {
            received: received.with_sent(report.sent.sequences),
            ..report
        }
    }
}
