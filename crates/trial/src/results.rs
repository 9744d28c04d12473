//! The results file: versioned JSON of these types; `spec/results.schema.json` is generated from them.

use serde::{Deserialize, Serialize};

use crate::console::ConsoleLog;
use crate::field::Field;
use crate::measuring::Measuring;
use crate::observation::Observation;
use crate::search::{BurstResult, CurveResult, SearchResult};

/// The word that identifies a results file.
pub const FORMAT: &str = "wirelab-results";
/// Version of the format. Version 1 had all lists in the text; a reader takes both, and refuses others.
pub const VERSION: u32 = 2;

/// The host the tester ran on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Environment {
    /// Operating system and kernel release.
    pub kernel: Field<String>,
    /// CPU model.
    pub cpu: Field<String>,
    /// Processors the tester may use.
    pub cpus: Field<u32>,
    /// Memory in bytes.
    pub memory_bytes: Field<u64>,
    /// Whether the host is a virtual machine.
    pub virtual_machine: Field<bool>,
}

/// A part of a plan: consecutive observations, and the result of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Part {
    /// Its name in the plan, e.g. `UDP RX, datagram 64`.
    pub name: String,
    /// Index of its first observation in the file, from 0.
    pub first: u64,
    /// How many observations it has.
    pub observations: u64,
    /// The result of a search; `None` for listed trials, and while the search runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<SearchOutcome>,
    /// Why a search could not begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl Part {
    /// Its observations in the file; fewer than it claims where the file has fewer.
    pub fn of<'a>(&self, all: &'a [Observation]) -> &'a [Observation] {
        let place = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).min(all.len());
        &all[place(self.first)..place(self.first.saturating_add(self.observations))]
    }
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SearchOutcome {
    /// The rates of its goals.
    Rates(SearchResult),
    /// The loss against the load.
    LossCurve(CurveResult),
    /// The longest bursts without loss.
    Bursts(BurstResult),
}

/// A results file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ResultsFile {
    /// [`FORMAT`].
    #[cfg_attr(test, schemars(extend("const" = FORMAT)))]
    pub format: String,
    /// [`VERSION`].
    #[cfg_attr(test, schemars(extend("const" = VERSION)))]
    pub version: u32,
    /// Version of wirelab that wrote it.
    pub wirelab_version: String,
    /// The command that made it.
    pub command: Vec<String>,
    /// When it was begun, ns since 1970.
    pub created_unix_ns: u64,
    /// The tester's host.
    pub environment: Environment,
    /// Whether the run ended before its plan was done.
    pub interrupted: bool,
    /// The observation of each trial, in order.
    pub observations: Vec<Observation>,
    /// The begun parts of the plan, in order; empty for a file without a plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The cost of measuring stages, where stages were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measuring: Option<Measuring>,
    /// What went over the consoles of boards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consoles: Vec<ConsoleLog>,
    /// The long lists of a written file, in the order of its text, which has the number of their rows in their places; empty
    /// for a file in memory. Each is base64 of a byte w and a zlib stream: of the lowest byte of each number, then the
    /// next byte of each, w times. The numbers are samples; of a histogram, the steps between its values and then their
    /// counts. Where w is 16 more, they are differences to the samples before, with the sign in the lowest bit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<String>,
}

impl ResultsFile {
    /// A file without trials, begun at `created_unix_ns` by `command` of this version on this host.
    pub fn new(
        wirelab_version: &str,
        command: Vec<String>,
        created_unix_ns: u64,
        environment: Environment,
    ) -> ResultsFile {
        ResultsFile {
            format: FORMAT.to_owned(),
            version: VERSION,
            wirelab_version: wirelab_version.to_owned(),
            command,
            created_unix_ns,
            environment,
            interrupted: false,
            observations: Vec::new(),
            parts: Vec::new(),
            measuring: None,
            consoles: Vec::new(),
            samples: Vec::new(),
        }
    }

    /// The file without its observations and their long lists.
    pub fn without_trials(&self) -> ResultsFile {
        ResultsFile {
            format: self.format.clone(),
            version: self.version,
            interrupted: self.interrupted,
            parts: self.parts.clone(),
            measuring: self.measuring.clone(),
            consoles: self.consoles.clone(),
            ..ResultsFile::new(
                &self.wirelab_version,
                self.command.clone(),
                self.created_unix_ns,
                self.environment.clone(),
            )
        }
    }

    /// Appends the observations and parts of another file.
    pub fn append(&mut self, other: ResultsFile) {
        let before = self.observations.len() as u64;
        self.interrupted |= other.interrupted;
        self.observations.extend(other.observations);
        self.parts.extend(other.parts.into_iter().map(|part| Part {
            first: part.first.saturating_add(before),
            ..part
        }));
        self.consoles.extend(other.consoles);
        if let Some(more) = other.measuring {
            self.measuring.get_or_insert_default().append(more);
        }
    }
}
