//! The emulated board behind its serial line: a transport of the control protocol that runs the board while it waits.

use std::io;
use std::time::Duration;

use wirelab_control::line::MAX_LINE;
use wirelab_control::transport::Transport;
use wirelab_emulator::emac::CYCLE_PS;
use wirelab_emulator::lpc1768::Lpc1768;

/// Cycles between two checks of the line: 0.2 ms of simulated time.
const SLICE: u64 = 20_000;
/// Most bytes of an unfinished line: far more than the protocol has, so that noise is not split into lines.
const MOST_PENDING: usize = 64 * 1024;
/// Most bytes kept of the console.
const MOST_CONSOLE: usize = 64 * 1024;

/// A board with its serial line.
pub struct Serial {
    /// The board.
    pub board: Lpc1768,
    pending: Vec<u8>,
    console: Vec<u8>,
}

impl Serial {
    /// The line of a board.
    pub fn new(board: Lpc1768) -> Serial {
        Serial {
            board,
            pending: Vec::new(),
            console: Vec::new(),
        }
    }

    /// Lines that the board printed outside the control protocol.
    pub fn console(&self) -> String {
        String::from_utf8_lossy(&self.console).into_owned()
    }

    /// Runs the board for some simulated time.
    ///
    /// # Errors
    /// Where the firmware cannot continue.
    pub fn run_cycles(&mut self, cycles: u64) -> io::Result<()> {
        let until = self.board.cycle().saturating_add(cycles);
        let result = self.board.run_until(until);
        self.pending.extend(self.board.take_serial());
        if self.pending.len() > MOST_PENDING {
            self.pending.clear();
        }
        result.map_err(|halt| io::Error::other(halt.to_string()))
    }

    /// The next whole line, without its line feed.
    pub fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.pending.iter().position(|byte| *byte == b'\n')?;
        let mut line: Vec<u8> = self.pending.drain(..=end).collect();
        line.pop();
        if !matches!(line.first(), Some(b'?' | b'=' | b'!')) && self.console.len() < MOST_CONSOLE {
            self.console.extend(&line);
            self.console.push(b'\n');
        }
        Some(line)
    }
}

impl Transport for Serial {
    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        if self.board.send_serial(line) < line.len() {
            let text = "the firmware does not read its serial line: too many bytes wait there";
            return Err(io::Error::other(text));
        }
        Ok(())
    }

    fn receive(
        &mut self,
        line: &mut [u8; MAX_LINE],
        deadline: Duration,
    ) -> io::Result<Option<usize>> {
        loop {
            while let Some(heard) = self.line() {
                // A line longer than any of the protocol is not one.
                if let Some(target) = line.get_mut(..heard.len()) {
                    target.copy_from_slice(&heard);
                    return Ok(Some(heard.len()));
                }
            }
            if self.now() >= deadline {
                return Ok(None);
            }
            self.run_cycles(SLICE)?;
        }
    }

    /// Simulated time.
    fn now(&self) -> Duration {
        Duration::from_nanos(self.board.cycle().saturating_mul(CYCLE_PS / 1000))
    }

    fn needs_check(&self) -> bool {
        true
    }
}
