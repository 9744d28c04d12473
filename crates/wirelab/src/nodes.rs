//! Nodes by their names: a line for each kind.

use std::collections::BTreeMap;
use std::path::Path;

use wirelab_bench::Plan;
use wirelab_board::lpc1768::{Lpc1768Node, Lpc1768Options};
use wirelab_cores::Cores;
use wirelab_model::file::NodeFile;
use wirelab_model::library;
use wirelab_model::node::ModelNode;
use wirelab_port::lab::{Lab, LabSpec, MOST_PAIRS};
use wirelab_ports::{PortsNode, PortsOptions, pairs_of, parse_pairs};
use wirelab_remote::{ControlNode, IperfNode};
use wirelab_study::run::NodeSource;
use wirelab_trial::{
    Cancel, Description, Direction, Field, Layer, Node, NodeError, Observation, Progress, Trial,
};

use crate::ask::lab_failure;
use crate::boards::{BoardNode, failure};
use crate::exit::Failure;
use crate::hardware::{self, HdlNode, ReferenceNode};
use crate::labs::LabNode;

type Asked<T> = Result<T, Failure>;

/// A node of any kind.
pub enum AnyNode {
    /// Linux ports, of a lab or of this host.
    Ports(Box<PortsNode>),
    /// A Linux node in a lab.
    Lab(Box<LabNode>),
    /// A model.
    Model(Box<ModelNode>),
    /// An iperf 2 or iperf3 server somewhere.
    Iperf(Box<IperfNode>),
    /// A node of the control protocol somewhere.
    Control(Box<ControlNode>),
    /// An emulated board.
    Board(Box<BoardNode>),
    /// The board that is emulated in simulated time.
    Lpc1768(Box<Lpc1768Node>),
    /// Ports of hardware in simulation.
    Hdl(Box<HdlNode>),
    /// The reference node in simulation.
    Reference(Box<ReferenceNode>),
}

/// The same asked of a node of any kind.
macro_rules! of_any {
    ($any:expr, $node:ident => $asked:expr) => {
        match $any {
            AnyNode::Ports($node) => $asked,
            AnyNode::Lab($node) => $asked,
            AnyNode::Model($node) => $asked,
            AnyNode::Iperf($node) => $asked,
            AnyNode::Control($node) => $asked,
            AnyNode::Board($node) => $asked,
            AnyNode::Lpc1768($node) => $asked,
            AnyNode::Hdl($node) => $asked,
            AnyNode::Reference($node) => $asked,
        }
    };
}

/// With what a node type is asked, so that the tester can ask itself the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tester {
    /// Frames between ports.
    Ports,
    /// An iperf client.
    Iperf,
    /// Test frames over sockets, on these cores where a node on the same machine has the others.
    Sockets(Option<Cores>),
    /// Test frames over a wire of Unix sockets.
    Wire,
    /// Frames at their simulated times, which cost the tester none.
    Simulated,
    /// Nothing: a model is computed.
    Nobody,
}

impl Tester {
    /// Frames/s of one flow that the tester reaches against itself.
    pub fn ceiling_frames_per_s(&self, trial: &Trial, options: PortsOptions) -> Field<f64> {
        use wirelab_remote::ceiling;
        let ports = || wirelab_ports::ceiling_frames_per_s(trial, options);
        match self {
            Tester::Nobody => Field::absent("a model needs no tester"),
            Tester::Simulated => Field::absent("the tester takes no simulated time"),
            Tester::Wire => ceiling::ceiling_frames_per_s(trial, ceiling::Kind::Wire),
            Tester::Iperf => ceiling::ceiling_frames_per_s(trial, ceiling::Kind::Iperf),
            Tester::Sockets(cores) if trial.framing.layer == Layer::Ethernet => {
                ceiling::within(cores.as_ref(), ports)
            }
            Tester::Sockets(cores) => ceiling::within(cores.as_ref(), || {
                ceiling::ceiling_frames_per_s(trial, ceiling::Kind::Node)
            }),
            Tester::Ports => ports(),
        }
    }
}

impl AnyNode {
    /// With what it is asked.
    pub fn tester(&self) -> Tester {
        match self {
            AnyNode::Ports(_) => Tester::Ports,
            AnyNode::Model(_) => Tester::Nobody,
            AnyNode::Iperf(_) => Tester::Iperf,
            AnyNode::Control(node) => Tester::Sockets(node.tester_cores().cloned()),
            AnyNode::Lab(node) => Tester::Sockets(node.tester_cores().cloned()),
            AnyNode::Lpc1768(_) | AnyNode::Hdl(_) | AnyNode::Reference(_) => Tester::Simulated,
            AnyNode::Board(node) if node.is_on_wire() => Tester::Wire,
            AnyNode::Board(_) => Tester::Sockets(None),
        }
    }

