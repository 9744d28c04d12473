//! Each rule of the audit finds what it is for, and lets the nearest honest table pass.

use wirelab_study::audit::{Finding, Rule, Severity, Subject, audit, audit_all};
use wirelab_study::table::Study;

use crate::table::{quoted, rows};

const UDP: &str =
    "link = \"100M\"\n[defaults]\ntrial = { layer = \"udp4\", direction = \"transmit\" }\n";
const ETHERNET: &str = "link = \"100M\"\n[defaults]\ntrial = { layer = \"ethernet\", direction = \"transmit\", frames = 50 }\n";

fn study_of(node: &str, body: &str) -> Study {
    let text = format!("title = \"t\"\nsource = \"s\"\nnode = \"{node}\"\n{body}");
    Study::parse(&text, &format!("{node}.toml")).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn row(name: &str, trial: &str, published: &str) -> String {
    format!("[[row]]\nname = \"{name}\"\ntrial = {{ {trial} }}\npublished = {{ {published} }}\n")
}

fn found(defaults: &str, rows: &[String]) -> Vec<Finding> {
    audit(&study_of("n", &format!("{defaults}{}", rows.concat())))
}

fn one(defaults: &str, rows: &[String]) -> Finding {
    let findings = found(defaults, rows);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings.into_iter().next().unwrap()
}

fn none(defaults: &str, rows: &[String]) {
    let findings = found(defaults, rows);
    assert!(findings.is_empty(), "{findings:#?}");
}

#[test]
fn the_manual_has_a_row_for_each_rule() {
    let manual = include_str!("../../../docs/studies.md");
    let rows = rows(manual, "| rule | what it finds | severity |");
    let names = rows.iter().flat_map(|row| quoted(row[0]));
    let rules: Vec<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
    assert_eq!(names.collect::<Vec<_>>(), rules);
}

#[test]
fn limit_of_the_size() {
    // 100 Mbit/s x 66 / 104 = 63.46 Mbit/s.
    let at = |rate: &str| row("66", "payload = 66", &format!("throughput = \"{rate}\""));
    let finding = one(ETHERNET, &[at("63.6 Mbit/s")]);
    assert_eq!(
        (finding.severity, finding.rule.name()),
        (Severity::Impossible, "limit")
    );
    assert_eq!(finding.cells, ["66/throughput"]);
    assert_eq!(finding.consistent.as_deref(), Some("at most 63.462 Mbit/s"));
    // 63.5 is 63.45 to 63.55, which reaches below the limit.
    none(ETHERNET, &[at("63.5 Mbit/s")]);
}

#[test]
fn limit_counts_the_headers_of_udp_and_the_segments_of_tcp() {
    // A 1470-byte datagram takes 1536 bytes of the link: 95.70 Mbit/s.
    let udp = |rate: &str| row("u", "datagram = 1470", &format!("throughput = \"{rate}\""));
    assert_eq!(one(UDP, &[udp("95.8 Mbit/s")]).rule.name(), "limit");
    none(UDP, &[udp("95.7 Mbit/s")]);
    // TCP gathers small writes: 1460 of 1538 bytes, 94.93 Mbit/s.
    let tcp = |rate: &str| {
        let trial = "layer = \"tcp4\", datagram = 64";
        row("t", trial, &format!("throughput = \"{rate}\""))
    };
    assert_eq!(one(UDP, &[tcp("95.1 Mbit/s")]).rule.name(), "limit");
    none(UDP, &[tcp("94.9 Mbit/s")]);
}

#[test]
fn limit_of_frames_and_efficiency() {
    let frames = |n: &str| {
        row(
            "46",
            "payload = 46",
            &format!("frames_per_s = \"{n} frames/s\""),
        )
    };
    // 148,809.5, and 200 ppm more for the clocks of link and tester.
    assert_eq!(one(ETHERNET, &[frames("148841")]).rule.name(), "limit");
    none(ETHERNET, &[frames("148839")]);
    let share = |n: &str| row("46", "payload = 46", &format!("efficiency = \"{n} %\""));
    assert_eq!(one(ETHERNET, &[share("54.9")]).cells, ["46/efficiency"]);
    none(ETHERNET, &[share("54.76")]);
}

#[test]
fn rate_above_the_link() {
    let text = include_str!("data/audit/above-link.toml");
    let findings = audit(&Study::parse(text, "above-link.toml").unwrap());
    let rules: Vec<_> = findings
        .iter()
        .map(|f| {
            (
                f.severity,
                f.rule.name(),
                f.cells
                    .iter()
                    .map(Subject::to_string)
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        })
        .collect();
    assert_eq!(
        rules,
        [
            (
                Severity::Impossible,
                "link",
                "one direction/throughput".to_owned()
            ),
            (
                Severity::Impossible,
                "link",
                "both directions/throughput_sum".to_owned()
            ),
        ]
    );
}

#[test]
fn rate_of_the_link_in_the_wrong_unit() {
    let finding = one(
        ETHERNET,
        &[row("r", "payload = 1500", "throughput = \"100 MB/s\"")],
    );
    assert_eq!(
        (finding.severity, finding.rule.name()),
        (Severity::Impossible, "link")
    );
    assert_eq!(finding.consistent.as_deref(), Some("100 Mbit/s"));
}

#[test]
fn shares_above_the_whole() {
    let with = |figure: &str| row("r", "payload = 100", figure);
    let finding = one(ETHERNET, &[with("loss = \"100.2 %\"")]);
    assert_eq!(
        (finding.severity, finding.rule.name()),
        (Severity::Impossible, "share")
    );
    none(ETHERNET, &[with("loss = \"100.0 %\"")]);
    let interval = |lost: u32| {
        format!(
            "[[row]]\nname = \"i\"\ninterval = 2\ntrial = {{ datagram = 1000, time = \"9s\" }}\n\
             published = {{ lost = \"{lost}\", datagrams = \"4022\" }}\n"
        )
    };
    assert_eq!(one(UDP, &[interval(4024)]).cells, ["i/lost"]);
    none(UDP, &[interval(4022)]);
}

#[test]
fn row_that_contradicts_itself() {
    // 50 frames of 1500 bytes in 7.1 ms are 10.56 MB/s, 86.6 % of 12.19.
    let scenario = |time: &str, rate: &str, share: &str| {
        let figures = format!(
            "time = \"{time} ms\", throughput = \"{rate} MB/s\", share_of_limit = \"{share} %\""
        );
        row("3", "payload = 1500", &figures)
    };
    none(ETHERNET, &[scenario("7.1", "10.56", "86.66")]);
    let finding = one(ETHERNET, &[scenario("7.1", "10.96", "86.66")]);
    assert_eq!(
        (finding.severity, finding.rule.name()),
        (Severity::Inconsistent, "row")
    );
    assert_eq!(finding.cells, ["3/throughput"], "{finding:#?}");
    assert!(
        finding.consistent.as_ref().unwrap().contains("10.56"),
        "86.66 % of the limit is narrower than 7.05 to 7.2 ms: {finding:#?}"
    );
    // From two figures alone it is unknown which is wrong; that one digit makes 10.56 of 10.96 speaks for the rate.
    let finding = one(
        ETHERNET,
        &[row(
            "3",
            "payload = 1500",
            "time = \"7.1 ms\", throughput = \"10.96 MB/s\"",
        )],
    );
    let suspects: Vec<&Subject> = finding.suspects.iter().map(|s| &s.cell).collect();
    assert!(
        *suspects[0] == "3/throughput" && *suspects[1] == "3/time",
        "{suspects:?}"
    );
    assert!(finding.suspects[0].probability < 0.98, "{finding:#?}");
    let probabilities: f64 = finding.suspects.iter().map(|s| s.probability).sum();
    assert!((probabilities - 1.0).abs() < 1e-9 && finding.sure.contains("the wrong one is"));
}

#[test]
fn row_of_efficiency_and_rate() {
    let line = |efficiency: &str| {
        let figures = format!("throughput = \"91.5 Mbit/s\", efficiency = \"{efficiency} %\"");
        row("438", "payload = 438", &figures)
    };
    none(ETHERNET, &[line("91.49")]);
    assert_eq!(one(ETHERNET, &[line("91.29")]).rule.name(), "row");
}

#[test]
fn unit_slips() {
    let limit = |rate: &str| {
        format!(
            "[[row]]\nname = \"46\"\nlimit = true\ntrial = {{ payload = 46 }}\n\
             published = {{ frames_per_s = \"148809 frames/s\", throughput = \"{rate}\" }}\n"
        )
    };
    let finding = one(ETHERNET, &[limit("6.84 Mbit/s")]);
    assert_eq!(
        (finding.severity, finding.rule.name()),
        (Severity::Inconsistent, "unit")
    );
    assert_eq!(finding.cells, ["46/throughput"]);
    assert_eq!(finding.consistent.as_deref(), Some("6.84 MB/s"));
    none(ETHERNET, &[limit("6.84 MB/s")]);
    let data = |figure: &str| row("d", "payload = 1500", &format!("data = \"{figure}\""));
    assert_eq!(
        one(ETHERNET, &[data("75 kbit")]).consistent.as_deref(),
        Some("75 kB")
    );
    none(ETHERNET, &[data("75 kB")]);
    // Digits that fit no unit are a contradiction, not a slip.
    assert_eq!(one(ETHERNET, &[data("79 kbit")]).rule.name(), "row");
}

#[test]
fn binary_units_of_a_server() {
    let second = |transfer: &str| {
        format!(
            "[[row]]\nname = \"i\"\ninterval = 2\ntrial = {{ datagram = 1000, time = \"9s\" }}\n\
             published = {{ transfer = \"{transfer}\", bandwidth = \"32.2 Mbit/s\", lost = \"0\", datagrams = \"4022\" }}\n"
        )
    };
    none(UDP, &[second("3.84 MiB")]);
    let finding = one(UDP, &[second("3.84 MB")]);
    assert_eq!(finding.rule.name(), "unit");
    assert_eq!(finding.consistent.as_deref(), Some("3.84 MiB"));
}

fn loads(last: &str) -> Vec<String> {
    let points = [("25", "44"), ("50", "80"), ("51", last), ("55", "88")];
    let rows = points.map(|(rate, load)| {
        let trial = format!("direction = \"receive\", datagram = 512, load = \"{rate}M\"");
        row(rate, &trial, &format!("cpu_load = \"{load} %\""))
    });
    rows.to_vec()
}

#[test]
fn monotony_of_a_load() {
    let finding = one(UDP, &loads("64"));
    assert_eq!(
        (finding.severity, finding.rule.name()),
        (Severity::Inconsistent, "monotony")
    );
    assert_eq!(finding.cells, ["51/cpu_load"]);
    assert_eq!(finding.consistent.as_deref(), Some("about 81.6 %"));
    // 79 may be 79.9 with its digits cut, and 80 may be 79.5.
    none(UDP, &loads("79"));
    // 6 points below the line of the others may be noise, though 76 is below 80; a point or two is scatter.
    assert_eq!(one(UDP, &loads("76")).severity, Severity::Remark);
    none(UDP, &loads("78"));
    none(UDP, &loads("82"));
}

#[test]
fn monotony_that_no_line_decides_is_a_remark() {
    let latency = |bytes: u32, us: &str| {
        let trial = format!("direction = \"receive\", length = {bytes}, load = \"1kpps\"");
        row(
            &bytes.to_string(),
            &trial,
            &format!("latency = \"{us} us\""),
        )
    };
    let rows = [
        latency(64, "3.10"),
        latency(256, "2.90"),
        latency(1024, "5.44"),
    ];
    let finding = one(UDP, &rows);
    assert_eq!(
        (finding.severity, finding.rule.name()),
        (Severity::Remark, "monotony")
    );
    none(
        UDP,
        &[
            latency(64, "2.91"),
            latency(256, "2.90"),
            latency(1024, "5.44"),
        ],
    );
}

/// Loads of a CPU that is busy for 5 % + 50 us + 10 ns a byte of each frame, but for one row.
fn costs(wrong: Option<&str>) -> Vec<String> {
    let mut rows = Vec::new();
    for bytes in [64, 256, 1024] {
        for rate in [1000, 2000, 4000, 6000, 8000] {
            let load = 5.0 + 100.0 * f64::from(rate) * (50e-6 + 10e-9 * f64::from(bytes));
            let name = format!("{bytes} at {rate}");
            let load = match wrong {
                Some(wrong) if wrong == name => load - 6.0,
                _ => load,
            };
            let trial =
                format!("direction = \"receive\", datagram = {bytes}, load = \"{rate}pps\"");
            rows.push(row(&name, &trial, &format!("cpu_load = \"{load:.1} %\"")));
        }
    }
    rows
}

#[test]
fn cost_that_steps_with_the_size_is_no_error() {
    // From 1024 bytes on a frame takes a second buffer: every row of that size says so.
    let stepped = costs(None).into_iter().map(|row| {
        let Some((head, load)) = row.split_once("cpu_load = \"") else {
            return row;
        };
        let printed: f64 = load.split(' ').next().unwrap().parse().unwrap();
        let steps = if head.contains("datagram = 1024") {
            1.2
        } else {
            1.0
        };
        let load = 5.0 + (printed - 5.0) * steps;
        format!("{head}cpu_load = \"{load:.1} %\" }}\n")
    });
    none(UDP, &stepped.collect::<Vec<_>>());
}

#[test]
fn cost_out_of_line() {
    let finding = one(UDP, &costs(Some("256 at 6000")));
    assert_eq!(
        (finding.severity, finding.rule.name()),
        (Severity::Inconsistent, "cost")
    );
    assert_eq!(finding.cells, ["256 at 6000/cpu_load"]);
    assert_eq!(
        finding.consistent.as_deref(),
        Some("about 36.5 %"),
        "{finding:#?}"
    );
    assert!(finding.chance.unwrap() < 1e-4);
    none(UDP, &costs(None));
}

#[test]
fn sums() {
    let text = include_str!("data/audit/sums.toml");
    let findings = audit(&Study::parse(text, "sums.toml").unwrap());
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(
        (findings[0].severity, findings[0].rule.name()),
        (Severity::Inconsistent, "sum")
    );
    // One digit makes 6593 of the total, or 6000 of the part: no cell is blamed with certainty.
    let cells = &findings[0].cells;
    assert!(
        cells.iter().any(|of| *of == "receive total/latency"),
        "{cells:?}"
    );
    assert!(findings[0].suspects.iter().all(|s| s.probability < 0.9));
    assert_eq!(
        findings[0].consistent.as_deref(),
        Some("6593 ns, or other parts")
    );
}

#[test]
fn claims_against_the_table() {
    let rows = [
        row("buffer", "length = 1024", "latency = \"5.44 us\""),
        row(
            "callback",
            "layer = \"udp4\", length = 1024",
            "latency = \"7.74 us\"",
        ),
    ]
    .concat();
    let claimed = |published: &str, of: &str| {
        let body = format!(
            "{UDP}{rows}[[claim]]\nname = \"c\"\ntext = \"t\"\nmetric = \"latency\"\npublished = \"{published}\"\n{of}\n"
        );
        audit(&study_of("n", &body))
    };
    let difference = "difference = [[\"callback\", \"buffer\"]]";
    let findings = claimed("< 2.2 us", difference);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(
        (findings[0].severity, findings[0].rule.name()),
        (Severity::Inconsistent, "claim")
    );
    assert_eq!(findings[0].cells, ["c"]);
    assert_eq!(findings[0].consistent.as_deref(), Some("2.3 us"));
    // 2.3 as a bound is up to 2.35, and the difference is 2.29 to 2.31.
    assert!(claimed("< 2.3 us", difference).is_empty());
    // Of "more than" every difference must be more, the least one too.
    let both = "difference = [[\"callback\", \"buffer\"], [\"buffer\", \"callback\"]]";
    assert_eq!(claimed("> 2.0 us", both)[0].rule.name(), "claim");
    assert!(claimed("> 2.0 us", difference).is_empty());
    let row = "value_of = \"callback\"";
    assert!(claimed("7.73 us", row).is_empty(), "the ranges touch");
    assert_eq!(claimed("7.72 us", row)[0].rule.name(), "claim");
    assert_eq!(claimed("> 8.0 us", row)[0].rule.name(), "claim");
    assert!(claimed("> 7.5 us", row).is_empty());
    let findings = claimed("5.4 us", row);
    assert!(
        findings[0]
            .arithmetic
            .contains("cells that print so: buffer/latency 5.44 us")
    );
    assert_eq!(
        claimed("7.74 ms", row)[0].consistent.as_deref(),
        Some("7.74 us")
    );
}

#[test]
fn identical_rows_of_different_nodes() {
    let read = |text: &str, name: &str| Study::parse(text, name).unwrap();
    let first = read(include_str!("data/audit/chip-one.toml"), "chip-one.toml");
    let second = read(include_str!("data/audit/chip-two.toml"), "chip-two.toml");
    assert!(audit(&first).is_empty() && audit(&second).is_empty());
    let findings = audit_all(&[first.clone(), second]);
    let cells: Vec<_> = findings
        .iter()
        .map(|f| {
            (
                f.severity,
                f.cells
                    .iter()
                    .map(Subject::to_string)
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        })
        .collect();
    assert_eq!(
        cells,
        [
            (
                Severity::Inconsistent,
                "stack/throughput stack/cpu_load".to_owned()
            ),
            (
                Severity::Remark,
                "driver/throughput driver/cpu_load".to_owned()
            ),
        ],
        "{findings:#?}"
    );
    assert_eq!(findings[0].study, "chip-two");
    // The same node's figures may stand in two tables.
    assert!(audit_all(&[first.clone(), first]).is_empty());
}

#[test]
fn reports_of_a_full_link_are_alike_on_all_nodes() {
    let reports = |node: &str, datagrams: u32| {
        let text = format!(
            "title = \"t\"\nsource = \"s\"\nnode = \"{node}\"\nlink = \"100M\"\n[defaults]\n\
             trial = {{ layer = \"udp4\", direction = \"transmit\" }}\n[[row]]\nname = \"second 0\"\n\
             interval = 1\ntrial = {{ datagram = 377, load = \"max\", time = \"5s\" }}\n\
             published = {{ transfer = \"{:.2} MiB\", bandwidth = \"{:.2} Mbit/s\", lost = \"0\", \
             datagrams = \"{datagrams}\", jitter = \"1.1 us\" }}\n",
            f64::from(datagrams * 377) / 1_048_576.0,
            f64::from(datagrams * 377) * 8e-6,
        );
        Study::parse(&text, node).unwrap()
    };
    let found = |datagrams| audit_all(&[reports("one", datagrams), reports("other", datagrams)]);
    // 28,216.7 datagrams a second fill the link, so that both count 28,216 or 28,217.
    for full in [28_216, 28_217] {
        assert_eq!(found(full), [], "{full}");
    }
    let copied = found(21_347);
    assert_eq!(copied.len(), 1, "{copied:#?}");
    assert_eq!(copied[0].severity, Severity::Inconsistent);
}

#[test]
fn cost_of_a_size_alone_of_a_few_points_and_of_a_full_cpu() {
    let load = |name: &str, bytes: u32, rate: u32, percent: &str| {
        let trial = format!("direction = \"receive\", datagram = {bytes}, load = \"{rate}pps\"");
        row(name, &trial, &format!("cpu_load = \"{percent} %\""))
    };
    let and = |more: Vec<String>| [costs(None), more].concat();
    // One row of a size may be a step in the cost; 45.3 % would be on the line.
    none(UDP, &and(vec![load("alone", 1472, 6000, "58.0")]));
    // 31.3 % less 2 points, and a CPU at its end.
    none(UDP, &and(vec![load("near", 256, 5000, "29.3")]));
    none(UDP, &and(vec![load("overload", 64, 40_000, "100.0")]));
}

#[test]
fn order_by_size_holds_at_the_greatest_rate_alone() {
    let offered = |bytes: u32, rate: &str| {
        let trial = format!("datagram = {bytes}, load = \"20M\"");
        row(
            &bytes.to_string(),
            &trial,
            &format!("throughput = \"{rate} Mbit/s\""),
        )
    };
    none(
        UDP,
        &[
            offered(256, "20.0"),
            offered(512, "19.1"),
            offered(1024, "20.0"),
        ],
    );
}
