//! The checker's user side: attaching it to a port, and reading its counts.

use std::mem::offset_of;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use wirelab_trial::slices::{Marks, Totals};
use wirelab_trial::{Clock, Counts, FixedSeries, PercentileIntervals, Percentiles, Series};
use wirelab_wire::header;

use super::abi::{self, ChkCfg, ChkState, Track};
use super::error::XdpError;
use super::object::{self, Borrowed, Pool};
use crate::clock::now_ns;
use crate::drops::{self, Drops, JudgedDrops};
use crate::ebpf::{self, MapMemory, Mode};
use crate::iface::PortName;
use crate::job::{CheckJob, CheckReport};

static IDLE: Pool = Pool::new();

/// Options of a checker, besides the job.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckerOptions {
    /// Where it is attached.
    pub mode: Mode,
    /// Pass frames to the stack after the check, so that a capture sees them.
    pub pass: bool,
    /// Record the latency of timed frames.
    pub latency: bool,
    /// Most frames that may arrive, if known. Of a series of latencies longer than [`abi::SAMPLES`], samples from the
    /// whole run are then kept, otherwise those of its beginning.
    pub expected_frames: Option<u64>,
    /// Frames that the tester stamped before this time (CLOCK_MONOTONIC, in ns) belong to another run.
    pub sent_since_ns: Option<u64>,
}

/// A checker on a port. It is detached with this value, and with the process.
pub struct Checker {
    // Declared first, so that the program is detached before another run gets it.
    _link: Option<ebpf::XdpLink>,
    loaded: Borrowed,
    state: MapMemory<ChkState>,
    job: CheckJob,
    sample_shift: u32,
    watch: Option<CheckedPort>,
    /// The flow's totals at each call of [`Checker::look`].
    marks: Mutex<Marks>,
}

/// The port of a checker, and its state when the check began.
struct CheckedPort {
    port: PortName,
    /// What the host had dropped by then; the maximum if the host does not report it.
    dropped: AtomicU64,
    began_ns: AtomicU64,
    /// Whether no frame of the flow goes further.
    is_end: bool,
    /// Whether the host counts frames as dropped that the program has judged and ended here.
    judged: Mutex<JudgedDrops>,
}

impl CheckedPort {
    fn begin(port: &PortName, is_end: bool) -> CheckedPort {
        let watch = CheckedPort {
            judged: Mutex::default(),
            port: port.clone(),
            dropped: AtomicU64::new(0),
            began_ns: AtomicU64::new(0),
            is_end,
        };
        watch.begin_anew();
        watch
    }

    fn begin_anew(&self) {
        self.judged().begin_anew();
        let dropped = drops::of_interface(&self.port, self.is_end).unwrap_or(u64::MAX);
        self.dropped.store(dropped, Ordering::Relaxed);
        self.began_ns.store(now_ns(), Ordering::Relaxed);
    }

    fn ns(&self) -> u64 {
        now_ns().saturating_sub(self.began_ns.load(Ordering::Relaxed))
    }

    /// Frames that the host has dropped before the checker since the check began. The program has no thread that could
    /// be paused: it runs in the kernel's receive path, and an overloaded host drops from the device's ring or the
    /// processor's queue. These also hold foreign frames.
    fn drops(&self, counts: &Counts) -> Drops {
        let since = self.dropped();
        let judged = match self.is_end {
            true => counts.received_frames + counts.other_run_frames,
            false => 0,
        };
        let among = self.judged().among(judged, since);
        Drops {
            shared: since - among,
            ..Drops::default()
        }
    }

    /// What the interface has dropped since the check began.
    fn dropped(&self) -> u64 {
        let before = self.dropped.load(Ordering::Relaxed);
        let now = drops::of_interface(&self.port, self.is_end);
        now.map_or(0, |now| now.saturating_sub(before))
    }

    fn judged(&self) -> MutexGuard<'_, JudgedDrops> {
        self.judged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compare the drops with the judged frames, if that may add knowledge.
    fn look(&self, judged: impl Fn() -> u64) {
        let before = judged();
        if self.is_end && self.judged().is_due(before) {
            let dropped = self.dropped();
            self.judged().look((before, judged()), dropped);
        }
    }
}

impl Checker {
    /// Attach a checker to `port`. It never replaces another program.
    ///
    /// # Errors
    /// [`XdpError::Occupied`] names the program that is attached; other variants name what is missing.
    pub fn attach(
        port: &PortName,
        job: CheckJob,
        options: CheckerOptions,
    ) -> Result<Checker, XdpError> {
        let checker = Checker::load(job, options)?;
        let link = ebpf::attach(port, checker.loaded.program(), options.mode)?;
        Ok(Checker {
            _link: Some(link),
            watch: Some(CheckedPort::begin(port, !options.pass)),
            ..checker
        })
    }

