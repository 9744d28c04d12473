//! The plan for `wirelab measure`: from a file, a search, the datasheet, or a matrix of the options.

use wirelab_bench::search::SearchWords;
use wirelab_bench::stages::request::rules;
use wirelab_bench::{Matrix, Plan, SearchSection, Section, datasheet};
use wirelab_trial::{Direction, Path, Profile};

use crate::args::{MeasureArgs, PathChoice, SearchArgs};
use crate::ask;
use crate::exit::{Failure, Fallible};

/// The plan of the options, for a node with this `profile`.
pub fn plan(args: &MeasureArgs, profile: &Profile) -> Fallible<Plan> {
    if let Some(path) = &args.plan {
        return Plan::load(path).map_err(Failure::usage);
    }
    if args.search.is_given() {
        return search(args, profile).map(|search| Plan::of(Section::Search(search)));
    }
    let matrix = matrix(args, profile)?;
    let nothing = !ask::asks_something(&args.matrix, &args.offer.extent)
        && !args.paths.is_given()
        && matrix.shared.options().next().is_none()
        && args.offer.inject.is_none()
        && args.repeat.is_none()
        && args.warmup.is_none();
    if args.datasheet || args.quick || (profile.datasheet && nothing) {
        let mut plan = datasheet::plan(args.quick);
        if let Some(rate) = matrix.shared.link_bits_per_s {
            plan.use_link(rate);
        }
        return Ok(plan);
    }
    Ok(Plan::of(Section::Matrix(matrix)))
}

fn matrix(args: &MeasureArgs, profile: &Profile) -> Fallible<Matrix> {
    let default = match args.search.is_given() {
        false => profile.extent,
        true => profile.search_extent,
    };
    let mut matrix = ask::matrix(&args.matrix, &args.offer.extent, profile.layer, default)?;
    if let (Some(direction), true) = (profile.direction, args.matrix.direction.is_empty()) {
        matrix.directions = vec![direction];
    }
    matrix.shared.faults = ask::faults(args.offer.inject.as_deref())?;
    args.share(&mut matrix.shared);
    matrix.warmup_ps = args
        .warmup
        .as_deref()
        .map_or(Ok(0), |w| ask::time_ps("--warmup", w))?;
    matrix.repeats = args.repeat.unwrap_or(1);
    set_paths(args, &mut matrix)?;
    Ok(matrix)
}

fn set_paths(args: &MeasureArgs, matrix: &mut Matrix) -> Fallible<()> {
    let given = &args.paths;
    if let PathChoice::Node(paths) = &given.path {
        matrix.paths = paths.iter().copied().map(Some).collect();
    }
    if !given.wait.is_empty() {
        matrix.waits = ask::parse_all(&given.wait)?.into_iter().map(Some).collect();
    }
    if !given.probes.is_empty() {
        matrix.probes = ask::parse_all(&given.probes)?
            .into_iter()
            .map(Some)
            .collect();
    }
    if let Some(text) = &matrix.shared.rule {
        rules(text).map_err(|why| Failure::usage(format!("--rule {why}")))?;
    }
    if matrix.shared.rule.is_some() && !matrix.paths.contains(&Some(Path::FastTrack)) {
        return Err(Failure::usage(
            "--rule selects frames for the fast track; fix: add --path fast-track",
        ));
    }
    let background = given.background.as_deref().map(str::parse).transpose();
    let background = background.map_err(Failure::usage)?;
    matrix.backgrounds = match background {
        // The effect of a background on a latency shows beside the latency without it.
        Some(_) if matrix.directions.contains(&Direction::Echo) => vec![None, background],
        _ => vec![background],
    };
    Ok(())
}

/// The search of the options.
fn search(args: &MeasureArgs, profile: &Profile) -> Fallible<SearchSection> {
    let given = &args.search;
    let mut matrix = matrix(args, profile)?;
    if args.matrix.direction.is_empty() {
        matrix.directions = vec![Direction::Receive];
    }
    let words = match given {
        SearchArgs {
            loss_curve: true, ..
        } => SearchWords::LossCurve,
        SearchArgs { bursts: true, .. } => SearchWords::Bursts,
        _ => SearchWords::Rates {
            goals: &given.search,
            trials: given.trials.unwrap_or(1),
            exceed: given.exceed.as_deref(),
            width: given.width.as_deref(),
            around: &given.around,
        },
    };
    let section = words.section(matrix);
    section.map_err(|why| Failure::usage(format!("--{why}")))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    /// A value that is also the default is a request when it is written out.
    #[test]
    fn an_option_about_trials_replaces_the_datasheet_and_no_other_does() {
        let profile = Profile {
            datasheet: true,
            ..Profile::USUAL
        };
        let is_datasheet = |options: &str| {
            let line = ["wirelab", "measure", "node:192.0.2.7"].into_iter();
            let cli = Cli::try_parse_from(line.chain(options.split_whitespace())).unwrap();
            let Command::Measure(args) = cli.command else {
                panic!("{options}")
            };
            plan(&args, &profile).unwrap().datasheet
        };
        for options in ["", "--datasheet", "--no-ceiling", "--path xdp", "--routed"] {
            assert!(is_datasheet(options), "{options}");
        }
        for options in [
            "--load max",
            "--vlan 0",
            "--repeat 1",
            "--warmup 1s",
            "--rate 100M",
            "--path stack",
            "--probes off",
            "--search no-loss",
        ] {
            assert!(!is_datasheet(options), "{options}");
        }
    }
}
