//! Lists the runs of a selection, the latest first.

use serde::Serialize;
use wirelab_report::document::{Block, Document};
use wirelab_trial::format::{integer, utc};

use crate::connection::{Row, Value};
use crate::error::StoreError;
use crate::selection::Selection;
use crate::store::Store;

/// A run, without its trials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Run {
    /// Its number.
    pub id: i64,
    /// When it was begun, in ns since 1970.
    pub created_unix_ns: u64,
    /// The node's name.
    pub node: String,
    /// The node's type.
    pub node_kind: String,
    /// The command that made it.
    pub command: String,
    /// Version of wirelab that made it.
    pub wirelab_version: String,
    /// Whether it ended; false while it runs, and forever if its process was killed.
    pub finished: bool,
    /// Whether nothing failed; none before the end.
    pub passed: Option<bool>,
    /// How it went, in a sentence; empty before the end.
    pub verdict: String,
    /// Its trials.
    pub trials: u64,
    /// The planned number; none if its plan does not say, like that of a search.
    pub planned: Option<u64>,
    /// Its tags, in order.
    pub tags: Vec<String>,
}

impl Run {
    /// Its trials; for an unfinished run also the planned number.
    pub fn progress(&self) -> String {
        match self.planned.filter(|_| !self.finished) {
            Some(planned) => format!("{} of {}", integer(self.trials), integer(planned)),
            None => integer(self.trials),
        }
    }

    /// How it went, in a word with a mark that needs no colour.
    pub const fn result(&self) -> &'static str {
        match (self.finished, self.passed) {
            (false, _) => "… not finished",
            (true, Some(true)) => "✓ passed",
            (true, _) => "✗ failed",
        }
    }

    /// Its command without the folder of the program.
    pub fn short_command(&self) -> &str {
        let program = self.command.split(' ').next().unwrap_or_default();
        let begin = program.rfind('/').map_or(0, |at| at + 1);
        self.command.get(begin..).unwrap_or(&self.command)
    }

    /// How long it will still take at the pace so far, in seconds; none if that is unknown.
    pub fn seconds_left(&self, now_ns: u64) -> Option<u64> {
        let left = self
            .planned
            .filter(|_| !self.finished)?
            .checked_sub(self.trials)?;
        let passed = u128::from(now_ns.checked_sub(self.created_unix_ns)?);
        let left = passed * u128::from(left) / u128::from(self.trials).max(1) / 1_000_000_000;
        u64::try_from(left).ok().filter(|_| self.trials > 0)
    }
}

/// The runs as a page; `more_than` is the limit of a list that leaves others out.
pub fn page(runs: &[Run], more_than: Option<u32>) -> Document<'static> {
    let heads = vec![
        ("run", true),
        ("begun", false),
        ("node", false),
        ("trials", true),
        ("result", false),
        ("tags", false),
        ("command", false),
    ];
    let row = |run: &Run| {
        vec![
            run.id.to_string(),
            utc(run.created_unix_ns),
            run.node.clone(),
            run.progress(),
            run.result().to_owned(),
            run.tags.join(", "),
            run.short_command().to_owned(),
        ]
    };
    let listed = match runs.is_empty() {
        true => Block::Words("No run is selected.".to_owned()),
        false => Block::sentences(heads, runs.iter().map(row).collect()),
    };
    let more = more_than.map(|limit| {
        Block::Words(format!(
            "There are more than these {limit}; --limit lists more of them."
        ))
    });
    Document {
        title: "Runs in the store".to_owned(),
        blocks: std::iter::once(listed).chain(more).collect(),
        ..Document::default()
    }
}

/// Runs whose tags are queried at once.
const AT_ONCE: usize = 500;

impl Store {
    /// The runs of a selection, the latest first.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot be read.
    pub fn list(&mut self, selection: &Selection) -> Result<Vec<Run>, StoreError> {
        let (sql, values) = query(selection);
        let rows = self.rows(&sql, &values)?;
        let mut runs: Vec<Run> = rows.iter().map(run).collect();
        for some in runs.chunks_mut(AT_ONCE) {
            self.add_tags(some)?;
        }
        Ok(runs)
    }

