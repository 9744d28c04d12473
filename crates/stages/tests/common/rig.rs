//! A lab's pair with a node's and a tester's end, and frames sent between them.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use wirelab_port::iface::PortName;
use wirelab_port::inject::Schedule;
use wirelab_port::job::{Pace, SendJob, SendReport};
use wirelab_port::lab::{Lab, Side};
use wirelab_port::xdp::{Generator, GeneratorOptions};
use wirelab_trial::{Cancel, Extent};
use wirelab_wire::{FrameSpec, Size, SizeUnit, Transport};

pub struct Rig {
    pub node: PortName,
    pub tester: PortName,
    addresses: [std::net::Ipv4Addr; 2],
    macs: [[u8; 6]; 2],
}

impl Rig {
    pub fn new(lab: &Lab) -> Rig {
        let sides = [Side::Tester, Side::Node];
        Rig {
            node: lab.port(0, Side::Node).unwrap(),
            tester: lab.port(0, Side::Tester).unwrap(),
            addresses: sides.map(|side| lab.address(0, side)),
            macs: sides.map(|side| lab.mac(0, side).0),
        }
    }

    /// Plain Ethernet from the tester to the node.
    pub fn ethernet(&self) -> FrameSpec {
        FrameSpec {
            destination: self.macs[1],
            source: self.macs[0],
            vlans: [None, None],
            transport: Transport::Ethernet,
            dscp: 0,
        }
    }

    /// UDP over IPv4 from the tester to a port of the node.
    pub fn udp(&self, port: u16) -> FrameSpec {
        FrameSpec {
            transport: Transport::UdpIpv4 {
                addresses: self.addresses,
                ports: [4000, port],
            },
            ..self.ethernet()
        }
    }

    /// Sends from the tester at `per_s` frames/s, or as fast as it can.
    pub fn send(&self, spec: &FrameSpec, frames: u64, per_s: Option<f64>) -> SendReport {
        let jobs = [(self.tester.clone(), job(spec, frames, per_s))];
        // A reflector may be at the other end.
        let options = GeneratorOptions {
            ..GeneratorOptions::default()
        };
        let generator = Generator::load(&jobs, options).unwrap();
        generator.run(&Cancel::new()).unwrap().remove(0)
    }

    /// Like [`Rig::send`], on a core: a veth puts frames into the receive queue with the number of the sending core.
    pub fn send_on(&self, core: usize, spec: &FrameSpec, frames: u64, per_s: f64) {
        let jobs = [(self.tester.clone(), job(spec, frames, Some(per_s)))];
        let options = GeneratorOptions {
            cpu: Some(core),
            ..GeneratorOptions::default()
        };
        let generator = Generator::load(&jobs, options).unwrap();
        // A separate thread, because it pins itself.
        std::thread::scope(|scope| {
            let sent = scope.spawn(|| generator.run(&Cancel::new()).unwrap());
            sent.join().unwrap();
        });
    }

    /// A socket of the node's stack on a port, which waits at most 10 s.
    pub fn node_socket(&self, port: u16) -> UdpSocket {
        self.socket(&self.node, (self.addresses[1], port).into())
    }

    /// A socket of the tester's stack that is connected to a port of the node.
    pub fn tester_socket(&self, port: u16) -> UdpSocket {
        let socket = self.socket(&self.tester, (self.addresses[0], 0).into());
        socket.connect((self.addresses[1], port)).unwrap();
        socket
    }

    fn socket(&self, port: &PortName, address: SocketAddr) -> UdpSocket {
        let namespace = port.netns().unwrap();
        let socket = namespace
            .run_in(|| UdpSocket::bind(address))
            .unwrap()
            .unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        socket
    }
}

pub fn job(spec: &FrameSpec, frames: u64, per_s: Option<f64>) -> SendJob {
    let frame = spec.framing().min_test_frame().max(100);
    SendJob {
        frame: *spec,
        sizes: Size::new(SizeUnit::Frame, frame)
            .resolve_test(spec.framing())
            .unwrap(),
        stream: 0,
        with_time: true,
        pace: Pace::of(per_s),
        extent: Extent::Frames { frames },
        faults: Schedule::default(),
        buffers: None,
    }
}

/// `ip` in the port's namespace; whether it succeeded.
pub fn ip(port: &PortName, arguments: &[&str]) -> bool {
    let namespace = port.namespace.as_deref().unwrap();
    let status = std::process::Command::new("ip")
        .args(["-n", namespace])
        .args(arguments)
        .status();
    status.unwrap().success()
}
