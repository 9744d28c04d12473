//! A port in simulation that stands behind a TAP device, for as long as a user wants it: its generator sends to the host,
//! and its checker judges what the host sends.
//!
//! Host time and simulated time are unrelated, so the results are counts.

use std::time::Duration;

use thiserror::Error;
use wirelab_port::iface::{Mac, PortName};
use wirelab_port::tap::{TapError, TapPort, TapSpec};
use wirelab_trial::{Counts, Direction, NodeError, Trial};

use super::island::{
    SETTLE_CLOCKS, address, address_words, checker, control, generator_flow, settings,
    wait_until_ready,
};
use super::options::HdlOptions;
use super::plan::{self, Plan};
use super::read;
use crate::bench::{Bench, BenchError};
use crate::registers as reg;
use crate::tap::{TapCable, TapCableError};

/// The port's place on its bench, and its number.
const PORT: usize = 0;
/// The number of the port whose address the TAP device has.
const HOST: usize = 1;
/// Clocks between two looks at what passed: 65 µs of simulated time, a few milliseconds of a host's, and more than the last
/// verdict takes.
const SLICE_CLOCKS: u64 = 8_192;
/// Frames of the host that may wait for the simulation: a second of 1,000 bytes each or so, and 15 MB at most.
const QUEUE_FRAMES: u32 = 10_000;
/// Where the checker counts frames of the flow, each in one of these.
const JUDGED: [u16; 5] = [
    reg::CHECKER_GOOD,
    reg::CHECKER_HEADER_CORRUPT,
    reg::CHECKER_TRUNCATED,
    reg::CHECKER_STALE,
    reg::CHECKER_CORRUPTED,
];
/// The MTU of an Ethernet interface in bytes (RFC 894), which a TAP device has at least.
const USUAL_MTU: u32 = 1_500;

/// What a joined port shall do.
#[derive(Clone, Debug)]
pub struct JoinedAsked {
    /// What its generator sends, once it is started.
    pub trial: Trial,
    /// Where to; the TAP device without it.
    pub to: Option<[u8; 6]>,
    /// Stream of the generator's frames, and of those that the checker takes.
    pub stream: u8,
    /// The only source of frames that the checker takes; of that one also those with a damaged header are counted.
    pub from: Option<[u8; 6]>,
    /// MTU of the TAP device in bytes; more where the generator's payload is more.
    pub mtu: Option<u32>,
}

/// Why a port was not joined.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The generator cannot be asked that.
    #[error(transparent)]
    Asked(#[from] NodeError),
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
    /// Frames that it sent.
    pub sent_frames: u64,
    /// Faults that it made.
    pub injected_faults: u64,
    /// Frames that the host was given.
    pub to_host_frames: u64,
    /// Frames of the port that the host was not given, since their FCS was wrong or a byte was marked as wrong.
    pub kept_back_frames: u64,
    /// Frames that were taken from the host.
    pub from_host_frames: u64,
    /// What the checker found; losses are those that it can see alone, between two frames that came. What is
    /// [`crate::NOT_COUNTED`] nobody looked for.
    pub counts: Counts,
    /// Simulated clocks.
    pub clocks: u64,
    /// What must not be set, and is: counters that wrapped around, an underrun.
    pub sticky: Vec<&'static str>,
}

/// The port, its cable, and the TAP device, which goes with it.
pub struct JoinedPort {
    bench: Bench,
    cable: TapCable,
    plan: Plan,
    /// The generator was started and has not finished.
    sends: bool,
    /// Frames that had passed the TAP device a slice ago.
    passed: u64,
    /// Frames of the flow that the checker had judged then.
    judged: u64,
    rests: bool,
}

