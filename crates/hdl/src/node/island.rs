//! The ports of one cable: set up, run and stopped only through their registers.
//!
//! Ports without a cable between them share nothing, so each cable has a separate bench, and the benches run in
//! parallel.

use wirelab_trial::Layer;
use wirelab_wire::header;

use super::plan::HdlTrial;
use super::probe::Probe;
use crate::bench::{Bench, BenchError};
use crate::registers as reg;
use crate::wire::{LineFrame, Sniffer};

/// Clocks after which a checker is ready at the latest; it needs 514 after it was cleared.
const READY_CLOCKS: u64 = 10_000;
/// Clocks after the last frame until its verdict: the delay of MAC and checker, with a search for a stale frame.
pub const SETTLE_CLOCKS: u64 = 512;
/// Start of the network of the UDP frames, 198.18.0.1: for benchmarks (RFC 2544, C.2.2).
const NETWORK: u32 = 0xC612_0001;
/// The tag's VLAN; the same as between Linux ports.
const VLAN_TCI: u32 = 100;
/// The longest frame that the MAC accepts, with tag and FCS in bytes.
const MAX_FRAME_BYTES: u32 = 9216 + 14 + 4 + 4;

/// The Ethernet address of a port, locally administered; it occurs only on these lines.
pub fn address(port: usize) -> u64 {
    0x0257_4C00_0100 | port as u64
}

/// One end of the cable.
#[derive(Debug)]
struct End {
    /// Its number among all ports.
    port: usize,
    sends: bool,
    probe: Option<Probe>,
    sniffer: Sniffer,
}

/// The ports that one cable joins.
pub struct Island {
    bench: Bench,
    ends: Vec<End>,
    /// Whether received frames are kept.
    keep: bool,
    /// The kept frames, by port.
    pub arrived: Vec<(usize, LineFrame)>,
}

impl Island {
    /// The ports at both ends of a cable, which may be the same port.
    pub fn new(one: usize, other: usize) -> Result<Island, BenchError> {
        let ports = if one == other {
            vec![one]
        } else {
            vec![one, other]
        };
        let end = |port: &usize| End {
            port: *port,
            sends: false,
            probe: None,
            sniffer: Sniffer::new(),
        };
        Ok(Island {
            bench: Bench::new(ports.len(), &[(0, ports.len() - 1)])?,
            ends: ports.iter().map(end).collect(),
            keep: false,
            arrived: Vec::new(),
        })
    }

    /// The index of a port on this bench.
    pub fn index_of(&self, port: usize) -> Option<usize> {
        self.ends.iter().position(|end| end.port == port)
    }

    /// The bench.
    pub fn bench(&mut self) -> &mut Bench {
        &mut self.bench
    }

    /// The probe of a port with its series, once.
    pub fn take_probe(&mut self, index: usize) -> Option<Probe> {
        self.ends[index].probe.take()
    }

    /// Configures every port for the trial; nothing is sent yet. Frames that arrive later are kept if requested.
    pub fn prepare(&mut self, plan: &HdlTrial, keep: bool) -> Result<(), BenchError> {
        self.keep = keep;
        self.arrived.clear();
        for index in 0..self.ends.len() {
            let port = self.ends[index].port;
            let sends = plan.flows.iter().any(|flow| flow.from == port);
            let source = plan.flows.iter().find(|flow| flow.to == port);
            for (register, word) in settings(plan, port) {
                self.bench.write(index, register, word)?;
            }
            if let Some(flow) = source {
                for (register, word) in checker(flow.from as u32, Some(address(flow.from))) {
                    self.bench.write(index, register, word)?;
                }
            }
            let end = &mut self.ends[index];
            end.sends = sends;
            end.sniffer = Sniffer::new();
            end.probe = sends.then(|| Probe::new(index, plan));
        }
        for index in 0..self.ends.len() {
            wait_until_ready(&mut self.bench, index, self.ends[index].port)?;
        }
        Ok(())
    }

