//! A node without hardware: it counts what it would have sent, exactly by the time it is told. For tests, for
//! fuzzing, and as the shortest example of a [`NodeHandler`].

use std::time::Duration;

use wirelab_trial::{Buffers, ClockKind, Direction, Owner, Spans};
use wirelab_wire::Layer;

use super::{NodeHandler, Peer};
use crate::message::{CpuLoad, Identity, Point, Start, Started, Status};
use crate::page::Record;
use crate::refusal::Refusal;
use crate::value::{Extent, Path, State, Traffic};

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

/// The records of the demo node can be computed, so that a test can tell whether one is missing.
pub fn record(point: u32, index: u32) -> Record {
    // Close to both moduli, so that differences wrap.
    let sequence = (u32::MAX - 99).wrapping_add(index);
    let ticks = (u64::MAX - 1_000_000).wrapping_add(u64::from(index) * 12_345 + u64::from(point));
    Record { sequence, ticks }
}
