//! The open-loop schedule of a probe: frames leave when they are due, independent of their echoes, and then the probe
//! waits for the last echoes. A [`Transport`] carries the frames.

use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use wirelab_trial::host_clock::now_ns;
use wirelab_trial::job::Pace;
use wirelab_trial::{Cancel, Extent, Field, FixedSeries, HistogramBuilder, Series};

use super::ledger::Ledger;
use super::{EchoReport, Wait};
use crate::flow::Offer;
use crate::frames::Progressing;
use crate::udp::PATIENCE;

/// How long before a due time the sleep ends, to allow for a late wake-up, in ns.
const SPIN_NS: u64 = 60_000;
/// How long to wait for the last frame's echo, in ns (RFC 2544, 23: two seconds).
const LAST_REPLY_NS: u64 = 2_000_000_000;
/// The longest sleep before a check of the cancel flag, in ns.
const NAP_NS: u64 = PATIENCE.as_nanos() as u64;

/// Number of echoes of the tester to itself.
const FLOOR_FRAMES: u64 = 256;
/// The longest interval between them, in ps.
const FLOOR_INTERVAL_PS: u64 = 1_000_000_000;

/// Carries the frames of a probe to a node and back.
pub(super) trait Transport {
    /// Write the parts of a frame that are known before it is due.
    fn prepare(&mut self, number: u64);

    /// Hand the frame over at `now_ns`; returns whether the system had space for it.
    fn send(&mut self, number: u64, now_ns: u64) -> io::Result<bool>;

    /// Take what has arrived, and send what waits for space.
    fn turn(&mut self, schedule: &mut Schedule) -> io::Result<()>;

    /// The descriptor and events that end a sleep.
    fn awaited(&self) -> (BorrowedFd<'_>, PollFlags);
}

/// When frames are due, and what happened to each.
pub(super) struct Schedule {
    pub(super) run: Progressing,
    pub(super) ledger: Ledger,
    lateness: HistogramBuilder,
    wait: Wait,
}

/// The offer of a probe, with strict gaps: frames of a burst would wait for each other, which is not a latency of the node.
///
/// # Errors
/// A load without a pace.
pub(super) fn paced(offer: &Offer) -> io::Result<Offer> {
    if offer.pace == Pace::Max {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            "echo latency needs a load with a rate, because at max it is that of a full queue; fix: give e.g. 1kpps",
        ));
    }
    Ok(Offer {
        with_time: true,
        pace: offer.pace.strict(true),
        ..*offer
    })
}

impl Schedule {
    /// A schedule that starts now.
    pub(super) fn start(offer: &Offer, wait: Wait) -> Schedule {
        Schedule {
            ledger: Ledger::new(offer),
            lateness: HistogramBuilder::new(),
            wait,
            run: Progressing::new(offer, now_ns()),
        }
    }

    /// Send every frame when it is due, and wait for the last echoes.
    pub(super) fn go(&mut self, transport: &mut impl Transport, cancel: &Cancel) -> io::Result<()> {
        while let Some(due) = self.run.due_ns() {
            transport.prepare(self.run.sequences);
            loop {
                let now = now_ns();
                if now >= due {
                    self.send(transport, due, now)?;
                    break;
                }
                if cancel.is_cancelled() {
                    return Ok(());
                }
                self.sleep(transport, due.saturating_sub(SPIN_NS), now)?;
                transport.turn(self)?;
            }
        }
        let end = now_ns() + LAST_REPLY_NS;
        while self.ledger.answered() < self.run.sequences && !cancel.is_cancelled() {
            let now = now_ns();
            if now >= end {
                break;
            }
            self.sleep(transport, end, now)?;
            transport.turn(self)?;
        }
        Ok(())
    }

    fn send(&mut self, transport: &mut impl Transport, due: u64, now: u64) -> io::Result<()> {
        let number = self.run.sequences;
        self.run.start(now);
        self.run.frame(now);
        self.lateness.record(now - due);
        match transport.send(number, now)? {
            true => self.ledger.sent(number, due, now),
            false => self.run.report.refused_frames += 1,
        }
        Ok(())
    }

    /// Sleep until something arrives or a time is reached, if this probe sleeps.
    fn sleep(&self, transport: &impl Transport, until_ns: u64, now: u64) -> io::Result<()> {
        if self.wait == Wait::Spin || until_ns <= now {
            std::hint::spin_loop();
            return Ok(());
        }
        let time = Duration::from_nanos((until_ns - now).min(NAP_NS));
        let (fd, wanted) = transport.awaited();
        match ppoll(
            &mut [PollFd::new(fd, wanted)],
            Some(TimeSpec::from_duration(time)),
            None,
        ) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The report of a finished probe; its transport adds the counts of the echoes.
    pub(super) fn finish(self, failure: Option<io::Error>) -> EchoReport {
        let [(round_trip, arrivals), (from_sending, stamps)] = self.ledger.finish();
        EchoReport {
            received: Default::default(),
            sent: self.run.finish(now_ns()),
            round_trip,
            arrivals,
            from_sending,
            stamps,
            lateness: self.lateness.finish(Some(1000)),
            floor: Field::absent("not measured"),
            wait: self.wait,
            failure,
        }
    }
}

/// The tester's own floor: `probe` measures round trips to a mirror over loopback, which `mirror` runs until it is
/// cancelled.
pub(super) fn floor(
    offer: &Offer,
    mirror: impl FnOnce(&Cancel) + Send,
    probe: impl FnOnce(&Offer) -> io::Result<EchoReport>,
) -> io::Result<Series> {
    let requested_ps = offer.pace.interval_ps().unwrap_or(FLOOR_INTERVAL_PS);
    let offer = Offer {
        pace: Pace::Strict {
            ps: requested_ps.min(FLOOR_INTERVAL_PS),
        },
        extent: Extent::Frames {
            frames: FLOOR_FRAMES,
        },
        ..*offer
    };
    let over = &Cancel::new();
    let report = std::thread::scope(|scope| {
        scope.spawn(move || mirror(over));
        let report = probe(&offer);
        over.cancel();
        report
    })?;
    Ok(Series {
        name: FixedSeries::FLOOR.into(),
        ..report.round_trip
    })
}

/// The floor as a figure, or the reason for its absence.
pub(super) fn floor_field(measured: io::Result<Series>) -> Field<Series> {
    match measured {
        Ok(series) if series.histogram.count > 0 => Field::measured(series),
        Ok(_) => Field::absent("no echo came back over loopback"),
        Err(error) => Field::absent(format!(
            "loopback could not be used ({error}); fix: bring lo up in this network namespace"
        )),
    }
}
