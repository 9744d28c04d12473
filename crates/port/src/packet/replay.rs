//! Sends frames that were made elsewhere.

use std::io;
use std::time::{Duration, Instant};

use super::error::PacketError;
use super::socket_of;
use super::sys::socket::PacketSocket;
use crate::iface::{Interface, PortName};

/// How long a full transmit queue may take no frame.
const PATIENCE: Duration = Duration::from_secs(2);

/// Pause between two tries on a full queue: a few frames of a gigabit link.
const PAUSE: Duration = Duration::from_micros(50);

/// Sends frames unchanged on a port.
pub struct Replayer {
    port: PortName,
    socket: PacketSocket,
}

impl Replayer {
    /// Opens a socket that sends on `port`.
    ///
    /// # Errors
    /// [`PacketError::Iface`], [`PacketError::Privilege`] or [`PacketError::Setup`], which name what is missing.
    pub fn open(port: &PortName) -> Result<Replayer, PacketError> {
        let index = Interface::query(port)?.index;
        let socket = socket_of(port)?;
        // EtherType 0 receives nothing.
        socket
            .bind(index, 0)
            .map_err(|e| PacketError::setup(port, "the interface", e))?;
        Ok(Replayer {
            port: port.clone(),
            socket,
        })
    }

    /// Sends one frame (destination address first, without FCS). Waits up to 2 s while the port's queue is full.
    ///
    /// # Errors
    /// [`PacketError::Setup`] with the system's reason, e.g. that the frame is too long for the port.
    pub fn send(&self, frame: &[u8]) -> Result<(), PacketError> {
        let mut memory = frame.to_vec();
        let begin = Instant::now();
        loop {
            let sent = self
                .socket
                .send_frames(&mut memory, frame.len(), &[frame.len()]);
            match sent {
                Err(error) if is_full(&error) && begin.elapsed() < PATIENCE => {
                    std::thread::sleep(PAUSE);
                }
                sent => {
                    return sent
                        .map(drop)
                        .map_err(|e| PacketError::setup(&self.port, "a frame", e));
                }
            }
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS))
}
