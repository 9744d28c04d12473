//! The node behind the protocol: takes what was asked apart, starts it, and tells what came of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use wirelab_control::message::{CpuLoad, Identity, Point, Start, Started, Status};
use wirelab_control::page::Record;
use wirelab_control::value::{Mac, State};
use wirelab_control::{NodeHandler, Peer, Refusal};
use wirelab_cores::Steering;
use wirelab_port::packet::PREFILLED_SLOTS;
use wirelab_socket::flow::Live;
use wirelab_trial::{Buffers, ClockKind, Spans};
use wirelab_wire::{Layer, LineRate};

use crate::asked::Asked;
use crate::engine::Plan;
use crate::ethernet::{self, EthernetTrial};
use crate::facts;
use crate::limits::Limits;
use crate::meter::Watch;
use crate::options::Options;
use crate::place::{Notices, Place};
use crate::reports;
use crate::serve::AgentError;
use crate::supervisor::Running;
use crate::tcp::{self, TcpTrial};
use crate::udp::{self, UdpTrial};

/// UDP and TCP port of trials unless another is asked.
const TRIAL_PORT: u16 = wirelab_wire::header::UDP_PORT;
/// How much later than its limit a trial is ended, so that one by time reaches the end of its time.
const GRACE: Duration = Duration::from_millis(250);
/// How long `stop` waits for the end, so that most clients need not ask again.
const STOPPING: Duration = Duration::from_millis(100);

/// How long the end of the node waits for the end of its trial.
const ENDING: Duration = Duration::from_secs(2);

/// A Linux box as a node.
#[derive(Debug)]
pub struct Agent {
    identity: Identity,
    setup: Vec<(String, String)>,
    limits: Limits,
    allowed_macs: Vec<[u8; 6]>,
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
            allowed_macs: options.allowed_macs.clone(),
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
        if let Some(trial) = self.trial.take() {
            trial.running.ask(State::Stopped);
            trial.running.wait(ENDING);
        }
        self.watch = None;
        self.steering = None;
    }

    pub(crate) fn name(&self) -> &str {
        &self.identity.name
    }
    pub(crate) fn layers(&self) -> Vec<&'static str> {
        let name = |layer: &Layer| match layer {
            Layer::Ethernet => "ethernet",
            Layer::UdpIpv4 => "udp-ipv4",
            Layer::UdpIpv6 => "udp-ipv6",
            Layer::TcpIpv4 => "tcp-ipv4",
            Layer::TcpIpv6 => "tcp-ipv6",
        };
        self.identity.layers.iter().map(name).collect()
    }
    pub(crate) fn keys(&self) -> &[(String, String)] {
        &self.setup
    }

    /// Where it is.
    pub(crate) const fn place(&self) -> &Place {
        &self.place
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
                let peer = self.destination(asked)?;
                (started.node_mac, started.peer_mac) = (Some(self.mac()), Some(peer));
                (started.node_ip, started.peer_ip) = (None, None);
                started.buffers = start.buffers;
                let ready = start.buffers == Some(Buffers::Prefilled) && asked.offer.is_some();
                started.slots = ready.then_some(PREFILLED_SLOTS);
                ethernet::plan(EthernetTrial {
                    direction: start.direction,
                    interface: self.place.interface.clone(),
                    peer,
                    sizes: asked.sizes,
                    offer: asked.offer,
                    expect: asked.expect,
                    buffers: start.buffers,
                    expected_frames: asked.expected_frames,
                })
                .map_err(failed)?
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

    /// The node's own link-layer address.
    fn mac(&self) -> Mac {
        Mac(self.place.interface.mac.0)
    }

    /// Where frames of an Ethernet trial go: to the address that the host has which asked, or to one that the
    /// operator has allowed.
    fn destination(&self, asked: &Asked<'_>) -> Result<Mac, Refusal> {
        let known = self.place.neighbour(asked.peer);
        match (asked.start.peer_mac, known) {
            (Some(mac), _) if Some(mac) == known || self.allowed_macs.contains(&mac.0) => Ok(mac),
            (None, Some(mac)) => Ok(mac),
            (Some(_), _) => Err(Refusal::peer(
                "peer_mac",
                "not the address of the host that asks; the operator can allow it with --allow-mac",
            )),
            (None, None) => Err(Refusal::peer(
                "peer_mac",
                "no link-layer address is known for the host that asks: is it behind a router?",
            )),
        }
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
        let link = self.place.interface.link_rate.and_then(LineRate::new);
        let asked = Asked::new(start, peer, link, &self.limits)?;
        let (plan, started) = self.plan(&asked)?;
        // Threads of the trial before have ended; its sockets go with it.
        self.trial = None;
        let Some(watch) = &self.watch else {
            return Err(Refusal::failed("the node is ending"));
        };
        let flows = watch.begin();
        let running = Running::start(plan, limit + GRACE, flows.ender()).map_err(failed)?;
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
        let frames = |live: &Option<Arc<Live>>| live.as_deref().and_then(reports::frames);
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
        let came = |trial: &Trial| Some((trial.running.came()?, trial.captures));
        let ended = self.trial.as_ref().and_then(came);
        ended.map_or_else(Vec::new, |(came, asked)| {
            reports::records(&came, asked, point, from, most)
        })
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
