//! The dashboard of docs/grafana-dashboard.json: Grafana's own model of dashboards reads all of it, and a PostgreSQL store
//! answers its questions.

use std::path::Path;
use std::process::Command;

use crate::common;
use crate::common::{file, open, postgres};
use serde_json::Value;
use wirelab_store::Location;

/// A question with the macro and the variables of Grafana as it would send them.
fn filled(sql: &str, figure: &str, unit: &str) -> String {
    let node = file(0).observations[0].node.name.clone();
    let all = [
        ("${node:sqlstring}", format!("'{node}'")),
        ("${figure:sqlstring}", format!("'{figure}'")),
        ("${unit:sqlstring}", format!("'{unit}'")),
        (
            "$__unixEpochNanoFilter(r.created_ns)",
            "(r.created_ns >= 0 AND r.created_ns <= 9000000000000000000)".to_owned(),
        ),
    ];
    let sql = all.iter().fold(sql.to_owned(), |sql, (name, value)| {
        sql.replace(name, value)
    });
    assert!(!sql.contains('$'), "unknown to this test: {sql}");
    sql
}

/// Prints the path of each value of a dashboard that Grafana's model of one does not hold as it was written.
const LOST: &str = r#"
import json, sys
from grafana_foundation_sdk.cog import encoder, plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

def lost(written, read, path):
    if isinstance(written, dict) and isinstance(read, dict):
        for key in written:
            lost(written[key], read.get(key), f"{path}.{key}")
    elif isinstance(written, list) and isinstance(read, list) and len(written) == len(read):
        for at, pair in enumerate(zip(written, read)):
            lost(*pair, f"{path}[{at}]")
    elif written != read:
        print(path)

plugins.register_default_plugins()
written = json.load(sys.stdin)
read = Dashboard.from_json(written)
lost(written, json.loads(json.dumps(read, cls=encoder.JSONEncoder)), "")
"#;

/// What Grafana's model of dashboards loses of one; `None` where it is not installed.
fn lost(dashboard: &Value) -> Option<String> {
    let python = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../.cache/tools/grafana/bin/python3"
    );
    if !Path::new(python).exists() {
        eprintln!("WIRELAB-SKIP grafana: there is no {python}: run scripts/setup.sh test");
        return None;
    }
    let given = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(given.path(), dashboard.to_string()).expect("room");
    let read = Command::new(python)
        .args(["-c", LOST])
        .stdin(std::fs::File::open(given.path()).expect("the file"))
        .output()
        .expect("it starts");
    let told = String::from_utf8_lossy(&read.stderr);
    assert!(read.status.success(), "{told}");
    Some(String::from_utf8(read.stdout).expect("paths"))
}

#[test]
fn the_model_of_dashboards_of_grafana_holds_all_of_it() {
    let text = include_str!("../../../docs/grafana-dashboard.json");
    let mut dashboard: Value = serde_json::from_str(text).expect("JSON");
    let Some(nothing) = lost(&dashboard) else {
        return;
    };
    assert_eq!(nothing, "");
    // It knows no such keys, whether of a dashboard, of a variable or of a kind of panel.
    dashboard["titel"] = "figures".into();
    dashboard["templating"]["list"][1]["querry"] = "SELECT 1".into();
    dashboard["panels"][0]["options"]["legend"]["place"] = "bottom".into();
    assert_eq!(
        lost(&dashboard).unwrap(),
        ".panels[0].options.legend.place\n.templating.list[1].querry\n.titel\n"
    );
}

#[test]
fn each_question_of_the_dashboard_is_answered() {
    let Some(address) = postgres::database() else {
        return;
    };
    let at = Location::Postgres(address.clone());
    for begun in [1, 2] {
        common::put(&mut open(&at), begun * 1_000_000_000);
    }
    let text = include_str!("../../../docs/grafana-dashboard.json");
    let dashboard: Value = serde_json::from_str(text).expect("JSON");
    let mut client = ::postgres::Client::connect(&address, ::postgres::NoTls).expect("a server");
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let variables = list(&dashboard["templating"]["list"]);
    let mut asked = 0;
    for variable in variables.iter().filter(|v| v["type"] == "query") {
        let sql = filled(variable["query"].as_str().unwrap(), "loss", "ratio");
        let rows = client.query(&sql, &[]).expect(&sql);
        assert!(!rows.is_empty(), "{sql}");
        asked += 1;
    }
    for panel in list(&dashboard["panels"]) {
        for target in list(&panel["targets"]) {
            let sql = filled(target["rawSql"].as_str().unwrap(), "loss", "ratio");
            let rows = client.query(&sql, &[]).expect(&sql);
            // Of each run at least one.
            assert!(rows.len() >= 2, "{sql}");
            let names: Vec<&str> = rows[0].columns().iter().map(|c| c.name()).collect();
            if target["format"] == "time_series" {
                assert_eq!(names, ["time", "metric", "value"], "{sql}");
            }
            asked += 1;
        }
    }
    assert_eq!(asked, 7);
}
