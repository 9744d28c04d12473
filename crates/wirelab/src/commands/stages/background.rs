//! The background of `--background half`: half of what the node's stack takes without loss, found by a search.

use wirelab_bench::search::{Asking, find_rates};
use wirelab_bench::{NoCeiling, Sink, Step, WriteError};
use wirelab_trial::search::{Goal, Limit, Search};
use wirelab_trial::{
    Background, Buffers, Cancel, Direction, Extent, FaultRates, Found, Framing, Load, Node,
    Observation, Part, Path, Probes, Trial, Wait,
};

use crate::exit::Failure;
use crate::terminal::Bar;

/// Length of a trial of the search: long enough to fill any queue of the stack, in ps (200 ms).
const TRIAL_PS: u64 = 200_000_000_000;
/// Trials of a load, of which most must be without loss: a machine that does something else for a moment tells nothing
/// of the stack.
const TRIALS: u64 = 3;
/// How near to the rate the search goes: half of it is asked, not the edge.
const WIDTH_RATIO: f64 = 0.05;

/// A background that was found, and in words what was found.
pub struct Half {
    /// What to offer.
    pub background: Background,
    /// The search, for the results file: its trials are in its records alone.
    pub part: Part,
    /// For the reader.
    pub text: String,
}

/// Nobody keeps the trials of the search: their figure is all that is wanted.
struct Nobody;

impl Sink for Nobody {
    fn take(&mut self, _: &Step, _: Observation) -> Result<(), WriteError> {
        Ok(())
    }
}

/// Find half of the stack's loss-free rate for an application that waits like this.
pub fn half(
    node: &mut dyn Node,
    framing: Framing,
    wait: Option<Wait>,
    bar: &Bar,
    cancel: &Cancel,
) -> Result<Half, Failure> {
    let trial = Trial {
        framing,
        direction: Direction::Receive,
        size: Background::SIZE,
        load: Load::Max,
        extent: Extent::Time { time_ps: TRIAL_PS },
        ports: 1,
        link_bits_per_s: None,
        buffers: None::<Buffers>,
        faults: FaultRates::default(),
        path: Some(Path::Stack),
        wait,
        rule: None,
        background: None,
        // What is searched is the stack, without what watches it.
        probes: Some(Probes::Off),
    };
    let goal = Goal {
        duration_sum_ps: TRIALS * TRIAL_PS,
        exceed_ratio: 0.5,
        width_ratio: WIDTH_RATIO,
        ..Goal::no_loss(TRIAL_PS)
    };
    let mut ceiling = NoCeiling("the first trial at maximum load shows it".to_owned());
    let asking = Asking {
        node,
        ceiling: &mut ceiling,
        progress: bar,
        cancel,
        sink: &mut Nobody,
    };
    let found = find_rates(asking, &trial, &Search::new(vec![goal])).map_err(Failure::usage)?;
    bar.clear();
    let none = || {
        Failure::failed(
            "--background half: the search found no rate that the stack takes without loss; give a rate, e.g. \
             --background 20kpps",
        )
    };
    let [goal] = &found.goals[..] else {
        return Err(none());
    };
    let rate = goal.relevant_lower_bound_frames_per_s.value();
    let rate = *rate.filter(|rate| **rate > 0.0).ok_or_else(none)?;
    let held = match goal.limited_by.value() {
        Some(Limit::Node) => "more is lost".to_owned(),
        Some(_) => "the tester offers no more".to_owned(),
        None => "the search ended early".to_owned(),
    };
    let half = (rate / 2.0).round().max(1.0);
    let load = Load::FrameRate { frames_per_s: half };
    let background = Background {
        load,
        size: Background::SIZE,
    };
    let text = format!(
        "background: {background}, half of {rate:.0} frames/s, which the stack takes without loss ({} trials of 200 ms \
         at length 64; {held})",
        goal.trials
    );
    Ok(Half {
        background,
        part: Part {
            name: "the stack's loss-free rate".to_owned(),
            first: 0,
            observations: 0,
            found: Some(Found::Rates(found)),
            refused: None,
        },
        text,
    })
}
