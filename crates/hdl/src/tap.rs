//! A cable between a simulated port and a Linux interface: frames of one side arrive at the other, in order and
//! complete.
//!
//! The two sides have no common time: the host's frames wait until the simulation takes them, and those of the
//! hardware arrive as fast as the host simulates. So contents, counts and order can be judged across it, but not
//! rates.

use std::io;
use std::time::Duration;

use thiserror::Error;
use wirelab_port::tap::TapPort;
use wirelab_trial::system_error::system_fix;

use crate::bench::{Bench, BenchError};
use crate::wire::{Sniffer, Talker};

/// Clocks between two checks for frames of the host, because a system call in each clock would take most of the time.
const LOOK_CLOCKS: u32 = 64;
/// Buffer for a frame of the host, in bytes: more than the MTU of any TAP device.
const LONGEST_BYTES: usize = 65_536;

/// Why a cable stopped.
#[derive(Debug, Error)]
pub enum TapCableError {
    /// An error of the simulated side.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// An error of the host's side.
    #[error(
        "the TAP device {port} cannot be {what}: {source}; fix: {}",
        system_fix(source)
    )]
    Tap {
        /// The interface.
        port: String,
        /// `read` or `written`.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

/// A cable from a port of a bench to a TAP device.
#[derive(Debug)]
pub struct TapCable {
    tap: TapPort,
    port: usize,
    from_port: Sniffer,
    to_port: Talker,
    buffer: Vec<u8>,
    until_look: u32,
    is_open: bool,
    to_host_frames: u64,
    to_port_frames: u64,
    damaged_frames: u64,
}

impl TapCable {
    /// Joins a port, which must have no other cable, to a TAP device.
    #[must_use]
    pub fn new(port: usize, tap: TapPort) -> TapCable {
        TapCable {
            tap,
            port,
            from_port: Sniffer::new(),
            to_port: Talker::new(),
            buffer: vec![0; LONGEST_BYTES],
            until_look: 0,
            is_open: true,
            to_host_frames: 0,
            to_port_frames: 0,
            damaged_frames: 0,
        }
    }

    /// One clock of the bench and the cable.
    ///
    /// # Errors
    /// [`TapCableError`]: no such port, or the system's error of the TAP device.
    pub fn clock(&mut self, bench: &mut Bench) -> Result<(), TapCableError> {
        let line = bench.line(self.port);
        if let Some(frame) = self.from_port.take(bench.clocks(), line) {
            match frame.intact() {
                Some(bytes) => {
                    let written = self.tap.write_frame(bytes);
                    written.map_err(|source| self.failed("written", source))?;
                    self.to_host_frames += 1;
                }
                None => self.damaged_frames += 1,
            }
        }
        self.look()?;
        bench.bring(self.port, self.to_port.step())?;
        bench.clock();
        Ok(())
    }

    /// Takes a frame of the host if there is one and none is waiting here; further ones wait in the kernel.
    fn look(&mut self) -> Result<(), TapCableError> {
        if self.to_port.waiting() > 0 || !self.is_open {
            return Ok(());
        }
        if self.until_look > 0 {
            self.until_look -= 1;
            return Ok(());
        }
        if !self.wait(Duration::ZERO)? {
            self.until_look = LOOK_CLOCKS;
        }
        Ok(())
    }

    /// Waits for a frame of the host without clocks; false if none arrived within `patience`.
    ///
    /// # Errors
    /// The system's error of the TAP device.
    pub fn wait(&mut self, patience: Duration) -> Result<bool, TapCableError> {
        let read = self.tap.read_frame(&mut self.buffer, Some(patience));
        let read = read.map_err(|source| self.failed("read", source))?;
        if let Some(length) = read {
            self.to_port.push(&self.buffer[..length]);
            self.to_port_frames += 1;
        }
        Ok(read.is_some())
    }

    /// Takes no more frames of the host; those on the line continue.
    pub fn close(&mut self) {
        self.is_open = false;
    }

    /// Whether no frame of the host is on the line or waits on this side of the TAP device.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.to_port.is_silent()
    }

    fn failed(&self, what: &'static str, source: io::Error) -> TapCableError {
        TapCableError::Tap {
            port: self.tap.port().to_string(),
            what,
            source,
        }
    }

    /// Frames passed to the host.
    #[must_use]
    pub fn to_host_frames(&self) -> u64 {
        self.to_host_frames
    }

    /// Frames received from the host; the last may still be on the line.
    #[must_use]
    pub fn to_port_frames(&self) -> u64 {
        self.to_port_frames
    }

    /// Frames of the port that were not passed to the host: their FCS was wrong, or a byte was marked as wrong.
    #[must_use]
    pub fn damaged_frames(&self) -> u64 {
        self.damaged_frames
    }
}
