//! An iperf 2 server as a node, `iperf:HOST[:PORT][,token=FILE][,silent]`, and an iperf3 server,
//! `iperf3:HOST[:PORT][,token=FILE]`.

mod companion;
mod console;
mod echo;
mod flow;
mod observe;
pub(crate) mod plan;
mod run;
mod three;

pub use run::SETTLE;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use wirelab_control::token::Token;
use wirelab_iperf::v2::client::LINGER;
use wirelab_iperf::v2::{self, Generation, Leg};
use wirelab_iperf::v3;
use wirelab_port::tap::leads_to_board;
use wirelab_trial::facts::Facts;
use wirelab_trial::host_port::HostPort;
use wirelab_trial::open::ConsoleOptions;
use wirelab_trial::{
    Cancel, Capabilities, Description, Direction, Layer, Node, NodeError, Observation, OpenError,
    Progress, TesterCeiling, Transcript, Trial,
};

use self::companion::Companion;
use crate::ceiling::{self, Traffic};
use crate::host::Addresses;
use crate::leaving::Leaving;
use crate::manners;
use crate::node::control::ProofSession;
use crate::route::Route;

/// What is known about the answers of an iperf 2 server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answers {
    /// Nothing yet: the first exchange shows it.
    Unknown,
    /// The server has answered.
    Yes,
    /// The user says that it never answers.
    Never,
}

/// How a server is opened, beside its address.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    /// Whether it is iperf3.
    pub three: bool,
    /// The token that the serving node requires.
    pub token: Option<Token>,
    /// Whether the server never answers, so that no answer is requested.
    pub silent: bool,
    /// Whether it may be beyond this host's links.
    pub routed: bool,
}

/// Changes of a companion to an iperf 2 test.
pub(crate) struct Hooks<'a> {
    /// Before it runs.
    plan: &'a mut dyn FnMut(&mut plan::IperfTrial),
    /// Before its result is read.
    result: &'a mut dyn FnMut(&mut run::TestResult),
}

/// An iperf 2 or iperf3 server. Nothing is sent before the first trial.
#[derive(Debug)]
pub struct IperfNode {
    name: String,
    /// Whether it is iperf3.
    three: bool,
    peer: Addresses,
    route: Route,
    /// Whether the peer's traffic must use the tester's own connection.
    on_our_connection: bool,
    /// The peer's stack, once its traffic was seen.
    stack: Option<&'static str>,
    /// The server's generation, once it answered a UDP flow.
    server: Option<Generation>,
    /// Whether an iperf certainly answers there, or never does and need not.
    answers: Answers,
    /// A session with the node that runs this iperf server, where it requires a token.
    session: Option<ProofSession>,
    /// End of the last test after which the peer needs a pause.
    unsettled_since: Option<Instant>,
    /// The console by which its server is started for each trial.
    companion: Option<Box<Companion>>,
    /// What that console reported about the board.
    console_setup: BTreeMap<String, String>,
}

impl IperfNode {
    /// The iperf 2 server at `HOST[:PORT]`, called `name` on the command line.
    ///
    /// # Errors
    /// [`NodeError::BadTrial`] for an invalid host, [`NodeError::Failed`] where the host is unknown or there is no
    /// route.
    pub fn open(name: &str, host: &str) -> Result<IperfNode, NodeError> {
        IperfNode::open_with(name, host, Opening::default())
    }

    /// As [`IperfNode::open`], for an iperf3 server.
    ///
    /// # Errors
    /// Those of [`IperfNode::open`].
    pub fn open_three(name: &str, host: &str) -> Result<IperfNode, NodeError> {
        let opening = Opening {
            three: true,
            ..Opening::default()
        };
        IperfNode::open_with(name, host, opening)
    }

    /// The same server, which need not answer before it gets a load: its own output shows what arrives.
    #[must_use]
    pub fn without_probe(mut self) -> IperfNode {
        self.answers = Answers::Never;
        self
    }

