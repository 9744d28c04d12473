//! A node with the control protocol: `node:HOST[:PORT][,token=FILE]`.

pub(crate) mod background;
mod clocks;
pub(crate) mod control;
mod ethernet;
mod flows;
mod frame_transport;
pub(crate) mod node_path;
mod observe;
mod plan;
mod tcp;
mod tester_cores;
mod turns;
mod udp;
mod watch;
pub(crate) mod wire;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use wirelab_control::PORT;
use wirelab_control::client::ClientError;
use wirelab_control::message::{Identity, Started};
use wirelab_control::node_report::{self, NodeReport};
use wirelab_control::refused::of_start;
use wirelab_control::token::Token;
use wirelab_port::iface::{CardStamps, Interface, SwitchedOn};
use wirelab_port::packet::{CaptureSink, FrameSink};
use wirelab_port::pcapng::{InterfaceSpec, SharedCapture, end_of_node, start_of_node};
use wirelab_port::tap::leads_to_board;
use wirelab_port::wire::FrameWire;
use wirelab_trial::facts::Facts;
use wirelab_trial::host_clock::{now_ns, unix_ns};
use wirelab_trial::host_port::HostPort;
use wirelab_trial::open::PortsOptions;
use wirelab_trial::stage::PointTimes;
use wirelab_trial::system_error::system_fix;
use wirelab_trial::{
    Cancel, CaptureLimits, Description, Layer, Node, NodeError, Observation, Progress, StageSource,
    TesterCeiling, Trial, TrialField, TrialOption,
};
use wirelab_wire::LineRate;

use crate::ceiling::{self, Traffic};
use crate::host::{Addresses, unreachable_peer};
use crate::leaving::Leaving;
use crate::manners;
use crate::route::Route;
use control::Control;
use flows::Sides;
pub use frame_transport::Connect;
use frame_transport::{FrameTransport, Opener};
use plan::{NodeTrial, Streams};
use tester_cores::TesterCores;
use watch::FrameRecorder;
pub use wire::Ends;
use wire::Wire;

/// Set-up key of what emulates a node, or of what shows that it is emulated.
const EMULATOR: &str = "emulator";
/// Set-up key of the clock that stamps the tester's datagrams.
const TESTER_STAMPS: &str = "tester_stamps";
/// Set-up key of the clock that a node reads.
const CLOCK_ID: &str = "clock_id";
/// Set-up key of the programs by which a Linux node traces itself.
const TRACES: &str = "probes";
/// Time between checks whether a busy node is free.
const BUSY_LOOK: Duration = Duration::from_millis(500);
/// How long a node may take to end a trial that it gives up.
const LONGEST_END: Duration = Duration::from_secs(2);
/// Longest wait for the end of a trial without a tester, whatever the node announces.
const LONGEST_IDLE: Duration = Duration::from_secs(15);

/// A board that this host started: its node type, and its facts.
pub struct HostedBoard {
    /// The node type.
    pub node_type: &'static str,
    /// Its facts.
    pub facts: Facts,
}

/// A node in an open session.
pub struct ControlNode {
    name: String,
    node_type: &'static str,
    /// The facts of a board that this host started: its figures are emulated, and it is near.
    board: Option<Facts>,
    transport: FrameTransport,
    opener: Opener,
    /// Whether the link really has the rate that the node reports.
    link_is_real: bool,
    control: Control,
    identity: Identity,
    setup: BTreeMap<String, String>,
    tester_cores: TesterCores,
    /// Number of the last trial, from which its streams follow; another run begins with another number. Firmware keeps
    /// one pair of streams: in an echo it uses the first stream to arrive.
    trials: u32,
    /// The last idle baseline that the node reported. Consecutive trials leave it no time for another.
    idle_ratio: Option<f64>,
    /// The observation of the other path of the last trial, where the two alternated.
    other_path: Option<Observation>,
    /// How the tester sends frames between its own ports.
    ports: PortsOptions,
    /// The capture of frames that arrive in Ethernet trials.
    capture: Option<SharedCapture>,
    /// The stamps of the tester's card, off again when the node is gone.
    _stamps: Option<SwitchedOn>,
}

