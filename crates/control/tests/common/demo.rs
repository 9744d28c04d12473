//! A node without hardware: it counts what it would have sent, exactly by the time it is given. Below it, what the fuzz
//! targets of the protocol do with any bytes.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use wirelab_control::assemble::{Assembled, Assembler};
use wirelab_control::client::Patience;
use wirelab_control::line::{Kind, MAX_LINE};
use wirelab_control::message::{CpuLoad, Identity, Point, Record, Start, Started, Status};
use wirelab_control::node_report::NodeReport;
use wirelab_control::value::{Extent, Path, State, Traffic};
use wirelab_control::{
    Client, Config, Line, LineBuf, NodeHandler, Peer, Refusal, Reply, Request, Server, Transport,
};
use wirelab_trial::{Buffers, ClockKind, Direction, Owner, Spans, stage};
use wirelab_wire::Layer;

/// Frames per second that it pretends to send.
const FRAMES_PER_S: u64 = 1_000;
const POINTS: [&str; 3] = ["isr", "copied", "udp-callback"];

/// The node.
#[derive(Debug)]
pub struct DemoNode {
    identity: Identity,
    setup: Vec<(String, String)>,
    trial: Option<Trial>,
    /// Trials started so far: what must not happen twice.
    pub starts: u32,
}

#[derive(Debug)]
struct Trial {
    frames: u64,
    captures: u32,
    began: Duration,
    limit: Duration,
    ended: Option<(State, Duration)>,
}

impl Default for DemoNode {
    fn default() -> DemoNode {
        let identity = Identity {
            name: "demo".to_owned(),
            setup: 40,
            directions: vec![
                Direction::Transmit,
                Direction::Receive,
                Direction::Both,
                Direction::Echo,
            ],
            layers: vec![Layer::Ethernet, Layer::UdpIpv4],
            buffers: vec![Buffers::Prefilled, Buffers::Copied],
            traffic: vec![Traffic::Test],
            paths: vec![Path::Stack, Path::Loopback],
            ports: 1,
            min_frame_bytes: 64,
            max_frame_bytes: 1518,
            max_frames: 1_000_000,
            max_time_ps: 60_000_000_000_000,
            max_captures: 512,
            idle_ms: 5_000,
        };
        let mut setup = vec![
            ("core".to_owned(), "Cortex-M0".to_owned()),
            ("core_clock_hz".to_owned(), "48000000".to_owned()),
            ("stack".to_owned(), "none, 100 % µ".to_owned()),
        ];
        setup.extend((3..40).map(|n| (format!("key_{n}"), "v".repeat(3 * n))));
        DemoNode {
            identity,
            setup,
            trial: None,
            starts: 0,
        }
    }
}

impl Trial {
    fn frames_at(&self, now: Duration) -> u64 {
        let until = self
            .ended
            .map_or(now, |(_, at)| at)
            .saturating_sub(self.began);
        (until.as_nanos() as u64 * FRAMES_PER_S / 1_000_000_000).min(self.frames)
    }
}

impl NodeHandler for DemoNode {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn setup(&self) -> &[(String, String)] {
        &self.setup
    }

    fn start(
        &mut self,
        _: u32,
        start: &Start,
        limit: Duration,
        _: Peer,
        now: Duration,
    ) -> Result<Started, Refusal> {
        let asked = [
            ("wait", start.wait.is_some()),
            ("rule", start.rule.is_some()),
            ("probes", start.probes.is_some()),
            ("strict_gaps", start.strict_gaps.is_some()),
            ("background_port", start.background_port.is_some()),
            ("clock_id", start.clock_id.is_some()),
        ];
        if let Some((field, _)) = asked.iter().find(|(_, asked)| *asked) {
            return Err(Refusal::unsupported(
                field,
                "this node has no operating system",
            ));
        }
        let frames = match start.extent {
            Extent::Frames(frames) => frames,
            Extent::TimePs(time) => (time / 1_000_000_000) * FRAMES_PER_S / 1_000,
        };
        self.starts += 1;
        let captures = start.captures.unwrap_or(0);
        self.trial = Some(Trial {
            frames,
            captures,
            began: now,
            limit,
            ended: None,
        });
        Ok(Started {
            buffers: start.buffers,
            node_port: start.node_port,
            peer_mac: start.peer_mac,
            peer_ip: start.peer_ip,
            peer_port: start.peer_port,
            ..Started::default()
        })
    }

