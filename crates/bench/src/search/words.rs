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
    Rates {
        /// Each `no-loss`, or an allowed loss such as `loss=2.5%`.
        goals: &'a [String],
        /// Full trials of a load.
        trials: u64,
        /// Share of the full trials that may exceed the loss.
        exceed: Option<&'a str>,
        /// Relative width at which the search stops.
        width: Option<&'a str>,
        /// Shares of the rate found, for a trial each.
        around: &'a [String],
    },
    /// Loss against load.
    LossCurve,
    /// Bursts.
    Bursts,
}

impl SearchWords<'_> {
    /// The searches of the lists of a matrix.
    ///
    /// # Errors
    /// The field that a search does not have, or whose value it cannot use, and the fix.
    pub fn section(&self, matrix: Matrix) -> Result<SearchSection, String> {
        let Extent::Time { time_ps } = matrix.shared.extent else {
            return Err(
                "frames: the trials of a search have a time; fix: give a time instead".to_owned(),
            );
        };
        if matrix.framings.iter().any(|f| f.layer.is_tcp()) {
            let why = SearchError::Tcp;
            return Err(format!("layer: {why}"));
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
        if matrix.warmup_ps > 0 && !matches!(self, SearchWords::Rates { .. }) {
            return Err(
                "warmup: only a search for a rate warms the node up; fix: leave it out".to_owned(),
            );
        }
        let (name, kind) = self.kind(time_ps, matrix.warmup_ps)?;
        let from_node = |direction| matches!(direction, Direction::Transmit | Direction::Both);
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
            name: name.to_owned(),
            load: *load,
            ports: matrix.ports.first().copied(),
            framings: matrix.framings,
            sizes: matrix.sizes,
            directions: matrix.directions,
            shared: matrix.shared,
            kind,
        })
    }

    /// The name of a search in a plan, and what it looks for.
    fn kind(&self, time_ps: u64, warmup_ps: u64) -> Result<(&'static str, SearchKind), String> {
        let (goals, trials, exceed, width, around) = match *self {
            SearchWords::LossCurve => {
                return Ok(("loss curve", SearchKind::LossCurve(LossCurve::new(time_ps))));
            }
            SearchWords::Bursts => {
                let bursts = BurstSearch::rfc9004();
                let throughput = Search::new(vec![Goal::no_loss(time_ps)]);
                return Ok(("bursts", SearchKind::Bursts { bursts, throughput }));
            }
            SearchWords::Rates {
                goals,
                trials,
                exceed,
                width,
                around,
            } => (goals, trials, exceed, width, around),
        };
        let of = |field: &str, word: &str, range| share(&format!("{field} {word}"), word, range);
        let exceed = exceed.map(|word| of("exceed", word, 0.0..=0.99));
        let width = width.map(|word| of("width", word, MIN_WIDTH_RATIO..=0.5));
        let (exceed, width) = (exceed.transpose()?, width.transpose()?);
        let goals = goals.iter();
        let goals = goals.map(|word| Ok(goal((loss(word)?, exceed, width), time_ps, trials)));
        let around = around.iter().map(|word| of("around", word, 0.01..=10.0));
        let search = Search {
            warmup_ps,
            ..Search::new(goals.collect::<Result<_, String>>()?)
        };
        let around = around.collect::<Result<_, _>>()?;
        Ok(("search", SearchKind::Rates { search, around }))
    }
}

/// A goal with `trials` full trials of a load, from ratios: the allowed loss, the share of trials that may exceed it,
/// and the width. The last two have defaults.
pub(crate) fn goal(
    (loss, exceed, width): (f64, Option<f64>, Option<f64>),
    time_ps: u64,
    trials: u64,
) -> Goal {
    let usual = Goal::at_loss(loss, time_ps);
    Goal {
        duration_sum_ps: time_ps.saturating_mul(trials),
        exceed_ratio: exceed.unwrap_or(usual.exceed_ratio),
        width_ratio: width.unwrap_or(usual.width_ratio),
        ..usual
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
