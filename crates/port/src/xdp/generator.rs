//! The generator's user side: what each port sends, for how long, and the reports.

use std::io;
use std::mem::offset_of;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use libbpf_rs::{MapCore, MapHandle};
use wirelab_trial::{Cancel, Extent};
use wirelab_wire::{Flags, Header, Transport, header};

use super::abi::{self, GenCfg, GenPortCfg, GenPortState, GenState, RawStep};
use super::error::XdpError;
use super::object::{self, Borrowed, Pool};
use super::sys::{self, RunEnd};
use crate::clock::now_ns;
use crate::ebpf::{Loaded, MapMemory, zeroed};
use crate::iface::{Interface, PortName};
use crate::job::{Pace, SendJob, SendReport};

/// Frames for each call of the driver at maximum load; more than 64 gains nothing.
const BATCH: u32 = 64;
/// From this time between frames on, each frame is a separate call, so that the kernel does not spin between frames.
const CALL_INTERVAL_NS: u64 = 100_000;
/// How long before a frame's due time its call is made; the program spins until the due time.
const CALL_LEAD_NS: u64 = 60_000;

/// A driver that took none of this many first frames, or none in this time, takes none at all.
const PROBE_FRAMES: u64 = 64;
const PROBE_TIME: Duration = Duration::from_millis(200);

static IDLE: Pool = Pool::new();

/// Options of a generator, besides its jobs.
#[derive(Clone, Copy, Debug, Default)]
pub struct GeneratorOptions {
    /// The processor to run on.
    pub cpu: Option<usize>,
    /// Frames for each call of the driver; 0 for automatic.
    pub batch: u32,
}

fn load(steps: usize) -> Result<Loaded, XdpError> {
    object::load(super::GENERATOR, "generate", |open| {
        let mut maps = open.maps_mut();
        let map = maps
            .find(|m| m.name() == "steps")
            .expect("generator.bpf.c has it");
        { map }.set_max_entries(steps as u32)
    })
}

/// Whether programs can be loaded here; the error names what is missing.
///
/// # Errors
/// [`XdpError`] names the privilege or the kernel feature.
pub fn probe() -> Result<(), XdpError> {
    IDLE.take(|| load(1)).map(|_| ())
}

/// A loaded generator for one or several ports.
pub struct Generator {
    // Counts the frames that the drivers take. Declared first, so that the next run of the object counts only its own.
    _transmits: OwnedFd,
    loaded: Borrowed,
    cfg: MapMemory<GenCfg>,
    state: MapMemory<GenState>,
    jobs: Vec<(PortName, SendJob)>,
    template: Vec<u8>,
    options: GeneratorOptions,
}

impl Generator {
    /// Load a generator that sends `jobs`, each on its port. All jobs share pace, size and flags.
    ///
    /// # Errors
    /// [`XdpError`] if this path does not support a job or a privilege is missing.
    pub fn load(
        jobs: &[(PortName, SendJob)],
        options: GeneratorOptions,
    ) -> Result<Generator, XdpError> {
        let first = check_jobs(jobs)?;
        let steps: usize = jobs.iter().map(|(_, job)| job.faults.steps.len()).sum();
        let loaded = match steps {
            0 => IDLE.take(|| load(1))?,
            _ => Borrowed::of_one_run(load(steps)?),
        };
        let ports = MapHandle::try_from(&loaded.map("ports"))
            .map_err(|e| XdpError::libbpf("opening an eBPF map", e))?;
        let mut first_cfg = configuration(jobs);
        for (index, (port, _)) in jobs.iter().enumerate() {
            let ifindex = Interface::query(port)?.index;
            first_cfg.port[index].ifindex = ifindex;
            // The kernel's number of a namespace has 32 bits.
            first_cfg.port[index].netns = port.netns()?.id()?.1 as u32;
            let key = (index as u32).to_ne_bytes();
            port.netns()?
                .run_in(|| ports.update(&key, &ifindex.to_ne_bytes(), libbpf_rs::MapFlags::ANY))?
                .map_err(|e| XdpError::libbpf("passing frames to a port's driver", e))?;
        }
        let steps_memory: MapMemory<RawStep> = loaded.shared("steps", steps.max(1))?;
        for (i, step) in jobs
            .iter()
            .flat_map(|(_, job)| &job.faults.steps)
            .enumerate()
        {
            steps_memory.write(i, &RawStep::from(step));
        }
        let cfg: MapMemory<GenCfg> = loaded.shared(".data.cfg", 1)?;
        let state: MapMemory<GenState> = loaded.shared(".data.state", 1)?;
        cfg.write(0, &first_cfg);
        state.write(0, &zeroed());
        let template = build_template(first);
        Ok(Generator {
            _transmits: loaded.attach_tracing("note_transmit", "xdp_devmap_xmit")?,
            loaded,
            cfg,
            state,
            jobs: jobs.to_vec(),
            template,
            options,
        })
    }

