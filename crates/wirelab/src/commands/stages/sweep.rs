//! `wirelab stages hdl:reference` with several pairs of wait states: slots with each of them, and DMA beside these.

use wirelab_bench::NoCeiling;
use wirelab_bench::stages::{Trials, Ways};
use wirelab_trial::crossover::DMA;
use wirelab_trial::kind::Setup;
use wirelab_trial::{Cancel, NodeKind, NodeName};

use super::{Measured, frames, open, ways};
use crate::args::StagesArgs;
use crate::commands::trials::{Outputs, PlanResult};
use crate::exit::{Failure, Fallible};
use crate::terminal::Bar;

/// The names of the nodes that are asked, with what was given apart from the name: one, or, of several pairs of wait states, one for
/// each and one with DMA.
pub fn names(args: &StagesArgs, node: &NodeName) -> Fallible<Vec<NodeName>> {
    let name = match &args.mac {
        Some(mac) => node.with("mac", mac)?,
        None => node.clone(),
    };
    if args.wait_states.is_empty() {
        return Ok(vec![name]);
    }
    if args.wait_states.len() % 2 == 1 {
        return Err(Failure::usage(
            "--wait-states: one of the two numbers of a pair is missing; fix: write the clocks from one read to the next and from one write to the next, e.g. 17,18",
        ));
    }
    let of_slots = |pair: &[u8]| {
        name.with("read-clocks", pair[0])?
            .with("write-clocks", pair[1])
    };
    let names = args.wait_states.chunks_exact(2).map(of_slots);
    let mut names: Vec<NodeName> = names.collect::<Result<_, _>>()?;
    let given = names.len();
    names.sort();
    names.dedup();
    if names.len() < given {
        return Err(Failure::usage(
            "--wait-states: the same pair was given twice; fix: give each once",
        ));
    }
    if given > 1 {
        names.push(node.without_options().with("mac", DMA)?);
    }
    Ok(names)
}

/// The set-up keys of each node by its name, so that straps that cannot be are refused before the first node is asked.
pub fn setups(kind: &NodeKind, names: &[NodeName]) -> Fallible<Vec<Setup>> {
    let setups = names.iter().map(|name| Ok((kind.setup)(name)?));
    setups.collect()
}

/// Asks the same of each node, one after the other; the results of all are one file.
pub fn measure(
    args: &StagesArgs,
    outputs: &Outputs,
    (kind, names): (&NodeKind, &[NodeName]),
    asked: &Ways,
    (bar, cancel): (&Bar, &Cancel),
) -> Fallible<Measured> {
    let mut ceiling =
        NoCeiling("stages are the node's own, whatever the tester reaches".to_owned());
    ways::refuse(args, asked)?;
    let unsaved = Outputs::of(&[])?;
    let mut all: Option<PlanResult> = None;
    for name in names {
        bar.line(&format!("asking {name}"));
        let mut node = open(args, kind, name)?;
        let frames = frames(args.count, node.capture_limits().in_all)?;
        let trials = Trials {
            lengths: &args.length,
            frames,
            load: ways::load(args)?,
            able: &node.describe().capabilities,
        };
        let plan = trials.at_once(asked.rule.as_deref());
        let ran = unsaved.run(&mut *node, &plan, &mut ceiling, bar, cancel, None)?;
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
        return Err(Failure::usage(
            "--wait-states: no pair was given; fix: write e.g. 17,18",
        ));
    };
    Ok(Measured::whole(ran))
}
