//! Pages as wholes: one that was copied is one finding, and honest pages of relatives are none.

use wirelab_study::audit::coverage::{Coverage, audit_with_coverage, coverage};
use wirelab_study::audit::{Finding, Rule, audit, audit_all};
use wirelab_study::table::Study;

/// A page as TI prints it: loads of UDP in groups of sizes, with a cost of a frame and of a byte, in ps.
fn page(
    name: &str,
    decimals: usize,
    frame: f64,
    byte: f64,
    change: impl Fn(usize, f64) -> f64,
) -> Study {
    let mut text = format!(
        "title = 'UDP of {name}'\nsource = 'made up'\nnode = '{name}'\nlink = '1G'\n\
         [[table]]\nname = 'PHY'\ntrial = {{ layer = 'ethernet', direction = 'receive', length = 200 }}\n\
         point = 'PHY'\ndatasheet = true\ncolumns = ['latency ns']\nrows = [['a', '193.25']]\n\
         [[table]]\nname = '{{label}} {{datagram}} at {{load}}'\ntrial = {{ layer = 'udp4', direction = 'receive' }}\n\
         columns = ['load Mbit/s', 'cpu_load %', 'loss %']\n\
         groups = [{{ datagram = 112 }}, {{ datagram = 256 }}, {{ datagram = 512 }}, {{ datagram = 1470 }}]\nrows = [\n"
    );
    let mut at = 0;
    for share in [0.15, 0.3, 0.45, 0.6, 0.8] {
        text.push_str("['RX'");
        for bytes in [112.0, 256.0, 512.0, 1470.0] {
            let cost = frame + byte * bytes;
            let most = 8.0 * bytes / cost * 1e6;
            let load = (most * share).round().max(1.0);
            let cpu = 100.0 * change(at, load * cost / (8.0 * bytes) / 1e6);
            text.push_str(&format!(
                ", '@{at} {load} {cpu:.decimals$} 0.0'",
                at = at + 1
            ));
            at += 1;
        }
        text.push_str("],\n");
    }
    text.push_str("]\n");
    let text = text.replace("@0", "@1");
    Study::parse(&text, &format!("{name}.toml")).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn pages(findings: &[Finding]) -> Vec<&Finding> {
    findings
        .iter()
        .filter(|f| f.rule.name() == "page")
        .collect()
}

#[test]
fn a_copied_page_is_one_finding() {
    let a = page("chip-a", 1, 55e6, 12e3, |_, load| load);
    // Three of its figures were changed, and the node has another name.
    let b = page("chip-b", 1, 55e6, 12e3, |at, load| {
        if at % 7 == 3 { load * 0.93 } else { load }
    });
    let findings = audit_all(&[a.clone(), b.clone()]);
    let found = pages(&findings);
    let [one] = found.as_slice() else {
        panic!("{findings:#?}");
    };
    assert!(one.severity.fails());
    assert_eq!(one.study, "chip-b");
    assert!(
        one.says.starts_with("38 of 41 cells are those of chip-a"),
        "{}",
        one.says
    );
    assert!(one.chance.unwrap() < 1e-25, "{one:#?}");
    assert!(
        one.arithmetic
            .contains("of 20 independent figures that are the node's own, 17 agree"),
        "{}",
        one.arithmetic
    );
    // What the page says, no row says once more.
    assert!(
        !findings.iter().any(|f| f.rule.name() == "identical"),
        "{findings:#?}"
    );
    // The name of the node does not matter, and a page is not a copy of itself.
    let renamed = Study {
        node: "chip-a".into(),
        ..b
    };
    assert_eq!(pages(&audit_all(&[a.clone(), renamed])).len(), 1);
    assert!(audit_all(&[a.clone(), a]).is_empty());
}

#[test]
fn constants_alone_are_no_copy() {
    // The same rates, the data sheet's latency and losses of 0; other loads of the CPU.
    let a = page("chip-a", 1, 55e6, 12e3, |_, load| load);
    let b = page("chip-b", 1, 55e6, 12e3, |at, load| {
        load * (1.1 + 0.01 * at as f64)
    });
    assert_eq!(pages(&audit_all(&[a, b])), Vec::<&Finding>::new());
}

#[test]
fn relatives_that_agree_in_some_figures_are_no_copy() {
    // Costs a percent apart: many figures agree in two digits.
    let mut most = 0;
    for step in 1..40 {
        let a = page("chip-a", 0, 55e6, 12e3, |_, load| {
            (load * 100.0).round() / 100.0
        });
        let off = 1.0 + 0.001 * f64::from(step);
        let b = page("chip-b", 0, 55e6, 12e3, |at, load| {
            load * off + if at % 2 == 0 { 0.01 } else { 0.0 }
        });
        let findings = audit_all(&[a.clone(), b.clone()]);
        let same = a
            .rows
            .iter()
            .zip(&b.rows)
            .flat_map(|(x, y)| x.cells.iter().zip(&y.cells));
        most = most.max(
            same.filter(|(x, y)| x.metric.name() == "cpu_load" && x.published == y.published)
                .count(),
        );
        assert_eq!(pages(&findings), Vec::<&Finding>::new(), "step {step}");
    }
    assert!(most >= 5, "they agree in {most} figures at most");
}

#[test]
fn the_shipped_studies_are_no_copies() {
    let all: Vec<Study> = wirelab_study::library::names()
        .map(|n| wirelab_study::library::open(n).unwrap())
        .collect();
    assert_eq!(pages(&audit_all(&all)), Vec::<&Finding>::new());
}

#[test]
fn each_run_says_what_is_checked_and_what_is_lacking() {
    let study = page("chip-a", 1, 55e6, 12e3, |_, load| load);
    let checked = coverage(&study);
    assert_eq!((checked.figures, checked.tried), (41, 41));
    // Loads of the CPU are compared with their column; a latency of a data sheet alone is related to nothing.
    assert_eq!(checked.rules[&Rule::Cost], 20, "{checked:#?}");
    assert!(
        checked.unchecked.iter().any(|of| *of == "PHY/latency"),
        "{checked:#?}"
    );
    assert_eq!(checked.lacks, Vec::<String>::new());
    let without = "title='a'\nsource='b'\n[[row]]\nname='a'\ntrial={layer='udp4', load='5M'}\npublished={throughput='5 Mbit/s', cpu_load='30 %'}\n";
    let study = Study::parse(without, "a.toml").unwrap();
    let checked = coverage(&study);
    assert_eq!(
        checked.checked, 1,
        "a share of 300 % would be found: {checked:#?}"
    );
    assert!(
        checked.lacks[0].starts_with("no link rate: 1 rate and 1 load"),
        "{checked:#?}"
    );
    assert!(
        checked.lacks[1].starts_with("no size: 2 figures of 1 row"),
        "{checked:#?}"
    );
}

#[test]
fn the_link_is_taken_from_the_words() {
    let text = |title: &str| {
        format!(
            "title='{title}'\nsource='b'\n[[row]]\nname='a'\ntrial={{layer='udp4', datagram=1470}}\npublished={{throughput='120 Mbit/s'}}\n"
        )
    };
    let of = |title: &str| audit_with_coverage(&[Study::parse(&text(title), "a.toml").unwrap()]);
    let has_words = |checked: &[Coverage]| {
        let mut lacks = checked.iter().flat_map(|checked| &checked.lacks);
        lacks.any(|lack| lack.contains("according to the words"))
    };
    let (findings, checked) = of("Throughput of a 100 Mbit/s Ethernet interface");
    assert!(has_words(&checked), "{checked:#?}");
    assert_eq!(findings[0].rule.name(), "link");
    // Two rates, or none that is a link's, say nothing.
    for title in [
        "10 Mbit/s and 100 Mbit/s Ethernet",
        "Throughput of 95 Mbit/s",
    ] {
        let (findings, checked) = of(title);
        assert!(!has_words(&checked), "{title}: {checked:#?}");
        assert!(findings.is_empty(), "{title}: {findings:#?}");
    }
}

/// Whatever a finding names, its rule is counted as one that checks it.
#[test]
fn what_is_found_is_counted_as_checked() {
    for name in wirelab_study::library::names() {
        let study = wirelab_study::library::open(name).unwrap();
        let findings = audit(&study);
        let checked = coverage(&study);
        assert_eq!(checked.checked + checked.unchecked.len(), checked.tried);
        for finding in &findings {
            let cells = finding.cells.iter().filter(|cell| cell.metric().is_some());
            if cells.count() > 0 {
                assert!(
                    checked.rules.contains_key(&finding.rule),
                    "{name}: {} is in no count",
                    finding.rule.name()
                );
            }
        }
        println!(
            "{name}: {} of {} {:?}",
            checked.checked, checked.tried, checked.rules
        );
    }
}
