//! Findings of an audit for a reader at a terminal.

use wirelab_study::audit::coverage::Coverage;
use wirelab_study::audit::{Finding, Rule, Severity, Subject};

use crate::document::{Block, Document, terminal};
use crate::options::Options;

/// Cells of a finding that are named; the others are only counted.
const MOST_CELLS: usize = 5;
/// The findings in their order, and a line that counts them.
pub fn terminal(findings: &[Finding], options: &Options) -> String {
    let mut blocks: Vec<Block<'_>> = findings.iter().flat_map(finding).collect();
    blocks.push(Block::Words(verdict(findings)));
    terminal::render(&Document::new(String::new(), blocks), options)
}

/// What the rules check of each table: a line for its figures, and one for each thing that it lacks.
pub fn checked(coverages: &[Coverage], options: &Options) -> String {
    let blocks = coverages.iter().flat_map(|coverage| {
        let lines = std::iter::once(line_of(coverage)).chain(coverage.lacks.clone());
        lines.map(Block::Words).collect::<Vec<_>>()
    });
    terminal::render(&Document::new(String::new(), blocks.collect()), options)
}

fn line_of(coverage: &Coverage) -> String {
    let mut rules: Vec<(Rule, usize)> = coverage.rules.iter().map(|(r, n)| (*r, *n)).collect();
    rules.sort_by_key(|(rule, n)| (std::cmp::Reverse(*n), rule.name()));
    let rules: Vec<String> = rules
        .iter()
        .map(|(rule, n)| format!("{rule} {n}"))
        .collect();
    let of = match coverage.tried == coverage.figures {
        true => format!("{} figures", coverage.figures),
        false => format!("{} figures tried of {}", coverage.tried, coverage.figures),
    };
    let rules = if rules.is_empty() {
        String::new()
    } else {
        format!(" ({})", rules.join(", "))
    };
    let others = match coverage.unchecked.as_slice() {
        [] => String::new(),
        some => format!("; related to no other figure: {}", cells(some)),
    };
    format!(
        "{}: {} of {of} are checked, so that an error of a factor of ten is found{rules}{others}",
        coverage.study, coverage.checked
    )
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
    let of_page = finding
        .source_line
        .map_or(String::new(), |n| format!(", line {n} of the page"));
    let about = format!(
        "({}) {}:{}{of_page}",
        finding.rule, finding.file, finding.line
    );
    let mut facts = vec![
        ("cell", cells(&finding.cells)),
        ("finding", finding.says.clone()),
        ("arithmetic", finding.arithmetic.clone()),
    ];
    facts.extend(finding.consistent.clone().map(|text| ("consistent", text)));
    facts.push(("confidence", finding.sure.clone()));
    let facts = facts.into_iter();
    let facts = facts.map(|(label, text)| (label.to_owned(), text));
    let word = finding.severity.name();
    let alarm = finding.severity.fails();
    [
        Block::Mark { alarm, word, about },
        Block::Facts(facts.collect()),
    ]
}

fn cells(cells: &[Subject]) -> String {
    let shown: Vec<String> = cells
        .iter()
        .take(MOST_CELLS)
        .map(Subject::to_string)
        .collect();
    match cells.len().saturating_sub(MOST_CELLS) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
