//! Half of the stack's rate as a background: half of what the node's stack takes without loss, found by a search.

use wirelab_trial::format::integer;
use wirelab_trial::search::{Goal, Limit, Search, SearchResult};
use wirelab_trial::{
    Background, Cancel, Direction, Extent, Framing, Load, Node, Observation, Part, Path, Probes,
    Progress, Retrying, SearchOutcome, Trial, Wait,
};

use crate::paths::{LossFree, loss_free};
use crate::search::{SearchContext, SearchError, find_rates};
use crate::{NoCeiling, PlannedTrial, Sink, WriteError};

/// Length of a trial of the search: long enough to fill any queue of the stack, in ps (200 ms).
const TRIAL_PS: u64 = 200_000_000_000;
/// Trials of a load. Most of them must be without loss; a single one may lose frames because of other work of the
/// machine.
const TRIALS: u64 = 3;
/// The search's resolution. A coarse one is enough, because only half of the rate is offered.
const WIDTH_RATIO: f64 = 0.05;
/// Most time of all trials together, in ps (20 s): after that, a busy machine will not give a result either.
const LONGEST_PS: u64 = 100 * TRIAL_PS;

/// The result of a search for half of the stack's rate.
pub struct HalfLoad {
    /// The background to offer; `None` if no rate is known.
    pub background: Option<Background>,
    /// The search, for the results file, which has only the records of its trials.
    pub part: Part,
    /// For the reader.
    pub text: String,
}

/// The trials of the search are not kept: only their figure is needed.
struct NoSink;

impl Sink for NoSink {
    fn take(&mut self, _: &PlannedTrial, _: Observation) -> Result<(), WriteError> {
        Ok(())
    }
}