    /// As [`IperfNode::open`], for either generation.
    pub(crate) fn open_with(
        name: &str,
        host: &str,
        opening: Opening,
    ) -> Result<IperfNode, NodeError> {
        let three = opening.three;
        let port = match three {
            true => v3::DEFAULT_PORT,
            false => v2::DEFAULT_PORT,
        };
        let written = HostPort::parse(host, port).map_err(NodeError::BadTrial)?;
        let peer = Addresses::resolve(&written)?;
        let control = SocketAddr::new(peer.first().ip(), wirelab_control::PORT);
        manners::check(&peer, opening.routed)?;
        let session = opening
            .token
            .map(|token| ProofSession::open(control, token))
            .transpose()?;
        let route = Route::to(peer.first())?;
        let node = IperfNode {
            name: name.to_owned(),
            three,
            peer,
            route,
            on_our_connection: false,
            stack: None,
            server: None,
            answers: Answers::Unknown,
            session,
            unsettled_since: None,
            companion: None,
            console_setup: BTreeMap::new(),
        };
        Ok(match opening.silent {
            true => node.without_probe(),
            false => node,
        })
    }

    /// The same node with a console, at which the board is brought to its prompt.
    ///
    /// # Errors
    /// [`OpenError`]: the console or the profile is wrong, or the board does not answer.
    pub fn with_console(mut self, console: &ConsoleOptions) -> Result<IperfNode, OpenError> {
        let companion = Companion::open(console, self.three, self.peer.first().ip())?;
        self.console_setup = companion.setup();
        self.companion = Some(Box::new(companion));
        Ok(self)
    }

    fn setup(&self) -> BTreeMap<String, String> {
        let mut setup = BTreeMap::new();
        let mut put = |key: &str, value: String| setup.insert(key.to_owned(), value);
        put("ip", self.peer.first().ip().to_string());
        let application = if self.three { "iperf3" } else { "iperf 2" };
        put("application", application.to_owned());
        if let Some(stack) = self.stack {
            put("iperf_generation", stack.to_owned());
        }
        if let Some(mtu) = self.route.mtu() {
            put("mtu", format!("{mtu} B"));
        }
        if self.answers == Answers::Never && self.companion.is_none() {
            put("answers", "never, as its name says (silent)".to_owned());
        }
        if let Some(interface) = &self.route.interface {
            put("tester_interface", interface.port.to_string());
        }
        setup.extend(self.console_setup.clone());
        setup
    }

    fn hears(&mut self, answers: Answers) {
        if self.answers != Answers::Never {
            self.answers = answers;
        }
    }

    /// Makes sure that an iperf answers before the tester sends a load; `None` if it does.
    fn is_no_iperf(&mut self, plan: &plan::IperfTrial, cancel: &Cancel) -> Option<run::TestResult> {
        let sends_load = plan.resolved.trial.direction != Direction::Transmit;
        if self.answers != Answers::Unknown || !sends_load {
            return None;
        }
        let result = run::make_sure(plan, cancel);
        if plan.is_udp() {
            self.unsettled_since = Some(Instant::now());
        }
        match result {
            Ok(server) => {
                self.hears(Answers::Yes);
                self.server = server.or(self.server);
                None
            }
            Err(nobody) => Some(*nobody),
        }
    }

    /// Learns the generation of the peer from what it sent.
    fn learn(&mut self, result: &run::TestResult) {
        let received = result.outcome.legs.iter().find_map(|(_, leg)| match leg {
            Leg::UdpReceived(udp) => Some(udp.generation),
            _ => None,
        });
        self.server = result.outcome.server().or(self.server);
        if received.is_some() || result.outcome.server().is_some() {
            self.hears(Answers::Yes);
        }
        if let Some(generation) = received.or(self.server) {
            self.stack = Some(observe::generation_name(generation));
        }
    }
}

impl IperfNode {
    /// Marks the figures of a board in an emulator on this host: they depend on the emulation, which iperf does not
    /// report.
    fn mark_emulated(&self, observation: &mut Observation) {
        if !self.route.interface.as_ref().is_some_and(leads_to_board) {
            return;
        }
        observation.tell_emulated(
            "the peer is an emulated board of this host, so that rates and times are those of the emulation, and not of the hardware",
            "take counts of instructions, which no host changes: wirelab stages board:NAME",
        );
    }

    /// How long the peer still needs after the last test.
    fn rest(&self) -> Duration {
        let older = self.server.filter(|kind| kind.takes_first());
        let settle = older.map_or(run::SETTLE, |_| LINGER);
        let rest = self.unsettled_since;
        rest.map_or(Duration::ZERO, |last| settle.saturating_sub(last.elapsed()))
    }

    fn run_three(
        &self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let server = self.peer.of_layer(trial.framing.layer)?;
        let route = Route::to(server)?;
        let plan = plan::plan(trial, server, route.link())?;
        let parameters = three::parameters(&plan)?;
        let leaving = Leaving::by(route.interface.as_ref());
        let result = three::ask(&plan, parameters, progress, cancel);
        let left = leaving.end(0);
        let observation = three::observation(&plan, result, &left, self.describe(), &route);
        left.judge(observation)
    }

