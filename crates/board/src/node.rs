//! A board in QEMU as a node: started here, controlled like a remote node, and watched.

use std::time::Duration;

use wirelab_port::netns::NetNs;
use wirelab_remote::{ControlNode, Ends, opinion};
use wirelab_trial::format;
use wirelab_trial::node::with_trouble;
use wirelab_trial::open::PortsOptions;
use wirelab_trial::{
    Cancel, CaptureLimits, Description, Direction, Field, Layer, Node, NodeError, Observation,
    OpenError, Progress, StageSource, Status, TesterCeiling, Trial, Warning, WarningCode,
};

use crate::facts::hosted;
use crate::{Board, Options};

/// How long an emulator may still run after its wire has ended: it frees its memory, and may wait for a processor
/// beside a measurement.
const DYING: Duration = Duration::from_secs(5);

/// A board in QEMU, with an open session; it ends with this value.
pub struct BoardNode {
    // Dropped first: the session ends before the board does.
    node: ControlNode,
    namespace: Option<NetNs>,
    board: Board,
    /// How often the board has started.
    starts: usize,
    /// The version of the distribution's iperf 2, where it is used too, and the layers and directions already compared.
    second: Option<String>,
    heard: Vec<(Layer, Direction)>,
}

impl BoardNode {
    /// Starts the board and opens a session; `name` is its name on the command line, and its tester measures its
    /// ceiling for Ethernet with `ports`.
    ///
    /// # Errors
    /// [`OpenError`]: no such board, no image, or one that does not start or answer.
    pub fn start(
        name: &str,
        board: &str,
        options: &Options,
        ports: PortsOptions,
    ) -> Result<BoardNode, OpenError> {
        let mut board = Board::start(board, options)?;
        let namespace = board.namespace()?;
        let opened = match (board.ip(), board.frames()) {
            (Some(ip), _) => {
                let connect = board.connector();
                within(namespace.as_ref(), || {
                    ControlNode::board(name, hosted(), ip.into(), connect)
                })
            }
            (None, Some(frames)) => {
                let ends = board.addresses();
                let ends = Ends {
                    node_mac: ends.mac.0,
                    node_ip: ends.ip,
                    tester_mac: ends.tester_mac.0,
                    tester_ip: ends.tester_ip,
                };
                ControlNode::on_wire(name, hosted(), frames, ends, board.connector())
            }
            (None, None) => Err(NodeError::Failed(format!(
                "{name} has no wire to send frames on; fix: count its instructions with 'wirelab stages {name}'"
            ))),
        };
        let mut node = opened.map_err(|error| {
            board.wait_for_end(DYING);
            match board.check() {
                Err(dead) => OpenError::from(dead),
                Ok(()) => error.into(),
            }
        })?;
        let image = board.image().file_name().unwrap_or_default();
        let emulator = crate::qemu::version().unwrap_or_else(|| "QEMU".to_owned());
        node.know([
            ("emulator".to_owned(), emulator),
            ("image".to_owned(), image.to_string_lossy().into_owned()),
        ]);
        Ok(BoardNode {
            node: node.with_ports(ports),
            namespace,
            starts: board.starts(),
            board,
            second: None,
            heard: Vec::new(),
        })
    }

    /// Compares both clients of iperf 2, after a successful trial that both can run.
    fn opinion(&mut self, observation: &Observation, cancel: &Cancel) -> Option<Warning> {
        let (version, ip) = (self.second.clone()?, self.board.ip()?);
        let trial = &observation.trial;
        let which = (trial.framing.layer, trial.direction);
        // Only the largest datagrams of the page: with small ones both clients are the limit.
        let large = observation
            .sizes
            .datagram
            .is_some_and(|bytes| bytes >= 1460);
        let known = self.heard.contains(&which) || cancel.is_cancelled();
        let slow = observation.flows.iter().any(|flow| flow.sender_was_slow());
        if known || slow || !large || !opinion::suits(trial) || !observation.passed() {
            return None;
        }
        self.heard.push(which);
        let ask = || Ok(opinion::ask(ip.into(), trial, &version));
        match within(self.namespace.as_ref(), ask) {
            Ok(Ok(opinions)) => Some(opinions.warning()),
            Ok(Err(why)) => Some(no_opinion(&version, &why)),
            Err(error) => Some(no_opinion(&version, &error.to_string())),
        }
    }

