//! The node behind the protocol: checks a request, starts the trial, and reports its result.

use std::sync::Arc;
use std::time::Duration;

use wirelab_control::message::Record;
use wirelab_control::message::{CpuLoad, Identity, Point, Start, Started, Status};
use wirelab_control::value::{Mac, Path, State};
use wirelab_control::{NodeHandler, Peer, Refusal, slices};
use wirelab_cores::{Steering, prefer_this_session};
use wirelab_port::iface::{CardStamps, SwitchedOn};
use wirelab_socket::flow::FlowProgress;
use wirelab_stages::Xdp;
use wirelab_trial::{ClockKind, Spans};
use wirelab_wire::{Layer, LineRate};

use crate::facts;
use crate::host::Host;
use crate::inside::{Allowed, Shelf};
use crate::limits::Limits;
use crate::location::{Location, Notices};
use crate::meter::LoadMeter;
use crate::options::{AgentError, Options};
use crate::reports;
use crate::request::Request;
use crate::senders::Senders;
use crate::supervisor::Running;

/// Set-up key of the clock with which the interface stamps frames in hardware, if it does.
const STAMPS: &str = "stamps";
/// Added to a trial's limit, so that a timed trial reaches its end.
const GRACE: Duration = Duration::from_millis(250);
/// How long `stop` waits for the end; most clients then need no second request.
const STOPPING: Duration = Duration::from_millis(100);

/// How long the end of the node waits for the end of its trial.
const ENDING: Duration = Duration::from_secs(2);

/// A Linux host as a node.
#[derive(Debug)]
pub struct Agent {
    identity: Identity,
    setup: Vec<(String, String)>,
    /// Keys that the user gave.
    given: Vec<String>,
    limits: Limits,
    allowed_macs: Vec<[u8; 6]>,
    /// What this host allows to trace.
    pub(crate) allowed: Allowed,
    /// The tracer between trials.
    pub(crate) shelf: Shelf,
    /// Where XDP programs may be attached.
    pub(crate) xdp: Xdp,
    /// Source ports of earlier trials' frames.
    pub(crate) senders: Senders,
    location: Location,
    /// `Some` once the node's threads are pinned.
    watch: Option<LoadMeter>,
    trial: Option<Trial>,
    /// Steers the receive work while the node exists.
    steering: Option<Steering>,
    /// Hardware timestamping that this node switched on; dropping it switches it off.
    _stamps: Option<SwitchedOn>,
}

/// The last trial.
#[derive(Debug)]
struct Trial {
    running: Running,
}

impl Agent {
    /// A node at the location that the options name; `notices` gets what is missing and how to get it.
    ///
    /// # Errors
    /// [`AgentError`]
    pub fn new(options: &Options, notices: &mut Notices) -> Result<Agent, AgentError> {
        let (location, steering) = Location::find(options, notices)?;
        let shelf = Shelf::new(options.limits.captures.min(facts::MOST_CAPTURES));
        let allowed = Allowed::find(&location.interface, options.xdp, &shelf);
        notices.extend(allowed.notices());
        let mut setup = facts::setup(options, &location, &allowed);
        let (card, stamps) = CardStamps::switched_on(&location.interface.port).unzip();
        let by_card = card.filter(|card| card.sent && card.received);
        setup.extend(by_card.map(|card| (STAMPS.to_owned(), card.to_string())));
        Ok(Agent {
            identity: facts::identity(options, &location, &allowed, setup.len()),
            setup,
            given: options.set.iter().map(|(key, _)| key.clone()).collect(),
            allowed,
            shelf,
            xdp: options.xdp,
            senders: Senders::default(),
            limits: options.limits,
            allowed_macs: options.allowed_macs.clone(),
            watch: None,
            location,
            trial: None,
            steering,
            _stamps: stamps.flatten(),
        })
    }

    /// Start to measure the load of the cores, on a thread that inherits the caller's cores.
    pub(crate) fn watch(&mut self) -> Result<(), AgentError> {
        self.watch = Some(LoadMeter::start(&self.location.cores)?);
        Ok(())
    }

    /// End the last trial, and restore what was changed on the host.
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

    /// Replace a set-up key, unless the user gave it.
    pub(crate) fn set_key(&mut self, key: &str, value: &str) {
        if self.given.iter().any(|given| given == key) {
            return;
        }
        if let Some((_, old)) = self.setup.iter_mut().find(|(name, _)| name == key) {
            value.clone_into(old);
        }
    }

