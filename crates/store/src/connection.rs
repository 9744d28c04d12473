//! One interface to both databases: statements with `$1` placeholders, values, rows, transactions.

use std::error::Error;
use std::time::{Duration, Instant};

use postgres::types::private::BytesMut;
use postgres::types::{IsNull, ToSql, Type};
use rusqlite::ErrorCode;
use rusqlite::types::{ToSqlOutput, ValueRef};

use crate::tls;

/// How long a writer waits for other writers of the same file.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two attempts of what is refused at once.
const AGAIN: Duration = Duration::from_millis(5);
/// How long a connection to a server may take, unless its address sets a time.
const CONNECT: Duration = Duration::from_secs(10);

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// A whole number, also a truth value.
    Int(i64),
    /// A number.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Value {
    /// Text without NUL, which PostgreSQL does not accept.
    pub fn text(text: &str) -> Value {
        Value::Text(text.replace('\0', "\u{fffd}"))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(number)
    }
}

/// Why a statement failed, in the database's words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

impl From<rusqlite::Error> for Refused {
    fn from(error: rusqlite::Error) -> Refused {
        Refused(error.to_string())
    }
}

impl From<postgres::Error> for Refused {
    fn from(error: postgres::Error) -> Refused {
        // The error itself only says "db error"; its source has the details.
        let why = error
            .source()
            .map_or_else(|| error.to_string(), ToString::to_string);
        Refused(why)
    }
}

/// A row of an answer. A column of an unexpected type reads as empty: another program may have changed the file.
pub struct SqlRow(Vec<Value>);

impl SqlRow {
    /// A whole number, 0 where there is none.
    pub fn int(&self, at: usize) -> i64 {
        self.some_int(at).unwrap_or(0)
    }

    /// A whole number, if there is one.
    pub fn some_int(&self, at: usize) -> Option<i64> {
        match self.0.get(at) {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        }
    }

    /// A number.
    pub fn real(&self, at: usize) -> f64 {
        match self.0.get(at) {
            Some(Value::Real(number)) => *number,
            Some(Value::Int(number)) => *number as f64,
            _ => f64::NAN,
        }
    }

    /// Text, empty where there is none.
    pub fn text(&self, at: usize) -> String {
        match self.0.get(at) {
            Some(Value::Text(text)) => text.clone(),
            _ => String::new(),
        }
    }

    /// Bytes, empty where there are none.
    pub fn bytes(&self, at: usize) -> &[u8] {
        match self.0.get(at) {
            Some(Value::Bytes(bytes)) => bytes,
            _ => &[],
        }
    }
}

/// Repeats what SQLite refuses at once while another process has the file, whatever the busy timeout: a change of the journal.
fn patiently(change: impl Fn() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    let end = Instant::now() + PATIENCE;
    loop {
        match change() {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < end =>
            {
                std::thread::sleep(AGAIN);
            }
            done => return done,
        }
    }
}

/// A connection to a database.
pub enum Connection {
    /// A SQLite file.
    Sqlite(rusqlite::Connection),
    /// A PostgreSQL server.
    Postgres(Box<postgres::Client>),
}

impl Connection {
    /// Opens a SQLite file, and creates it if it does not exist.
    pub fn sqlite(path: &std::path::Path) -> Result<Connection, Refused> {
        let connection = rusqlite::Connection::open(path)?;
        connection.busy_timeout(PATIENCE)?;
        // Readers and a writer do not wait for each other.
        patiently(|| connection.execute_batch("PRAGMA journal_mode = WAL"))?;
        // FULL: a stored trial survives a power failure.
        connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")?;
        Ok(Connection::Sqlite(connection))
    }

    /// Connects to a PostgreSQL database by its address, with TLS if the address requests it.
    pub fn postgres(address: &str) -> Result<Connection, Refused> {
        let (address, tls) = tls::of_address(address).map_err(Refused)?;
        let mut config: postgres::Config = address.parse()?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_application_name().is_none() {
            config.application_name("wirelab");
        }
        let client = match tls {
            None => config.connect(postgres::NoTls)?,
            Some(tls) => config.connect(tls).map_err(|error| {
                let Refused(why) = error.into();
                Refused(format!("{why}; {}", tls::fix(&why)))
            })?,
        };
        Ok(Connection::Postgres(Box::new(client)))
    }

