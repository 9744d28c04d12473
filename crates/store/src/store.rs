//! A store: begins runs, keeps them trial by trial, finishes, loads, tags and deletes them.

use wirelab_report::judge::judge;
use wirelab_report::verdict;
use wirelab_trial::{Description, Observation, ResultsFile, check};

use crate::connection::{Connection, Refused, SqlRow, Value};
use crate::error::StoreError;
use crate::location::Location;
use crate::pack::{pack, unpack};
use crate::{figures, schema};

/// An open store.
pub struct Store {
    pub(crate) connection: Connection,
    /// Its name, for messages: without a password.
    pub(crate) name: String,
}

impl Store {
    /// Opens a store, and makes it if it is not there.
    ///
    /// # Errors
    /// [`StoreError`] says what is wrong with the place.
    pub fn open(location: &Location) -> Result<Store, StoreError> {
        let name = location.to_string();
        let closed = |why: String, fix| StoreError::Closed {
            store: name.clone(),
            why,
            fix,
        };
        let connection = match location {
            Location::File(path) => {
                let fix = match path.is_file() {
                    true => "name a store, or a file that is not there yet, with --store=FILE",
                    false => "name a file in a folder that this user may write to, with --store=FILE",
                };
                if let Some(folder) = path.parent() {
                    std::fs::create_dir_all(folder).map_err(|e| closed(e.to_string(), fix))?;
                }
                Connection::sqlite(path).map_err(|e| closed(e.0, fix))
            }
            Location::Postgres(address) => Connection::postgres(address).map_err(|e| {
                closed(e.0, "check that the server runs, and that the address has its user, password and database")
            }),
        };
        let mut connection = connection?;
        schema::migrate(&mut connection, &name)?;
        Ok(Store { connection, name })
    }

    /// Opens a store that must be there already.
    ///
    /// # Errors
    /// [`StoreError::Missing`] where there is none.
    pub fn open_existing(location: &Location) -> Result<Store, StoreError> {
        match location {
            Location::File(path) if !path.exists() => {
                Err(StoreError::Missing(location.to_string()))
            }
            _ => Store::open(location),
        }
    }

    /// Begins a run of a node, and returns its number. `file` has no trials yet.
    ///
    /// # Errors
    /// [`StoreError`] where it cannot be written.
    pub fn begin(&mut self, file: &ResultsFile, node: &Description) -> Result<i64, StoreError> {
        let done = insert(&mut self.connection, file, (&node.name, &node.node_type));
        done.map_err(|error| self.failed(error))
    }

    /// Sets how many trials a run is to have.
    ///
    /// # Errors
    /// [`StoreError`] where it cannot be written.
    pub fn plan(&mut self, run: i64, trials: u64) -> Result<(), StoreError> {
        let values = [
            Value::Int(i64::try_from(trials).unwrap_or(i64::MAX)),
            run.into(),
        ];
        let done = self
            .connection
            .run("UPDATE runs SET planned = $1 WHERE id = $2", &values);
        done.map(drop).map_err(|error| self.failed(error))
    }

    /// Keeps the latest trial of a run: once this returns, only the loss of the disk can remove it. Returns whether the run
    /// must stop.
    ///
    /// # Errors
    /// [`StoreError`] where it cannot be written.
    pub fn keep(&mut self, run: i64, file: &ResultsFile) -> Result<bool, StoreError> {
        let done = self.connection.all_or_nothing(|connection| {
            let from = file.observations.len().saturating_sub(1);
            insert_trials(connection, run, file, from)?;
            update(connection, run, file, None)?;
            let stop = connection.rows("SELECT stop FROM runs WHERE id = $1", &[run.into()])?;
            Ok(stop.first().is_some_and(|row| row.int(0) != 0))
        });
        done.map_err(|error| self.failed(error))
    }

    /// Requests the processes of unfinished runs to end after the current trial.
    ///
    /// # Errors
    /// [`StoreError::NoRun`] where one is not there; then no request is sent.
    pub fn stop(&mut self, runs: &[i64]) -> Result<(), StoreError> {
        self.each(
            runs,
            "UPDATE runs SET stop = 1 WHERE id = $1 AND finished = 0",
            None,
        )
    }

