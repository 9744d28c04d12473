//! A port in simulation behind a TAP device, as long as a user wants it: its generator sends to the host, and its
//! checker judges the host's frames.
//!
//! Host time and simulated time are unrelated, so the results are counts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use thiserror::Error;
use wirelab_port::iface::{Mac, PortName};
use wirelab_port::tap::{TapError, TapPort, TapSpec};
use wirelab_trial::job::CheckReport;
use wirelab_trial::{Cancel, Counts, Direction, NodeError, Trial};

use super::island::{
    SETTLE_CLOCKS, address, address_words, checker, control, generator_flow, settings,
    wait_until_ready,
};
use super::options::HdlOptions;
use super::plan::{self, HdlTrial};
use super::read;
use crate::bench::{Bench, BenchError};
use crate::registers as reg;
use crate::tap::{TapCable, TapCableError};

/// The port's index on its bench, and its number.
const PORT: usize = 0;
/// The number of the port whose address the TAP device has.
const HOST: usize = 1;
/// Clocks between two looks at the counters: 65 µs of simulated time, a few ms of the host's, and more than the last
/// verdict needs.
const SLICE_CLOCKS: u64 = 8_192;
/// Frames of the host that may wait for the simulation: about a second of 1,000 bytes each, and 15 MB at most.
const QUEUE_FRAMES: u32 = 10_000;
/// The checker's counters of frames of the flow; each frame is in one of them.
const JUDGED: [u16; 5] = [
    reg::CHECKER_GOOD,
    reg::CHECKER_HEADER_CORRUPT,
    reg::CHECKER_TRUNCATED,
    reg::CHECKER_STALE,
    reg::CHECKER_CORRUPTED,
];
/// How long an idle port waits for a frame before it checks whether to end.
const LOOK: Duration = Duration::from_millis(20);
/// The MTU of an Ethernet interface in bytes (RFC 894), the minimum of the TAP device.
const USUAL_MTU: u32 = 1_500;

/// The request for a joined port.
#[derive(Clone, Debug)]
pub struct JoinRequest {
    /// The generator's trial, once it is started.
    pub trial: Trial,
    /// The destination address; by default the TAP device's.
    pub to: Option<[u8; 6]>,
    /// Stream of the generator's frames, and of those that the checker counts.
    pub stream: u8,
    /// The only source of frames that the checker counts; those from it with a damaged header count too.
    pub from: Option<[u8; 6]>,
    /// MTU of the TAP device in bytes; larger if the generator's payload is.
    pub mtu: Option<u32>,
}

/// When the generator starts, and when everything ends.
#[derive(Clone, Copy, Debug)]
pub struct RunLimits {
    /// Whether the generator starts at all.
    pub generates: bool,
    /// When it starts; by default on a command.
    pub after: Option<Duration>,
    /// When everything ends in any case.
    pub time: Option<Duration>,
    /// How long the flow rests before everything ends.
    pub idle: Option<Duration>,
}