impl ControlNode {
    /// The node at `HOST[:PORT]`, called `name` on the command line: says hello and requests its set-up.
    ///
    /// # Errors
    /// [`NodeError::BadTrial`] for an invalid host, [`NodeError::Failed`] where nothing answers there.
    pub fn open(name: &str, host: &str) -> Result<ControlNode, NodeError> {
        ControlNode::open_with(name, host, None, false)
    }

    /// As [`ControlNode::open`], with the token that the node requires; `routed` if it may be beyond this host's links.
    pub(crate) fn open_with(
        name: &str,
        host: &str,
        token: Option<Token>,
        routed: bool,
    ) -> Result<ControlNode, NodeError> {
        let written = HostPort::parse(host, PORT).map_err(NodeError::BadTrial)?;
        let peer = Addresses::resolve(&written)?;
        manners::check(&peer, routed)?;
        let address = peer.first();
        let route = Route::to(address)?;
        let transport = FrameTransport::Ip { address, route };
        ControlNode::over(name, transport, Opener::Address(address, token))
    }

    /// A board called `name` at an address, whose control protocol `connect` reaches. Its link is software, and carries
    /// what it can whatever the rate of the board's MAC.
    ///
    /// Call it, and later [`Node::run`], on a thread in the network namespace that leads to the board.
    ///
    /// # Errors
    /// [`NodeError::Failed`] where there is no route or nothing answers.
    pub fn board(
        name: &str,
        board: HostedBoard,
        address: IpAddr,
        connect: Connect,
    ) -> Result<ControlNode, NodeError> {
        let address = SocketAddr::new(address, PORT);
        let route = Route::to(address)?;
        let transport = FrameTransport::Ip { address, route };
        let node = ControlNode::over(name, transport, Opener::Given(connect))?;
        Ok(node.made_of_software(board))
    }

    /// A board called `name` at the other end of a wire, on which the tester builds every frame: only Ethernet and UDP
    /// trials.
    ///
    /// # Errors
    /// [`NodeError::Failed`] where nothing answers.
    pub fn on_wire(
        name: &str,
        board: HostedBoard,
        frames: Box<dyn FrameWire>,
        ends: Ends,
        connect: Connect,
    ) -> Result<ControlNode, NodeError> {
        let wire = Wire::new(frames, ends).map_err(|error| {
            NodeError::Failed(format!(
                "cannot start a thread for the wire to {name}: {error}; fix: {}",
                system_fix(&error)
            ))
        })?;
        let opener = Opener::Given(connect);
        let node = ControlNode::over(name, FrameTransport::Wire(wire), opener)?;
        Ok(node.made_of_software(board))
    }

    /// A node whose control protocol `connect` reaches, e.g. over a serial line, and whose frames arrive at `port` of this
    /// host: only Ethernet trials, and none without a port.
    ///
    /// # Errors
    /// [`NodeError::Failed`] where nothing answers.
    pub fn at_port(
        name: &str,
        node_type: &'static str,
        port: Option<Interface>,
        connect: Connect,
    ) -> Result<ControlNode, NodeError> {
        let transport = FrameTransport::Port(port);
        let node = ControlNode::over(name, transport, Opener::Given(connect))?;
        Ok(ControlNode { node_type, ..node })
    }

    fn made_of_software(mut self, board: HostedBoard) -> ControlNode {
        self.node_type = board.node_type;
        self.board = Some(board.facts);
        self.link_is_real = false;
        self
    }