/// Finds half of the stack's loss-free rate for an application with this wait.
///
/// # Errors
/// [`SearchError`] where there is nothing to search.
pub fn half(
    node: &mut dyn Node,
    framing: Framing,
    wait: Option<Wait>,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<HalfLoad, SearchError> {
    let trial = Trial {
        path: Some(Path::Stack),
        wait,
        // The search is for the stack without the probes.
        probes: Some(Probes::Off),
        ..Trial::new(
            framing,
            Direction::Receive,
            Background::SIZE,
            Load::Max,
            Extent::Time { time_ps: TRIAL_PS },
        )
    };
    let goal = Goal {
        duration_sum_ps: TRIALS * TRIAL_PS,
        exceed_ratio: 0.5,
        width_ratio: WIDTH_RATIO,
        ..Goal::no_loss(TRIAL_PS)
    };
    let search = Search {
        max_time_ps: LONGEST_PS,
        ..Search::new(vec![goal])
    };
    let mut ceiling = NoCeiling("the first trial at maximum load shows it".to_owned());
    let context = SearchContext {
        node: &mut Retrying::new(node),
        ceiling: &mut ceiling,
        progress,
        cancel,
        sink: &mut NoSink,
    };
    Ok(of(find_rates(context, &trial, &search)?))
}

/// The result of a finished search.
fn of(found: SearchResult) -> HalfLoad {
    let (background, text) = match loss_free(&found) {
        Ok(rate) => {
            let half = (rate.frames_per_s / 2.0).round().max(1.0);
            let background = Background {
                load: Load::FrameRate { frames_per_s: half },
                size: Background::SIZE,
            };
            let trials = found.trials.len();
            let text = format!(
                "background: {background}, half of {} ({trials} trials of 200 ms at length 64)",
                words(&rate)
            );
            (Some(background), text)
        }
        Err(why) => (
            None,
            format!(
                "no background: the search found no rate that the stack takes without loss: {why}; what needs one was \
                 left out, and there is no verdict beside a background; give a rate, e.g. --background 20kpps, or \
                 repeat when the machine is idle"
            ),
        ),
    };
    HalfLoad {
        background,
        part: Part {
            name: "the stack's loss-free rate".to_owned(),
            first: 0,
            observations: 0,
            found: Some(SearchOutcome::Rates(found)),
            refused: None,
        },
        text,
    }
}

/// A rate, and what it says about the stack.
fn words(rate: &LossFree) -> String {
    let frames = integer(rate.frames_per_s.round() as u64);
    let more = match (rate.lost_at_frames_per_s, rate.limited_by) {
        (Some(lost), _) => {
            let lost = integer(lost.round() as u64);
            return format!(
                "{frames} frames/s, which the stack takes without loss; at {lost} frames were lost"
            );
        }
        (None, Some(Limit::Tester)) => "the tester was the limit",
        (None, Some(Limit::Link)) => "the link carries no more",
        (None, Some(Limit::Path)) => "link or node take no more and hold the sender back",
        (None, _) => "the search ended before it found where loss begins",
    };
    format!(
        "{frames} frames/s, the highest rate that was really sent without loss: {more}, so the stack's own rate is at \
         least that, and may be higher"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_trial::Field;
    use wirelab_trial::search::{GoalResult, Outcome, SearchEnded};

    fn found(lower: Option<f64>, limit: Option<Limit>, upper: Option<f64>) -> SearchResult {
        let field = |value: Option<f64>| Field::measured_or(value, "not known");
        let framing = Framing {
            layer: wirelab_trial::Layer::UdpIpv4,
            vlan_tags: 0,
        };
        let time = Extent::Time { time_ps: TRIAL_PS };
        let trial = Trial::new(
            framing,
            Direction::Receive,
            Background::SIZE,
            Load::Max,
            time,
        );
        let goal = Goal::no_loss(TRIAL_PS);
        SearchResult {
            node: "lab:".to_owned(),
            sizes: trial.sizes().unwrap(),
            trial,
            search: Search::new(vec![goal.clone()]),
            min_load_frames_per_s: Some(46.0),
            max_load: None,
            goals: vec![GoalResult {
                goal,
                outcome: match lower {
                    Some(_) => Outcome::Found,
                    None => Outcome::NoLowerBound,
                },
                limited_by: Field::measured_or(limit, "not found"),
                relevant_lower_bound_frames_per_s: field(lower),
                relevant_upper_bound_frames_per_s: field(upper),
                width_ratio: field(None),
                conditional_throughput_frames_per_s: field(lower),
                conditional_throughput_payload_bits_per_s: field(None),
                conditional_throughput_goodput_bits_per_s: field(None),
                lower_bound_trials: 2,
                trials: 2,
                not_monotone: false,
            }],
            trials: Vec::new(),
            asked_ps: 0,
            ended: SearchEnded::Done,
        }
    }

    fn rate(half: &HalfLoad) -> Option<f64> {
        half.background.map(|background| match background.load {
            Load::FrameRate { frames_per_s } => frames_per_s,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn where_the_tester_is_the_limit_the_rate_is_named_a_lower_bound() {
        // At the higher load the tester was paused, so its loss is not the stack's.
        let half = of(found(Some(84_000.0), Some(Limit::Tester), Some(90_000.0)));
        assert_eq!(rate(&half), Some(42_000.0));
        for words in [
            "84,000 frames/s",
            "really sent",
            "the tester was the limit",
            "at least that",
        ] {
            assert!(half.text.contains(words), "{words}: {}", half.text);
        }
        assert!(!half.text.contains("90,000"), "{}", half.text);
    }

    #[test]
    fn where_the_stack_lost_frames_the_rate_is_its_own() {
        let half = of(found(Some(60_001.0), Some(Limit::Node), Some(63_000.0)));
        assert_eq!(rate(&half), Some(30_001.0));
        let text = &half.text;
        assert!(
            text.contains("takes without loss; at 63,000 frames were lost"),
            "{text}"
        );
        assert!(!text.contains("at least"), "{text}");
    }

    #[test]
    fn where_nothing_is_known_there_is_no_background_and_why_is_said() {
        let half = of(found(None, None, Some(46.0)));
        assert_eq!(rate(&half), None);
        let text = &half.text;
        for words in [
            "even at 46 frames/s frames were lost",
            "no verdict",
            "--background 20kpps",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
