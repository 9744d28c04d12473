//! The whole corpus, and the table of `docs/studies.md` that it gives.

use crate::corpus;
use crate::corpus::errors::KINDS;

/// Seeds of honest tables, and of tables with errors.
const TABLES: u64 = 1_000;
/// Where the tables with errors begin: the rules were made with the first ones known.
const UNSEEN: u64 = 100_000;

#[test]
fn a_thousand_honest_tables_have_no_finding_but_remarks() {
    corpus::honest_tables_pass(UNSEEN..UNSEEN + TABLES);
}

#[test]
fn the_table_of_the_page_is_what_the_corpus_gives() {
    let result = corpus::run(UNSEEN..UNSEEN + TABLES);
    let total = result.total();
    assert!(10 * total.named >= 9 * total.planted, "{result:#?}");
    let blamed = result.blamed + result.blamed_by_remark;
    assert!(100 * blamed <= 3 * total.planted, "{result:#?}");
    let mut table = String::from(
        "| planted | errors | named | the likeliest cell | at *inconsistent* or above |\n|---|---|---|---|---|\n",
    );
    let row = |name: &str, s: &corpus::Score| {
        let percent = |n: usize| format!("{:.1} %", 100.0 * n as f64 / s.planted as f64);
        format!(
            "| {name} | {} | {} | {} | {} |\n",
            s.planted,
            percent(s.named),
            percent(s.first),
            percent(s.surely)
        )
    };
    for (kind, name) in KINDS {
        table.push_str(&row(name, &result.by_kind[&kind]));
    }
    table.push_str(&row("all", &total));
    let sentence = format!(
        "In {} tables with {} errors, {} findings ({:.1} % of the errors) blame correct cells only.",
        result.tables,
        total.planted,
        blamed,
        100.0 * blamed as f64 / total.planted as f64
    );
    let page = include_str!("../../../docs/studies.md");
    let page = page.replace('\n', " ");
    let found = page.contains(&table.replace('\n', " ")) && page.contains(&sentence);
    assert!(
        found,
        "docs/studies.md does not have this:\n{table}\n{sentence}"
    );
}