    /// Finishes a run with the whole present content of its results file, and its figures.
    ///
    /// # Errors
    /// [`StoreError`] where it cannot be written.
    pub fn finish(&mut self, run: i64, file: &ResultsFile) -> Result<(), StoreError> {
        let done = self.connection.all_or_nothing(|connection| {
            let kept = "SELECT COUNT(*) FROM trials WHERE run = $1";
            let kept = connection.rows(kept, &[run.into()])?;
            let kept = kept.first().map_or(0, |row| row.int(0));
            insert_trials(connection, run, file, usize::try_from(kept).unwrap_or(0))?;
            figures::replace(connection, run, file)?;
            update(connection, run, file, Some(judge(file).passed()))
        });
        done.map_err(|error| self.failed(error))
    }

    /// Adds a finished results file to the store. Returns the number of the new run, or `Err` with that of the run that equals
    /// it.
    ///
    /// # Errors
    /// [`StoreError`] where it cannot be written.
    pub fn import(&mut self, file: &ResultsFile) -> Result<Result<i64, i64>, StoreError> {
        let command = file.command.join(" ");
        let values = [created(file), Value::text(&command)];
        let same = "SELECT id FROM runs WHERE created_ns = $1 AND command = $2 ORDER BY id";
        for row in self.rows(same, &values)? {
            if self.load(row.int(0))? == *file {
                return Ok(Err(row.int(0)));
            }
        }
        let done = self.connection.all_or_nothing(|connection| {
            let first = file.observations.first().map(|o| &o.node);
            let none = Description::default();
            let node = first.unwrap_or(&none);
            let run = insert(connection, file, (&node.name, &node.node_type))?;
            insert_trials(connection, run, file, 0)?;
            figures::replace(connection, run, file)?;
            update(connection, run, file, Some(judge(file).passed()))?;
            Ok(run)
        });
        done.map(Ok).map_err(|error| self.failed(error))
    }

    /// The results file of a run; of a killed run, with the trials that it kept.
    ///
    /// # Errors
    /// [`StoreError::NoRun`], or [`StoreError::Damaged`] with the place.
    pub fn load(&mut self, run: i64) -> Result<ResultsFile, StoreError> {
        let head = self.rows("SELECT head FROM runs WHERE id = $1", &[run.into()])?;
        let Some(head) = head.first() else {
            return Err(self.no_run(format!("there is no run {run}")));
        };
        let mut file: ResultsFile =
            unpack(head.bytes(0)).map_err(|why| self.damaged(run, String::new(), why))?;
        let trials = "SELECT place, observation FROM trials WHERE run = $1 ORDER BY place";
        for (at, row) in self.rows(trials, &[run.into()])?.iter().enumerate() {
            let place = || format!(", trial {}", row.int(0) + 1);
            if row.int(0) != at as i64 {
                let why = format!("trial {} is missing", at + 1);
                return Err(self.damaged(run, String::new(), why));
            }
            let observation =
                unpack(row.bytes(1)).map_err(|why| self.damaged(run, place(), why))?;
            file.observations.push(observation);
        }
        match check::file(&file) {
            none if none.is_empty() => Ok(file),
            some => Err(self.damaged(run, String::new(), check::in_words(&some).to_string())),
        }
    }