/// Why a port could not be joined.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The generator does not support the trial.
    #[error(transparent)]
    BadTrial(#[from] NodeError),
    /// There is no TAP device.
    #[error(transparent)]
    Tap(#[from] TapError),
    /// The port does not answer.
    #[error(transparent)]
    Bench(#[from] BenchError),
}

/// The result, from the counters of the hardware.
#[derive(Clone, Debug)]
pub struct Joined {
    /// Sequences that the generator used, sent or dropped.
    pub sequences: u64,
    /// Sent frames.
    pub sent_frames: u64,
    /// Whether the end came before the generator had sent everything requested.
    pub interrupted: bool,
    /// Injected faults.
    pub injected_faults: u64,
    /// Frames passed to the host.
    pub to_host_frames: u64,
    /// Frames of the port that were not passed to the host, because their FCS was wrong or a byte was marked as
    /// wrong.
    pub kept_back_frames: u64,
    /// Frames received from the host.
    pub from_host_frames: u64,
    /// The checker's counts. Losses are those that it can see alone, between two received frames. What it has no register
    /// for is 0 here, and left out of [`super::JoinedRecord`].
    pub counts: Counts,
    /// Simulated clocks.
    pub clocks: u64,
    /// Sticky bits that should not be set but are: counters that wrapped around, an underrun.
    pub sticky: Vec<&'static str>,
}

impl Joined {
    /// The same with the losses at the end, where the sender's number is known.
    #[must_use]
    pub fn with_sent(mut self, sent: Option<u64>) -> Joined {
        if let Some(sent) = sent {
            let counts = std::mem::take(&mut self.counts);
            let report = CheckReport {
                counts,
                ..CheckReport::default()
            };
            self.counts = report.with_sent(sent).counts;
        }
        self
    }

    /// Whether everything requested was sent, and everything that arrived was good.
    pub fn is_clean(&self) -> bool {
        self.counts.is_clean() && !self.interrupted && self.sticky.is_empty()
    }
}

/// The port, its cable, and the TAP device, which is removed with it.
pub struct JoinedPort {
    bench: Bench,
    cable: TapCable,
    plan: HdlTrial,
    /// Whether the generator waits for its start.
    waits: bool,
    /// Whether the generator was started and has not finished.
    sends: bool,
    /// Frames that had passed the TAP device in the previous slice.
    passed: u64,
    /// Frames of the flow that the checker had judged by then.
    judged: u64,
    rests: bool,
}

impl JoinedPort {
    /// Makes the TAP device and joins a port to it; nothing is sent yet.
    ///
    /// # Errors
    /// [`JoinError`]: an unsupported trial, a missing privilege, or an interface that exists already.
    pub fn up(port: PortName, request: &JoinRequest) -> Result<JoinedPort, JoinError> {
        let trial = Trial {
            direction: Direction::Transmit,
            ports: 1,
            ..request.trial.clone()
        };
        let two = HdlOptions {
            ports: 2,
            loopback: false,
        };
        let plan = plan::plan(&trial, &two)?;
        let mut bench = Bench::new(1, &[])?;
        for (register, word) in words(&plan, request) {
            bench.write(PORT, register, word)?;
        }
        wait_until_ready(&mut bench, PORT, PORT)?;
        let mtu = request
            .mtu
            .unwrap_or(USUAL_MTU)
            .max(plan.resolved.sizes.payload);
        let [.., a, b, c, d, e, f] = address(HOST).to_be_bytes();
        let tap = TapPort::create(&TapSpec {
            mac: Some(Mac([a, b, c, d, e, f])),
            mtu,
            queue_frames: Some(QUEUE_FRAMES),
            ..TapSpec::new(port)
        })?;
        Ok(JoinedPort {
            bench,
            cable: TapCable::new(PORT, tap),
            plan,
            waits: false,
            sends: false,
            passed: 0,
            judged: 0,
            rests: true,
        })
    }

    /// Carries frames until the end; `start` starts the generator.
    ///
    /// # Errors
    /// [`TapCableError`], e.g. if the interface was removed.
    pub fn carry(
        &mut self,
        when: &RunLimits,
        start: &AtomicBool,
        cancel: &Cancel,
    ) -> Result<(), TapCableError> {
        let begun = Instant::now();
        let (mut passed, mut since) = (0, begun);
        self.waits = when.generates;
        while !cancel.is_cancelled() && when.time.is_none_or(|time| begun.elapsed() < time) {
            let is_due = when.after.is_some_and(|after| begun.elapsed() >= after);
            if self.waits && (is_due || start.load(Ordering::Relaxed)) {
                self.start()?;
            }
            self.advance(LOOK)?;
            // Frames that the kernel sends on its own on a new interface do not count.
            let flow_frames = self.cable.to_host_frames() + self.judged;
            if flow_frames != passed || self.sends {
                (passed, since) = (flow_frames, Instant::now());
            }
            let is_over = passed > 0 && !self.waits;
            if is_over && when.idle.is_some_and(|idle| since.elapsed() >= idle) {
                break;
            }
        }
        Ok(())
    }

    /// Starts the generator.
    fn start(&mut self) -> Result<(), TapCableError> {
        let control = control(&self.plan) | reg::GENERATOR_CONTROL_ENABLE.of(1);
        self.write(reg::GENERATOR_CONTROL, control)?;
        (self.waits, self.sends) = (false, true);
        Ok(())
    }

    /// Runs for a while. If nothing is on the line, simulated time stops, and the host waits for a frame, at most
    /// this long.
    fn advance(&mut self, patience: Duration) -> Result<(), TapCableError> {
        if self.rests && !self.sends && !self.cable.wait(patience)? {
            return Ok(());
        }
        self.run(SLICE_CLOCKS)?;
        if self.sends {
            let status = self.read(reg::GENERATOR_STATUS)?;
            self.sends = reg::GENERATOR_STATUS_FINISHED.from(status) == 0;
        }
        // A slice without a frame is longer than the delay of the last frame through MAC and checker.
        self.judged = 0;
        for register in JUDGED {
            self.judged += u64::from(self.read(register)?);
        }
        let passed = self.cable.to_host_frames() + self.cable.to_port_frames();
        self.rests = passed == self.passed && self.cable.is_silent();
        self.passed = passed;
        Ok(())
    }

    /// Stops the generator, lets its pending frames leave and frames on the line arrive, and reads all counters. So
    /// each used sequence was sent or dropped on purpose. That takes at most two of the load's periods.
    ///
    /// # Errors
    /// [`TapCableError`].
    pub fn finish(mut self) -> Result<Joined, TapCableError> {
        let interrupted = self.waits || self.sends;
        // All counters must be from one moment.
        self.cable.close();
        self.write(reg::GENERATOR_CONTROL, control(&self.plan))?;
        while !self.cable.is_silent() {
            self.run(SETTLE_CLOCKS)?;
        }
        self.until_idle()?;
        // The last frame passes the MAC to the host, and the checker judges the host's last frame.
        self.run(2 * (u64::from(self.plan.resolved.sizes.length) + SETTLE_CLOCKS))?;
        let sent = read::sent(&mut self.bench, PORT)?;
        let checker = read::received(&mut self.bench, PORT)?;
        Ok(Joined {
            sequences: sent.sequences,
            sent_frames: sent.frames,
            interrupted,
            injected_faults: sent.injected,
            to_host_frames: self.cable.to_host_frames(),
            kept_back_frames: self.cable.damaged_frames(),
            from_host_frames: self.cable.to_port_frames(),
            counts: checker.counts,
            clocks: self.bench.clocks(),
            sticky: [sent.sticky, checker.sticky]
                .concat()
                .iter()
                .map(|sticky| sticky.name)
                .collect(),
        })
    }

    /// Lets the generator send its pending sequence, which counts as used and whose frame waits for the gap. With a
    /// fault there may be two.
    fn until_idle(&mut self) -> Result<(), TapCableError> {
        let until = self.bench.clocks() + 2 * self.plan.period_clocks + SETTLE_CLOCKS;
        while self.bench.clocks() < until {
            let status = self.read(reg::GENERATOR_STATUS)?;
            if reg::GENERATOR_STATUS_BUSY.from(status) == 0 {
                break;
            }
            self.run(SETTLE_CLOCKS)?;
        }
        Ok(())
    }

    fn run(&mut self, clocks: u64) -> Result<(), TapCableError> {
        for _ in 0..clocks {
            self.cable.clock(&mut self.bench)?;
        }
        Ok(())
    }

    fn read(&mut self, register: u16) -> Result<u32, TapCableError> {
        self.bench.begin_read(PORT, register)?;
        self.answer()
    }

    fn write(&mut self, register: u16, word: u32) -> Result<(), TapCableError> {
        self.bench.begin_write(PORT, register, word)?;
        self.answer().map(drop)
    }

    /// The bus's result, while the cable keeps carrying frames.
    fn answer(&mut self) -> Result<u32, TapCableError> {
        loop {
            self.cable.clock(&mut self.bench)?;
            if let Some(word) = self.bench.answer(PORT)? {
                return Ok(word);
            }
        }
    }
}

/// The port's register values before anything is sent.
fn words(plan: &HdlTrial, request: &JoinRequest) -> Vec<(u16, u32)> {
    let stream = u32::from(request.stream);
    let mut words = settings(plan, PORT);
    words.push(generator_flow(stream));
    if let Some(to) = request.to {
        words.extend(address_words(reg::GENERATOR_DESTINATION, number(to)));
    }
    words.extend(checker(stream, request.from.map(number)));
    words
}

/// An Ethernet address as a number.
fn number(address: [u8; 6]) -> u64 {
    let [a, b, c, d, e, f] = address;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}
