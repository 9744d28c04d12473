//! Fits a node file to measured observations: the cost of a frame, its uncertainty, and what the data cannot show.
//!
//! `docs/fit.md` says what is fitted from what. Nothing here knows the inside of a node. A fit gives a time for each
//! frame and each byte of the limiting server and of the CPU, an idle load, a cost for each batch, a depth of the
//! receive ring, and a delay for each capture point.

mod body;
mod calibrations;
mod chain;
mod figures;
mod gather;
mod judge;
mod node_text;
mod paths;
mod prefix;
mod reach;
mod ring;
mod shape;
mod squares;
mod stages;
mod text;

use std::collections::BTreeMap;

use serde::Serialize;
use wirelab_trial::explanation::FastTrackGain;
use wirelab_trial::{Interval, Observation, Rounding, Warning, format, stage};

use crate::file::NodeFile;

/// How to interpret captured series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Captures {
    /// Each is the time from one common start to its point, as in Table I of the Zynq document.
    #[default]
    FromStart,
    /// Each is the time of one stage alone, in the order of the first observation.
    Stages,
}

/// Options of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct FitOptions {
    /// Name of the new node; `None` takes the measured node's name.
    pub name: Option<String>,
    /// Name of the results file, for the node file's `what`.
    pub file: String,
    /// The node to fit where the file holds several.
    pub node: Option<String>,
    /// Confidence of intervals, 0 to 1.
    pub confidence: f64,
    /// How to interpret captured series.
    pub captures: Captures,
    /// How far rounding may have moved the figures of each observation; empty where they were measured.
    pub rounding: Vec<Rounding>,
}

impl Default for FitOptions {
    fn default() -> FitOptions {
        FitOptions {
            name: None,
            file: "results.json".to_owned(),
            node: None,
            confidence: 0.95,
            captures: Captures::FromStart,
            rounding: Vec::new(),
        }
    }
}

/// A fitted parameter.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Fitted {
    /// Its name in the node file.
    pub name: String,
    /// Its value in `unit`.
    pub value: f64,
    /// A unit of node files: `ns`, `ns/byte`, `%`, `us`, `descriptors`, `bit/s`.
    pub unit: String,
    /// Confidence interval; `None` where there are no more cells than parameters.
    pub interval: Option<Interval>,
    /// How far each cause of uncertainty moves it, in `unit`: half of a 95 % interval, as in the node file.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub plus_minus: BTreeMap<String, f64>,
    /// How it was found, in words.
    pub how: String,
}

/// A cell (all observations of one size and load), left out and computed from the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOutCell {
    /// Size and load.
    pub cell: String,
    /// Number of observations in it.
    pub observations: usize,
    /// The observed value, in the unit of [`LeaveOneOut::unit`].
    pub observed: f64,
    /// The prediction of the other cells; `None` where they give none.
    pub predicted: Option<f64>,
    /// Error: percent of a time, or points of CPU load.
    pub error: Option<f64>,
    /// Whether it lies further off than chance allows, and was not fitted.
    pub outlier: bool,
}

/// How well the others predict each cell that is left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeaveOneOut {
    /// What was predicted, e.g. `udp4-receive CPU load`.
    pub figure: String,
    /// Unit of observed and predicted: `ns` or `%`.
    pub unit: String,
    /// Unit of errors: `%` of a time, or `points` of CPU load.
    pub error_unit: String,
    /// Each cell.
    pub cells: Vec<LeftOutCell>,
    /// Mean size of the errors without outliers; `None` where no cell can be left out.
    pub mean_error: Option<f64>,
    /// Largest error without outliers.
    pub max_error: Option<f64>,
}

/// Sizes that follow a law of their own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeClass {
    /// What is in classes, e.g. `udp4-transmit period`.
    pub figure: String,
    /// Smallest size in it, in bytes of the layer's data (datagram, on Ethernet length).
    pub from_bytes: u32,
    /// Largest size in it.
    pub to_bytes: u32,
    /// ns for each frame; `None` where no law holds them (see the warnings).
    pub packet_ns: Option<f64>,
    /// ns for each byte.
    pub byte_ns: Option<f64>,
}

/// Observations that a fit did not use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The reason.
    pub why: String,
    /// How many observations, or figures of them.
    pub count: usize,
}

/// The result of a fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The node file's text.
    pub node_toml: String,
    /// Observations that contributed something.
    pub used_observations: usize,
    /// Observations that were left out.
    pub left_out: Vec<LeftOut>,
    /// Parameters, as in the node file.
    pub parameters: Vec<Fitted>,
    /// Errors of cells that were left out, one for each figure that was fitted.
    pub leave_one_out: Vec<LeaveOneOut>,
    /// Size classes, where one line does not fit.
    pub classes: Vec<SizeClass>,
    /// Warnings, each with its fix.
    pub warnings: Vec<Warning>,
    /// Findings and decisions, in words.
    pub notes: Vec<String>,
    /// The fast track as predicted from the stack's stages, beside its measurement.
    pub fast_track: Vec<FastTrackGain>,
}

