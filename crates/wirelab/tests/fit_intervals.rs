//! `wirelab fit TABLE --hold-out random=50%` on tables made from some nodes of the library: the intervals of what is
//! predicted hold the other half of a table. All nodes are in `fit_intervals_whole.rs`.

use crate::fit_common;

#[test]
fn intervals_hold_the_other_half_of_a_table() {
    for (metric, held) in fit_common::run(["am263x", "lpc1768"].into_iter(), 1..=2) {
        assert!(held.figures >= 10, "{metric}: {held:?}");
        if held.without < held.figures {
            assert!(held.coverage() >= 0.9, "{metric}: {held:?}");
            assert!(held.median_width() < 6.0, "{metric}: {held:?}");
        }
    }
}