impl JoinedPort {
    /// Makes the TAP device and joins a port to it; nothing is sent yet.
    ///
    /// # Errors
    /// [`JoinError`]: what the generator cannot do, no privilege, or an interface that is there already.
    pub fn up(port: PortName, asked: &JoinedAsked) -> Result<JoinedPort, JoinError> {
        let trial = Trial {
            direction: Direction::Transmit,
            ports: 1,
            ..asked.trial.clone()
        };
        let two = HdlOptions {
            ports: 2,
            loopback: false,
        };
        let plan = plan::plan(&trial, &two)?;
        let mut bench = Bench::new(1, &[])?;
        for (register, word) in words(&plan, asked) {
            bench.write(PORT, register, word)?;
        }
        wait_until_ready(&mut bench, PORT, PORT)?;
        let mtu = asked
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
            sends: false,
            passed: 0,
            judged: 0,
            rests: true,
        })
    }

    /// Lets the generator begin.
    ///
    /// # Errors
    /// [`TapCableError`].
    pub fn start(&mut self) -> Result<(), TapCableError> {
        let control = control(&self.plan) | reg::GENERATOR_CONTROL_ENABLE.of(1);
        self.write(reg::GENERATOR_CONTROL, control)?;
        self.sends = true;
        Ok(())
    }

    /// Whether the generator has been started and has not sent all yet.
    #[must_use]
    pub fn sends(&self) -> bool {
        self.sends
    }

    /// Frames of the flow that have come, and frames that the host was given: what the kernel sends by itself on an interface
    /// that comes up is none of them.
    #[must_use]
    pub fn flow_frames(&self) -> u64 {
        self.cable.to_host_frames() + self.judged
    }

    /// Goes on for a while. Where nothing is on the line no time passes in the simulation, and the host waits for a frame, so
    /// long at most.
    ///
    /// # Errors
    /// [`TapCableError`], for example where the interface was removed.
    pub fn advance(&mut self, patience: Duration) -> Result<(), TapCableError> {
        if self.rests && !self.sends && !self.cable.wait(patience)? {
            return Ok(());
        }
        self.run(SLICE_CLOCKS)?;
        if self.sends {
            let status = self.read(reg::GENERATOR_STATUS)?;
            self.sends = reg::GENERATOR_STATUS_FINISHED.from(status) == 0;
        }
        // A slice in which nothing came is more than the last frame needs on its way through MAC and checker.
        self.judged = 0;
        for register in JUDGED {
            self.judged += u64::from(self.read(register)?);
        }
        let passed = self.cable.to_host_frames() + self.cable.to_port_frames();
        self.rests = passed == self.passed && self.cable.is_silent();
        self.passed = passed;
        Ok(())
    }

    /// Ends the generator, lets what it has taken leave and what is on the line arrive, and reads all counters. So each
    /// sequence that counts as used was sent or dropped on purpose; that takes two of the load's periods at most.
    ///
    /// # Errors
    /// [`TapCableError`].
    pub fn finish(mut self) -> Result<Joined, TapCableError> {
        // What the counters say must be of one moment.
        self.cable.close();
        self.write(reg::GENERATOR_CONTROL, control(&self.plan))?;
        while !self.cable.is_silent() {
            self.run(SETTLE_CLOCKS)?;
        }
        self.until_idle()?;
        // The last frame's way through the MAC to the host, and the checker's verdict on the last of the host.
        self.run(2 * (u64::from(self.plan.resolved.sizes.length) + SETTLE_CLOCKS))?;
        let sent = read::sent(&mut self.bench, PORT)?;
        let seen = read::seen(&mut self.bench, PORT)?;
        Ok(Joined {
            sequences: sent.sequences,
            sent_frames: sent.frames,
            injected_faults: sent.injected,
            to_host_frames: self.cable.to_host_frames(),
            kept_back_frames: self.cable.damaged_frames(),
            from_host_frames: self.cable.to_port_frames(),
            counts: seen.counts,
            clocks: self.bench.clocks(),
            sticky: [sent.sticky, seen.sticky]
                .concat()
                .iter()
                .map(|sticky| sticky.name)
                .collect(),
        })
    }

    /// Lets the generator send what it has taken: that sequence counts as used, and its frame waits behind the gap. With a
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

    /// The answer of the bus, while the cable goes on carrying.
    fn answer(&mut self) -> Result<u32, TapCableError> {
        loop {
            self.cable.clock(&mut self.bench)?;
            if let Some(word) = self.bench.answer(PORT)? {
                return Ok(word);
            }
        }
    }
}

/// What the registers of the port are given before anything is sent.
fn words(plan: &Plan, asked: &JoinedAsked) -> Vec<(u16, u32)> {
    let stream = u32::from(asked.stream);
    let mut words = settings(plan, PORT);
    words.push(generator_flow(stream));
    if let Some(to) = asked.to {
        words.extend(address_words(reg::GENERATOR_DESTINATION, number(to)));
    }
    words.extend(checker(stream, asked.from.map(number)));
    words
}

/// An Ethernet address as a number.
fn number(address: [u8; 6]) -> u64 {
    let [a, b, c, d, e, f] = address;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}
