//! Names of models: `model:NAME`, a bare name, or a path that ends in `.toml`.

use wirelab_trial::{NameError, Node, NodeName, NodeType, OpenError, OpenOptions, Profile};

use crate::file::NodeFile;
use crate::library;
use crate::node::ModelNode;

/// The node type of `model:` and of bare names.
pub static MODEL: NodeType = NodeType {
    about: "a node model; also without 'model:' (wirelab predict --list)",
    target: "NAME|FILE.toml[,PATH=VALUE]…",
    examples: &["model:lpc1768"],
    names: || library::names().collect(),
    profile: |_| Profile {
        is_computed: true,
        takes_ports: false,
        ..Profile::USUAL
    },
    ..NodeType::new(wirelab_trial::node_name::MODEL, open)
};

/// The file of a name, with the changes of its options, which are those of `--set`, and of `--set`.
///
/// # Errors
/// [`OpenError`] where the model does not exist, or a change does not apply to it.
pub fn open_file(name: &NodeName, set: &[String]) -> Result<NodeFile, OpenError> {
    let mut file = library::open(name.target()).map_err(|error| match error {
        library::OpenError::Unknown { .. } => OpenError::Unknown(error.to_string()),
        library::OpenError::File(_) => OpenError::usage(error),
    })?;
    for (key, value) in name.options() {
        let change = file.set(&format!("{key}={}", value.unwrap_or_default()));
        change.map_err(|error| NameError::new(name, error.what))?;
    }
    for change in set {
        file.set(change).map_err(OpenError::usage)?;
    }
    Ok(file)
}

fn open(name: &NodeName, options: &OpenOptions) -> Result<Box<dyn Node>, OpenError> {
    Ok(Box::new(ModelNode::new(open_file(name, &options.set)?)))
}
