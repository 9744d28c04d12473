//! The node's debug link: a transport of the control protocol that runs the node while it waits.

use std::io;
use std::time::Duration;

use wirelab_control::line::MAX_LINE;
use wirelab_control::transport::Transport;

use crate::reference::Reference;

/// Clocks between two checks of the link: 2 µs of simulated time.
const LOOK_CLOCKS: u64 = 200;
/// Most bytes of the program's other output that are kept.
const MOST_CONSOLE: usize = 64 * 1024;

/// A node with its debug link.
pub struct DebugLink {
    /// The node.
    pub node: Reference,
    line: Vec<u8>,
    console: Vec<u8>,
}

impl DebugLink {
    /// The link of a node.
    pub fn new(node: Reference) -> DebugLink {
        DebugLink {
            node,
            line: Vec::new(),
            console: Vec::new(),
        }
    }

    /// The program's output outside the protocol, and the incomplete line.
    pub fn console(&self) -> String {
        let all = [&self.console[..], &self.line[..]].concat();
        String::from_utf8_lossy(&all).into_owned()
    }

    /// Runs for a while; returns a complete line of the protocol, if one arrived.
    pub fn look(&mut self) -> Option<Vec<u8>> {
        self.node.run(LOOK_CLOCKS);
        let mut answer = None;
        for byte in self.node.uart_read() {
            if byte != b'\n' {
                // A longer line is not of the protocol; its beginning shows what it is.
                if self.line.len() < MAX_LINE {
                    self.line.push(byte);
                }
                continue;
            }
            let line = std::mem::take(&mut self.line);
            if matches!(line.first(), Some(b'=' | b'!')) {
                answer = Some(line);
            } else if self.console.len() < MOST_CONSOLE {
                self.console.extend(line);
                self.console.push(byte);
            }
        }
        answer
    }
}

impl Transport for DebugLink {
    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        self.node.uart_write(line);
        Ok(())
    }

    fn receive(
        &mut self,
        line: &mut [u8; MAX_LINE],
        deadline: Duration,
    ) -> io::Result<Option<usize>> {
        while self.now() < deadline {
            let Some(heard) = self.look() else { continue };
            if let Some(target) = line.get_mut(..heard.len()) {
                target.copy_from_slice(&heard);
                return Ok(Some(heard.len()));
            }
        }
        Ok(None)
    }

    /// Simulated time.
    fn now(&self) -> Duration {
        Duration::from_nanos(self.node.now_ps() / 1000)
    }

    fn needs_check(&self) -> bool {
        true
    }
}
