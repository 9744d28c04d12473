//! Options that have no meaning for the node that is asked are refused, with what to do instead: one that is ignored in
//! silence looks as if it had been obeyed.

use clap::CommandFactory;
use clap::parser::ValueSource;
use wirelab_trial::{Framing, Layer, Size, SizeUnit};

use super::LARGEST_PAYLOAD;
use crate::args::{Cli, StagesArgs};
use crate::exit::Failure;
use crate::hardware::MOST_CAPTURED_FRAMES;
use crate::nodes::REFERENCE;

/// What kind of thing is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A results file.
    File,
    /// This host, whose frames somebody else sends.
    Here,
    /// A lab with a Linux node in it.
    Lab,
    /// An emulated board.
    Board,
    /// The reference node, in simulation.
    Reference,
    /// A node elsewhere.
    Node,
}

use Kind::{Board, File, Here, Lab, Node, Reference};

/// An option, the kinds that it has a meaning for, and what to do elsewhere.
const OPTIONS: [(&str, &[Kind], &str); 20] = [
    ("length", &[Here, Lab, Board, Reference, Node], ASK_AGAIN),
    ("count", &[Here, Lab, Board, Reference, Node], ASK_AGAIN),
    (
        "load",
        &[Lab, Board, Node],
        "give it to 'wirelab send', or ask lab: or node:HOST",
    ),
    ("wait", &[Here, Lab, Board, Reference, Node], ASK_AGAIN),
    ("probes", &[Here, Lab, Board, Reference, Node], ASK_AGAIN),
    ("fast-track", &[Lab, Board, Reference, Node], ASK_LAB),
    ("background", &[Lab, Board, Node], ASK_LAB),
    (
        "xdp",
        &[Here, Lab],
        "'wirelab node serve --xdp MODE' is told on a node elsewhere, and other nodes have no XDP",
    ),
    (
        "port",
        &[Here],
        "a node that is asked is told the flow's port itself; with --fast-track port=N it is that of the rule",
    ),
    (
        "stream",
        &[Here],
        "a node that is asked is told the stream itself",
    ),
    (
        "watch",
        &[Here],
        "to watch frames of other programs ask here:IFACE",
    ),
    (
        "time",
        &[Here],
        "trials end with their frames: give --count, or ask here:IFACE",
    ),
    (
        "wall",
        &[Board],
        "only an emulated board has both times and instructions: leave it out",
    ),
    (
        "image",
        // A node elsewhere may be a board with a firmware of its own, which has its own words for it.
        &[Board, Reference, Node],
        "only an emulated board is given a firmware: ask board:NAME, or leave it out",
    ),
    (
        "mac",
        &[Reference],
        "only the reference node's MAC is attached in one way or another: ask hdl:reference",
    ),
    (
        "wait-states",
        &[Reference],
        "only the reference node's bus is as slow as one likes: ask hdl:reference",
    ),
    (
        "predicted",
        &[Reference],
        "'wirelab predict' asks a model by itself; only the reference node's models have the points that it has",
    ),
    (
        "against",
        &[File, Board],
        "what is compared are counted instructions, and here are times: ask board:NAME",
    ),
    ("output", &[File, Here, Lab, Board, Reference, Node], ""),
    ("json", &[File, Here, Lab, Board, Reference, Node], ""),
];

const ASK_AGAIN: &str =
    "a results file holds what was measured: leave it out, or ask the node again";
const ASK_LAB: &str = "both ways are asked of a node by a tester: ask lab: or node:HOST";

/// Refuse options that have no meaning for what is asked.
///
/// # Errors
/// The option, and what to do instead.
pub fn refuse(args: &StagesArgs) -> Result<(), Failure> {
    let kind = kind(args);
    check(args, kind, &given())?;
    match kind {
        Lab => lengths(args, "a lab's interfaces carry"),
        Reference => {
            lengths(args, "hdl:reference takes")?;
            super::frames(args.count, Some(MOST_CAPTURED_FRAMES)).map(drop)
        }
        Node => ports(&args.node),
        File | Here | Board => Ok(()),
    }
}

/// Ports of hardware in simulation have no stages; the node that has them is another.
fn ports(node: &str) -> Result<(), Failure> {
    match node.starts_with("hdl:") {
        true => Err(Failure::usage(format!(
            "{node}: ports of hardware have no capture points: ask {REFERENCE}, whose capture units take the times, or \
             'wirelab measure {node}' for rates and counts"
        ))),
        false => Ok(()),
    }
}

fn kind(args: &StagesArgs) -> Kind {
    let is = |prefix: &str| args.node.starts_with(prefix);
    if super::is_file(&args.node) {
        File
    } else if is("here:") {
        Here
    } else if is("lab:") {
        Lab
    } else if is("board:") {
        Board
    } else if is(REFERENCE) {
        Reference
    } else {
        Node
    }
}

/// The options that were written on the command line, and are not there by default.
fn given() -> Vec<&'static str> {
    let matches = Cli::command().try_get_matches();
    let stages = matches.as_ref().ok().and_then(|m| m.subcommand());
    let Some(("stages", stages)) = stages else {
        return Vec::new();
    };
    let names = OPTIONS.iter().map(|(name, ..)| *name);
    let written = |name: &&str| {
        let source = stages.value_source(&name.replace('-', "_"));
        source == Some(ValueSource::CommandLine)
    };
    names.filter(written).collect()
}

