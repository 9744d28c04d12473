//! Some tables of the corpus: most planted errors are named, few neighbours are blamed, and honest tables pass. The whole
//! corpus is in `audit_corpus_whole.rs`.

use crate::corpus;

#[test]
fn honest_tables_have_no_finding_but_remarks() {
    corpus::honest_tables_pass(0..60);
}

#[test]
fn most_errors_are_named_and_few_neighbours_blamed() {
    let result = corpus::run(0..150);
    let total = result.total();
    assert!(total.planted > 200, "{total:?}");
    assert!(10 * total.named >= 9 * total.planted, "{result:#?}");
    assert!(
        100 * (result.blamed + result.blamed_by_remark) <= 5 * total.planted,
        "{result:#?}"
    );
}

#[test]
fn the_corpus_has_errors_of_all_kinds_and_each_is_one() {
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..150 {
        let Some((table, planted)) = corpus::broken(seed) else {
            continue;
        };
        let honest = corpus::tables::honest(seed);
        for (kind, cells) in &planted {
            kinds.insert(*kind);
            for (row, figure) in cells {
                let at = |table: &corpus::tables::Table| table.lines[*row].figures[*figure].clone();
                assert_ne!(at(&honest), at(&table), "{seed} {kind:?}");
            }
        }
        let wrong: usize = planted.iter().map(|(_, cells)| cells.len()).sum();
        let cells = honest.lines.iter().zip(&table.lines);
        let differ = cells
            .flat_map(|(a, b)| a.figures.iter().zip(&b.figures))
            .filter(|(a, b)| a != b);
        assert_eq!(differ.count(), wrong, "{seed}");
    }
    assert_eq!(kinds.len(), corpus::errors::KINDS.len());
}
