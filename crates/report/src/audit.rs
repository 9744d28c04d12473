//! Findings of an audit for a reader at a terminal.

use wirelab_study::audit::{Finding, Severity};

use crate::escape::line;
use crate::options::Options;
use crate::terminal::{RED, YELLOW, paint};

/// Cells of a finding that are named; the number of the others is told.
const MOST_CELLS: usize = 5;
/// Narrowest text beside a label; on a narrower terminal lines are not broken any further.
const NARROWEST: usize = 24;
/// Column in which the text beside a label starts.
const INDENT: usize = 14;

/// The findings in their order, and a line that counts them.
pub fn terminal(findings: &[Finding], options: &Options) -> String {
    let each: String = findings.iter().map(|f| finding(f, options)).collect();
    format!("{each}{}\n", verdict(findings))
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

fn finding(finding: &Finding, options: &Options) -> String {
    let colour = if finding.severity.fails() {
        RED
    } else {
        YELLOW
    };
    let severity = paint(colour, finding.severity.name(), options);
    let place = format!("{}:{}", line(&finding.file), finding.line);
    let mut out = format!("{severity} ({}) {place}\n", finding.rule);
    let mut part = |label: &str, text: &str| {
        out.push_str(&labelled(label, &line(text), options.width));
    };
    part("cell", &cells(&finding.cells));
    part("finding", &finding.says);
    part("arithmetic", &finding.arithmetic);
    if let Some(consistent) = &finding.consistent {
        part("consistent", consistent);
    }
    part("sure", &finding.sure);
    out.push('\n');
    out
}

fn cells(cells: &[String]) -> String {
    let shown: Vec<&str> = cells.iter().take(MOST_CELLS).map(String::as_str).collect();
    match cells.len().saturating_sub(MOST_CELLS) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A label and its text, broken between words where the terminal ends.
fn labelled(label: &str, text: &str, width: Option<usize>) -> String {
    let room = width.map_or(usize::MAX, |w| w.saturating_sub(INDENT).max(NARROWEST));
    let mut lines: Vec<String> = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let long = word.chars().count();
        if used > 0 && used + 1 + long > room {
            lines.push(String::new());
            used = 0;
        }
        if let Some(last) = lines.last_mut() {
            if used > 0 {
                last.push(' ');
            }
            last.push_str(word);
        }
        used += long + usize::from(used > 0);
    }
    let label = format!("  {label}");
    let start = |at: usize| if at == 0 { label.as_str() } else { "" };
    let each = lines.iter().enumerate();
    each.map(|(at, text)| format!("{:INDENT$}{text}\n", start(at)))
        .collect()
}