    /// Send until the jobs' extent is reached or `cancel` is set. It blocks; returns one report for each job.
    ///
    /// # Errors
    /// [`XdpError`] if the kernel refuses the run.
    pub fn run(&self, cancel: &Cancel) -> Result<Vec<SendReport>, XdpError> {
        sys::install_wake_handler()
            .map_err(|e| XdpError::kernel("installing a signal handler", e))?;
        wirelab_cores::prefer_this_thread(None);
        let deadline = match self.jobs[0].1.extent {
            Extent::Time { time_ps } if self.jobs[0].1.pace == Pace::Max => {
                Some(Duration::from_nanos(time_ps / 1000))
            }
            _ => None,
        };
        let (thread, done) = (sys::thread_id(), AtomicBool::new(false));
        let begun = Instant::now();
        let result = std::thread::scope(|scope| {
            scope.spawn(|| self.watch(deadline, cancel, thread, &done));
            // Only now, because otherwise the watching thread would run on the same processor.
            let pinned = self
                .options
                .cpu
                .map_or(Ok(()), |cpu| wirelab_cores::pin_task(0, &[cpu]))
                .map_err(|e| XdpError::kernel("running on the chosen processor", e.into()));
            let result = pinned.and_then(|()| self.send_all(cancel));
            done.store(true, Ordering::Release);
            result
        });
        result?;
        self.require_departures()?;
        Ok(self.reports(begun.elapsed()))
    }

    /// Stop the run at its deadline or on cancel: the program reads the word, the signal ends the system call.
    fn watch(&self, deadline: Option<Duration>, cancel: &Cancel, thread: i32, done: &AtomicBool) {
        let mut begun = None;
        while !done.load(Ordering::Acquire) {
            // The first call starts after a delay, and the time limit counts from the first frame.
            if begun.is_none() && self.port_word(0, offset_of!(GenPortState, emission)) > 0 {
                begun = Some(Instant::now());
            }
            let over = matches!((begun, deadline), (Some(b), Some(d)) if b.elapsed() >= d);
            let in_vain = begun.is_some_and(|b| self.in_vain(b.elapsed()));
            if over || in_vain || cancel.is_cancelled() {
                self.state.set_word(0, 1);
                sys::wake(thread);
            }
            std::thread::sleep(Duration::from_micros(500));
        }
    }

    /// Whether a driver takes nothing: none of the first frames, and none for a while.
    fn in_vain(&self, since: Duration) -> bool {
        (0..self.jobs.len()).any(|i| {
            let refused = self.port_word(i, offset_of!(GenPortState, refused));
            self.port_word(i, offset_of!(GenPortState, left)) == 0
                && (refused >= PROBE_FRAMES || (refused > 0 && since >= PROBE_TIME))
        })
    }

    /// Refuse a run in which a port's driver took no frame.
    fn require_departures(&self) -> Result<(), XdpError> {
        let state = self.state.read(0);
        let ports = self.jobs.iter().map(|(port, _)| port).zip(&state.port);
        for (port, s) in ports {
            if s.emission > 0 && s.left == 0 {
                return Err(XdpError::NothingLeft {
                    port: port.clone(),
                    frames: s.emission,
                    source: match s.error {
                        0 => io::Error::other("its queue took none"),
                        error => io::Error::from_raw_os_error(-error as i32),
                    },
                });
            }
        }
        Ok(())
    }

    fn send_all(&self, cancel: &Cancel) -> Result<(), XdpError> {
        let cfg = self.cfg.read(0);
        let ports = u64::from(cfg.ports);
        let per_call = cfg.interval_ns / ports;
        if cfg.interval_ns > 0 && per_call >= CALL_INTERVAL_NS {
            return self.send_singly(&cfg, cancel);
        }
        let batch = match self.options.batch {
            0 if cfg.interval_ns == 0 => BATCH,
            0 => batch_for(per_call),
            given => given,
        };
        let mut left = self.left(&cfg);
        while left > 0 && self.state.word(0) == 0 {
            let chunk = left.min(i32::MAX as u64) as u32;
            if self.call(chunk, batch.min(chunk))? == RunEnd::Interrupted && cancel.is_cancelled() {
                break;
            }
            left = self.left(&cfg);
        }
        Ok(())
    }