    /// Load a checker without a port; [`Checker::judge`] gives it single frames.
    ///
    /// # Errors
    /// [`XdpError`] names the privilege or the kernel feature that is missing.
    pub fn load(job: CheckJob, options: CheckerOptions) -> Result<Checker, XdpError> {
        if !job.time_every.is_power_of_two() {
            let text = format!(
                "one frame in {} is timed; fix: give a power of two",
                job.time_every
            );
            return Err(XdpError::BadJob(text));
        }
        let sample_shift = sample_shift(&job, options.expected_frames);
        let loaded = IDLE.take(|| {
            let loaded = object::load(super::CHECKER, "check", |_| Ok(()))?;
            object::fill_starts(&loaded.map("starts"))?;
            Ok(loaded)
        })?;
        let cfg: MapMemory<ChkCfg> = loaded.shared(".data.cfg", 1)?;
        let state: MapMemory<ChkState> = loaded.shared(".data.state", 1)?;
        state.write(0, &ebpf::zeroed());
        cfg.write(
            0,
            &ChkCfg {
                source: job.flow.source.unwrap_or_default(),
                source_known: u8::from(job.flow.source.is_some()),
                stream: job.flow.stream.unwrap_or_default(),
                stream_known: u8::from(job.flow.stream.is_some()),
                pass: u8::from(options.pass),
                udp_port: if job.flow.udp_port == 0 {
                    header::UDP_PORT
                } else {
                    job.flow.udp_port
                },
                time_mask: job.time_every - 1,
                latency: u32::from(options.latency),
                slots: job.slots.unwrap_or(0),
                since_known: u32::from(options.sent_since_ns.is_some()),
                sample_shift,
                dscp_known: u32::from(job.flow.dscp.is_some()),
                dscp: job.flow.dscp.unwrap_or_default().into(),
                since_ns: options.sent_since_ns.unwrap_or(0),
            },
        );
        Ok(Checker {
            _link: None,
            loaded,
            state,
            job,
            sample_shift,
            watch: None,
            marks: Mutex::default(),
        })
    }

    /// Give the program one frame without a port, as a test does.
    ///
    /// # Errors
    /// [`XdpError`] if the kernel refuses the run.
    pub fn judge(&self, frame: &[u8]) -> Result<(), XdpError> {
        ebpf::run_once(self.loaded.program().as_fd(), frame)
            .map(|_| ())
            .map_err(|e| XdpError::kernel("running the checker over a frame", e))
    }

    /// Reset all counts, for another run of the same job. Call it while nothing arrives.
    pub fn reset(&self) {
        self.watch.iter().for_each(CheckedPort::begin_anew);
        *self.marks() = Marks::new();
        self.state.write(0, &ebpf::zeroed::<ChkState>());
    }

    /// Frames of the flow seen so far; cheap enough to poll.
    pub fn received(&self) -> u64 {
        let per_cpu = size_of::<abi::ChkCounts>();
        let kinds = [0, 1, 2, 3, 4];
        (0..abi::CHK_CPUS)
            .flat_map(|cpu| kinds.map(|k| self.state.word(cpu * per_cpu + k * 8)))
            .sum()
    }

    /// Record the flow's progress. The program records no intervals, so the caller calls this at times during the run.
    /// The calls also separate drops of the host from frames that the program ended. A frame that arrives meanwhile may
    /// be in one of the totals and not yet in another.
    pub fn look(&self) {
        let Some(first_ns) = self.first_ns() else {
            return;
        };
        if let Some(watch) = &self.watch {
            watch.look(|| self.received() + self.other_run());
        }
        let mut marks = self.marks();
        let now = now_ns();
        if marks.is_due(now) {
            let word = |at: usize| self.state.word(offset_of!(ChkState, track) + at);
            let distinct = word(offset_of!(Track, distinct));
            let passed = word(offset_of!(Track, next));
            let totals = self.totals(self.received(), distinct, passed);
            marks.looked(first_ns, Totals::default());
            marks.looked(now, totals);
        }
    }