    /// Frames of a trial with times; more frames take several trials.
    pub fn captures_of_a_trial(&self) -> u64 {
        match self {
            AnyNode::Control(node) => node.captures_of_a_trial(),
            AnyNode::Lab(node) => node.most_captures(),
            _ => u64::MAX,
        }
    }

    /// Frames of a trial whose times it keeps, where it keeps those of few.
    pub fn most_captures(&self) -> Option<u64> {
        match self {
            AnyNode::Lpc1768(node) => Some(node.max_captures()),
            _ => None,
        }
    }
}

impl Node for AnyNode {
    fn describe(&self) -> Description {
        of_any!(self, node => node.describe())
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        of_any!(self, node => node.run(trial, progress, cancel))
    }
}

/// The node that a name stands for. `payload` is the largest that will be asked, for the MTU of a new lab.
pub fn node(name: &str, options: PortsOptions, payload: u32) -> Asked<AnyNode> {
    if let Some(rest) = name.strip_prefix("lab:") {
        return lab(name, rest, options, payload).map(|n| AnyNode::Ports(Box::new(n)));
    }
    if let Some(rest) = name.strip_prefix("ports:") {
        let pairs = parse_pairs(rest).map_err(Failure::usage)?;
        let node = PortsNode::new(name, pairs, options).map_err(Failure::usage)?;
        return Ok(AnyNode::Ports(Box::new(node)));
    }
    if let Some(host) = name.strip_prefix("iperf:") {
        let node = IperfNode::open(name, host)?;
        return Ok(AnyNode::Iperf(Box::new(node)));
    }
    if let Some(host) = name.strip_prefix("iperf3:") {
        let node = IperfNode::open_three(name, host)?;
        return Ok(AnyNode::Iperf(Box::new(node)));
    }
    if let Some(host) = name.strip_prefix("node:") {
        let node = ControlNode::open(name, host)?;
        return Ok(AnyNode::Control(Box::new(node)));
    }
    if let Some(options) = lpc1768(name) {
        let options = Lpc1768Options::parse(options).map_err(failure)?;
        let node = Lpc1768Node::start(name, &options).map_err(failure)?;
        return Ok(AnyNode::Lpc1768(Box::new(node)));
    }
    if let Some(rest) = name.strip_prefix(REFERENCE) {
        let node = hardware::reference(name, rest, None)?;
        return Ok(AnyNode::Reference(Box::new(node)));
    }
    if let Some(rest) = name.strip_prefix("hdl:") {
        let node = hardware::start(name, rest)?;
        return Ok(AnyNode::Hdl(Box::new(node)));
    }
    if let Some(board) = name.strip_prefix("board:") {
        let node = BoardNode::start(name, board, &wirelab_board::Options::default())?;
        return Ok(AnyNode::Board(Box::new(node)));
    }
    let file = model(name, &[])?;
    Ok(AnyNode::Model(Box::new(ModelNode::new(file))))
}

/// The Linux node of a lab for a plan of echoes alone; `None` for any other node or plan. Ports send nothing back.
pub fn that_echoes(name: &str, plan: &Plan, payload: u32) -> Asked<Option<AnyNode>> {
    let Some(rest) = name.strip_prefix("lab:") else {
        return Ok(None);
    };
    let matrices = plan.matrices().map(|m| &m.directions);
    let searches = plan.searches().map(|s| &s.directions);
    let mut directions = matrices.chain(searches).flatten().peekable();
    let echoes = directions.peek().is_some() && directions.all(|way| *way == Direction::Echo);
    let node = echoes.then(|| LabNode::start(name, rest, payload, &[]));
    Ok(node.transpose()?.map(|node| AnyNode::Lab(Box::new(node))))
}

/// The same, where it is a board with a firmware of the user's own, if `image` names one.
pub fn with_image(
    name: &str,
    image: Option<&Path>,
    options: PortsOptions,
    payload: u32,
) -> Asked<AnyNode> {
    let Some(image) = image else {
        return node(name, options, payload);
    };
    if let Some(rest) = name.strip_prefix(REFERENCE) {
        let node = hardware::reference(name, rest, Some(image))?;
        return Ok(AnyNode::Reference(Box::new(node)));
    }
    let Some(board) = name.strip_prefix("board:") else {
        return Err(Failure::usage(
            "--image is the firmware of a board: measure board:NAME (wirelab board list)",
        ));
    };
    if lpc1768(name).is_some() {
        let name = format!("{name},image={}", image.display());
        return node(&name, options, payload);
    }
    let options = wirelab_board::Options {
        image: Some(image.to_owned()),
        ..wirelab_board::Options::default()
    };
    let node = BoardNode::start(name, board, &options)?;
    Ok(AnyNode::Board(Box::new(node)))
}

