//! What counts as failed: one judgement of a run, from which the exit status, JUnit, the sentence at the end, CSV and
//! the HTML page take theirs, so that they cannot differ. `docs/exit-status.md` has its table.

use wirelab_trial::search::SearchEnded;
use wirelab_trial::{
    Field, FlowObservation, Kind, Observation, Part, ResultsFile, SearchOutcome, Status,
    WarningCode,
};
use wirelab_wire::Layer;

use crate::datasheet::is_datasheet;
use crate::finding::{self, reported_loss, unsupported};
use crate::format::frame_rate;
use crate::row;
use crate::search;

/// The judgement of a trial, a search or a whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It passed.
    Passed,
    /// It failed: in what, and the reasons, the most important first.
    Failed(Failed, Vec<String>),
    /// It says nothing of the node, and nothing failed.
    Skipped(String),
}

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// Frames: lost, bad, or with faults that were not those injected.
    Frames,
    /// A trial ended early.
    Partial,
    /// A trial whose figures must not be used.
    Void,
    /// The requested figure is missing.
    Nothing,
    /// A search.
    Search,
    /// The run ended before its plan was done.
    Interrupted,
    /// A stage grew beyond a limit.
    Stage,
    /// A figure became worse.
    Worse,
}

impl Failed {
    /// The word for scripts.
    pub const fn word(self) -> &'static str {
        match self {
            Failed::Frames => "frames",
            Failed::Partial => "partial",
            Failed::Void => "void",
            Failed::Nothing => "nothing",
            Failed::Search => "search",
            Failed::Interrupted => "interrupted",
            Failed::Stage => "stage",
            Failed::Worse => "worse",
        }
    }
}

impl End {
    /// Whether it failed.
    pub const fn is_failed(&self) -> bool {
        matches!(self, End::Failed(..))
    }
}

/// What a goal belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalClass {
    /// A search.
    Search,
    /// The whole run.
    Run,
}

impl GoalClass {
    /// Its word in JUnit.
    pub const fn word(self) -> &'static str {
        match self {
            GoalClass::Search => "search",
            GoalClass::Run => "run",
        }
    }
}

/// A goal of a search, a search as a whole, or the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// Whether it is of a search or of the whole run.
    pub class: GoalClass,
    /// The goal in words.
    pub name: String,
    /// The result, if there is one.
    pub said: Option<String>,
    /// Its judgement.
    pub end: End,
}

/// The judgement of a results file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Each trial, in the file's order.
    pub trials: Vec<End>,
    /// Each goal of each search, and the plan if it was not finished or had no trial.
    pub goals: Vec<Goal>,
}

impl Judgement {
    /// Whether the command ends with 0: something was requested, and nothing of it failed.
    pub fn passed(&self) -> bool {
        let goals = self.goals.iter().map(|goal| &goal.end);
        let mut all = self.trials.iter().chain(goals);
        all.all(|end| !end.is_failed())
    }
}

/// What a trial must show to pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expectation {
    /// No loss.
    Clean,
    /// Nothing about loss: a search tries loads at which the node loses.
    Search,
    /// Figures of a page; loss is one of them.
    Figures,
}

/// Judge a run by its results.
pub fn judge(file: &ResultsFile) -> Judgement {
    let (searched, sheet) = (row::searched(file), is_datasheet(file));
    let each = file.observations.iter().enumerate();
    let trials = each.map(|(at, o)| {
        let expected = match (searched[at], sheet) {
            (true, _) => Expectation::Search,
            (false, true) => Expectation::Figures,
            (false, false) => Expectation::Clean,
        };
        trial(at + 1, o, expected)
    });
    let mut goals: Vec<Goal> = Vec::new();
    for part in &file.parts {
        goals_of(part, sheet, &mut goals);
    }
    if file.observations.is_empty() && goals.is_empty() {
        goals.push(Goal {
            class: GoalClass::Run,
            name: "something was requested".to_owned(),
            said: None,
            end: failed(Failed::Nothing, "no trial was run"),
        });
    }
    if file.interrupted {
        goals.push(Goal {
            class: GoalClass::Run,
            name: "the plan was finished".to_owned(),
            said: None,
            end: failed(
                Failed::Interrupted,
                "the run was ended before its plan was done",
            ),
        });
    }
    Judgement {
        trials: trials.collect(),
        goals,
    }
}

fn failed(what: Failed, why: impl Into<String>) -> End {
    End::Failed(what, vec![why.into()])
}

fn trial(number: usize, o: &Observation, expected: Expectation) -> End {
    if let Status::Void { why } = &o.status {
        let of_node = o.warned(WarningCode::NODE_FAILED);
        match expected {
            Expectation::Figures | Expectation::Search if unsupported(o) => {
                return End::Skipped(why.clone());
            }
            // The search repeated the request, or says itself that it is not available.
            Expectation::Search if !of_node => return End::Skipped(why.clone()),
            _ => {}
        }
    }
    let complete = o.status == Status::Complete;
    if complete && !o.trial.faults.is_clean() {
        return injected(o);
    }
    let found = match expected {
        Expectation::Clean if complete && o.passed() && !tells_loss(o) => Vec::new(),
        Expectation::Clean => finding::findings(number, o),
        Expectation::Search | Expectation::Figures => finding::beyond_loss(number, o),
    };
    let reasons: Vec<String> = found.into_iter().map(|finding| finding.text).collect();
    match (&o.status, reasons.is_empty()) {
        (Status::Complete, true) => missing(o, expected),
        (Status::Complete, false) => End::Failed(Failed::Frames, reasons),
        (Status::Partial { .. }, _) => End::Failed(Failed::Partial, reasons),
        (Status::Void { .. }, _) => End::Failed(Failed::Void, reasons),
    }
}