    /// Prefilled frames have a slot and no sequence, so it is unknown which of them are missing.
    fn totals(&self, amount: u64, distinct: u64, passed: u64) -> Totals {
        let known = self.job.slots.is_none();
        Totals {
            amount,
            distinct: if known { distinct } else { 0 },
            passed: if known { passed } else { 0 },
        }
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frames of other runs seen so far.
    pub fn other_run(&self) -> u64 {
        self.state.word(offset_of!(ChkState, other_run))
    }

    /// Arrival of the first timed frame in ns, if one has arrived.
    pub fn first_ns(&self) -> Option<u64> {
        let ns = self.state.word(offset_of!(ChkState, first_ns));
        (ns > 0).then_some(ns)
    }

    /// The report so far. Sequences are complete; losses need [`CheckReport::with_sent`].
    pub fn report(&self) -> CheckReport {
        let s = self.state.read(0);
        let sum = |f: fn(&abi::ChkCounts) -> u64| s.counts.iter().map(f).sum::<u64>();
        let t = &s.track;
        let (good, header_corrupt) = (sum(|c| c.good), sum(|c| c.header_corrupt));
        let (truncated, stale, corrupted) =
            (sum(|c| c.truncated), sum(|c| c.stale), sum(|c| c.corrupted));
        let counts = Counts {
            received_frames: good + header_corrupt + truncated + stale + corrupted,
            good_frames: good,
            header_corrupt_frames: header_corrupt,
            truncated_frames: truncated,
            stale_frames: stale,
            corrupted_frames: corrupted,
            duplicated_frames: t.duplicated,
            reordered_frames: t.reordered,
            reordering_extent_frames: t.max_extent,
            too_late_frames: t.too_late,
            distinct_sequences: t.distinct,
            lost_frames: 0,
            missed_frames: 0,
            lost_or_missed_frames: 0,
            foreign_frames: sum(|c| c.foreign),
            other_run_frames: s.other_run,
            verified_payload_bytes: sum(|c| c.verified_bytes),
            order_breaks: t.order_breaks,
        };
        let timed = s.first_ns > 0;
        let totals = self.totals(counts.received_frames, t.distinct, t.next);
        let slices = self.marks().clone().finish(s.last_ns, totals);
        let watch = self.watch.as_ref();
        let drops = watch.map(|watch| watch.drops(&counts)).unwrap_or_default();
        CheckReport {
            counts,
            first: timed.then_some((s.first_ns, s.first_frame)),
            last: timed.then_some((s.last_ns, s.last_frame)),
            slices,
            jitter_ns: (s.jitter_frames > 1).then_some(s.jitter >> 4),
            series: latency_series(&s, self.sample_shift).into_iter().collect(),
            watched_ns: watch.map(CheckedPort::ns),
            missed: drops.missed(&counts, counts.foreign_frames),
            held_up_ns: None,
            held_long_ns: 0,
            notes: self.notes(&s),
        }
    }

    fn notes(&self, s: &ChkState) -> Vec<String> {
        let mut notes = Vec::new();
        if s.queue_moved > 0 {
            notes.push(format!(
                "{} frames of the flow arrived on another receive queue than its first: counts of duplicates and \
                 reordering may be wrong; fix: give the port one queue (ethtool -L IFACE combined 1)",
                s.queue_moved
            ));
        }
        if s.track.order_breaks > 0 {
            notes.push(format!(
                "slots did not follow one another {} times (at least {} frames missing modulo {})",
                s.track.order_breaks,
                s.track.slot_lost,
                self.job.slots.unwrap_or(0)
            ));
        }
        notes
    }
}

/// The shift from a latency's number to its slot, so that samples from the whole run have one.
fn sample_shift(job: &CheckJob, expected_frames: Option<u64>) -> u32 {
    let latencies = expected_frames.unwrap_or(0) / u64::from(job.time_every);
    // Duplicates come in addition to the expected frames.
    let most = match latencies > abi::SAMPLES as u64 {
        true => latencies.saturating_add(latencies / 8),
        false => latencies,
    };
    most.div_ceil(abi::SAMPLES as u64)
        .next_power_of_two()
        .trailing_zeros()
}

fn latency_series(s: &ChkState, shift: u32) -> Option<Series> {
    (s.latency.count > 0).then(|| {
        let there = ((s.latency.count - 1) >> shift) + 1;
        let kept = (there as usize).min(abi::SAMPLES);
        let raw_ticks: Vec<u64> = s.samples[..kept].iter().map(|ns| u64::from(*ns)).collect();
        let histogram = s.latency.histogram();
        // The first samples of a longer series do not represent it; the histogram holds all.
        let mut intervals = match there as usize > abi::SAMPLES {
            true => PercentileIntervals::default(),
            false => PercentileIntervals::of(&raw_ticks),
        };
        let sampled = s.latency.count > kept as u64;
        if sampled {
            intervals.hold(|percent| histogram.percentile(percent));
        }
        Series {
            name: FixedSeries::LATENCY.into(),
            kind: wirelab_trial::Kind::Measured,
            clock: Clock::TESTER_NS,
            percentiles: Percentiles::default(),
            intervals,
            raw_ticks: raw_ticks.into(),
            sampled,
            histogram,
        }
    })
}