    /// The runs of a selection, the earliest first, which must name its runs: by numbers, by `last`, or because it meets
    /// just one.
    ///
    /// # Errors
    /// [`StoreError::NoRun`] where it names none, or does not say which of several.
    pub fn chosen(&mut self, selection: &Selection) -> Result<Vec<Run>, StoreError> {
        let mut runs = self.list(selection)?;
        let missing = selection
            .ids
            .iter()
            .find(|id| runs.iter().all(|run| run.id != **id));
        if let Some(id) = missing {
            return Err(self.no_run(format!(
                "there is no run {id}, or it is not among the selected ones"
            )));
        }
        if runs.is_empty() {
            return Err(self.no_run("no run is selected".to_owned()));
        }
        if runs.len() > 1 && selection.ids.is_empty() && selection.last.is_none() {
            let count = runs.len();
            return Err(self.no_run(format!(
                "{count} runs are selected; fix: add ',last' for the latest of them, or ',last={count}' for all"
            )));
        }
        runs.reverse();
        Ok(runs)
    }

    fn add_tags(&mut self, runs: &mut [Run]) -> Result<(), StoreError> {
        if runs.is_empty() {
            return Ok(());
        }
        let ids: Vec<String> = runs.iter().map(|run| run.id.to_string()).collect();
        let sql = format!(
            "SELECT run, tag FROM tags WHERE run IN ({}) ORDER BY run, tag",
            ids.join(", ")
        );
        for row in self.rows(&sql, &[])? {
            if let Some(run) = runs.iter_mut().find(|run| run.id == row.int(0)) {
                run.tags.push(row.text(1));
            }
        }
        Ok(())
    }
}

/// The conditions of a selection, except for the tag and the number of runs; the columns of a run's node and beginning are
/// those of the caller's index.
pub fn conditions(
    selection: &Selection,
    of_node: &str,
    created: &str,
    values: &mut Vec<Value>,
) -> Vec<String> {
    let node = selection.node.as_deref().map(Value::text);
    let all = [
        (of_node, "=", node),
        (created, ">=", selection.since_ns.map(Value::Int)),
        (created, "<", selection.before_ns.map(Value::Int)),
    ];
    let mut conditions = Vec::new();
    for (column, compared, value) in all {
        if let Some(value) = value {
            values.push(value);
            conditions.push(format!("{column} {compared} ${}", values.len()));
        }
    }
    if !selection.ids.is_empty() {
        let ids: Vec<String> = selection.ids.iter().map(ToString::to_string).collect();
        conditions.push(format!("runs.id IN ({})", ids.join(", ")));
    }
    conditions
}

/// Each order is that of an index, so that only the listed rows are read.
fn query(selection: &Selection) -> (String, Vec<Value>) {
    let mut sql = "SELECT runs.id, runs.created_ns, runs.node, runs.node_kind, runs.command, runs.wirelab_version, \
        runs.finished, runs.passed, runs.verdict, runs.trials, runs.planned FROM "
        .to_owned();
    let (from, of_node, created, id) = match &selection.tag {
        Some(_) => (
            "tags JOIN runs ON runs.id = tags.run",
            "tags.node",
            "tags.created_ns",
            "tags.run",
        ),
        None => ("runs", "runs.node", "runs.created_ns", "runs.id"),
    };
    sql.push_str(from);
    let mut values = Vec::new();
    let mut all = conditions(selection, of_node, created, &mut values);
    if let Some(tag) = &selection.tag {
        values.push(Value::text(tag));
        all.push(format!("tags.tag = ${}", values.len()));
    }
    if !all.is_empty() {
        sql.push_str(&format!(" WHERE {}", all.join(" AND ")));
    }
    sql.push_str(&format!(" ORDER BY {created} DESC, {id} DESC"));
    if let Some(last) = selection.last {
        values.push(i64::from(last).into());
        sql.push_str(&format!(" LIMIT ${}", values.len()));
    }
    (sql, values)
}

fn run(row: &Row) -> Run {
    Run {
        id: row.int(0),
        created_unix_ns: u64::try_from(row.int(1)).unwrap_or(0),
        node: row.text(2),
        node_kind: row.text(3),
        command: row.text(4),
        wirelab_version: row.text(5),
        finished: row.int(6) != 0,
        passed: row.some_int(7).map(|passed| passed != 0),
        verdict: row.text(8),
        trials: u64::try_from(row.int(9)).unwrap_or(0),
        planned: row.some_int(10).and_then(|n| u64::try_from(n).ok()),
        tags: Vec::new(),
    }
}