    fn over(
        name: &str,
        transport: FrameTransport,
        opener: Opener,
    ) -> Result<ControlNode, NodeError> {
        let mut control = opener.open()?;
        let identity = control.identity().clone();
        let mut setup = node_report::setup(&mut control).map_err(|e| of_start(&e))?;
        let mut stamps = None;
        if let Some(interface) = transport.interface() {
            let port = &interface.port;
            let card = CardStamps::switched_on(port);
            let words = match card {
                Some((card, switched_on)) => {
                    stamps = switched_on;
                    card.to_string()
                }
                None => format!("by the kernel ({} has no clock)", port.interface),
            };
            setup.insert(TESTER_STAMPS.to_owned(), words);
        }
        let key = |name: &str| setup.get(name).map(String::as_str);
        let interface = transport.interface().map(|i| i.port.interface.as_str());
        let tester_cores = TesterCores::beside(key("host"), key("cpus"), interface);
        Ok(ControlNode {
            name: name.to_owned(),
            node_type: "node",
            board: None,
            transport,
            opener,
            link_is_real: !setup.contains_key(EMULATOR),
            control,
            identity,
            setup,
            tester_cores,
            // A time in µs is unique enough for that.
            trials: (unix_ns() / 1000) as u32,
            idle_ratio: None,
            other_path: None,
            ports: PortsOptions::default(),
            capture: None,
            _stamps: stamps,
        })
    }

    /// Adds set-up keys that the node itself does not know, such as its emulator.
    pub fn know(&mut self, keys: impl IntoIterator<Item = (String, String)>) {
        self.setup.extend(keys);
    }

    /// The same node with `ports` as the options for frames between ports, with which the tester measures its Ethernet ceiling.
    #[must_use]
    pub fn with_ports(self, ports: PortsOptions) -> ControlNode {
        ControlNode { ports, ..self }
    }

    /// The rate of the slower link of the two ends, as far as known.
    fn link(&self) -> Option<LineRate> {
        let theirs = self.setup.get("link_bits_per_s");
        let theirs = theirs.filter(|_| self.link_is_real);
        let theirs = theirs.and_then(|text| text.parse().ok());
        let ours = self.transport.link().map(LineRate::bits_per_s);
        let slowest = match (ours, theirs) {
            (Some(a), Some(b)) => Some(std::cmp::min::<u64>(a, b)),
            (a, b) => a.or(b),
        };
        slowest.and_then(LineRate::new)
    }

