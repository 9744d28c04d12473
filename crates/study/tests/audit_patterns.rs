//! Patterns of whole columns: one clock, a minimum size, reports of a server; and their near misses.

use wirelab_study::audit::{Finding, Severity, audit};
use wirelab_study::table::Study;

const PROBE: &str = include_str!("data/audit/probe-column.toml");
const MINIMUM: &str = include_str!("data/audit/minimum-size.toml");
const REPORTS: &str = include_str!("data/audit/server-reports.toml");

/// The findings of a table after some of its text was replaced.
fn with(text: &str, changes: &[(&str, &str)]) -> Vec<Finding> {
    let changed = changes.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    audit(&Study::parse(&changed, "table.toml").unwrap_or_else(|e| panic!("{e}")))
}

/// A table without the rows whose names start with `name`.
fn without(text: &str, name: &str) -> String {
    let mut parts = text.split("[[row]]");
    let head = parts.next().unwrap().to_owned();
    let start = format!("\nname      = \"{name}");
    let kept = parts.filter(|row| !row.starts_with(&start));
    kept.fold(head, |text, row| format!("{text}[[row]]{row}"))
}

fn rules(findings: &[Finding]) -> Vec<(Severity, &str)> {
    findings
        .iter()
        .map(|f| (f.severity, f.rule.name()))
        .collect()
}

fn of<'a>(findings: &'a [Finding], rule: &str) -> &'a Finding {
    findings
        .iter()
        .find(|f| f.rule.name() == rule)
        .unwrap_or_else(|| panic!("{findings:#?}"))
}

#[test]
fn one_clock_explains_an_impossible_cell() {
    let findings = with(PROBE, &[]);
    assert_eq!(
        rules(&findings),
        [
            (Severity::Impossible, "limit"),
            (Severity::Inconsistent, "whole-clocks")
        ]
    );
    let clock = of(&findings, "whole-clocks");
    assert_eq!(clock.cells, ["66/efficiency"]);
    assert_eq!(clock.with.len(), 4);
    for periods in ["= 81;", "= 383;", "= 685;", "= 976;", "= 1231"] {
        assert!(clock.arithmetic.contains(periods), "{}", clock.arithmetic);
    }
    // The product of the widths in clocks, for two columns.
    let chance = clock.chance.unwrap();
    assert!((9e-7..1e-6).contains(&chance), "{chance}");
    let limit = of(&findings, "limit");
    assert!(
        limit.says.contains("sampling artefact of a 100 MHz probe"),
        "{}",
        limit.says
    );
    assert!(limit.says.contains("81 clocks of 10 ns"), "{}", limit.says);
    assert!(limit.says.contains("83.2"), "{}", limit.says);
}

#[test]
fn a_clock_that_nobody_names_counts_all_that_were_tried() {
    let findings = with(PROBE, &[("clocks = [\"100 MHz\"]\n", "")]);
    let clock = of(&findings, "whole-clocks");
    assert!(
        clock.says.contains("100 MHz, a usual one"),
        "{}",
        clock.says
    );
    let named = of(&with(PROBE, &[]), "whole-clocks").chance.unwrap();
    assert!((clock.chance.unwrap() / named - 42.0).abs() < 1e-6);
    // A clock that does not fit is not forced upon the figures, and the usual ones are tried.
    let findings = with(PROBE, &[("100 MHz", "133 MHz")]);
    assert!(
        of(&findings, "whole-clocks")
            .says
            .contains("100 MHz, a usual one")
    );
}

#[test]
fn figures_beside_the_clock_and_coarse_figures_are_no_pattern() {
    let findings = with(PROBE, &[("91.49", "91.44")]);
    assert_eq!(rules(&findings), [(Severity::Impossible, "limit")]);
    assert!(!findings[0].says.contains("artefact"));
    let changes =
        ["65.19", "91.49", "94.60", "96.89", "97.35"].map(|e| format!(", efficiency = \"{e} %\""));
    let changes: Vec<(&str, &str)> = changes.iter().map(|c| (c.as_str(), "")).collect();
    assert_eq!(
        rules(&with(PROBE, &changes)),
        [(Severity::Impossible, "limit")]
    );
}

