//! The node types of this program, one line each, and nodes for studies and model commands.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use wirelab_model::MODEL;
use wirelab_model::file::NodeFile;
use wirelab_model::kind::open_file;
use wirelab_study::run::NodeSource;
use wirelab_trial::{Node, NodeKinds, OpenError, OpenOptions};

use crate::exit::Failure;

/// All node types, in the order of the help.
pub static KINDS: NodeKinds = NodeKinds(&[
    &wirelab_remote::LAB,
    &wirelab_ports::PORTS,
    &wirelab_remote::IPERF,
    &wirelab_remote::IPERF3,
    &wirelab_remote::NODE,
    &wirelab_remote::SERIAL,
    &wirelab_board::BOARD,
    &wirelab_board::QEMU,
    &HDL,
    &MODEL,
]);

#[cfg(feature = "hdl")]
pub use wirelab_hdl::HDL;
/// A node type that this program was built without.
#[cfg(not(feature = "hdl"))]
pub static HDL: wirelab_trial::NodeKind = wirelab_trial::NodeKind {
    about: "ports of hardware in simulation, or the reference node",
    target: "N|reference",
    examples: &["hdl:4", "hdl:reference"],
    ..wirelab_trial::NodeKind::left_out(
        "hdl",
        "this wirelab was built without hardware in simulation (cargo feature `hdl`), which needs GHDL and Verilator; fix: in \
         its sources run `make setup build`, which installs both",
    )
};

/// The help of a node argument: a line for each node type.
pub fn help() -> String {
    let lines = KINDS.lines();
    let widest = lines.iter().map(|(how, _)| how.chars().count()).max();
    let width = widest.unwrap_or(0);
    let lines = lines
        .iter()
        .map(|(how, about)| format!("  {how:width$}  {about}\n"));
    format!("The node:\n{}", lines.collect::<String>())
}

/// Accepts any text as the name of a node, and offers known names for completion.
#[derive(Clone, Copy, Debug)]
pub enum Names {
    /// Of all node types.
    All,
    /// Only models.
    Models,
}

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let all = matches!(self, Names::All).then(|| KINDS.completions());
        let names = all.unwrap_or_else(|| {
            let models = (MODEL.names)().into_iter();
            models.map(|name| (name, MODEL.about)).collect()
        });
        let values = names.into_iter();
        Some(Box::new(
            values.map(|(name, about)| PossibleValue::new(name).help(about)),
        ))
    }
}

/// The file of a model, with the changes of `--set`.
pub fn model(text: &str, set: &[String]) -> Result<NodeFile, Failure> {
    let (name, kind) = KINDS.parse(text)?;
    if !(kind.profile)(&name).is_computed {
        return Err(Failure::usage(format!(
            "{text} is not a model: {}; fix: name a model (wirelab predict --list) or its file, or 'wirelab measure {text}'",
            kind.about
        )));
    }
    let file = open_file(&name, set);
    Ok(file.map_err(|error| KINDS.or_of_a_kind(&name, error))?)
}

/// Nodes for studies.
pub struct Nodes;

impl NodeSource for Nodes {
    fn node(
        &mut self,
        name: &str,
        set: &BTreeMap<String, String>,
    ) -> Result<Box<dyn Node>, String> {
        let set = set.iter().map(|(path, value)| format!("{path}={value}"));
        let options = OpenOptions {
            set: set.collect(),
            ..OpenOptions::default()
        };
        KINDS
            .open(name, &options)
            .map_err(|error: OpenError| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_trial::NodeName;

    #[test]
    fn the_page_has_a_row_for_each_kind() {
        let rows = KINDS.0.iter().map(|kind| {
            let examples = kind.examples.iter().map(|name| format!("`{name}`"));
            let target = kind.target.replace('|', "\\|");
            let examples: Vec<String> = examples.collect();
            format!(
                "| `{}:{target}` | {} | {} |\n",
                kind.name,
                kind.about,
                examples.join(", ")
            )
        });
        let page = include_str!("../../../docs/node-types.md");
        let table: String = rows.collect();
        assert!(page.contains(&table), "docs/node-types.md lacks:\n{table}");
    }

    fn refused(name: &str) -> String {
        let opened = KINDS.open(name, &OpenOptions::default());
        let failure = Failure::from(opened.err().unwrap());
        assert_eq!(failure.code(), 2);
        failure.to_string()
    }

    #[test]
    fn an_unknown_node_says_what_to_write() {
        let text = refused("am263");
        assert!(text.contains("did you mean 'am263x'?"), "{text}");
        assert!(text.contains("'wirelab predict --list'"), "{text}");
        for kind in KINDS.0 {
            assert!(text.contains(&format!(" {}", kind.name)), "{text}");
        }
    }

    #[test]
    fn a_misspelt_kind_gets_the_nearest_one() {
        for (name, nearest) in [
            ("ipref:host", "iperf"),
            ("iperf2:host", "iperf"),
            ("port:a:b", "ports"),
            ("Lab:1", "lab"),
            ("nod:host", "node"),
            ("bord:zynq7000", "board"),
        ] {
            let text = refused(name);
            assert!(
                text.contains(&format!("did you mean '{nearest}:'?")),
                "{text}"
            );
        }
    }

    #[test]
    fn each_kind_says_what_help_needs() {
        for kind in KINDS.0 {
            assert!(
                !kind.about.is_empty() && !kind.target.is_empty(),
                "{}",
                kind.name
            );
            for example in kind.examples.iter().copied().chain((kind.names)()) {
                let name: NodeName = example.parse().unwrap();
                assert!(name.is_bare() || name.kind() == kind.name, "{name}");
            }
        }
    }

    #[test]
    #[cfg(not(feature = "hdl"))]
    fn what_was_left_out_says_how_to_have_it() {
        assert!(refused("hdl:4").contains("make setup build"));
    }
}
