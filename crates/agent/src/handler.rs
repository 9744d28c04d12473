//! The node behind the protocol: takes what was asked apart, starts it, and tells what came of it.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use wirelab_control::message::{CpuLoad, Identity, Point, Start, Started, Status};
use wirelab_control::page::Record;
use wirelab_control::value::{self, Extent, Load, State};
use wirelab_control::{NodeHandler, Peer, Refusal};
use wirelab_cores::Steering;
use wirelab_socket::flow::{Expect, LEAST_BYTES, MOST_BYTES, Offer};
use wirelab_trial::job::Pace;
use wirelab_trial::{ClockKind, Direction, Spans};
use wirelab_wire::{Framing, Layer, LineRate, Overhead, Size, SizeUnit, Sizes};

use crate::engine::Plan;
use crate::limits::Limits;
use crate::meter::Watch;
use crate::options::Options;
use crate::place::{Notices, Place};
use crate::reports;
use crate::serve::AgentError;
use crate::supervisor::Running;
use crate::tcp::{self, TcpTrial};
use crate::udp::{self, UdpTrial};
use crate::{facts, place};

/// UDP and TCP port of trials unless another is asked.
const TRIAL_PORT: u16 = wirelab_wire::header::UDP_PORT;
/// How long `stop` waits for the end, so that most clients need not ask again.
const STOPPING: Duration = Duration::from_millis(100);

/// A Linux box as a node.
#[derive(Debug)]
pub struct Agent {
    identity: Identity,
    setup: Vec<(String, String)>,
    limits: Limits,
    place: Place,
    /// Once the node's threads are pinned.
    watch: Option<Watch>,
    trial: Option<Trial>,
    /// Lasts as long as the node.
    steering: Option<Steering>,
}

/// The last trial.
#[derive(Debug)]
struct Trial {
    running: Running,
    captures: u32,
    /// Streams received and sent.
    streams: [u8; 2],
}

/// A request with everything worked out that the layers share.
pub(crate) struct Asked<'a> {
    pub start: &'a Start,
    pub peer: IpAddr,
    pub sizes: Option<Sizes>,
    pub offer: Option<Offer>,
    pub expect: Expect,
    /// Frames after which a receiver is done.
    pub expected_frames: Option<u64>,
}

impl Agent {
    /// A node at the place that the options name. What is missing is told in words.
    ///
    /// # Errors
    /// [`AgentError`]
    pub fn new(options: &Options, notices: &mut Notices) -> Result<Agent, AgentError> {
        let (place, steering) = Place::find(options, notices)?;
        let setup = facts::setup(options, &place);
        Ok(Agent {
            identity: facts::identity(options, &place, setup.len()),
            setup,
            limits: options.limits,
            watch: None,
            place,
            trial: None,
            steering,
        })
    }

    /// Begin to measure how busy the cores are, on a thread that inherits the cores of the calling one.
    pub(crate) fn watch(&mut self) -> Result<(), AgentError> {
        self.watch = Some(Watch::start(&self.place.cores)?);
        Ok(())
    }

    /// End the last trial, and put back what was changed on the host.
    pub(crate) fn end(&mut self) {
        self.trial = None;
        self.watch = None;
        self.steering = None;
    }

    pub(crate) fn name(&self) -> &str {
        &self.identity.name
    }
    pub(crate) fn layers(&self) -> &[Layer] {
        &self.identity.layers
    }
    pub(crate) fn keys(&self) -> &[(String, String)] {
        &self.setup
    }

    /// Where it is.
    pub(crate) const fn place(&self) -> &Place {
        &self.place
    }

    /// What steers the receive work of its interface now.
    pub fn steered(&self) -> Option<String> {
        place::steered(&self.place.interface.port.interface)
    }