    /// Where on the host the node is.
    pub(crate) const fn location(&self) -> &Location {
        &self.location
    }

    /// The node's own link-layer address.
    pub(crate) fn mac(&self) -> Mac {
        Mac(self.location.interface.mac.0)
    }

    /// Destination of an Ethernet trial: the address of the requesting host, or one that the
    /// operator has allowed.
    pub(crate) fn destination(&self, request: &Request<'_>) -> Result<Mac, Refusal> {
        let known = self.location.neighbour(request.peer);
        match (request.start.peer_mac, known) {
            (Some(mac), _) if Some(mac) == known || self.allowed_macs.contains(&mac.0) => Ok(mac),
            (None, Some(mac)) => Ok(mac),
            (Some(_), _) => Err(Refusal::peer(
                "peer_mac",
                "not the address of the requesting host; fix: the operator allows it with --allow-mac",
            )),
            (None, None) => Err(Refusal::peer(
                "peer_mac",
                "the link-layer address of the requesting host is unknown; it may be behind a router",
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
                "this node accepts requests over TCP and UDP",
            ));
        };
        let link = self.location.interface.link_rate.and_then(LineRate::new);
        let request = Request::new(start, peer, link, &self.limits)?;
        // The threads of the last trial have ended. This closes its sockets.
        self.trial = None;
        let (mut plan, started) = self.plan(&request)?;
        // The interface's queue counters do not include traffic past the stack.
        if request.options.path == Path::Stack {
            plan.host = Some(Host::begin(&self.location.interface, &self.location.cores));
        }
        let Some(watch) = &self.watch else {
            return Err(Refusal::failed("the node is shutting down"));
        };
        let flows = watch.begin();
        let (ender, preferred) = (flows.ender(), prefer_this_session());
        let ended = move || {
            ender();
            drop(preferred);
        };
        let running = Running::start(plan, limit + GRACE, ended).map_err(failed)?;
        let all = [&running.receiving, &running.sending];
        flows.set(all.into_iter().flatten().cloned().collect());
        self.trial = Some(Trial { running });
        Ok(started)
    }

    fn status(&mut self, _: Duration) -> Status {
        let Some(trial) = &self.trial else {
            return status_of(State::Idle);
        };
        let frames = |live: &Option<Arc<FlowProgress>>| live.as_deref().and_then(reports::frames);
        let result = trial.running.result();
        let elapsed = reports::elapsed_ns(&trial.running);
        let echoed = result.as_ref().and_then(|result| result.echoed);
        Status {
            tx_frames: frames(&trial.running.sending).or(echoed),
            rx_frames: frames(&trial.running.receiving),
            elapsed_ticks: elapsed,
            spans: elapsed.map(|_| Spans::Wire),
            clock: elapsed.map(|_| ClockKind::Wall),
            tick_ps: elapsed.map(|_| 1000),
            why: result.as_ref().and_then(|result| result.why.clone()),
            // A line has space only for the reason or the note.
            note: result
                .as_ref()
                .filter(|result| result.why.is_none())
                .and_then(|result| result.note.as_deref().map(facts::short)),
            ..status_of(result.map_or(State::Running, |result| result.state))
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
            Some(trial) if port == 0 => {
                let mut all = reports::counters(&trial.running);
                let load = self.watch.as_ref().and_then(LoadMeter::course);
                all.extend(load.iter().flat_map(slices::load_counters));
                all
            }
            _ => Vec::new(),
        }
    }

    fn load(&mut self, core: u32) -> Result<CpuLoad, Refusal> {
        self.last()?;
        let watch = self.watch.as_ref().map(LoadMeter::loads);
        let loads = watch
            .unwrap_or_else(|| Err("the node is shutting down".to_owned()))
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
            shared: self.location.shared,
        })
    }

    fn point(&mut self, point: u32) -> Result<(Point, u32), Refusal> {
        let trial = self.last()?;
        let result = trial.running.result();
        let result = result.ok_or_else(|| Refusal::unsupported("point", "the trial still runs"))?;
        reports::point(&result, point)
    }

    fn records(&mut self, point: u32, from: u32, most: usize) -> Vec<Record> {
        let result = self.trial.as_ref().and_then(|trial| trial.running.result());
        result.map_or_else(Vec::new, |result| {
            reports::records(&result, point, from, most)
        })
    }
}

pub(crate) fn failed(error: std::io::Error) -> Refusal {
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
        note: None,
    }
}
