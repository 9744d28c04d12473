//! QEMU's machine protocol (QMP): one command, one answer, as lines of JSON over a Unix socket.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longest time for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most bytes of a line.
const MOST_BYTES: usize = 256 * 1024;

/// A connection to a QEMU.
#[derive(Debug)]
pub struct Qmp {
    stream: UnixStream,
    pending: Vec<u8>,
}

impl Qmp {
    /// Connects and agrees on the protocol.
    ///
    /// # Errors
    /// The socket's error, or that the other end does not speak QMP.
    pub fn connect(path: &Path) -> io::Result<Qmp> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(Duration::from_millis(50)))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut qmp = Qmp {
            stream,
            pending: Vec::new(),
        };
        let greeting = qmp.line(Instant::now() + PATIENCE)?;
        if greeting.get("QMP").is_none() {
            return Err(io::Error::other(format!("QEMU greets with {greeting}")));
        }
        qmp.execute("qmp_capabilities", json!({}))?;
        Ok(qmp)
    }

    /// Runs a command and returns its result. Events in between are skipped.
    ///
    /// # Errors
    /// QEMU's error, or that it does not answer.
    pub fn execute(&mut self, command: &str, arguments: Value) -> io::Result<Value> {
        let request = json!({ "execute": command, "arguments": arguments });
        self.stream.write_all(format!("{request}\n").as_bytes())?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut answer = self.line(deadline)?;
            if let Some(error) = answer.get("error") {
                let why = error["desc"].as_str().unwrap_or("it gives no reason");
                return Err(io::Error::other(format!("QEMU refuses {command}: {why}")));
            }
            if let Some(returned) = answer.get_mut("return") {
                return Ok(returned.take());
            }
        }
    }

    fn line(&mut self, deadline: Instant) -> io::Result<Value> {
        loop {
            if let Some(end) = self.pending.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                return serde_json::from_slice(&line).map_err(io::Error::other);
            }
            if self.pending.len() > MOST_BYTES || Instant::now() > deadline {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "QEMU does not answer on its control socket",
                ));
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(len) => self.pending.extend_from_slice(&bytes[..len]),
                Err(e)
                    if matches!(
                        e.kind(),
                        io::ErrorKind::WouldBlock
                            | io::ErrorKind::TimedOut
                            | io::ErrorKind::Interrupted
                    ) => {}
                Err(e) => return Err(e),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    fn against(script: &[&str]) -> io::Result<()> {
        let script = script.concat();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("qmp.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.write_all(script.as_bytes());
            // Sends no more, and reads until the other end has closed.
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let made = Qmp::connect(&path).map(drop);
        server.join().unwrap();
        made
    }

    #[test]
    fn events_are_passed_over_and_errors_told() {
        let greeting = "{\"QMP\": {\"version\": {}}}\r\n";
        assert!(against(&[greeting, "{\"event\": \"RESET\"}\n", "{\"return\": {}}\n"]).is_ok());
        let refused = against(&[greeting, "{\"error\": {\"desc\": \"not now\"}}\n"]).unwrap_err();
        assert!(refused.to_string().contains("not now"), "{refused}");
        assert!(against(&["{\"SSH\": 2}\n"]).is_err());
        assert!(against(&["not JSON\n"]).is_err());
        assert!(against(&[greeting]).is_err(), "it hangs up");
    }
}
