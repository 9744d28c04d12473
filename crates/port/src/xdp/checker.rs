//! The checker's user side: attaching it to a port, reading what it counted.

use std::os::fd::AsFd;

use wirelab_trial::{Clock, Counts, Series};
use wirelab_wire::header;

use super::abi::{self, ChkCfg, ChkState};
use super::error::XdpError;
use super::object;
use crate::ebpf::{self, Loaded, Mode, Shared};
use crate::iface::PortName;
use crate::job::{CheckJob, CheckReport};

/// How a checker runs, beside what it looks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckerOptions {
    /// Where it sits.
    pub mode: Mode,
    /// Hand frames on to the stack after the check, so that a capture sees them.
    pub pass: bool,
    /// Record the latency of timed frames.
    pub latency: bool,
}

/// A checker on a port. It goes with this value, and with the process.
pub struct Checker {
    _link: Option<ebpf::Link>,
    loaded: Loaded,
    state: Shared<ChkState>,
    job: CheckJob,
}

impl Checker {
    /// Attach a checker to `port`. A program of somebody else is never replaced.
    ///
    /// # Errors
    /// [`XdpError::Occupied`] names the program that is there; other variants what is missing.
    pub fn attach(
        port: &PortName,
        job: CheckJob,
        options: CheckerOptions,
    ) -> Result<Checker, XdpError> {
        let checker = Checker::load(job, options)?;
        let link = ebpf::attach(port, checker.loaded.program(), options.mode)?;
        Ok(Checker {
            _link: Some(link),
            ..checker
        })
    }

    /// Load a checker without a port; [`Checker::judge`] shows it single frames.
    ///
    /// # Errors
    /// [`XdpError`] names the privilege or the kernel feature that is missing.
    pub fn load(job: CheckJob, options: CheckerOptions) -> Result<Checker, XdpError> {
        if !job.time_every.is_power_of_two() {
            let text = format!(
                "one frame in {} is timed: must be a power of two",
                job.time_every
            );
            return Err(XdpError::BadJob(text));
        }
        let loaded = object::load(super::CHECKER, "check", |_| Ok(()))?;
        object::fill_starts(&loaded.map("starts"))?;
        let cfg: Shared<ChkCfg> = loaded.shared(".data.cfg", 1)?;
        let state = loaded.shared(".data.state", 1)?;
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
                pad: 0,
            },
        );
        Ok(Checker {
            _link: None,
            loaded,
            state,
            job,
        })
    }

    /// Show the program one frame outside of any port, as a test does.
    ///
    /// # Errors
    /// [`XdpError`] where the kernel refuses the run.
    pub fn judge(&self, frame: &[u8]) -> Result<(), XdpError> {
        ebpf::run_once(self.loaded.program().as_fd(), frame)
            .map(|_| ())
            .map_err(|e| XdpError::kernel("running the checker over a frame", e))
    }

    /// Forget what was seen, for another run of the same job; call it while nothing arrives.
    pub fn reset(&self) {
        self.state.write(0, &ebpf::zeroed::<ChkState>());
    }

    /// Frames of the flow seen so far; cheap enough to ask again and again.
    pub fn received(&self) -> u64 {
        let per_cpu = size_of::<abi::ChkCounts>();
        let kinds = [0, 1, 2, 3, 4];
        (0..abi::CHK_CPUS)
            .flat_map(|cpu| kinds.map(|k| self.state.word(cpu * per_cpu + k * 8)))
            .sum()
    }

    /// What was seen so far. Sequences are complete, losses wait for [`CheckReport::with_sent`].
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
            foreign_frames: sum(|c| c.foreign),
            verified_payload_bytes: sum(|c| c.verified_bytes),
            order_breaks: t.order_breaks,
        };
        let timed = s.first_ns > 0;
        CheckReport {
            counts,
            first: timed.then_some((s.first_ns, s.first_frame)),
            last: timed.then_some((s.last_ns, s.last_frame)),
            jitter_ns: (s.jitter_frames > 1).then_some(s.jitter >> 4),
            series: latency_series(&s).into_iter().collect(),
            missed_frames: 0,
            notes: self.notes(&s),
        }
    }

    fn notes(&self, s: &ChkState) -> Vec<String> {
        let mut notes = Vec::new();
        if s.queue_moved > 0 {
            notes.push(format!(
                "{} frames of the flow came on another receive queue than its first: counts of duplicates and \
                 reordering may be off; give the port one queue (ethtool -L IFACE combined 1)",
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

fn latency_series(s: &ChkState) -> Option<Series> {
    (s.latency.count > 0).then(|| {
        let kept = (s.latency.count as usize).min(abi::SAMPLES);
        Series {
            name: "latency".to_owned(),
            kind: wirelab_trial::Kind::Measured,
            clock: Clock::TESTER_NS,
            raw_ticks: s.samples[..kept].iter().map(|ns| u64::from(*ns)).collect(),
            // The first samples of a longer series are no fair sample of it; the histogram holds them all.
            sampled: s.latency.count as usize > abi::SAMPLES,
            histogram: s.latency.histogram(),
        }
    })
}
