//! A node that speaks the control protocol: `node:HOST[:PORT][,token=FILE]`.

pub(crate) mod background;
mod clocks;
pub(crate) mod control;
mod ethernet;
mod flows;
mod observe;
mod place;
mod plan;
mod tcp;
mod turns;
mod udp;
mod watch;
mod way;
pub(crate) mod ways;
pub(crate) mod wire;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use wirelab_control::PORT;
use wirelab_control::client::ClientError;
use wirelab_control::message::{Identity, Started};
use wirelab_control::node_report::{self, NodeReport};
use wirelab_control::refused::of_start;
use wirelab_control::token::Token;
use wirelab_port::iface::Interface;
use wirelab_port::wire::FrameWire;
use wirelab_trial::host_clock::{now_ns, unix_ns};
use wirelab_trial::open::PortsOptions;
use wirelab_trial::stage::PointTimes;
use wirelab_trial::{
    Cancel, CaptureLimits, Description, Layer, Node, NodeError, Observation, Progress, StageSource,
    TesterCeiling, Trial,
};
use wirelab_wire::LineRate;

use crate::ceiling::{self, Traffic};
use crate::host::{Addresses, HostPort, no_way};
use crate::leaving::Leaving;
use crate::route::Route;
use control::Control;
use flows::Sides;
use place::Place;
use plan::{Plan, Streams};
use watch::Watch;
pub use way::Connect;
use way::{Opener, Way};
pub use wire::Ends;
use wire::Wire;

/// Set-up key of what emulates a node, or by what it knows that something does.
const EMULATOR: &str = "emulator";
/// Set-up key of the clock that a node reads.
const CLOCK_ID: &str = "clock_id";
/// Set-up key by which a Linux node tells how it traces itself.
const TRACES: &str = "probes";
/// The node type that was started here.
const BOARD: &str = "board";
/// How often a busy node is asked whether it is free.
const BUSY_LOOK: Duration = Duration::from_millis(500);
/// How long a node may take to end a trial that it gives up.
const LONGEST_END: Duration = Duration::from_secs(2);
/// How long a node's trial without a tester is waited for at most, whatever the node says.
const LONGEST_IDLE: Duration = Duration::from_secs(15);

/// A node somewhere, in an open session.
pub struct ControlNode {
    name: String,
    kind: &'static str,
    way: Way,
    opener: Opener,
    /// Whether the link has the rate that the node says.
    link_is_real: bool,
    control: Control,
    identity: Identity,
    setup: BTreeMap<String, String>,
    place: Place,
    /// Number of the last trial, from which its streams follow; another run begins elsewhere. Firmware keeps to one pair
    /// of streams: it takes what comes first in an echo for the flow.
    trials: u32,
    /// The last idle baseline that the node told. Trials that follow one another leave it no time for another.
    idle_ratio: Option<f64>,
    /// What came of the other way of the last trial, where the two took turns.
    other_way: Option<Observation>,
    /// How the tester sends frames between its own ports.
    ports: PortsOptions,
}

impl ControlNode {
    /// The node `name` on the command line, at `HOST[:PORT]`: says hello and asks for its set-up.
    ///
    /// # Errors
    /// [`NodeError::BadTrial`] where that is no host, [`NodeError::Failed`] where nothing answers there.
    pub fn open(name: &str, host: &str) -> Result<ControlNode, NodeError> {
        ControlNode::open_with(name, host, None)
    }

    /// The same with the token that the node asks for.
    pub(crate) fn open_with(
        name: &str,
        host: &str,
        token: Option<Token>,
    ) -> Result<ControlNode, NodeError> {
        let written = HostPort::parse(host, PORT).map_err(NodeError::BadTrial)?;
        let address = Addresses::resolve(&written)?.first();
        let route = Route::to(address)?;
        let way = Way::Ip { address, route };
        ControlNode::over(name, way, Opener::Address(address, token))
    }

