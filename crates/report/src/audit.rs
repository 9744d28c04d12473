//! Findings of an audit for a reader at a terminal.

use wirelab_study::audit::{Finding, Severity};

use crate::document::{Block, Document, terminal};
use crate::options::Options;

/// Cells of a finding that are named; the number of the others is told.
const MOST_CELLS: usize = 5;
/// The findings in their order, and a line that counts them.
pub fn terminal(findings: &[Finding], options: &Options) -> String {
    let mut blocks: Vec<Block<'_>> = findings.iter().flat_map(finding).collect();
    blocks.push(Block::Words(verdict(findings)));
    terminal::render(&Document::new(String::new(), blocks), options)
}

/// How many findings of each severity there are.
pub fn verdict(findings: &[Finding]) -> String {
    let of = |severity| findings.iter().filter(|f| f.severity == severity).count();
    if findings.is_empty() {
        return "nothing found".to_owned();
    }
    let remarks = of(Severity::Remark);
    format!(
        "{} impossible, {} inconsistent, {remarks} remark{}",
        of(Severity::Impossible),
        of(Severity::Inconsistent),
        if remarks == 1 { "" } else { "s" }
    )
}

fn finding(finding: &Finding) -> [Block<'static>; 2] {
    let about = format!("({}) {}:{}", finding.rule, finding.file, finding.line);
    let mut facts = vec![
        ("cell", cells(&finding.cells)),
        ("finding", finding.says.clone()),
        ("arithmetic", finding.arithmetic.clone()),
    ];
    facts.extend(finding.consistent.clone().map(|text| ("consistent", text)));
    facts.push(("sure", finding.sure.clone()));
    let facts = facts.into_iter();
    let facts = facts.map(|(label, text)| (label.to_owned(), text));
    let word = finding.severity.name();
    let alarm = finding.severity.fails();
    [
        Block::Mark { alarm, word, about },
        Block::Facts(facts.collect()),
    ]
}

fn cells(cells: &[String]) -> String {
    let shown: Vec<&str> = cells.iter().take(MOST_CELLS).map(String::as_str).collect();
    match cells.len().saturating_sub(MOST_CELLS) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
