//! The node's side: sends test frames back to their sender.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use wirelab_trial::Cancel;
use wirelab_trial::host_clock::now_ns;
use wirelab_trial::job::Judge;
use wirelab_wire::check::classify_data;
use wirelab_wire::{Header, Layer, Verdict};

use super::Wait;
use crate::flow::{FlowProgress, MOST_BYTES, Reception};
use crate::udp::{PATIENCE, enlarge_queue, is_full, is_not_yet};

/// Empty looks at the socket before a check of the cancel flag.
pub(super) const LOOKS: u32 = 256;

/// Send test frames back, unchanged, until `cancel` is set; each frame is judged after it was sent back. With `from`, only
/// frames from that address are sent back; with `stream`, the counts treat other streams as foreign. A connected socket saves
/// the lookup of the return address. The reflector sends only what it received, so it cannot amplify traffic to a third party.
///
/// # Errors
/// The socket's error before the first frame. A later error is in [`Reception::failure`].
pub fn reflect(
    socket: &UdpSocket,
    from: Option<IpAddr>,
    stream: Option<u8>,
    wait: Wait,
    live: &FlowProgress,
    cancel: &Cancel,
) -> io::Result<Reception> {
    let mut mirror = Mirror {
        connected: socket.peer_addr().ok(),
        from: from.map(|ip| ip.to_canonical()),
        header_bytes: match socket.local_addr()?.is_ipv6() {
            true => Layer::UdpIpv6.header_bytes(),
            false => Layer::UdpIpv4.header_bytes(),
        },
        judge: Judge::new(None, 1),
        stream,
        bytes: 0,
        sent_back_frames: 0,
        refused: 0,
    };
    ready(socket, wait)?;
    // Frames that wait while this process has no core are not lost.
    let _ = enlarge_queue(socket);
    let mut buf = vec![0; MOST_BYTES as usize + 1];
    let mut looks = 0u32;
    let failure = loop {
        match socket.recv_from(&mut buf) {
            Ok((len, peer)) => {
                if let Err(error) = mirror.take(socket, &buf[..len], peer, live) {
                    break Some(error);
                }
                looks = 0;
            }
            Err(error) if is_not_yet(&error) => {
                looks = looks.wrapping_add(1);
            }
            // The peer has closed its socket; another may follow.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) => break Some(error),
        }
        if (wait == Wait::Sleep || looks % LOOKS == 0) && cancel.is_cancelled() {
            break None;
        }
    };
    Ok(mirror.finish(failure))
}

struct Mirror {
    /// The only peer, if the socket is connected: then its address need not be looked up.
    connected: Option<SocketAddr>,
    from: Option<IpAddr>,
    header_bytes: u32,
    judge: Judge,
    /// The stream of the flow, or of the first test frame. The counts treat others as foreign, but they are sent back
    /// too.
    stream: Option<u8>,
    bytes: u64,
    sent_back_frames: u64,
    /// Echoes that the system or the network refused.
    refused: u64,
}

impl Mirror {
    /// Send a datagram back if it is a test frame of the peer, then judge it.
    #[inline]
    fn take(
        &mut self,
        socket: &UdpSocket,
        data: &[u8],
        peer: SocketAddr,
        live: &FlowProgress,
    ) -> io::Result<()> {
        let ours = self
            .from
            .is_some_and(|from| peer.ip().to_canonical() == from);
        let stranger = self.connected.is_some_and(|only| peer != only);
        if stranger || (self.from.is_some() && !ours) {
            self.judge.take(Verdict::Foreign, 0, None);
            return Ok(());
        }
        if let Ok(header) = Header::parse(data) {
            let sent = match self.connected {
                Some(_) => socket.send(data),
                None => socket.send_to(data, peer),
            };
            match sent {
                Ok(_) => self.sent_back_frames += 1,
                Err(error) if is_full(&error) => self.refused += 1,
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => self.refused += 1,
                Err(error) => return Err(error),
            }
            self.stream.get_or_insert(header.stream);
        }
        let now = now_ns();
        let verdict = classify_data(data, self.stream, ours);
        let payload = data.len() as u64 + u64::from(self.header_bytes);
        if self.judge.take(verdict, payload, Some(now)) {
            self.bytes += data.len() as u64;
            live.tell(self.judge.received(), self.bytes, now);
        }
        Ok(())
    }

    fn finish(self, failure: Option<io::Error>) -> Reception {
        let mut report = self.judge.finish_apart();
        if self.refused > 0 {
            let refused = self.refused;
            report
                .notes
                .push(format!("{refused} echoes could not be sent back"));
        }
        Reception {
            report,
            captures: Vec::new(),
            sent_back_frames: self.sent_back_frames,
            by_card: false,
            failure,
        }
    }
}

/// Make calls wait, with a timeout, or not at all.
pub(super) fn ready(socket: &UdpSocket, wait: Wait) -> io::Result<()> {
    socket.set_nonblocking(wait == Wait::Spin)?;
    socket.set_read_timeout(Some(PATIENCE))
}
