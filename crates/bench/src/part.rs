//! Turns a plan into its parts, always in the same order: listed trials, searches, and the trials around the result of
//! a search.

use wirelab_trial::search::{BurstSearch, LossCurve, Search};
use wirelab_trial::{Direction, Extent, Framing, Size, Sizes, Trial};

use crate::matrix::{ExpandError, MAX_SEARCHES, MAX_TRIALS, PlannedTrial, checked, matrix_steps};
use crate::plan::{Plan, SearchKind, SearchSection, Section};

/// A part of a plan: what becomes one [`Part`](wirelab_trial::Part) of the results.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedPart {
    /// Its name; searches of one section append their size and their other distinguishing values.
    pub name: String,
    /// Its work.
    pub what: PartWork,
}

/// The work of a part.
#[derive(Clone, Debug, PartialEq)]
pub enum PartWork {
    /// Trials that are listed.
    Steps(Vec<PlannedTrial>),
    /// The rates of goals.
    Rates(Template, Search),
    /// A trial at each of these shares of the rate that the search for the same trial finds.
    Around(Template, Vec<f64>, Extent),
    /// Loss against load.
    LossCurve(Template, LossCurve),
    /// Bursts; the search for the same trial finds the throughput.
    Bursts(Template, BurstSearch),
}

/// What a search offers, except load and extent.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// The trial; its load is the highest of the search.
    pub trial: Trial,
    /// All four sizes of its frames.
    pub sizes: Sizes,
}

impl PlannedPart {
    /// Number of trials that are known in advance.
    pub fn trials(&self) -> u64 {
        match &self.what {
            PartWork::Around(_, shares, _) => shares.len() as u64,
            _ => self.steps().len() as u64,
        }
    }

    /// The listed trials; empty for a search.
    pub fn steps(&self) -> &[PlannedTrial] {
        match &self.what {
            PartWork::Steps(steps) => steps,
            _ => &[],
        }
    }
}

/// The parts of a plan in the order of its sections. `node_ports` is the default number of ports of a section.
///
/// # Errors
/// [`ExpandError`] before the first trial.
pub fn parts(plan: &Plan, node_ports: u32) -> Result<Vec<PlannedPart>, ExpandError> {
    let searches: u64 = plan.searches().map(SearchSection::searches).sum();
    match (plan.trials(), searches) {
        (0, 0) => return Err(ExpandError::Empty),
        (n, _) if n > MAX_TRIALS => return Err(ExpandError::TooMany(n)),
        (_, n) if n > MAX_SEARCHES => return Err(ExpandError::TooManySearches(n)),
        _ => {}
    }
    let mut parts = Vec::new();
    for section in &plan.sections {
        match section {
            Section::Matrix(matrix) => parts.push(PlannedPart {
                name: matrix.name.clone(),
                what: PartWork::Steps(matrix_steps(matrix, node_ports)?),
            }),
            Section::Search(search) => add_searches(&mut parts, search, node_ports.max(1))?,
        }
    }
    Ok(parts)
}

fn add_searches(
    parts: &mut Vec<PlannedPart>,
    section: &SearchSection,
    node_ports: u32,
) -> Result<(), ExpandError> {
    for framing in &section.framings {
        for direction in &section.directions {
            for size in &section.sizes {
                let (trial, sizes) = checked(Trial {
                    framing: *framing,
                    direction: *direction,
                    size: *size,
                    load: section.load,
                    extent: Extent::Frames { frames: 1 },
                    ports: section.ports.unwrap_or(node_ports),
                    ..section.shared.clone()
                })?;
                let name = search_name(section, *framing, *direction, *size);
                add_search(parts, name, Template { trial, sizes }, &section.kind);
            }
        }
    }
    Ok(())
}

fn add_search(parts: &mut Vec<PlannedPart>, name: String, template: Template, kind: &SearchKind) {
    let mut add = |name: String, what| parts.push(PlannedPart { name, what });
    match kind {
        SearchKind::Rates { search, around } => {
            // As long as a full trial, so that their rates are comparable.
            let longest = search.goals.iter().map(|goal| goal.final_trial_ps).max();
            let extent = Extent::Time {
                time_ps: longest.unwrap_or(0),
            };
            add(
                name.clone(),
                PartWork::Rates(template.clone(), search.clone()),
            );
            if !around.is_empty() {
                let what = PartWork::Around(template, around.clone(), extent);
                add(format!("{name}, around"), what);
            }
        }
        SearchKind::LossCurve(curve) => add(name, PartWork::LossCurve(template, curve.clone())),
        SearchKind::Bursts { bursts, throughput } => {
            if !parts.iter().any(|part| finds_throughput(part, &template)) {
                parts.push(PlannedPart {
                    name: format!("{name}, throughput"),
                    what: PartWork::Rates(template.clone(), throughput.clone()),
                });
            }
            parts.push(PlannedPart {
                name,
                what: PartWork::Bursts(template, bursts.clone()),
            });
        }
    }
}

/// Whether a part finds the throughput without loss for such trials.
fn finds_throughput(part: &PlannedPart, template: &Template) -> bool {
    matches!(&part.what, PartWork::Rates(of, search)
        if of == template && search.goals.iter().any(|goal| goal.loss_ratio == 0.0))
}

/// The section's name with what distinguishes its searches.
fn search_name(
    section: &SearchSection,
    framing: Framing,
    direction: Direction,
    size: Size,
) -> String {
    let mut name = section.name.clone();
    if section.framings.len() > 1 {
        name.push_str(&format!(", {}", framing.layer.word()));
        if framing.vlan_tags > 0 {
            name.push_str(&format!(" with {} VLAN tags", framing.vlan_tags));
        }
    }
    if section.directions.len() > 1 {
        name.push_str(&format!(", {direction}"));
    }
    if section.sizes.len() > 1 {
        name.push_str(&format!(", {} {}", size.unit.name(), size.bytes));
    }
    name
}
