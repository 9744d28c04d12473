//! The tables, the same in both databases, and the steps from each version of them to the next.

use crate::connection::{Connection, Refused};
use crate::error::StoreError;

/// The steps; the version of a store is the number of steps that it has taken. A released step never changes.
///
/// `{id}` is a number that the database counts up and never gives twice, `{bytes}` its type for bytes.
const STEPS: [&str; 1] = ["
CREATE TABLE runs (
    id {id},
    -- Nanoseconds since 1970.
    created_ns BIGINT NOT NULL,
    node TEXT NOT NULL,
    node_kind TEXT NOT NULL,
    command TEXT NOT NULL,
    wirelab_version TEXT NOT NULL,
    -- 0 while its trials run, and for good if its process was killed.
    finished BIGINT NOT NULL,
    -- 1 where its process is to end after the running trial.
    stop BIGINT NOT NULL DEFAULT 0,
    -- Whether nothing failed: 1 or 0.
    passed BIGINT,
    verdict TEXT NOT NULL,
    trials BIGINT NOT NULL,
    -- How many it is to have, where its plan says.
    planned BIGINT,
    -- The results file without its trials: compressed JSON.
    head {bytes} NOT NULL
);
CREATE INDEX runs_created ON runs (created_ns, id);
CREATE INDEX runs_node ON runs (node, created_ns, id);
CREATE TABLE trials (
    run BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    place BIGINT NOT NULL,
    -- An observation: compressed JSON.
    observation {bytes} NOT NULL,
    PRIMARY KEY (run, place)
);
CREATE TABLE tags (
    tag TEXT NOT NULL,
    run BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    -- Those of the run, so that the latest of a tag are found without the others.
    node TEXT NOT NULL,
    created_ns BIGINT NOT NULL,
    PRIMARY KEY (run, tag)
);
CREATE INDEX tags_created ON tags (tag, created_ns, run);
CREATE INDEX tags_node ON tags (tag, node, created_ns, run);
CREATE TABLE figures (
    run BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    place BIGINT NOT NULL,
    -- The same for the same figure of the same trial in every run.
    figure_key TEXT NOT NULL,
    trial TEXT NOT NULL,
    figure TEXT NOT NULL,
    unit TEXT NOT NULL,
    -- measured, emulated, predicted, calibrated or published.
    kind TEXT NOT NULL,
    higher_is_better BIGINT NOT NULL,
    repeats BIGINT NOT NULL,
    median DOUBLE PRECISION NOT NULL,
    low DOUBLE PRECISION NOT NULL,
    high DOUBLE PRECISION NOT NULL,
    -- Repeats of which the tester was the limit.
    tester_limited BIGINT NOT NULL,
    PRIMARY KEY (run, place)
);
CREATE INDEX figures_key ON figures (figure_key, run);
"];

const VERSION: &str = "SELECT version FROM wirelab_store";

/// The key of the lock that every wirelab takes while it changes tables: any number, but the same for all.
const LOCK: i64 = 0x77_69_72_65_6c_61_62;

/// Brings the tables to this version.
///
/// # Errors
/// [`StoreError::Newer`] for a store of a later version.
pub fn migrate(connection: &mut Connection, store: &str) -> Result<(), StoreError> {
    let failed = |error: Refused| StoreError::Closed {
        store: store.to_owned(),
        why: error.0,
        fix: "name a file that wirelab made, or a database in which this user may make tables",
    };
    let known = STEPS.len() as i64;
    // Most stores have this version already; then a user without the right to create tables can read them, too.
    let version = connection.rows(VERSION, &[]);
    if version.is_ok_and(|rows| rows.first().is_some_and(|row| row.int(0) == known)) {
        return Ok(());
    }
    let done = connection.all_or_nothing(|connection| {
        if matches!(connection, Connection::Postgres(_)) {
            connection.batch(&format!("SELECT pg_advisory_xact_lock({LOCK})"))?;
        }
        connection.batch("CREATE TABLE IF NOT EXISTS wirelab_store (version BIGINT NOT NULL)")?;
        let rows = connection.rows(VERSION, &[])?;
        let found = rows.first().map(|row| row.int(0));
        let taken = usize::try_from(found.unwrap_or(0)).unwrap_or(0);
        for step in STEPS.iter().skip(taken) {
            connection.batch(&in_words_of(connection, step))?;
        }
        match found {
            None => connection.run("INSERT INTO wirelab_store VALUES ($1)", &[known.into()])?,
            Some(version) if version < known => {
                connection.run("UPDATE wirelab_store SET version = $1", &[known.into()])?
            }
            Some(_) => 0,
        };
        Ok(found)
    });
    match done.map_err(failed)? {
        Some(found) if found > known => Err(StoreError::Newer {
            store: store.to_owned(),
            found,
            known,
        }),
        _ => Ok(()),
    }
}

fn in_words_of(connection: &Connection, step: &str) -> String {
    let (id, bytes) = match connection {
        Connection::Sqlite(_) => ("INTEGER PRIMARY KEY AUTOINCREMENT", "BLOB"),
        Connection::Postgres(_) => ("BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "BYTEA"),
    };
    step.replace("{id}", id).replace("{bytes}", bytes)
}
