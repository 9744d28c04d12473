//! A pair of Linux ports as a node: the first port of a pair is the node's side, the second the tester's.
//!
//! Between the two lies whatever is under test: a cable, a switch, a veth pair, a board in the middle. Frames
//! take the fast path (XDP) where both drivers have it and the trial allows it, else the portable path
//! (AF_PACKET); the observation names the path and why.
//!
//! A node type: the command line alone uses it (`lab:N` and `ports:…`), and it knows no other kind. Start reading at
//! [`PortsNode`], then `flow.rs` (from a trial to flows), `run.rs` (runs them) and `observe.rs` (what came of them).
#![forbid(unsafe_code)]

mod buffers;
mod ceiling;
mod describe;
mod flow;
mod observe;
pub mod one_way;
mod run;
pub mod selftest;
mod settle;
mod shaper;
mod watch;

pub use ceiling::{ceiling_frames_per_s, ceiling_observation};
pub use shaper::bypassed_shapers;

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use wirelab_port::iface::{IfaceError, PortLock, PortName};
use wirelab_port::lab::{EphemeralLab, Lab, LabError, LabSpec, Side};
use wirelab_port::pcapng::{CaptureWriter, InterfaceSpec};
use wirelab_trial::{Cancel, Description, Node, NodeError, Observation, Progress, Trial};

/// Which way frames take through the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Path {
    /// The fast path where it works, else the portable one.
    #[default]
    Auto,
    /// The fast path or nothing.
    Xdp,
    /// The portable path.
    Packet,
}

impl std::str::FromStr for Path {
    type Err = String;

    fn from_str(text: &str) -> Result<Path, String> {
        match text {
            "auto" => Ok(Path::Auto),
            "xdp" => Ok(Path::Xdp),
            "packet" => Ok(Path::Packet),
            _ => Err(format!(
                "invalid path '{text}': choose one of auto, xdp, packet"
            )),
        }
    }
}

/// How trials are run, beside what they ask.
#[derive(Clone, Copy, Debug)]
pub struct PortsOptions {
    /// The way through the kernel.
    pub path: Path,
    /// How often a trial with buffers is repeated; its median and spread are the result.
    pub buffer_runs: u32,
    /// Record the latency of the frames that are timed.
    pub latency: bool,
}

impl Default for PortsOptions {
    fn default() -> PortsOptions {
        PortsOptions {
            path: Path::Auto,
            buffer_runs: 200,
            latency: true,
        }
    }
}

/// A capture that several checkers write into.
pub type SharedCapture = Arc<Mutex<CaptureWriter>>;

/// Two ports, one on each side of what is under test.
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
    /// Whether frames of the run before were still on their way when it was given up.
    restless: AtomicBool,
    /// Frames of the run that is under way are sent from this time on, in ns.
    sent_since_ns: AtomicU64,
    // Held until the node goes: no other run may use the ports meanwhile.
    _locks: Vec<PortLock>,
    // Declared last, so that the lab goes after everything that uses its ports.
    _lab: Option<EphemeralLab>,
}

impl PortsNode {
    /// Pairs of ports that exist, e.g. of `ports:eth0:eth1`.
    ///
    /// # Errors
    /// [`IfaceError`] where a port is unknown or another run has it.
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
            _lab: None,
        })
    }

    /// A lab of `pairs` veth pairs that lives as long as the node, e.g. of `lab:4`.
    ///
    /// # Errors
    /// [`LabError`] where the lab cannot be made.
    pub fn in_lab(spec: &LabSpec, options: PortsOptions) -> Result<PortsNode, LabError> {
        let lab = EphemeralLab::up(spec)?;
        let pairs = pairs_of(&lab)?;
        let mut node = PortsNode::new(&format!("lab:{}", spec.pairs), pairs, options)?;
        node._lab = Some(lab);
        Ok(node)
    }

    /// Write every frame that arrives on either side into `capture` from now on. Its interfaces are
    /// [`PortsNode::capture_interfaces`]; whoever made it finishes it.
    pub fn capture_into(&mut self, capture: SharedCapture) {
        self.capture = Some(capture);
    }

    /// Write no more; the capture is left to whoever else holds it.
    pub fn end_capture(&mut self) {
        self.capture = None;
    }

    /// The interfaces that a capture of this node has: both ends of each pair, the node's first.
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
/// [`LabError`] where a pair is missing.
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

/// Read `[NS/]A:[NS/]B,…`, the pairs of `ports:`.
///
/// # Errors
/// What is wrong, in words.
pub fn parse_pairs(text: &str) -> Result<Vec<Pair>, String> {
    text.split(',')
        .map(|pair| {
            let (node, tester) = pair.split_once(':').ok_or_else(|| {
                format!("invalid pair of ports '{pair}': write A:B, each as [NAMESPACE/]INTERFACE")
            })?;
            let parse = |p: &str| p.parse::<PortName>().map_err(|e| e.to_string());
            let (node, tester) = (parse(node)?, parse(tester)?);
            if node == tester {
                return Err(format!(
                    "'{pair}' names one port twice: a pair has two ends"
                ));
            }
            Ok(Pair { node, tester })
        })
        .collect()
}

impl Node for PortsNode {
    fn describe(&self) -> Description {
        describe::describe(&self.name, &self.pairs, self.options.path)
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_and_refused() {
        let pairs = parse_pairs("a/n0:b/t0,eth0:eth1").unwrap();
        assert_eq!(pairs.len(), 2);
        assert_eq!(pairs[0].node.to_string(), "a/n0");
        assert_eq!(pairs[1].tester.to_string(), "eth1");
        assert!(parse_pairs("eth0").unwrap_err().contains("write A:B"));
        assert!(
            parse_pairs("eth0:eth0")
                .unwrap_err()
                .contains("one port twice")
        );
        assert!(parse_pairs("").is_err());
    }
}
