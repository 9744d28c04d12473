//! Rules that compare rates, loads and repeats, and how they divide their doubt.

use wirelab_study::audit::{Finding, Severity, audit};
use wirelab_study::table::Study;

fn found(body: &str) -> Vec<Finding> {
    let head = "title = \"t\"\nsource = \"s\"\nnode = \"n\"\nlink = \"1G\"\n[defaults]\ntrial = { layer = \"udp4\" }\n";
    let text = format!("{head}{body}");
    audit(&Study::parse(&text, "n.toml").unwrap_or_else(|e| panic!("{e}\n{text}")))
}

fn row(name: &str, trial: &str, published: &str) -> String {
    format!("[[row]]\nname = \"{name}\"\ntrial = {{ {trial} }}\npublished = {{ {published} }}\n")
}

fn one(body: &str) -> Finding {
    let findings = found(body);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings.into_iter().next().unwrap()
}

fn probability(finding: &Finding, cell: &str) -> f64 {
    let of = finding.suspects.iter().find(|s| s.cell == cell);
    of.map_or(0.0, |s| s.probability)
}

const RX: &str = "direction = \"receive\", datagram = 1000";

#[test]
fn more_received_than_offered() {
    let at = |rate: &str| {
        row(
            "a",
            &format!("{RX}, load = \"50M\""),
            &format!("throughput = \"{rate} Mbit/s\""),
        )
    };
    let finding = one(&at("57.2"));
    assert_eq!(
        (finding.severity, finding.rule.name()),
        (Severity::Impossible, "offered")
    );
    assert_eq!(finding.cells, ["a/throughput"]);
    assert!(probability(&finding, "a/load") > 0.0, "{finding:#?}");
    assert!(found(&at("50.5")).is_empty());
    // iperf 2 once took M for 1024 x 1024.
    let finding = one(&at("52.4"));
    assert_eq!(
        (finding.severity, finding.rule.name()),
        (Severity::Remark, "offered")
    );
    assert!(finding.says.contains("1.0486"), "{finding:#?}");
    // A factor of 8 is named.
    let finding = one(&at("400"));
    assert!(
        finding.says.contains("by 8, bits for bytes: 50 Mbit/s"),
        "{finding:#?}"
    );
}

#[test]
fn delivered_offered_and_loss_must_fit() {
    let at = |name: &str, rate: &str, loss: &str| {
        let figures = format!("throughput = \"{rate} Mbit/s\", loss = \"{loss} %\"");
        row(name, &format!("{RX}, load = \"50M\""), &figures)
            .replace("[[row]]\n", &format!("[[row]]\ncolumn = \"{name}\"\n"))
    };
    let finding = one(&at("a", "35.2", "4.0"));
    assert_eq!(
        (finding.severity, finding.rule.name()),
        (Severity::Inconsistent, "offered")
    );
    let all: f64 = finding.suspects.iter().map(|s| s.probability).sum();
    assert!(
        (all - 1.0).abs() < 0.05 && finding.suspects.len() >= 2,
        "{finding:#?}"
    );
    assert!(found(&at("a", "48.0", "4.0")).is_empty());
    // A page may print the offered rate beside the loss, unless its other rows do not.
    assert!(found(&at("a", "50.0", "9.0")).is_empty());
    let others = [
        at("b", "40.0", "20.0"),
        at("c", "45.0", "10.0"),
        at("d", "37.5", "25.0"),
    ]
    .concat();
    let finding = one(&format!("{others}{}", at("a", "50.0", "9.0")));
    assert_eq!(finding.rule.name(), "offered");
    assert!(
        finding.cells.iter().all(|c| c.row() == Some("a")),
        "{finding:#?}"
    );
}

/// Greatest rates of a node that needs 20 us + 10 ns a byte for a frame.
fn rates(wrong: usize, factor: f64) -> String {
    let all = [64, 128, 256, 512, 1024, 1470]
        .into_iter()
        .enumerate()
        .map(|(at, bytes)| {
            let per_s = 1.0 / (20e-6 + 10e-9 * f64::from(bytes));
            let mbit =
                per_s * 8.0 * f64::from(bytes) / 1e6 * if at == wrong { factor } else { 1.0 };
            row(
                &bytes.to_string(),
                &format!("direction = \"transmit\", datagram = {bytes}"),
                &format!("throughput = \"{mbit:.1} Mbit/s\""),
            )
        });
    all.collect()
}

