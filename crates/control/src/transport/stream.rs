//! Lines over anything that reads and writes bytes: a UART, a pseudo-terminal, a Unix socket.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::time::Duration;

use super::{Stopwatch, Transport, is_timeout};
use crate::assemble::{Assembled, Assembler};
use crate::line::MAX_LINE;

/// Pause between two checks of a non-blocking stream: less than one character at 115,200 baud (87 µs, ten bits) would
/// only waste CPU time.
const PAUSE: Duration = Duration::from_micros(100);
/// Complete lines kept while the client reads one at a time; beyond that the oldest are dropped.
const KEPT: usize = 64;

/// A stream of bytes as a transport, with checks.
///
/// `read` must not block forever: give the stream a read timeout, or make it non-blocking.
#[derive(Debug)]
pub struct StreamTransport<S> {
    stream: S,
    assembler: Assembler,
    lines: VecDeque<Vec<u8>>,
    clock: Stopwatch,
}

impl<S: Read + Write> StreamTransport<S> {
    /// A transport over `stream`. It first sends a line feed, which ends an earlier incomplete line.
    ///
    /// # Errors
    /// The error of writing to the stream.
    pub fn new(mut stream: S) -> io::Result<StreamTransport<S>> {
        stream.write_all(b"\n")?;
        Ok(StreamTransport {
            stream,
            assembler: Assembler::new(),
            lines: VecDeque::new(),
            clock: Stopwatch::start(),
        })
    }

    fn read_some(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 4096];
        let len = match self.stream.read(&mut bytes) {
            Ok(0) => {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the other end is closed",
                ));
            }
            Ok(len) => len,
            Err(error) if is_timeout(&error) => return Ok(false),
            Err(error) => return Err(error),
        };
        let lines = &mut self.lines;
        self.assembler.push(&bytes[..len], |done| {
            if let Assembled::Line(line) = done {
                if lines.len() == KEPT {
                    lines.pop_front();
                }
                lines.push_back(line.to_vec());
            }
        });
        Ok(true)
    }
}

impl<S: Read + Write> Transport for StreamTransport<S> {
    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        write_patiently(&mut self.stream, line)
    }

    fn receive(
        &mut self,
        line: &mut [u8; MAX_LINE],
        deadline: Duration,
    ) -> io::Result<Option<usize>> {
        loop {
            if let Some(first) = self.lines.pop_front() {
                line[..first.len()].copy_from_slice(&first);
                return Ok(Some(first.len()));
            }
            if self.clock.left(deadline).is_none() {
                return Ok(None);
            }
            if !self.read_some()? {
                std::thread::sleep(PAUSE);
            }
        }
    }

    fn now(&self) -> Duration {
        self.clock.now()
    }

    fn needs_check(&self) -> bool {
        true
    }
}

/// Writes all of a line to a stream that may not accept it at once; for two seconds, enough for 512 bytes at any speed
/// above 2,560 baud.
pub(crate) fn write_patiently(stream: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    let clock = Stopwatch::start();
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(len) => bytes = &bytes[len..],
            Err(error) if is_timeout(&error) && clock.now() < Duration::from_secs(2) => {
                std::thread::sleep(PAUSE)
            }
            Err(error) => return Err(error),
        }
    }
    stream.flush()
}
