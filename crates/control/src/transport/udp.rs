//! Lines over UDP, one per datagram.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use super::{Stopwatch, Transport, is_timeout};
use crate::line::MAX_LINE;

/// A UDP socket connected to a node, so that only its datagrams are received.
#[derive(Debug)]
pub struct UdpTransport {
    socket: UdpSocket,
    clock: Stopwatch,
}

impl UdpTransport {
    /// A socket connected to `to`.
    ///
    /// # Errors
    /// The error of making or connecting the socket, e.g. no route.
    pub fn connect(to: SocketAddr) -> io::Result<UdpTransport> {
        let any = match to {
            SocketAddr::V4(_) => SocketAddr::from(([0u8; 4], 0)),
            SocketAddr::V6(_) => SocketAddr::from(([0u16; 8], 0)),
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(to)?;
        Ok(UdpTransport {
            socket,
            clock: Stopwatch::start(),
        })
    }
}

/// An ICMP "port unreachable" for an earlier datagram: the node may not have started yet, and the client repeats.
fn is_unreachable(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
}

impl Transport for UdpTransport {
    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        match self.socket.send(line) {
            Err(error) if !is_unreachable(&error) && !is_timeout(&error) => Err(error),
            _ => Ok(()),
        }
    }

    fn receive(
        &mut self,
        line: &mut [u8; MAX_LINE],
        deadline: Duration,
    ) -> io::Result<Option<usize>> {
        // One byte more than a line may have, so that a longer datagram is detected and dropped.
        let mut bytes = [0; MAX_LINE + 1];
        while let Some(left) = self.clock.left(deadline) {
            self.socket
                .set_read_timeout(Some(left.max(Duration::from_micros(1))))?;
            match self.socket.recv(&mut bytes) {
                Ok(len) if len <= MAX_LINE => {
                    line[..len].copy_from_slice(&bytes[..len]);
                    return Ok(Some(len));
                }
                Ok(_) => {}
                Err(error) if is_unreachable(&error) => {
                    std::thread::sleep(left.min(Duration::from_millis(20)))
                }
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn now(&self) -> Duration {
        self.clock.now()
    }

    fn needs_check(&self) -> bool {
        false
    }

    fn is_forgeable(&self) -> bool {
        true
    }
}
