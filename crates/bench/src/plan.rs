//! A plan: the trials for a node, as matrices of sizes, loads, directions, ports, buffers and framings, and searches.
//!
//! The file is TOML; `docs/plans.md` is its manual. `reader.rs` reads it.

use wirelab_config::trial::DEFAULT_TIME_PS;
use wirelab_trial::search::{BurstSearch, LossCurve, Search};
use wirelab_trial::{
    Background, Buffers, Direction, Extent, Framing, Load, Path as NodePath, Probes, Size,
    SizeUnit, Trial, Wait,
};
use wirelab_wire::size::MIN_FRAME;

/// A plan: matrices of trials, and searches, in the order of execution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Its title.
    pub title: Option<String>,
    /// The node of the plan, as on the command line, which may name another.
    pub node: Option<String>,
    /// Whether it fills a datasheet: losses and unsupported trials are then results and not failures.
    pub datasheet: bool,
    /// Its sections, in the order of the file.
    pub sections: Vec<Section>,
}

/// A section of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Section {
    /// Listed trials.
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
    /// Its name, unique in the plan.
    pub name: String,
    /// Layers and tags.
    pub framings: Vec<Framing>,
    /// Sizes.
    pub sizes: Vec<Size>,
    /// Directions, as the node sees them.
    pub directions: Vec<Direction>,
    /// Number of ports in use at once; `None` for all of the node.
    pub ports: Option<u32>,
    /// The highest load; `max`: as much as the link and the tester allow.
    pub load: Load,
    /// The common fields of all trials; lists, ports, load and extent have separate fields.
    pub shared: Trial,
    /// The goal of the search.
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
        /// The search parameters.
        search: Search,
        /// Shares (1 is all) of the rate that was found; each adds one trial. With several goals the rate is that of
        /// the goal with the largest allowed loss.
        around: Vec<f64>,
    },
    /// Loss against load (RFC 2544, 26.3).
    LossCurve(LossCurve),
    /// Bursts at line rate without loss (RFC 9004).
    Bursts {
        /// The search for the burst length.
        bursts: BurstSearch,
        /// The search for the throughput that bursts need, where no earlier section finds it.
        throughput: Search,
    },
}

/// One matrix: a trial for every combination of its lists.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Its name, unique in the plan.
    pub name: String,
    /// Layers and tags.
    pub framings: Vec<Framing>,
    /// Sizes.
    pub sizes: Vec<Size>,
    /// Loads.
    pub loads: Vec<Load>,
    /// Directions, as the node sees them.
    pub directions: Vec<Direction>,
    /// Numbers of ports in use at once; empty for all of the node.
    pub ports: Vec<u32>,
    /// Kinds of buffers; `None` leaves the choice to the node.
    pub buffers: Vec<Option<Buffers>>,
    /// The common fields of all trials: their extent, and each field without a list here.
    pub shared: Trial,
    /// Paths through the node; `None` leaves the choice to it.
    pub paths: Vec<Option<NodePath>>,
    /// How the node's application waits; `None` leaves the choice to it.
    pub waits: Vec<Option<Wait>>,
    /// Background traffic to the node; `None` for none.
    pub backgrounds: Vec<Option<Background>>,
    /// The probes at the node's capture points; `None` leaves the choice to it.
    pub probes: Vec<Option<Probes>>,
    /// Length of an unrecorded trial before each recorded one, in ps; 0 for none.
    pub warmup_ps: u64,
    /// How often each trial is run.
    pub repeats: u32,
}

impl Matrix {
    /// A matrix with default values: Ethernet, maximum load, the node transmits on all its ports for a second, once.
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

    /// The first field with another value than the default that no search has: searches use the node's default path.
    pub(crate) fn beyond_a_search(&self) -> Option<&'static str> {
        let fields = [
            ("inject", self.shared.faults.is_clean()),
            ("buffers", self.buffers == [None]),
            ("repeat", self.repeats == 1),
            ("path", self.paths == [None]),
            ("wait", self.waits == [None]),
            ("rule", self.shared.rule.is_none()),
            ("background", self.backgrounds == [None]),
            ("probes", self.probes == [None]),
        ];
        let given = fields.into_iter().find(|(_, is_default)| !is_default);
        given.map(|(field, _)| field)
    }

    /// Number of trials including repeats, at most `u64::MAX`.
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

/// A trial of the default length; lists replace its size, load and direction.
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
    /// Number of listed trials including repeats, at most `u64::MAX`. The trials of searches are not known in advance.
    pub fn trials(&self) -> u64 {
        self.matrices()
            .fold(0, |sum, m| sum.saturating_add(m.trials()))
    }

    /// Whether all its trials are echoes.
    pub fn is_of_echoes(&self) -> bool {
        let matrices = self.matrices().map(|m| &m.directions);
        let searches = self.searches().map(|s| &s.directions);
        let mut directions = matrices.chain(searches).flatten().peekable();
        directions.peek().is_some() && directions.all(|direction| *direction == Direction::Echo)
    }

    /// Whether all its trials are of buffers.
    pub fn is_of_buffers(&self) -> bool {
        let of_buffers = |section: &Section| match section {
            Section::Matrix(matrix) => {
                !matrix.buffers.is_empty() && matrix.buffers.iter().all(Option::is_some)
            }
            Section::Search(_) => false,
        };
        self.sections.iter().all(of_buffers)
    }

    /// The largest payload of its trials in bytes, 0 without any.
    pub fn largest_payload(&self) -> u32 {
        let matrices = self.matrices().map(|m| (&m.framings, &m.sizes));
        let searches = self.searches().map(|s| (&s.framings, &s.sizes));
        let sizes = matrices.chain(searches).flat_map(|(framings, sizes)| {
            let each = framings
                .iter()
                .flat_map(|f| sizes.iter().map(|s| s.resolve_test(*f)));
            each.filter_map(Result::ok)
        });
        sizes.map(|s| s.payload).max().unwrap_or(0)
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
