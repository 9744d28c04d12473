//! Reads the tables of pages, for the tests of several crates that compare a table with what the code has.

/// The cells of each row below the line that is `head`.
pub fn rows<'a>(page: &'a str, head: &str) -> Vec<Vec<&'a str>> {
    let lines = page.lines().skip_while(|line| *line != head);
    let rows = lines.skip(2).take_while(|line| line.starts_with('|'));
    let rows: Vec<Vec<&str>> = rows
        .map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert!(!rows.is_empty(), "there is no table below: {head}");
    rows
}

/// What a cell has in code marks.
pub fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}