    /// One call for each frame, made shortly before it is due; the program waits for the exact time.
    fn send_singly(&self, cfg: &GenCfg, cancel: &Cancel) -> Result<(), XdpError> {
        while self.left(cfg) > 0 && !cancel.is_cancelled() && self.state.word(0) == 0 {
            // Single words, because a copy of the whole state for each frame would cost more than the frame.
            let start_ns = self.state.word(offset_of!(GenState, start_ns));
            if start_ns > 0 {
                let turn = self.state.word(offset_of!(GenState, turn)) as usize % self.jobs.len();
                let due = match self.port_word(turn, offset_of!(GenPortState, emission)) {
                    0 => start_ns + cfg.port[turn].phase_ns,
                    _ => self.port_word(turn, offset_of!(GenPortState, due_ns)),
                } + self.state.word(offset_of!(GenState, shift_ns));
                sleep_until(due.saturating_sub(CALL_LEAD_NS), cancel);
            }
            self.call(1, 1)?;
        }
        Ok(())
    }

    /// Runs of the program until every port has finished. Ports take turns, and with faults one may have more to send
    /// than another.
    fn left(&self, cfg: &GenCfg) -> u64 {
        let per_port = |i: usize| {
            let emitted = self.port_word(i, offset_of!(GenPortState, emission));
            cfg.port[i].emissions.saturating_sub(emitted)
        };
        let most = (0..self.jobs.len()).map(per_port).max().unwrap_or(0);
        most.saturating_mul(u64::from(cfg.ports))
    }

    /// A word of a port's state at this offset, as the program last wrote it.
    fn port_word(&self, port: usize, offset: usize) -> u64 {
        let at = offset_of!(GenState, port) + port * size_of::<GenPortState>();
        self.state.word(at + offset)
    }

    fn call(&self, repeat: u32, batch: u32) -> Result<RunEnd, XdpError> {
        sys::run_live_frames(self.loaded.program(), &self.template, repeat, batch).map_err(|e| {
            if e.raw_os_error() == Some(libc::EINVAL) {
                XdpError::Unsupported {
                    what: "running a program over live frames",
                    why: "the kernel refused it, and it needs Linux 5.18 or newer".to_owned(),
                }
            } else {
                XdpError::kernel("running a program over live frames", e)
            }
        })
    }

    fn reports(&self, call: Duration) -> Vec<SendReport> {
        let state = self.state.read(0);
        let report = |(i, (_, job)): (usize, &(PortName, SendJob))| {
            let port = &state.port[i];
            SendReport {
                emitted_frames: port.left,
                sequences: job.faults.sequences_used(port.emission),
                first_ns: port.first_ns,
                last_ns: port.last_ns,
                gap: port.gap.histogram(),
                slips: state.slips,
                slipped_ns: state.slipped_ns,
                blocked_ns: Some(blocked_ns(port)),
                longest_burst_frames: (job.pace != Pace::Max).then_some(port.longest_burst),
                refused_frames: port.emission.saturating_sub(port.left),
                // The program writes into the page that the driver takes; veth passes the page on unchanged.
                kernel_copied: Some(false),
                call_ns: call.as_nanos() as u64,
            }
        };
        self.jobs.iter().enumerate().map(report).collect()
    }
}

/// The share of the sending time that went into frames that the driver did not take.
fn blocked_ns(port: &GenPortState) -> u64 {
    let span = u128::from(port.last_ns.saturating_sub(port.first_ns));
    let refused = u128::from(port.emission.saturating_sub(port.left));
    (span * refused / u128::from(port.emission.max(1))) as u64
}

/// The smallest batch that keeps the rate: a call with one frame costs about 1 µs more than its share.
fn batch_for(per_frame_ns: u64) -> u32 {
    match per_frame_ns {
        10_000.. => 1,
        2_000.. => 2,
        700.. => 8,
        _ => 32,
    }
}

fn check_jobs(jobs: &[(PortName, SendJob)]) -> Result<&SendJob, XdpError> {
    let Some((_, first)) = jobs.first() else {
        return Err(XdpError::BadJob(
            "a generator has no port; fix: give one".to_owned(),
        ));
    };
    if jobs.len() > abi::GEN_PORTS {
        let text = format!(
            "{} ports are too many for a generator; fix: give at most {}",
            jobs.len(),
            abi::GEN_PORTS
        );
        return Err(XdpError::BadJob(text));
    }
    for (port, job) in jobs {
        if job.sizes.length > abi::MAX_LENGTH {
            return Err(XdpError::TooLong {
                length: job.sizes.length,
                max: abi::MAX_LENGTH,
            });
        }
        let same =
            job.pace == first.pace && job.sizes == first.sizes && job.with_time == first.with_time;
        if !same {
            let text = format!(
                "{port} has another pace, size or flags than the first port; fix: give it a generator of its own"
            );
            return Err(XdpError::BadJob(text));
        }
        if let Some(buffers) = job.buffers {
            let text = format!("only the packet path has buffers {buffers}; fix: --path packet");
            return Err(XdpError::BadJob(text));
        }
        Interface::query(port)?.require_up()?;
    }
    Ok(first)
}