    /// Starts all senders.
    pub fn start(&mut self, plan: &HdlTrial) -> Result<(), BenchError> {
        let control = control(plan) | reg::GENERATOR_CONTROL_ENABLE.of(1);
        for index in self.senders() {
            self.write(index, reg::GENERATOR_CONTROL, control)?;
        }
        Ok(())
    }

    /// Runs for this many clocks.
    pub fn run(&mut self, clocks: u64) -> Result<(), BenchError> {
        for _ in 0..clocks {
            self.clock_and_probe()?;
        }
        // The caller uses the bus afterwards.
        while self.probes().any(|probe| !probe.rests()) {
            self.clock_and_probe()?;
        }
        Ok(())
    }

    fn probes(&self) -> impl Iterator<Item = &Probe> {
        self.ends.iter().filter_map(|end| end.probe.as_ref())
    }

    fn clock_and_probe(&mut self) -> Result<(), BenchError> {
        self.clock();
        for end in &mut self.ends {
            if let Some(probe) = &mut end.probe {
                probe.clock(&mut self.bench)?;
            }
        }
        Ok(())
    }

    fn clock(&mut self) {
        if self.keep {
            self.listen();
        }
        self.bench.clock();
    }

    /// Reads a register while the ports run.
    fn read(&mut self, index: usize, register: u16) -> Result<u32, BenchError> {
        self.bench.begin_read(index, register)?;
        self.answer(index)
    }

    /// Writes a register while the ports run.
    fn write(&mut self, index: usize, register: u16, word: u32) -> Result<(), BenchError> {
        self.bench.begin_write(index, register, word)?;
        self.answer(index).map(drop)
    }

    fn answer(&mut self, index: usize) -> Result<u32, BenchError> {
        loop {
            self.clock();
            if let Some(word) = self.bench.answer(index)? {
                return Ok(word);
            }
        }
    }

    fn listen(&mut self) {
        let clock = self.bench.clocks();
        let last = self.ends.len() - 1;
        for (index, end) in self.ends.iter_mut().enumerate() {
            // A port receives what the other end sends, because a cable has no length.
            let heard = end.sniffer.take(clock, self.bench.line(last - index));
            self.arrived.extend(heard.map(|frame| (end.port, frame)));
        }
    }