    /// A board called `name` at an address, whose control protocol is reached by `connect`. Its link is made of
    /// software, and carries what it can whatever rate the board's MAC has.
    ///
    /// To be called, as [`Node::run`] then, on a thread in the network namespace that leads to the board.
    ///
    /// # Errors
    /// [`NodeError::Failed`] where there is no route or nothing answers.
    pub fn board(name: &str, address: IpAddr, connect: Connect) -> Result<ControlNode, NodeError> {
        let address = SocketAddr::new(address, PORT);
        let route = Route::to(address)?;
        let way = Way::Ip { address, route };
        Ok(ControlNode::over(name, way, Opener::Given(connect))?.made_of_software())
    }

    /// A board called `name` at the other end of a wire, on which the tester makes every frame itself: Ethernet and
    /// UDP trials alone.
    ///
    /// # Errors
    /// [`NodeError::Failed`] where nothing answers.
    pub fn on_wire(
        name: &str,
        frames: Box<dyn FrameWire>,
        ends: Ends,
        connect: Connect,
    ) -> Result<ControlNode, NodeError> {
        let wire = Wire::new(frames, ends).map_err(|error| {
            NodeError::Failed(format!("a thread for the wire to {name}: {error}"))
        })?;
        let opener = Opener::Given(connect);
        Ok(ControlNode::over(name, Way::Wire(wire), opener)?.made_of_software())
    }

    fn made_of_software(mut self) -> ControlNode {
        self.kind = BOARD;
        self.link_is_real = false;
        self
    }

    fn over(name: &str, way: Way, opener: Opener) -> Result<ControlNode, NodeError> {
        let mut control = opener.open()?;
        let identity = control.identity().clone();
        let setup = node_report::setup(&mut control).map_err(|e| of_start(&e))?;
        let key = |name: &str| setup.get(name).map(String::as_str);
        let interface = match &way {
            Way::Ip { route, .. } => route.interface.as_ref(),
            Way::Wire(_) => None,
        };
        let interface = interface.map(|i| i.port.interface.as_str());
        let place = Place::beside(key("host"), key("cpus"), interface);
        Ok(ControlNode {
            name: name.to_owned(),
            kind: "node",
            way,
            opener,
            link_is_real: !setup.contains_key(EMULATOR),
            control,
            identity,
            setup,
            place,
            // A microsecond is as good as a random number for that.
            trials: (unix_ns() / 1000) as u32,
            idle_ratio: None,
            other_way: None,
            ports: PortsOptions::default(),
        })
    }

    /// Set-up keys that the node does not know of itself, such as what emulates it.
    pub fn know(&mut self, keys: impl IntoIterator<Item = (String, String)>) {
        self.setup.extend(keys);
    }

    /// The same node; frames between ports, with which the tester measures its ceiling for Ethernet, go as `ports` says.
    #[must_use]
    pub fn with_ports(self, ports: PortsOptions) -> ControlNode {
        ControlNode { ports, ..self }
    }

    /// The slower of the two ends' links, as far as they have one.
    fn link(&self) -> Option<LineRate> {
        let theirs = self.setup.get("link_bits_per_s");
        let theirs = theirs.filter(|_| self.link_is_real);
        let theirs = theirs.and_then(|text| text.parse().ok());
        let ours = self.way.link().map(LineRate::bits_per_s);
        let slowest = match (ours, theirs) {
            (Some(a), Some(b)) => Some(std::cmp::min::<u64>(a, b)),
            (a, b) => a.or(b),
        };
        slowest.and_then(LineRate::new)
    }

