//! Several processes on one store, and one that is killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common;
use crate::common::{begun, file, open, put};
use wirelab_store::{Location, Selection};

/// The store that a process of this test writes to.
const AT: &str = "WIRELAB_TEST_STORE";

/// This test once more, in a process of its own that writes.
fn writer(test: &str, at: &Location) -> Child {
    let at = match at {
        Location::File(path) => path.display().to_string(),
        Location::Postgres(address) => address.clone(),
    };
    Command::new(std::env::current_exe().expect("this test"))
        .args([
            &format!("processes::{test}"),
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(AT, at)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process")
}

/// In such a process: the store to write to.
fn is_writer() -> Option<Location> {
    Some(std::env::var(AT).ok()?.parse().expect("a store"))
}

/// Writes trials without an end, and says how many are kept.
fn write_trials(at: &Location) -> ! {
    let (whole, mut store) = (file(1), open(at));
    let mut growing = begun(&whole);
    let run = store.begin(&growing, &whole.observations[0].node).unwrap();
    loop {
        growing.observations.push(whole.observations[0].clone());
        store.keep(run, &growing).unwrap();
        println!("\nkept {}", growing.observations.len());
    }
}

fn a_killed_process_loses_nothing_that_it_kept(test: &str, at: &Location) {
    for kill in 1..6_u64 {
        let mut writer = writer(test, at);
        let out = BufReader::new(writer.stdout.take().unwrap());
        let mut counts = out.lines().map_while(Result::ok);
        let mut counts = counts
            .by_ref()
            .filter_map(|line| line.strip_prefix("kept ")?.parse::<usize>().ok());
        let mut kept = counts.next().expect("a first trial");
        // Each time at another moment of its work.
        std::thread::sleep(Duration::from_micros(7_300 * kill));
        writer.kill().unwrap();
        writer.wait().unwrap();
        kept = counts.last().unwrap_or(kept);
        let mut store = open(at);
        let run = store
            .list(&"last".parse::<Selection>().unwrap())
            .unwrap()
            .remove(0);
        assert!(!run.finished);
        let loaded = store.load(run.id).unwrap();
        assert_eq!(loaded.observations.len() as u64, run.trials);
        // The trial that was being written may be there or not.
        assert!(
            (kept..=kept + 1).contains(&loaded.observations.len()),
            "{kept}: {}",
            run.trials
        );
    }
}

fn processes_write_at_once(test: &str, at: &Location) {
    const RUNS: usize = 20;
    if let Some(at) = is_writer() {
        let mut store = open(&at);
        for run in 0..RUNS {
            put(
                &mut store,
                u64::from(std::process::id()) * 1_000_000 + run as u64,
            );
        }
        return;
    }
    let writers: Vec<Child> = (0..3).map(|_| writer(test, at)).collect();
    for writer in writers {
        let ended = writer.wait_with_output().unwrap();
        assert!(
            ended.status.success(),
            "{}",
            String::from_utf8_lossy(&ended.stdout)
        );
    }
    let mut store = open(at);
    let runs = store.list(&Selection::default()).unwrap();
    assert_eq!(runs.len(), 3 * RUNS);
    assert!(runs.iter().all(|run| run.finished));
    assert!(store.load(runs[0].id).is_ok());
}

fn sqlite(test: impl Fn(&Location)) {
    let folder = tempfile::tempdir().expect("a folder");
    test(&Location::File(folder.path().join("results.db")));
}

fn postgres(test: impl Fn(&Location)) {
    if let Some(address) = common::postgres::database() {
        test(&Location::Postgres(address));
    }
}

#[test]
fn a_killed_process_loses_at_most_its_running_trial() {
    match is_writer() {
        Some(at) => write_trials(&at),
        None => sqlite(|at| {
            a_killed_process_loses_nothing_that_it_kept(
                "a_killed_process_loses_at_most_its_running_trial",
                at,
            );
        }),
    }
}

#[test]
fn a_killed_process_loses_at_most_its_running_trial_in_postgres() {
    match is_writer() {
        Some(at) => write_trials(&at),
        None => postgres(|at| {
            let test = "a_killed_process_loses_at_most_its_running_trial_in_postgres";
            a_killed_process_loses_nothing_that_it_kept(test, at);
        }),
    }
}

#[test]
fn several_processes_write_at_once() {
    sqlite(|at| processes_write_at_once("several_processes_write_at_once", at));
}

#[test]
fn several_processes_write_at_once_to_postgres() {
    if is_writer().is_some() {
        processes_write_at_once("", &Location::File("".into()));
        return;
    }
    postgres(|at| processes_write_at_once("several_processes_write_at_once_to_postgres", at));
}