    /// Whether all senders have sent the requested frames.
    pub fn finished(&mut self) -> Result<bool, BenchError> {
        for index in self.senders() {
            let status = self.read(index, reg::GENERATOR_STATUS)?;
            if reg::GENERATOR_STATUS_FINISHED.from(status) == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Lets frames in flight arrive, and stops all generators, whether or not they have finished.
    pub fn stop(&mut self, plan: &HdlTrial) -> Result<(), BenchError> {
        for index in self.senders() {
            self.write(index, reg::GENERATOR_CONTROL, control(plan))?;
        }
        // With a fault one more frame may be in flight.
        self.run(2 * plan.period_clocks + SETTLE_CLOCKS)
    }

    fn senders(&self) -> Vec<usize> {
        let ends = self.ends.iter().enumerate();
        ends.filter(|(_, end)| end.sends)
            .map(|(index, _)| index)
            .collect()
    }
}

/// Waits until the checker at an index of a bench, of this port, has computed its start words and emptied its window.
/// Before that, it judges nothing.
pub fn wait_until_ready(bench: &mut Bench, index: usize, port: usize) -> Result<(), BenchError> {
    let begin = bench.clocks();
    loop {
        let status = bench.read(index, reg::CHECKER_STATUS)?;
        if reg::CHECKER_STATUS_CHECKING.from(status) == 1 {
            return Ok(());
        }
        if bench.clocks() > begin + READY_CLOCKS {
            return Err(BenchError::NotReady {
                port,
                clocks: READY_CLOCKS,
            });
        }
    }
}

/// The bits of the generator's control register besides `enable`.
pub fn control(plan: &HdlTrial) -> u32 {
    let udp = u32::from(plan.resolved.trial.framing.layer == Layer::UdpIpv4);
    reg::GENERATOR_CONTROL_UDP_MODE.of(udp)
        | reg::GENERATOR_CONTROL_VLAN_ENABLE.of(u32::from(plan.resolved.trial.framing.vlan_tags))
        | reg::GENERATOR_CONTROL_TIME_VALID.of(1)
        | reg::GENERATOR_CONTROL_FAULT_KIND.of(plan.fault.map_or(0, |fault| fault.kind))
}

/// The register words of an Ethernet address.
pub fn address_words(register: u16, address: u64) -> [(u16, u32); 2] {
    [
        (register, address as u32),
        (register + 4, (address >> 32) as u32),
    ]
}

/// The settings of a port's generator, MAC and rate meter before a run.
pub fn settings(plan: &HdlTrial, port: usize) -> Vec<(u16, u32)> {
    let to = plan
        .flows
        .iter()
        .find(|flow| flow.from == port)
        .map_or(port, |flow| flow.to);
    let udp_port = u32::from(header::UDP_PORT);
    let ports = reg::GENERATOR_UDP_PORTS_DESTINATION.of(udp_port)
        | reg::GENERATOR_UDP_PORTS_SOURCE.of(udp_port);
    let fault = plan.fault;
    let (every_frames, every_clocks) = fault.map_or((0, 0), |fault| fault.periods());
    let mut words = vec![
        (reg::GENERATOR_CONTROL, 0),
        (reg::GENERATOR_PAYLOAD_BYTES, plan.resolved.sizes.payload),
        (reg::GENERATOR_GAP_CYCLES, plan.gap_clocks),
        (reg::GENERATOR_FRAME_COUNT, plan.frames),
        generator_flow(port as u32),
        (reg::GENERATOR_IPV4_SOURCE, NETWORK + port as u32),
        (reg::GENERATOR_IPV4_DESTINATION, NETWORK + to as u32),
        (reg::GENERATOR_UDP_PORTS, ports),
        (reg::GENERATOR_FAULT_EVERY, every_frames),
        (reg::GENERATOR_FAULT_INTERVAL, every_clocks),
        (
            reg::GENERATOR_FAULT_POSITION,
            fault.map_or(0, |fault| fault.position),
        ),
        (reg::GENERATOR_FAULT_CUT, fault.map_or(0, |fault| fault.cut)),
        (reg::MAC_MAX_FRAME, MAX_FRAME_BYTES),
        // Its only bit: clear.
        (reg::MAC_CONTROL, 1),
        (reg::CHECKER_CONTROL, reg::CHECKER_CONTROL_CLEAR.of(1)),
        // Off for a moment, so that the next frame begins a period.
        (reg::RATE_CONTROL, reg::RATE_CONTROL_CLEAR.of(1)),
        // The generator's stream, in ticks of 10 ns.
        (
            reg::RATE_CONTROL,
            reg::RATE_CONTROL_ENABLE.of(1) | reg::RATE_CONTROL_SLOW.of(1),
        ),
    ];
    words.extend(address_words(reg::GENERATOR_DESTINATION, address(to)));
    words.extend(address_words(reg::GENERATOR_SOURCE, address(port)));
    words
}

/// The tag and the stream of the generator's frames.
pub fn generator_flow(stream: u32) -> (u16, u32) {
    let flow = reg::GENERATOR_FLOW_VLAN_TCI.of(VLAN_TCI) | reg::GENERATOR_FLOW_STREAM.of(stream);
    (reg::GENERATOR_FLOW, flow)
}

/// The checker's settings for a flow; with the address of its source, if known.
pub fn checker(stream: u32, source: Option<u64>) -> Vec<(u16, u32)> {
    let flow = reg::CHECKER_FLOW_UDP_PORT.of(u32::from(header::UDP_PORT))
        | reg::CHECKER_FLOW_STREAM.of(stream);
    let control = reg::CHECKER_CONTROL_ENABLE.of(1)
        | reg::CHECKER_CONTROL_SOURCE_KNOWN.of(u32::from(source.is_some()))
        | reg::CHECKER_CONTROL_STREAM_KNOWN.of(1);
    let mut words = vec![(reg::CHECKER_FLOW, flow)];
    words.extend(
        source
            .into_iter()
            .flat_map(|source| address_words(reg::CHECKER_SOURCE, source)),
    );
    words.push((reg::CHECKER_CONTROL, control));
    words
}
