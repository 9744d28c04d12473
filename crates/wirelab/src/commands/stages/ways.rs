//! What `wirelab stages` is asked beyond lengths and frames, read from its options.

use wirelab_bench::stages::{Offered, Ways, flow};
use wirelab_stages::Xdp;
use wirelab_trial::nearest::{did_you_mean, unknown};
use wirelab_trial::{Background, Description, Framing, Load, Path, Probes, Wait};
use wirelab_wire::rule::Rules;

use crate::args::StagesArgs;
use crate::ask;
use crate::exit::{Failure, Fallible};

/// Read what was asked; `may_add_tag` says that a VLAN interface may be on the way to the node.
pub fn of(args: &StagesArgs, may_add_tag: bool) -> Fallible<Ways> {
    let invalid = |option: &str, why: String| Failure::usage(format!("{option}: {why}"));
    let xdp = args.xdp.parse::<Xdp>();
    xdp.map_err(|error| invalid("--xdp", error))?;
    let load = args.load.parse::<Load>();
    load.map_err(|error| invalid("--load", error.to_string()))?;
    let (rule, flow) = rules(args, may_add_tag)?;
    let waits = match (args.wait.as_deref(), &rule) {
        (Some("both"), _) | (None, Some(_)) => vec![Some(Wait::Spin), Some(Wait::Sleep)],
        (Some(word), _) => {
            let wait = word.parse::<Wait>();
            let known = ["sleep", "spin", "both"];
            vec![Some(wait.map_err(|_| {
                Failure::usage(unknown("wait method", word, known))
            })?)]
        }
        (None, None) => vec![None],
    };
    let background = match args.background.as_deref() {
        None => Offered::Nothing,
        Some("half") => Offered::Half,
        Some(text) => Offered::Load(text.parse().map_err(|why| {
            let meant = did_you_mean(text, ["half"].into_iter());
            Failure::usage(format!(
                "--background: {meant}{why}, or half of the stack's own rate"
            ))
        })?),
    };
    let offered = match background {
        Offered::Nothing => None,
        Offered::Half => Some(Background {
            load: Load::Max,
            size: Background::SIZE,
        }),
        Offered::Load(background) => Some(background),
    };
    if let Some((rules, background)) = rule.as_ref().zip(offered) {
        flow::keeps_off(rules, &background)
            .map_err(|why| Failure::usage(format!("--fast-track {rules}: {why}")))?;
    }
    let probes = args.probes.parse();
    Ok(Ways {
        waits,
        rule: rule.map(|rules| rules.to_string()),
        flow,
        background,
        probes: probes.map_err(|why| Failure::usage(format!("--probes: {why}")))?,
    })
}

/// The rules of the fast track, where it was asked, and the framing of a flow that they can want.
fn rules(args: &StagesArgs, may_add_tag: bool) -> Fallible<(Option<Rules>, Framing)> {
    let bad = |rules: &str, why: &dyn std::fmt::Display| {
        Failure::usage(format!("--fast-track {rules}: {why}"))
    };
    if args.fast_track.is_empty() {
        return Ok((None, Framing::default()));
    }
    let text = args.fast_track.join(";");
    let rules: Rules = ask::rules("--fast-track", &text)?;
    if args.xdp == "off" {
        let why = "the identifier is an XDP program, and --xdp off allows none; fix: leave --xdp out, or ask --xdp generic";
        return Err(bad(&text, &why));
    }
    let flow = flow::matching(&rules, may_add_tag).map_err(|why| bad(&text, &why))?;
    Ok((Some(rules), flow))
}

/// Refuse a fast track that a Linux node does not have.
pub fn has_path(args: &StagesArgs, ways: &Ways, node: &Description) -> Fallible<()> {
    if ways.rule.is_none() || node.capabilities.paths.contains(&Path::FastTrack) {
        return Ok(());
    }
    let why = node.setup.get("xdp").map_or("none", String::as_str);
    Err(Failure::usage(format!(
        "{}: this node has no path fast-track (XDP: {why}); fix: see what it says when it starts, or leave --fast-track out",
        args.node
    )))
}

/// Refuse what the reference node cannot be asked.
pub fn refuse(args: &StagesArgs, ways: &Ways) -> Fallible<()> {
    if ways.probes != Probes::Auto || args.wait.is_some() {
        return Err(Failure::usage(format!(
            "{}: --wait and --probes are for Linux nodes; fix: leave them out",
            args.node
        )));
    }
    Ok(())
}

/// The load of trials that measure time.
pub fn load(args: &StagesArgs) -> Fallible<Load> {
    let load = args.load.parse();
    let load: Load = load.map_err(|why| Failure::usage(format!("--load: {why}")))?;
    match load {
        Load::Max => Err(Failure::usage(
            "--load max: at the highest load queues are full, and a stage's time is the queue's; fix: give a rate that the \
             node takes with ease, e.g. --load 1kpps",
        )),
        load => Ok(load),
    }
}
