//! Writing test frames into memory, and the times and gaps of a sender.

use std::os::fd::AsFd;

use wirelab_trial::host_clock::now_ns;
use wirelab_trial::job::SendReport;
use wirelab_trial::{Extent, HoldWatch, LogLinear, Pacer};
use wirelab_wire::{Flags, Header, header, lfsr};

use crate::flow::Offer;
use crate::udp;

/// Writes the frames of one flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames {
    header: Header,
}

impl Frames {
    /// Frames of `bytes`, a size that was checked.
    pub(crate) fn new(offer: &Offer, bytes: usize) -> Frames {
        let time = match (offer.with_time, offer.node_clock) {
            (false, _) => Flags::NONE,
            (true, false) => Flags::TIME_VALID,
            (true, true) => Flags::TIME_VALID.with(Flags::NODE_CLOCK),
        };
        Frames {
            header: Header {
                flags: time,
                stream: offer.stream,
                sequence: 0,
                time_ns: 0,
                lfsr_len: (bytes - header::LEN) as u16,
            },
        }
    }

    /// The LFSR part of a sequence, which may be written ahead of the header.
    #[inline]
    pub(crate) fn write_content(&self, out: &mut [u8], sequence: u32) {
        let content = lfsr::payload(sequence, usize::from(self.header.lfsr_len));
        out[header::LEN..].copy_from_slice(content);
    }

    /// The header of a sequence.
    #[inline]
    pub(crate) fn write_header(&self, out: &mut [u8], sequence: u32, time_ns: u64) {
        let timed = self.header.flags.contains(Flags::TIME_VALID);
        let header = Header {
            sequence,
            time_ns: if timed { time_ns } else { 0 },
            ..self.header
        };
        if let Some(head) = out.first_chunk_mut() {
            header.emit(head);
        }
    }
}

/// A sender's progress and punctuality.
#[derive(Debug)]
pub struct Progressing {
    pacer: Option<Pacer>,
    frames: u64,
    start_ns: u64,
    end_ns: u64,
    last_ns: u64,
    gaps: LogLinear,
    /// Detects pauses of a sender that reports all its waits.
    watch: Option<HoldWatch>,
    /// Sequences used so far.
    pub sequences: u64,
    /// The report so far; complete only at the end.
    pub report: SendReport,
}

impl Progressing {
    /// A run that starts at `start_ns`.
    pub fn new(offer: &Offer, start_ns: u64) -> Progressing {
        let (frames, end_ns) = match offer.extent {
            Extent::Frames { frames } => (frames, u64::MAX),
            Extent::Time { time_ps } => (u64::MAX, start_ns.saturating_add(time_ps / 1000)),
        };
        Progressing {
            pacer: offer.pace.schedule(start_ns),
            frames,
            start_ns,
            end_ns,
            last_ns: 0,
            gaps: LogLinear::new(),
            watch: None,
            sequences: 0,
            report: SendReport::default(),
        }
    }

    /// A run that starts now, watched for pauses of the calling thread, which reports each wait for space.
    pub fn watched(offer: &Offer) -> Progressing {
        // Before the schedule starts, because it opens a file.
        let watch = HoldWatch::start(HoldWatch::SENDER);
        Progressing {
            watch: Some(watch),
            ..Progressing::new(offer, now_ns())
        }
    }

    /// When the next frame is due, if there is one and frames have due times.
    pub fn due_ns(&self) -> Option<u64> {
        let due = self.pacer.as_ref().map(Pacer::due_ns)?;
        (self.left() > 0 && due < self.end_ns).then_some(due)
    }

    /// When the next frame is due: now if it has no due time; `None` if there is none.
    pub fn due_or_now(&self, now_ns: u64) -> Option<u64> {
        match &self.pacer {
            Some(_) => self.due_ns(),
            None => (self.left() > 0 && !self.is_over(now_ns)).then_some(now_ns),
        }
    }

    /// The due frame starts at `now_ns`.
    #[inline]
    pub fn start(&mut self, now_ns: u64) {
        if let Some(pacer) = &mut self.pacer {
            pacer.start(now_ns);
        }
    }

    /// The sender continues at `now_ns`: check for a pause at intervals.
    #[inline]
    pub fn tick(&mut self, now_ns: u64) {
        if let Some(watch) = &mut self.watch {
            watch.tick(now_ns);
        }
    }

    /// Wait until a full socket may have space again; returns the time then.
    pub fn wait_for_room(&mut self, socket: &impl AsFd) -> u64 {
        let began = now_ns();
        udp::wait_for_room(socket);
        let now = now_ns();
        if let Some(watch) = &mut self.watch {
            let blocked_ns = watch.blocked(began, now, udp::PATIENCE);
            if let Some(pacer) = &mut self.pacer {
                pacer.was_blocked(blocked_ns);
            }
        }
        now
    }

    /// Frames that the extent still allows, regardless of time.
    pub const fn left(&self) -> u64 {
        self.frames - self.sequences
    }

    /// Whether an extent by time is over.
    pub const fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.end_ns
    }

    /// A frame leaves at `now_ns`.
    #[inline]
    pub fn frame(&mut self, now_ns: u64) {
        if self.sequences == 0 {
            self.report.first_ns = now_ns;
        } else {
            self.gaps.record(now_ns.saturating_sub(self.last_ns));
        }
        self.last_ns = now_ns;
        self.sequences += 1;
    }

    /// The report of a run that has ended at `now_ns`.
    pub fn finish(mut self, now_ns: u64) -> SendReport {
        let holds = self.watch.as_mut().map(HoldWatch::finish);
        let holds = holds.unwrap_or_default();
        (self.report.slips, self.report.slipped_ns) = match &self.pacer {
            Some(pacer) => (pacer.slips, pacer.slipped_ns),
            None => (holds.count, holds.held_ns),
        };
        self.report.longest_burst_frames = self.pacer.as_ref().map(|pacer| pacer.longest_burst);
        self.report.blocked_ns = Some(holds.blocked_ns);
        // Without a pace many frames share the time at which they were built, and the last have left by now.
        let last_ns = match (&self.pacer, self.sequences) {
            (None, 1..) => now_ns,
            _ => self.last_ns,
        };
        SendReport {
            emitted_frames: self.sequences.saturating_sub(self.report.refused_frames),
            sequences: self.sequences,
            last_ns,
            gap: self.gaps.histogram(Some(1000)),
            kernel_copied: Some(true),
            call_ns: now_ns.saturating_sub(self.start_ns),
            ..self.report
        }
    }
}