#[test]
fn a_clock_that_explains_nothing_impossible_is_a_remark() {
    let findings = with(&without(PROBE, "66"), &[]);
    assert_eq!(rules(&findings), [(Severity::Remark, "whole-clocks")]);
    assert_eq!(findings[0].cells.len(), 4);
}

#[test]
fn a_minimum_size_that_two_data_sets_agree_on() {
    let findings = with(MINIMUM, &[]);
    let size = of(&findings, "minimum-size");
    assert_eq!(size.severity, Severity::Inconsistent);
    assert_eq!(size.cells[0], "transmit 64/size");
    assert_eq!(size.cells.len(), 5);
    assert_eq!(size.consistent.as_deref(), Some("datagrams of 112 B"));
    assert!(size.says.contains("iperf 2 since 2.0.13"));
    assert!(
        size.arithmetic.contains("112 B (111.7 to 112.4)"),
        "{}",
        size.arithmetic
    );
    assert!(size.chance.unwrap() < 1e-5);
    // The load at 51 Mbit/s is found by both rules, with the raised size in the arithmetic.
    let monotony = of(&findings, "monotony");
    assert_eq!(monotony.cells, ["receive 512 at 51/cpu_load"]);
    assert!(monotony.arithmetic.contains("receive 512 at 50"));
    let cost = of(&findings, "cost");
    assert_eq!(cost.cells, monotony.cells);
    assert_eq!(cost.consistent.as_deref(), Some("about 84.4 %"));
    assert!(cost.arithmetic.contains("datagrams of 112 B"));
    assert_eq!(findings.len(), 3, "{findings:#?}");
}

#[test]
fn a_minimum_size_without_loads_is_a_remark() {
    let findings = with(&without(MINIMUM, "receive"), &[]);
    assert_eq!(rules(&findings), [(Severity::Remark, "minimum-size")]);
    // Two known minimums, 0.6 B of room each, in 64 to 256 B.
    let chance = findings[0].chance.unwrap();
    assert!((0.005..0.008).contains(&chance), "{chance}");
}

#[test]
fn older_iperf_and_no_known_tool() {
    let rates = without(MINIMUM, "receive");
    // 104 B x 27,440 frames/s = 22.83 Mbit/s; 90 B are 19.76.
    let old = with(&rates, &[("24.6", "22.8")]);
    assert!(
        of(&old, "minimum-size")
            .says
            .contains("iperf 2 before 2.0.13")
    );
    let unknown = with(&rates, &[("24.6", "19.76")]);
    assert_eq!(
        of(&unknown, "minimum-size").consistent.as_deref(),
        Some("datagrams of 90 B")
    );
    assert!(of(&unknown, "minimum-size").sure.contains("guess"));
}

#[test]
fn equal_rates_of_packets_at_every_size_and_costs_on_a_line_need_no_minimum() {
    let rates = without(MINIMUM, "receive");
    // 64 B x 27,440 frames/s = 14.05 Mbit/s.
    assert!(with(&rates, &[("24.6", "14.05")]).is_empty());
    // 10 us + 10 ns a byte: packets per second differ at every size.
    let line = [
        ("24.6", "48.12"),
        ("56.2", "163.1"),
        ("\"112 ", "\"270.9 "),
        ("\"323 ", "\"476.1 "),
    ];
    assert!(with(&rates, &line).is_empty());
}

#[test]
fn reports_of_a_sender_without_timestamps_that_counts_from_one() {
    let findings = with(REPORTS, &[]);
    assert_eq!(
        rules(&findings),
        [
            (Severity::Remark, "first-id"),
            (Severity::Remark, "jitter-is-spacing")
        ]
    );
    let id = of(&findings, "first-id");
    assert_eq!(id.cells, ["second 1/lost"]);
    assert_eq!(id.consistent.as_deref(), Some("0 lost"));
    let jitter = of(&findings, "jitter-is-spacing");
    assert_eq!(jitter.cells.len(), 14);
    assert!(
        jitter.arithmetic.contains("mean spacing 248.5 µs"),
        "{}",
        jitter.arithmetic
    );
}