    /// Start a trial; once more in a new session where the node has forgotten this one. A node that is busy is asked
    /// again until it would have given up the trial of a tester that was killed.
    fn start(&mut self, plan: &Plan, cancel: &Cancel) -> Result<Started, NodeError> {
        let idle = Duration::from_millis(u64::from(self.identity.idle_ms));
        let (begun, patience) = (Instant::now(), idle.min(LONGEST_IDLE) + LONGEST_END);
        loop {
            let answer = match self.ask_start(plan) {
                Err(ClientError::SessionLost) => {
                    self.control = self.opener.open()?;
                    self.identity = self.control.identity().clone();
                    self.ask_start(plan)
                }
                other => other,
            };
            match answer {
                Err(error) if control::is_busy(&error) && begun.elapsed() < patience => {
                    if cancel.is_cancelled() {
                        return Err(of_start(&error));
                    }
                    std::thread::sleep(BUSY_LOOK);
                }
                answer => return answer.map_err(|error| of_start(&error)),
            }
        }
    }

    fn ask_start(&mut self, plan: &Plan) -> Result<Started, ClientError> {
        let address = match &self.opener {
            Opener::Address(address, _) => Some(*address),
            Opener::Given(_) => None,
        };
        let goes_on = |rounds| control::still_prepares(address, rounds);
        self.control.start_while(plan.start.clone(), goes_on)
    }

