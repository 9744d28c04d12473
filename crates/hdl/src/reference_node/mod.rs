//! `hdl:reference`: the SoC of `rtl/reference` in simulation with a program on it, as a node.
//!
//! The tester is at the other end of its line: it sends a frame, receives its echo, and compares every byte. The
//! control protocol runs over the debug link, and the program does not know where it runs. Capture units count delays
//! inside the node, in clocks of 10 ns, at the points of the document that this node follows. Time is simulated.

mod counted;
mod echo;
mod link;
mod observe;
mod options;
mod plan;
mod session;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;
use wirelab_control::client::ClientError;
use wirelab_control::node_report;
use wirelab_trial::host_clock::unix_ns;
use wirelab_trial::{
    Cancel, CaptureLimits, Description, Direction, Node, NodeError, Observation, Progress,
    StageSource, Trial,
};

use crate::facts;
use crate::reference::{ImageError, Straps};
use plan::ReferenceTrial;
use session::{RunResult, Session};

pub use counted::{COUNTED_LENGTHS, StageCounts, counted, stage_counts};
pub use link::DebugLink;
pub use options::{setup, straps};
pub use plan::MOST_CAPTURED_FRAMES;

/// The tester's IPv4 address.
const TESTER_IP: Ipv4Addr = Ipv4Addr::new(10, 55, 0, 1);
/// Least clocks from the beginning of an echo to the end of the next frame: 120 µs. By then the program has judged
/// the previous frame and its loop has settled, so a delay is that of an idle node. Delays at 256 bytes begin to
/// change below 100 µs; those at 1024 do not, because the line itself takes long enough.
const REST_CLOCKS: u64 = 12_000;

/// Why the node did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// An invalid option of its name.
    #[error("{0}")]
    Options(String),
    /// The program cannot be loaded.
    #[error("the program of hdl:reference: {0}")]
    Image(#[from] ImageError),
    /// It did not print that it is ready.
    #[error(
        "the program of hdl:reference is not ready within 0.5 s of simulated time; fix: give a program that prints its line READY; its output: {0}"
    )]
    NeverUp(String),
    /// It is not a node.
    #[error("the program of hdl:reference is ready, but {0}")]
    NoNode(#[from] ClientError),
    /// It does not answer on its line.
    #[error(transparent)]
    Silent(#[from] NodeError),
}

/// The node with its program, ready and in a session.
pub struct ReferenceNode {
    name: String,
    straps: Straps,
    program: Vec<u8>,
    setup: BTreeMap<String, String>,
    first: Session,
    /// A second node of the same type for trials in two parts, once needed.
    second: Option<Session>,
}

impl ReferenceNode {
    /// Start a program (an ELF file) on the node with these straps; `name` is the node's name in the request.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(name: &str, straps: Straps, elf: &[u8]) -> Result<ReferenceNode, StartError> {
        let mut first = Session::start(straps, elf)?;
        let mut setup = first.setup()?;
        setup.insert(
            "simulator".to_owned(),
            "cycle by cycle, simulated time".to_owned(),
        );
        setup.extend(options::setup(straps));
        Ok(ReferenceNode {
            name: name.to_owned(),
            straps,
            program: elf.to_vec(),
            setup,
            first,
            second: None,
        })
    }

    /// The parts of a trial, in parallel if there are two.
    fn parts(
        &mut self,
        plan: &ReferenceTrial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Vec<RunResult>, NodeError> {
        let done = AtomicU64::new(0);
        let report = || {
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress.report(done, plan.frames, "echoes");
        };
        match plan.parts()[..] {
            [first, second] => {
                let (straps, program, other) = (self.straps, &self.program, &mut self.second);
                std::thread::scope(|scope| {
                    let beside = scope.spawn(|| {
                        let session = match other {
                            Some(session) => session,
                            None => other.insert(
                                Session::start(straps, program)
                                    .map_err(|error| NodeError::Failed(error.to_string()))?,
                            ),
                        };
                        session.run(plan, second, &report, cancel)
                    });
                    let first = self.first.run(plan, first, &report, cancel);
                    let second = beside.join();
                    let second = second.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                    Ok(vec![first?, second?])
                })
            }
            _ => Ok(vec![self.first.run(plan, plan.whole(), &report, cancel)?]),
        }
    }
}

impl std::fmt::Debug for ReferenceNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("ReferenceNode");
        shown.field("name", &self.name).finish_non_exhaustive()
    }
}

impl Node for ReferenceNode {
    fn describe(&self) -> Description {
        let mut capabilities =
            node_report::capabilities(self.first.identity(), Some(plan::LINK_BITS_PER_S));
        capabilities.directions = vec![
            Direction::Receive,
            Direction::Transmit,
            Direction::Both,
            Direction::Echo,
        ];
        capabilities.layers = vec![wirelab_trial::Layer::UdpIpv4];
        Description {
            name: self.name.clone(),
            node_type: facts::NODE_TYPE.to_owned(),
            capabilities,
            setup: self.setup.clone(),
            facts: Some(facts::facts()),
        }
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let plan = plan::plan(trial, self.first.identity())?;
        let started_unix_ns = unix_ns();
        let runs = self.parts(&plan, progress, cancel)?;
        Ok(observe::observation(
            &plan,
            &self.describe(),
            runs,
            started_unix_ns,
        ))
    }

    fn capture_limits(&self) -> CaptureLimits {
        CaptureLimits {
            of_a_trial: u64::MAX,
            in_all: Some(MOST_CAPTURED_FRAMES),
        }
    }

    fn stages(&self) -> StageSource {
        StageSource::Simulated
    }
}
