//! A simulated node with its program, ready and in a session of the control protocol, which runs the parts of trials.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use wirelab_control::client::{Client, ClientError, Patience};
use wirelab_control::message::Identity;
use wirelab_control::node_report::{self, NodeReport};
use wirelab_control::value::State;
use wirelab_trial::{Cancel, NodeError};

use super::StartError;
use super::echo::{self, Echoes, NodeAddress};
use super::link::DebugLink;
use super::plan::{Part, ReferenceTrial};
use crate::reference::{Reference, Straps};

/// Clocks within which the program must report that it is ready: 0.5 s of simulated time.
const BOOT_CLOCKS: u64 = 50_000_000;
/// Clocks between two requests whether a trial has ended.
const LOOK_CLOCKS: u64 = 100_000;
/// Most such requests.
const MOST_LOOKS: u32 = 100;
/// The nonce of the first request: this link has no other client, and a nonce of another length would shift all
/// times.
const NONCE: u32 = 1;

/// A node and its session.
pub struct Session {
    client: Client<DebugLink>,
    address: NodeAddress,
}

/// The result of one part of a trial.
pub struct RunResult {
    /// The tester's results.
    pub echoes: Echoes,
    /// The node's report.
    pub report: NodeReport,
    /// Whether the user ended it.
    pub cancelled: bool,
}

impl Session {
    /// Starts a program (an ELF file) on a node, and reads its identity.
    pub fn start(straps: Straps, elf: &[u8]) -> Result<Session, StartError> {
        let mut node = Reference::new(straps);
        node.load(elf)?;
        let mut link = DebugLink::new(node);
        let ip = wait_until_up(&mut link)?;
        let mut client = Client::open_with(link, Patience::default(), NONCE)?;
        let address = echo::resolve(&mut client.transport().node, ip)?;
        Ok(Session { client, address })
    }

    /// The node.
    pub fn node(&mut self) -> &mut Reference {
        &mut self.client.transport().node
    }

    /// Its description.
    pub fn identity(&self) -> &Identity {
        self.client.identity()
    }

    /// Its set-up keys.
    pub fn setup(&mut self) -> Result<BTreeMap<String, String>, ClientError> {
        node_report::setup(&mut self.client)
    }

    /// Runs this many echoes, each reported by `progress`, and reads the capture units. A warm-up frame is sent first,
    /// because the first frame after the tester's requests waits for the instruction cache.
    pub fn run(
        &mut self,
        plan: &ReferenceTrial,
        part: Part,
        progress: &dyn Fn(),
        cancel: &Cancel,
    ) -> Result<RunResult, NodeError> {
        let started = self.client.start(plan.start(part.frames + 1));
        let started = started.map_err(|error| wirelab_control::refused::of_start(&error))?;
        let mut echoes = Echoes::new(plan, self.address, part.ahead);
        let node = &mut self.client.transport().node;
        while node.take_sent().is_some() {}
        echoes.warm_up(node, cancel)?;
        let mut cancelled = false;
        while echoes.sent < part.frames && !cancelled {
            echoes.next(node, cancel);
            progress();
            cancelled = cancel.is_cancelled();
        }
        if node.has_strayed() || node.exit_status().is_some() {
            return Err(NodeError::Failed(format!(
                "the program of hdl:reference has ended; fix: repair the firmware by its output: {}",
                self.client.transport().console()
            )));
        }
        self.settle(started.trial)?;
        let mut report =
            NodeReport::ask(&mut self.client, started.trial, !plan.directions.is_empty());
        for point in &mut report.points {
            point
                .times
                .retain(|(sequence, _)| *sequence != echo::WARM_UP);
        }
        Ok(RunResult {
            echoes,
            report,
            cancelled,
        })
    }

    /// Lets the program end a trial that has not ended.
    fn settle(&mut self, trial: u32) -> Result<(), NodeError> {
        let broken =
            |why: ClientError| NodeError::Failed(format!("the program of hdl:reference: {why}"));
        let mut status = self.client.status(Some(trial)).map_err(broken)?;
        if status.state == State::Running {
            status = self.client.stop(trial).map_err(broken)?;
        }
        for _ in 0..MOST_LOOKS {
            if status.state != State::Running {
                return Ok(());
            }
            self.client.transport().node.run(LOOK_CLOCKS);
            status = self.client.status(Some(trial)).map_err(broken)?;
        }
        Err(NodeError::Failed(
            "the program of hdl:reference does not end its trial; fix: give a program that does on stop".to_owned(),
        ))
    }
}

/// Waits for the program's READY line, and returns the address in it.
fn wait_until_up(link: &mut DebugLink) -> Result<Ipv4Addr, StartError> {
    while link.node.clocks() < BOOT_CLOCKS && link.node.exit_status().is_none() {
        link.look();
        let console = link.console();
        let Some(line) = console.lines().find(|line| line.starts_with("READY")) else {
            continue;
        };
        let ip = line.split(' ').find_map(|word| word.strip_prefix("ip="));
        if let Some(ip) = ip.and_then(|ip| ip.parse().ok()) {
            return Ok(ip);
        }
    }
    Err(StartError::NeverUp(link.console()))
}