    /// One trial, on the thread that is in the tester's place.
    fn run_here(
        &mut self,
        mut plan: Plan,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<(Observation, Vec<PointTimes>), NodeError> {
        let unpinned = self.place.take();
        let started_unix_ns = unix_ns();
        let layer = plan.resolved.trial.framing.layer;
        let (started, ran) = match self.way {
            Way::Wire(_) => self.on_the_wire(&mut plan, progress, cancel)?,
            Way::Ip { address, .. } => self.by_ip(address, &mut plan, progress, cancel)?,
        };
        let left = ran.left.clone();
        let mut told = self.told(&plan, started.trial, &ran);
        // Of two ways each has stages of its own.
        let points = match plan.turns {
            Some(_) => std::mem::take(&mut told.points),
            None => Vec::new(),
        };
        let earlier_idle_ratio = self.idle_ratio;
        let told_idle = told.load.value().and_then(|l| l.idle_baseline_ratio);
        self.idle_ratio = told_idle.or(self.idle_ratio);
        let datagram = plan.resolved.sizes.datagram.unwrap_or(0);
        let warnings = crate::path::fragmented(datagram, layer, self.way.mtu());
        let mut observation = observe::observation(observe::Parts {
            plan: &plan,
            path: self.way.name(layer),
            node: self.describe(),
            ran,
            told,
            started_unix_ns,
            earlier_idle_ratio,
            shared: self.place.shared.clone().or(unpinned),
            warnings: warnings.into_iter().collect(),
        });
        self.mark_emulated(&mut observation);
        Ok((left.judge(Ok(observation))?, points))
    }

    /// A node that somebody started in an emulator says so itself. A board that was started here says more.
    fn mark_emulated(&self, observation: &mut Observation) {
        let Some(emulator) = self.setup.get(EMULATOR).filter(|_| self.kind != BOARD) else {
            return;
        };
        observation.tell_emulated(
            format!(
                "the node says that it is emulated ({emulator}), so that rates and times are those of the emulation, and not of the hardware"
            ),
            "take counts of instructions, which no host changes: wirelab stages board:NAME",
        );
    }

    /// One trial, on a thread of its own, since that goes to the tester's place.
    fn run_there(
        &mut self,
        plan: Plan,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<(Observation, Vec<PointTimes>), NodeError> {
        std::thread::scope(|scope| {
            let ran = scope.spawn(|| self.run_here(plan, progress, cancel)).join();
            ran.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn plan(&mut self, trial: &Trial) -> Result<Plan, NodeError> {
        let mut plan = plan::plan(trial, &self.identity, self.link())?;
        if self.setup.contains_key(CLOCK_ID) {
            self.trials = self.trials.wrapping_add(1);
            plan.on_streams(Streams::of_trial(self.trials));
        }
        if plan.start.captures.is_some() {
            plan.start.clock_id = clocks::shared(self.setup.get(CLOCK_ID));
        }
        Ok(plan)
    }

    /// A trial whose frames leave by an interface of this host.
    fn by_ip(
        &mut self,
        node: SocketAddr,
        plan: &mut Plan,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<(Started, flows::Ran), NodeError> {
        let leaving = Leaving::by(self.interface());
        let ran = self.by_stack(node, plan, progress, cancel);
        let left = leaving.end();
        match ran {
            Ok((started, ran)) => Ok((started, flows::Ran { left, ..ran })),
            Err(error) => Err(left.because(error)),
        }
    }

    /// A trial whose frames the stack of this host makes and takes.
    fn by_stack(
        &mut self,
        node: SocketAddr,
        plan: &mut Plan,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<(Started, flows::Ran), NodeError> {
        let (started, mut ran, watch);
        let mut notes = Vec::new();
        match plan.resolved.trial.framing.layer {
            Layer::Ethernet => {
                let mac = self.setup.get("mac").map(String::as_str);
                let mut asked = plan.start.clone();
                let ready = ethernet::prepare(plan, self.interface(), mac, &mut asked)?;
                plan.start = asked;
                watch = self.watch(plan, &mut notes);
                started = self.start(plan, cancel)?;
                let beside = background::socket(plan, node).map_err(|e| no_way(node, &e))?;
                let sides = ethernet::sides(plan, &started, ready, beside);
                ran = self.flows(plan, &started, sides, progress, cancel)?;
            }
            Layer::UdpIpv4 | Layer::UdpIpv6 => {
                let (socket, ready) = udp::prepare(node, &mut plan.start)?;
                watch = self.watch(plan, &mut notes);
                started = self.start(plan, cancel)?;
                let sides = udp::sides(plan, node, &started, (&socket, ready));
                ran = self.flows(plan, &started, sides, progress, cancel)?;
            }
            Layer::TcpIpv4 | Layer::TcpIpv6 => {
                watch = None;
                started = self.start(plan, cancel)?;
                let sides = tcp::sides(plan, node, &started);
                ran = self.flows(plan, &started, sides, progress, cancel)?;
            }
        }
        ran.from_node = watch.iter().flat_map(Watch::times).collect();
        ran.notes = notes;
        Ok((started, ran))
    }

    fn watch(&self, plan: &Plan, notes: &mut Vec<String>) -> Option<Watch> {
        let same = clocks::one_clock(self.setup.get(CLOCK_ID)).is_ok();
        watch::begin(plan, self.interface(), same, notes)
    }

    /// What the node tells of the trial, its times with the tester's among them.
    fn told(&mut self, plan: &Plan, number: u32, ran: &flows::Ran) -> NodeReport {
        if !ran.answers {
            return NodeReport::nothing("the node did not answer any more");
        }
        let captures = plan.start.captures.is_some();
        let mut told = NodeReport::ask(&mut self.control, number, captures);
        let same = clocks::one_clock(self.setup.get(CLOCK_ID));
        for point in &mut told.points {
            point.stream = plan.streams.name(point.stream);
        }
        clocks::join(&mut told.points, same, now_ns(), &mut told.notes);
        clocks::seen(&mut told.points, plan::FROM_NODE, &ran.from_node);
        let note = ran.status.as_ref().and_then(|status| status.note.clone());
        told.notes.extend(note);
        told.notes.extend(ran.notes.iter().cloned());
        // How a program sits on the node's port is known when it does.
        let trial = &plan.resolved.trial;
        if captures || trial.path.is_some() {
            // Who started its emulator knows more of that than the node.
            let emulator = self.setup.remove_entry(EMULATOR);
            self.setup
                .extend(node_report::setup(&mut self.control).unwrap_or_default());
            self.setup.extend(emulator);
        }
        told
    }

    /// A trial whose frames are made and taken here.
    fn on_the_wire(
        &mut self,
        plan: &mut Plan,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<(Started, flows::Ran), NodeError> {
        let Way::Wire(wire) = &self.way else {
            return Err(NodeError::Failed("there is no wire to the node".to_owned()));
        };
        if plan.background.is_some() {
            let why = "the tester makes every frame of this wire itself, and sends one flow: leave it out";
            return Err(NodeError::unsupported("background", why));
        }
        let line = wire.line();
        let mut asked = plan.start.clone();
        let ready = line.prepare(plan, &mut asked)?;
        plan.start = asked;
        let started = self.start(plan, cancel)?;
        let sides = line.sides(plan, &started, ready);
        let ran = self.flows(plan, &started, Ok(sides), progress, cancel)?;
        Ok((started, ran))
    }

    fn interface(&self) -> Option<&Interface> {
        match &self.way {
            Way::Ip { route, .. } => route.interface.as_ref(),
            Way::Wire(_) => None,
        }
    }

    fn flows(
        &mut self,
        plan: &Plan,
        started: &Started,
        sides: std::io::Result<Sides<'_>>,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<flows::Ran, NodeError> {
        let number = started.trial;
        match sides {
            Ok(sides) => Ok(flows::run(
                &mut self.control,
                number,
                plan,
                sides,
                progress,
                cancel,
            )),
            Err(error) => {
                // Nobody shall go on with a trial that has one side.
                let _ = self.control.stop(number);
                let port = started.node_port.unwrap_or_default();
                Err(match self.way {
                    Way::Ip { address, .. } => no_way(SocketAddr::new(address.ip(), port), &error),
                    Way::Wire(_) => NodeError::Failed(error.to_string()),
                })
            }
        }
    }
}

impl Node for ControlNode {
    fn describe(&self) -> Description {
        let link_bits_per_s = self.link().map(LineRate::bits_per_s);
        Description {
            name: self.name.clone(),
            kind: self.kind.to_owned(),
            capabilities: node_report::capabilities(&self.identity, link_bits_per_s),
            setup: self.setup.clone(),
        }
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        if let Some(other) = self.other_way.take().filter(|other| other.trial == *trial) {
            return Ok(other);
        }
        let captures = plan::CAPTURES.min(self.identity.max_captures);
        let by_turns = matches!(self.way, Way::Ip { .. }).then(|| turns::both(trial, captures));
        let Some(both) = by_turns.flatten() else {
            let plan = self.plan(trial)?;
            return Ok(self.run_there(plan, progress, cancel)?.0);
        };
        let mut plan = self.plan(&both)?;
        plan.take_turns()?;
        let (both, points) = self.run_there(plan, progress, cancel)?;
        let [asked, other] = turns::split(trial, &both, &points);
        self.other_way = Some(other);
        Ok(asked)
    }

    fn overhead_ps(&self) -> u64 {
        match self.kind {
            BOARD => 0,
            _ => 200_000_000_000,
        }
    }

    fn tester_ceiling(&self) -> TesterCeiling {
        if let Way::Wire(_) = self.way {
            return Box::new(|trial| ceiling::ceiling_frames_per_s(trial, Traffic::Wire));
        }
        // Beside a node on the same machine the tester keeps to its own cores; elsewhere it may use all.
        let (cores, ports) = (self.place.cores().cloned(), self.ports);
        Box::new(move |trial| {
            ceiling::within(cores.as_ref(), || match trial.framing.layer {
                Layer::Ethernet => wirelab_ports::ceiling_frames_per_s(trial, ports),
                _ => ceiling::ceiling_frames_per_s(trial, Traffic::Node),
            })
        })
    }

    /// What it keeps, up to as many as are asked for; one that keeps none is asked for no fewer frames.
    fn capture_limits(&self) -> CaptureLimits {
        let of_a_trial = match self.identity.max_captures {
            0 => plan::CAPTURES,
            most => most.min(plan::CAPTURES),
        };
        CaptureLimits {
            of_a_trial: of_a_trial.into(),
            in_all: None,
        }
    }

    fn stages(&self) -> StageSource {
        match self.setup.contains_key(TRACES) {
            true => StageSource::Traced,
            false => StageSource::Timed,
        }
    }
}
