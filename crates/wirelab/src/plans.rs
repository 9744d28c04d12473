//! The plan for `wirelab measure`: from a file, a search, the datasheet, or a matrix of the options.

use wirelab_bench::search::{BurstSearch, Goal, LossCurve, Search};
use wirelab_bench::{Matrix, Plan, SearchKind, SearchSection, Section, datasheet, parse_percent};
use wirelab_trial::nearest::did_you_mean;
use wirelab_trial::{Direction, Extent, Path, Profile};

use crate::args::{MeasureArgs, SearchArgs};
use crate::ask;
use crate::exit::{Failure, Fallible};

/// The plan of the options, for a node with this `profile`.
pub fn plan(args: &MeasureArgs, profile: &Profile) -> Fallible<Plan> {
    if let Some(path) = &args.plan {
        return Plan::load(path).map_err(Failure::usage);
    }
    if args.search.is_asked() {
        return search(args, profile).map(|search| Plan::of(Section::Search(search)));
    }
    let nothing = !ask::asks_something(&args.matrix, &args.offer.extent)
        && !args.ways.is_asked()
        && node_paths(&args.offer.path).is_none()
        && (
            args.repeat,
            args.warmup.as_ref(),
            args.offer.inject.as_ref(),
        ) == (1, None, None);
    if args.datasheet || args.quick || (profile.datasheet && nothing) {
        let mut plan = datasheet::plan(args.quick);
        let rate = args.offer.extent.rate.as_deref();
        if let Some(rate) = rate.map(|text| ask::rate("--rate", text)).transpose()? {
            plan.use_link(rate);
        }
        return Ok(plan);
    }
    matrix(args, profile).map(|matrix| Plan::of(Section::Matrix(matrix)))
}

fn matrix(args: &MeasureArgs, profile: &Profile) -> Fallible<Matrix> {
    let default = match args.search.is_asked() {
        false => profile.extent,
        true => profile.search_extent,
    };
    let mut matrix = ask::matrix(&args.matrix, &args.offer.extent, profile.layer, default)?;
    if let (Some(direction), true) = (profile.direction, args.matrix.direction.is_empty()) {
        matrix.directions = vec![direction];
    }
    matrix.shared.faults = ask::faults(args.offer.inject.as_deref())?;
    args.share(&mut matrix.shared);
    matrix.warmup_ps = warm_up_ps(args)?;
    matrix.repeats = args.repeat;
    ways(args, &mut matrix)?;
    Ok(matrix)
}

/// The paths through a node in `--path`; `None` where it is a path through this host's kernel.
pub fn node_paths(words: &str) -> Option<Vec<Path>> {
    words.split(',').map(|word| word.parse().ok()).collect()
}

fn ways(args: &MeasureArgs, matrix: &mut Matrix) -> Fallible<()> {
    let ways = &args.ways;
    if let Some(paths) = node_paths(&args.offer.path) {
        matrix.paths = paths.into_iter().map(Some).collect();
    }
    if !ways.wait.is_empty() {
        matrix.waits = ask::parse_all(&ways.wait)?.into_iter().map(Some).collect();
    }
    if !ways.probes.is_empty() {
        matrix.probes = ask::parse_all(&ways.probes)?
            .into_iter()
            .map(Some)
            .collect();
    }
    if let Some(text) = &matrix.shared.rule {
        ask::rules("--rule", text)?;
    }
    if matrix.shared.rule.is_some() && !matrix.paths.contains(&Some(Path::FastTrack)) {
        return Err(Failure::usage(
            "--rule selects frames for the fast track; fix: add --path fast-track",
        ));
    }
    let background = ways.background.as_deref().map(str::parse).transpose();
    let background = background.map_err(Failure::usage)?;
    matrix.backgrounds = match background {
        // The effect of a background on a latency shows beside the latency without it.
        Some(_) if matrix.directions.contains(&Direction::Echo) => vec![None, background],
        _ => vec![background],
    };
    Ok(())
}

fn warm_up_ps(args: &MeasureArgs) -> Fallible<u64> {
    args.warmup
        .as_deref()
        .map_or(Ok(0), |w| ask::time_ps("--warmup", w))
}