fn check(args: &StagesArgs, kind: Kind, given: &[&str]) -> Result<(), Failure> {
    let out = OPTIONS
        .iter()
        .find(|(name, kinds, _)| given.contains(name) && !kinds.contains(&kind));
    match out {
        None => Ok(()),
        Some((name, _, instead)) => {
            let instead = if kind == File { ASK_AGAIN } else { *instead };
            Err(Failure::usage(format!(
                "--{name} has no meaning for '{}': {instead}",
                args.node
            )))
        }
    }
}

/// Lengths that Ethernet carries without a tag, and so the node; `who` says whose limit it is.
fn lengths(args: &StagesArgs, who: &str) -> Result<(), Failure> {
    // The Ethernet header is before what the MTU counts.
    let most = LARGEST_PAYLOAD + 14;
    let udp = Framing {
        layer: Layer::UdpIpv4,
        vlan_tags: 0,
    };
    for length in &args.length {
        let size = Size::new(SizeUnit::Length, *length);
        let why = match size.resolve_test(udp) {
            Ok(_) if *length <= most => continue,
            Ok(_) => format!("{who} lengths up to {most}"),
            Err(error) => error.to_string(),
        };
        return Err(Failure::usage(format!(
            "--length {length}: {why}; ask lengths from 60 to {most}, as in --length 64,256,1024"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Command;
    use clap::Parser;

    fn args(line: &[&str]) -> StagesArgs {
        let line = ["wirelab", "stages"].iter().chain(line);
        match Cli::parse_from(line).command {
            Command::Stages(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_option_has_a_kind_that_it_means_something_for() {
        let command = Cli::command();
        let stages = command.find_subcommand("stages").unwrap();
        let known: Vec<&str> = OPTIONS.iter().map(|(name, ..)| *name).collect();
        for option in stages.get_opts() {
            let name = option.get_long().unwrap();
            assert!(known.contains(&name) || name == "help", "--{name}");
        }
        for name in known {
            let id = name.replace('-', "_");
            assert!(stages.get_arguments().any(|a| *a.get_id() == id), "{name}");
        }
    }

    #[test]
    fn an_option_that_would_be_ignored_is_refused_with_what_to_do_instead() {
        for (node, name, instead) in [
            ("lab:", "port", "--fast-track port=N"),
            ("lab:", "time", "--count"),
            ("lab:", "wall", "leave it out"),
            ("lab:", "image", "board:NAME"),
            ("lab:", "against", "board:NAME"),
            ("lab:", "mac", "hdl:reference"),
            ("hdl:reference", "load", "lab:"),
            ("here:eth0", "load", "wirelab send"),
            ("here:eth0", "fast-track", "ask lab:"),
            ("node:192.0.2.1", "xdp", "wirelab node serve"),
            ("a.json", "fast-track", "leave it out"),
            ("a.json", "length", "ask the node again"),
        ] {
            let args = args(&[node]);
            let told = check(&args, kind(&args), &[name]).unwrap_err().to_string();
            for words in [&format!("--{name} has no meaning for '{node}'"), instead] {
                assert!(told.contains(words), "{words}: {told}");
            }
        }
        let args = args(&["a.json"]);
        assert!(check(&args, File, &["against", "output", "json"]).is_ok());
    }

    #[test]
    fn lengths_that_a_node_does_not_carry_are_refused_before_it_is_started() {
        for node in ["lab:", "hdl:reference", "hdl:reference,mac=dma"] {
            assert!(refuse(&args(&[node, "--length", "60,1514"])).is_ok());
            for (length, words) in [
                ("1515", "up to 1514"),
                ("2000", "up to 1514"),
                ("60000", "60 to 1514"),
                ("64,20", "60 to 1514"),
            ] {
                let told = refuse(&args(&[node, "--length", length]));
                let told = told.unwrap_err();
                assert_eq!(told.code(), 2);
                let text = told.to_string();
                assert!(text.contains(words) && text.contains("--length"), "{text}");
            }
        }
    }

    #[test]
    fn ports_of_hardware_have_no_stages_and_the_node_that_has_some_is_named() {
        for node in ["hdl:4", "hdl:1", "hdl:4,loopback", "hdl:nothing"] {
            let told = refuse(&args(&[node])).unwrap_err();
            assert_eq!(told.code(), 2);
            let text = told.to_string();
            assert!(
                text.contains("ask hdl:reference") && text.contains(node),
                "{text}"
            );
        }
    }

    #[test]
    #[cfg(feature = "hdl")]
    fn more_frames_than_the_capture_units_keep_are_refused_before_they_are_asked() {
        let asked = |count| refuse(&args(&["hdl:reference", "--count", count]));
        assert!(asked("1022").is_ok());
        let most = format!("the records of 1 to {MOST_CAPTURED_FRAMES} frames of a trial");
        for (count, words) in [("1023", &most[..]), ("0", "at least 1")] {
            let told = asked(count).unwrap_err();
            assert_eq!(told.code(), 2);
            assert!(told.to_string().contains(words), "{told}");
        }
        // The manual and the help have the limit in the same words.
        let mut command = Cli::command();
        let stages = command.find_subcommand_mut("stages").unwrap();
        for page in [
            include_str!("../../../../../docs/hdl.md"),
            include_str!("../../../../../docs/reference-node.md"),
            &stages.render_long_help().to_string(),
        ] {
            let words: Vec<&str> = page.split_whitespace().collect();
            let page = words.join(" ");
            assert!(page.contains(&most), "{most}: {page}");
        }
    }
}
