//! Frames one by one, from a packet socket.

use std::io;
use std::os::fd::BorrowedFd;

use wirelab_control::value::Mac;
use wirelab_socket::serve::{self, Inlet, Watching};
use wirelab_trial::host_clock::now_ns;
use wirelab_wire::{Flow, Verdict, classify};

use super::link::TestSocket;

/// Longer frames are cut.
const LONGEST: usize = 9300;
/// Bytes of the Ethernet header.
const ETHERNET: usize = 14;

/// The frames of one peer, one for each call.
pub struct LinkInlet {
    link: TestSocket,
    flow: Flow,
    peer: [u8; 6],
    blocking: bool,
    frame: Vec<u8>,
}

impl LinkInlet {
    /// Take test frames of a peer's stream. With `blocking`, a call waits for a frame.
    pub fn new(link: TestSocket, peer: Mac, stream: u8, blocking: bool) -> LinkInlet {
        LinkInlet {
            link,
            flow: Flow {
                source: Some(peer.0),
                udp_port: 0,
                stream: Some(stream),
                dscp: None,
            },
            peer: peer.0,
            blocking,
            frame: vec![0; LONGEST],
        }
    }
}

impl Inlet for LinkInlet {
    fn sleep(&self, beside: BorrowedFd<'_>) {
        serve::sleep([self.link.fd(), beside]);
    }

    fn take(&mut self, _: bool, watching: &mut Watching<'_>) -> io::Result<usize> {
        let len = match self.blocking {
            true => self.link.receive(&mut self.frame)?.len,
            false => self.link.receive_now(&mut self.frame)?.len,
        };
        let at_ns = now_ns();
        let frame = &self.frame[..len];
        let verdict = match frame.get(6..12) == Some(&self.peer[..]) {
            true => classify(frame, &self.flow),
            false => Verdict::Foreign,
        };
        let bytes = len.saturating_sub(ETHERNET) as u64;
        watching.frame(verdict, bytes, bytes, at_ns);
        Ok(1)
    }
}
