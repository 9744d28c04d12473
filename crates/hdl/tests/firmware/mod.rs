//! The firmware of the reference node on its model: a tester that sends requests over the debug link, and sends and
//! receives frames.

pub mod image;

use std::net::Ipv4Addr;

use wirelab_control::client::{Client, Patience, PointRecords};
use wirelab_control::message::{Start, Started, Status};
use wirelab_control::value::{Extent, State, UnitPoint};
use wirelab_hdl::reference::{REFERENCE_CLOCK_PS, Reference, Straps, TimedFrame};
use wirelab_hdl::reference_node::DebugLink;
use wirelab_trial::Direction;
use wirelab_wire::{
    Flags, Flow, FrameSpec, Header, Layer, Size, SizeUnit, Verdict, classify, fcs, frame,
};

pub const NODE_MAC: [u8; 6] = [0x02, 0, 0x0A, 0x37, 0, 2];
pub const NODE_IP: Ipv4Addr = Ipv4Addr::new(10, 55, 0, 2);
pub const TESTER_MAC: [u8; 6] = [0x02, 0, 0x0A, 0x37, 0, 1];
pub const TESTER_IP: Ipv4Addr = Ipv4Addr::new(10, 55, 0, 1);
const PORT: u16 = 5003;
/// The program clears half of the memory and initialises lwIP before it prints READY.
const START_CLOCKS: u64 = 20_000_000;
/// The reply to a frame takes less than 1 ms.
const ANSWER_CLOCKS: u64 = 200_000;
/// Clocks from the end of a reply to the next frame: the node still judges the bytes of the previous one.
const GAP_CLOCKS: u32 = 15_000;

/// The debug link of a node with an image that has printed READY; `None` without an image.
pub fn start(straps: Straps, name: &str) -> Option<DebugLink> {
    let mut node = Reference::new(straps);
    node.load(&image::or_skip(name)?)
        .expect("the image is a program");
    let mut link = DebugLink::new(node);
    let said = next_line(&mut link, 0);
    assert!(said.starts_with("READY"), "{said}");
    Some(link)
}

/// Runs until the node has printed another line after this many bytes, and returns it.
pub fn next_line(link: &mut DebugLink, known_bytes: usize) -> String {
    let begin = link.node.clocks();
    while !link.console()[known_bytes..].contains('\n') {
        assert!(
            link.node.clocks() - begin < START_CLOCKS && link.node.exit_status().is_none(),
            "the node says no line; it said: {}",
            link.console()
        );
        link.look();
    }
    link.console().split_off(known_bytes)
}

/// A node that runs the firmware, and its tester.
pub struct Bench {
    pub control: Client<DebugLink>,
}

impl Bench {
    /// Starts the node and opens a session; `None` without an image.
    pub fn start(straps: Straps) -> Option<Bench> {
        let link = start(straps, "reference.elf")?;
        let control = Client::open(link, Patience::default()).expect("the node opens a session");
        Some(Bench { control })
    }

    pub fn node(&mut self) -> &mut Reference {
        &mut self.control.transport().node
    }

    /// The next frame of the node, without its FCS; `None` if there is none.
    pub fn answer(&mut self) -> Option<TimedFrame> {
        let node = self.node();
        node.run_until(ANSWER_CLOCKS, |it| it.sent_frames() > 0);
        let mut frame = node.take_sent()?;
        assert!(!frame.marked);
        let end = frame.bytes.split_off(frame.bytes.len() - 4);
        assert_eq!(fcs::fcs(&frame.bytes), end[..], "the frame's FCS is wrong");
        Some(frame)
    }

    /// Sends a frame without FCS over the line.
    pub fn send(&mut self, frame: &[u8]) {
        let mut whole = frame.to_vec();
        whole.extend(fcs::fcs(frame));
        self.node().send(&whole);
    }

    /// Resolves the node's link-layer address, as a host does first; the node then knows the tester's.
    pub fn resolve(&mut self) {
        let mut arp = [[0xFF; 6], TESTER_MAC].concat();
        arp.extend([0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1]);
        arp.extend(TESTER_MAC);
        arp.extend(TESTER_IP.octets());
        arp.extend([0; 6]);
        arp.extend(NODE_IP.octets());
        arp.resize(60, 0);
        // It announced itself when it started.
        while self.node().take_sent().is_some() {}
        self.send(&arp);
        let reply = self.answer().expect("the node answers ARP").bytes;
        assert_eq!(reply[..6], TESTER_MAC);
        assert_eq!(reply[20..28], [&[0, 2][..], &NODE_MAC].concat());
        assert_eq!(reply[28..32], NODE_IP.octets());
    }

    /// Start a trial of `frames` UDP frames of a length.
    pub fn trial(
        &mut self,
        direction: Direction,
        frames: u32,
        fill: impl FnOnce(&mut Start),
    ) -> Started {
        let mut start = Start {
            peer_ip: Some(TESTER_IP.into()),
            ..Start::new(direction, Layer::UdpIpv4, Extent::Frames(u64::from(frames)))
        };
        fill(&mut start);
        self.control.start(start).expect("the trial starts")
    }

