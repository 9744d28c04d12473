//! What limited a figure: the wire, the node's CPU, the tester, the load, or why that is not known.

use serde::Serialize;
use wirelab_trial::search::{GoalResult, Limit};
use wirelab_trial::{
    CPU_IS_LIMIT, FlowObservation, Kind, Load, Observation, Status, WIRE_IS_LIMIT,
};

use crate::format;
use crate::row::Row;

/// A sender that achieves this share of the requested load was limited only by the load.
const KEPT_SHARE: f64 = 0.98;

/// What limited a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// The link.
    Wire,
    /// The node's CPU.
    Cpu,
    /// The tester: the figure is not the node's.
    Tester,
    /// The requested load.
    Load,
    /// The node itself.
    Node,
    /// It is unknown.
    Unknown,
}

impl Limiter {
    /// Its name in words.
    pub const fn name(self) -> &'static str {
        match self {
            Limiter::Wire => "the wire",
            Limiter::Cpu => "the CPU",
            Limiter::Tester => "the tester",
            Limiter::Load => "the load",
            Limiter::Node => "the node",
            Limiter::Unknown => "something unknown",
        }
    }

    /// Its name as the class of an element, and a mark that needs no colour.
    pub const fn mark(self) -> (&'static str, &'static str) {
        match self {
            Limiter::Wire => ("wire", "═"),
            Limiter::Cpu => ("cpu", "▣"),
            Limiter::Tester => ("tester", "◇"),
            Limiter::Load => ("load", "▷"),
            Limiter::Node => ("node", "●"),
            Limiter::Unknown => ("unknown", "?"),
        }
    }
}

/// What limited a figure, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Limited {
    /// The limiting part.
    pub limiter: Limiter,
    /// The limiter in words that follow the figure, with the evidence.
    pub why: String,
    /// Why it is not known, without the figures that stand beside it in a table.
    #[serde(skip)]
    pub unknown: String,
}

impl Limited {
    /// A limiter, and the reason.
    pub const fn new(limiter: Limiter, why: String) -> Limited {
        Limited {
            limiter,
            why,
            unknown: String::new(),
        }
    }

    /// Nothing known was at its limit.
    pub fn not_known(reasons: &[String]) -> Limited {
        let why = not_known(reasons);
        Limited {
            unknown: why.clone(),
            ..Limited::new(Limiter::Unknown, why)
        }
    }
}

/// What limited the rate that a search found.
pub fn goal(goal: &GoalResult) -> Limited {
    match goal.limited_by.value() {
        Some(Limit::Tester) => Limited::new(Limiter::Tester, TESTER.to_owned()),
        Some(Limit::Node) => Limited::new(
            Limiter::Node,
            "limited by the node: it lost frames above this rate".to_owned(),
        ),
        Some(_) => Limited::new(
            Limiter::Wire,
            "limited by the link or the load: nothing higher was offered".to_owned(),
        ),
        None => {
            let why = goal.limited_by.absence();
            Limited::not_known(&[why.unwrap_or("the search does not say").to_owned()])
        }
    }
}

const TESTER: &str = "limited by the tester: the node may be faster";

/// What limited the rates of a row: the tester, the wire, the CPU, the load, or none of these.
pub fn row(row: &Row<'_>) -> Limited {
    let o = row.observation;
    if let Status::Void { why } = &o.status {
        return Limited::not_known(std::slice::from_ref(why));
    }
    if o.tester.was_limit.value() == Some(&true) {
        return Limited::new(Limiter::Tester, TESTER.to_owned());
    }
    let wire = row.of_line_rate().value().map(|(_, most)| *most);
    if let Some(share) = wire.filter(|share| *share >= WIRE_IS_LIMIT) {
        let percent = format::percent(share.min(1.0));
        return Limited::new(
            Limiter::Wire,
            format!("limited by the wire: {percent} % of what the link carries"),
        );
    }
    // A node that waits by spinning is always busy, whatever the load.
    let all_arrived = row
        .loss()
        .value()
        .is_some_and(|loss| loss.low <= 0.0 && loss.at_most().is_none());
    let as_requested = o.trial.load != Load::Max && kept(o);
    let by_load = || {
        Limited::new(
            Limiter::Load,
            "limited by the load: no more was requested".to_owned(),
        )
    };
    if as_requested && all_arrived {
        return by_load();
    }
    let load = o.cpu_load.value();
    let busy = load.map(|load| load.busy_ratio);
    if let Some(load) = load.filter(|load| load.busy_ratio >= CPU_IS_LIMIT) {
        let percent = format::percent(load.busy_ratio);
        let whose = match load.shared {
            true => ", which node and tester share",
            false => "",
        };
        return Limited::new(
            Limiter::Cpu,
            format!("limited by the CPU{whose}: it works {percent} % of the time"),
        );
    }
    if as_requested {
        return by_load();
    }
    by_none(row, wire, busy)
}

/// No limit was reached, as far as is known: the shares of the link and of the CPU, and the tester.
fn by_none(row: &Row<'_>, wire: Option<f64>, busy: Option<f64>) -> Limited {
    let o = row.observation;
    let paper = |flow: &&FlowObservation| {
        let kind = flow.frames_per_s.kind();
        matches!(kind, Some(Kind::Predicted | Kind::Calibrated))
    };
    let mut reasons = Vec::new();
    reasons.push(match wire {
        Some(share) => format!("the link carries {} % of its most", format::percent(share)),
        None => "the link's rate is unknown (fix: give --rate)".to_owned(),
    });
    reasons.push(match busy {
        Some(busy) => format!("the CPU works {} % of the time", format::percent(busy)),
        None => "the node reports no CPU load".to_owned(),
    });
    let is_paper = row.flows.iter().all(paper);
    if !is_paper {
        reasons.push(match o.tester.was_limit.value() {
            Some(_) => "the tester can do more".to_owned(),
            None => {
                let why = o.tester.was_limit.absence();
                let why = why.map_or(String::new(), |why| format!(" ({why})"));
                format!("the tester's ceiling was not measured{why}")
            }
        });
    }
    match (is_paper, wire, busy) {
        // A model has only the limits of its own parts.
        (true, Some(_), _) => Limited::new(
            Limiter::Node,
            "limited by the node: the wire had reserves".to_owned(),
        ),
        _ => {
            let why = not_known(&reasons);
            // A table has both figures in columns of their own.
            if wire.is_some() {
                reasons[0] = "the wire had reserves".to_owned();
            }
            if busy.is_some() {
                reasons[1] = "the CPU had reserves".to_owned();
            }
            Limited {
                unknown: not_known(&reasons),
                ..Limited::new(Limiter::Unknown, why)
            }
        }
    }
}

/// Nothing known was at its limit.
fn not_known(reasons: &[String]) -> String {
    format!("not known, because {}", reasons.join("; "))
}

/// Whether each sender achieved its requested load.
fn kept(o: &Observation) -> bool {
    let senders = o.flows.iter().filter_map(|flow| flow.sender.value());
    let mut any_rate = false;
    for sender in senders {
        let (Some(requested), Some(achieved)) = (
            sender.asked_frames_per_s.value(),
            sender.achieved_frames_per_s.value(),
        ) else {
            return false;
        };
        any_rate = true;
        if *achieved < *requested * KEPT_SHARE {
            return false;
        }
    }
    any_rate
}
