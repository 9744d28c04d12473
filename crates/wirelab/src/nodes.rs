//! The node types of this program, one line each, and nodes for studies and model commands.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use wirelab_model::MODEL;
use wirelab_model::file::NodeFile;
use wirelab_model::node_type::open_file;
use wirelab_study::run::NodeSource;
use wirelab_trial::{Node, NodeTypes, OpenError, OpenOptions};
#[cfg(not(feature = "hdl"))]
use wirelab_trial::{Profile, crossover::STAGES};

use crate::exit::Failure;

/// All node types, in the order of the help.
pub static NODE_TYPES: NodeTypes = NodeTypes(&[
    &wirelab_remote::LAB,
    &wirelab_ports::PORTS,
    &wirelab_remote::IPERF,
    &wirelab_remote::IPERF3,
    &wirelab_remote::NODE,
    &wirelab_remote::SERIAL,
    &wirelab_stages::HERE,
    &wirelab_board::BOARD,
    &wirelab_board::QEMU,
    &HDL,
    &MODEL,
]);

#[cfg(feature = "hdl")]
pub use wirelab_hdl::HDL;
/// A node type that this program was built without.
#[cfg(not(feature = "hdl"))]
pub static HDL: wirelab_trial::NodeType = wirelab_trial::NodeType {
    about: "ports of hardware in simulation, or the reference node",
    target: "N|reference",
    examples: &["hdl:4", "hdl:reference"],
    with_stages: &["hdl:reference"],
    profile: |_| Profile {
        stages: STAGES,
        ..Profile::USUAL
    },
    ..wirelab_trial::NodeType::left_out(
        "hdl",
        "this wirelab was built without hardware in simulation (cargo feature `hdl`), which needs GHDL and Verilator; fix: in \
         its sources run `make setup build`, which installs both",
    )
};

/// The help of the node of a trial: a line for each node type.
pub fn help() -> String {
    format!("The node:\n{}", listed(&NODE_TYPES.lines()))
}

/// The help of the node of `stages`: a line for each node type that has some.
pub fn help_of_stages() -> String {
    let lines = listed(&NODE_TYPES.stage_lines());
    format!("The node, or a results file (.json):\n{lines}")
}

fn listed(lines: &[(String, &str)]) -> String {
    let widest = lines.iter().map(|(how, _)| how.chars().count()).max();
    let width = widest.unwrap_or(0);
    let lines = lines
        .iter()
        .map(|(how, about)| format!("  {how:width$}  {about}\n"));
    lines.collect()
}

/// Accepts any text as the name of a node, and offers known names for completion.
#[derive(Clone, Copy, Debug)]
pub enum Names {
    /// Of nodes that run trials.
    All,
    /// Of nodes that have stages.
    WithStages,
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
        let names = match self {
            Names::All => NODE_TYPES.completions(|node_type| !node_type.only_stages),
            Names::WithStages => {
                NODE_TYPES.completions(|node_type| !node_type.with_stages.is_empty())
            }
            Names::Models => {
                let models = (MODEL.names)().into_iter();
                models.map(|name| (name, MODEL.about)).collect()
            }
        };
        let values = names.into_iter();
        Some(Box::new(
            values.map(|(name, about)| PossibleValue::new(name).help(about)),
        ))
    }
}

/// The file of a model, with the changes of `--set`.
pub fn model(text: &str, set: &[String]) -> Result<NodeFile, Failure> {
    let (name, node_type) = NODE_TYPES.parse(text)?;
    if !(node_type.profile)(&name).is_computed {
        return Err(Failure::usage(format!(
            "{text} is a node of type {}, not a model; fix: name a model (wirelab predict --list) or its file, or measure the node",
            node_type.name
        )));
    }
    Ok(open_file(&name, set)?)
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
        NODE_TYPES
            .open(name, &options)
            .map_err(|error: OpenError| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_trial::NodeName;

    #[test]
    fn the_page_has_a_row_for_each_type() {
        let rows = NODE_TYPES.0.iter().map(|node_type| {
            let examples = node_type.examples.iter().map(|name| format!("`{name}`"));
            let target = node_type.target.replace('|', "\\|");
            let examples: Vec<String> = examples.collect();
            format!(
                "| `{}:{target}` | {} | {} |\n",
                node_type.name,
                node_type.about,
                examples.join(", ")
            )
        });
        let table: String = rows.collect();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/node-types.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (head, rest) = page.split_once("|---|---|---|\n").unwrap();
        let (_, below) = rest.split_once("\n\n").unwrap();
        let right = format!("{head}|---|---|---|\n{table}\n{below}");
        if std::env::var("INSTA_UPDATE").is_ok_and(|renew| renew == "always") {
            std::fs::write(path, &right).unwrap();
        } else {
            assert_eq!(page, right, "INSTA_UPDATE=always writes docs/node-types.md");
        }
    }

    fn refused(name: &str) -> String {
        let opened = NODE_TYPES.open(name, &OpenOptions::default());
        let failure = Failure::from(opened.err().unwrap());
        assert_eq!(failure.code(), 2);
        failure.to_string()
    }

    #[test]
    fn an_unknown_node_says_what_to_write() {
        let text = refused("am263");
        assert!(text.contains("did you mean 'am263x'?"), "{text}");
        assert!(text.contains("'wirelab predict --list'"), "{text}");
        for node_type in NODE_TYPES.0 {
            let is_named = text.contains(&format!(" {},", node_type.name))
                || text.ends_with(&format!(" {}", node_type.name));
            assert_eq!(is_named, !node_type.only_stages, "{text}");
        }
    }

    #[test]
    fn a_misspelt_type_gets_the_nearest_one() {
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
    fn each_type_says_what_help_needs() {
        for node_type in NODE_TYPES.0 {
            assert!(
                !node_type.about.is_empty() && !node_type.target.is_empty(),
                "{}",
                node_type.name
            );
            for form in node_type.with_stages {
                assert_eq!(
                    form.parse::<NodeName>().unwrap().node_type(),
                    node_type.name,
                    "{form}"
                );
            }
            for example in node_type
                .examples
                .iter()
                .copied()
                .chain((node_type.names)())
            {
                let name: NodeName = example.parse().unwrap();
                assert!(
                    name.is_bare() || name.node_type() == node_type.name,
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn what_only_stages_takes_is_refused_elsewhere_with_the_command() {
        let text = refused("here:eth0");
        assert!(
            text.contains("fix: run 'wirelab stages here:eth0'"),
            "{text}"
        );
        assert!(!help().contains("here:") && help_of_stages().contains("here:IFACE"));
    }

    #[test]
    #[cfg(not(feature = "hdl"))]
    fn what_was_left_out_says_how_to_have_it() {
        assert!(refused("hdl:4").contains("make setup build"));
    }
}