    /// Runs a statement; returns the number of changed rows.
    pub fn run(&mut self, sql: &str, values: &[Value]) -> Result<u64, Refused> {
        match self {
            Connection::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql)?;
                Ok(statement.execute(rusqlite::params_from_iter(values))? as u64)
            }
            Connection::Postgres(client) => Ok(client.execute(sql, &parameters(values))?),
        }
    }

    /// Runs several statements without values.
    pub fn batch(&mut self, sql: &str) -> Result<(), Refused> {
        match self {
            Connection::Sqlite(connection) => connection.execute_batch(sql)?,
            Connection::Postgres(client) => client.batch_execute(sql)?,
        }
        Ok(())
    }

    /// The rows of an answer.
    pub fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<SqlRow>, Refused> {
        match self {
            Connection::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql)?;
                let columns = statement.column_count();
                let row = |row: &rusqlite::Row<'_>| {
                    let value = |at| Ok(of_sqlite(row.get_ref(at)?));
                    (0..columns)
                        .map(value)
                        .collect::<rusqlite::Result<_>>()
                        .map(SqlRow)
                };
                let found = statement.query_map(rusqlite::params_from_iter(values), row)?;
                Ok(found.collect::<rusqlite::Result<_>>()?)
            }
            Connection::Postgres(client) => {
                let found = client.query(sql, &parameters(values))?;
                let row = |row: &postgres::Row| {
                    (0..row.len())
                        .map(|at| of_postgres(row, at))
                        .collect::<Result<_, _>>()
                        .map(SqlRow)
                };
                Ok(found
                    .iter()
                    .map(row)
                    .collect::<Result<_, postgres::Error>>()?)
            }
        }
    }

    /// Does all of `work` or none of it.
    pub fn all_or_nothing<T>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        // SQLite refuses a transaction that reads first and writes later during another write. One that begins as a writer
        // waits.
        self.batch(match self {
            Connection::Sqlite(_) => "BEGIN IMMEDIATE",
            Connection::Postgres(_) => "BEGIN",
        })?;
        let done = work(self).and_then(|done| self.batch("COMMIT").map(|()| done));
        if done.is_err() {
            // The first error matters more than a failure here, after which nothing is kept anyway.
            let _ = self.batch("ROLLBACK");
        }
        done
    }
}

fn parameters(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values
        .iter()
        .map(|value| value as &(dyn ToSql + Sync))
        .collect()
}

fn of_sqlite(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_owned()),
    }
}

fn of_postgres(row: &postgres::Row, at: usize) -> Result<Value, postgres::Error> {
    let column = row.columns()[at].type_();
    let value = match *column {
        Type::INT8 => row.try_get::<_, Option<i64>>(at)?.map(Value::Int),
        Type::FLOAT8 => row.try_get::<_, Option<f64>>(at)?.map(Value::Real),
        Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(at)?.map(Value::Bytes),
        _ => row.try_get::<_, Option<String>>(at)?.map(Value::Text),
    };
    Ok(value.unwrap_or(Value::Null))
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(number) => number.to_sql_checked(of, out),
            Value::Real(number) => number.to_sql_checked(of, out),
            Value::Text(text) => text.to_sql_checked(of, out),
            Value::Bytes(bytes) => bytes.to_sql_checked(of, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    postgres::types::to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn refused(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None)
    }

    #[test]
    fn what_a_busy_file_refuses_is_tried_again_and_other_errors_are_not() {
        let attempts = Cell::new(0);
        let busy_twice = || {
            attempts.set(attempts.get() + 1);
            match attempts.get() {
                3 => Ok(()),
                _ => Err(refused(rusqlite::ffi::SQLITE_BUSY)),
            }
        };
        assert!(patiently(busy_twice).is_ok());
        assert_eq!(attempts.get(), 3);
        let tried = Cell::new(0);
        let damaged = || {
            tried.set(tried.get() + 1);
            Err(refused(rusqlite::ffi::SQLITE_NOTADB))
        };
        assert!(patiently(damaged).is_err());
        assert_eq!(tried.get(), 1);
    }
}
