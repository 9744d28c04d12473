//! What is typed at a machine's console, and what it prints.
//!
//! A counting machine gets its input while it is stopped, and its output is read from QEMU's log at that moment: so
//! the next character arrives at the same instruction in each run.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::MachineError;
use super::running::Machine;
use crate::console::printable;

/// Longest time of a console command.
const COMMAND: Duration = Duration::from_secs(20);

impl Machine {
    /// Types commands at the console, each after the prompt. Names in braces get their values, those of `more` too.
    ///
    /// # Errors
    /// [`MachineError::Silent`] where no prompt follows, [`MachineError::Ended`].
    pub fn commands(
        &mut self,
        commands: &[&String],
        more: &[(&str, String)],
    ) -> Result<(), MachineError> {
        let prompt = self.file.console.prompt.clone();
        let Some(prompt) = prompt.filter(|_| !commands.is_empty()) else {
            return Ok(());
        };
        let mut stream =
            UnixStream::connect(self.console_socket()).map_err(MachineError::io("the console"))?;
        stream
            .set_nonblocking(true)
            .map_err(MachineError::io("the console"))?;
        for command in commands {
            let line = self.filled(command, more) + &self.file.console.enter;
            let from = self.console.length();
            self.type_in(&mut stream, line.as_bytes())?;
            let what = format!(
                "no prompt '{}' followed '{}'",
                printable(&prompt),
                printable(command)
            );
            self.drained(&mut stream, from, &prompt, &what)?;
        }
        Ok(())
    }

    /// Types bytes: to a counting machine one in each step, so that each arrives at the same instruction in each run.
    fn type_in(&mut self, stream: &mut UnixStream, bytes: &[u8]) -> Result<(), MachineError> {
        let most = if self.steps.is_some() { 1 } else { bytes.len() };
        let begun = Instant::now();
        let mut rest = bytes;
        while !rest.is_empty() {
            match stream.write(&rest[..most.min(rest.len())]) {
                Ok(count) => rest = &rest[count..],
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(source) => {
                    return Err(MachineError::Io {
                        what: "the console".to_owned(),
                        source,
                    });
                }
            }
            drain(stream);
            self.step()?;
            if begun.elapsed() > COMMAND {
                return Err(self.silent(
                    "the console accepted no more characters",
                    COMMAND,
                    "does its image read its UART?",
                ));
            }
        }
        Ok(())
    }

    /// Waits for a text in the log, and drains the socket meanwhile: QEMU waits for its reader.
    fn drained(
        &mut self,
        stream: &mut UnixStream,
        from: u64,
        text: &str,
        what: &str,
    ) -> Result<(), MachineError> {
        let begun = Instant::now();
        loop {
            drain(stream);
            if self.console.has_printed(from, text) {
                return Ok(());
            }
            self.step()?;
            if begun.elapsed() > COMMAND {
                return Err(self.silent(
                    what,
                    COMMAND,
                    "does the prompt of the machine file look like that of the console?",
                ));
            }
        }
    }

    pub(super) fn wait_for(
        &mut self,
        from: u64,
        text: &str,
        patience: Duration,
        what: &str,
    ) -> Result<(), MachineError> {
        let begun = Instant::now();
        while !self.console.has_printed(from, text) {
            self.step()?;
            if begun.elapsed() > patience {
                let what = format!("{what} (its console did not print '{}')", printable(text));
                let fix =
                    "does the machine file have the right console, and a sufficient patience?";
                return Err(self.silent(&what, patience, fix));
            }
        }
        Ok(())
    }
}

fn drain(stream: &mut UnixStream) {
    let mut bytes = [0; 4096];
    while stream.read(&mut bytes).is_ok_and(|count| count > 0) {}
}
