//! A store of a million runs lists any node, tag or date in less than 200 ms, in SQLite and in PostgreSQL.

#[allow(dead_code, reason = "the example has a main function")]
#[path = "../examples/million.rs"]
mod million;
#[allow(dead_code, reason = "nothing here is encrypted")]
#[path = "common/postgres.rs"]
mod server;

use wirelab_store::Location;

/// The slowest list, of which others on the machine lengthen at most two of three.
fn lists_at_once(at: &Location) {
    let longest = million::longest_ms(at, 1_000_000).expect("a store");
    assert!(longest < 200.0, "{longest:.1} ms");
}

#[test]
fn a_million_runs_are_listed_at_once_in_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    lists_at_once(&Location::File(folder.path().join("results.db")));
}

#[test]
fn a_million_runs_are_listed_at_once_in_postgres() {
    if let Some(address) = server::database() {
        lists_at_once(&Location::Postgres(address));
    }
}