/// What follows the name of the board that is emulated in simulated time; `None` for any other node.
pub fn lpc1768(name: &str) -> Option<&str> {
    let options = name.strip_prefix("board:lpc1768")?;
    (options.is_empty() || options.starts_with(',')).then_some(options)
}

fn lab(name: &str, rest: &str, options: PortsOptions, payload: u32) -> Asked<PortsNode> {
    match rest.parse::<u8>() {
        Ok(pairs) if (1..=MOST_PAIRS).contains(&pairs) => {
            let mut spec = LabSpec::unique("measure", pairs);
            spec.mtu = spec.mtu.max(payload);
            PortsNode::in_lab(&spec, options).map_err(lab_failure)
        }
        Ok(_) => Err(Failure::usage(format!(
            "{name}: a lab has 1 to {MOST_PAIRS} pairs"
        ))),
        // A name stands for a lab that is up already.
        Err(_) => {
            let lab = Lab::open(rest).map_err(lab_failure)?;
            let pairs = pairs_of(&lab).map_err(lab_failure)?;
            PortsNode::new(name, pairs, options).map_err(Failure::usage)
        }
    }
}

/// The file of a node model, with its changes: `model:NAME`, a bare name, or a path that ends in `.toml`.
pub fn model(name: &str, set: &[String]) -> Asked<NodeFile> {
    let bare = name.strip_prefix("model:").unwrap_or(name);
    let kinds = "a model by its name or file, lab:N for a lab of N pairs, lab:NAME for one that is up, or \
                 ports:[NS/]A:[NS/]B,… for ports of this host, iperf:HOST[:PORT] for an iperf 2 server, iperf3:HOST[:PORT] for one of iperf3, \
                 node:HOST[:PORT] for 'wirelab node serve' and firmware that speaks its protocol, board:NAME for \
                 firmware on an emulated board (wirelab board list), or hdl:N for N ports of hardware in \
                 simulation, and hdl:reference for the reference node";
    let mut file = library::open(bare).map_err(|error| match error {
        library::OpenError::Unknown { .. } if bare == name => {
            Failure::usage(format!("{error}. A node is {kinds}"))
        }
        other => Failure::usage(other),
    })?;
    for assignment in set {
        file.set(assignment).map_err(Failure::usage)?;
    }
    Ok(file)
}

/// How names of the reference node begin.
pub const REFERENCE: &str = "hdl:reference";

/// How names of nodes begin that are measured.
const KINDS: [&str; 7] = [
    "lab:", "ports:", "iperf:", "iperf3:", "node:", "board:", "hdl:",
];

/// Nodes for studies. Files of models are read once.
#[derive(Default)]
pub struct Nodes {
    models: BTreeMap<String, NodeFile>,
}

impl NodeSource for Nodes {
    fn node(
        &mut self,
        name: &str,
        set: &BTreeMap<String, String>,
    ) -> Result<Box<dyn Node>, String> {
        if KINDS.iter().any(|kind| name.starts_with(kind)) {
            let node = node(name, PortsOptions::default(), 1500).map_err(|e| e.to_string())?;
            return Ok(Box::new(node));
        }
        if !self.models.contains_key(name) {
            let file = model(name, &[]).map_err(|e| e.to_string())?;
            self.models.insert(name.to_owned(), file);
        }
        let mut file = self.models[name].clone();
        for (path, value) in set {
            file.set(&format!("{path}={value}"))
                .map_err(|e| e.to_string())?;
        }
        Ok(Box::new(ModelNode::new(file)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_node_says_what_to_write() {
        let failure = node("am263", PortsOptions::default(), 1500).err().unwrap();
        assert_eq!(failure.code(), 2);
        let text = failure.to_string();
        assert!(text.contains("did you mean 'am263x'?"), "{text}");
        for kind in [
            "lab:N",
            "iperf:HOST",
            "iperf3:HOST",
            "node:HOST",
            "board:NAME",
            "hdl:N",
        ] {
            assert!(text.contains(kind), "{text}");
        }
    }
    #[test]
    fn hosts_that_are_none_are_refused() {
        for (name, words) in [
            ("iperf:", "invalid host"),
            ("iperf:board:http", "a port is a number"),
            ("node:[::1", "not closed"),
        ] {
            let failure = node(name, PortsOptions::default(), 1500).err().unwrap();
            assert_eq!(failure.code(), 2, "{name}");
            assert!(failure.to_string().contains(words), "{failure}");
        }
    }
}
