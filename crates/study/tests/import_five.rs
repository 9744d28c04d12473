//! The five shipped studies come out of their documents: by import, and a mapping file for each.
//!
//! `data/import/` has the lines of each document that figures stand in, at their own line numbers.

use std::path::{Path, PathBuf};

use wirelab_study::import::{DefaultAnswers, ImportOptions, import};
use wirelab_study::table::{Row, Study};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/import")
        .join(name)
}

fn imported(page: &str, study: &str) -> Study {
    let mapping = data(&format!("{study}.mapping.toml"));
    let options = ImportOptions {
        mapping: Some((
            std::fs::read_to_string(&mapping).unwrap(),
            mapping.display().to_string(),
        )),
        ..ImportOptions::default()
    };
    let bytes = std::fs::read(data(page)).unwrap();
    let came = import(&bytes, page, &options, &mut DefaultAnswers::default()).unwrap();
    assert_eq!(came.notes, Vec::<String>::new(), "{page}");
    Study::parse(&came.text, &format!("{study}.toml")).unwrap()
}

/// Rows by name, without what a file adds: its lines.
fn bare(study: &Study) -> Vec<Row> {
    let mut rows = study.rows.clone();
    for row in &mut rows {
        row.line = 0;
        for cell in &mut row.cells {
            (cell.line, cell.source_line) = (0, None);
        }
    }
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    rows
}

/// Everything of a study but its order and its lines.
fn same(page: &str, name: &str) {
    let shipped = wirelab_study::library::open(name).unwrap();
    let came = imported(page, name);
    let (wanted, rows) = (bare(&shipped), bare(&came));
    for (row, wanted) in rows.iter().zip(&wanted) {
        assert_eq!(row, wanted, "{name}");
    }
    assert_eq!(rows.len(), wanted.len(), "{name}");
    let head = |s: &Study| {
        (
            s.title.clone(),
            s.source.clone(),
            s.about.clone(),
            s.node.clone(),
            s.link_bits_per_s,
        )
    };
    assert_eq!(head(&came), head(&shipped));
    assert_eq!(came.clocks_hz, shipped.clocks_hz);
    let claims = |s: &Study| {
        let mut claims = s.claims.clone();
        claims.iter_mut().for_each(|claim| claim.line = 0);
        claims
    };
    assert_eq!(claims(&came), claims(&shipped), "{name}");
    let sums = |s: &Study| {
        let mut sums: Vec<_> = s
            .sums
            .iter()
            .map(|sum| (sum.total.clone(), sum.parts.clone()))
            .collect();
        sums.sort();
        sums
    };
    assert_eq!(sums(&came), sums(&shipped), "{name}");
    // Whatever the page prints has the line that it stands in; the rest is said to be added.
    let added = |row: &Row| {
        let others = ["ARP lookup", "scenario 4"];
        others.contains(&row.name.as_str()) || row.cell("throughput_sum".parse().unwrap()).is_some()
    };
    let text = std::fs::read_to_string(data(page)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for row in came.rows.iter().filter(|row| !added(row)) {
        for cell in &row.cells {
            let line = cell
                .source_line
                .unwrap_or_else(|| panic!("{}: no line", row.name));
            assert!(
                !lines[line - 1].is_empty(),
                "{}: line {line} of {page} is not there",
                row.name
            );
        }
    }
}

#[test]
fn lpc1768_out_of_text() {
    same("lpc1768.txt", "lpc1768");
}

#[test]
fn ethernet_fmc_out_of_cells_without_gaps() {
    same("ethernet-fmc.txt", "ethernet-fmc");
}

#[test]
fn esp32_nuttx_out_of_an_iperf_report() {
    same("esp32-nuttx.txt", "esp32-nuttx");
}

#[test]
fn am263x_out_of_markdown_with_html() {
    same("am263x.md", "am263x");
}

#[test]
fn zynq_out_of_a_pdf() {
    same("zynq.txt", "zynq");
}

/// Without a mapping the page of 63 figures is 40 lines, and the audit finds in it what it finds in the study.
#[test]
fn the_am263x_page_needs_no_mapping() {
    let bytes = std::fs::read(data("am263x.md")).unwrap();
    let mut nobody = DefaultAnswers::default();
    let came = import(&bytes, "am263x.md", &ImportOptions::default(), &mut nobody).unwrap();
    assert!(came.text.lines().count() <= 40, "{}", came.text);
    let study = Study::parse(&came.text, "am263x.toml").unwrap();
    let cells: usize = study.rows.iter().map(|row| row.cells.len()).sum();
    assert_eq!((study.rows.len(), cells), (30, 63), "{}", came.text);
    assert_eq!(study.link_bits_per_s, Some(1_000_000_000));
    assert_eq!(study.clocks_hz, [400e6]);
    assert_eq!(study.sums.len(), 2);
    assert_eq!(nobody.assumed.len(), 2, "{:?}", nobody.assumed);
    let shipped = wirelab_study::library::open("am263x").unwrap();
    let fails = |study: &Study| {
        let found = wirelab_study::audit::audit(study);
        let fails = found.iter().filter(|f| f.severity.fails());
        let mut rules: Vec<_> = fails.map(|f| (f.rule, f.cells.len())).collect();
        rules.sort_unstable();
        rules
    };
    assert_eq!(fails(&study), fails(&shipped));
    // Each figure is one of the study's, of the same size, direction and metric.
    for row in &study.rows {
        for cell in &row.cells {
            let known = shipped.rows.iter().any(|other| {
                let trial = (&other.trial.framing, other.trial.direction)
                    == (&row.trial.framing, row.trial.direction);
                let bytes = |row: &Row| row.trial.sizes().map(|s| s.length).ok();
                trial
                    && bytes(other) == bytes(row)
                    && other
                        .cell(cell.metric)
                        .is_some_and(|c| c.published == cell.published)
            });
            assert!(known, "{}/{}", row.name, cell.metric);
        }
    }
}
