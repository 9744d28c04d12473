//! An echo on smoltcp, UDP and TCP port 7: the board's driver as smoltcp's device, and its main loop.
#![no_std]

mod ffi;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet, SocketStorage};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::{tcp, udp};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr};

const PORT: u16 = 7;
const MOST_BYTES: usize = 1472;
const FRAME_BYTES: usize = 1514;
const TCP_BYTES: usize = 4 * 1460;
const PACKETS: usize = 8;
/// smoltcp has no value for "when something arrives".
const LONGEST_SLEEP_US: u64 = 100_000;

/// The board's MAC: frames are read in place, and written into one buffer.
struct Mac {
    send: [u8; FRAME_BYTES],
}

struct Received;

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, with: F) -> R {
        let result = with(ffi::received().unwrap_or_default());
        ffi::received_done();
        result
    }
}

struct Sent<'a>(&'a mut [u8; FRAME_BYTES]);

impl TxToken for Sent<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, with: F) -> R {
        let frame = &mut self.0[..length];
        let result = with(frame);
        ffi::send(frame);
        result
    }
}

impl Device for Mac {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sent<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Received, Sent<'_>)> {
        ffi::received()?;
        Some((Received, Sent(&mut self.send)))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Sent<'_>> {
        Some(Sent(&mut self.send))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut all = DeviceCapabilities::default();
        all.medium = Medium::Ethernet;
        all.max_transmission_unit = FRAME_BYTES;
        all
    }
}

fn echo_udp(socket: &mut udp::Socket, bytes: &mut [u8]) {
    while socket.can_recv() && socket.can_send() {
        let Ok((count, from)) = socket.recv_slice(bytes) else {
            return;
        };
        ffi::echo_has_data();
        // Both buffers are of the same length, so it fits.
        let _ = socket.send_slice(&bytes[..count], from.endpoint);
    }
}

fn echo_tcp(socket: &mut tcp::Socket, bytes: &mut [u8]) {
    if !socket.is_open() {
        let _ = socket.listen(PORT);
    }
    while socket.can_recv() && socket.can_send() {
        let room = bytes
            .len()
            .min(socket.send_capacity() - socket.send_queue());
        let Ok(count @ 1..) = socket.recv_slice(&mut bytes[..room]) else {
            return;
        };
        ffi::echo_has_data();
        let _ = socket.send_slice(&bytes[..count]);
    }
    if socket.may_send() && !socket.may_recv() {
        socket.close();
    }
}

/// All long-lived data; static, so that the stack can be small.
struct Memory {
    mac: Mac,
    bytes: [u8; MOST_BYTES],
    udp: [[u8; PACKETS * MOST_BYTES]; 2],
    packets: [[udp::PacketMetadata; PACKETS]; 2],
    tcp: [[u8; TCP_BYTES]; 2],
    sockets: [SocketStorage<'static>; 2],
}

static MEMORY: ffi::Single<Memory> = ffi::Single::new(Memory {
    mac: Mac {
        send: [0; FRAME_BYTES],
    },
    bytes: [0; MOST_BYTES],
    udp: [[0; PACKETS * MOST_BYTES]; 2],
    packets: [[udp::PacketMetadata::EMPTY; PACKETS]; 2],
    tcp: [[0; TCP_BYTES]; 2],
    sockets: [SocketStorage::EMPTY; 2],
});

fn sockets(
    udp: &'static mut [[u8; PACKETS * MOST_BYTES]; 2],
    packets: &'static mut [[udp::PacketMetadata; PACKETS]; 2],
    tcp: &'static mut [[u8; TCP_BYTES]; 2],
    set: &mut SocketSet<'static>,
) -> (SocketHandle, SocketHandle) {
    let [udp_in, udp_out] = udp;
    let [packets_in, packets_out] = packets;
    let [tcp_in, tcp_out] = tcp;
    let mut server = udp::Socket::new(
        udp::PacketBuffer::new(&mut packets_in[..], &mut udp_in[..]),
        udp::PacketBuffer::new(&mut packets_out[..], &mut udp_out[..]),
    );
    let _ = server.bind(PORT);
    let listener = tcp::Socket::new(
        tcp::SocketBuffer::new(&mut tcp_in[..]),
        tcp::SocketBuffer::new(&mut tcp_out[..]),
    );
    (set.add(server), set.add(listener))
}

/// Runs forever, with the MAC's address: its last four bytes are the IPv4 address.
pub(crate) fn run(mac: [u8; 6]) -> ! {
    let memory = MEMORY.take();
    let now = || Instant::from_micros(ffi::now_us() as i64);
    let mut config = Config::new(HardwareAddress::Ethernet(EthernetAddress(mac)));
    config.random_seed = 1;
    let mut interface = Interface::new(config, &mut memory.mac, now());
    interface.update_ip_addrs(|all| {
        let _ = all.push(IpCidr::new(
            IpAddress::v4(mac[2], mac[3], mac[4], mac[5]),
            24,
        ));
    });
    let mut set = SocketSet::new(&mut memory.sockets[..]);
    let (udp, tcp) = sockets(
        &mut memory.udp,
        &mut memory.packets,
        &mut memory.tcp,
        &mut set,
    );
    ffi::say("READY\n\0");
    loop {
        let time = now();
        interface.poll(time, &mut memory.mac, &mut set);
        echo_udp(set.get_mut(udp), &mut memory.bytes);
        echo_tcp(set.get_mut(tcp), &mut memory.bytes);
        interface.poll(time, &mut memory.mac, &mut set);
        let sleep = interface
            .poll_delay(now(), &set)
            .map_or(LONGEST_SLEEP_US, |delay| delay.total_micros());
        ffi::sleep_us(sleep.min(LONGEST_SLEEP_US));
    }
}