    /// Warns that rates of this node are those of the emulation.
    fn tell_emulated(&self, observation: &mut Observation) {
        let board = self.board.info().name;
        observation.tell_emulated(
            "the board is emulated, so rates and times are those of the emulation on this host, not of the hardware",
            format!("use counts of instructions, which do not depend on the host: wirelab stages board:{board}"),
        );
    }

    /// The event that happened to the board since the last call, if any.
    fn trouble(&mut self) -> Option<String> {
        if let Err(dead) = self.board.check() {
            return Some(dead.to_string());
        }
        let starts = self.board.starts();
        if starts > std::mem::replace(&mut self.starts, starts) {
            let console = self.board.console().tail();
            return Some(format!("the board has restarted on its own; {console}"));
        }
        None
    }
}

impl Node for BoardNode {
    fn describe(&self) -> Description {
        self.node.describe()
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        self.board
            .check()
            .map_err(|dead| NodeError::Failed(dead.to_string()))?;
        let before = self.board.dropped_frames();
        let node = &mut self.node;
        let observed = within(self.namespace.as_ref(), || {
            node.run(trial, progress, cancel)
        });
        let well = match &observed {
            Ok(observation) => observation.status == Status::Complete,
            Err(error) => !matches!(error, NodeError::Failed(_)),
        };
        if !well {
            // Its wire ends a moment before its process.
            self.board.wait_for_end(DYING);
        }
        let trouble = self.trouble();
        let mut observation = with_trouble(observed, trouble)?;
        self.tell_emulated(&mut observation);
        if let Some((before, after)) = before.zip(self.board.dropped_frames()) {
            dropped(&mut observation, after.saturating_sub(before));
        }
        let second = self.opinion(&observation, cancel);
        observation.warnings.extend(second);
        if let Some(why) = self.board.without_tap() {
            observation.warnings.push(Warning::new(WarningCode::NO_INTERFACE, format!("wirelab itself is the wire to this board ({why}): rates are those of two processes, and frames that one does not take in time are lost"), "run it with sudo, so that the board gets an interface of this host (TAP)"));
        }
        Ok(observation)
    }

    fn overhead_ps(&self) -> u64 {
        self.node.overhead_ps()
    }

    fn tester_ceiling(&self) -> TesterCeiling {
        self.node.tester_ceiling()
    }

    fn capture_limits(&self) -> CaptureLimits {
        self.node.capture_limits()
    }

    fn stages(&self) -> StageSource {
        self.node.stages()
    }

    /// Uses the distribution's iperf 2, where it is installed.
    fn hear_second_opinion(&mut self) {
        self.second = self.board.ip().and_then(|_| opinion::version());
    }
}

/// Warns of frames that the emulator did not take in time.
fn dropped(observation: &mut Observation, frames: u64) {
    let name = "dropped_before_emulator_frames".to_owned();
    observation.counters.insert(name, Field::measured(frames));
    if frames > 0 {
        observation.warnings.push(Warning::new(WarningCode::EMULATOR_BEHIND, format!("the emulator did not take {} in time: dropped before the board", format::count(frames, "frame")), "offer less, or free the host's processors of other work; firmware whose receive ring is full holds its emulator up too"));
    }
}

fn no_opinion(version: &str, why: &str) -> Warning {
    Warning::new(
        WarningCode::NO_SECOND_OPINION,
        format!("{version} was run too, and gave no result: {why}"),
        "the figures of this page are not affected",
    )
}

/// Calls a function in a namespace, if there is one.
pub(crate) fn within<T: Send>(
    namespace: Option<&NetNs>,
    work: impl FnOnce() -> Result<T, NodeError> + Send,
) -> Result<T, NodeError> {
    match namespace {
        None => work(),
        Some(namespace) => namespace
            .run_in(work)
            .unwrap_or_else(|error| Err(NodeError::Failed(error.to_string()))),
    }
}