    /// Refuses what iperf cannot do, before any packet is sent to the peer, even to find its address.
    fn check(&self, trial: &Trial) -> Result<(), NodeError> {
        match self.three {
            true => three::accepts(trial).check(trial),
            false => plan::accepts(trial).check(trial),
        }
    }

    /// Runs a trial; `hooks` may change the plan of an iperf 2 test before it runs, and its result before it is read.
    fn run_once(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
        hooks: Hooks<'_>,
    ) -> Result<Observation, NodeError> {
        self.check(trial)?;
        if let Some(session) = &mut self.session {
            session.show()?;
        }
        if self.three {
            return self.run_three(trial, progress, cancel);
        }
        let server = self.peer.of_layer(trial.framing.layer)?;
        let route = Route::to(server)?;
        if trial.direction == Direction::Echo {
            let echo = echo::plan(trial, route.link())?;
            std::thread::sleep(self.rest());
            let leaving = Leaving::by(route.interface.as_ref());
            let observation = echo.run(server, self.describe(), &leaving, cancel);
            // If the next test comes too early, iperf 2.1.8 ends with a double free.
            self.unsettled_since = Some(Instant::now());
            return observation;
        }
        let mut plan = plan::plan(trial, server, route.link())?;
        std::thread::sleep(self.rest());
        if let Some(nobody) = self.is_no_iperf(&plan, cancel) {
            let left = Leaving::by(None).end(0);
            return observe::observation(&plan, nobody, &left, self.describe(), &route);
        }
        let older = self.server.filter(|kind| kind.takes_first());
        plan.config.generation = older.unwrap_or(plan.config.generation);
        (hooks.plan)(&mut plan);
        std::thread::sleep(self.rest());
        let leaving = Leaving::by(route.interface.as_ref());
        let mut result = run::run(&plan, &mut self.on_our_connection, progress, cancel);
        (hooks.result)(&mut result);
        let left = leaving.end(0);
        // A server that only read a stream needs no pause.
        let alone = !plan.is_udp() && trial.direction == Direction::Receive;
        self.unsettled_since = (!alone).then(Instant::now);
        self.learn(&result);
        let observation = observe::observation(&plan, result, &left, self.describe(), &route);
        left.judge(observation)
    }
}

impl Node for IperfNode {
    fn describe(&self) -> Description {
        let layers = [
            Layer::UdpIpv4,
            Layer::UdpIpv6,
            Layer::TcpIpv4,
            Layer::TcpIpv6,
        ];
        let mut directions = vec![Direction::Transmit, Direction::Receive, Direction::Both];
        // Over TCP, where blocks come back.
        directions.extend((!self.three).then_some(Direction::Echo));
        Description {
            name: self.name.clone(),
            node_type: if self.three { "iperf3" } else { "iperf" }.to_owned(),
            capabilities: Capabilities {
                layers: layers.into_iter().filter(|l| self.peer.has(*l)).collect(),
                directions,
                buffers: Vec::new(),
                paths: Vec::new(),
                ports: 1,
                min_frame_bytes: 64,
                max_frame_bytes: self.route.mtu().map_or(1518, |mtu| mtu.saturating_add(18)),
                link_bits_per_s: self.route.link().map(|link| link.bits_per_s()),
            },
            setup: self.setup(),
            facts: Some(Facts {
                answers_iperf: !self.three,
                ..Facts::default()
            }),
        }
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let mut observation = match self.companion.take() {
            None => {
                let hooks = Hooks {
                    plan: &mut |_| {},
                    result: &mut |_| {},
                };
                self.run_once(trial, progress, cancel, hooks)?
            }
            Some(mut companion) => {
                let result = companion.run(self, trial, progress, cancel);
                self.companion = Some(companion);
                result?
            }
        };
        self.mark_emulated(&mut observation);
        Ok(observation)
    }

    fn overhead_ps(&self) -> u64 {
        match &self.companion {
            None => 300_000_000_000,
            // Time to start the server and to end it.
            Some(_) => 2_000_000_000_000,
        }
    }

    fn transcript(&self) -> Option<Transcript> {
        self.companion
            .as_ref()
            .map(|companion| companion.transcript())
    }

    fn tester_ceiling(&self) -> TesterCeiling {
        Box::new(|trial| ceiling::ceiling_frames_per_s(trial, Traffic::Iperf))
    }
}
