//! A plan: what to ask of a node, as matrices of sizes, loads, directions, ports, buffers and framings.
//!
//! The file is TOML; `docs/plans.md` is its manual. How values are read is in `reader.rs`.

use std::path::{Path, PathBuf};

use wirelab_config::trial::DEFAULT_TIME_PS;
use wirelab_config::{FileError, read_text};
use wirelab_trial::{Buffers, Direction, Extent, FaultRates, Framing, Load, Size};

use crate::reader;

/// Longest plan file that is read, in bytes.
pub const MAX_PLAN_BYTES: u64 = 256 * 1024;
/// What errors call a plan.
const KIND: &str = "a plan";

/// A plan: matrices of trials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What it is about.
    pub title: Option<String>,
    /// The node it was written for, as on the command line, which may name another.
    pub node: Option<String>,
    /// The matrices, in order.
    pub matrices: Vec<Matrix>,
}

/// One matrix: a trial for every combination of its lists.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Its name, different from that of all others in the plan.
    pub name: String,
    /// Layers and tags.
    pub framings: Vec<Framing>,
    /// Sizes.
    pub sizes: Vec<Size>,
    /// Loads.
    pub loads: Vec<Load>,
    /// Directions, as the node sees them.
    pub directions: Vec<Direction>,
    /// Numbers of ports in use at once; empty for all that the node has.
    pub ports: Vec<u32>,
    /// Kinds of buffers; `None` leaves the choice to the node.
    pub buffers: Vec<Option<Buffers>>,
    /// When each trial ends.
    pub extent: Extent,
    /// Link rate in bit/s, where the user gave one.
    pub link_bits_per_s: Option<u64>,
    /// Faults made by the sender.
    pub faults: FaultRates,
    /// Length of an unrecorded trial before each recorded one, in ps; 0 for none.
    pub warmup_ps: u64,
    /// How often each trial is run.
    pub repeats: u32,
}

impl Matrix {
    /// A matrix of the defaults: Ethernet, maximum load, the node transmits on all its ports for a second, once.
    pub fn new(name: impl Into<String>, sizes: Vec<Size>) -> Matrix {
        Matrix {
            name: name.into(),
            framings: vec![Framing::default()],
            sizes,
            loads: vec![Load::Max],
            directions: vec![Direction::Transmit],
            ports: Vec::new(),
            buffers: vec![None],
            extent: Extent::Time {
                time_ps: DEFAULT_TIME_PS,
            },
            link_bits_per_s: None,
            faults: FaultRates::default(),
            warmup_ps: 0,
            repeats: 1,
        }
    }

    /// Number of trials with all repeats, at most `u64::MAX`.
    pub fn trials(&self) -> u64 {
        [
            self.framings.len(),
            self.sizes.len(),
            self.loads.len(),
            self.directions.len(),
            self.ports.len().max(1),
            self.buffers.len(),
        ]
        .into_iter()
        .fold(u64::from(self.repeats), |product, n| {
            product.saturating_mul(n as u64)
        })
    }
}

impl Plan {
    /// Number of trials with all repeats, at most `u64::MAX`.
    pub fn trials(&self) -> u64 {
        self.matrices
            .iter()
            .fold(0, |sum, m| sum.saturating_add(m.trials()))
    }

    /// Read a plan's text. `file` is the name that errors give.
    ///
    /// # Errors
    /// [`FileError`] names the file, line, column and field, what is wrong, and what to write instead.
    pub fn parse(text: &str, file: &str) -> Result<Plan, FileError> {
        if text.len() as u64 > MAX_PLAN_BYTES {
            return Err(FileError::TooLong {
                file: PathBuf::from(file),
                kind: KIND,
                limit_bytes: MAX_PLAN_BYTES,
            });
        }
        reader::plan(text, file)
    }

    /// Read a plan file.
    ///
    /// # Errors
    /// [`FileError`], as [`Plan::parse`], and where the file cannot be read.
    pub fn load(path: &Path) -> Result<Plan, FileError> {
        let text = read_text(path, KIND, MAX_PLAN_BYTES)?;
        Plan::parse(&text, &path.display().to_string())
    }
}

/// Entry for fuzzing: hostile bytes read as a plan; what is accepted must expand.
///
/// # Panics
/// If a plan was accepted that cannot be expanded, or an error names a place outside of the text.
pub fn fuzz_plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Plan::parse(text, "fuzz.toml") {
        Ok(plan) => {
            let steps = crate::expand(&plan, 4).expect("an accepted plan expands");
            assert_eq!(steps.len() as u64, plan.trials());
            let _ = crate::estimate_ps(&steps, None);
        }
        Err(FileError::At { line, column, .. }) => {
            assert!(line >= 1 && line <= text.split('\n').count());
            assert!(column >= 1 && column <= text.chars().count() + 1);
        }
        Err(_) => assert!(text.len() as u64 > MAX_PLAN_BYTES),
    }
}
