//! The results file while a plan runs: kept after every trial, never half-written, and errors that name it.

use std::path::Path;
use std::time::Duration;

use crate::common::{SimulatedNode, Trouble, environment};
use wirelab_bench::{
    Ended, NoCeiling, Plan, PlannedTrial, ResultsWriter, Sink, WriteError, load, run_plan,
};
use wirelab_trial::results_reader::MOST_BYTES;
use wirelab_trial::{Cancel, Field, Observation, ResultsFile, Status};

const PLAN: &str = "[[matrix]]\nframe = 64\nrepeat = 4";

fn writer(path: Option<&Path>) -> Result<ResultsWriter, WriteError> {
    ResultsWriter::create(path, environment(), vec!["wirelab".to_owned()], "0.1.0", 7)
        .map(|w| w.save_every(Duration::ZERO))
}

fn run(node: &mut SimulatedNode, sink: &mut dyn Sink) -> Ended {
    let plan = Plan::parse(PLAN, "p.toml").unwrap();
    let mut ceiling = NoCeiling("not measured in this test".to_owned());
    run_plan(node, &plan, &mut ceiling, &(), &Cancel::new(), sink).ended
}

/// Looks at the file on the disk after each observation, as after a power cut.
struct Watched<'a> {
    writer: ResultsWriter,
    path: &'a Path,
    on_disk: Vec<ResultsFile>,
}

impl Sink for Watched<'_> {
    fn take(&mut self, step: &PlannedTrial, observation: Observation) -> Result<(), WriteError> {
        self.writer.take(step, observation)?;
        self.on_disk.push(load(self.path).unwrap());
        Ok(())
    }
}

#[test]
fn the_file_is_whole_after_every_trial() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.json");
    let mut sink = Watched {
        writer: writer(Some(&path)).unwrap(),
        path: &path,
        on_disk: Vec::new(),
    };
    assert!(
        !path.exists(),
        "nothing is there before the first observation"
    );
    assert!(matches!(
        run(&mut SimulatedNode::new(1e6), &mut sink),
        Ended::Done
    ));
    let kept: Vec<(usize, bool)> = sink
        .on_disk
        .iter()
        .map(|f| (f.observations.len(), f.interrupted))
        .collect();
    assert_eq!(kept, [(1, true), (2, true), (3, true), (4, true)]);
    let file = sink.writer.finish(false).unwrap();
    assert_eq!(load(&path).unwrap(), file);
    assert!(!file.interrupted);
    assert_eq!(
        (file.created_unix_ns, file.wirelab_version.as_str()),
        (7, "0.1.0")
    );
    let names: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names, ["results.json"], "no temporary file is left");
}

#[test]
fn an_interrupted_plan_leaves_what_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.json");
    let mut node = SimulatedNode::new(1e6);
    node.troubles = [(2, Trouble::CancelDuring)].into();
    let mut sink = writer(Some(&path)).unwrap();
    assert!(matches!(run(&mut node, &mut sink), Ended::Interrupted));
    sink.finish(true).unwrap();
    let file = load(&path).unwrap();
    assert!(file.interrupted);
    assert_eq!(file.observations.len(), 2);
}

#[test]
fn between_two_writings_the_end_still_has_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.json");
    let mut sink = writer(Some(&path))
        .unwrap()
        .save_every(Duration::from_secs(3_600));
    run(&mut SimulatedNode::new(1e6), &mut sink);
    assert_eq!(load(&path).unwrap().observations.len(), 1);
    assert_eq!(sink.file().observations.len(), 4);
    sink.finish(false).unwrap();
    assert_eq!(load(&path).unwrap().observations.len(), 4);
}

#[test]
fn without_a_path_all_is_in_memory() {
    let mut sink = writer(None).unwrap();
    run(&mut SimulatedNode::new(1e6), &mut sink);
    assert_eq!(sink.finish(false).unwrap().observations.len(), 4);
}

#[test]
fn where_it_cannot_be_written_is_known_before_the_first_trial() {
    let folder = tempfile::tempdir().unwrap();
    let unchanged = "the file there is unchanged; fix:";
    let missing = folder.path().join("none/results.json");
    assert_eq!(
        writer(Some(&missing)).unwrap_err().to_string(),
        format!(
            "cannot write {}: No such file or directory (os error 2); {unchanged} make its folder, or name a file in another with -o",
            missing.display()
        )
    );
    assert_eq!(
        writer(Some(folder.path())).unwrap_err().to_string(),
        format!(
            "cannot write {}: it is a directory; {unchanged} name a file, not a folder, with -o",
            folder.path().display()
        )
    );
    let old = folder.path().join("old.json");
    std::fs::write(&old, "precious").unwrap();
    let mut node = SimulatedNode::new(1e6);
    node.troubles = [(1, Trouble::Privilege)].into();
    let mut sink = writer(Some(&old)).unwrap();
    assert!(matches!(run(&mut node, &mut sink), Ended::Failed(_)));
    assert!(sink.finish(true).unwrap().interrupted);
    assert_eq!(std::fs::read(&old).unwrap(), b"precious");
}

