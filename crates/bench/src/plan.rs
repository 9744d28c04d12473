//! A plan: what to ask of a node, as matrices of sizes, loads, directions, ports, buffers and framings, and searches.
//!
//! The file is TOML; `docs/plans.md` is its manual. `reader.rs` reads it.

use wirelab_config::trial::DEFAULT_TIME_PS;
use wirelab_trial::search::{BurstSearch, LossCurve, Search};
use wirelab_trial::{
    Background, Buffers, Direction, Extent, Framing, Load, Path as NodePath, Probes, Size,
    SizeUnit, Trial, Wait,
};
use wirelab_wire::size::MIN_FRAME;

/// A plan: matrices of trials, and searches, in the order in which they are run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What it is about.
    pub title: Option<String>,
    /// The node that it was written for, as on the command line; the command line may name another.
    pub node: Option<String>,
    /// Whether it fills a datasheet: losses and unsupported trials are then figures and not failures.
    pub datasheet: bool,
    /// Its sections, in the order of the file.
    pub sections: Vec<Section>,
}

/// A section of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Section {
    /// Trials that are listed.
    Matrix(Matrix),
    /// Trials that depend on the results of earlier ones.
    Search(SearchSection),
}

impl Section {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Section::Matrix(matrix) => &matrix.name,
            Section::Search(search) => &search.name,
        }
    }
}

/// Searches: one for every combination of its lists.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchSection {
    /// Its name, different from that of all others in the plan.
    pub name: String,
    /// Layers and tags.
    pub framings: Vec<Framing>,
    /// Sizes.
    pub sizes: Vec<Size>,
    /// Directions, as the node sees them.
    pub directions: Vec<Direction>,
    /// Number of ports in use at once; `None` for all that the node has.
    pub ports: Option<u32>,
    /// The highest load; `max`: as much as the link and the tester allow.
    pub load: Load,
    /// What all trials have alike; lists, ports, load and extent are not its own.
    pub shared: Trial,
    /// What is searched.
    pub kind: SearchKind,
}

impl SearchSection {
    /// Searches of one direction on all ports of the node, up to the limits of link and tester.
    pub fn new(name: impl Into<String>, sizes: Vec<Size>, kind: SearchKind) -> SearchSection {
        SearchSection {
            name: name.into(),
            framings: vec![Framing::default()],
            sizes,
            directions: vec![Direction::Receive],
            ports: None,
            load: Load::Max,
            shared: shared(),
            kind,
        }
    }

    /// Number of searches, at most `u64::MAX`.
    pub fn searches(&self) -> u64 {
        let lists = [self.framings.len(), self.sizes.len(), self.directions.len()];
        lists
            .into_iter()
            .fold(1, |n, list| n.saturating_mul(list as u64))
    }
}

/// What a search looks for.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchKind {
    /// The rates of goals (RFC 9971).
    Rates {
        /// Goals and limits.
        search: Search,
        /// Shares, 1 being all, of the rate that was found, at each of which one more trial is run. Of several
        /// goals the rate is that of the one which allows most loss.
        around: Vec<f64>,
    },
    /// Loss against load (RFC 2544, 26.3).
    LossCurve(LossCurve),
    /// Bursts at line rate without loss (RFC 9004).
    Bursts {
        /// How they are searched.
        bursts: BurstSearch,
        /// How the throughput that they rest on is searched, where no section before has found it.
        throughput: Search,
    },
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
    /// What all trials have alike: when they end, and each field that has no list here.
    pub shared: Trial,
    /// Ways through the node; `None` leaves the choice to it.
    pub paths: Vec<Option<NodePath>>,
    /// How the node's application waits; `None` leaves the choice to it.
    pub waits: Vec<Option<Wait>>,
    /// Background traffic to the node; `None` for none.
    pub backgrounds: Vec<Option<Background>>,
    /// What takes the times at the node's capture points; `None` leaves the choice to it.
    pub probes: Vec<Option<Probes>>,
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
            shared: shared(),
            paths: vec![None],
            waits: vec![None],
            backgrounds: vec![None],
            probes: vec![None],
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
            self.paths.len(),
            self.waits.len(),
            self.backgrounds.len(),
            self.probes.len(),
        ]
        .into_iter()
        .fold(u64::from(self.repeats), |product, n| {
            product.saturating_mul(n as u64)
        })
    }
}

/// A trial of the usual length that asks nothing else; what is listed takes the place of its size, load and direction.
fn shared() -> Trial {
    let size = Size::new(SizeUnit::Frame, MIN_FRAME);
    let extent = Extent::Time {
        time_ps: DEFAULT_TIME_PS,
    };
    Trial::new(
        Framing::default(),
        Direction::Transmit,
        size,
        Load::Max,
        extent,
    )
}

impl Plan {
    /// Number of trials that are listed, with all repeats, at most `u64::MAX`; those of searches are not known before.
    pub fn trials(&self) -> u64 {
        self.matrices()
            .fold(0, |sum, m| sum.saturating_add(m.trials()))
    }

    /// A plan of one section.
    pub fn of(section: Section) -> Plan {
        Plan {
            sections: vec![section],
            ..Plan::default()
        }
    }

    /// Its matrices, in order.
    pub fn matrices(&self) -> impl Iterator<Item = &Matrix> {
        self.sections.iter().filter_map(|section| match section {
            Section::Matrix(matrix) => Some(matrix),
            Section::Search(_) => None,
        })
    }

    /// Its searches, in order.
    pub fn searches(&self) -> impl Iterator<Item = &SearchSection> {
        self.sections.iter().filter_map(|section| match section {
            Section::Matrix(_) => None,
            Section::Search(search) => Some(search),
        })
    }
}
