//! A search in words: its goals, and the shares beside them.

use std::ops::RangeInclusive;

use wirelab_config::parse_percent;
use wirelab_trial::nearest::did_you_mean;
use wirelab_trial::{Direction, Extent};

use super::refuse::SearchError;
use super::{BurstSearch, Goal, LossCurve, MIN_WIDTH_RATIO, Search};
use crate::plan::{Matrix, SearchKind, SearchSection};

/// The search that is requested.
#[derive(Clone, Copy, Debug)]
pub enum SearchWords<'a> {
    /// Rates.
    Rates(RateWords<'a>),
    /// Loss against load.
    LossCurve,
    /// Bursts.
    Bursts,
}

/// A search for rates.
#[derive(Clone, Copy, Debug)]
pub struct RateWords<'a> {
    /// Each `no-loss`, or an allowed loss such as `loss=2.5%`.
    pub goals: &'a [String],
    /// Full trials of a load.
    pub trials: u64,
    /// Share of those that may exceed the loss.
    pub exceed: Option<&'a str>,
    /// Relative width at which the search stops.
    pub width: Option<&'a str>,
    /// Shares of the rate found, for a trial each.
    pub around: &'a [String],
}

impl SearchWords<'_> {
    /// The name of its section in a plan.
    const fn name(&self) -> &'static str {
        match self {
            SearchWords::Rates(_) => "search",
            SearchWords::LossCurve => "loss curve",
            SearchWords::Bursts => "bursts",
        }
    }

    /// The searches of the lists of a matrix.
    ///
    /// # Errors
    /// The field that a search does not have, or whose value it cannot use, and the fix.
    pub fn section(&self, matrix: Matrix) -> Result<SearchSection, String> {
        let Extent::Time { time_ps } = matrix.shared.extent else {
            return Err(
                "frames: the trials of a search have a time; fix: give time instead".to_owned(),
            );
        };
        if matrix.framings.iter().any(|f| f.layer.is_tcp()) {
            return Err(format!("layer: {}", SearchError::Tcp));
        }
        if let Some(field) = matrix.beyond_a_search() {
            let more = match field {
                "repeat" => ", trials says how often a search repeats a load",
                _ => "",
            };
            return Err(format!(
                "{field}: it cannot be combined with a search; fix: leave it out{more}"
            ));
        }
        let kind = self.kind(time_ps, matrix.warmup_ps)?;
        let from_node = |way| matches!(way, Direction::Transmit | Direction::Both);
        if matches!(kind, SearchKind::Bursts { .. })
            && matrix.directions.iter().copied().any(from_node)
        {
            return Err(
                "direction: the tester sends bursts to the node; fix: give rx or echo".to_owned(),
            );
        }
        let ([load], [] | [_]) = (&matrix.loads[..], &matrix.ports[..]) else {
            let field = if matrix.loads.len() == 1 {
                "ports"
            } else {
                "load"
            };
            return Err(format!(
                "{field}: a search has one highest load and one number of ports; fix: give one"
            ));
        };
        Ok(SearchSection {
            name: self.name().to_owned(),
            load: *load,
            ports: matrix.ports.first().copied(),
            framings: matrix.framings,
            sizes: matrix.sizes,
            directions: matrix.directions,
            shared: matrix.shared,
            kind,
        })
    }

    fn kind(&self, time_ps: u64, warmup_ps: u64) -> Result<SearchKind, String> {
        match self {
            SearchWords::Rates(words) => words.kind(time_ps, warmup_ps),
            SearchWords::LossCurve => Ok(SearchKind::LossCurve(LossCurve::new(time_ps))),
            SearchWords::Bursts => Ok(SearchKind::Bursts {
                bursts: BurstSearch::rfc9004(),
                throughput: Search::new(vec![Goal::no_loss(time_ps)]),
            }),
        }
    }
}

impl RateWords<'_> {
    fn kind(&self, time_ps: u64, warmup_ps: u64) -> Result<SearchKind, String> {
        let beside = |field: &str, word: Option<&str>, range| {
            word.map(|word| share(&format!("{field} {word}"), word, range))
                .transpose()
        };
        let each = Each {
            time_ps,
            trials: self.trials,
            exceed_ratio: beside("exceed", self.exceed, 0.0..=0.99)?,
            width_ratio: beside("width", self.width, MIN_WIDTH_RATIO..=0.5)?,
        };
        let goals = self.goals.iter().map(|word| Ok(each.goal(loss(word)?)));
        let goals = goals.collect::<Result<_, String>>()?;
        let around = self.around.iter();
        let around = around.map(|word| share(&format!("around {word}"), word, 0.01..=10.0));
        Ok(SearchKind::Rates {
            search: Search {
                warmup_ps,
                ..Search::new(goals)
            },
            around: around.collect::<Result<_, _>>()?,
        })
    }
}

/// What all goals of a search share.
pub(crate) struct Each {
    pub time_ps: u64,
    /// Full trials of a load.
    pub trials: u64,
    /// Where it is not the usual one of a goal.
    pub exceed_ratio: Option<f64>,
    pub width_ratio: Option<f64>,
}

impl Each {
    /// The goal that allows this loss.
    pub(crate) fn goal(&self, loss_ratio: f64) -> Goal {
        let usual = Goal::at_loss(loss_ratio, self.time_ps);
        Goal {
            duration_sum_ps: self.time_ps.saturating_mul(self.trials),
            exceed_ratio: self.exceed_ratio.unwrap_or(usual.exceed_ratio),
            width_ratio: self.width_ratio.unwrap_or(usual.width_ratio),
            ..usual
        }
    }
}

/// The loss that a goal allows, as a ratio.
fn loss(word: &str) -> Result<f64, String> {
    match (word, word.strip_prefix("loss=")) {
        ("no-loss", _) => Ok(0.0),
        (_, Some(text)) => share(&format!("search {word}"), text, 0.0..=0.99),
        _ => {
            let head = word.split('=').next().unwrap_or_default();
            let meant = did_you_mean(head, ["no-loss", "loss"].into_iter());
            Err(format!(
                "search {word}: unknown goal; {meant}fix: write no-loss, or the allowed loss, e.g. loss=2.5%"
            ))
        }
    }
}

/// A share in percent, as a ratio.
fn share(written: &str, text: &str, range: RangeInclusive<f64>) -> Result<f64, String> {
    let ratio = parse_percent(text).filter(|ratio| range.contains(ratio));
    ratio.ok_or_else(|| {
        let (least, most) = (range.start() * 100.0, range.end() * 100.0);
        format!("{written}: invalid share; fix: write one from {least}% to {most}%, e.g. 2.5%")
    })
}
