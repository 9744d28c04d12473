//! The store as a user meets it: results are kept while they are measured, found again, compared, passed on and deleted.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::{PREDICT, refused, scratch, stderr, stdout};
use crate::postgres;
use serde_json::Value;

/// A store on a file, or on a server.
struct TestStore {
    store: String,
    folder: tempfile::TempDir,
}

impl TestStore {
    fn file() -> TestStore {
        let folder = tempfile::tempdir().expect("a folder");
        let store = folder.path().join("results.db").display().to_string();
        TestStore { store, folder }
    }

    /// A new database; `None` where there is no server.
    fn postgres() -> Option<TestStore> {
        let store = postgres::database()?;
        Some(TestStore {
            store,
            ..TestStore::file()
        })
    }

    /// A call with this store in its environment.
    fn call(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirelab"));
        command.args(args).env("WIRELAB_STORE", &self.store);
        command.output().expect("the program")
    }

    fn done(&self, args: &[&str]) -> String {
        let output = self.call(args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stdout(&output)
    }

    fn refused(&self, args: &[&str], words: &str) {
        let output = self.call(args);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
        assert!(told.contains(words), "{args:?}: {told}");
    }

    fn runs(&self, args: &[&str]) -> Vec<Value> {
        let list = self.done(&[&["results", "list", "--json"], args].concat());
        serde_json::from_str(&list).expect("a list")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Predicts the same with a change, kept with a tag.
    fn predict(&self, tag: &str, change: &[&str]) {
        self.done(&[&PREDICT[..], &["--store", "--tag", tag], change].concat());
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("plain text")
}

fn a_run_is_kept_found_compared_and_passed_on(at: &TestStore) {
    at.predict("main", &[]);
    at.predict("branch", &["--set", "in-flight=2"]);
    let runs = at.runs(&[]);
    assert_eq!((&runs[0]["id"], &runs[1]["id"]), (&2.into(), &1.into()));
    assert_eq!(runs[1]["tags"], serde_json::json!(["main"]));
    assert_eq!(
        (&runs[0]["node"], &runs[0]["passed"]),
        (&"model:lpc1768".into(), &true.into())
    );
    let shown = at.done(&["results", "list", "--tag", "main"]);
    assert!(
        shown.contains("✓ passed") && !shown.contains("in-flight"),
        "{shown}"
    );
    assert_eq!(
        at.runs(&["--limit", "1", "--since", "1d", "--node", "model:lpc1768"])
            .len(),
        1
    );
    assert!(at.runs(&["--until", "2020-01-01"]).is_empty());
    let better = at.done(&["compare", "store:1", "store:tag=branch,last"]);
    assert!(
        better.contains("run 2 against run 1") && better.contains("1 better"),
        "{better}"
    );
    let gated = at.call(&["compare", "store:2", "store:1", "--fail-if", "worse:5%"]);
    assert_eq!(gated.status.code(), Some(1));
    let again = [
        "measure",
        "lpc1768",
        "--length",
        "1514",
        "--buffers",
        "copied",
        "--against",
        "store:tag=main,last",
    ];
    assert!(at.done(&again).contains("this run against run 1"));
    let (json, page) = (at.path("run.json"), at.path("run.html"));
    at.done(&["results", "export", "2", "-o", text(&json)]);
    at.done(&["results", "show", "2", "-o", text(&page)]);
    assert_eq!(
        at.done(&["results", "show", "2", "--json"]),
        std::fs::read_to_string(&json).unwrap()
    );
    assert!(
        std::fs::read_to_string(&page)
            .unwrap()
            .contains("model:lpc1768")
    );
    assert!(
        at.done(&["results", "import", text(&json)])
            .contains("2  already in the store")
    );
    let table = at.path("figures.parquet");
    at.done(&["results", "export", "1,2", "-o", text(&table)]);
    assert!(std::fs::read(&table).unwrap().starts_with(b"PAR1"));
    at.done(&["results", "tag", "2", "good", "kept"]);
    at.done(&["results", "tag", "2", "kept", "--remove"]);
    assert_eq!(
        at.runs(&["--tag", "good"])[0]["tags"],
        serde_json::json!(["branch", "good"])
    );
    assert!(
        at.done(&["results", "delete", "2"])
            .contains("1 run deleted")
    );
    assert_eq!(at.runs(&[]).len(), 1);
    assert!(
        at.done(&["results", "import", "--tag", "back", text(&json)])
            .contains("3  new")
    );
    assert_eq!(at.runs(&["--tag", "back"]).len(), 1);
}

#[test]
fn a_run_is_kept_found_compared_and_passed_on_in_a_file() {
    a_run_is_kept_found_compared_and_passed_on(&TestStore::file());
}

#[test]
fn a_run_is_kept_found_compared_and_passed_on_by_postgres() {
    if let Some(at) = TestStore::postgres() {
        a_run_is_kept_found_compared_and_passed_on(&at);
    }
}

/// A study's trials are a run like others, a part for each study.
#[test]
fn the_trials_of_a_study_are_kept() {
    let at = TestStore::file();
    at.done(&[
        "study",
        "run",
        "lpc1768",
        "ethernet-fmc",
        "--store",
        "--tag",
        "published",
    ]);
    let runs = at.runs(&["--tag", "published"]);
    assert_eq!(runs.len(), 1, "{runs:?}");
    let trials = runs[0]["trials"].as_u64().unwrap();
    assert!(trials > 5, "{runs:?}");
    let file = at.path("study.json");
    at.done(&["results", "export", "1", "-o", text(&file)]);
    let text = std::fs::read_to_string(file).expect("exported");
    let file = wirelab_trial::ResultsFile::parse(&text).expect("a results file");
    let parts: Vec<(&str, u64)> = file
        .parts
        .iter()
        .map(|part| (part.name.as_str(), part.observations))
        .collect();
    assert_eq!(
        parts.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        ["lpc1768", "ethernet-fmc"]
    );
    assert_eq!(parts.iter().map(|(_, trials)| trials).sum::<u64>(), trials);
}

#[test]
fn the_store_is_served_until_an_interrupt() {
    let at = TestStore::file();
    let serve = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirelab"));
        command
            .arg("serve")
            .args(args)
            .env("WIRELAB_STORE", &at.store);
        command
    };
    let closed = serve(&["--listen", "127.0.0.1:0"])
        .output()
        .expect("the program");
    assert_eq!(closed.status.code(), Some(2));
    assert!(stderr(&closed).contains("there is no store"));
    at.predict("main", &[]);
    let open = serve(&["--listen", "0.0.0.0:0"])
        .env_remove("WIRELAB_TOKEN")
        .output()
        .expect("the program");
    assert_eq!(open.status.code(), Some(2));
    assert!(stderr(&open).contains("fix: put one of at least 16 characters into WIRELAB_TOKEN"));
    let mut served = serve(&["--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut said = String::new();
    let out = served.stdout.as_mut().expect("piped");
    BufReader::new(out).read_line(&mut said).expect("a line");
    let address = said
        .strip_prefix("http://")
        .and_then(|rest| rest.split('/').next())
        .expect("an address");
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(
        stream,
        "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .expect("it reads");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("a page");
    assert!(
        page.starts_with("HTTP/1.1 200") && page.contains("model:lpc1768"),
        "{page}"
    );
    let pid = nix::unistd::Pid::from_raw(served.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("it runs");
    assert_eq!(served.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_damaged_file_is_not_imported_and_the_place_is_named() {
    let at = TestStore::file();
    let whole = at.path("whole.json");
    at.done(&["predict", "lpc1768", "--length", "64", "-o", text(&whole)]);
    let good = std::fs::read_to_string(&whole).unwrap();
    let damaged = at.path("damaged.json");
    for (bad, says) in [
        (good[..good.len() / 2].to_owned(), "line"),
        (good.replace("\"environment\"", "\"other\""), "line"),
        (
            good.replacen("\"version\": ", "\"version\": 9", 1),
            "version",
        ),
    ] {
        std::fs::write(&damaged, bad).unwrap();
        at.refused(&["results", "import", text(&damaged)], says);
        at.refused(&["results", "import", text(&damaged)], "damaged.json");
    }
    assert!(at.runs(&[]).is_empty());
}

#[test]
fn no_password_gets_into_messages_and_results() {
    let Some(at) = TestStore::postgres() else {
        return;
    };
    let address = format!("{}&password=geheim", at.store);
    let json = at.path("run.json");
    // A space in place of the = as well.
    let args = [
        "predict",
        "lpc1768",
        "--length",
        "64",
        "-o",
        text(&json),
        "--store",
        &address,
    ];
    let output = at.call(&args);
    assert!(output.status.success(), "{}", stderr(&output));
    let told = format!("{}{}", stdout(&output), stderr(&output));
    assert!(
        told.contains("password=***") && !told.contains("geheim"),
        "{told}"
    );
    let file = std::fs::read_to_string(&json).unwrap();
    assert!(file.contains("password=***") && !file.contains("geheim"));
    assert!(!at.done(&["results", "list", "--json"]).contains("geheim"));
}

#[test]
fn a_request_that_cannot_be_is_refused_with_a_fix() {
    let missing = scratch("no-store.db");
    let missing = text(&missing);
    refused(
        &["results", "list", "--store", missing],
        "fix: measure with --store",
    );
    assert!(!Path::new(missing).exists());
    refused(
        &["results", "list", "--store", "mysql://x"],
        "fix: write postgres://",
    );
    refused(
        &["predict", "lpc1768", "--store=/proc/none.db"],
        "fix: name a file in a folder",
    );
    refused(&["predict", "lpc1768", "--tag", "main"], "--store");
    let at = TestStore::file();
    at.predict("main", &[]);
    at.refused(&["results", "show", "7"], "there is no run 7");
    at.refused(&["results", "delete", "colour=red"], "there is no 'colour'");
    at.refused(&["results", "list", "--since", "soon"], "fix: write a date");
    at.refused(
        &["compare", "store:1", "store:tag=none,last"],
        "no run is selected",
    );
    let wrong = at.path("run.xls");
    at.refused(
        &["results", "export", "1", "-o", text(&wrong)],
        "exported as .json or .parquet",
    );
    // What is refused before a trial runs leaves no run behind.
    at.refused(&["predict", "lpc1768", "--length", "9999", "--store"], "");
    assert_eq!(at.runs(&[]).len(), 1);
}
