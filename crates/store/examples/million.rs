//! How long a store of many runs takes to list: `cargo run --release -p wirelab-store --example million [-- RUNS [STORE]]`.
//!
//! Runs, tags and figures are written as rows, since a million measurements would take years; they are listed as
//! `wirelab results list` does it. The runs are of 100 nodes; each tenth has the tag `main`, each ten-thousandth `rare`.

use std::time::Instant;

use wirelab_store::{Location, Selection, Store};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let runs: u64 = args.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let folder = std::env::temp_dir().join(format!("wirelab-million-{}", std::process::id()));
    let at = args.next().map_or_else(
        || Ok(Location::File(folder.join("results.db"))),
        |text| text.parse(),
    )?;
    let longest = longest_ms(&at, runs)?;
    println!("the longest took {longest:.2} ms");
    let _ = std::fs::remove_dir_all(folder);
    Ok(())
}

/// Fills a new store with so many runs and lists them by each selection; how long the slowest list took, each the best of three.
pub fn longest_ms(at: &Location, runs: u64) -> Result<f64, Box<dyn std::error::Error>> {
    drop(Store::open(at)?);
    let begun = Instant::now();
    fill(at, runs)?;
    println!(
        "{runs} runs written in {:.1} s to {at}",
        begun.elapsed().as_secs_f64()
    );
    let selections = [
        ("the latest", "last=20".to_owned()),
        ("the latest thousand", "last=1000".to_owned()),
        ("of a node", "node=lab:7,last=20".to_owned()),
        ("with a tag", "tag=main,last=20".to_owned()),
        ("with a rare tag", "tag=rare,last=20".to_owned()),
        (
            "of a node, with a tag",
            "node=lab:0,tag=main,last=20".to_owned(),
        ),
        (
            "of a node, with a tag that it never has",
            "node=lab:7,tag=main,last=20".to_owned(),
        ),
        (
            "of a day",
            "since=1970-01-05,until=1970-01-05,last=20".to_owned(),
        ),
        ("one by its number", format!("{}", runs / 2)),
    ];
    let mut longest: f64 = 0.0;
    for (what, text) in selections {
        let selection: Selection = text.parse()?;
        let mut best = f64::INFINITY;
        let mut found = 0;
        for _ in 0..3 {
            let begun = Instant::now();
            found = Store::open(at)?.list(&selection)?.len();
            best = best.min(begun.elapsed().as_secs_f64() * 1e3);
        }
        longest = longest.max(best);
        println!("{best:8.2} ms  {found:5} runs {what}: {text}");
    }
    Ok(longest)
}

/// Run N began N seconds after 1970, of the node `lab:` N mod 100, and has a figure.
const ROWS: &str = "
BEGIN;
INSERT INTO runs (created_ns, node, node_kind, command, wirelab_version, finished, passed, verdict, trials, head)
WITH RECURSIVE numbers (n) AS (
    SELECT CAST(1 AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n < {runs}
)
SELECT n * 1000000000, 'lab:' || (n % 100), 'ports', 'wirelab measure lab:1 --frame 64 --time 1s --store', '0.2.0', 1, 1,
    '3 trials, none with a fault or loss: 300 frames sent, 0 lost, 0 bad (measured).', 3, 'head' FROM numbers;
INSERT INTO tags (tag, run, node, created_ns) SELECT 'main', id, node, created_ns FROM runs WHERE id % 10 = 0;
INSERT INTO tags (tag, run, node, created_ns) SELECT 'rare', id, node, created_ns FROM runs WHERE id % 10000 = 0;
INSERT INTO figures (run, place, figure_key, trial, figure, unit, kind, higher_is_better, repeats, median, low, high,
    tester_limited)
SELECT id, 0, 'key' || (id % 100), 'a trial', 'forwarding rate', 'frames/s', 'measured', 1, 3, 100.0, 99.0, 101.0, 0 FROM runs;
COMMIT;
";

fn fill(at: &Location, runs: u64) -> Result<(), Box<dyn std::error::Error>> {
    let rows = ROWS.replace("{runs}", &runs.to_string());
    match at {
        Location::File(path) => rusqlite::Connection::open(path)?.execute_batch(&rows)?,
        Location::Postgres(address) => {
            postgres::Client::connect(address, postgres::NoTls)?.batch_execute(&rows)?;
        }
    }
    Ok(())
}
