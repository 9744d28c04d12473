//! A plan that was ended early and is gone on with: wherever it ended, the file is that of a run without an end.

use std::path::Path;
use std::time::Duration;
use wirelab_trial::WarningCode;

use crate::common::environment;
use crate::search_common::CurveNode;
use wirelab_bench::{
    Ended, NoCeiling, Plan, PlannedTrial, ResultsWriter, ResumeError, Sink, Stored, WriteError,
    load, resume_plan, run_plan,
};
use wirelab_trial::*;

const PLAN: &str = r#"
[[matrix]]
frame = [64, 128]
load = "1kpps"
direction = "receive"
repeat = 2
warmup = "100ms"

[[search]]
name = "rates"
frame = 64
loss = ["0 %", "2.5 %"]
short = "100ms"
warmup = "100ms"
width = "2 %"
around = ["50 %", "110 %"]

[[loss_curve]]
frame = 64
load = "850kpps"
step = "10 %"

[[bursts]]
name = "bursts of 128"
frame = 128
longest = "100us"
time = "100ms"
"#;

pub fn plan() -> Plan {
    Plan::parse(PLAN, "p.toml").unwrap()
}

/// A node whose losses depend on the load alone, so that each run gives the same.
pub fn node() -> CurveNode {
    CurveNode::new(|load, sent, _| {
        let burst = f64::from(u8::from(load > 800e3 && sent > 40)) * 0.5;
        (1.0 - 300e3 / load).max(0.0).max(burst)
    })
}

pub fn ceiling() -> impl FnMut(&Trial) -> Field<f64> {
    |_| Field::measured(900e3)
}

pub fn whole(path: Option<&Path>) -> ResultsWriter {
    ResultsWriter::create(path, environment(), vec!["wirelab".to_owned()], "0.1.0", 7)
        .unwrap()
        .save_every(Duration::ZERO)
}

/// Run it without an end; each state of the file on the disk is kept too.
pub fn uninterrupted() -> (ResultsFile, Vec<ResultsFile>, usize) {
    struct Watched<'a>(ResultsWriter, &'a Path, Vec<ResultsFile>);
    impl Sink for Watched<'_> {
        fn take(
            &mut self,
            step: &PlannedTrial,
            observation: Observation,
        ) -> Result<(), WriteError> {
            self.0.take(step, observation)?;
            self.2.push(load(self.1).unwrap());
            Ok(())
        }
        fn begin_part(&mut self, name: &str) {
            self.0.begin_part(name);
        }
        fn end_part(&mut self, result: Result<SearchOutcome, String>) {
            self.0.end_part(result);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.json");
    let mut sink = Watched(whole(Some(&path)), &path, Vec::new());
    let mut node = node();
    let (cancel, mut ceiling) = (Cancel::new(), ceiling());
    let outcome = run_plan(&mut node, &plan(), &mut ceiling, &(), &cancel, &mut sink);
    assert!(outcome.is_done(), "{outcome:?}");
    (sink.0.finish(false).unwrap(), sink.2, node.asked().len())
}

pub fn go_on(node: &mut dyn Node, plan: &Plan, file: ResultsFile) -> (Ended, ResultsFile) {
    let stored = match Stored::of(&file, &node.describe(), &environment()) {
        Ok(stored) => stored,
        Err(error) => return (Ended::BadResume(error), file),
    };
    let mut writer = ResultsWriter::resume(None, file, &stored).unwrap();
    let (cancel, mut ceiling) = (Cancel::new(), ceiling());
    let outcome = resume_plan(node, plan, stored, &mut ceiling, &(), &cancel, &mut writer);
    let done = outcome.is_done();
    (outcome.ended, writer.finish(!done).unwrap())
}

/// Equal, and where it is not, a text that is not a book.
pub fn same(file: &ResultsFile, whole: &ResultsFile, k: usize) {
    for (a, b) in file.parts.iter().zip(&whole.parts) {
        assert_eq!(a, b, "after {k}");
    }
    for (a, b) in file.observations.iter().zip(&whole.observations) {
        assert_eq!(a, b, "after {k}");
    }
    assert!(file == whole, "after {k}");
}

