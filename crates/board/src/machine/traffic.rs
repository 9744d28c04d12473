//! The tester's side of counted traffic: a stack of its own at the other end of the machine's wire, the same in each run.
//!
//! The host's kernel would number packets and bytes at random, and answer at any time. The numbers, ports and answers of
//! this stack do not depend on the host, and its clock ticks when frames are exchanged. It needs no privilege.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::socket::{tcp, udp};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpCidr, IpEndpoint, IpListenEndpoint};
use wirelab_port::wire::{FrameWire as _, UnixWire};

use super::dhcp;
use super::file::Traffic;
use crate::connection::Addresses;

/// The port that frames are sent from: any that no service of the tester has.
const SOURCE_PORT: u16 = 40_007;
/// Bytes of the first fields of an iperf datagram: sequence, seconds, microseconds, upper half of the sequence.
const HEADER_BYTES: usize = 16;
/// Longest frame without FCS.
const FRAME_BYTES: usize = 1_514;
/// Bytes and datagrams that fit into a socket: more than one frame in flight needs.
const BUFFER_BYTES: usize = 65_535;
const DATAGRAMS: usize = 64;
/// The clock's step at each exchange: too small for retransmissions while a machine counts.
const TICK: smoltcp::time::Duration = smoltcp::time::Duration::from_millis(1);

/// The tester's stack.
pub struct Peer {
    wire: Wire,
    interface: Interface,
    sockets: SocketSet<'static>,
    now: Instant,
    own: Ipv4Addr,
    dhcp: Option<Lease>,
    traffic: Option<Open>,
    data: Vec<u8>,
    sequence: u32,
}

/// The address that is given to the machine.
struct Lease {
    socket: SocketHandle,
    address: Ipv4Addr,
    is_taken: bool,
}

/// The open socket of the counted traffic.
#[derive(Clone, Copy)]
enum Open {
    Udp(SocketHandle, Option<IpEndpoint>),
    /// With the service to connect to, or the port to listen on.
    Tcp(SocketHandle, Result<IpEndpoint, u16>),
}

impl Peer {
    /// The tester's end of a wire; it gives the machine its address by DHCP if requested.
    pub fn new(wire: UnixWire, addresses: &Addresses, gives_address: bool) -> Peer {
        let mut wire = Wire {
            wire,
            frame: Vec::new(),
            moved: 0,
        };
        let mac = EthernetAddress(addresses.tester_mac.0);
        let mut config = Config::new(HardwareAddress::Ethernet(mac));
        config.random_seed = 1;
        let now = Instant::ZERO;
        let mut interface = Interface::new(config, &mut wire, now);
        interface.update_ip_addrs(|all| {
            // The list has room for more than one.
            let _ = all.push(IpCidr::new(addresses.tester_ip.into(), 24));
        });
        let mut sockets = SocketSet::new(Vec::new());
        let dhcp = gives_address.then(|| Lease {
            socket: sockets.add(bound(dhcp::SERVER)),
            address: addresses.ip,
            is_taken: false,
        });
        Peer {
            wire,
            interface,
            sockets,
            now,
            own: addresses.tester_ip,
            dhcp,
            traffic: None,
            data: Vec::new(),
            sequence: 0,
        }
    }

    /// Opens a socket to a service of the machine; each frame has `bytes` bytes of data.
    ///
    /// # Errors
    /// No frames are sent to that service.
    pub fn send_to(&mut self, ip: Ipv4Addr, traffic: Traffic, bytes: usize) -> io::Result<()> {
        self.data = vec![0; bytes];
        self.traffic = Some(match traffic {
            Traffic::Udp(port) => {
                let socket = self.sockets.add(bound(SOURCE_PORT));
                Open::Udp(socket, Some((ip, port).into()))
            }
            Traffic::Tcp(port) => Open::Tcp(self.sockets.add(stream()), Ok((ip, port).into())),
            Traffic::Echo => return Err(io::ErrorKind::InvalidInput.into()),
        });
        Ok(())
    }

    /// Takes what the machine sends to a port.
    ///
    /// # Errors
    /// The traffic is not sent to a port.
    pub fn take_at(&mut self, traffic: Traffic) -> io::Result<()> {
        self.traffic = Some(match traffic {
            Traffic::Udp(port) => Open::Udp(self.sockets.add(bound(port)), None),
            Traffic::Tcp(port) => Open::Tcp(self.sockets.add(stream()), Err(port)),
            Traffic::Echo => return Err(io::ErrorKind::InvalidInput.into()),
        });
        Ok(())
    }

