//! The built-in node files.

use std::path::Path;

use wirelab_config::FileError;
use wirelab_trial::nearest::did_you_mean;

use crate::file::NodeFile;

/// A file of `nodes/` with its name.
macro_rules! node {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../nodes/", $name, ".toml")),
        )
    };
}

/// Every file of `nodes/`, in alphabetical order.
const NODES: &[(&str, &str)] = &[
    node!("am263x"),
    node!("esp32-nuttx"),
    node!("ethernet-fmc"),
    node!("lpc1768"),
    node!("reference-dma"),
    node!("reference-lite-device"),
    node!("reference-lite-ordered"),
    node!("zynq-emaclite"),
    node!("zynq-emaclite-so"),
    node!("zynq-gem"),
    node!("zynq-temac"),
];

/// Why a node cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No node has that name.
    #[error(
        "there is no node '{name}'; {meant}fix: write a name of 'wirelab predict --list' or a file that ends in .toml"
    )]
    Unknown {
        /// The name.
        name: String,
        /// The nearest name, as a question.
        meant: String,
    },
    /// The file is invalid or unreadable.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The names of the built-in nodes.
pub fn names() -> impl Iterator<Item = &'static str> {
    NODES.iter().map(|(name, _)| *name)
}

/// The text of the node file `name`.
pub fn get(name: &str) -> Option<&'static str> {
    NODES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

/// Opens a built-in node by its name, or a file that ends in `.toml`.
///
/// # Errors
/// [`OpenError`] where there is no such node, or its file is invalid.
pub fn open(name_or_path: &str) -> Result<NodeFile, OpenError> {
    let path = Path::new(name_or_path);
    if path.extension().is_some_and(|end| end == "toml") {
        return Ok(NodeFile::load(path)?);
    }
    let text = get(name_or_path).ok_or_else(|| OpenError::Unknown {
        name: name_or_path.chars().take(64).collect(),
        meant: did_you_mean(name_or_path, names()),
    })?;
    Ok(NodeFile::parse(
        text,
        &format!("nodes/{name_or_path}.toml"),
    )?)
}