#[test]
fn a_search_goes_on_with_the_ceiling_it_began_with() {
    let (whole, states, _) = uninterrupted();
    // Three trials of it were seen.
    let cut = states.iter().filter(|s| s.parts.len() == 2).nth(2).unwrap();
    let mut other_ceiling = |_: &Trial| Field::measured(850e3);
    let mut node = node();
    let stored = Stored::of(cut, &node.describe(), &environment()).unwrap();
    let mut writer = ResultsWriter::resume(None, cut.clone(), &stored).unwrap();
    let cancel = Cancel::new();
    let ceiling = &mut other_ceiling;
    resume_plan(
        &mut node,
        &plan(),
        stored,
        ceiling,
        &(),
        &cancel,
        &mut writer,
    );
    let file = writer.file();
    assert_eq!(file.parts[1], whole.parts[1]);
    // A new trial is compared with the present ceiling of the tester.
    let known = cut.observations.len();
    let end = file.parts[1].first + file.parts[1].observations;
    let fresh = known..usize::try_from(end).unwrap();
    assert!(!fresh.is_empty());
    for o in &file.observations[fresh] {
        assert_eq!(o.tester.ceiling_frames_per_s, Field::measured(850e3));
    }
    assert_eq!(file.observations[..known], whole.observations[..known]);
}

#[test]
fn a_trial_that_is_asked_when_a_plan_goes_on_has_a_ceiling_of_its_own_time() {
    let (_, states, _) = uninterrupted();
    let cut = &states[1];
    assert_eq!((cut.parts.len(), cut.observations.len()), (1, 2));
    let mut node = node();
    let stored = Stored::of(cut, &node.describe(), &environment()).unwrap();
    let mut writer = ResultsWriter::resume(None, cut.clone(), &stored).unwrap();
    let mut runs = 0;
    let mut now = |_: &Trial| {
        runs += 1;
        Field::measured(850e3)
    };
    let cancel = Cancel::new();
    resume_plan(
        &mut node,
        &plan(),
        stored,
        &mut now,
        &(),
        &cancel,
        &mut writer,
    );
    let file = writer.file();
    let (known, fresh) = file.observations.split_at(2);
    assert_eq!(known, &cut.observations[..]);
    // A burst is faster for a moment.
    let steady = |o: &&Observation| matches!(o.trial.extent, Extent::Time { .. });
    for o in fresh.iter().filter(steady) {
        assert_eq!(o.tester.ceiling_frames_per_s, Field::measured(850e3));
    }
    assert!(runs > 0 && !fresh.is_empty());
}