    fn asked<'a>(&self, start: &'a Start, peer: IpAddr) -> Result<Asked<'a>, Refusal> {
        refuse_unknown(start)?;
        let sizes = sizes(start)?;
        let sends = matches!(start.direction, Direction::Transmit | Direction::Both);
        let offer = match (sends, sizes) {
            (true, Some(sizes)) => Some(self.offer(start, &sizes)?),
            (true, None) => return Err(Refusal::missing("frame_bytes")),
            (false, _) => None,
        };
        let datagram_bytes = sizes.and_then(|s| s.datagram).unwrap_or(MOST_BYTES);
        Ok(Asked {
            start,
            peer,
            sizes,
            offer,
            expect: Expect {
                stream: start.rx_stream.unwrap_or(0),
                datagram_bytes,
                captures: start.captures.unwrap_or(0),
            },
            expected_frames: match start.extent {
                Extent::Frames(frames) => Some(frames),
                Extent::TimePs(_) => None,
            },
        })
    }

    fn offer(&self, start: &Start, sizes: &Sizes) -> Result<Offer, Refusal> {
        let link = self.place.interface.link_rate.and_then(LineRate::new);
        let load = start.load.ok_or_else(|| Refusal::missing("load"))?;
        let rate = trial_load(load)
            .frames_per_s(sizes, start.layer, link)
            .map_err(|error| Refusal::unsupported(load_field(load), &error.to_string()))?;
        let bytes = match (start.layer, sizes.datagram) {
            (Layer::Ethernet, _) | (_, None) => Overhead::default().link_bytes(sizes),
            (_, Some(datagram)) => u64::from(datagram),
        };
        self.limits.check_rate(start, rate, 8.0 * bytes as f64)?;
        Ok(Offer {
            stream: start.tx_stream.unwrap_or(0),
            datagram_bytes: sizes.datagram.unwrap_or(0),
            pace: Pace::of(rate),
            extent: match start.extent {
                Extent::Frames(frames) => wirelab_trial::Extent::Frames { frames },
                Extent::TimePs(time_ps) => wirelab_trial::Extent::Time { time_ps },
            },
            with_time: rate.is_some(),
            node_clock: true,
        })
    }

    /// The work of the trial, and what is to be said of it.
    fn plan(&self, asked: &Asked<'_>) -> Result<(Plan, Started), Refusal> {
        let start = asked.start;
        let node_port = start.node_port.unwrap_or(TRIAL_PORT);
        let local = SocketAddr::new(self.place.ip, node_port);
        let mut started = blank();
        started.frame_bytes = asked.sizes.map(|sizes| sizes.frame);
        started.node_ip = Some(self.place.ip);
        started.peer_ip = Some(asked.peer);
        let plan = match start.layer {
            Layer::Ethernet => {
                return Err(Refusal::unsupported(
                    "layer",
                    "see hello for what can be asked",
                ));
            }
            Layer::UdpIpv4 | Layer::UdpIpv6 => {
                let peer_port = start.peer_port.unwrap_or(TRIAL_PORT);
                started.peer_port = asked.offer.map(|_| peer_port);
                let (plan, port) = udp::plan(&UdpTrial {
                    direction: start.direction,
                    offer: asked.offer,
                    expect: asked.expect,
                    local,
                    peer: SocketAddr::new(asked.peer, peer_port),
                    expected_frames: asked.expected_frames,
                })
                .map_err(failed)?;
                started.node_port = Some(port);
                plan
            }
            Layer::TcpIpv4 | Layer::TcpIpv6 => {
                let (plan, port) = tcp::plan(&TcpTrial {
                    direction: start.direction,
                    offer: asked.offer,
                    expect: asked.expect,
                    local,
                    peer: asked.peer,
                })
                .map_err(failed)?;
                started.node_port = Some(port);
                plan
            }
        };
        Ok((plan, started))
    }

    fn last(&self) -> Result<&Trial, Refusal> {
        self.trial
            .as_ref()
            .ok_or_else(|| Refusal::failed("there was no trial"))
    }
}

impl NodeHandler for Agent {
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
        peer: Peer,
        _: Duration,
    ) -> Result<Started, Refusal> {
        let Peer::Host(peer) = peer else {
            return Err(Refusal::peer(
                "peer_ip",
                "this node is asked over TCP or UDP",
            ));
        };
        let asked = self.asked(start, peer)?;
        let (plan, started) = self.plan(&asked)?;
        // Threads of the trial before have ended; its sockets go with it.
        self.trial = None;
        let Some(watch) = &self.watch else {
            return Err(Refusal::failed("the node is ending"));
        };
        let flows = watch.begin();
        let running = Running::start(plan, limit, flows.ender()).map_err(failed)?;
        let all = [&running.receiving, &running.sending];
        flows.set(all.into_iter().flatten().cloned().collect());
        self.trial = Some(Trial {
            running,
            captures: asked.expect.captures,
            streams: [asked.expect.stream, start.tx_stream.unwrap_or(0)],
        });
        Ok(started)
    }

    fn status(&mut self, _: Duration) -> Status {
        let Some(trial) = &self.trial else {
            return status_of(State::Idle);
        };
        let frames = |live: &Option<std::sync::Arc<wirelab_socket::flow::Live>>| {
            live.as_ref()
                .map(|live| live.frames.load(std::sync::atomic::Ordering::Relaxed))
        };
        let came = trial.running.came();
        let elapsed = reports::elapsed_ns(&trial.running);
        let echoed = came.as_ref().and_then(|came| came.echoed);
        Status {
            tx_frames: frames(&trial.running.sending).or(echoed),
            rx_frames: frames(&trial.running.receiving),
            elapsed_ticks: elapsed,
            spans: elapsed.map(|_| Spans::Wire),
            clock: elapsed.map(|_| ClockKind::Wall),
            tick_ps: elapsed.map(|_| 1000),
            why: came.as_ref().and_then(|came| came.why.clone()),
            ..status_of(came.map_or(State::Running, |came| came.state))
        }
    }

    fn stop(&mut self, state: State, _: Duration) {
        if let Some(trial) = &self.trial {
            trial.running.ask(state);
            trial.running.wait(STOPPING);
        }
    }

    fn counters(&mut self, port: u32) -> Vec<(String, u64)> {
        match &self.trial {
            Some(trial) if port == 0 => reports::counters(&trial.running),
            _ => Vec::new(),
        }
    }

    fn load(&mut self, core: u32) -> Result<CpuLoad, Refusal> {
        self.last()?;
        let watch = self.watch.as_ref().map(Watch::loads);
        let loads = watch
            .unwrap_or_else(|| Err("the node is ending".to_owned()))
            .map_err(|why| Refusal::unsupported("core", &why))?;
        let cores = loads.len() as u32;
        let load = loads
            .get(core as usize)
            .ok_or_else(|| Refusal::limit("core", u64::from(cores.saturating_sub(1))))?;
        Ok(CpuLoad {
            trial: 0,
            core,
            cores,
            busy_ticks: load.trial.busy_ns,
            window_ticks: load.trial.window_ns,
            idle_busy_ticks: load.idle.map(|idle| idle.busy_ns),
            idle_window_ticks: load.idle.map(|idle| idle.window_ns),
            clock: ClockKind::Wall,
            tick_ps: Some(1000),
            shared: self.place.shared,
        })
    }

    fn point(&mut self, point: u32) -> Result<(Point, u32), Refusal> {
        let trial = self.last()?;
        let came = trial.running.came();
        let came = came.ok_or_else(|| Refusal::unsupported("point", "the trial still runs"))?;
        reports::point(&came, trial.streams, point, trial.captures)
    }

    fn records(&mut self, point: u32, from: u32, most: usize) -> Vec<Record> {
        let came = self.trial.as_ref().and_then(|trial| trial.running.came());
        came.map_or_else(Vec::new, |came| reports::records(&came, point, from, most))
    }
}