fn tells_loss(o: &Observation) -> bool {
    o.flows.iter().any(|flow| reported_loss(flow).is_some())
}

/// Faults that were requested must be found exactly.
fn injected(o: &Observation) -> End {
    let differs = |flow: &FlowObservation| {
        let ledger = flow.sender.value().and_then(|sender| sender.ledger);
        match (ledger, flow.counts.value()) {
            (Some(ledger), Some(counts)) => !ledger.differences(counts).is_empty(),
            _ => true,
        }
    };
    match o.flows.iter().find(|flow| differs(flow)) {
        None => End::Passed,
        Some(flow) => failed(
            Failed::Frames,
            format!(
                "{}: the faults that were injected were not found exactly",
                finding::name(flow)
            ),
        ),
    }
}

/// A trial without a fault, whose requested figure may be missing.
fn missing(o: &Observation, expected: Expectation) -> End {
    let measured = |kind: Option<Kind>| !matches!(kind, Some(Kind::Predicted | Kind::Calibrated));
    let by_series = !o.series.is_empty() || o.flows.iter().any(|f| !f.series.is_empty());
    if expected == Expectation::Search || by_series {
        return End::Passed;
    }
    if o.flows.is_empty() && o.counters.is_empty() {
        return failed(
            Failed::Nothing,
            "nothing was measured: the node reported no flow",
        );
    }
    for flow in o.flows.iter().filter(|flow| flow.counts.value().is_none()) {
        let rate = [&flow.frames_per_s, &flow.goodput_bits_per_s]
            .into_iter()
            .find(|rate| rate.value().is_some());
        let (None, name) = (flow.loss_ratio.value(), finding::name(flow)) else {
            continue;
        };
        let counted = flow.counters.values().any(|value| value.value().is_some());
        if rate.is_none() && !(counted && o.trial.framing.layer == Layer::Ethernet) {
            let why = reason(&flow.frames_per_s);
            return failed(
                Failed::Nothing,
                format!("{name}: nothing was measured: {why}"),
            );
        }
        let of_udp = matches!(o.trial.framing.layer, Layer::UdpIpv4 | Layer::UdpIpv6);
        if of_udp && expected == Expectation::Clean && measured(rate.and_then(Field::kind)) {
            let why = reason(&flow.loss_ratio);
            return failed(
                Failed::Nothing,
                format!("{name}: the loss is not available: {why}"),
            );
        }
    }
    End::Passed
}

fn reason<T>(field: &Field<T>) -> &str {
    match field {
        Field::Observed { .. } => "",
        Field::Absent { absent } => absent,
    }
}

fn goals_of(part: &Part, sheet: bool, goals: &mut Vec<Goal>) {
    let mut push = |name: String, said: Option<String>, end: End| {
        goals.push(Goal {
            class: GoalClass::Search,
            name,
            said,
            end,
        });
    };
    if let Some(why) = &part.refused {
        let end = match sheet {
            true => End::Skipped(why.clone()),
            false => failed(Failed::Search, format!("it could not begin: {why}")),
        };
        push(part.name.clone(), None, end);
    }
    let Some(found) = &part.found else { return };
    let ended = search::ended(found);
    let end = |why: Option<String>| match (why, ended) {
        (None, _) => End::Passed,
        (Some(_), SearchEnded::Unsupported { why }) if sheet => End::Skipped(why.clone()),
        (Some(why), _) => failed(Failed::Search, why),
    };
    if let SearchOutcome::Rates(result) = found {
        // A search that another command ran, as `stages` does for its background: its trials are not in this run.
        if part.observations == 0 && !result.trials.is_empty() {
            return;
        }
        for goal in &result.goals {
            let allowed = search::allowed(goal.goal.loss_ratio);
            let rate = search::rate_of(goal, &goal.conditional_throughput_frames_per_s);
            let missing = || search::not_found(goal.outcome).map(str::to_owned);
            let said = rate.value().zip(rate.kind());
            push(
                format!("{}: loss {allowed}", part.name),
                said.map(|(fps, kind)| {
                    format!("{} frames/s of each flow ({kind})", frame_rate(*fps))
                }),
                end(search::bracket(goal).or_else(missing)),
            );
        }
        if !result.goals.is_empty() {
            return;
        }
    }
    push(part.name.clone(), None, end(search::ended_early(ended)));
}

/// Whether any flow's frames were counted.
pub fn counted(observation: &Observation) -> bool {
    let mut flows = observation.flows.iter();
    flows.any(|flow| flow.counts.value().is_some())
}
