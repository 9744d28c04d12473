//! The audit of any table ends, and speaks of that table alone.

use proptest::prelude::*;
use wirelab_study::audit::{Finding, audit, audit_all};
use wirelab_study::table::Study;

const FIGURES: [(&str, &[&str]); 16] = [
    ("time", &["ns", "us", "ms", "s"]),
    ("throughput", &["kbit/s", "Mbit/s", "MB/s", "GB/s"]),
    ("throughput_receive", &["Mbit/s"]),
    ("throughput_sum", &["Mbit/s", "MiB/s"]),
    ("share_of_limit", &["%"]),
    ("efficiency", &["%"]),
    ("frames_per_s", &["frames/s", "kpps"]),
    ("time_per_frame", &["us"]),
    ("cpu_load", &["%"]),
    ("loss", &["%"]),
    ("latency", &["ns", "us"]),
    ("latency_3sigma", &["us"]),
    ("payload", &["B", "bit"]),
    ("data", &["B", "kB", "Mbit"]),
    ("frames", &[""]),
    ("frame_bits", &["bit"]),
];

fn figure() -> impl Strategy<Value = (usize, String)> {
    (0..FIGURES.len(), 0usize..4, "[0-9]{1,9}(\\.[0-9]{1,5})?").prop_map(|(at, unit, number)| {
        let (metric, units) = FIGURES[at];
        (
            at,
            format!("{metric} = \"{number} {}\"", units[unit % units.len()]),
        )
    })
}

fn row() -> impl Strategy<Value = String> {
    let figures = prop::collection::vec(figure(), 1..6);
    let size = prop_oneof![Just(64u32), Just(256), Just(1470), 46..1500u32];
    let trial = (size, 0..3usize, 0..3usize, 0..4usize);
    (trial, figures).prop_map(|((size, layer, direction, load), figures)| {
        let layer = ["ethernet\", payload", "udp4\", datagram", "tcp4\", datagram"][layer];
        let direction = ["transmit", "receive", "both"][direction];
        let load = ["max", "3M", "1kpps", "0.5%"][load];
        let by_metric: std::collections::BTreeMap<usize, String> = figures.into_iter().collect();
        let figures: Vec<String> = by_metric.into_values().collect();
        format!(
            "trial = {{ layer = \"{layer} = {size}, direction = \"{direction}\", load = \"{load}\", frames = 50 }}\n\
             published = {{ {} }}\n",
            figures.join(", ")
        )
    })
}

fn study(rows: &[String]) -> Option<Study> {
    let head = "title = \"t\"\nsource = \"s\"\nnode = \"n\"\nlink = \"100M\"\n";
    let rows = rows.iter().enumerate();
    let rows = rows.map(|(at, row)| format!("[[row]]\nname = \"{at}\"\n{row}"));
    Study::parse(&format!("{head}{}", rows.collect::<String>()), "any.toml").ok()
}

fn speaks_of(study: &Study, finding: &Finding) {
    assert!(
        !finding.cells.is_empty() && !finding.arithmetic.is_empty(),
        "{finding:#?}"
    );
    assert!(finding.says.contains(' ') && !finding.sure.is_empty());
    assert!(finding.line >= 1 && finding.study == study.name);
    for name in finding.cells.iter().chain(&finding.with) {
        let row = study.row(name.row().unwrap()).unwrap();
        let known = name
            .metric()
            .is_none_or(|metric| row.cell(metric).is_some());
        assert!(known, "{name}: {finding:#?}");
    }
    if let Some(chance) = finding.chance {
        assert!((0.0..=1.0).contains(&chance), "{finding:#?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn findings_speak_of_the_table(rows in prop::collection::vec(row(), 1..14)) {
        if let Some(study) = study(&rows) {
            let findings = audit(&study);
            findings.iter().for_each(|finding| speaks_of(&study, finding));
            // The same table gives the same findings.
            prop_assert_eq!(&findings, &audit_all(std::slice::from_ref(&study)));
        }
    }
}

#[test]
fn the_largest_table_ends() {
    let rows: Vec<String> = (0..1000)
        .map(|i| {
            let trial = format!(
                "trial = {{ layer = \"udp4\", datagram = {}, direction = \"receive\", load = \"max\", frames = 50 }}",
                64 + i % 7
            );
            let rate = 1 + i * 7919 % 997;
            let load = 1 + i * 31 % 97;
            format!("{trial}\npublished = {{ frames_per_s = \"{rate} frames/s\", cpu_load = \"{load} %\", latency = \"{rate} us\" }}\n")
        })
        .collect();
    let study = study(&rows).unwrap();
    let findings = audit(&study);
    assert!(findings.iter().any(|f| f.rule.name() == "monotony"));
    findings
        .iter()
        .for_each(|finding| speaks_of(&study, finding));
}