    fn status(&mut self, now: Duration) -> Status {
        let mut status = Status {
            trial: 0,
            state: State::Idle,
            tx_frames: None,
            rx_frames: None,
            elapsed_ticks: None,
            spans: None,
            clock: None,
            tick_ps: None,
            why: None,
            note: None,
        };
        let Some(trial) = &mut self.trial else {
            return status;
        };
        if trial.ended.is_none() {
            if trial.frames_at(now) >= trial.frames {
                trial.ended = Some((State::Done, now));
            } else if now.saturating_sub(trial.began) >= trial.limit {
                trial.ended = Some((State::Stopped, trial.began + trial.limit));
            }
        }
        let until = trial
            .ended
            .map_or(now, |(_, at)| at)
            .saturating_sub(trial.began);
        status.state = trial.ended.map_or(State::Running, |(state, _)| state);
        status.tx_frames = Some(trial.frames_at(now));
        status.elapsed_ticks = Some(until.as_nanos() as u64);
        status.spans = Some(Spans::Call);
        status.clock = Some(ClockKind::Simulated);
        status.tick_ps = Some(1_000);
        status
    }

    fn stop(&mut self, state: State, now: Duration) {
        if let Some(trial) = &mut self.trial {
            trial.ended.get_or_insert((state, now));
        }
    }

    fn counters(&mut self, port: u32) -> Vec<(String, u64)> {
        if port > 0 {
            return Vec::new();
        }
        let names = (0..30).map(|n| (format!("counter_{n}"), u64::MAX - n));
        [(
            "sent_frames".to_owned(),
            self.trial.as_ref().map_or(0, |t| t.frames),
        )]
        .into_iter()
        .chain(names)
        .collect()
    }

    fn load(&mut self, core: u32) -> Result<CpuLoad, Refusal> {
        if core > 0 {
            return Err(Refusal::limit("core", 0));
        }
        Ok(CpuLoad {
            trial: 0,
            core,
            cores: 1,
            busy_ticks: 24,
            window_ticks: 100,
            idle_busy_ticks: None,
            idle_window_ticks: None,
            clock: ClockKind::Instructions,
            tick_ps: None,
            shared: false,
        })
    }

    fn point(&mut self, point: u32) -> Result<(Point, u32), Refusal> {
        let name = POINTS
            .get(point as usize)
            .ok_or_else(|| Refusal::limit("point", POINTS.len() as u64 - 1))?;
        let about = Point {
            trial: 0,
            point,
            points: POINTS.len() as u32,
            name: (*name).to_owned(),
            stream: 0,
            clock: ClockKind::Wall,
            tick_ps: Some(10_000),
            resolution_ticks: 1,
            owner: Owner::Node,
            lost: 0,
        };
        Ok((about, self.trial.as_ref().map_or(0, |t| t.captures)))
    }

    fn records(&mut self, point: u32, from: u32, most: usize) -> Vec<Record> {
        (from..).take(most).map(|n| record(point, n)).collect()
    }
}

/// The records of the demo node can be computed, so that a test can detect a missing one.
pub fn record(point: u32, index: u32) -> Record {
    // Close to both moduli, so that differences wrap.
    let sequence = (u32::MAX - 99).wrapping_add(index);
    let ticks = (u64::MAX - 1_000_000).wrapping_add(u64::from(index) * 12_345 + u64::from(point));
    Record { sequence, ticks }
}

/// Read any bytes as a line; what can be read must come out the same when it is written and read again.
pub fn fuzz_line(data: &[u8]) {
    for need_check in [false, true] {
        let Ok(line) = Line::parse(data, need_check) else {
            continue;
        };
        let mut out = LineBuf::new();
        if line.kind == Kind::Request {
            let Ok(request) = Request::parse(&line) else {
                continue;
            };
            // The canonical form may be longer than a line that carried no check.
            let Some(again) = request.emit(line.id, &mut out) else {
                continue;
            };
            assert_eq!(
                Line::parse(again, true).map(|l| Request::parse(&l)),
                Ok(Ok(request))
            );
        } else if let Ok(reply) = Reply::parse(&line) {
            let _ = reply.emit(line.id, &mut out);
        }
    }
}

