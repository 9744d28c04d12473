//! Datagrams one by one: received, or sent back.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use wirelab_trial::Wait;
use wirelab_trial::host_clock::now_ns;
use wirelab_wire::check::classify_data;
use wirelab_wire::{Header, Layer, Verdict};

use super::{ApplicationTime, Inlet, PATIENCE, Watching};
use crate::flow::{MOST_BYTES, MOST_CAPTURES};
use crate::udp::{enlarge_queue, is_full};

/// The datagrams of one peer, one for each call.
pub struct UdpInlet {
    socket: Arc<UdpSocket>,
    from: Option<IpAddr>,
    stream: Option<u8>,
    header_bytes: u64,
    buf: Vec<u8>,
}

impl UdpInlet {
    /// Take test frames of a stream (by default any); with `from`, datagrams of other addresses are foreign.
    ///
    /// # Errors
    /// The system's error.
    pub fn new(
        socket: Arc<UdpSocket>,
        from: Option<IpAddr>,
        stream: Option<u8>,
        wait: Wait,
        alone: bool,
    ) -> io::Result<UdpInlet> {
        // With a second socket the loop sleeps for both, so no call may block.
        socket.set_nonblocking(wait == Wait::Spin || !alone)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        // Datagrams that wait while this process has no core are not lost.
        let _ = enlarge_queue(&socket);
        let layer = match socket.local_addr()?.is_ipv6() {
            true => Layer::UdpIpv6,
            false => Layer::UdpIpv4,
        };
        Ok(UdpInlet {
            socket,
            from: from.map(|ip| ip.to_canonical()),
            stream,
            header_bytes: u64::from(layer.header_bytes()),
            buf: vec![0; MOST_BYTES as usize + 1],
        })
    }

    /// The descriptor to poll for datagrams.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The next datagram: its length, its sender, and when the application had it.
    #[inline]
    fn next(&mut self) -> io::Result<(usize, SocketAddr, u64)> {
        let (len, peer) = self.socket.recv_from(&mut self.buf)?;
        Ok((len, peer, now_ns()))
    }

    fn is_ours(&self, peer: SocketAddr) -> bool {
        self.from
            .is_some_and(|from| peer.ip().to_canonical() == from)
    }

    #[inline]
    fn judge(&self, len: usize, peer: SocketAddr, at_ns: u64, watching: &mut Watching<'_>) {
        let ours = self.is_ours(peer);
        let verdict = match self.from {
            Some(_) if !ours => Verdict::Foreign,
            _ => classify_data(&self.buf[..len], self.stream, ours),
        };
        let bytes = len as u64;
        watching.frame(verdict, bytes + self.header_bytes, bytes, at_ns);
    }
}

impl Inlet for UdpInlet {
    fn sleep(&self, beside: BorrowedFd<'_>) {
        super::sleep([self.socket.as_fd(), beside]);
    }

    fn take(&mut self, _: bool, watching: &mut Watching<'_>) -> io::Result<usize> {
        let (len, peer, at_ns) = self.next()?;
        self.judge(len, peer, at_ns, watching);
        Ok(1)
    }
}

/// An inlet that sends each test frame back before it judges it.
pub struct UdpEcho {
    inlet: UdpInlet,
    /// The only peer, if the socket is connected.
    connected: Option<SocketAddr>,
    wanted: usize,
    /// The application's times before the calls that send frames back.
    pub sent: Vec<ApplicationTime>,
    /// Frames that were sent back.
    pub sent_back_frames: u64,
    /// Frames that the system or the network refused.
    pub refused_frames: u64,
}

impl UdpEcho {
    /// Send the frames of an inlet back, and record the application's times of the first `captures` frames.
    pub fn new(inlet: UdpInlet, captures: u32) -> UdpEcho {
        let wanted = captures.min(MOST_CAPTURES) as usize;
        UdpEcho {
            connected: inlet.socket.peer_addr().ok(),
            inlet,
            wanted,
            sent: Vec::with_capacity(wanted),
            sent_back_frames: 0,
            refused_frames: 0,
        }
    }

    fn send_back(&mut self, len: usize, peer: SocketAddr, header: &Header) -> io::Result<()> {
        let data = &self.inlet.buf[..len];
        if self.sent.len() < self.wanted {
            self.sent.push(ApplicationTime {
                sequence: header.sequence,
                wire_ns: None,
                application_ns: now_ns(),
            });
        }
        let sent = match self.connected {
            Some(_) => self.inlet.socket.send(data),
            None => self.inlet.socket.send_to(data, peer),
        };
        match sent {
            Ok(_) => self.sent_back_frames += 1,
            Err(error) if is_full(&error) => self.refused_frames += 1,
            // The peer has closed its socket; another frame of it may still arrive.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                self.refused_frames += 1;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Inlet for UdpEcho {
    fn sleep(&self, beside: BorrowedFd<'_>) {
        self.inlet.sleep(beside);
    }

    fn take(&mut self, _: bool, watching: &mut Watching<'_>) -> io::Result<usize> {
        let (len, peer, at_ns) = self.inlet.next()?;
        let stranger = self.connected.is_some_and(|only| peer != only);
        let ours = self.inlet.from.is_none() || self.inlet.is_ours(peer);
        if ours && !stranger {
            if let Ok(header) = Header::parse(&self.inlet.buf[..len]) {
                self.inlet.stream.get_or_insert(header.stream);
                self.send_back(len, peer, &header)?;
            }
        }
        self.inlet.judge(len, peer, at_ns, watching);
        Ok(1)
    }
}