    /// Whether frames can be sent: a service that was started a moment ago may not listen yet.
    pub fn is_connected(&mut self) -> bool {
        match self.traffic {
            Some(Open::Tcp(socket, _)) => self.sockets.get::<tcp::Socket>(socket).may_send(),
            _ => true,
        }
    }

    /// Whether the machine has taken the address that it was given, or needs none.
    pub fn has_given_address(&self) -> bool {
        self.dhcp.as_ref().is_none_or(|lease| lease.is_taken)
    }

    /// Prepares a frame, which goes out with the next exchange. A datagram begins as one of iperf, whose servers count
    /// them; all others take any data.
    ///
    /// # Errors
    /// The socket is closed, or its buffer is full.
    pub fn send(&mut self) -> io::Result<()> {
        self.sequence += 1;
        match self.traffic {
            Some(Open::Udp(socket, Some(to))) => {
                if let Some(first) = self.data.get_mut(..HEADER_BYTES) {
                    first[..4].copy_from_slice(&self.sequence.to_be_bytes());
                }
                let socket = self.sockets.get_mut::<udp::Socket>(socket);
                let sent = socket.send_slice(&self.data, to);
                sent.map_err(|why| io::Error::other(why.to_string()))
            }
            Some(Open::Tcp(socket, Ok(_))) => {
                let socket = self.sockets.get_mut::<tcp::Socket>(socket);
                let sent = socket.send_slice(&self.data);
                let sent = sent.map_err(|why| io::Error::other(why.to_string()))?;
                match sent == self.data.len() {
                    true => Ok(()),
                    false => Err(io::Error::other("the machine acknowledges nothing")),
                }
            }
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Takes all frames that the machine has sent, and sends the answers and the prepared frames; returns whether there
    /// were any.
    pub fn exchange(&mut self) -> bool {
        self.now += TICK;
        let before = self.wire.moved;
        self.connect();
        self.poll();
        self.serve_address();
        self.take_data();
        self.poll();
        self.wire.moved != before
    }

    fn poll(&mut self) {
        self.interface
            .poll(self.now, &mut self.wire, &mut self.sockets);
    }

    /// Connects or listens, also again after the machine refused or closed.
    fn connect(&mut self) {
        let Some(Open::Tcp(socket, place)) = self.traffic else {
            return;
        };
        let socket = self.sockets.get_mut::<tcp::Socket>(socket);
        if socket.is_open() {
            return;
        }
        // The ports are not zero and the socket is closed, so neither is refused.
        let _ = match place {
            Ok(service) => socket
                .connect(self.interface.context(), service, SOURCE_PORT)
                .is_ok(),
            Err(port) => socket.listen(port).is_ok(),
        };
    }

    /// Reads and drops data, so that there is space for more.
    fn take_data(&mut self) {
        match self.traffic {
            None => {}
            Some(Open::Udp(socket, _)) => {
                let socket = self.sockets.get_mut::<udp::Socket>(socket);
                while socket.recv().is_ok() {}
            }
            Some(Open::Tcp(socket, place)) => {
                let socket = self.sockets.get_mut::<tcp::Socket>(socket);
                while socket
                    .recv(|data| (data.len(), data.len()))
                    .is_ok_and(|n| n > 0)
                {}
                if place.is_err() && socket.may_send() && !socket.may_recv() {
                    socket.close();
                }
            }
        }
    }

    fn serve_address(&mut self) {
        let Some(lease) = &mut self.dhcp else {
            return;
        };
        let socket = self.sockets.get_mut::<udp::Socket>(lease.socket);
        while let Ok((message, _)) = socket.recv() {
            let Some(answer) = dhcp::answer(message, self.own, lease.address) else {
                continue;
            };
            let to = (Ipv4Addr::BROADCAST, dhcp::CLIENT);
            let is_sent = socket.send_slice(&answer.bytes, to).is_ok();
            lease.is_taken |= is_sent && answer.is_final;
        }
    }
}

fn bound(port: u16) -> udp::Socket<'static> {
    let buffer = || {
        udp::PacketBuffer::new(
            vec![udp::PacketMetadata::EMPTY; DATAGRAMS],
            vec![0; BUFFER_BYTES],
        )
    };
    let mut socket = udp::Socket::new(buffer(), buffer());
    // It cannot fail: the socket is new, and the port is not zero.
    let _ = socket.bind(IpListenEndpoint::from(port));
    socket
}

/// A socket that acknowledges at once, so that each segment finds the machine's connection in the same state.
fn stream() -> tcp::Socket<'static> {
    let buffer = || tcp::SocketBuffer::new(vec![0; BUFFER_BYTES]);
    let mut socket = tcp::Socket::new(buffer(), buffer());
    socket.set_ack_delay(None);
    socket.set_nagle_enabled(false);
    socket
}

