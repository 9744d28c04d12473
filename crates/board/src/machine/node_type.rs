//! Names of machines: `qemu:NAME` and `qemu:FILE.toml`.

use wirelab_trial::node_type::{StageOption, StageProfile};
use wirelab_trial::{
    NameError, Node, NodeName, NodeType, OpenError, OpenOptions, Profile, Purpose,
};

use super::NODE_TYPE;
use super::file::{MachineFile, names, nodes};
use super::measure::MeasuredNode;
use super::stages::StagesNode;

/// The node type of `qemu:`.
pub static QEMU: NodeType = NodeType {
    about: "any firmware in QEMU, by a machine file",
    target: "NAME|FILE.toml[,kinds]",
    examples: &["qemu:mps2-an385"],
    with_stages: &["qemu:FILE.toml"],
    names: || nodes().collect(),
    profile: |_| Profile {
        datasheet: true,
        takes_image: true,
        stages: StageProfile {
            options: &[StageOption::Length, StageOption::Count],
            more: &[StageOption::Image, StageOption::Against, StageOption::Gate],
            ..Profile::USUAL.stages
        },
        ..Profile::USUAL
    },
    ..NodeType::new(NODE_TYPE, open)
};

/// The option that counts loads, stores and branches too.
const KINDS: &str = "kinds";

fn open(name: &NodeName, options: &OpenOptions) -> Result<Box<dyn Node>, OpenError> {
    name.only_options(
        &[KINDS],
        "write qemu:NAME, qemu:FILE.toml, or either with ,kinds",
    )?;
    if name.target().is_empty() {
        let all: Vec<&str> = names().collect();
        let why = format!(
            "it names no machine; fix: write qemu:FILE.toml, or one of {}",
            all.join(", ")
        );
        return Err(NameError::new(name, why).into());
    }
    let file = MachineFile::find(name.target())?;
    let image = options.image.as_deref();
    match options.purpose {
        Purpose::Stages { .. } => {
            let kinds = name.option(KINDS).is_some();
            let node = StagesNode::open(&name.to_string(), file, image, kinds)?;
            Ok(Box::new(node))
        }
        Purpose::Trials | Purpose::Echoes => {
            let node = MeasuredNode::start(&name.to_string(), &file, image, options.ports)?;
            Ok(Box::new(node))
        }
    }
}
