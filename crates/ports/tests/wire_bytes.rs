//! Every byte on the wire, for every receiver: both paths, with and without a capture, each layer, up to two tags,
//! and receivers that write into the frames they get. The frames on the wire are compared with the frame format here,
//! and by `verify` of the capture, so the test does not rely on the checker under test.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common;
use crate::common::{Frames, alone, assert_clean, ip, options, run, tap, trial};
use wirelab_port::iface::{Interface, PortName};
use wirelab_port::job::SendJob;
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_port::netns::may_test;
use wirelab_port::packet::Checker;
use wirelab_port::pcapng::{CaptureWriter, VerifyOptions, WriterOptions, verify};
use wirelab_ports::{Pair, Path, PortsNode, one_way};
use wirelab_trial::{Framing, Layer, Node, Size, SizeUnit, Trial};
use wirelab_wire::{Flags, Flow, Header, header};

/// Three batches of the fast path, and fewer than a veth's ring holds.
const FRAMES: u64 = 200;
const ARP: [u8; 2] = [0x08, 0x06];
const QUIET: Duration = Duration::from_millis(100);

/// Two pairs of a lab; the node's side is between them if `between` connects it.
struct Rig {
    lab: EphemeralLab,
    node: PortsNode,
    from: PortName,
    to: PortName,
    /// The port at which frames enter the connection.
    inside: Option<PortName>,
    ttl_less: u8,
}

impl Rig {
    fn new(prefix: &str, through: bool) -> Option<Rig> {
        let spec = LabSpec::unique(prefix, 2);
        let lab = may_test().then(|| EphemeralLab::up(&spec).unwrap())?;
        let port = |pair, side| lab.port(pair, side).unwrap();
        let (from, to) = if through {
            (port(0, Side::Tester), port(1, Side::Tester))
        } else {
            (port(0, Side::Node), port(0, Side::Tester))
        };
        let pair = Pair {
            node: from.clone(),
            tester: to.clone(),
        };
        Some(Rig {
            inside: through.then(|| port(0, Side::Node)),
            node: PortsNode::new(prefix, vec![pair], options(Path::Xdp)).unwrap(),
            lab,
            from,
            to,
            ttl_less: 0,
        })
    }

    /// With GRO, a veth takes XDP frames from its other end and passes them on as packets.
    fn gro(&self, pair: u8, side: Side, threaded: bool) {
        self.lab.set_threaded_napi(pair, side, true).unwrap();
        self.lab.set_threaded_napi(pair, side, threaded).unwrap();
    }

    fn one(&mut self, trial: &Trial, path: Path, captured: bool) {
        let what = format!("{path:?}, captured {captured}, {:?}", trial.framing);
        let pairs = self.node.pairs().to_vec();
        // The ports are free for the next node only after the last one is dropped.
        drop(std::mem::replace(
            &mut self.node,
            PortsNode::new("none", Vec::new(), options(path)).unwrap(),
        ));
        self.node = PortsNode::new("bytes", pairs, options(path)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("wire.pcapng");
        let writer = captured.then(|| {
            let interfaces = self.node.capture_interfaces();
            let writer = CaptureWriter::create(&file, &interfaces, &WriterOptions::default());
            Arc::new(Mutex::new(writer.unwrap()))
        });
        if let Some(writer) = &writer {
            self.node.capture_into(Arc::clone(writer));
        }
        let job = self.job(trial);
        // Without a capture the checker of the fast path takes frames from the receiving port before any other
        // reader.
        let seen_at = if captured || path == Path::Packet {
            Some(&self.to)
        } else {
            self.inside.as_ref()
        };
        let tap = seen_at.map(|port| Tap::start(port, &job));
        assert_clean(&run(&mut self.node, trial), &what);
        if let Some(tap) = tap {
            let routed = if seen_at == Some(&self.to) {
                self.ttl_less
            } else {
                0
            };
            compare(&tap.frames(), &job, routed, &what);
        }
        self.node.end_capture().unwrap();
        if let Some(writer) = writer {
            let writer = Arc::into_inner(writer).unwrap().into_inner().unwrap();
            writer.finish().unwrap();
            let options = VerifyOptions {
                sent: Some(FRAMES),
                ..VerifyOptions::default()
            };
            let report = verify(&file, &options).unwrap();
            assert!(report.is_clean(), "{what}: {report:?}");
        }
    }

    fn job(&self, trial: &Trial) -> SendJob {
        let mac = |port| Interface::query(port).unwrap().mac.0;
        one_way::one_way_job(trial, mac(&self.from), mac(&self.to), 0, None).unwrap()
    }
}

/// A separate tap on a port.
struct Tap {
    checker: Checker,
    frames: Frames,
}

impl Tap {
    fn start(port: &PortName, job: &SendJob) -> Tap {
        let flow = Flow {
            source: Some(job.frame.source),
            ..Flow::default()
        };
        let (checker, frames) = tap(port, flow);
        Tap { checker, frames }
    }