/// What this node cannot do, whatever the layer.
fn refuse_unknown(start: &Start) -> Result<(), Refusal> {
    if start.vlan_tags.is_some_and(|tags| tags > 0) {
        return Err(Refusal::unsupported(
            "vlan_tags",
            "this node sends frames without tags",
        ));
    }
    if start.descriptors.is_some() {
        return Err(Refusal::unsupported(
            "descriptors",
            "the driver has its own",
        ));
    }
    if start.buffers.is_some() && start.layer != Layer::Ethernet {
        return Err(Refusal::unsupported(
            "buffers",
            "the stack copies as it likes; ask for Ethernet",
        ));
    }
    if start.direction == Direction::Echo && is_tcp(start.layer) {
        return Err(Refusal::unsupported(
            "direction",
            "echo is of UDP and Ethernet",
        ));
    }
    Ok(())
}

const fn is_tcp(layer: Layer) -> bool {
    matches!(layer, Layer::TcpIpv4 | Layer::TcpIpv6)
}

/// All sizes of a frame of the trial, where one was asked. The protocol's server has checked them, but for TCP, where
/// a datagram is one write.
fn sizes(start: &Start) -> Result<Option<Sizes>, Refusal> {
    let Some(size) = start.size else {
        return Ok(None);
    };
    let framing = Framing {
        layer: start.layer,
        vlan_tags: 0,
    };
    let sizes = size
        .resolve(framing)
        .map_err(|error| Refusal::unsupported("frame_bytes", &error.to_string()))?;
    if let Some(datagram) = sizes.datagram.filter(|_| is_tcp(start.layer)) {
        let limit = datagram.clamp(LEAST_BYTES, MOST_BYTES);
        if limit != datagram {
            return Err(Refusal::limit(field_of(size), u64::from(limit)));
        }
    }
    Ok(Some(sizes))
}

const fn field_of(size: Size) -> &'static str {
    match size.unit {
        SizeUnit::Frame => "frame_bytes",
        SizeUnit::Length => "length_bytes",
        SizeUnit::Payload => "payload_bytes",
        SizeUnit::Datagram => "datagram_bytes",
    }
}

const fn load_field(load: Load) -> &'static str {
    match load {
        Load::Max => "load",
        Load::LinkPpm(_) => "load_ppm",
        Load::MilliframesPerS(_) => "load_milliframes_per_s",
        Load::BitsPerS(_) => "load_bits_per_s",
        Load::GapBytes(_) => "load_gap_bytes",
    }
}

fn trial_load(load: value::Load) -> wirelab_trial::Load {
    use wirelab_trial::Load as To;
    match load {
        Load::Max => To::Max,
        Load::LinkPpm(ppm) => To::LinkShare {
            percent: f64::from(ppm) / 1e4,
        },
        Load::MilliframesPerS(n) => To::FrameRate {
            frames_per_s: n as f64 / 1e3,
        },
        Load::BitsPerS(n) => To::BitRate {
            bits_per_s: n as f64,
        },
        Load::GapBytes(gap_bytes) => To::Gap { gap_bytes },
    }
}

fn failed(error: std::io::Error) -> Refusal {
    Refusal::failed(&error.to_string())
}

const fn status_of(state: State) -> Status {
    Status {
        trial: 0,
        state,
        tx_frames: None,
        rx_frames: None,
        elapsed_ticks: None,
        spans: None,
        clock: None,
        tick_ps: None,
        why: None,
    }
}

const fn blank() -> Started {
    Started {
        trial: 0,
        limit_ps: 0,
        frame_bytes: None,
        slots: None,
        buffers: None,
        node_mac: None,
        node_ip: None,
        node_port: None,
        peer_mac: None,
        peer_ip: None,
        peer_port: None,
    }
}