fn flags(job: &SendJob) -> Flags {
    if job.with_time {
        Flags::TIME_VALID
    } else {
        Flags::NONE
    }
}

fn build_template(job: &SendJob) -> Vec<u8> {
    let header = Header {
        flags: flags(job),
        stream: job.stream,
        sequence: 0,
        time_ns: 0,
        lfsr_len: 0,
    };
    let mut frame = vec![0; job.sizes.length as usize];
    job.frame.build(&job.sizes, &header, &mut frame);
    frame
}

fn configuration(jobs: &[(PortName, SendJob)]) -> Box<GenCfg> {
    let mut cfg = zeroed::<GenCfg>();
    let first = &jobs[0].1;
    let interval_ps = match first.pace {
        Pace::Max => 0,
        Pace::Interval { ps } | Pace::Strict { ps } => ps.max(1000),
    };
    cfg.ports = jobs.len() as u32;
    cfg.flags = u32::from(flags(first).bits());
    cfg.interval_ns = interval_ps / 1000;
    cfg.interval_ps = (interval_ps % 1000) as u32;
    if let Some(pacer) = first.pace.schedule(0) {
        (cfg.limit_ns, cfg.most_frames) = (pacer.limit_ns(), pacer.most_frames());
    }
    cfg.strict = u32::from(matches!(first.pace, Pace::Strict { .. }));
    let mut first_step = 0;
    for (i, (_, job)) in jobs.iter().enumerate() {
        cfg.port[i] = port_configuration(job, interval_ps, first_step);
        cfg.port[i].phase_ns = cfg.interval_ns * i as u64 / jobs.len() as u64;
        first_step += job.faults.steps.len() as u32;
    }
    cfg
}

fn port_configuration(job: &SendJob, interval_ps: u64, first_step: u32) -> GenPortCfg {
    let frame = build_template(job);
    let prefix_len = job.frame.header_offset();
    let mut prefix = [0; abi::PREFIX_MAX];
    prefix[..prefix_len].copy_from_slice(&frame[..prefix_len]);
    let (with_udp, udp_sum) = match job.frame.transport {
        Transport::Ethernet => (0, 0),
        _ => (1, udp_sum(job, &frame)),
    };
    let emissions = match (job.extent, interval_ps) {
        (Extent::Frames { frames }, _) => job.faults.emissions(frames),
        (Extent::Time { .. }, 0) => u64::MAX / 64,
        (Extent::Time { time_ps }, _) => job.faults.emissions((time_ps / interval_ps).max(1)),
    };
    GenPortCfg {
        prefix,
        prefix_len: prefix_len as u32,
        lfsr_len: job.sizes.lfsr_len(),
        length: job.sizes.length,
        with_udp,
        udp_sum,
        stream: u32::from(job.stream),
        first_step,
        step_count: job.faults.steps.len() as u32,
        emissions,
        phase_ns: 0,
        ifindex: 0,
        netns: 0,
    }
}

/// What pseudo header and UDP header add to the checksum: the built frame's sum less its LFSR part's. The test header
/// adds nothing, because its own checksum makes its sum all ones.
fn udp_sum(job: &SendJob, frame: &[u8]) -> u32 {
    let at = job.frame.header_offset();
    let checksum = u32::from(!u16::from_be_bytes([frame[at - 2], frame[at - 1]]));
    let start = at + header::LEN;
    let content = &frame[start..start + job.sizes.lfsr_len() as usize];
    let sum: u32 = content
        .chunks(2)
        .map(|w| u32::from(w[0]) << 8 | w.get(1).map_or(0, |b| u32::from(*b)))
        .sum();
    let fold = |s: u32| (s & 0xFFFF) + (s >> 16);
    let content = fold(fold(sum));
    fold(fold(checksum + (0xFFFF & !content)))
}

/// Sleep until a CLOCK_MONOTONIC time in ns, in steps, so that a cancel is noticed.
fn sleep_until(due_ns: u64, cancel: &Cancel) {
    loop {
        let now = now_ns();
        if now >= due_ns || cancel.is_cancelled() {
            return;
        }
        std::thread::sleep(Duration::from_nanos((due_ns - now).min(50_000_000)));
    }
}
