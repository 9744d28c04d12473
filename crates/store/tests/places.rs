//! Places that hold no store, stores of another version, and stores with damaged runs.

use crate::common::{open, put};
use wirelab_store::{Location, Selection, Store, StoreError};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn why(opened: Result<Store, StoreError>) -> String {
    let error = opened.err().expect("refused").to_string();
    assert!(error.contains("fix: "), "{error}");
    error
}

#[test]
fn what_is_no_store_is_refused_with_its_place() {
    let folder = folder();
    let path = folder.path().join("notes.txt");
    std::fs::write(
        &path,
        "a text that is longer than the head of a database".repeat(9),
    )
    .unwrap();
    let said = why(Store::open(&Location::File(path.clone())));
    assert!(
        said.contains("notes.txt")
            && said.contains("not a database; fix: name a store, or a file that is not there yet"),
        "{said}"
    );
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .starts_with("a text"),
        "it is unchanged"
    );
    assert!(why(Store::open(&Location::File(path.join("below")))).contains("below"));
    let missing = folder.path().join("missing.db");
    assert!(why(Store::open_existing(&Location::File(missing.clone()))).contains("missing.db"));
    assert!(!missing.exists());
}

#[test]
fn an_empty_file_becomes_a_store() {
    let folder = folder();
    let path = folder.path().join("empty.db");
    std::fs::write(&path, "").unwrap();
    let at = Location::File(path);
    let run = put(&mut Store::open_existing(&at).unwrap(), 1);
    assert!(open(&at).load(run).is_ok());
}

#[test]
fn a_server_that_is_not_there_is_named_without_its_password() {
    let address = "postgres://me:geheim@127.0.0.1:1/x?connect_timeout=1";
    let said = why(Store::open(&Location::Postgres(address.to_owned())));
    assert!(
        said.contains("me:***@127.0.0.1:1") && !said.contains("geheim"),
        "{said}"
    );
    let said = why(Store::open(&Location::Postgres(
        "postgres://me:geheim@h:port/x".to_owned(),
    )));
    assert!(!said.contains("geheim"), "{said}");
}

#[test]
fn a_store_of_a_later_version_is_left_alone() {
    let folder = folder();
    let path = folder.path().join("results.db");
    let at = Location::File(path.clone());
    put(&mut open(&at), 1);
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute("UPDATE wirelab_store SET version = 99", [])
        .unwrap();
    assert!(matches!(
        Store::open(&at),
        Err(StoreError::Newer { found: 99, .. })
    ));
    let version: i64 = other
        .query_row("SELECT version FROM wirelab_store", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 99);
}

#[test]
fn a_damaged_run_is_refused_with_its_place() {
    let folder = folder();
    let path = folder.path().join("results.db");
    let at = Location::File(path.clone());
    let mut store = open(&at);
    let runs = [
        put(&mut store, 1),
        put(&mut store, 2),
        put(&mut store, 3),
        put(&mut store, 4),
    ];
    let other = rusqlite::Connection::open(&path).unwrap();
    for (change, run, says) in [
        (
            "UPDATE trials SET observation = x'00' WHERE run = 1 AND place = 1",
            1,
            "run 1, trial 2 is damaged",
        ),
        (
            "DELETE FROM trials WHERE run = 2 AND place = 0",
            2,
            "run 2 is damaged: trial 1 is missing",
        ),
        (
            "UPDATE runs SET head = 'words' WHERE id = 3",
            3,
            "run 3 is damaged",
        ),
    ] {
        other.execute(change, []).unwrap();
        let error = store.load(run).unwrap_err();
        assert!(
            !error.is_usage() && error.to_string().contains(says),
            "{error}"
        );
    }
    assert!(store.load(runs[3]).is_ok());
    assert_eq!(
        store.list(&Selection::default()).unwrap().len(),
        4,
        "the list still shows them"
    );
}