/// Feed any bytes to a node as what comes from a UART and as lines from two hosts, and let time pass between.
pub fn fuzz_server(data: &[u8]) {
    let config = Config {
        max_sessions: 3,
        max_sessions_per_peer: 2,
        seed: Some(1),
    };
    let mut server = Server::new(DemoNode::default(), config);
    let mut assembler = Assembler::new();
    let mut out = LineBuf::new();
    let mut now = Duration::ZERO;
    assembler.push(data, |done| {
        now += Duration::from_millis(700);
        if let Assembled::Line(line) = done {
            for peer in [
                Peer::Serial(0),
                Peer::Host(IpAddr::V4(Ipv4Addr::new(192, 0, 2, line[0]))),
                Peer::Serial(1),
            ] {
                if let Some(answer) = server.handle(line, peer, now, &mut out) {
                    assert!(Line::parse(answer, true).is_ok_and(|l| l.kind != Kind::Request));
                }
                // This address never received a session number: no answer may have more bytes.
                let forged = Peer::Host(IpAddr::V4(Ipv4Addr::new(198, 51, 100, line[0])));
                if let Some(answer) = server.handle_datagram(line, forged, now, &mut out) {
                    assert!(answer.len() <= line.len());
                }
            }
        } else {
            assert!(Line::parse(server.handle_too_long(&mut out), true).is_ok());
        }
        assert!(server.sessions() <= 3);
    });
}

/// What any bytes as the replies of a node make of the times between its capture points: each line of `data` answers one
/// request, whatever it asked, from the name of the command on.
///
/// # Panics
/// If the report holds more than the node sent.
pub fn fuzz_stages(data: &[u8]) {
    let commas = data.iter().filter(|b| **b == b',').count();
    let records = commas + data.split(|b| *b == b'\n').count();
    let mut told = told(data);
    for (_, series) in stage::between(&told.points, &mut told.notes) {
        assert!(series.histogram.count as usize <= records, "{series:?}");
    }
}

pub fn told(data: &[u8]) -> NodeReport {
    let node = Replies {
        lines: data.split(|b| *b == b'\n'),
        id: Vec::new(),
        greeted: false,
        now: Duration::ZERO,
    };
    let patience = Patience {
        first: Duration::from_millis(1),
        longest: Duration::from_millis(1),
        tries: 1,
    };
    let mut client = Client::open_with(node, patience, 1).expect("the greeting is a node's");
    NodeReport::ask(&mut client, 1, true)
}

/// A node with scripted answers.
struct Replies<'a, I: Iterator<Item = &'a [u8]>> {
    lines: I,
    id: Vec<u8>,
    greeted: bool,
    now: Duration,
}

/// The greeting of a node in its shortest form.
const GREETING: &[u8] = b"hello version=1 session=7 name=x setup=0 directions=receive layers=ethernet \
buffers=prefilled traffic=test paths=stack ports=1 min_frame_bytes=64 max_frame_bytes=1518 max_frames=9 \
max_time_ps=9 max_captures=9 idle_ms=9";

impl<'a, I: Iterator<Item = &'a [u8]>> Transport for Replies<'a, I> {
    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        self.id = line[1..]
            .split(|b| *b == b' ')
            .next()
            .unwrap_or_default()
            .to_vec();
        Ok(())
    }

    fn receive(
        &mut self,
        line: &mut [u8; MAX_LINE],
        deadline: Duration,
    ) -> io::Result<Option<usize>> {
        let words = if std::mem::replace(&mut self.greeted, true) {
            self.lines.next()
        } else {
            Some(GREETING)
        };
        let Some(words) = words else {
            self.now = deadline;
            return Ok(None);
        };
        let whole = [b"=", self.id.as_slice(), b" ", words, b"\n"].concat();
        let len = whole.len().min(MAX_LINE);
        line[..len].copy_from_slice(&whole[..len]);
        Ok(Some(len))
    }

    fn now(&self) -> Duration {
        self.now
    }

    fn needs_check(&self) -> bool {
        false
    }
}
