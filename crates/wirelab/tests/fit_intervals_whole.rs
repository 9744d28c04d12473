//! Tables of all nodes of the library, and the table of `docs/fit.md` that their other halves give.

use crate::fit_common;
use crate::fit_common::Held;
use wirelab_model::library;

/// Metrics with the words and the unit of half widths that the page has for them.
const METRICS: [(&str, &str, &str); 3] = [
    ("throughput", "rates", "%"),
    ("cpu_load", "CPU loads", "points"),
    ("latency", "latencies", "%"),
];

#[test]
fn intervals_hold_the_other_half_of_all_tables_as_the_page_says() {
    let all = fit_common::run(library::names(), 1..=3);
    let mut table = String::from(
        "| predicted | figures | in their interval | median half width | without an interval |\n|---|---|---|---|---|\n",
    );
    for (metric, words, unit) in METRICS {
        let held: &Held = &all[metric];
        assert!(held.coverage() >= 0.9, "{metric}: {held:?}");
        assert!(held.median_width() < 5.0, "{metric}: {held:?}");
        // What has no interval is what nothing moves: a full CPU, a full link.
        assert!(10 * held.exact >= 9 * held.without, "{metric}: {held:?}");
        table.push_str(&format!(
            "| {words} | {} | {:.1} % | {:.2} {unit} | {} |\n",
            held.figures,
            100.0 * held.coverage(),
            held.median_width(),
            held.without
        ));
    }
    let page = include_str!("../../../docs/fit.md");
    assert!(
        page.contains(&table),
        "docs/fit.md does not have this:\n{table}"
    );
}
