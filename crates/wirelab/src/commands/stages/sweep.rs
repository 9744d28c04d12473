//! `wirelab stages hdl:reference` with several pairs of wait states: slots with each of them, and DMA beside these.

use std::collections::BTreeMap;

use wirelab_bench::NoCeiling;
use wirelab_ports::PortsOptions;
use wirelab_trial::{Cancel, Node};

use super::{Asked, LARGEST_PAYLOAD, Measured, Ways, frames, plan};
use crate::args::StagesArgs;
use crate::commands::trials::{Outputs, Ran};
use crate::exit::Failure;
use crate::hardware;
use crate::nodes::{self, REFERENCE};
use crate::terminal::Bar;

/// The names of the nodes that are asked, with what was given apart from the name: one, or, of several pairs of wait states, one for
/// each and one with DMA.
pub fn names(args: &StagesArgs) -> Asked<Vec<String>> {
    let mut name = args.node.clone();
    if let Some(mac) = &args.mac {
        name.push_str(&format!(",mac={mac}"));
    }
    if args.wait_states.is_empty() {
        return Ok(vec![name]);
    }
    if args.wait_states.len() % 2 == 1 {
        return Err(Failure::usage(
            "--wait-states: write the clocks from one read to the next and from one write to the next, e.g. 17,18",
        ));
    }
    let pairs = args.wait_states.chunks_exact(2);
    let of_slots =
        pairs.map(|pair| format!("{name},read-clocks={},write-clocks={}", pair[0], pair[1]));
    let mut names: Vec<String> = of_slots.collect();
    let given = names.len();
    names.sort();
    names.dedup();
    if names.len() < given {
        return Err(Failure::usage(
            "--wait-states: the same pair was given twice: give each once",
        ));
    }
    if given > 1 {
        names.push(format!("{REFERENCE},mac=dma"));
    }
    Ok(names)
}

/// The set-up keys of each reference node by its name, so that straps that cannot be are refused before the first node is asked.
pub fn setups(names: &[String]) -> Asked<Vec<BTreeMap<String, String>>> {
    let of_reference = |name: &String| {
        let rest = name.strip_prefix(REFERENCE)?;
        Some(hardware::reference_setup(name, rest))
    };
    names.iter().filter_map(of_reference).collect()
}

/// Asks the same of each node, one after the other; what came of all is one file.
pub fn measure(
    args: &StagesArgs,
    outputs: &Outputs,
    names: &[String],
    ways: &Ways,
    (bar, cancel): (&Bar, &Cancel),
) -> Asked<Measured> {
    let mut ceiling =
        NoCeiling("stages are the node's own, whatever the tester reaches".to_owned());
    let unsaved = Outputs::of(&[])?;
    let mut all: Option<Ran> = None;
    for name in names {
        bar.line(&format!("asking {name}"));
        let image = args.image.as_deref();
        let mut node = nodes::with_image(name, image, PortsOptions::default(), LARGEST_PAYLOAD)?;
        let frames = frames(args.count, node.most_captures())?;
        let plan = plan::reference(args, &node.describe().capabilities, frames, ways)?;
        let ran = unsaved.run(&mut node, &plan, &mut ceiling, bar, cancel, None)?;
        let is_done = ran.is_done();
        let ran = match &mut all {
            None => all.insert(ran),
            Some(all) => {
                all.join(ran);
                all
            }
        };
        // What is measured is kept, whatever becomes of the next node.
        outputs.save_again(ran)?;
        if !is_done {
            break;
        }
    }
    let Some(ran) = all else {
        return Err(Failure::usage("--wait-states: no pair was given"));
    };
    Ok(Measured::whole(ran))
}
