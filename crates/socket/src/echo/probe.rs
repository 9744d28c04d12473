//! The tester's side, open loop: frames leave on a schedule, whatever becomes of their echoes.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use wirelab_trial::host_clock::now_ns;
use wirelab_trial::job::{Judge, Pace};
use wirelab_trial::{Cancel, HistogramBuilder};
use wirelab_wire::check::classify_data;
use wirelab_wire::{Layer, Verdict};

use super::ledger::{Ledger, Times, number_of};
use super::{EchoReport, Wait, floor};
use crate::flow::{MOST_BYTES, Offer, checked};
use crate::frames::{Frames, Progressing};
use crate::stamps::{self, Fetcher, KernelClock, Want};
use crate::udp::drops::Drops;
use crate::udp::{PATIENCE, is_full, is_not_yet, prepare};

/// How long before a due time sleeping ends: what a wake-up may be late, in ns.
const SPIN_NS: u64 = 60_000;
/// How long after the last frame its echo is waited for, in ns (RFC 2544, 23: two seconds).
const LAST_REPLY_NS: u64 = 2_000_000_000;
/// The longest sleep before the flag that ends all is looked at, in ns.
const NAP_NS: u64 = PATIENCE.as_nanos() as u64;

/// Send test frames on a connected socket, on their schedule, to a node that sends them back, and take how long
/// that takes. The tester's own floor is measured before, over loopback.
///
/// # Errors
/// A size that is no test frame's, a load without a pace, or what the socket says before anything was sent. What
/// ends a probe that runs is in [`EchoReport::failure`].
pub fn probe(
    socket: &UdpSocket,
    offer: &Offer,
    wait: Wait,
    cancel: &Cancel,
) -> io::Result<EchoReport> {
    check_offer(offer)?;
    let floor = floor(offer, socket.local_addr()?.is_ipv6(), wait, cancel);
    let report = run(socket, offer, wait, cancel)?;
    Ok(EchoReport { floor, ..report })
}

fn check_offer(offer: &Offer) -> io::Result<usize> {
    if offer.pace == Pace::Max {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "echo latency needs a load with a rate, e.g. 1kpps: at max it is that of a full queue",
        ));
    }
    checked(offer.datagram_bytes)
}

/// A probe without its floor.
pub(super) fn run(
    socket: &UdpSocket,
    offer: &Offer,
    wait: Wait,
    cancel: &Cancel,
) -> io::Result<EchoReport> {
    let bytes = check_offer(offer)?;
    let offer = Offer {
        with_time: true,
        ..*offer
    };
    socket.set_nonblocking(false)?;
    socket.set_write_timeout(Some(PATIENCE))?;
    // Before anything that takes time: echoes that the queue drops from here on are no loss of the node.
    let before = Drops::of(socket);
    let notes = prepare(socket);
    let header_bytes = match socket.local_addr()?.is_ipv6() {
        true => Layer::UdpIpv6.header_bytes(),
        false => Layer::UdpIpv4.header_bytes(),
    };
    // A kernel that cannot stamp leaves the application's times.
    let stamped = stamps::want(socket, Want::Both).is_ok();
    let mut probing = Probing {
        socket,
        wait,
        frames: Frames::new(&offer, bytes),
        stream: offer.stream,
        header_bytes: u64::from(header_bytes),
        buf: vec![0; bytes],
        fetcher: Fetcher::new(MOST_BYTES as usize),
        ledger: Ledger::new(&offer),
        judge: Judge::new(None, 1),
        clock: KernelClock::new(now_ns()),
        lateness: HistogramBuilder::new(),
        stamped,
        run: Progressing::new(&offer, now_ns()),
    };
    let failure = probing.go(cancel).err();
    let _ = stamps::want(socket, Want::Nothing);
    let missed = Drops::of(socket).since(before);
    let mut report = probing.finish(failure);
    report.seen.missed_frames = missed;
    report.seen = report.seen.with_sent(report.sent.sequences);
    report.seen.notes.extend(notes);
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
    ledger: Ledger,
    judge: Judge,
    clock: KernelClock,
    lateness: HistogramBuilder,
    /// Whether the numbers of departures are those of the frames.
    stamped: bool,
    run: Progressing,
}

