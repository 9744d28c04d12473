//! Ports that share a clock and are joined by cables.

use thiserror::Error;

use crate::port::{BusError, GmiiSignals, Port};

/// Why ports could not be joined, or a register could not be accessed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BenchError {
    /// A cable names a port that does not exist.
    #[error("a cable goes to port {port}; fix: name one of the {ports} ports, from 0 on")]
    NoPort {
        /// The named port.
        port: usize,
        /// Number of ports.
        ports: usize,
    },
    /// Two cables end at one port.
    #[error("two cables end at port {0}; fix: give each port one cable")]
    TwoCables(usize),
    /// A checker is not ready.
    #[error(
        "the checker of port {port} is not ready {clocks} clocks after it was cleared; fix: check the clock and the reset of the design"
    )]
    NotReady {
        /// Its port.
        port: usize,
        /// The time limit.
        clocks: u64,
    },
    /// A register was not read or written.
    #[error("port {port}: {error}")]
    Bus {
        /// Its port.
        port: usize,
        /// The error of its bus.
        error: BusError,
    },
}

/// Ports under one clock, joined by cables in both directions.
pub struct Bench {
    ports: Vec<Port>,
    /// The peer of each port; `None` if its frames come from outside.
    peers: Vec<Option<usize>>,
    lines: Vec<GmiiSignals>,
    outside: Vec<GmiiSignals>,
}

impl Bench {
    /// This many ports after their reset, with cables between two each; a cable from a port to itself is a loopback.
    ///
    /// # Errors
    /// `NoPort` and `TwoCables`.
    pub fn new(ports: usize, cables: &[(usize, usize)]) -> Result<Self, BenchError> {
        let mut peers = vec![None; ports];
        for &(one, other) in cables {
            // A loopback has one end.
            for (end, peer) in [(one, other), (other, one)]
                .into_iter()
                .take(1 + usize::from(one != other))
            {
                let slot = peers
                    .get_mut(end)
                    .ok_or(BenchError::NoPort { port: end, ports })?;
                if slot.replace(peer).is_some() {
                    return Err(BenchError::TwoCables(end));
                }
            }
        }
        Ok(Self {
            ports: (0..ports).map(|_| Port::new()).collect(),
            peers,
            lines: vec![GmiiSignals::default(); ports],
            outside: vec![GmiiSignals::default(); ports],
        })
    }

    /// One clock of all ports.
    pub fn clock(&mut self) {
        for (line, port) in self.lines.iter_mut().zip(&self.ports) {
            *line = port.line();
        }
        let ends = self.peers.iter().zip(&self.outside);
        for (port, (peer, outside)) in self.ports.iter_mut().zip(ends) {
            port.clock(peer.map_or(*outside, |peer| self.lines[peer]));
        }
    }

    /// This many clocks of all ports.
    pub fn run(&mut self, clocks: u64) {
        for _ in 0..clocks {
            self.clock();
        }
    }

    /// Clocks since the reset.
    #[must_use]
    pub fn clocks(&self) -> u64 {
        self.ports.first().map_or(0, Port::clocks)
    }

    /// What a port sends now; silence for a port that does not exist.
    #[must_use]
    pub fn line(&self, port: usize) -> GmiiSignals {
        self.ports
            .get(port)
            .map_or(GmiiSignals::default(), Port::line)
    }

    /// Sets the line into a port without a cable, from the next clock on.
    ///
    /// # Errors
    /// `NoPort`.
    pub fn bring(&mut self, port: usize, line: GmiiSignals) -> Result<(), BenchError> {
        let ports = self.ports.len();
        let outside = self.outside.get_mut(port);
        *outside.ok_or(BenchError::NoPort { port, ports })? = line;
        Ok(())
    }

    /// Writes a register of a port; all ports run meanwhile.
    ///
    /// # Errors
    /// `Bus`, or `NoPort`.
    pub fn write(&mut self, port: usize, address: u16, data: u32) -> Result<(), BenchError> {
        self.access(port, |it| it.begin_write(address, data))
            .map(drop)
    }

    /// Reads a register of a port; all ports run meanwhile.
    ///
    /// # Errors
    /// `Bus`, or `NoPort`.
    pub fn read(&mut self, port: usize, address: u16) -> Result<u32, BenchError> {
        self.access(port, |it| it.begin_read(address))
    }

    /// Reads a register of two words at one moment.
    ///
    /// # Errors
    /// `Bus`, or `NoPort`.
    pub fn read_wide(&mut self, port: usize, address: u16) -> Result<u64, BenchError> {
        // Reading the low word latches the high one.
        let low = self.read(port, address)?;
        let high = self.read(port, address + 4)?;
        Ok(u64::from(high) << 32 | u64::from(low))
    }

    /// Begins to write a register of a port, so that the caller can inspect single clocks meanwhile;
    /// [`Bench::answer`] returns the result.
    ///
    /// # Errors
    /// `Bus`, or `NoPort`.
    pub fn begin_write(&mut self, port: usize, address: u16, data: u32) -> Result<(), BenchError> {
        let begun = self.port(port)?.begin_write(address, data);
        begun.map_err(|error| BenchError::Bus { port, error })
    }

    /// Begins to read a register of a port, so that the caller can inspect single clocks meanwhile; [`Bench::answer`]
    /// returns the result.
    ///
    /// # Errors
    /// `Bus`, or `NoPort`.
    pub fn begin_read(&mut self, port: usize, address: u16) -> Result<(), BenchError> {
        let begun = self.port(port)?.begin_read(address);
        begun.map_err(|error| BenchError::Bus { port, error })
    }

    /// The result of the pending access of a port, once; `None` while it is pending.
    ///
    /// # Errors
    /// `Bus`, or `NoPort`.
    pub fn answer(&mut self, port: usize) -> Result<Option<u32>, BenchError> {
        let answer = self.port(port)?.answer().transpose();
        answer.map_err(|error| BenchError::Bus { port, error })
    }

    fn port(&mut self, port: usize) -> Result<&mut Port, BenchError> {
        let ports = self.ports.len();
        let it = self.ports.get_mut(port);
        it.ok_or(BenchError::NoPort { port, ports })
    }

    fn access(
        &mut self,
        port: usize,
        begin: impl FnOnce(&mut Port) -> Result<(), BusError>,
    ) -> Result<u32, BenchError> {
        begin(self.port(port)?).map_err(|error| BenchError::Bus { port, error })?;
        loop {
            self.clock();
            if let Some(word) = self.answer(port)? {
                return Ok(word);
            }
        }
    }
}
