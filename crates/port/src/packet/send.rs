//! The sender of the portable path: every frame with its own sequence, time and content, on its schedule.

use std::io;
use std::time::Duration;

use wirelab_trial::HoldWatch;
use wirelab_trial::{Buffers, Cancel, Extent, LogLinear, Pacer, TrialOption, Unsupported};
use wirelab_wire::Flags;

use super::build::FrameBuilder;
use super::error::PacketError;
use super::outlet::{Batches, Filling, Outlet, Ring, Stop, Waits};
use super::sys::socket::PacketSocket;
use super::thread;
use crate::clock::{now_ns, wait_until};
use crate::iface::{Interface, PortName};
use crate::inject::{Mutation, ScheduleCursor};
use crate::job::{Pace, SendJob, SendReport};

/// Slots K of repeating frames that [`Buffers::Prefilled`] prepares.
pub const PREFILLED_SLOTS: u32 = 64;

/// The longest frame in bytes that the kernel copies from the ring into one piece of memory: with the kernel's own
/// data around it, it fits two pages.
const LONGEST_WHOLE: u32 = 4000;

/// Frames of a batch at full speed share a transmit time, as many as in the fast path: reading the clock for each
/// costs 5 % of the rate.
const SHARED_TIME: usize = 16;

/// Drivers that copy shared ring memory before they pass it on (`skb_orphan_frags` in veth's `dev_forward_skb` and in
/// `tun_net_xmit`). Others read it from the ring's pages, or do not document it.
const COPYING_DRIVERS: [&str; 2] = ["veth", "tun"];

/// At full speed, a pause by the sender's host of up to this much in each 5 ms is not counted.
const LEAST_HOLD: Duration = Duration::from_micros(100);

/// Options of a sender, besides the job.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendOptions {
    /// The CPU to run on; `None` leaves the choice to the kernel.
    pub cpu: Option<usize>,
}

/// The transmit ring of a run, for further runs of the same job: to make and remove one takes the kernel tens of
/// milliseconds.
#[derive(Default)]
pub struct KeptRing(Option<Ring>);

/// Sends the job on `port`, until its extent is reached or `cancel` is set.
///
/// It can be called from any thread: the socket is opened in the port's namespace, and the sender runs on a separate
/// thread. Without [`SendJob::buffers`], frames at full speed go through a ring that the kernel copies from, the
/// fastest method on the measured drivers (`docs/portable-path.md`). Long and paced frames go in batches of one
/// system call. The types of buffers use the ring.
///
/// # Errors
/// [`PacketError::Iface`] for an interface that does not exist, is down, has no carrier or too small an MTU,
/// [`PacketError::Privilege`], [`PacketError::Unsupported`] for unsupported buffers or faults,
/// [`PacketError::Broken`] with the report so far if the interface fails during the run.
pub fn send(
    port: &PortName,
    job: &SendJob,
    options: &SendOptions,
    cancel: &Cancel,
) -> Result<SendReport, PacketError> {
    send_again(port, job, options, cancel, &mut KeptRing::default())
}

/// As [`send`], through the ring of an earlier run of the same job on the same port, if there is one. The ring is kept
/// for the next run.
///
/// # Errors
/// The errors of [`send`].
pub fn send_again(
    port: &PortName,
    job: &SendJob,
    options: &SendOptions,
    cancel: &Cancel,
    kept: &mut KeptRing,
) -> Result<SendReport, PacketError> {
    let filling = filling(job)?;
    let interface = Interface::query(port)?;
    interface.require_carrier()?;
    // The kernel allows the tag beyond the MTU only with the TPID of 802.1Q, which the outer of two tags does not
    // have.
    interface.require_length(job.sizes.length, job.frame.framing().vlan_tags == 1)?;
    let ready = matches!(filling, Some(Filling::Prefilled { .. }));
    let flags = match (ready, job.with_time) {
        (true, _) => Flags::REPEATING,
        (false, true) => Flags::TIME_VALID,
        (false, false) => Flags::NONE,
    };
    let builder = FrameBuilder::new(&job.frame, &job.sizes, job.stream, flags);
    let copying = interface
        .driver
        .as_deref()
        .is_some_and(|d| COPYING_DRIVERS.contains(&d));
    let run = || {
        thread::prepare(port, options.cpu, job.pace.interval_ps())?;
        // The run starts when the outlet is ready.
        let sending = || Sending::new(job, &builder, ready, cancel);
        let (report, stop) = match filling {
            None => {
                let retry = job.pace == Pace::Max;
                let socket = open(port, &interface, &builder)?;
                let mut batches = Batches::new(socket, &builder, retry);
                sending().run(&mut batches, Some(true))
            }
            Some(filling) => {
                let copying = copying || filling == Filling::Whole;
                let mut ring = match kept.0.take() {
                    Some(mut ring) => {
                        ring.lay_out(&builder);
                        ring
                    }
                    None => {
                        let socket = open(port, &interface, &builder)?;
                        Ring::new(socket, filling, &builder)
                            .map_err(|e| PacketError::setup(port, "a transmit ring", e))?
                    }
                };
                let run = sending().run(&mut ring, copying.then_some(true));
                kept.0 = (run.1.is_none() && ring.is_free()).then_some(ring);
                run
            }
        };
        match stop {
            Some(source) => Err(PacketError::Broken {
                port: port.clone(),
                source,
                partial: Box::new(report),
            }),
            None => Ok(report),
        }
    };
    thread::run(port, "sender", run)
}

