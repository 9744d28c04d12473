//! Runs a test on both databases, and has results files to put into them.

pub mod postgres;

use wirelab_store::{Location, Store};
use wirelab_trial::ResultsFile;

/// Each test twice: on a new SQLite file and on a new PostgreSQL database.
macro_rules! on_both {
    ($(#[test] fn $name:ident($at:ident: &Location) $body:block)*) => {
        mod sqlite {
            $(#[test]
            fn $name() {
                let folder = tempfile::tempdir().expect("a folder");
                super::$name(&wirelab_store::Location::File(folder.path().join("deep/results.db")));
            })*
        }
        mod postgres {
            $(#[test]
            fn $name() {
                if let Some(address) = $crate::common::postgres::database() {
                    super::$name(&wirelab_store::Location::Postgres(address));
                }
            })*
        }
        $(fn $name($at: &Location) $body)*
    };
}

/// A results file with trials of several layers, begun `at` ns since 1970.
pub fn file(at: u64) -> ResultsFile {
    let mut file = ResultsFile::parse(include_str!("../../../../spec/examples/ports.json"))
        .expect("an example");
    file.created_unix_ns = at;
    file
}

/// The same without its trials.
pub fn begun(file: &ResultsFile) -> ResultsFile {
    ResultsFile {
        observations: Vec::new(),
        parts: Vec::new(),
        interrupted: true,
        ..file.clone()
    }
}

/// Puts a new results file into a store.
pub fn put(store: &mut Store, at: u64) -> i64 {
    store
        .import(&file(at))
        .expect("a store")
        .expect("a new run")
}

/// An open store.
pub fn open(at: &Location) -> Store {
    Store::open(at).expect("a store")
}
