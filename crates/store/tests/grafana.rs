//! The dashboard of docs/grafana-dashboard.json, whose questions a PostgreSQL store answers.

mod common;

use common::{file, open, postgres};
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