    /// Starts a trial; repeats it in a new session where the node has forgotten this one. A busy node is tried again
    /// until it would have ended the trial of a tester that was killed.
    fn start(&mut self, plan: &NodeTrial, cancel: &Cancel) -> Result<Started, NodeError> {
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

    fn ask_start(&mut self, plan: &NodeTrial) -> Result<Started, ClientError> {
        let address = match &self.opener {
            Opener::Address(address, _) => Some(*address),
            Opener::Given(_) => None,
        };
        let goes_on = |rounds| control::still_prepares(address, rounds);
        self.control.start_while(plan.start.clone(), goes_on)
    }

    /// Runs one trial, on the thread with the tester's cores.
    fn run_here(
        &mut self,
        mut plan: NodeTrial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<(Observation, Vec<PointTimes>), NodeError> {
        let unpinned = self.tester_cores.take();
        let started_unix_ns = unix_ns();
        let layer = plan.resolved.trial.framing.layer;
        let (started, result) = match self.transport {
            FrameTransport::Wire(_) => self.on_the_wire(&mut plan, progress, cancel)?,
            FrameTransport::Port(_) => self.at_the_port(&mut plan, progress, cancel)?,
            FrameTransport::Ip { address, .. } => {
                self.by_ip(address, &mut plan, progress, cancel)?
            }
        };
        let left = result.left.clone();
        let mut report = self.report(&plan, started.trial, &result);
        // Each of two paths has its own stages.
        let points = match plan.turns {
            Some(_) => std::mem::take(&mut report.points),
            None => Vec::new(),
        };
        let earlier_idle_ratio = self.idle_ratio;
        let reported_idle = report.load.value().and_then(|l| l.idle_baseline_ratio);
        self.idle_ratio = reported_idle.or(self.idle_ratio);
        let datagram = plan.resolved.sizes.datagram.unwrap_or(0);
        let warnings = crate::path::fragmented(datagram, layer, self.transport.mtu());
        let mut observation = observe::observation(observe::Parts {
            plan: &plan,
            path: self.transport.name(layer),
            node: self.describe(),
            result,
            report,
            started_unix_ns,
            earlier_idle_ratio,
            shared: self.tester_cores.shared.clone().or(unpinned),
            warnings: warnings.into_iter().collect(),
        });
        self.mark_emulated(&mut observation);
        Ok((left.judge(Ok(observation))?, points))
    }

    /// Marks the figures of a node that reports that it is emulated, or that is behind a TAP to an emulated board. A board that
    /// this host started has more details.
    fn mark_emulated(&self, observation: &mut Observation) {
        if self.board.is_some() {
            return;
        }
        let behind = self.transport.interface().filter(|i| leads_to_board(i));
        let why = match (self.setup.get(EMULATOR), behind) {
            (Some(emulator), _) => format!("the node reports that it is emulated ({emulator})"),
            (None, Some(tap)) => format!(
                "the node is an emulated board of this host, behind {}",
                tap.port
            ),
            (None, None) => return,
        };
        observation.tell_emulated(
            format!("{why}, so rates and times are those of the emulation, not of the hardware"),
            "use counts of instructions, which do not depend on the host: wirelab stages board:NAME",
        );
    }

    /// Runs one trial, on its own thread, because the thread moves to the tester's cores.
    fn run_there(
        &mut self,
        plan: NodeTrial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<(Observation, Vec<PointTimes>), NodeError> {
        std::thread::scope(|scope| {
            let result = scope.spawn(|| self.run_here(plan, progress, cancel)).join();
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn plan(&mut self, trial: &Trial) -> Result<NodeTrial, NodeError> {
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

    /// A trial whose frames use an interface of this host.
    fn by_ip(
        &mut self,
        node: SocketAddr,
        plan: &mut NodeTrial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<(Started, flows::FlowsResult), NodeError> {
        let leaving = Leaving::by(self.interface());
        let result = self.by_stack(node, plan, progress, cancel);
        let emitted = result.as_ref().map_or(0, |(_, result)| result.emitted());
        let left = leaving.end(emitted);
        match result {
            Ok((started, result)) => Ok((started, flows::FlowsResult { left, ..result })),
            Err(error) => Err(left.because(error)),
        }
    }

    /// A trial whose frames use the stack of this host.
    fn by_stack(
        &mut self,
        node: SocketAddr,
        plan: &mut NodeTrial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<(Started, flows::FlowsResult), NodeError> {
        let (started, mut result, watch);
        let mut notes = Vec::new();
        match plan.resolved.trial.framing.layer {
            Layer::Ethernet => {
                let mac = self.setup.get("mac").map(String::as_str);
                let mut start = plan.start.clone();
                let sink = self.sink();
                let ready = ethernet::prepare(plan, self.interface(), mac, sink, &mut start)?;
                plan.start = start;
                watch = self.watch(plan, &mut notes);
                started = self.start(plan, cancel)?;
                let beside =
                    background::socket(plan, node).map_err(|e| unreachable_peer(node, &e))?;
                let sides = ethernet::sides(plan, &started, ready, beside);
                result = self.flows(plan, &started, sides, progress, cancel)?;
            }
            Layer::UdpIpv4 | Layer::UdpIpv6 => {
                let (socket, ready) = udp::prepare(node, &mut plan.start)?;
                watch = self.watch(plan, &mut notes);
                started = self.start(plan, cancel)?;
                let sides = udp::sides(plan, node, &started, (&socket, ready));
                result = self.flows(plan, &started, sides, progress, cancel)?;
            }
            Layer::TcpIpv4 | Layer::TcpIpv6 => {
                watch = None;
                started = self.start(plan, cancel)?;
                let sides = tcp::sides(plan, node, &started);
                result = self.flows(plan, &started, sides, progress, cancel)?;
            }
        }
        result.from_node = watch.iter().flat_map(FrameRecorder::times).collect();
        result.notes = notes;
        Ok((started, result))
    }

    /// A trial whose frames arrive at a port, of a node that has no address.
    fn at_the_port(
        &mut self,
        plan: &mut NodeTrial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<(Started, flows::FlowsResult), NodeError> {
        if plan.background.is_some() {
            let why = "a background goes to the node's address, and a serial line has none; fix: leave it out, or name node:HOST";
            return Err(NodeError::unsupported(TrialOption::Background, why));
        }
        let leaving = Leaving::by(self.interface());
        let mac = self.setup.get("mac").map(String::as_str);
        let mut start = plan.start.clone();
        let ready = ethernet::prepare(plan, self.interface(), mac, self.sink(), &mut start)?;
        plan.start = start;
        let result = self.start(plan, cancel).and_then(|started| {
            let sides = ethernet::sides(plan, &started, ready, None);
            let result = self.flows(plan, &started, sides, progress, cancel)?;
            Ok((started, result))
        });
        let emitted = result.as_ref().map_or(0, |(_, result)| result.emitted());
        let left = leaving.end(emitted);
        match result {
            Ok((started, result)) => Ok((started, flows::FlowsResult { left, ..result })),
            Err(error) => Err(left.because(error)),
        }
    }

    /// Refuses trials whose frames no port of this host can receive or send.
    fn check_port(&self, trial: &Trial) -> Result<(), NodeError> {
        let (field, why) = match &self.transport {
            FrameTransport::Port(None) => (
                None,
                "a serial line carries no frames; fix: name the port of this host that hears the board, e.g. ,port=eth1",
            ),
            FrameTransport::Port(_) if trial.framing.layer != Layer::Ethernet => (
                Some(TrialField::Layer),
                "a node on a serial line has no address here; fix: use --layer ethernet, or name it node:HOST or iperf:HOST",
            ),
            _ => return Ok(()),
        };
        Err(NodeError::unsupported(field, why))
    }

    /// The capture of what arrives, if there is one.
    fn sink(&self) -> Option<Box<dyn FrameSink>> {
        let sink = CaptureSink {
            writer: Arc::clone(self.capture.as_ref()?),
            interface: 0,
            sent_since_ns: None,
        };
        Some(Box::new(sink))
    }

    fn watch(&self, plan: &NodeTrial, notes: &mut Vec<String>) -> Option<FrameRecorder> {
        let same = clocks::one_clock(self.setup.get(CLOCK_ID)).is_ok();
        watch::begin(plan, self.interface(), same, notes)
    }

    /// The node's report on the trial, with the tester's times merged in.
    fn report(&mut self, plan: &NodeTrial, number: u32, result: &flows::FlowsResult) -> NodeReport {
        if !result.answers {
            return NodeReport::nothing("the node no longer answered");
        }
        let captures = plan.start.captures.is_some();
        let mut report = NodeReport::ask(&mut self.control, number, captures);
        let same = clocks::one_clock(self.setup.get(CLOCK_ID));
        for point in &mut report.points {
            point.stream = plan.streams.name(point.stream);
        }
        clocks::join(&mut report.points, same, now_ns(), &mut report.notes);
        clocks::append_tester_times(&mut report.points, plan::FROM_NODE, &result.from_node);
        let note = result
            .status
            .as_ref()
            .and_then(|status| status.note.clone());
        report.notes.extend(note);
        report.notes.extend(result.notes.iter().cloned());
        // The mode of a program on the node's port is known only once it is attached.
        let trial = &plan.resolved.trial;
        if captures || trial.path.is_some() {
            // The program that started the emulator knows more about it than the node.
            let emulator = self.setup.remove_entry(EMULATOR);
            self.setup
                .extend(node_report::setup(&mut self.control).unwrap_or_default());
            self.setup.extend(emulator);
        }
        report
    }

    /// A trial whose frames the tester builds and checks itself.
    fn on_the_wire(
        &mut self,
        plan: &mut NodeTrial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<(Started, flows::FlowsResult), NodeError> {
        let FrameTransport::Wire(wire) = &self.transport else {
            return Err(NodeError::Failed(
                "there is no wire to the node; fix: open it again".to_owned(),
            ));
        };
        if plan.background.is_some() {
            let why = "the tester builds every frame of this wire itself, and sends one flow; fix: leave it out";
            return Err(NodeError::unsupported(TrialOption::Background, why));
        }
        let line = wire.line();
        let mut start = plan.start.clone();
        let ready = line.prepare(plan, &mut start)?;
        plan.start = start;
        let started = self.start(plan, cancel)?;
        let sides = line.sides(plan, &started, ready);
        let result = self.flows(plan, &started, Ok(sides), progress, cancel)?;
        Ok((started, result))
    }

    fn interface(&self) -> Option<&Interface> {
        self.transport.interface()
    }

    fn flows(
        &mut self,
        plan: &NodeTrial,
        started: &Started,
        sides: std::io::Result<Sides<'_>>,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<flows::FlowsResult, NodeError> {
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
                // The node must not continue a trial without the other side.
                let _ = self.control.stop(number);
                let port = started.node_port.unwrap_or_default();
                Err(match self.transport {
                    FrameTransport::Ip { address, .. } => {
                        unreachable_peer(SocketAddr::new(address.ip(), port), &error)
                    }
                    _ => NodeError::Failed(error.to_string()),
                })
            }
        }
    }
}

impl Node for ControlNode {
    fn describe(&self) -> Description {
        let link_bits_per_s = self.link().map(LineRate::bits_per_s);
        let mut capabilities = node_report::capabilities(&self.identity, link_bits_per_s);
        if let FrameTransport::Port(port) = &self.transport {
            let can = |layer: &Layer| *layer == Layer::Ethernet && port.is_some();
            capabilities.layers.retain(can);
        }
        Description {
            name: self.name.clone(),
            node_type: self.node_type.to_owned(),
            capabilities,
            setup: self.setup.clone(),
            facts: Some(self.board.clone().unwrap_or_default()),
        }
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        if let Some(other) = self.other_path.take().filter(|other| other.trial == *trial) {
            return Ok(other);
        }
        self.check_port(trial)?;
        let captures = plan::CAPTURES.min(self.identity.max_captures);
        let by_turns = matches!(self.transport, FrameTransport::Ip { .. })
            .then(|| turns::both(trial, captures));
        let Some(both) = by_turns.flatten() else {
            let plan = self.plan(trial)?;
            return Ok(self.run_there(plan, progress, cancel)?.0);
        };
        let mut plan = self.plan(&both)?;
        plan.take_turns()?;
        let (both, points) = self.run_there(plan, progress, cancel)?;
        let [observation, other] = turns::split(trial, &both, &points);
        self.other_path = Some(other);
        Ok(observation)
    }

    fn start_capture(&mut self, file: &std::path::Path) -> Result<(), NodeError> {
        let Some(interface) = self.interface() else {
            return Err(NodeError::unsupported(
                None,
                "no interface of this host hears the node; fix: leave --capture out",
            ));
        };
        let interface = InterfaceSpec::named(interface.port.to_string());
        self.capture = Some(start_of_node(file, &[interface])?);
        Ok(())
    }

    fn end_capture(&mut self) -> Result<Option<u64>, NodeError> {
        end_of_node(self.capture.take())
    }

    fn overhead_ps(&self) -> u64 {
        match &self.board {
            Some(_) => 0,
            None => 200_000_000_000,
        }
    }

    fn tester_ceiling(&self) -> TesterCeiling {
        if let FrameTransport::Wire(_) = self.transport {
            return Box::new(|trial| ceiling::ceiling_frames_per_s(trial, Traffic::Wire));
        }
        // Beside a node on the same machine the tester keeps to its own cores; otherwise it may use all.
        let cores = self.tester_cores.cores().cloned();
        let mut lab = wirelab_ports::CeilingLab::new(self.ports);
        Box::new(move |trial| {
            ceiling::within(cores.as_ref(), || match trial.framing.layer {
                Layer::Ethernet => lab.frames_per_s(trial),
                _ => ceiling::ceiling_frames_per_s(trial, Traffic::Node),
            })
        })
    }

    /// The records that the node keeps, up to the requested number; a node that keeps none limits no frames.
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