    /// The frames of the trial, which may follow others that searched for the receiver.
    fn frames(self) -> Vec<Vec<u8>> {
        let seen = self.checker.finish(QUIET).unwrap();
        // The comparison shows any further losses.
        assert_eq!(seen.missed.at_least, 0, "the tap itself lost frames");
        let mut frames = std::mem::take(&mut *self.frames.lock().unwrap());
        // The stacks at both ends resolve each other.
        frames.retain(|frame| frame[12..14] != ARP);
        let others = frames.len().saturating_sub(FRAMES as usize);
        frames.split_off(others)
    }
}

/// All frames in order, each in the frame format; `routed` is the number of hops by which the time to live fell.
#[track_caller]
fn compare(frames: &[Vec<u8>], job: &SendJob, routed: u8, what: &str) {
    let at = job.frame.header_offset();
    for (sequence, frame) in frames.iter().enumerate() {
        let head: [u8; header::LEN] = frame[at..at + header::LEN].try_into().unwrap();
        let time_ns = Header::parse(&head).unwrap().time_ns;
        let header = Header {
            flags: Flags::TIME_VALID,
            stream: 0,
            sequence: sequence as u32,
            time_ns,
            lfsr_len: 0,
        };
        let mut right = vec![0xEE; job.sizes.length as usize];
        job.frame.build(&job.sizes, &header, &mut right);
        if routed > 0 {
            route(&mut right, routed);
        }
        assert_eq!(frame, &right, "{what}: frame {sequence}");
    }
    assert_eq!(frames.len() as u64, FRAMES, "{what}");
}

/// A router's change of an untagged IPv4 header (RFC 1812, 5.3.1).
fn route(frame: &mut [u8], hops: u8) {
    frame[22] -= hops;
    frame[24..26].fill(0);
    let words = frame[14..34].chunks(2);
    let sum: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    frame[24..26].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

const LAYERS: [Layer; 3] = [Layer::Ethernet, Layer::UdpIpv4, Layer::UdpIpv6];

fn all(rig: &mut Rig, layers: &[Layer], tags: &[u8]) {
    for path in [Path::Xdp, Path::Packet] {
        for captured in [false, true] {
            for layer in layers {
                for vlan_tags in tags {
                    let framing = Framing {
                        layer: *layer,
                        vlan_tags: *vlan_tags,
                    };
                    let trial = Trial {
                        framing,
                        size: Size::new(SizeUnit::Frame, 131),
                        ..trial(FRAMES)
                    };
                    rig.one(&trial, path, captured);
                }
            }
        }
    }
}

/// A stack that removes tags, and one that joins frames in a thread. Neither alone shows that each byte is written
/// again, because the first frames in a page's memory are right anyway. The bridge below does.
#[test]
fn a_stack_at_the_other_end_gets_every_byte() {
    let _alone = alone();
    for joins in [false, true] {
        let Some(mut rig) = Rig::new("wlwa", false) else {
            return;
        };
        if joins {
            rig.gro(0, Side::Tester, true);
        }
        all(&mut rig, &LAYERS, &[0, 1, 2]);
    }
}

#[test]
fn a_bridge_with_gro_hands_on_every_byte() {
    let Some(mut rig) = Rig::new("wlwc", true) else {
        return;
    };
    let _alone = alone();
    rig.gro(0, Side::Node, false);
    common::bridge(rig.inside.as_ref().unwrap());
    all(&mut rig, &LAYERS, &[0, 1, 2]);
}

#[test]
fn a_router_hands_on_every_byte_that_it_must() {
    let Some(mut rig) = Rig::new("wlwd", true) else {
        return;
    };
    let _alone = alone();
    rig.gro(0, Side::Node, false);
    rig.ttl_less = 1;
    let inside = rig.inside.clone().unwrap();
    let mac = |port| Interface::query(port).unwrap().mac.to_string();
    let (from, to) = (mac(&rig.from), mac(&rig.to));
    // The router replies for the receiver's address and sends as the sender, so that the flow's addresses are right
    // on both sides.
    ip(&inside, &["address", "flush", "dev", "n0"]);
    ip(&inside, &["address", "flush", "dev", "n1"]);
    ip(&inside, &["link", "set", "dev", "n0", "address", &to]);
    ip(&inside, &["link", "set", "dev", "n1", "address", &from]);
    ip(&inside, &["address", "add", "198.18.0.254/24", "dev", "n0"]);
    ip(&inside, &["route", "add", "198.18.0.2/32", "dev", "n1"]);
    // Only the tester can announce where the receiver is.
    ip(&rig.to, &["address", "flush", "dev", "t1"]);
    let set = |name: &str, value: &str| {
        let file = format!("/proc/sys/net/ipv4/{name}");
        std::fs::write(&file, value).unwrap_or_else(|e| panic!("{file}: {e}"));
    };
    let namespace = inside.netns().unwrap();
    namespace
        .run_in(|| {
            set("ip_forward", "1");
            set("conf/all/rp_filter", "0");
            set("conf/n0/rp_filter", "0");
        })
        .unwrap();
    all(&mut rig, &[Layer::UdpIpv4], &[0]);
}
