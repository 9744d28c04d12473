//! The studies that come with the program, and the examples of the manual.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use wirelab_study::library;
use wirelab_study::metric::Metric;
use wirelab_study::quantity::UNITS;
use wirelab_study::table::{Role, Study};

fn tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

fn files() -> BTreeSet<String> {
    // Without the folder there is no study to list.
    let Ok(folder) = std::fs::read_dir(tree("studies")) else {
        return BTreeSet::new();
    };
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
        .collect()
}

#[test]
fn every_file_of_studies_is_in_the_library() {
    let listed: BTreeSet<String> = library::names().map(str::to_owned).collect();
    assert_eq!(
        listed,
        files(),
        "add it to STUDIES in crates/study/src/library.rs"
    );
}

#[test]
fn every_study_of_the_library_is_read() {
    for name in library::names() {
        let study = library::open(name).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(study.name, name);
        let path = tree(&format!("studies/{name}.toml"));
        let same = library::open(path.to_str().unwrap()).unwrap();
        assert_eq!((same.rows, same.claims), (study.rows, study.claims));
    }
}

#[test]
fn what_is_no_study_is_refused_with_a_fix() {
    let error = library::open("no-such-study").unwrap_err().to_string();
    assert!(
        error.starts_with("there is no study 'no-such-study'; "),
        "{error}"
    );
    assert!(
        error.ends_with("or give a file that ends in .toml"),
        "{error}"
    );
    let error = library::open("no/such/file.toml").unwrap_err().to_string();
    assert!(
        error.starts_with("cannot read no/such/file.toml: "),
        "{error}"
    );
}

#[test]
fn the_examples_of_the_manual_are_studies() {
    let manual = std::fs::read_to_string(tree("docs/studies.md")).unwrap();
    let blocks = manual.split("```toml\n").skip(1);
    let blocks: Vec<&str> = blocks.map(|b| b.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 3);
    let short = Study::parse(blocks[0], "manual.toml").unwrap_or_else(|e| panic!("{e}"));
    let names: Vec<&str> = short.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names.len(), 5);
    assert_eq!(names[0], "UDP RX, 64 B at 5 Mbit/s");
    assert_eq!(names[4], "UDP TX, 64 B");
    assert_eq!(short.rows[2].cells[1].role, Role::Unpredictable);
    let first = Study::parse(blocks[1], "manual.toml").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(first.rows.len(), 3);
    assert_eq!(
        first.rows[0].trial.direction,
        wirelab_trial::Direction::Receive
    );
    let second = Study::parse(blocks[2], "manual.toml").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((second.claims.len(), second.sums.len()), (1, 1));
}

#[test]
fn the_manual_names_every_metric_role_and_limit() {
    let manual = std::fs::read_to_string(tree("docs/studies.md")).unwrap();
    for metric in Metric::ALL {
        assert!(manual.contains(&format!("`{metric}`")), "{metric}");
    }
    for role in [
        Role::Calibration,
        Role::HeldOut,
        Role::Disputed,
        Role::Unpredictable,
    ] {
        assert!(manual.contains(&format!("`{role}`")), "{role}");
    }
    assert!(UNITS.iter().any(|u| u.name == "kpps") && manual.contains("`kpps`"));
    assert_eq!(wirelab_study::reader::MAX_ROWS, 1_000);
    assert!(manual.contains("at most 1,000 rows, 5,000 figures, 200 claims"));
    assert_eq!(wirelab_study::reader::MAX_CELLS, 5_000);
    assert_eq!(wirelab_study::reader::MAX_CLAIMS, 200);
}

#[test]
fn the_document_of_the_lpc1768_is_a_name_of_its_study() {
    let by_document = library::open("nxp-an11053").unwrap();
    assert_eq!(by_document, library::open("lpc1768").unwrap());
    let near = library::open("nxp-an11054").unwrap_err().to_string();
    assert!(near.contains("did you mean 'nxp-an11053'?"), "{near}");
}