/// The wire as smoltcp sees it.
struct Wire {
    wire: UnixWire,
    frame: Vec<u8>,
    /// Frames in and out.
    moved: u64,
}

impl phy::Device for Wire {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Sent<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Received<'_>, Sent<'_>)> {
        self.frame.resize(FRAME_BYTES, 0);
        // A closed end has no frames; the end of the machine is reported elsewhere.
        let received = self.wire.receive(&mut self.frame, Duration::ZERO);
        let length = received.ok().flatten()?;
        self.frame.truncate(length);
        self.moved += 1;
        Some((Received(&self.frame), Sent(&self.wire, &mut self.moved)))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Sent<'_>> {
        Some(Sent(&self.wire, &mut self.moved))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut all = DeviceCapabilities::default();
        all.medium = Medium::Ethernet;
        all.max_transmission_unit = FRAME_BYTES;
        all
    }
}

struct Received<'a>(&'a [u8]);

impl phy::RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, with: F) -> R {
        with(self.0)
    }
}

struct Sent<'a>(&'a UnixWire, &'a mut u64);

impl phy::TxToken for Sent<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, with: F) -> R {
        let mut frame = vec![0; length];
        let result = with(&mut frame);
        // A frame that does not fit is lost, as on any wire.
        *self.1 += u64::from(self.0.send(&frame).unwrap_or(false));
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 1460;

    /// Sends three frames from one stack to another, which replaces the machine; returns all frames in both
    /// directions.
    fn frames(traffic: Traffic) -> Vec<Vec<u8>> {
        let tester = Addresses::of(0);
        let machine = Addresses {
            ip: tester.tester_ip,
            tester_ip: tester.ip,
            tester_mac: tester.mac,
            mac: tester.tester_mac,
        };
        let (near, near_end) = UnixWire::pair().unwrap();
        let (far, far_end) = UnixWire::pair().unwrap();
        let mut source = Peer::new(near, &tester, false);
        let mut sink = Peer::new(far, &machine, false);
        assert!(source.send_to(tester.ip, Traffic::Echo, BYTES).is_err());
        source.send_to(tester.ip, traffic, BYTES).unwrap();
        sink.take_at(traffic).unwrap();
        let mut all = Vec::new();
        let mut settle = |source: &mut Peer, sink: &mut Peer| {
            while source.exchange() | sink.exchange() {
                for (from, to) in [(&near_end, &far_end), (&far_end, &near_end)] {
                    let mut frame = [0; FRAME_BYTES];
                    while let Some(length) = from.receive(&mut frame, Duration::ZERO).unwrap() {
                        assert!(to.send(&frame[..length]).unwrap());
                        all.push(frame[..length].to_vec());
                    }
                }
            }
        };
        settle(&mut source, &mut sink);
        for _ in 0..3 {
            assert!(source.is_connected());
            source.send().unwrap();
            settle(&mut source, &mut sink);
        }
        all
    }

    #[test]
    fn the_testers_stack_says_the_same_in_each_run() {
        for traffic in [Traffic::Udp(5001), Traffic::Tcp(5001)] {
            let first = frames(traffic);
            let full = first.iter().filter(|frame| frame.len() > BYTES);
            assert_eq!(full.count(), 3, "{traffic:?}");
            assert_eq!(frames(traffic), first, "{traffic:?}");
        }
    }

    #[test]
    fn a_frame_before_a_connection_is_refused() {
        let (wire, _end) = UnixWire::pair().unwrap();
        let mut source = Peer::new(wire, &Addresses::of(0), false);
        assert!(source.send().is_err(), "nothing was opened");
        let to = Addresses::of(0).ip;
        source.send_to(to, Traffic::Tcp(7), BYTES).unwrap();
        assert!(!source.is_connected() && source.send().is_err());
    }
}
