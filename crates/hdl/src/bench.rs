//! Ports that are joined by cables and share a clock.

use thiserror::Error;

use crate::port::{BusError, Line, Port};

/// Why ports were not joined, or a register of one not reached.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BenchError {
    /// A cable names a port that is not there.
    #[error("a cable goes to port {port}, and there are {ports}, from 0 on")]
    NoPort {
        /// The port it names.
        port: usize,
        /// How many there are.
        ports: usize,
    },
    /// Two cables end at one port.
    #[error("two cables end at port {0}")]
    TwoCables(usize),
    /// A checker does not begin.
    #[error("the checker of port {port} is not ready {clocks} clocks after it was cleared")]
    NotReady {
        /// Its port.
        port: usize,
        /// How long was waited.
        clocks: u64,
    },
    /// A register was not read or written.
    #[error("port {port}: {error}")]
    Bus {
        /// The port it belongs to.
        port: usize,
        /// What its bus says.
        error: BusError,
    },
}

/// Ports under one clock, joined by cables in both directions.
pub struct Bench {
    ports: Vec<Port>,
    /// For each port the one it is joined to; none: what arrives comes from outside.
    peers: Vec<Option<usize>>,
    lines: Vec<Line>,
    outside: Vec<Line>,
}

impl Bench {
    /// So many ports after their reset, and cables between two each; a cable from a port to itself is a loopback.
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
                let place = peers
                    .get_mut(end)
                    .ok_or(BenchError::NoPort { port: end, ports })?;
                if place.replace(peer).is_some() {
                    return Err(BenchError::TwoCables(end));
                }
            }
        }
        Ok(Self {
            ports: (0..ports).map(|_| Port::new()).collect(),
            peers,
            lines: vec![Line::default(); ports],
            outside: vec![Line::default(); ports],
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

    /// So many clocks of all ports.
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

    /// What a port sends now; nothing for a port that is not there.
    #[must_use]
    pub fn line(&self, port: usize) -> Line {
        self.ports.get(port).map_or(Line::default(), Port::line)
    }

    /// What a port without a cable hears from the next clock on, until it is told otherwise.
    ///
    /// # Errors
    /// `NoPort`.
    pub fn bring(&mut self, port: usize, line: Line) -> Result<(), BenchError> {
        let ports = self.ports.len();
        let outside = self.outside.get_mut(port);
        *outside.ok_or(BenchError::NoPort { port, ports })? = line;
        Ok(())
    }

    /// Writes a register of a port; all go on while it takes.
    ///
    /// # Errors
    /// `Bus`, or `NoPort`.
    pub fn write(&mut self, port: usize, address: u16, data: u32) -> Result<(), BenchError> {
        self.access(port, |it| it.begin_write(address, data))
            .map(drop)
    }

    /// Reads a register of a port; all go on while it takes.
    ///
    /// # Errors
    /// `Bus`, or `NoPort`.
    pub fn read(&mut self, port: usize, address: u16) -> Result<u32, BenchError> {
        self.access(port, |it| it.begin_read(address))
    }

    /// Reads a register of two words, both of one moment.
    ///
    /// # Errors
    /// `Bus`, or `NoPort`.
    pub fn read_wide(&mut self, port: usize, address: u16) -> Result<u64, BenchError> {
        // The low word keeps the high one.
        let low = self.read(port, address)?;
        let high = self.read(port, address + 4)?;
        Ok(u64::from(high) << 32 | u64::from(low))
    }

    /// Begins to write a register of a port, so that clocks can be looked at one by one meanwhile; [`Bench::answer`]
    /// tells when it has ended.
    ///
    /// # Errors
    /// `Bus`, or `NoPort`.
    pub fn begin_write(&mut self, port: usize, address: u16, data: u32) -> Result<(), BenchError> {
        let begun = self.port(port)?.begin_write(address, data);
        begun.map_err(|error| BenchError::Bus { port, error })
    }

    /// Begins to read a register of a port, so that clocks can be looked at one by one meanwhile; [`Bench::answer`]
    /// tells when it has ended.
    ///
    /// # Errors
    /// `Bus`, or `NoPort`.
    pub fn begin_read(&mut self, port: usize, address: u16) -> Result<(), BenchError> {
        let begun = self.port(port)?.begin_read(address);
        begun.map_err(|error| BenchError::Bus { port, error })
    }

    /// The result of the access that was begun at a port, once; `None` while it goes on.
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