#[test]
fn frames_per_second_are_compared_over_sizes() {
    assert!(found(&rates(9, 1.0)).is_empty());
    let findings = found(&rates(3, 0.1));
    let pace = findings.iter().find(|f| f.rule.name() == "pace").unwrap();
    assert_eq!(pace.severity, Severity::Inconsistent);
    assert_eq!(pace.cells, ["512/throughput"]);
    assert!(pace.says.contains("wrong by 10: 163 Mbit/s"), "{pace:#?}");
    // A step of a third at one size may be the node's own.
    assert!(found(&rates(5, 0.75)).iter().all(|f| !f.severity.fails()));
}

#[test]
fn a_flow_beside_another_is_not_faster_than_alone() {
    let both = |rate: &str| {
        let alone = row(
            "alone",
            "direction = \"receive\", datagram = 1470",
            "throughput = \"200 Mbit/s\"",
        );
        let figures =
            format!("throughput_receive = \"{rate} Mbit/s\", throughput_transmit = \"90 Mbit/s\"");
        format!(
            "{alone}{}",
            row("both", "direction = \"both\", datagram = 1470", &figures)
        )
    };
    assert!(found(&both("210")).is_empty());
    let finding = one(&both("410"));
    assert_eq!(
        (finding.severity, finding.rule.name()),
        (Severity::Inconsistent, "pace")
    );
    assert!(
        finding
            .cells
            .iter()
            .any(|of| *of == "both/throughput_receive"),
        "{finding:#?}"
    );
}

#[test]
fn the_same_trial_twice() {
    let twice = |second: &str| {
        let trial = format!("{RX}, load = \"50M\"");
        let b = row("b", &trial, &format!("cpu_load = \"{second} %\""));
        format!("{}{b}", row("a", &trial, "cpu_load = \"37.4 %\""))
    };
    assert!(found(&twice("37.6")).is_empty());
    let finding = one(&twice("73.4"));
    assert_eq!(
        (finding.severity, finding.rule.name()),
        (Severity::Inconsistent, "twice")
    );
    assert!(
        finding.suspects.iter().all(|s| s.probability < 0.9),
        "{finding:#?}"
    );
    assert_eq!(one(&twice("39.9")).severity, Severity::Remark);
}

#[test]
fn amount_rate_and_time_of_a_transfer() {
    let tcp = |amount: &str, rate: &str| {
        let trial = "layer = \"tcp4\", direction = \"transmit\", datagram = 1460, time = \"10s\"";
        row(
            "t",
            trial,
            &format!("transfer = \"{amount}\", bandwidth = \"{rate}\""),
        )
    };
    // 112 MiB in 10 s are 94 Mbit/s, and the tool may stop a little later.
    assert!(found(&tcp("112 MiB", "93.9 Mbit/s")).is_empty());
    assert!(found(&tcp("112 MiB", "91.9 Mbit/s")).is_empty());
    let finding = one(&tcp("112 MiB", "49.3 Mbit/s"));
    assert_eq!(
        (finding.severity, finding.rule.name()),
        (Severity::Inconsistent, "row")
    );
    assert!(
        finding.arithmetic.contains("transfer / time of the trial"),
        "{finding:#?}"
    );
    let finding = one(&tcp("112 MiB", "93.9 kbit/s"));
    assert_eq!(finding.rule.name(), "unit");
    assert!(finding.suspects.iter().any(|s| s.cell == "t/bandwidth"));
}

