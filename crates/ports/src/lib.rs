//! A pair of Linux ports as a node: the first port of a pair is the node's side, the second the tester's.
//!
//! Between the two is the path under test: a cable, a switch, a veth pair, a board in the middle. Frames take the
//! fast path (XDP) if both drivers support it and the trial allows it, else the portable path (AF_PACKET). The
//! observation names the path and the reason.
//!
//! The node type `ports:…` and, together with a Linux node of `remote`, the nodes of `lab:…`. `remote` and the command
//! line use it. It knows `port`, `trial` and `wire`. Start reading at [`PORTS`], then [`PortsNode`], then `flow.rs`
//! (from a trial to flows), `run.rs` (runs them) and `observe.rs` (their observation).
#![forbid(unsafe_code)]

mod buffers;
mod ceiling;
mod checker;
mod describe;
mod flow;
mod kind;
mod observe;
pub mod one_way;
pub mod record;
mod run;
pub mod selftest;
mod settle;
mod shaper;
mod watch;

pub use ceiling::CeilingLab;
pub use checker::FramePath;
pub use kind::{PORTS, lab};
pub use shaper::bypassed_shapers;
pub use wirelab_trial::open::{Path, PortsOptions};

use std::sync::atomic::{AtomicBool, AtomicU64};

use wirelab_port::iface::{IfaceError, PortLock, PortName};
use wirelab_port::lab::{EphemeralLab, Lab, LabError, LabSpec, Side};
use wirelab_port::pcapng::{InterfaceSpec, SharedCapture, end_of_node, start_of_node};
use wirelab_trial::{
    Cancel, Description, Node, NodeError, Observation, Progress, TesterCeiling, Trial, Warning,
};

/// Two ports, one on each side of the path under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The node's side.
    pub node: PortName,
    /// The tester's side.
    pub tester: PortName,
}

/// Pairs of ports as a node.
pub struct PortsNode {
    name: String,
    pairs: Vec<Pair>,
    options: PortsOptions,
    capture: Option<SharedCapture>,
    /// Whether frames of the previous run were still arriving when its drain ended.
    restless: AtomicBool,
    /// Frames of the present run are sent from this time on, in ns.
    sent_since_ns: AtomicU64,
    // Held until the node is dropped, so that no other run uses the ports.
    _locks: Vec<PortLock>,
    // Declared last, so that the lab is removed after everything that uses its ports.
    lab: Option<EphemeralLab>,
}

impl PortsNode {
    /// Pairs of ports that exist, e.g. of `ports:eth0:eth1`.
    ///
    /// # Errors
    /// [`IfaceError`] if a port does not exist or another run uses it.
    pub fn new(
        name: &str,
        pairs: Vec<Pair>,
        options: PortsOptions,
    ) -> Result<PortsNode, IfaceError> {
        let ports = pairs.iter().flat_map(|p| [&p.node, &p.tester]);
        let locks = ports.map(PortLock::acquire).collect::<Result<_, _>>()?;
        Ok(PortsNode {
            name: name.to_owned(),
            pairs,
            options,
            capture: None,
            restless: AtomicBool::new(false),
            sent_since_ns: AtomicU64::new(0),
            _locks: locks,
            lab: None,
        })
    }

    /// A lab of `pairs` veth pairs that lives as long as the node, e.g. of `lab:4`.
    ///
    /// # Errors
    /// [`LabError`] if the lab cannot be made.
    pub fn in_lab(spec: &LabSpec, options: PortsOptions) -> Result<PortsNode, LabError> {
        let lab = EphemeralLab::up(spec)?;
        let pairs = pairs_of(&lab)?;
        let mut node = PortsNode::new(&format!("lab:{}", spec.pairs), pairs, options)?;
        node.lab = Some(lab);
        Ok(node)
    }

    /// Write every frame that arrives on either side into `capture` from now on. Its interfaces are
    /// [`PortsNode::capture_interfaces`]; its owner finishes it.
    pub fn capture_into(&mut self, capture: SharedCapture) {
        self.capture = Some(capture);
    }

    /// The interfaces in a capture of this node: both ends of each pair, the node's first.
    pub fn capture_interfaces(&self) -> Vec<InterfaceSpec> {
        let ports = self.pairs.iter().flat_map(|p| [&p.node, &p.tester]);
        ports
            .map(|port| InterfaceSpec::named(port.to_string()))
            .collect()
    }

    /// The pairs.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }
}

/// The pairs of a lab, the node's side first.
///
/// # Errors
/// [`LabError`] if a pair is missing.
pub fn pairs_of(lab: &Lab) -> Result<Vec<Pair>, LabError> {
    (0..lab.pairs())
        .map(|n| {
            Ok(Pair {
                node: lab.port(n, Side::Node)?,
                tester: lab.port(n, Side::Tester)?,
            })
        })
        .collect()
}

impl Node for PortsNode {
    fn describe(&self) -> Description {
        describe::describe(
            &self.name,
            &self.pairs,
            self.options.path,
            self.lab.is_some(),
        )
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let plan = flow::plan(trial, &self.pairs)?;
        if trial.buffers.is_some() {
            buffers::run(self, &plan, progress, cancel)
        } else {
            run::run(self, &plan, progress, cancel)
        }
    }

    fn overhead_ps(&self) -> u64 {
        300_000_000_000
    }

    fn tester_ceiling(&self) -> TesterCeiling {
        let mut lab = CeilingLab::new(self.options);
        Box::new(move |trial| lab.frames_per_s(trial))
    }

    fn start_capture(&mut self, file: &std::path::Path) -> Result<(), NodeError> {
        self.capture = Some(start_of_node(file, &self.capture_interfaces())?);
        Ok(())
    }

    fn end_capture(&mut self) -> Result<Option<u64>, NodeError> {
        end_of_node(self.capture.take())
    }

    fn warnings(&self) -> Vec<Warning> {
        // The direction of each pair depends on the trial, so both ends may receive.
        let ends = self.pairs.iter().flat_map(|p| [&p.node, &p.tester]);
        bypassed_shapers(ends, self.options.path)
    }
}