    /// Gives runs a tag.
    ///
    /// # Errors
    /// [`StoreError::NoRun`] where one is not there; then none is tagged.
    pub fn tag(&mut self, runs: &[i64], tag: &str) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO tags (tag, run, node, created_ns) SELECT $1, id, node, created_ns FROM runs WHERE id = $2 \
            ON CONFLICT DO NOTHING";
        self.each(runs, SQL, Some(tag))
    }

    /// Removes a tag from runs.
    ///
    /// # Errors
    /// [`StoreError::NoRun`] where a run is not there; then no tag is removed.
    pub fn untag(&mut self, runs: &[i64], tag: &str) -> Result<(), StoreError> {
        self.each(
            runs,
            "DELETE FROM tags WHERE tag = $1 AND run = $2",
            Some(tag),
        )
    }

    /// Deletes runs with all that belongs to them.
    ///
    /// # Errors
    /// [`StoreError::NoRun`] where one is not there; then none is deleted.
    pub fn delete(&mut self, runs: &[i64]) -> Result<(), StoreError> {
        self.each(runs, "DELETE FROM runs WHERE id = $1", None)
    }

    fn each(&mut self, runs: &[i64], sql: &str, tag: Option<&str>) -> Result<(), StoreError> {
        let missing = self.connection.all_or_nothing(|connection| {
            for run in runs {
                let there =
                    connection.rows("SELECT id FROM runs WHERE id = $1", &[(*run).into()])?;
                if there.is_empty() {
                    return Ok(Some(*run));
                }
            }
            for run in runs {
                let values = tag.map(Value::text).into_iter().chain([Value::Int(*run)]);
                connection.run(sql, &values.collect::<Vec<_>>())?;
            }
            Ok(None)
        });
        match missing.map_err(|error| self.failed(error))? {
            Some(run) => Err(self.no_run(format!("there is no run {run}, so nothing was changed"))),
            None => Ok(()),
        }
    }

    pub(crate) fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<SqlRow>, StoreError> {
        let rows = self.connection.rows(sql, values);
        rows.map_err(|error| self.failed(error))
    }

    pub(crate) fn no_run(&self, what: String) -> StoreError {
        StoreError::NoRun {
            store: self.name.clone(),
            what,
        }
    }

    fn failed(&self, error: Refused) -> StoreError {
        StoreError::Failed {
            store: self.name.clone(),
            why: error.0,
        }
    }

    fn damaged(&self, run: i64, place: String, why: String) -> StoreError {
        StoreError::Damaged {
            store: self.name.clone(),
            run,
            place,
            why,
        }
    }
}

fn created(file: &ResultsFile) -> Value {
    Value::Int(i64::try_from(file.created_unix_ns).unwrap_or(i64::MAX))
}

/// A results file without its trials, which have a table of their own.
fn head(file: &ResultsFile) -> Value {
    Value::Bytes(pack(&file.without_trials()))
}

fn insert(
    connection: &mut Connection,
    file: &ResultsFile,
    (node, node_type): (&str, &str),
) -> Result<i64, Refused> {
    let values = [
        created(file),
        Value::text(node),
        Value::text(node_type),
        Value::text(&file.command.join(" ")),
        Value::text(&file.wirelab_version),
        head(file),
    ];
    let sql = "INSERT INTO runs (created_ns, node, node_kind, command, wirelab_version, finished, verdict, trials, head) \
        VALUES ($1, $2, $3, $4, $5, 0, '', 0, $6) RETURNING id";
    Ok(connection
        .rows(sql, &values)?
        .first()
        .map_or(0, |row| row.int(0)))
}

/// Inserts the trials of a results file, beginning with number `from`.
fn insert_trials(
    connection: &mut Connection,
    run: i64,
    file: &ResultsFile,
    from: usize,
) -> Result<(), Refused> {
    let each = file.observations.iter().enumerate().skip(from);
    for (index, observation) in each {
        let values = [run.into(), Value::Int(index as i64), packed(observation)];
        connection.run(
            "INSERT INTO trials (run, place, observation) VALUES ($1, $2, $3)",
            &values,
        )?;
    }
    Ok(())
}

fn packed(observation: &Observation) -> Value {
    Value::Bytes(pack(observation))
}

/// Writes the present state of a run; `passed` is known only at its end.
fn update(
    connection: &mut Connection,
    run: i64,
    file: &ResultsFile,
    passed: Option<bool>,
) -> Result<(), Refused> {
    let ended = match passed {
        Some(_) => verdict(file),
        None => String::new(),
    };
    let values = [
        head(file),
        Value::Int(file.observations.len() as i64),
        Value::Int(passed.is_some().into()),
        passed.map_or(Value::Null, |passed| Value::Int(passed.into())),
        Value::text(&ended),
        run.into(),
    ];
    let sql = "UPDATE runs SET head = $1, trials = $2, finished = $3, passed = $4, verdict = $5 WHERE id = $6";
    connection.run(sql, &values).map(drop)
}