/// Loads of 5 % + 50 us + 10 ns a byte, with some of them changed.
fn loads(wrong: &[(&str, f64)]) -> String {
    let mut rows = String::new();
    for bytes in [64, 256, 1024] {
        for rate in [1000, 2000, 4000, 6000, 8000] {
            let name = format!("{bytes} at {rate}");
            let load = 5.0 + 100.0 * f64::from(rate) * (50e-6 + 10e-9 * f64::from(bytes));
            let load = wrong
                .iter()
                .find(|(n, _)| *n == name)
                .map_or(load, |(_, wrong)| *wrong);
            let trial =
                format!("direction = \"receive\", datagram = {bytes}, load = \"{rate}pps\"");
            rows.push_str(&row(&name, &trial, &format!("cpu_load = \"{load:.1} %\"")));
        }
    }
    rows
}

#[test]
fn two_wrong_loads_do_not_hide_each_other() {
    let findings = found(&loads(&[("256 at 6000", 61.0), ("256 at 8000", 78.0)]));
    let named = |cell: &str| {
        let cost = findings
            .iter()
            .find(|f| f.rule.name() == "cost" && f.cells == [cell]);
        assert!(
            cost.is_some_and(|f| f.severity.fails()),
            "{cell}: {findings:#?}"
        );
    };
    named("256 at 6000/cpu_load");
    named("256 at 8000/cpu_load");
    let blamed = findings.iter().flat_map(|f| &f.cells);
    assert!(
        blamed.clone().all(|c| ["256 at 6000", "256 at 8000"]
            .iter()
            .any(|row| c.to_string().starts_with(row))),
        "{findings:#?}"
    );
}

#[test]
fn a_moved_point_is_named() {
    let findings = found(&loads(&[("1024 at 4000", 2.91)]));
    let cost = findings.iter().find(|f| f.rule.name() == "cost").unwrap();
    assert!(
        cost.says.contains("a point that is wrong by 10"),
        "{cost:#?}"
    );
}

/// A page whose tool sent `sent` bytes instead of the requested 64: rates that fall with the size, and a few loads.
fn raised(sent: u32, receive: bool) -> String {
    let cost = |bytes: u32| 20e-6 + 12e-9 * f64::from(bytes);
    let mut rows = String::new();
    for bytes in [64u32, 256, 512, 1024, 1470] {
        let real = bytes.max(sent);
        // The tool prints the bits that it sent.
        let mbit = 8.0 * f64::from(real) / cost(real) / 1e6;
        let trial = format!("direction = \"transmit\", datagram = {bytes}");
        rows.push_str(&row(
            &format!("TX {bytes}"),
            &trial,
            &format!("throughput = \"{mbit:.1} Mbit/s\""),
        ));
    }
    for (bytes, mbit) in [
        (64u32, 4.0),
        (64, 9.0),
        (256, 10.0),
        (256, 30.0),
        (512, 20.0),
        (512, 50.0),
        (1470, 50.0),
        (1470, 100.0),
    ] {
        let per_s = mbit * 1e6 / 8.0 / f64::from(bytes.max(sent));
        let load = 100.0 * (0.03 + 1.3 * per_s * cost(bytes.max(sent)));
        let trial = format!("direction = \"receive\", datagram = {bytes}, load = \"{mbit}M\"");
        if receive {
            rows.push_str(&row(
                &format!("RX {bytes} at {mbit}"),
                &trial,
                &format!("cpu_load = \"{load:.1} %\""),
            ));
        }
    }
    rows
}

#[test]
fn a_minimum_size_of_both_directions() {
    let findings = found(&raised(112, true));
    let size = findings
        .iter()
        .find(|f| f.rule.name() == "minimum-size")
        .unwrap();
    assert_eq!(size.severity, Severity::Inconsistent, "{size:#?}");
    assert_eq!(size.consistent.as_deref(), Some("datagrams of 112 B"));
    assert_eq!(
        size.cells,
        ["TX 64/size", "RX 64 at 4/size", "RX 64 at 9/size"]
    );
    assert_eq!(findings.len(), 1, "no cell is blamed for it: {findings:#?}");
    // One direction says less.
    let findings = found(&raised(112, false));
    let alone = findings
        .iter()
        .find(|f| f.rule.name() == "minimum-size")
        .unwrap();
    assert!(
        alone.chance > size.chance && !alone.severity.fails(),
        "{alone:#?}"
    );
    assert!(found(&raised(64, true)).is_empty());
}