    /// Wait until the trial has ended.
    pub fn ended(&mut self, trial: u32) -> Status {
        for _ in 0..100 {
            let status = self
                .control
                .status(Some(trial))
                .expect("the node reports it");
            if status.state != State::Running {
                return status;
            }
            self.node().run(500_000);
        }
        panic!("the trial does not end");
    }

    /// An echo trial of frames of these lengths, one at a time, with every byte verified; returns the unit's records
    /// of a point: clocks by sequence.
    pub fn echoes(
        &mut self,
        lengths: &[u32],
        unit: Option<UnitPoint>,
        fast: bool,
    ) -> Vec<(u32, u64)> {
        let trial = self.echo_trial(lengths, unit, fast);
        unit.map(|_| self.counts(trial)).unwrap_or_default()
    }

    /// The same trial with the units' records of all points, from the line to each, and from each to the line.
    pub fn all_points(&mut self, lengths: &[u32]) -> [Vec<(u32, u64)>; 6] {
        let trial = self.echo_trial(lengths, Some(UnitPoint::All), false);
        let points = wirelab_control::node_report::points(&mut self.control, trial);
        let points = points.expect("the node reports it");
        let names: Vec<&str> = points.iter().map(|p| p.point.name.as_str()).collect();
        let received = ["line", "interrupt", "driver", "application"];
        assert_eq!(names[..4], received);
        assert_eq!(names[4..], ["application", "driver", "mac", "line"]);
        [(0, 1), (0, 2), (0, 3), (4, 7), (5, 7), (6, 7)]
            .map(|(from, to)| apart(&points[from], &points[to]))
    }

    fn echo_trial(&mut self, lengths: &[u32], unit: Option<UnitPoint>, fast: bool) -> u32 {
        let frames = lengths.len() as u32;
        let started = self.trial(Direction::Echo, frames, |start| {
            start.capture_unit = unit;
            start.captures = unit.map(|_| frames);
            start.path = fast.then_some(wirelab_control::value::Path::FastTrack);
        });
        for (sequence, &length) in (0..).zip(lengths) {
            let sent = test_frame(length, sequence, 9);
            // The node has handled the previous frame, and is at another point of its main loop each time.
            self.node().run(u64::from(GAP_CLOCKS + sequence * 37 % 101));
            self.send(&sent);
            let back = self.answer().expect("the frame comes back");
            check_echo(&sent, &back.bytes, sequence);
        }
        let status = self.ended(started.trial);
        let all = Some(u64::from(frames));
        assert_eq!((status.state, status.rx_frames), (State::Done, all));
        started.trial
    }

    /// The unit's counts for each frame of a trial.
    pub fn counts(&mut self, trial: u32) -> Vec<(u32, u64)> {
        let points = wirelab_control::node_report::points(&mut self.control, trial)
            .expect("the node reports it");
        assert_eq!(points.len(), 2);
        apart(&points[0], &points[1])
    }
}

/// Clocks from one point to another, by sequence.
pub fn apart(first: &PointRecords, second: &PointRecords) -> Vec<(u32, u64)> {
    assert_eq!(first.point.lost, 0, "frames have no record");
    assert_eq!(first.point.tick_ps, Some(REFERENCE_CLOCK_PS));
    first
        .records
        .iter()
        .zip(&second.records)
        .map(|(begin, end)| {
            assert_eq!(begin.sequence, end.sequence);
            (begin.sequence, end.ticks - begin.ticks)
        })
        .collect()
}

/// Whether a frame is the echo of another: swapped addresses, and each byte of the datagram.
fn check_echo(sent: &[u8], back: &[u8], sequence: u32) {
    assert_eq!((&back[..6], &back[6..12]), (&TESTER_MAC[..], &NODE_MAC[..]));
    let flow = Flow {
        source: Some(NODE_MAC),
        udp_port: 40_001,
        ..Flow::default()
    };
    assert!(
        matches!(classify(back, &flow), Verdict::Good(header) if header.sequence == sequence),
        "{:?} of {back:02x?}",
        classify(back, &flow)
    );
    assert_eq!(back.len(), sent.len());
    assert_eq!(back[42..], sent[42..]);
}

/// A test frame of this many bytes without FCS to the node's port.
pub fn test_frame(length: u32, sequence: u32, stream: u8) -> Vec<u8> {
    let spec = FrameSpec {
        destination: NODE_MAC,
        source: TESTER_MAC,
        vlans: [None; 2],
        transport: frame::Transport::UdpIpv4 {
            addresses: [TESTER_IP, NODE_IP],
            ports: [40_001, PORT],
        },
        dscp: 0,
    };
    let sizes = Size::new(SizeUnit::Length, length)
        .resolve_test(spec.framing())
        .expect("a length of a test frame");
    let mut bytes = vec![0; length as usize];
    let header = Header {
        flags: Flags::NONE,
        stream,
        sequence,
        time_ns: 0,
        lfsr_len: 0,
    };
    spec.build(&sizes, &header, &mut bytes);
    bytes
}
