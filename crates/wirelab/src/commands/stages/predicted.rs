//! `wirelab stages hdl:reference --predicted`: refuses what no model predicts.

use wirelab_model::reference::same_bus;
use wirelab_trial::node_type::Setup;
use wirelab_trial::{NodeName, NodeType};

use crate::args::StagesArgs;
use crate::exit::{Failure, Fallible};

/// Before the first node is opened, refuses names that cannot be of this type, and predictions without a model.
pub fn refuse(args: &StagesArgs, node_type: &NodeType, names: &[NodeName]) -> Fallible<()> {
    let setups = names.iter().map(|name| (node_type.setup)(name));
    let setups: Vec<Setup> = setups.collect::<std::result::Result<_, _>>()?;
    if !args.predicted {
        return Ok(());
    }
    let why = if !args.wait_states.is_empty() {
        "the models have the document's wait states; fix: leave --wait-states out"
    } else if !args.fast_track.is_empty() {
        "the models have no fast track; fix: leave --fast-track out"
    } else {
        return Ok(setups.iter().try_for_each(same_bus)?);
    };
    Err(Failure::usage(format!("--predicted: {why}")))
}

#[cfg(all(test, feature = "hdl"))]
mod tests {
    use clap::Parser;
    use wirelab_bench::stages::request::nodes;

    use super::*;
    use crate::args::{Cli, Command};
    use crate::nodes::NODE_TYPES;

    fn outcome(node: &str, options: &[&str]) -> Fallible<()> {
        let line = ["wirelab", "stages", node, "--predicted"];
        let Command::Stages(args) = Cli::parse_from(line.iter().chain(options)).command else {
            panic!("it is stages");
        };
        let (name, node_type) = NODE_TYPES.parse(node)?;
        let names = nodes(&name, args.mac.as_deref(), &args.wait_states);
        refuse(&args, node_type, &names.map_err(Failure::usage)?)
    }

    #[test]
    fn a_bus_that_the_model_is_not_of_is_refused_wherever_it_was_asked() {
        for mac in ["lite-device", "lite-ordered", "dma"] {
            assert!(outcome("hdl:reference", &["--mac", mac]).is_ok(), "{mac}");
            assert!(outcome(&format!("hdl:reference,mac={mac}"), &[]).is_ok());
        }
        let as_it_is = "hdl:reference,mac=lite-ordered,write-clocks=18,read-clocks=17";
        assert!(outcome(as_it_is, &[]).is_ok());
        for (node, words) in [
            (
                "hdl:reference,read-clocks=40,write-clocks=40",
                "read_clocks of the node is 40, and the model reference-lite-device is of 5",
            ),
            (
                "hdl:reference,write-clocks=4",
                "write_clocks of the node is 4",
            ),
            ("hdl:reference,mac=lite-ordered,read-clocks=5", "is of 17"),
            (
                "hdl:reference,read-clocks=5,read-clocks=5",
                "was given before",
            ),
        ] {
            let refusal = outcome(node, &[]).unwrap_err();
            assert_eq!(refusal.code(), 2);
            assert!(refusal.to_string().contains(words), "{refusal}");
        }
        let refusal = outcome("hdl:reference", &["--wait-states", "5,3"]).unwrap_err();
        assert!(
            refusal.to_string().contains("leave --wait-states out"),
            "{refusal}"
        );
    }
}