#[test]
fn a_place_that_vanishes_in_the_middle_ends_the_plan_and_keeps_the_observations() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.json");
    let mut sink = writer(Some(&path)).unwrap();
    folder.close().unwrap();
    let Ended::Unsaved(error) = run(&mut SimulatedNode::new(1e6), &mut sink) else {
        panic!("it could not be saved");
    };
    assert!(
        error
            .to_string()
            .starts_with(&format!("cannot write {}: ", path.display()))
    );
    assert_eq!(sink.file().observations.len(), 1);
    let (_, file) = sink.finish(true).unwrap_err();
    assert_eq!(file.observations.len(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named() {
    let full = Path::new("/dev/full");
    let mut sink = writer(Some(full)).unwrap();
    assert!(matches!(
        run(&mut SimulatedNode::new(1e6), &mut sink),
        Ended::Done
    ));
    let (error, file) = sink.finish(false).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot write /dev/full: No space left on device"),
        "{error}"
    );
    assert_eq!(file.observations.len(), 4);
    use std::os::unix::fs::FileTypeExt;
    assert!(
        full.metadata().unwrap().file_type().is_char_device(),
        "never replaced"
    );
}

#[test]
fn what_is_no_results_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json");
    let begins = |text: &str| format!("{text}{}", path.display());
    let error = load(&path).unwrap_err().to_string();
    assert!(error.starts_with(&begins("")), "{error}");
    assert!(error.contains("No such file"), "{error}");
    std::fs::write(&path, "{").unwrap();
    let error = load(&path).unwrap_err().to_string();
    assert!(
        error.starts_with(&begins("")) && error.contains("not a results file"),
        "{error}"
    );
}

#[test]
fn what_cannot_be_results_is_refused_before_it_takes_memory() {
    let folder = tempfile::tempdir().unwrap();
    let sparse = |name: &str, bytes: u64| {
        let path = folder.path().join(name);
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(bytes).unwrap();
        path
    };
    let long = load(&sparse("long.json", MOST_BYTES + 1)).unwrap_err();
    assert!(
        long.to_string().contains("longer than the 512 MiB"),
        "{long}"
    );
    // Of the zeros that are read, only the first few kilobytes are in the file.
    let zeros = load(&sparse("zeros.json", MOST_BYTES)).unwrap_err();
    assert!(
        zeros.to_string().contains("does not begin with {"),
        "{zeros}"
    );
    for other in ["/dev/zero", "/"] {
        let error = load(Path::new(other)).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{other}: not a regular file")),
            "{error}"
        );
        assert!(error.contains("wirelab measure -o"), "{error}");
    }
}

#[test]
fn an_impossible_figure_is_not_written_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.json");
    let mut sound: Vec<Observation> = Vec::new();
    run(&mut SimulatedNode::new(1e6), &mut sound);
    let mut wrong = sound[0].clone();
    wrong.flows[0].loss_ratio = Field::measured(2.0);
    let mut writer = writer(Some(&path)).unwrap();
    writer.push(sound[0].clone()).unwrap();
    writer.push(wrong).unwrap();
    writer.finish(false).unwrap();
    let kept = load(&path)
        .expect("what is written can be read")
        .observations;
    assert_eq!(kept[0], sound[0]);
    assert!(
        matches!(&kept[1].status, Status::Void { why } if why.contains("loss_ratio: 2")),
        "{:?}",
        kept[1].status
    );
    assert!(kept[1].flows.is_empty());
}

#[test]
fn what_went_over_a_console_is_kept_and_a_resumed_run_adds_its_own() {
    let transcript = wirelab_trial::Transcript::new("exec:board", "nuttx");
    let mut first = writer(None).unwrap();
    for text in ["one", "two"] {
        transcript.add(wirelab_trial::LineSource::Typed, text);
        first.keep_console(transcript.log());
    }
    assert!(matches!(
        run(&mut SimulatedNode::new(1e6), &mut first),
        Ended::Done
    ));
    let file = first.finish(true).unwrap();
    let lines = |file: &ResultsFile| -> Vec<usize> {
        file.consoles.iter().map(|log| log.lines.len()).collect()
    };
    assert_eq!(lines(&file), [2], "a later log replaces an earlier one");
    let again = ResultsFile::parse(&file.to_json()).unwrap();
    assert_eq!(again.consoles, file.consoles);
    let stored = wirelab_bench::Stored::default();
    let mut resumed = ResultsWriter::resume(None, again, &stored).unwrap();
    let other = wirelab_trial::Transcript::new("exec:board", "nuttx");
    other.add(wirelab_trial::LineSource::Printed, "three");
    resumed.keep_console(other.log());
    resumed.keep_console(other.log());
    assert_eq!(lines(resumed.file()), [2, 1]);
}
