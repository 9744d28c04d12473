//! `wirelab fit`: fits a node file to measured results.

use std::path::Path;

use wirelab_model::fit::{Captures, Fit, FitOptions, Fitted, LeaveOneOut, LeftOut, SizeClass, fit};
use wirelab_report::document::{Block, Notice};
use wirelab_report::format;
use wirelab_trial::explanation::FastTrackGain;

use crate::args::FitArgs;
use crate::commands::report::{read, save};
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{say, show, show_json};

pub fn run(args: &FitArgs) -> Result {
    let mut observations = Vec::new();
    for path in &args.results {
        observations.extend(read(path)?.observations);
    }
    let files: Vec<String> = args.results.iter().map(|p| file_name(p)).collect();
    let options = options(args, files.join(", "));
    let fitted = fit(&observations, &options).map_err(Failure::usage)?;
    if let Some(path) = &args.output {
        save(path, &fitted.node_toml)?;
    }
    if args.json {
        show_json(&fitted)?;
    } else if args.output.is_none() {
        say!("{}", fitted.node_toml);
    } else {
        print(&fitted, args.confidence);
    }
    Ok(Outcome::Done)
}

/// The options of a fit to a file of that name.
pub fn options(args: &FitArgs, file: String) -> FitOptions {
    FitOptions {
        name: args.name.clone().or_else(|| {
            let stem = args.output.as_ref()?.file_stem()?;
            Some(stem.to_string_lossy().into_owned())
        }),
        file,
        node: args.node.clone(),
        confidence: args.confidence,
        captures: if args.single_stages {
            Captures::Stages
        } else {
            Captures::FromStart
        },
        ..FitOptions::default()
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

pub fn print(fitted: &Fit, confidence: f64) {
    let title = format!(
        "Fitted to {} (calibrated), with {:.0} % intervals",
        format::count(fitted.used_observations as u64, "observation"),
        confidence * 100.0
    );
    let count = |l: &LeftOut| format!("left out: {} {}", l.count, l.why);
    let class = |class: &SizeClass| {
        format!(
            "size class of {}: {} to {} bytes",
            class.figure, class.from_bytes, class.to_bytes
        )
    };
    let heads = [
        ("parameter", false),
        ("value", true),
        ("unit", false),
        ("interval", false),
        ("from", false),
    ];
    let mut findings: Vec<String> = fitted.leave_one_out.iter().map(left_out).collect();
    findings.extend(fitted.fast_track.iter().map(gain));
    findings.extend(fitted.notes.iter().cloned());
    let blocks = vec![
        Block::List(fitted.left_out.iter().map(count).collect()),
        Block::sentences(heads.into(), fitted.parameters.iter().map(row).collect()),
        Block::List(fitted.classes.iter().map(class).collect()),
        Block::List(findings),
    ];
    let warnings = fitted.warnings.iter();
    let notices =
        warnings.map(|w| Notice::warning(&w.code, "this fit".to_owned(), &w.text, &w.fix));
    let blocks = blocks
        .into_iter()
        .chain([Block::Notices(notices.collect())]);
    let blocks = blocks.filter(|block| !matches!(block, Block::List(all) if all.is_empty()));
    show(title, blocks.collect());
}

fn row(p: &Fitted) -> Vec<String> {
    let places = |value: f64| format::decimal(value, digits(value));
    let interval = p.interval.map_or("no interval".to_owned(), |i| {
        format!("{} to {}", places(i.low), places(i.high))
    });
    vec![
        p.name.clone(),
        places(p.value),
        p.unit.clone(),
        interval,
        p.how.clone(),
    ]
}

/// Decimals for four significant digits.
fn digits(value: f64) -> usize {
    let magnitude = value.abs().max(1e-9).log10().floor() as i32;
    (3 - magnitude).clamp(0, 6) as usize
}

/// The gain of the fast track at one size, predicted from the stack and measured.
fn gain(g: &FastTrackGain) -> String {
    let measured = match (g.measured_ps, g.error_percent) {
        (Some(ps), Some(error)) => format!(
            "{} measured (error {} %)",
            format::time(ps),
            format::decimal(error, 1)
        ),
        _ => "not measured".to_owned(),
    };
    format!(
        "fast track, driver to application, length {} B, {}: {} predicted from the stack's stages, {measured}; the \
         stack {} measured",
        g.length_bytes,
        g.wait,
        format::time(g.predicted_ps),
        format::time(g.stack_measured_ps)
    )
}

/// The errors of predicting each cell from the others.
fn left_out(l: &LeaveOneOut) -> String {
    let error = |e: Option<f64>| {
        e.map_or("–".to_owned(), |e| {
            format!("{} {}", format::decimal(e, 2), l.error_unit)
        })
    };
    let outliers: Vec<&str> = l
        .cells
        .iter()
        .filter(|c| c.outlier)
        .map(|c| c.cell.as_str())
        .collect();
    let named = match outliers.as_slice() {
        [] => String::new(),
        some => format!("; out of line: {}", some.join(", ")),
    };
    format!(
        "leave-one-out error of {}: {} on average, at most {} ({}){named}",
        l.figure,
        error(l.mean_error),
        error(l.max_error),
        format::count(l.cells.len() as u64, "cell")
    )
}
