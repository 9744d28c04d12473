//! Options that have no meaning for the node that is asked are refused, with what to do instead: one that is ignored in
//! silence looks as if it had been obeyed.

use clap::CommandFactory;
use clap::parser::ValueSource;
use wirelab_trial::{Framing, Layer, Size, SizeUnit};

use super::{Asking, LARGEST_PAYLOAD, Subject};
use crate::args::{Cli, StagesArgs};
use crate::exit::Failure;

/// The options of a results file, and of this host. Those of nodes are with their kinds.
const OF_FILE: &[&str] = &["against", "gate"];
const OF_HERE: &[&str] = &[
    "length", "count", "wait", "probes", "xdp", "port", "stream", "watch", "time", "store", "tag",
];
/// The options of runs that are kept, which every node has.
const OF_RUNS: &[&str] = &["store", "tag"];

/// The options that not everything takes, and why one has no meaning, with the fix. Those of the output always have one.
const OPTIONS: [(&str, &str); 22] = [
    ("length", ASK_AGAIN),
    ("count", ASK_AGAIN),
    (
        "load",
        "nothing is sent here; fix: give it to 'wirelab send', or ask lab: or node:HOST",
    ),
    ("wait", ASK_AGAIN),
    ("probes", ASK_AGAIN),
    ("fast-track", ASK_LAB),
    ("background", ASK_LAB),
    (
        "xdp",
        "only this host's own ports take it; fix: give it to the node ('wirelab node serve --xdp MODE'), or leave it out",
    ),
    (
        "port",
        "the trial sets the flow's port; fix: leave it out, or set that of the rule with --fast-track port=N",
    ),
    ("stream", "the trial sets the stream; fix: leave it out"),
    (
        "watch",
        "only here:IFACE watches frames of other programs; fix: ask here:IFACE, or leave it out",
    ),
    (
        "time",
        "trials end with their frames; fix: give --count, or ask here:IFACE",
    ),
    (
        "routed",
        "only a peer on a network is behind a router; fix: name node:HOST",
    ),
    (
        "wall",
        "only an emulated board has both times and instructions; fix: leave it out",
    ),
    (
        "image",
        "only an emulated board is given a firmware; fix: name board:NAME, or leave it out",
    ),
    (
        "mac",
        "only the reference node has a choice of how its MAC is attached; fix: name hdl:reference",
    ),
    (
        "wait-states",
        "only the reference node's bus has a speed that can be set; fix: name hdl:reference",
    ),
    (
        "predicted",
        "only the reference node's models predict stages; fix: name hdl:reference, or use 'wirelab predict'",
    ),
    (
        "against",
        "it compares counted instructions, and this node gives times; fix: name board:NAME",
    ),
    (
        "gate",
        "it compares counted instructions, and this node gives times; fix: name board:NAME or qemu:FILE.toml",
    ),
    ("store", IMPORT),
    ("tag", IMPORT),
];

const IMPORT: &str =
    "a file has been measured; fix: put it into a store with 'wirelab results import'";

const ASK_AGAIN: &str =
    "a results file holds what was measured; fix: leave it out, or ask the node again";
const ASK_LAB: &str =
    "both paths of a node are measured from a tester; fix: name lab: or node:HOST";

/// Refuse options that have no meaning for what is asked.
///
/// # Errors
/// The option, and what to do instead.
pub fn refuse(args: &StagesArgs, subject: &Subject) -> Result<(), Failure> {
    check(args, subject, &given())?;
    let Subject::Node(Asking { name, profile, .. }) = subject else {
        return Ok(());
    };
    if let Some(why) = profile.stages.why_none {
        return Err(Failure::usage(format!("{name}: {why}")));
    }
    if let Some(who) = profile.stages.lengths_limited_by {
        lengths(args, who)?;
    }
    super::frames(args.count, profile.stages.max_frames).map(drop)
}