/// How the job's frames get into the ring, requested or fastest; `None` for batches.
fn filling(job: &SendJob) -> Result<Option<Filling>, Unsupported> {
    let unsupported = |field: TrialOption, why| Err(Unsupported::of(field, why));
    match job.buffers {
        // Each paced frame is a system call, and a long one would need many contiguous pages.
        None if job.pace == Pace::Max && job.sizes.length <= LONGEST_WHOLE => {
            Ok(Some(Filling::Whole))
        }
        None => Ok(None),
        Some(Buffers::InPlace) => Ok(Some(Filling::InPlace)),
        Some(Buffers::Copied) => Ok(Some(Filling::Copied)),
        Some(Buffers::CopiedAhead) => Ok(Some(Filling::CopiedAhead)),
        Some(Buffers::DmaCopied) => unsupported(
            TrialOption::Buffers,
            "a packet socket cannot copy by DMA; fix: choose prefilled, copied, copied-ahead or in-place",
        ),
        Some(Buffers::Prefilled) if !job.faults.steps.is_empty() => unsupported(
            TrialOption::Faults,
            "prefilled frames are sent unchanged; fix: choose in-place or copied buffers to inject faults",
        ),
        Some(Buffers::Prefilled) => Ok(Some(Filling::Prefilled {
            slots: PREFILLED_SLOTS as usize,
        })),
    }
}

fn open(
    port: &PortName,
    interface: &Interface,
    builder: &FrameBuilder,
) -> Result<PacketSocket, PacketError> {
    let failed = |what| move |e| PacketError::setup(port, what, e);
    let socket = super::socket_of(port)?;
    socket.hear_nothing().map_err(failed("a filter"))?;
    // With this EtherType in the binding, the kernel need not parse it in each frame.
    socket
        .bind(interface.index, builder.ethertype())
        .map_err(failed("the interface"))?;
    Ok(socket)
}

/// A run of a sender.
struct Sending<'a> {
    job: &'a SendJob,
    builder: &'a FrameBuilder,
    cancel: &'a Cancel,
    cursor: ScheduleCursor<'a>,
    pacer: Option<Pacer>,
    /// Whether frames are already built, so nothing is written.
    ready: bool,
    /// Whether departure times are precise enough for a histogram of gaps.
    timed: bool,
    start_ns: u64,
    end_ns: u64,
    emissions: u64,
    emitted: u64,
    time_ns: u64,
    gaps: LogLinear,
    /// Detects pauses at full speed. A paced sender detects them by its schedule.
    watch: HoldWatch,
    /// Time in which the path took no more, in ns.
    blocked_ns: u64,
    report: SendReport,
}

