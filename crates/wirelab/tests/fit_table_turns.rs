//! `wirelab fit TABLE` with each row left out in turn: a fit for every row.

use crate::fit_table::{TestFolder, figures, table};

#[test]
fn each_row_is_left_out_in_turn_and_a_share_at_random() {
    let room = TestFolder::new("turn");
    std::fs::write(room.0.join("t.toml"), table()).unwrap();
    let all = room.json(&["fit", "t.toml", "--hold-out", "leave-one-out", "--json"]);
    assert!(
        figures(&all)
            .iter()
            .all(|f| f["kind"] == "predicted" && f["counted"] == true),
        "{all}"
    );
    assert_eq!(figures(&all).len(), 30);
    let random = room.json(&["fit", "t.toml", "--hold-out", "random=30%:3", "--json"]);
    let held = figures(&random)
        .iter()
        .filter(|f| f["counted"] == true)
        .count();
    assert!((3..20).contains(&held), "{held}");
}
