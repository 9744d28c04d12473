//! Turns a plan into its trials, always in the same order.

use wirelab_trial::{Extent, LoadError, Sizes, Trial};
use wirelab_wire::{LineRate, SizeError};

use crate::plan::{Matrix, Plan};

/// Most trials of one plan, including repeats.
pub const MAX_TRIALS: u64 = 10_000;
/// Most searches of one plan.
pub const MAX_SEARCHES: u64 = 1_000;
/// Assumed duration of a trial where nothing determines it: a number of frames at a rate that only the node knows.
pub const UNKNOWN_PS: u64 = 1_000_000_000_000;

/// One trial to run.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedTrial {
    /// Name of its matrix.
    pub matrix: String,
    /// Number of the repeat, counted from 1.
    pub repeat: u32,
    /// Length of the unrecorded trial before it, in ps; 0 for none.
    pub warmup_ps: u64,
    /// The trial.
    pub trial: Trial,
    /// All four sizes of its frames.
    pub sizes: Sizes,
}

impl PlannedTrial {
    /// The step of an observation without a plan; `at` is its index in the part, from 0.
    pub(crate) fn of(
        part: &str,
        at: usize,
        observation: &wirelab_trial::Observation,
    ) -> PlannedTrial {
        PlannedTrial {
            matrix: part.to_owned(),
            repeat: u32::try_from(at).map_or(u32::MAX, |at| at.saturating_add(1)),
            warmup_ps: 0,
            trial: observation.trial.clone(),
            sizes: observation.sizes,
        }
    }
}

/// Why a plan has no possible trials.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExpandError {
    /// Nothing to do.
    #[error("the plan has no trial; fix: give each of its lists at least one entry")]
    Empty,
    /// More than [`MAX_TRIALS`].
    #[error(
        "the plan has {0} trials, and the maximum is {MAX_TRIALS}; fix: shorten the lists or split the plan"
    )]
    TooMany(u64),
    /// More than [`MAX_SEARCHES`].
    #[error(
        "the plan has {0} searches, and the maximum is {MAX_SEARCHES}; fix: shorten the lists or split the plan"
    )]
    TooManySearches(u64),
    /// A size that a test frame cannot have.
    #[error("{0}")]
    Size(#[from] SizeError),
    /// A load above the given link rate.
    #[error("{0}")]
    Load(#[from] LoadError),
}

/// All listed trials of a plan, without its searches, in order: matrix by matrix. In each the repeats are outermost, so
/// that drift of the host affects all trials alike; then framing, direction, ports, buffers, load, size, background,
/// wait, probes and path.
///
/// `node_ports` is the default number of ports of a matrix.
///
/// # Errors
/// [`ExpandError`] before the first trial.
pub fn expand(plan: &Plan, node_ports: u32) -> Result<Vec<PlannedTrial>, ExpandError> {
    match plan.trials() {
        0 => return Err(ExpandError::Empty),
        n if n > MAX_TRIALS => return Err(ExpandError::TooMany(n)),
        _ => {}
    }
    let mut steps = Vec::new();
    for matrix in plan.matrices() {
        steps.extend(matrix_steps(matrix, node_ports)?);
    }
    Ok(steps)
}

/// All trials of a matrix in order.
pub(crate) fn matrix_steps(
    matrix: &Matrix,
    node_ports: u32,
) -> Result<Vec<PlannedTrial>, ExpandError> {
    let once = trials(matrix, node_ports.max(1))?;
    let step = |repeat: u32, (trial, sizes): &(Trial, Sizes)| PlannedTrial {
        matrix: matrix.name.clone(),
        repeat,
        warmup_ps: matrix.warmup_ps,
        trial: trial.clone(),
        sizes: *sizes,
    };
    let repeats = (1..=matrix.repeats).flat_map(|n| once.iter().map(move |one| step(n, one)));
    Ok(repeats.collect())
}

/// The trials of a matrix, without repeats.
fn trials(matrix: &Matrix, node_ports: u32) -> Result<Vec<(Trial, Sizes)>, ExpandError> {
    let all_ports = [node_ports];
    let ports = if matrix.ports.is_empty() {
        &all_ports[..]
    } else {
        &matrix.ports
    };
    let mut trials = Vec::new();
    for framing in &matrix.framings {
        for direction in &matrix.directions {
            for ports in ports {
                for buffers in &matrix.buffers {
                    for load in &matrix.loads {
                        for size in &matrix.sizes {
                            let trial = Trial {
                                framing: *framing,
                                direction: *direction,
                                size: *size,
                                load: *load,
                                ports: *ports,
                                buffers: *buffers,
                                ..matrix.shared.clone()
                            };
                            trials.extend(on_all_paths(matrix, &trial));
                        }
                    }
                }
            }
        }
    }
    trials.into_iter().map(checked).collect()
}

/// A trial on every path that the matrix lists. Kernel paths are innermost, because they are compared.
fn on_all_paths(matrix: &Matrix, trial: &Trial) -> Vec<Trial> {
    let mut trials = Vec::new();
    for background in &matrix.backgrounds {
        for wait in &matrix.waits {
            for probes in &matrix.probes {
                trials.extend(matrix.paths.iter().map(|path| Trial {
                    path: *path,
                    wait: *wait,
                    background: *background,
                    probes: *probes,
                    ..trial.clone()
                }));
            }
        }
    }
    trials
}

pub(crate) fn checked(trial: Trial) -> Result<(Trial, Sizes), ExpandError> {
    let sizes = trial.sizes()?;
    if let Some(link) = trial.link() {
        trial
            .load
            .frames_per_s(&sizes, trial.framing.layer, Some(link))?;
    }
    Ok((trial, sizes))
}

/// The duration of a trial, in ps; `None` where only the node knows how fast its frames are. `node_link` is the link
/// rate of the node, for a trial without one.
pub fn trial_estimate_ps(trial: &Trial, node_link: Option<LineRate>) -> Option<u64> {
    let frames = match trial.extent {
        Extent::Time { time_ps } => return Some(time_ps),
        Extent::Frames { frames } => frames,
    };
    let sizes = trial.sizes().ok()?;
    let link = trial.link().or(node_link);
    let offered = trial
        .load
        .frames_per_s(&sizes, trial.framing.layer, link)
        .ok()?;
    let rate = offered.or_else(|| link.map(|l| l.frames_per_s(&sizes)))?;
    // A cast from f64 saturates, so a rate near 0 gives the longest possible time.
    (rate > 0.0).then(|| (frames as f64 / rate * 1e12) as u64)
}
