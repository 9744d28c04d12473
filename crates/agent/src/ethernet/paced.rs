//! A paced sender with capture points: when the application hands a frame over, and when the kernel gives it to the
//! driver.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use wirelab_socket::flow::{Capture, FlowProgress, Offer, Sent};
use wirelab_socket::serve::{ApplicationTime, spin_until};
use wirelab_trial::host_clock::{WallOffset, now_ns, wait_until};
use wirelab_trial::job::{Pace, SendReport};
use wirelab_trial::{Cancel, Extent, LogLinear, Pacer, Wait};
use wirelab_wire::{Flags, FrameSpec, Header, Sizes};

use super::link::{TestSocket, is_not_yet};
use super::report_sent;
use crate::engine::{Work, WorkReport};
use crate::udp::{AFTER_REPLY, wait};

/// How long to wait for stamps after the last frame.
const LATE_STAMPS: Duration = Duration::from_millis(20);

/// How a paced sender works.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// Number of frames whose points are requested.
    pub wanted: u32,
    /// Whether the kernel timestamps them; otherwise a tracer does.
    pub stamps: bool,
    /// How to wait until a frame is due.
    pub wait: Wait,
}

/// The work of a sender with capture points.
pub fn work(
    link: TestSocket,
    frame: FrameSpec,
    offer: Offer,
    sizes: Sizes,
    manner: Manner,
) -> Work {
    Box::new(move |live, cancel| {
        wait(AFTER_REPLY, cancel);
        // If the driver cannot timestamp, frames are sent without stamps, and no record is taken.
        let stamps = manner.stamps && link.stamp_departures().is_ok();
        let sending = Sending {
            link,
            frame,
            sizes,
            manner,
            stamps,
            handed: Vec::with_capacity(manner.wanted as usize),
            captures: Vec::with_capacity(if stamps { manner.wanted as usize } else { 0 }),
        };
        let (report, sending, failure) = sending.run(&offer, live, cancel);
        report_sent(live, &report, u64::from(sizes.payload));
        let passed = |(at, ns): (usize, &u64)| ApplicationTime {
            sequence: at as u32,
            wire_ns: None,
            application_ns: *ns,
        };
        Ok(WorkReport {
            passed_out: match stamps {
                true => Vec::new(),
                false => sending.handed.iter().enumerate().map(passed).collect(),
            },
            ..WorkReport::sent(Sent {
                report,
                captures: sending.captures,
                failure,
                segmented: false,
            })
        })
    })
}

struct Sending {
    link: TestSocket,
    frame: FrameSpec,
    sizes: Sizes,
    manner: Manner,
    stamps: bool,
    /// When the first frames were handed over; the index is the sequence number.
    handed: Vec<u64>,
    captures: Vec<Capture>,
}

impl Sending {
    fn run(
        mut self,
        offer: &Offer,
        live: &FlowProgress,
        cancel: &Cancel,
    ) -> (SendReport, Sending, Option<io::Error>) {
        let start = now_ns();
        let (frames, end_ns) = match offer.extent {
            Extent::Frames { frames } => (frames, u64::MAX),
            Extent::Time { time_ps } => (u64::MAX, start.saturating_add(time_ps / 1000)),
        };
        let pacer = offer.pace.schedule(start);
        let mut pacer = pacer.unwrap_or_else(|| Pacer::strict(start, 1));
        let (mut gaps, mut report) = (LogLinear::new(), SendReport::default());
        let mut bytes = vec![0; self.sizes.length as usize];
        let mut failure = None;
        while report.sequences < frames && pacer.due_ns() < end_ns && !cancel.is_cancelled() {
            let due = pacer.due_ns();
            let now = match self.manner.wait {
                Wait::Sleep => wait_until(due, cancel),
                Wait::Spin => spin_until(due, cancel),
            };
            if now < due {
                break;
            }
            pacer.start(now);
            self.build(offer, report.sequences as u32, now, &mut bytes);
            if self.handed.len() < self.handed.capacity() {
                self.handed.push(now_ns());
            }
            match self.link.send(&bytes) {
                Ok(()) => report.emitted_frames += 1,
                Err(error) if is_full(&error) => report.refused_frames += 1,
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
            if report.sequences == 0 {
                report.first_ns = now;
                live.first_ns.store(now, Ordering::Relaxed);
            } else {
                gaps.record(now.saturating_sub(report.last_ns));
            }
            report.last_ns = now;
            report.sequences += 1;
            live.frames.store(report.emitted_frames, Ordering::Relaxed);
            live.last_ns.store(now, Ordering::Relaxed);
            self.take_stamps();
        }
        if self.stamps {
            std::thread::sleep(LATE_STAMPS);
        }
        self.take_stamps();
        // At maximum load there is no schedule to keep.
        if offer.pace != Pace::Max {
            (report.slips, report.slipped_ns) = (pacer.slips, pacer.slipped_ns);
            report.longest_burst_frames = Some(pacer.longest_burst);
        }
        report.gap = gaps.histogram(Some(1000));
        report.call_ns = now_ns().saturating_sub(start);
        report.kernel_copied = Some(true);
        (report, self, failure)
    }

    fn build(&self, offer: &Offer, sequence: u32, now: u64, bytes: &mut [u8]) {
        let header = Header {
            flags: Flags::TIME_VALID.with(Flags::NODE_CLOCK),
            stream: offer.stream,
            sequence,
            time_ns: now,
            lfsr_len: 0,
        };
        self.frame.build(&self.sizes, &header, bytes);
    }

    /// Take the stamps that have arrived. Refused frames have a number and no stamp.
    fn take_stamps(&mut self) {
        while self.stamps && self.captures.len() < self.handed.len() {
            let Ok(taken) = self.link.departure() else {
                return;
            };
            let (Some(unix), Some(number)) = (taken.unix_ns, taken.number) else {
                continue;
            };
            let Some(handed) = self.handed.get(number as usize) else {
                continue;
            };
            let ns = WallOffset::read().to_monotonic(unix);
            // A stamp outside this interval means that the clock was set.
            if (*handed..=now_ns()).contains(&ns) {
                self.captures.push(Capture {
                    sequence: number,
                    driver_ns: ns,
                    application_ns: *handed,
                });
            }
        }
    }
}

/// Whether the driver's queue was full.
fn is_full(error: &io::Error) -> bool {
    is_not_yet(error) || error.raw_os_error() == Some(libc::ENOBUFS)
}
