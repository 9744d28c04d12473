//! The checker's user side: attaching it to a port, reading what it counted.

use std::os::fd::{AsFd, OwnedFd};

use wirelab_trial::{Clock, Counts, Series};
use wirelab_wire::header;

use super::abi::{self, ChkCfg, ChkState};
use super::error::XdpError;
use super::generator::histogram;
use super::object::{self, Loaded};
use super::sys::{self, Shared};
use crate::iface::{Interface, PortName};
use crate::job::{CheckJob, CheckReport};

/// Where the checker sits in the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// In the driver, before the kernel makes anything of the frame.
    #[default]
    Native,
    /// Behind the driver, for those without native XDP; slower, and the frame was copied before.
    Generic,
}

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
    _link: Option<OwnedFd>,
    loaded: Loaded,
    state: Shared<ChkState>,
    job: CheckJob,
}

/// `XDP_FLAGS_SKB_MODE` and `XDP_FLAGS_DRV_MODE` of linux/if_link.h.
const FLAGS_GENERIC: u32 = 1 << 1;
const FLAGS_NATIVE: u32 = 1 << 2;

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
        let interface = Interface::query(port)?;
        interface.require_up()?;
        let flags = match options.mode {
            Mode::Native => FLAGS_NATIVE,
            Mode::Generic => FLAGS_GENERIC,
        };
        let program = checker.loaded.program();
        let (there, link) = port.netns()?.run_in(|| {
            let there = sys::attached_program(interface.index);
            (
                there,
                there
                    .is_none()
                    .then(|| sys::attach(program, interface.index, flags)),
            )
        })?;
        let occupied = |id: u32| XdpError::Occupied {
            port: port.clone(),
            program: sys::program_name(id).unwrap_or_else(|| "unnamed".to_owned()),
            id,
        };
        match (there, link) {
            (Some(id), _) => Err(occupied(id)),
            (None, Some(Ok(link))) => Ok(Checker {
                _link: Some(link),
                ..checker
            }),
            // Somebody was faster between the look and the attach.
            (None, Some(Err(e))) if e.raw_os_error() == Some(libc::EBUSY) => Err(occupied(0)),
            // So veth says that a frame of its MTU does not fit into a page.
            (None, Some(Err(e))) if e.raw_os_error() == Some(libc::ERANGE) => {
                Err(XdpError::Unsupported {
                    what: "attaching an XDP program",
                    why: format!(
                        "the MTU of {port} or its peer, {}, is too large for XDP",
                        interface.mtu
                    ),
                })
            }
            (None, Some(Err(e))) => Err(XdpError::kernel("attaching an XDP program", e)),
            (None, None) => unreachable!("attached or not"),
        }
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
        sys::run_once(self.loaded.program().as_fd(), frame)
            .map(|_| ())
            .map_err(|e| XdpError::kernel("running the checker over a frame", e))
    }

    /// Forget what was seen, for another run of the same job; call it while nothing arrives.
    pub fn reset(&self) {
        self.state.write(0, &sys::zeroed::<ChkState>());
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
            histogram: histogram(&s.latency),
        }
    })
}
