//! `hdl:reference`: the SoC of `rtl/reference` in simulation with a program on it, as a node.
//!
//! The tester is at the other end of its line: it sends a frame, takes what comes back, and compares every byte. The
//! program is asked over the debug link and does not know where it runs. Delays inside the node are counted by its capture
//! unit, in clocks of 10 ns, one point a run, as in the document that this node follows. Time is simulated.

mod echo;
mod link;
mod observe;
mod plan;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use thiserror::Error;
use wirelab_control::client::{Client, ClientError, Patience};
use wirelab_control::told::{self, Told};
use wirelab_control::value::{State, UnitPoint};
use wirelab_trial::host_clock::unix_ns;
use wirelab_trial::{
    Cancel, Description, Direction, Node, NodeError, Observation, Progress, Trial,
};

use crate::reference::{Attachment, ImageError, Reference, Straps};
use echo::{Echoes, NodeAddress};
use link::Link;
use plan::Plan;

/// Clocks within which the program must say that it is up: 0.5 s of simulated time.
const BOOT_CLOCKS: u64 = 50_000_000;
/// Clocks between two questions whether a trial has ended.
const LOOK_CLOCKS: u64 = 100_000;
/// How often is asked.
const MOST_LOOKS: u32 = 100;
/// The nonce of the first request: nobody else is on this link, and one of another length would shift all times.
const NONCE: u32 = 1;

/// Why the node did not come up.
#[derive(Debug, Error)]
pub enum StartError {
    /// What follows its name.
    #[error("{0}")]
    Options(String),
    /// The program cannot be loaded.
    #[error("the program of hdl:reference: {0}")]
    Image(#[from] ImageError),
    /// It did not say that it is up.
    #[error(
        "the program of hdl:reference does not come up within 0.5 s of simulated time; it said: {0}"
    )]
    NeverUp(String),
    /// It is no node.
    #[error("the program of hdl:reference is up, but {0}")]
    NoNode(#[from] ClientError),
    /// It does not answer on its line.
    #[error(transparent)]
    Silent(#[from] NodeError),
}

/// How the attachment of the MAC is chosen behind the name: `hdl:reference,mac=dma`.
///
/// # Errors
/// What is wrong, in words, and what there is.
pub fn attachment(rest: &str) -> Result<Attachment, String> {
    let Some(option) = rest.strip_prefix(',') else {
        return match rest {
            "" => Ok(Attachment::default()),
            _ => Err(format!(
                "hdl:reference{rest}: write hdl:reference, or hdl:reference,mac=dma"
            )),
        };
    };
    match option.strip_prefix("mac=") {
        Some(name) => name
            .parse()
            .map_err(|error| format!("hdl:reference{rest}: {error}")),
        None => Err(format!(
            "hdl:reference{rest}: '{option}' is no option: there is mac=lite-device, lite-ordered or dma"
        )),
    }
}

/// The node with its program, up and in a session.
pub struct ReferenceNode {
    name: String,
    client: Client<Link>,
    setup: BTreeMap<String, String>,
    address: NodeAddress,
}

impl ReferenceNode {
    /// Start a program (an ELF file) on the node with an attachment; `name` is how the node was asked for.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(
        name: &str,
        attachment: Attachment,
        elf: &[u8],
    ) -> Result<ReferenceNode, StartError> {
        let mut node = Reference::new(Straps::new(attachment));
        node.load(elf)?;
        let mut link = Link::new(node);
        let ip = wait_until_up(&mut link)?;
        let mut client = Client::open_with(link, Patience::default(), NONCE)?;
        let mut setup = told::setup(&mut client)?;
        setup.insert(
            "simulator".to_owned(),
            "cycle by cycle, simulated time".to_owned(),
        );
        let address = echo::resolve(&mut client.transport().node, ip)?;
        Ok(ReferenceNode {
            name: name.to_owned(),
            client,
            setup,
            address,
        })
    }

    /// One run of a trial: its echoes, and what the capture unit took of them.
    fn once(
        &mut self,
        plan: &Plan,
        point: Option<UnitPoint>,
        report: &dyn Fn(u64),
        cancel: &Cancel,
    ) -> Result<Ran, NodeError> {
        let started = self.client.start(plan.start(point));
        let started = started.map_err(|error| wirelab_control::refused::of_start(&error))?;
        let mut echoes = Echoes::new(plan, self.address);
        let node = &mut self.client.transport().node;
        while node.take_sent().is_some() {}
        let cancelled = echo::run(node, &mut echoes, plan.frames, report, cancel);
        if node.has_strayed() || node.exit_status().is_some() {
            return Err(NodeError::Failed(format!(
                "the program of hdl:reference has ended; it said: {}",
                self.client.transport().console()
            )));
        }
        self.settle(started.trial)?;
        let told = Told::ask(&mut self.client, started.trial, point.is_some());
        Ok(Ran {
            echoes,
            told,
            cancelled,
        })
    }

    /// Has the program end a trial where it has not.
    fn settle(&mut self, trial: u32) -> Result<(), NodeError> {
        let broken = |error: ClientError| {
            NodeError::Failed(format!("the program of hdl:reference: {error}"))
        };
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
            "the program of hdl:reference does not end its trial".to_owned(),
        ))
    }
}

/// What came of one run.
struct Ran {
    echoes: Echoes,
    told: Told,
    cancelled: bool,
}

/// Waits for the line that says that the program is up, and gives the address that it names there.
fn wait_until_up(link: &mut Link) -> Result<Ipv4Addr, StartError> {
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

impl std::fmt::Debug for ReferenceNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("ReferenceNode");
        shown.field("name", &self.name).finish_non_exhaustive()
    }
}

impl Node for ReferenceNode {
    fn describe(&self) -> Description {
        let identity = self.client.identity();
        let mut capabilities = told::capabilities(identity, Some(plan::LINK_BITS_PER_S));
        capabilities.directions = vec![Direction::Receive, Direction::Transmit, Direction::Echo];
        capabilities.layers = vec![wirelab_trial::Layer::UdpIpv4];
        Description {
            name: self.name.clone(),
            kind: "hdl".to_owned(),
            capabilities,
            setup: self.setup.clone(),
        }
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let plan = plan::plan(trial, self.client.identity())?;
        let started_unix_ns = unix_ns();
        let points: Vec<Option<UnitPoint>> = match &plan.points[..] {
            [] => vec![None],
            points => points.iter().copied().map(Some).collect(),
        };
        let total = plan.frames * points.len() as u64;
        let mut runs = Vec::new();
        for (at, point) in points.into_iter().enumerate() {
            let before = plan.frames * at as u64;
            let report = |done: u64| progress.report(before + done, total, "echoes");
            let ran = self.once(&plan, point, &report, cancel)?;
            let cancelled = ran.cancelled;
            runs.push(ran);
            if cancelled {
                break;
            }
        }
        Ok(observe::observation(
            &plan,
            self.describe(),
            runs,
            started_unix_ns,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attachment_follows_the_name() {
        assert_eq!(attachment("").unwrap(), Attachment::LiteDevice);
        assert_eq!(attachment(",mac=dma").unwrap(), Attachment::Dma);
        for (rest, words) in [
            (",mac=gem", "lite-ordered"),
            (",image=x", "there is mac="),
            (",", "there is mac="),
            ("s", "write hdl:reference"),
        ] {
            let error = attachment(rest).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