#[test]
fn what_does_not_go_together_is_refused_before_any_trial() {
    let (whole, states, _) = uninterrupted();
    let half = states[states.len() / 2].clone();
    let refused = |plan: &str, change: &dyn Fn(&mut ResultsFile)| {
        let (mut node, mut file) = (node(), half.clone());
        change(&mut file);
        let plan = Plan::parse(plan, "p.toml").unwrap();
        let (ended, _) = go_on(&mut node, &plan, file);
        assert!(node.asked().is_empty(), "{ended:?}");
        match ended {
            Ended::BadResume(error) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    for (error, text) in [
        (
            refused(PLAN, &|file| {
                file.observations[0].node.name = "lab:1".to_owned()
            }),
            "it holds results of lab:1, and simulated was requested; fix: name lab:1",
        ),
        (
            refused(PLAN, &|file| {
                let setup = &mut file.observations[0].node.setup;
                setup.insert("clock".to_owned(), "400 MHz".to_owned());
            }),
            "its clock was '400 MHz' and is 'not reported'",
        ),
        (refused(PLAN, &|file| file.parts.clear()), "it has no parts"),
        (
            refused(PLAN, &|file| file.parts[1].first += 1),
            "its part 'rates' does not begin where the one before ends",
        ),
        (
            refused(PLAN, &|file| file.parts[0].observations = u64::MAX),
            "its part 'matrix 1' does not begin where",
        ),
        (
            refused(&PLAN.replace("[64, 128]", "[64, 129]"), &|_| {}),
            "it is of another plan: its part 'matrix 1' requested something else",
        ),
        (
            refused(&PLAN.replace("\"rates\"", "\"rate\""), &|_| {}),
            "the plan has 'rate' in place of its part 'rates'",
        ),
        (
            refused(&PLAN.replace("width = \"2 %\"", "width = \"1 %\""), &|_| {}),
            "its part 'rates' requested something else",
        ),
        (
            refused(PLAN.split("[[search]]").next().unwrap(), &|_| {}),
            "parts and the plan 1",
        ),
    ] {
        assert!(error.contains(text), "{error}\nlacks\n{text}");
    }
    // A lab of a number is made for each run, so its interfaces are others each time.
    let mut lab = half.clone();
    for observation in &mut lab.observations {
        observation.node.name = "lab:1".to_owned();
        let setup = &mut observation.node.setup;
        setup.insert("ports".to_owned(), "lab-7-node/n0".to_owned());
    }
    let here = Description {
        name: "lab:1".to_owned(),
        ..node().describe()
    };
    assert!(Stored::of(&lab, &here, &environment()).is_ok());
    // What only the trials of the last part show.
    let cut = states.iter().rev().find(|s| s.parts.len() == 2).unwrap();
    let mut node = node();
    let other = Plan::parse(&PLAN.replace("width = \"2 %\"", "width = \"1 %\""), "p").unwrap();
    let (ended, file) = go_on(&mut node, &other, cut.clone());
    assert!(
        matches!(ended, Ended::BadResume(ResumeError::Plan(_))),
        "{ended:?}"
    );
    assert!(node.asked().is_empty() && file.observations.len() <= cut.observations.len());
    // A file of a plan that is done has nothing to go on with, and stays as it is.
    let (ended, file) = go_on(&mut node, &plan(), whole.clone());
    assert!(matches!(ended, Ended::Done) && file == whole && node.asked().is_empty());
}

#[test]
fn a_file_of_another_host_is_refused() {
    let (mut file, ..) = uninterrupted();
    file.environment.cpu = Field::measured("Example CPU".to_owned());
    let here = Environment {
        cpu: Field::measured("Other CPU".to_owned()),
        ..environment()
    };
    let error = Stored::of(&file, &node().describe(), &here).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("a tester with Example CPU, and this one has Other CPU")
    );
}

#[test]
fn what_failed_with_the_node_is_asked_again_and_the_file_on_the_disk_never_shrinks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.json");
    let mut gone = node();
    gone.fails_from = 8;
    let mut writer = whole(Some(&path));
    let mut none = NoCeiling("not measured in this test".to_owned());
    let cancel = Cancel::new();
    let outcome = run_plan(&mut gone, &plan(), &mut none, &(), &cancel, &mut writer);
    assert!(matches!(outcome.ended, Ended::Failed(_)), "{outcome:?}");
    let left = writer.finish(true).unwrap();
    assert_eq!(left, load(&path).unwrap());
    assert_eq!(
        left.observations.last().unwrap().warnings[0].code,
        "node-failed"
    );

    // Interrupted before anything new was seen: the file stays.
    let stored = Stored::of(&left, &node().describe(), &environment()).unwrap();
    assert_eq!(stored.observations(), 3);
    let mut writer = ResultsWriter::resume(Some(&path), left.clone(), &stored).unwrap();
    let cancelled = Cancel::new();
    cancelled.cancel();
    resume_plan(
        &mut node(),
        &plan(),
        stored,
        &mut none,
        &(),
        &cancelled,
        &mut writer,
    );
    writer.finish(true).unwrap();
    assert_eq!(left, load(&path).unwrap());

    let (ended, file) = go_on(&mut node(), &plan(), left);
    assert!(matches!(ended, Ended::Done));
    let (whole, ..) = uninterrupted();
    same(&file, &whole, 3);
}

#[test]
fn what_failed_in_the_middle_is_asked_again_alone() {
    let (whole, _, asked) = uninterrupted();
    let mut file = whole.clone();
    for at in [1, 2] {
        let observation = &mut file.observations[at];
        observation.make_void("the peer went away");
        let failed = Warning::new(
            WarningCode::NODE_FAILED,
            "the peer went away",
            "start it again",
        );
        observation.warnings.push(failed);
    }
    let mut again = node();
    let (ended, now) = go_on(&mut again, &plan(), file);
    assert!(matches!(ended, Ended::Done), "{ended:?}");
    same(&now, &whole, 3);
    // Each with its warm-up.
    assert_eq!(again.asked().len(), 4);
    assert!(asked > 20);
}
