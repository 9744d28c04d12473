//! What the audit says of the five documents.

use wirelab_study::audit::{Finding, Severity, Subject, audit, audit_all};
use wirelab_study::library::{names, open};
use wirelab_study::table::{Role, Study};

fn studies() -> Vec<Study> {
    names().map(|name| open(name).unwrap()).collect()
}

fn findings(name: &str) -> Vec<Finding> {
    audit(&open(name).unwrap())
}

/// The findings of a rule about a cell whose name contains `cell`.
fn about(findings: &[Finding], rule: &str, cell: &str) -> Finding {
    let named = |f: &&Finding| {
        f.rule.name() == rule && f.cells.iter().any(|c| c.to_string().contains(cell))
    };
    let found: Vec<&Finding> = findings.iter().filter(named).collect();
    assert_eq!(found.len(), 1, "{rule} {cell}: {findings:#?}");
    found[0].clone()
}

#[test]
fn every_finding() {
    let all: String = audit_all(&studies())
        .iter()
        .map(|f| {
            format!(
                "{} {} {}: {}\n  with {} more cells\n  {}\n  {}\n  consistent: {}\n  sure: {}\n\n",
                f.severity.name(),
                f.rule.name(),
                f.study,
                f.cells
                    .iter()
                    .map(Subject::to_string)
                    .collect::<Vec<_>>()
                    .join(", "),
                f.with.len(),
                f.says,
                f.arithmetic,
                f.consistent.as_deref().unwrap_or("-"),
                f.sure
            )
        })
        .collect();
    insta::assert_snapshot!(all);
}

#[test]
fn ethernet_fmc() {
    let findings = findings("ethernet-fmc");
    let limit = about(&findings, "limit", "66 B/throughput");
    assert_eq!(limit.severity, Severity::Impossible);
    assert!(limit.cells.iter().any(|of| *of == "66 B/efficiency"));
    assert!(
        limit
            .says
            .contains("sampling artefact of a 100 MHz probe: 81 clocks")
    );
    let clock = about(&findings, "whole-clocks", "66 B/efficiency");
    assert_eq!(clock.severity, Severity::Inconsistent);
    assert!(clock.chance.unwrap() < 1e-4 && clock.says.contains("All 5 figures"));
}

#[test]
fn am263x() {
    let findings = findings("am263x");
    let load = about(&findings, "monotony", "51 Mbit/s/cpu_load");
    assert_eq!(load.severity, Severity::Inconsistent);
    assert_eq!(load.consistent.as_deref(), Some("about 82.2 %"));
    let cost = about(&findings, "cost", "51 Mbit/s/cpu_load");
    assert_eq!(cost.consistent.as_deref(), Some("about 84.2 %"));
    let size = about(&findings, "minimum-size", "UDP TX 64 B/size");
    assert_eq!(size.severity, Severity::Inconsistent);
    assert_eq!(size.consistent.as_deref(), Some("datagrams of 112 B"));
    assert!(size.chance.unwrap() < 1e-4);
}

#[test]
fn zynq() {
    let findings = findings("zynq");
    for (claim, table) in [
        ("2.2 us", "2.3 us"),
        ("35 us", "30.09 us"),
        ("3.3 us", "2.95 us"),
    ] {
        let finding = about(&findings, "claim", claim);
        assert_eq!(finding.severity, Severity::Inconsistent);
        assert_eq!(finding.consistent.as_deref(), Some(table));
    }
    assert_eq!(
        findings.len(),
        3,
        "7.73 against 7.74 us is rounding: {findings:#?}"
    );
}

#[test]
fn lpc1768() {
    let findings = findings("lpc1768");
    for (cell, meant) in [
        ("smallest", "6.84 MB/s"),
        ("largest", "12.19 MB/s"),
        ("/data", "75 kB"),
    ] {
        let finding = about(&findings, "unit", cell);
        assert_eq!(finding.severity, Severity::Inconsistent);
        assert_eq!(finding.consistent.as_deref(), Some(meant));
    }
    assert_eq!(findings.len(), 3, "{findings:#?}");
}

#[test]
fn esp32_nuttx() {
    let findings = findings("esp32-nuttx");
    let lost = about(&findings, "first-id", "/lost");
    assert_eq!(lost.severity, Severity::Remark);
    let jitter = about(&findings, "jitter-is-spacing", "/jitter");
    assert_eq!(
        (jitter.severity, jitter.cells.len()),
        (Severity::Remark, 14)
    );
    let link = about(&findings, "link", "throughput");
    assert_eq!(link.consistent.as_deref(), Some("100 Mbit/s"));
}

#[test]
fn every_disputed_figure_has_a_finding_and_no_other_fails() {
    for study in studies() {
        let findings = audit(&study);
        let mut disputed = Vec::new();
        let mut undisputed = Vec::new();
        for row in &study.rows {
            for cell in &row.cells {
                let name = format!("{}/{}", row.name, cell.metric);
                match cell.role {
                    Role::Disputed => disputed.push(name),
                    _ => undisputed.push(name),
                }
            }
        }
        for claim in &study.claims {
            match claim.role {
                Role::Disputed => disputed.push(claim.name.clone()),
                _ => undisputed.push(claim.name.clone()),
            }
        }
        for name in &disputed {
            assert!(
                findings
                    .iter()
                    .any(|f| f.cells.iter().any(|of| of.to_string() == *name)),
                "{}: {name}",
                study.name
            );
        }
        for finding in findings.iter().filter(|f| f.severity.fails()) {
            let wrong = finding
                .cells
                .iter()
                .find(|cell| undisputed.contains(&cell.to_string()));
            assert_eq!(wrong, None, "{}: {finding:#?}", study.name);
        }
    }
}