/// Why there is no fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// Too few points for every figure.
    #[error(
        "too few points to fit: {have}. Needed is at least one of: {NEEDED}; fix: measure a matrix of sizes and loads, \
         e.g. with `wirelab measure`"
    )]
    TooFew {
        /// The available data, and the data left out.
        have: String,
    },
    /// Times of an emulation.
    #[error(
        "observation {number} is of {node}, which is emulated: its times and rates depend on the host, not on the hardware; fix: fit results of the hardware itself"
    )]
    Emulated {
        /// Its place among the results, from 1.
        number: usize,
        /// The node.
        node: String,
    },
    /// More than a fit accepts.
    #[error("{have} observations are more than the {most} of one fit; fix: split the file")]
    TooMany {
        /// Observations in the file.
        have: usize,
        /// Most that a fit accepts.
        most: usize,
    },
    /// Observations of several nodes.
    #[error("the file holds observations of several nodes ({}); fix: choose one of them", names.join(", "))]
    SeveralNodes {
        /// The first of their names.
        names: Vec<String>,
    },
    /// Fitted values that are invalid in a node file.
    #[error(
        "the fitted values are invalid in a node file: {0}; fix: look for impossible figures among the observations"
    )]
    NoNode(String),
    /// Not a confidence.
    #[error("invalid confidence {0}; fix: give one above 0 and below 1, e.g. 0.95")]
    Confidence(String),
}

/// The parameter of a fitted file that says which share of the frames is lost before they reach the node.
pub const LOST_BEFORE: &str = "lost-before";
/// Nodes of one file whose fast track is compared.
const MAX_NODES: usize = 16;
/// The least that a fit needs.
const NEEDED: &str = "3 transmit trials at maximum load that the wire does not limit (3 sizes for an interval); \
     CPU load, not shared with the tester, at 3 combinations of size and load (2 sizes and 2 loads to separate the parameters); overloaded receive trials (loss of 1 % and more) at 3 sizes; a captured series of 2 samples";

/// Fits a node file to observations.
///
/// # Errors
/// [`FitError`] where there are too few or too many points, several nodes, or impossible figures.
pub fn fit(observations: &[Observation], options: &FitOptions) -> Result<Fit, FitError> {
    if !(options.confidence > 0.0 && options.confidence < 1.0) {
        return Err(FitError::Confidence(options.confidence.to_string()));
    }
    if let Some(at) = observations.iter().position(Observation::is_emulated) {
        return Err(FitError::Emulated {
            number: at + 1,
            node: observations[at].node.name.clone(),
        });
    }
    let mut gathered = gather::gather(observations, options)?;
    let mut report = figures::Report::new(options.confidence, figures::Pool::new());
    if !options.rounding.is_empty() {
        // The scatter is known only after a first fit of everything.
        paths::fit_paths(&mut gathered.clone(), options, &mut report);
        report = figures::Report::new(options.confidence, report.scatter);
    }
    let paths = paths::fit_paths(&mut gathered, options, &mut report);
    if paths.iter().all(|w| !w.says_something()) {
        return Err(FitError::TooFew {
            have: gathered.in_words(observations.len(), &report),
        });
    }
    if gathered.not_measured > 0 {
        report.notes.push(format!(
            "{} with figures that were not measured (predicted, calibrated or published)",
            format::count(gathered.not_measured as u64, "observation")
        ));
    }
    let before = report.clone();
    let mut paths = paths;
    let mut node_toml = node_text::write(&paths, &gathered, options, &mut report);
    if parsed(&node_toml).is_err() {
        // A trial that no file can hold, such as one above the largest frame, is not named in it.
        paths.iter_mut().for_each(|path| path.trained.clear());
        report = before;
        node_toml = node_text::write(&paths, &gathered, options, &mut report);
    }
    parsed(&node_toml)?;
    Ok(Fit {
        node_toml,
        used_observations: gathered.points.len(),
        left_out: gathered.left_out(),
        parameters: report.parameters,
        leave_one_out: report.leave_one_out,
        classes: report.classes,
        warnings: report.warnings,
        fast_track: node_text::gains(&paths, &gathered, &mut report.notes),
        notes: report.notes,
    })
}

/// Fits a node file to figures as a table prints them, each observation with its rounding; also gives the file.
///
/// # Errors
/// [`FitError`], as of [`fit`].
pub fn fit_printed(
    figures: Vec<(Observation, Rounding)>,
    options: &FitOptions,
) -> Result<(Fit, NodeFile), FitError> {
    let (observations, rounding): (Vec<_>, Vec<_>) = figures.into_iter().unzip();
    let options = FitOptions {
        node: None,
        // A line over the sizes is one per point, whichever points its times lie between.
        captures: Captures::Stages,
        rounding,
        ..options.clone()
    };
    let fitted = fit(&observations, &options)?;
    let file = parsed(&fitted.node_toml)?;
    Ok((fitted, file))
}

/// The file that a fit wrote.
fn parsed(node_toml: &str) -> Result<NodeFile, FitError> {
    NodeFile::parse(node_toml, "the fitted file").map_err(|e| FitError::NoNode(e.to_string()))
}

/// The gain of a fast track past the stack, as the stages of the stack predict it and as measured, for each node that
/// has both. Empty where no stages of a stack were measured.
pub fn fast_track(observations: &[Observation]) -> Vec<FastTrackGain> {
    let staged = |o: &&Observation| {
        let mut series = o.flows.iter().flat_map(|f| &f.series);
        series.any(stage::is_stage)
    };
    let mut nodes: Vec<&str> = observations
        .iter()
        .filter(staged)
        .map(|o| o.node.name.as_str())
        .collect();
    nodes.sort_unstable();
    nodes.dedup();
    let of_node = |node: &str| {
        let options = FitOptions {
            node: Some(node.to_owned()),
            ..FitOptions::default()
        };
        fit(observations, &options).map_or_else(|_| Vec::new(), |fit| fit.fast_track)
    };
    nodes
        .into_iter()
        .take(MAX_NODES)
        .flat_map(of_node)
        .collect()
}
