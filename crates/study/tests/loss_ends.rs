//! A loss of which the tester knows only two ends: what a study makes of its figures and of what the text claims.

use std::collections::BTreeMap;

use crate::common;
use crate::common::{Answer, Shelf};
use wirelab_study::figure::Figure;
use wirelab_study::run::{NodeSource, StudyRun, run};
use wirelab_study::table::Study;
use wirelab_trial::*;

const TEXT: &str = r#"
title  = "Losses"
source = "Nobody's datasheet, Table 2"
node   = "board"

[[row]]
name      = "slow"
trial     = { layer = "udp4", datagram = 64, frames = 1000, load = "1kpps" }
published = { loss = "0.0 %", lost = "0" }

[[row]]
name      = "fast"
trial     = { layer = "udp4", datagram = 64, frames = 1000, load = "2kpps" }
published = { loss = "0.0 %" }

[[claim]]
name      = "hardly any"
text      = "less than a tenth is lost"
published = "< 10 %"
metric    = "loss"
value_of  = "fast"

[[claim]]
name      = "some"
text      = "some of it is lost"
published = "> 10 %"
metric    = "loss"
value_of  = "fast"

[[claim]]
name      = "not all"
text      = "a part arrives"
published = "< 90 %"
metric    = "loss"
value_of  = "fast"

[[claim]]
name      = "speed costs little"
text      = "the fast one loses hardly more"
published = "< 10 %"
metric    = "loss"
difference = [["fast", "slow"]]

[[claim]]
name      = "slowness costs nothing"
text      = "the slow one loses hardly more"
published = "< 10 %"
metric    = "loss"
difference = [["slow", "fast"]]
"#;

/// Hands out nodes of whose fast trials 720 in 1,000 were lost, or dropped by the tester's own queue.
struct InDoubt(Shelf);

impl NodeSource for InDoubt {
    fn node(
        &mut self,
        name: &str,
        set: &BTreeMap<String, String>,
    ) -> Result<Box<dyn Node>, String> {
        self.0.node(name, set)?;
        Ok(Box::new(Fast(self.0.node.clone())))
    }
}

struct Fast(common::Paper);

impl Node for Fast {
    fn describe(&self) -> Description {
        self.0.describe()
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let mut seen = self.0.run(trial, progress, cancel)?;
        let flow = &mut seen.flows[0];
        let slow = Load::FrameRate {
            frames_per_s: 1000.0,
        };
        let either = if trial.load == slow { 0 } else { 720 };
        flow.loss_ratio_at_most = (either > 0).then_some(either as f64 / 1000.0);
        flow.counts = Field::measured(Counts {
            received_frames: 1000 - either,
            good_frames: 1000 - either,
            distinct_sequences: 1000 - either,
            lost_or_missed_frames: either,
            ..Counts::default()
        });
        Ok(seen)
    }
}

fn ran() -> StudyRun {
    let study = Study::parse(TEXT, "studies/losses.toml").unwrap();
    let mut nodes = InDoubt(Shelf::new(Kind::Measured, Answer::Complete));
    run(&study, None, &mut nodes, &(), &Cancel::new()).unwrap()
}

fn find<'a>(run: &'a StudyRun, row: &str) -> &'a Figure {
    let found = run.rows.iter().find(|figure| figure.row == row);
    found.unwrap_or_else(|| panic!("no figure {row}"))
}

fn is(of: Option<f64>, expected: f64) -> bool {
    of.is_some_and(|value| (value - expected).abs() < 1e-9)
}

#[test]
fn a_figure_has_both_ends_and_no_error() {
    let run = ran();
    let known = find(&run, "slow");
    assert_eq!(
        (known.value_at_most, known.error_percent),
        (None, Some(0.0))
    );
    assert!(known.counted);
    let in_doubt = find(&run, "fast");
    assert!(is(in_doubt.value, 0.0) && is(in_doubt.value_at_most, 72.0));
    assert_eq!((in_doubt.error_percent, in_doubt.counted), (None, false));
    let why = in_doubt.reason.as_deref().unwrap();
    assert!(why.contains("a range without an error"), "{why}");
    let json = serde_json::to_value(in_doubt).unwrap();
    assert!(is(json["value_at_most"].as_f64(), 72.0), "{json}");
}

#[test]
fn a_count_has_both_ends() {
    let text = TEXT.replace(
        "published = { loss = \"0.0 %\" }",
        "published = { lost = \"0\" }",
    );
    let text = text.split("[[claim]]").next().unwrap();
    let study = Study::parse(text, "studies/losses.toml").unwrap();
    let mut nodes = InDoubt(Shelf::new(Kind::Measured, Answer::Complete));
    let run = run(&study, None, &mut nodes, &(), &Cancel::new()).unwrap();
    let lost = find(&run, "fast");
    assert!(
        is(lost.value, 0.0) && is(lost.value_at_most, 720.0),
        "{lost:?}"
    );
}

#[test]
fn a_claim_that_holds_at_one_end_alone_is_undecided_and_fails() {
    let run = ran();
    for name in ["hardly any", "some", "speed costs little"] {
        let claim = find(&run, name);
        assert!(claim.is_undecided() && claim.fails(), "{claim:?}");
        assert_eq!(claim.holds, None);
        let why = claim.reason.as_deref().unwrap();
        assert!(why.starts_with("undecided"), "{why}");
    }
}

#[test]
fn a_claim_that_holds_at_both_ends_holds() {
    let run = ran();
    let claim = find(&run, "not all");
    assert_eq!((claim.holds, claim.fails()), (Some(true), false));
    let claim = find(&run, "slowness costs nothing");
    assert!(is(claim.value, -72.0) && is(claim.value_at_most, 0.0));
    assert_eq!(claim.holds, Some(true));
}