/// The options that were written on the command line, and are not there by default.
fn given() -> Vec<&'static str> {
    let matches = Cli::command().try_get_matches();
    let stages = matches.as_ref().ok().and_then(|m| m.subcommand());
    let Some(("stages", stages)) = stages else {
        return Vec::new();
    };
    let names = OPTIONS.iter().map(|(name, _)| *name);
    let written = |name: &&str| {
        let source = stages.value_source(&name.replace('-', "_"));
        source == Some(ValueSource::CommandLine)
    };
    names.filter(written).collect()
}

fn check(args: &StagesArgs, subject: &Subject, given: &[&str]) -> Result<(), Failure> {
    let (known, more) = match subject {
        Subject::File(_) => (OF_FILE, [&[][..]; 2]),
        Subject::Here(_) => (OF_HERE, [&[][..]; 2]),
        Subject::Node(node) => {
            let stages = &node.profile.stages;
            (stages.options, [stages.more, OF_RUNS])
        }
    };
    let is_known = |name| known.contains(name) || more.iter().any(|list| list.contains(name));
    let mut unknown = OPTIONS
        .iter()
        .filter(|(name, _)| given.contains(name) && !is_known(name));
    match unknown.next() {
        None => Ok(()),
        Some((name, why)) => {
            let why = match (subject, *name) {
                (Subject::File(_), name) if !OF_RUNS.contains(&name) => ASK_AGAIN,
                _ => *why,
            };
            Err(Failure::usage(format!(
                "--{name} has no meaning for '{}': {why}",
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
            "--length {length}: {why}; fix: give lengths from 60 to {most}, as in --length 64,256,1024"
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

    fn refuse(args: &StagesArgs) -> Result<(), Failure> {
        super::refuse(args, &Subject::of(&args.node)?)
    }

    #[test]
    fn every_option_has_a_kind_that_it_means_something_for() {
        let command = Cli::command();
        let stages = command.find_subcommand("stages").unwrap();
        let known: Vec<&str> = OPTIONS.iter().map(|(name, _)| *name).collect();
        for option in stages.get_opts() {
            let name = option.get_long().unwrap();
            let of_output = ["help", "output", "json"].contains(&name);
            assert!(known.contains(&name) || of_output, "--{name}");
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
            #[cfg(feature = "hdl")]
            ("hdl:reference", "load", "lab:"),
            ("here:eth0", "load", "wirelab send"),
            ("a.json", "store", "wirelab results import"),
            ("here:eth0", "fast-track", "name lab:"),
            ("node:192.0.2.1", "xdp", "wirelab node serve"),
            ("a.json", "fast-track", "leave it out"),
            ("a.json", "length", "ask the node again"),
        ] {
            let args = args(&[node]);
            let subject = Subject::of(node).unwrap();
            let told = check(&args, &subject, &[name]).unwrap_err().to_string();
            for words in [&format!("--{name} has no meaning for '{node}'"), instead] {
                assert!(told.contains(words), "{words}: {told}");
            }
        }
        let args = args(&["a.json"]);
        let file = Subject::of("a.json").unwrap();
        assert!(check(&args, &file, &["against"]).is_ok());
    }

    #[test]
    fn lengths_that_a_node_does_not_carry_are_refused_before_it_is_started() {
        for node in [
            "lab:",
            #[cfg(feature = "hdl")]
            "hdl:reference",
            #[cfg(feature = "hdl")]
            "hdl:reference,mac=dma",
        ] {
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
    #[cfg(feature = "hdl")]
    fn ports_of_hardware_have_no_stages_and_the_node_that_has_some_is_named() {
        for node in ["hdl:4", "hdl:1", "hdl:4,loopback", "hdl:nothing"] {
            let told = refuse(&args(&[node])).unwrap_err();
            assert_eq!(told.code(), 2);
            let text = told.to_string();
            assert!(
                text.contains("use hdl:reference") && text.contains(node),
                "{text}"
            );
        }
    }

    #[test]
    #[cfg(feature = "hdl")]
    fn more_frames_than_the_capture_units_keep_are_refused_before_they_are_asked() {
        let asked = |count| refuse(&args(&["hdl:reference", "--count", count]));
        assert!(asked("1022").is_ok());
        let most = wirelab_hdl::reference_node::MOST_CAPTURED_FRAMES;
        let most = format!("the records of 1 to {most} frames of a trial");
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