impl Probing<'_> {
    fn go(&mut self, cancel: &Cancel) -> io::Result<()> {
        while let Some(due) = self.run.due_ns() {
            self.prepare_frame();
            loop {
                let now = now_ns();
                if now >= due {
                    self.send(due, now)?;
                    break;
                }
                if cancel.is_cancelled() {
                    return Ok(());
                }
                self.sleep(due.saturating_sub(SPIN_NS), now)?;
                self.fetch()?;
            }
        }
        let end = now_ns() + LAST_REPLY_NS;
        while self.ledger.answered() < self.run.sequences && !cancel.is_cancelled() {
            let now = now_ns();
            if now >= end {
                break;
            }
            self.sleep(end, now)?;
            self.fetch()?;
        }
        Ok(())
    }

    /// What can be written before the frame is due.
    fn prepare_frame(&mut self) {
        let sequence = self.run.sequences as u32;
        self.frames.write_content(&mut self.buf, sequence);
    }

    fn send(&mut self, due: u64, now: u64) -> io::Result<()> {
        let number = self.run.sequences;
        self.run.start(now);
        self.frames.write_header(&mut self.buf, number as u32, now);
        self.run.frame(now);
        self.lateness.record(now - due);
        match self.socket.send(&self.buf) {
            Ok(_) => self.ledger.sent(number, due, now),
            Err(error) if is_full(&error) => {
                self.run.report.refused_frames += 1;
                // Whether the kernel has counted it cannot be known.
                self.stamped = false;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Sleep until something comes or a time is reached, if this probe sleeps.
    fn sleep(&self, until_ns: u64, now: u64) -> io::Result<()> {
        if self.wait == Wait::Spin || until_ns <= now {
            std::hint::spin_loop();
            return Ok(());
        }
        let time = Duration::from_nanos((until_ns - now).min(NAP_NS));
        // Stamps of departures come with POLLERR, which is always waited for.
        let mut fds = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut fds, Some(TimeSpec::from_duration(time)), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Take what has come: echoes, then stamps of departures.
    fn fetch(&mut self) -> io::Result<()> {
        let mut came = false;
        loop {
            let fetched = match self.fetcher.arrival(self.socket, false) {
                Ok(fetched) => fetched,
                Err(error) if is_not_yet(&error) => break,
                Err(error) => return Err(error),
            };
            came = true;
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
            let number = header.and_then(|h| number_of(h.sequence, &self.run));
            let handed_over = number.and_then(|number| self.ledger.handed_over_ns(number));
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
                self.ledger.came(number, times);
            }
        }
        // A probe that spins looks for departures only beside an echo, one that sleeps was perhaps woken by one.
        if came || self.wait == Wait::Sleep {
            self.fetch_departures()?;
        }
        Ok(())
    }

    fn fetch_departures(&mut self) -> io::Result<()> {
        while let Some(departure) = self.fetcher.departure(self.socket)? {
            let sequence = departure.number;
            let Some(number) = number_of(sequence, &self.run).filter(|_| self.stamped) else {
                continue;
            };
            let handed_over = self.ledger.handed_over_ns(number);
            let kernel_ns = departure
                .stamp
                .kernel_ns
                .zip(handed_over)
                .and_then(|(ns, earliest)| self.clock.monotonic(ns, earliest, now_ns()));
            self.ledger
                .left(number, kernel_ns, departure.stamp.device_ns);
        }
        Ok(())
    }

    fn finish(mut self, failure: Option<io::Error>) -> EchoReport {
        // An error of the network comes before echoes that are there already, the stamp of a device after its echo.
        let _ = self.fetch();
        let _ = self.fetch_departures();
        let [(round_trip, arrivals), (from_sending, stamps)] = self.ledger.finish();
        let mut seen = self.judge.finish_apart();
        seen.notes.extend(self.clock.note());
        let sent = self.run.finish(now_ns());
        EchoReport {
            seen: seen.with_sent(sent.sequences),
            sent,
            round_trip,
            arrivals,
            from_sending,
            stamps,
            lateness: self.lateness.finish(Some(1000)),
            floor: wirelab_trial::Field::absent("not measured"),
            wait: self.wait,
            failure,
        }
    }
}
