//! Shared by the tests of the portable path: a lab's first pair with jobs for it, and hand-made frames.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use wirelab_port::iface::PortName;
use wirelab_port::inject::Schedule;
use wirelab_port::job::{CheckJob, CheckReport, Pace, SendJob, SendReport};
use wirelab_port::lab::{Lab, Side};
use wirelab_port::netns::NetNs;
use wirelab_port::packet::{CheckOptions, Checker, FrameSink, SendOptions, send};
use wirelab_trial::{Cancel, Extent};
use wirelab_wire::{Flags, Flow, FrameSpec, Header, Size, SizeUnit, Sizes, Transport};

use crate::common::sys::RawSocket;

/// How long to wait for late frames on a busy host.
pub const DRAIN: Duration = Duration::from_millis(200);

/// Far longer than any step here takes; only a failure waits that long.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Rig {
    pub node: PortName,
    pub tester: PortName,
    pub spec: FrameSpec,
}

impl Rig {
    pub fn new(lab: &Lab) -> Rig {
        Rig {
            node: lab.port(0, Side::Node).unwrap(),
            tester: lab.port(0, Side::Tester).unwrap(),
            spec: spec(lab.mac(0, Side::Tester).0, lab.mac(0, Side::Node).0),
        }
    }

    /// Set this queueing discipline on the sending port.
    pub fn shape(&self, qdisc: &str) {
        let whole = format!("qdisc replace dev {} root {qdisc}", self.node.interface);
        call("tc", &self.node, &whole.split(' ').collect::<Vec<_>>());
    }

    pub fn check(&self) -> CheckJob {
        CheckJob {
            flow: Flow {
                source: Some(self.spec.source),
                ..Flow::default()
            },
            slots: None,
            time_every: 1,
        }
    }

    pub fn start(&self) -> Checker {
        Checker::start(&self.tester, &self.check(), CheckOptions::default()).unwrap()
    }

    pub fn run(&self, job: &SendJob) -> (SendReport, CheckReport) {
        self.run_with(job, &self.check())
    }

    pub fn run_with(&self, job: &SendJob, check: &CheckJob) -> (SendReport, CheckReport) {
        let checker = Checker::start(&self.tester, check, CheckOptions::default()).unwrap();
        let sent = send(&self.node, job, &SendOptions::default(), &Cancel::new()).unwrap();
        let seen = checker.finish(DRAIN).unwrap();
        let sequences = sent.sequences;
        (sent, seen.with_sent(sequences))
    }
}

pub fn spec(destination: [u8; 6], source: [u8; 6]) -> FrameSpec {
    FrameSpec {
        destination,
        source,
        vlans: [None, None],
        transport: Transport::Ethernet,
        dscp: 0,
    }
}

pub fn sizes(spec: &FrameSpec, frame: u32) -> Sizes {
    Size::new(SizeUnit::Frame, frame)
        .resolve_test(spec.framing())
        .unwrap()
}

/// This many frames as fast as possible, each with its time.
pub fn job(spec: FrameSpec, frame: u32, frames: u64) -> SendJob {
    SendJob {
        frame: spec,
        sizes: sizes(&spec, frame),
        stream: 0,
        with_time: true,
        pace: Pace::Max,
        extent: Extent::Frames { frames },
        faults: Schedule::default(),
        buffers: None,
    }
}

pub fn built(spec: &FrameSpec, frame: u32, sequence: u32) -> Vec<u8> {
    let sizes = sizes(spec, frame);
    let mut out = vec![0; sizes.length as usize];
    let header = Header {
        flags: Flags::NONE,
        stream: 0,
        sequence,
        time_ns: 0,
        lfsr_len: 0,
    };
    spec.build(&sizes, &header, &mut out);
    out
}

pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(
            Instant::now() < deadline,
            "waited {PATIENCE:?}, but: {what}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub fn unix_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64
}

/// `ip` in the port's namespace.
pub fn ip(port: &PortName, arguments: &[&str]) {
    call("ip", port, arguments);
}

fn call(program: &str, port: &PortName, arguments: &[&str]) {
    let namespace = port.namespace.as_deref().unwrap();
    let status = std::process::Command::new(program)
        .args(["-n", namespace])
        .args(arguments)
        .status()
        .unwrap();
    assert!(status.success(), "{program} -n {namespace} {arguments:?}");
}

/// A socket for frames made by hand.
pub struct Wire(RawSocket);

impl Wire {
    pub fn open(port: &PortName) -> Wire {
        Wire(RawSocket::open(port, wirelab_wire::header::ETHERTYPE))
    }

    pub fn send(&self, frame: &[u8]) {
        self.0.send(frame).unwrap();
    }
}

/// Keeps frames in memory, and fails like a full disk after a number of them.
pub struct Memory {
    room: usize,
    frames: Arc<Mutex<Frames>>,
}

type Frames = Vec<(u64, Vec<u8>)>;

impl Memory {
    pub fn new(room: usize) -> (Memory, Arc<Mutex<Frames>>) {
        let frames = Arc::default();
        (
            Memory {
                room,
                frames: Arc::clone(&frames),
            },
            frames,
        )
    }
}

impl FrameSink for Memory {
    fn frame(&mut self, unix_ns: u64, frame: &[u8]) -> io::Result<()> {
        if self.room == 0 {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.room -= 1;
        self.frames.lock().unwrap().push((unix_ns, frame.to_vec()));
        Ok(())
    }
}

/// A namespace that is deleted at the end of a test, also of a failed one.
pub struct Namespace(pub String);

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = NetNs::delete(&self.0);
    }
}

/// Whether this host has TAP devices; otherwise prints the line that the test runner expects for a skip.
pub fn tap_here() -> bool {
    if std::path::Path::new("/dev/net/tun").exists() {
        return true;
    }
    let _ = writeln!(io::stderr(), "WIRELAB-SKIP tun: /dev/net/tun is missing");
    false
}