/// The search of the options.
fn search(args: &MeasureArgs, profile: &Profile) -> Fallible<SearchSection> {
    let matrix = matrix(args, profile)?;
    let (asked, direction) = (&args.search, &args.matrix.direction);
    let name = match asked {
        SearchArgs {
            loss_curve: true, ..
        } => "loss curve",
        SearchArgs { bursts: true, .. } => "bursts",
        _ => "search",
    };
    let Extent::Time { time_ps } = matrix.shared.extent else {
        return Err(Failure::usage(
            "--frames: the trials of a search have a time; fix: give --time instead",
        ));
    };
    let layer = matrix.framings[0].layer;
    if layer.is_tcp() {
        return Err(Failure::usage(
            "TCP retransmits lost data, so a loss ratio does not show its rate; fix: use a TCP trial at load max",
        ));
    }
    if !matrix.shared.faults.is_clean() || !args.matrix.buffers.is_empty() || args.repeat != 1 {
        return Err(Failure::usage(
            "--inject, --buffers and --repeat cannot be combined with a search; fix: leave them out, --trials repeats each load",
        ));
    }
    if args.ways.is_asked() || node_paths(&args.offer.path).is_some() {
        return Err(Failure::usage(
            "a search uses the node's default path; fix: leave --path, --wait, --rule, --background and --probes out",
        ));
    }
    let kind = search_kind(asked, time_ps, warm_up_ps(args)?)?;
    let mut section = SearchSection::new(name, matrix.sizes, kind);
    section.framings = matrix.framings;
    if !direction.is_empty() {
        section.directions = matrix.directions;
    }
    let sent_by_node = [Direction::Transmit, Direction::Both];
    if asked.bursts
        && section
            .directions
            .iter()
            .any(|way| sent_by_node.contains(way))
    {
        return Err(Failure::usage(
            "--bursts: the tester sends bursts to the node; fix: give --direction rx or echo",
        ));
    }
    (section.load, section.ports) = match (&matrix.loads[..], &matrix.ports[..]) {
        ([load], []) => (*load, None),
        ([load], [ports]) => (*load, Some(*ports)),
        _ => {
            return Err(Failure::usage(
                "a search has one highest load and one number of ports; fix: give one --load and one --ports",
            ));
        }
    };
    section.shared = matrix.shared;
    Ok(section)
}

fn search_kind(asked: &SearchArgs, time_ps: u64, warm_up_ps: u64) -> Fallible<SearchKind> {
    if asked.loss_curve {
        return Ok(SearchKind::LossCurve(LossCurve::new(time_ps)));
    }
    if asked.bursts {
        return Ok(SearchKind::Bursts {
            bursts: BurstSearch::rfc9004(),
            throughput: Search::new(vec![Goal::no_loss(time_ps)]),
        });
    }
    let exceed = asked
        .exceed
        .as_deref()
        .map(|text| share("--exceed", text, 0.0..=0.99));
    let width = asked
        .width
        .as_deref()
        .map(|text| share("--width", text, 1e-4..=0.5));
    let (exceed, width) = (exceed.transpose()?, width.transpose()?);
    let goal = |word: &String| -> Fallible<Goal> {
        let loss_ratio = match (word.as_str(), word.strip_prefix("loss=")) {
            ("no-loss", _) => 0.0,
            (_, Some(text)) => share("--search loss", text, 0.0..=0.99)?,
            _ => {
                return Err(Failure::usage(format!(
                    "--search {word}: unknown goal; {}fix: write no-loss, or the allowed loss, e.g. loss=2.5%",
                    did_you_mean(
                        word.split('=').next().unwrap_or_default(),
                        ["no-loss", "loss"].into_iter()
                    )
                )));
            }
        };
        let usual = Goal::at_loss(loss_ratio, time_ps);
        Ok(Goal {
            duration_sum_ps: time_ps.saturating_mul(asked.trials.unwrap_or(1)),
            exceed_ratio: exceed.unwrap_or(usual.exceed_ratio),
            width_ratio: width.unwrap_or(usual.width_ratio),
            ..usual
        })
    };
    let goals: Vec<Goal> = asked.search.iter().map(goal).collect::<Fallible<_>>()?;
    let around = asked
        .around
        .iter()
        .map(|text| share("--around", text, 0.01..=10.0));
    Ok(SearchKind::Rates {
        search: Search {
            warmup_ps: warm_up_ps,
            ..Search::new(goals)
        },
        around: around.collect::<Fallible<_>>()?,
    })
}

/// A share in percent, as a ratio.
fn share(option: &str, text: &str, range: std::ops::RangeInclusive<f64>) -> Fallible<f64> {
    let ratio = parse_percent(text).filter(|ratio| range.contains(ratio));
    ratio.ok_or_else(|| {
        let (least, most) = (range.start() * 100.0, range.end() * 100.0);
        Failure::usage(format!(
            "invalid {option} {text}; fix: write a share from {least}% to {most}%, e.g. 2.5%"
        ))
    })
}

/// Whether all trials of a plan are echoes.
pub fn is_of_echoes(plan: &Plan) -> bool {
    let matrices = plan.matrices().map(|m| &m.directions);
    let searches = plan.searches().map(|s| &s.directions);
    let mut directions = matrices.chain(searches).flatten().peekable();
    directions.peek().is_some() && directions.all(|direction| *direction == Direction::Echo)
}

/// The largest payload of a plan, for the MTU of its lab.
pub fn largest_payload(plan: &Plan) -> u32 {
    let matrices = plan.matrices().map(|m| (&m.framings, &m.sizes));
    let searches = plan.searches().map(|s| (&s.framings, &s.sizes));
    let sizes = matrices.chain(searches).flat_map(|(framings, sizes)| {
        let each = framings
            .iter()
            .flat_map(|f| sizes.iter().map(|s| s.resolve_test(*f)));
        each.filter_map(Result::ok)
    });
    sizes.map(|s| s.payload).max().unwrap_or(0)
}