impl<'a> Sending<'a> {
    fn new(
        job: &'a SendJob,
        builder: &'a FrameBuilder,
        ready: bool,
        cancel: &'a Cancel,
    ) -> Sending<'a> {
        // Before the schedule starts, because it opens a file.
        let watch = HoldWatch::start(LEAST_HOLD);
        let start_ns = now_ns();
        let (emissions, end_ns) = match job.extent {
            Extent::Frames { frames } => (job.faults.emissions(frames), u64::MAX),
            Extent::Time { time_ps } => (u64::MAX, start_ns.saturating_add(time_ps / 1000)),
        };
        let pacer = job.pace.schedule(start_ns);
        Sending {
            timed: job.with_time || pacer.is_some(),
            cursor: job.faults.cursor(),
            job,
            builder,
            cancel,
            pacer,
            ready,
            start_ns,
            end_ns,
            emissions,
            emitted: 0,
            time_ns: start_ns,
            gaps: LogLinear::new(),
            watch,
            blocked_ns: 0,
            report: SendReport::default(),
        }
    }

    /// Sends everything; returns the report, and the error that ended it early.
    fn run(
        mut self,
        outlet: &mut impl Outlet,
        kernel_copied: Option<bool>,
    ) -> (SendReport, Option<io::Error>) {
        let mut failure = None;
        while !self.is_done() {
            let filled = self.fill(outlet);
            let flushed = outlet
                .flush(self.cancel)
                .map(|refused| self.report.refused_frames += refused);
            self.watch(outlet.take_waits());
            match filled.and(flushed) {
                Ok(()) => {}
                Err(Stop::Cancelled) => break,
                Err(Stop::Kernel(error)) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        self.finish_watch();
        self.report.refused_frames += outlet.finish();
        self.report.call_ns = now_ns() - self.start_ns;
        self.report.emitted_frames = self.emitted - self.report.refused_frames.min(self.emitted);
        self.report.sequences = self.job.faults.sequences_used(self.emitted);
        self.report.gap = self.gaps.histogram(Some(1000));
        self.report.kernel_copied = kernel_copied;
        (self.report, failure)
    }

    /// Records the waits of one round, and checks for a pause.
    fn watch(&mut self, waits: Waits) {
        if let Some(pacer) = &mut self.pacer {
            let waited_ns = waits.blocked_ns();
            self.blocked_ns += waited_ns;
            if waited_ns > 0 {
                pacer.was_blocked(waited_ns);
            }
        } else {
            self.blocked_ns += waits.spun_ns;
            self.watch.blocked_for(waits.slept_ns);
            self.watch.behind(!waits.ran_dry);
            self.watch.tick(self.time_ns);
        }
    }

    fn finish_watch(&mut self) {
        let report = &mut self.report;
        if let Some(pacer) = &self.pacer {
            (report.slips, report.slipped_ns) = (pacer.slips, pacer.slipped_ns);
            report.longest_burst_frames = Some(pacer.longest_burst);
        } else {
            let holds = self.watch.finish();
            (report.slips, report.slipped_ns) = (holds.count, holds.held_ns);
            self.blocked_ns += holds.blocked_ns;
        }
        report.blocked_ns = Some(self.blocked_ns);
    }

    fn is_done(&self) -> bool {
        let next_ns = self.pacer.as_ref().map_or(self.time_ns, Pacer::due_ns);
        self.emitted == self.emissions || next_ns >= self.end_ns || self.cancel.is_cancelled()
    }

    /// Commits the next frames: a batch at full speed, and of a paced flow those that are due.
    fn fill(&mut self, outlet: &mut impl Outlet) -> Result<(), Stop> {
        for filled in 0..outlet.batch() {
            let due = self.pacer.as_ref().map(Pacer::due_ns);
            if self.emitted == self.emissions
                || due.is_some_and(|due| due >= self.end_ns || (filled > 0 && due > self.time_ns))
            {
                break;
            }
            let Some(frame) = outlet.frame(self.cancel)? else {
                break;
            };
            let (sequence, mutation) = self.cursor.next();
            if !self.ready {
                self.builder.write_content(frame, sequence);
            }
            let last_ns = self.time_ns;
            if let (Some(due), Some(pacer)) = (due, &mut self.pacer) {
                self.time_ns = wait_until(due, self.cancel);
                if self.time_ns < due {
                    return Err(Stop::Cancelled);
                }
                pacer.start(self.time_ns);
            } else if filled % SHARED_TIME == 0 {
                self.time_ns = now_ns();
            }
            let length = if self.ready {
                self.builder.length()
            } else {
                self.finish_frame(frame, sequence, mutation)
            };
            outlet.commit(length, self.cancel)?;
            self.note(last_ns);
        }
        Ok(())
    }

    /// Writes the fields that are known last, and the faults; returns the frame's length.
    #[inline]
    fn finish_frame(&self, frame: &mut [u8], sequence: u32, mutation: Mutation) -> usize {
        let time_ns = if self.job.with_time { self.time_ns } else { 0 };
        self.builder.write_header(frame, sequence, time_ns);
        let length = self.builder.length();
        match mutation {
            Mutation::None => length,
            mutation => mutation.apply(&mut frame[..length], self.builder.header_offset()),
        }
    }

    #[inline]
    fn note(&mut self, last_ns: u64) {
        if self.emitted == 0 {
            self.report.first_ns = self.time_ns;
        } else if self.timed {
            self.gaps.record(self.time_ns - last_ns);
        }
        self.report.last_ns = self.time_ns;
        self.emitted += 1;
    }
}
