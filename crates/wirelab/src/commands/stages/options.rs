//! Options without meaning for the node are refused, with the alternative: an option that is silently ignored looks as
//! if it had an effect.

use clap::CommandFactory;
use clap::parser::ValueSource;
use wirelab_bench::stages::request::{carried, frames};
use wirelab_trial::node_type::StageOption;

use super::{NodeToOpen, Subject};
use crate::args::{Cli, StagesArgs};
use crate::exit::{Failure, Fallible};
use crate::nodes::NODE_TYPES;

/// The options that always have a meaning, those of a results file, and those of runs that are kept. Those of nodes are
/// with their types.
const OF_OUTPUT: [&str; 2] = ["output", "json"];
const OF_FILE: [&str; 2] = ["against", "gate"];
const OF_RUNS: [&str; 2] = ["store", "tag"];

/// Refuses options that have no meaning for the request.
///
/// # Errors
/// The option, and what to do instead.
pub fn refuse(args: &StagesArgs, subject: &Subject) -> Fallible<()> {
    let given = given();
    check(args, subject, &given)?;
    check_wall(args, subject, &given)?;
    let Subject::Node(NodeToOpen { name, profile, .. }) = subject else {
        return Ok(());
    };
    if let Some(why) = profile.stages.why_none {
        return Err(Failure::usage(format!("{name}: {why}")));
    }
    if let Some(who) = profile.stages.lengths_limited_by {
        carried(&args.length, who).map_err(Failure::usage)?;
    }
    let frames = frames(args.count, profile.stages.max_frames);
    frames.map(drop).map_err(Failure::usage)
}

/// The options that were written on the command line, not set by default.
fn given() -> Vec<String> {
    let command = Cli::command();
    let options = command.find_subcommand("stages");
    let options = options.into_iter().flat_map(clap::Command::get_opts);
    let matches = command.clone().try_get_matches();
    let stages = matches.as_ref().ok().and_then(|m| m.subcommand());
    let Some(("stages", stages)) = stages else {
        return Vec::new();
    };
    let written = |option: &&clap::Arg| {
        stages.value_source(option.get_id().as_str()) == Some(ValueSource::CommandLine)
    };
    let names = options.filter(written).filter_map(clap::Arg::get_long);
    names.map(str::to_owned).collect()
}

fn check(args: &StagesArgs, subject: &Subject, given: &[impl AsRef<str>]) -> Fallible<()> {
    let is_known = |name: &str| {
        OF_OUTPUT.contains(&name)
            || match subject {
                Subject::File(_) => OF_FILE.contains(&name),
                Subject::Node(node) => {
                    let takes = |option| node.profile.stages.takes(option);
                    OF_RUNS.contains(&name) || StageOption::named(name).is_some_and(takes)
                }
            }
    };
    let mut given = given.iter().map(AsRef::as_ref);
    let Some(name) = given.find(|name| !is_known(name)) else {
        return Ok(());
    };
    let why = match subject {
        Subject::File(_) if OF_RUNS.contains(&name) => {
            ": the file is measured; fix: put it into a store with 'wirelab results import'"
                .to_owned()
        }
        Subject::File(_) => {
            ": a results file holds what was measured; fix: leave it out, or measure the node again"
                .to_owned()
        }
        Subject::Node(_) => {
            let option = StageOption::named(name).expect("all others are of the output");
            let reason = match option.why_not() {
                "" => String::new(),
                why => format!(": {why}"),
            };
            let nodes = NODE_TYPES.stages_taking(option).join(" or ");
            format!("{reason}; fix: leave it out, or name {nodes}")
        }
    };
    Err(Failure::usage(format!(
        "--{name} has no meaning for '{}'{why}",
        args.node
    )))
}

/// Instructions are counted at no load, and times are compared with nothing.
fn check_wall(args: &StagesArgs, subject: &Subject, given: &[impl AsRef<str>]) -> Fallible<()> {
    let Subject::Node(node) = subject else {
        return Ok(());
    };
    let is_given = |option: &StageOption| given.iter().any(|given| given.as_ref() == option.name());
    let may_count = node.profile.stages.takes(StageOption::Wall);
    if !args.wall && may_count && is_given(&StageOption::Load) {
        return Err(Failure::usage(
            "--load without --wall: instructions are counted frame by frame, at no load; fix: add --wall, or leave --load out",
        ));
    }
    match [StageOption::Against, StageOption::Gate]
        .into_iter()
        .find(|option| args.wall && is_given(option))
    {
        Some(option) => Err(Failure::usage(format!(
            "--{} with --wall: {}; fix: leave one of them out",
            option.name(),
            option.why_not()
        ))),
        None => Ok(()),
    }
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
    fn every_option_has_a_type_that_it_means_something_for() {
        let command = Cli::command();
        let stages = command.find_subcommand("stages").unwrap();
        let options = || stages.get_opts().filter_map(clap::Arg::get_long);
        for name in options() {
            let of_all = OF_OUTPUT.contains(&name) || OF_RUNS.contains(&name);
            let nodes = StageOption::named(name).map(|option| NODE_TYPES.stages_taking(option));
            let of_none = nodes.is_none_or(|nodes| nodes.is_empty());
            assert_ne!(of_all, !of_none, "--{name}");
        }
        for option in StageOption::ALL {
            let name = option.name();
            assert!(options().any(|option| option == name), "{name}");
        }
    }

    #[test]
    fn an_option_that_would_be_ignored_is_refused_with_what_to_do_instead() {
        for (node, name, instead) in [
            ("lab:", "port", "--fast-track port=N"),
            ("lab:", "time", "--count"),
            ("lab:", "wall", "board:NAME"),
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
            ("a.json", "length", "measure the node again"),
        ] {
            let args = args(&[node]);
            let subject = Subject::of(node).unwrap();
            let refusal = check(&args, &subject, &[name]).unwrap_err().to_string();
            for words in [&format!("--{name} has no meaning for '{node}'"), instead] {
                assert!(refusal.contains(words), "{words}: {refusal}");
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
                let refusal = refuse(&args(&[node, "--length", length]));
                let refusal = refusal.unwrap_err();
                assert_eq!(refusal.code(), 2);
                let text = refusal.to_string();
                assert!(text.contains(words) && text.contains("--length"), "{text}");
            }
        }
    }

    #[test]
    #[cfg(feature = "hdl")]
    fn ports_of_hardware_have_no_stages_and_the_node_that_has_some_is_named() {
        for node in ["hdl:4", "hdl:1", "hdl:4,loopback", "hdl:nothing"] {
            let refusal = refuse(&args(&[node])).unwrap_err();
            assert_eq!(refusal.code(), 2);
            let text = refusal.to_string();
            assert!(
                text.contains("use hdl:reference") && text.contains(node),
                "{text}"
            );
        }
    }

    #[test]
    #[cfg(feature = "hdl")]
    fn more_frames_than_the_capture_units_keep_are_refused_before_they_are_asked() {
        let counted = |count| refuse(&args(&["hdl:reference", "--count", count]));
        assert!(counted("1022").is_ok());
        let most = wirelab_hdl::reference_node::MOST_CAPTURED_FRAMES;
        let most = format!("the records of 1 to {most} frames of a trial");
        for (count, words) in [("1023", &most[..]), ("0", "at least 1")] {
            let refusal = counted(count).unwrap_err();
            assert_eq!(refusal.code(), 2);
            assert!(refusal.to_string().contains(words), "{refusal}");
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