#[test]
fn honest_reports_of_a_server() {
    // One interval whose jitter is 8 % below the spacing is jitter.
    let findings = with(REPORTS, &[("0.247 ms", "0.228 ms")]);
    assert_eq!(rules(&findings), [(Severity::Remark, "first-id")]);
    // A loss in a later interval too is a loss.
    let later = "lost = \"0\", datagrams = \"4022\"";
    let findings = with(REPORTS, &[(later, "lost = \"1\", datagrams = \"4023\"")]);
    assert_eq!(rules(&findings), [(Severity::Remark, "jitter-is-spacing")]);
    // Jitter printed to one digit would be close to anything.
    let coarse = without(&without(REPORTS, "second 1\""), "second 5");
    let changes = [("0.248 ms", "0.2 ms"), ("0.249 ms", "0.2 ms")];
    assert!(with(&coarse, &changes).is_empty());
}

#[test]
fn a_column_at_the_rate_of_the_link_is_made_of_byte_times_anyway() {
    let wire = [
        ("65.19", "63.462"),
        ("91.49", "92.017"),
        ("94.60", "95.519"),
        ("96.89", "96.885"),
        ("97.35", "97.526"),
    ];
    let rates = [
        ("652", "635"),
        ("915", "920"),
        ("946", "955"),
        ("974", "975"),
    ];
    let at_the_limit: Vec<(&str, &str)> = wire.into_iter().chain(rates).collect();
    assert!(with(PROBE, &at_the_limit).is_empty());
    // One figure of 1537 byte times where the wire needs 1536: now the clock of the bytes is worth a remark.
    let changes = [
        ("clocks = [\"100 MHz\"]", "clocks = [\"125 MHz\"]"),
        ("97.526", "97.463"),
    ];
    let slower: Vec<(&str, &str)> = at_the_limit.iter().copied().chain([changes[0]]).collect();
    let text = slower
        .iter()
        .fold(PROBE.to_owned(), |text, (from, to)| text.replace(from, to));
    assert_eq!(
        rules(&with(&text, &[changes[1]])),
        [(Severity::Remark, "whole-clocks")]
    );
}

/// The table with the 64-byte receive rates of a tool that sent `bytes` in place of 112.
fn received(text: &str, bytes: f64) -> String {
    let rates = [5.0, 10.0, 15.0, 7.0];
    rates.into_iter().fold(text.to_owned(), |text, rate| {
        let from = format!("datagram = 64, load = \"{rate}M\"");
        assert!(text.contains(&from), "{from}");
        text.replace(
            &from,
            &format!("datagram = 64, load = \"{:.3}M\"", rate * bytes / 112.0),
        )
    })
}

#[test]
fn loads_that_do_not_agree_with_the_rates_do_not_confirm_a_size() {
    let findings = with(&received(MINIMUM, 64.0), &[]);
    let size = of(&findings, "minimum-size");
    assert_eq!(size.severity, Severity::Remark);
    assert!(
        size.sure.contains("a size falls on a known minimum"),
        "{}",
        size.sure
    );
    // A size that no tool is known for stays a remark, however well the loads agree.
    let findings = with(&received(MINIMUM, 90.0), &[("24.6", "19.76")]);
    let size = of(&findings, "minimum-size");
    assert_eq!(size.severity, Severity::Remark);
    assert!(
        size.arithmetic.contains("88 B fits best"),
        "{}",
        size.arithmetic
    );
}

#[test]
fn sizes_close_together_say_nothing_about_a_far_one() {
    // 10 us + 50 ns a byte, printed to two digits: the three large sizes are equal within their rounding.
    let rates = without(MINIMUM, "receive");
    let far = [
        ("datagram = 256", "datagram = 1400"),
        ("datagram = 512", "datagram = 1450"),
        ("24.6 Mbit/s", "38.8 Mbit/s"),
        ("56.2 Mbit/s", "0.14 Gbit/s"),
        ("\"112 Mbit/s", "\"0.14 Gbit/s"),
        ("\"323 Mbit/s", "\"0.14 Gbit/s"),
    ];
    assert!(with(&rates, &far).is_empty());
}
