//! Which cell of a contradiction is the wrong one: probabilities over the cells that could resolve it.

use serde::Serialize;

use super::range::Range;
use super::{Finding, Subject, show, typo};
use crate::quantity::Quantity;

/// A cell in doubt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suspect {
    /// The cell's name.
    pub cell: Subject,
    /// The probability that it is the wrong one.
    pub probability: f64,
}

/// Suspects below this probability are not shown, unless all are.
const LEAST: f64 = 0.02;
/// Most suspects of a finding.
const MOST: usize = 12;
/// Cells below this share of the first suspect's probability are no longer called in doubt.
const IN_DOUBT: f64 = 0.5;
/// The weight of a cell in a finding that does not suspect it: the finding may have another cause.
const ELSEWHERE: f64 = 0.02;

/// The cells with their weights as probabilities, the likeliest first.
fn shares(mut weights: Vec<(Subject, f64)>) -> Vec<Suspect> {
    weights.retain(|(_, weight)| *weight > 0.0);
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let mut all: Vec<Suspect> = weights
        .into_iter()
        .map(|(cell, weight)| Suspect {
            cell,
            probability: weight / total,
        })
        .collect();
    all.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    let most = all.first().map_or(0.0, |s| s.probability);
    all.retain(|s| s.probability >= LEAST.min(most));
    all.truncate(MOST);
    all
}

impl Finding {
    /// Divides the doubt among cells by their weights. The cells in doubt are those that are about as likely as the first.
    pub(super) fn divide(&mut self, weights: Vec<(Subject, f64)>) {
        let names: Vec<Subject> = weights.iter().map(|(cell, _)| cell.clone()).collect();
        self.suspects = shares(weights);
        let most = self.suspects.first().map_or(0.0, |s| s.probability);
        let doubted = self
            .suspects
            .iter()
            .filter(|s| s.probability >= IN_DOUBT * most);
        self.cells = doubted.map(|s| s.cell.clone()).collect();
        self.with.retain(|cell| !self.cells.contains(cell));
        for name in names {
            if !self.cells.contains(&name) && !self.with.contains(&name) {
                self.with.push(name);
            }
        }
    }

    /// The likeliest cell, where the finding divides its doubt.
    pub(super) fn first(&self) -> Option<&Suspect> {
        self.suspects.first()
    }

    /// Says which slip turns the printed figure into the needed one.
    pub(super) fn name_slip(&mut self, printed: &Quantity, needed: Range) {
        if let Some(factor) = typo::factor(printed, needed) {
            self.says.push_str(&format!(
                " It is {}: {} would fit.",
                factor.words, factor.meant
            ));
            self.consistent = Some(factor.meant);
        } else if let Some(slip) = typo::slip(printed, needed) {
            self.arithmetic.push_str(&format!("; {slip}"));
        }
    }

    /// The suspects in words.
    pub(super) fn suspects_in_words(&self) -> Option<String> {
        (self.suspects.len() > 1).then(|| {
            let each = self.suspects.iter();
            let each = each.map(|s| format!("{} {}", s.cell, show::number(s.probability, 2)));
            format!(
                "the wrong one is {}",
                each.collect::<Vec<_>>().join(", or ")
            )
        })
    }
}

/// Findings that share suspects are combined: a cell that explains several is more likely.
pub fn combine(findings: &mut [Finding]) {
    let before: Vec<Vec<Suspect>> = findings.iter().map(|f| f.suspects.clone()).collect();
    for (at, finding) in findings.iter_mut().enumerate() {
        if finding.suspects.len() < 2 {
            continue;
        }
        let each = finding.suspects.iter();
        let mut weights: Vec<(Subject, f64)> =
            each.map(|s| (s.cell.clone(), s.probability)).collect();
        // Of equally likely ones the first by name comes first.
        weights.sort_by_cached_key(|(cell, _)| cell.to_string());
        let related = before.iter().enumerate().filter(|(other, suspects)| {
            *other != at
                && suspects
                    .iter()
                    .any(|s| weights.iter().any(|(cell, _)| *cell == s.cell))
        });
        let related: Vec<&Vec<Suspect>> = related.map(|(_, suspects)| suspects).collect();
        for suspects in related {
            for (cell, weight) in &mut weights {
                let there = suspects.iter().find(|s| s.cell == *cell);
                *weight *= there.map_or(ELSEWHERE, |s| s.probability.max(ELSEWHERE));
            }
        }
        finding.divide(weights);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rule;
    use super::*;
    use crate::audit::Severity;
    use crate::table::Study;

    fn finding(weights: &[(&str, f64)]) -> Finding {
        let text = "title = \"t\"\nsource = \"s\"\nnode = \"n\"\n[[row]]\nname = \"r\"\n\
                    trial = { length = 64 }\npublished = { cpu_load = \"1 %\" }";
        let study = Study::parse(text, "t.toml").unwrap();
        let mut finding = Finding::new(&study, 1, Severity::Inconsistent, Rule::Row);
        finding.divide(
            weights
                .iter()
                .map(|(c, w)| (Subject::Claim((*c).to_owned()), *w))
                .collect(),
        );
        finding
    }

    #[test]
    fn doubt_is_divided_and_adds_up() {
        let finding = finding(&[("a", 9.0), ("b", 1.0), ("c", 0.0)]);
        assert_eq!(finding.cells, ["a"]);
        assert_eq!(finding.with, ["b", "c"]);
        assert_eq!(
            finding.suspects_in_words().unwrap(),
            "the wrong one is a 0.9, or b 0.1"
        );
    }

    #[test]
    fn a_cell_of_two_findings_is_the_likelier_one() {
        let mut both = [
            finding(&[("a", 1.0), ("b", 1.0)]),
            finding(&[("b", 1.0), ("c", 1.0)]),
        ];
        combine(&mut both);
        for finding in &both {
            assert_eq!(finding.cells, ["b"]);
            assert!(finding.suspects[0].probability > 0.9);
        }
        let mut apart = [
            finding(&[("a", 1.0), ("b", 1.0)]),
            finding(&[("c", 1.0), ("d", 1.0)]),
        ];
        combine(&mut apart);
        assert_eq!(apart[0].suspects[0].probability, 0.5);
    }
}
