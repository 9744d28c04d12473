//! Reads claims of the text about figures, and cells that must be the sum of others.

use std::collections::BTreeSet;

use wirelab_config::{Entry, FileError, Read, Table};
use wirelab_trial::nearest::did_you_mean;

use super::row::{figure, need_reason};
use super::{MAX_CLAIMS, list, name, too_many};
use crate::metric::Metric;
use crate::quantity::Quantity;
use crate::table::{CellName, Claim, ClaimOf, Relation, Role, Study, Sum};

const CLAIM_KEYS: [&str; 8] = [
    "name",
    "text",
    "published",
    "metric",
    "value_of",
    "difference",
    "role",
    "reason",
];
const SUM_KEYS: [&str; 2] = ["total", "parts"];

fn sections<'a>(top: &Table<'a>, key: &str) -> Read<Vec<Table<'a>>> {
    let sections = top.sections(key)?;
    match sections.get(MAX_CLAIMS) {
        Some(section) => Err(section.error_here(too_many(MAX_CLAIMS))),
        None => Ok(sections),
    }
}

pub(super) fn claims(top: &Table<'_>, study: &mut Study, wrong: &mut Vec<FileError>) -> Read<()> {
    let rows = study.rows.iter().map(|row| row.name.clone());
    let mut names: BTreeSet<String> = rows.collect();
    for table in sections(top, "claim")? {
        match claim(&table, study) {
            Ok(claim) if names.insert(claim.name.clone()) => study.claims.push(claim),
            Ok(claim) => {
                let what = format!(
                    "another row or claim is named '{}' too; fix: choose another",
                    claim.name
                );
                wrong.push(table.at_key("name", what));
            }
            Err(error) => wrong.push(error),
        }
    }
    Ok(())
}

fn claim(table: &Table<'_>, study: &Study) -> Read<Claim> {
    table.known_keys(&CLAIM_KEYS)?;
    let metric = table.need("metric", "write which metric of the rows it is about")?;
    let metric: Metric = metric.word()?;
    let published = table.need("published", "write a figure or a bound, e.g. \"< 2.2 us\"")?;
    let (relation, quantity) = bound(&published, metric)?;
    let role_at = table.get("role");
    let role = role_at.as_ref().map_or(Ok(Role::HeldOut), |e| e.word())?;
    let reason = table.text("reason")?;
    need_reason(role_at.as_ref(), role, reason.as_ref())?;
    Ok(Claim {
        name: name(&table.need("name", "name the claim for the findings")?)?,
        text: table
            .need("text", "write a short form of the document's text")?
            .text()?,
        line: table.line(),
        relation,
        published: quantity,
        metric,
        of: of(table, study)?,
        role,
        reason,
    })
}

fn bound(entry: &Entry<'_>, metric: Metric) -> Read<(Relation, Quantity)> {
    let text = entry.text()?;
    let text = text.trim();
    let (relation, rest) = match text.chars().next() {
        Some('<') => (Relation::Below, &text[1..]),
        Some('>') => (Relation::Above, &text[1..]),
        _ => (Relation::Equals, text),
    };
    let quantity = rest.parse().map_err(|e: String| entry.error(e))?;
    Ok((relation, figure(entry, metric, quantity)?))
}

fn of(table: &Table<'_>, study: &Study) -> Read<ClaimOf> {
    match (table.get("value_of"), table.get("difference")) {
        (Some(row), None) => Ok(ClaimOf::Row(known_row(&row, study)?)),
        (None, Some(pairs)) => {
            let pairs: Vec<_> = list(&pairs)?
                .iter()
                .map(|pair| match &pair.entries()[..] {
                    [a, b] => Ok((known_row(a, study)?, known_row(b, study)?)),
                    _ => Err(pair.invalid("write pairs of rows, e.g. [[\"row a\", \"row b\"]]")),
                })
                .collect::<Read<_>>()?;
            Ok(ClaimOf::LargestDifference(pairs))
        }
        (Some(_), Some(both)) => {
            Err(both.error("the claim also has value_of; fix: keep one of the two"))
        }
        (None, None) => Err(table.error_here(
            "it does not say how it follows from the rows; fix: write value_of = \"ROW\" or difference",
        )),
    }
}

fn known_row(entry: &Entry<'_>, study: &Study) -> Read<String> {
    let wanted = entry.text()?;
    match study.row(&wanted) {
        Some(row) => Ok(row.name.clone()),
        None => Err(unknown(entry, &wanted, study)),
    }
}

fn unknown(entry: &Entry<'_>, wanted: &str, study: &Study) -> FileError {
    let meant = did_you_mean(wanted, study.rows.iter().map(|row| row.name.as_str()));
    let shown: String = wanted.chars().take(40).collect();
    entry.error(format!(
        "no row is named '{shown}'; {meant}fix: write the name of a row"
    ))
}

pub(super) fn sums(top: &Table<'_>, study: &mut Study, wrong: &mut Vec<FileError>) -> Read<()> {
    for table in sections(top, "sum")? {
        match sum(&table, study) {
            Ok(sum) => study.sums.push(sum),
            Err(error) => wrong.push(error),
        }
    }
    Ok(())
}

fn sum(table: &Table<'_>, study: &Study) -> Read<Sum> {
    table.known_keys(&SUM_KEYS)?;
    let total = table.need("total", "write the sum as \"ROW/METRIC\"")?;
    let summands = table.need("parts", "write what is added, as [\"ROW/METRIC\", …]")?;
    let all = list(&summands)?;
    let sum = Sum {
        line: table.line(),
        total: cell_name(&total, study)?,
        parts: all
            .iter()
            .map(|e| cell_name(e, study))
            .collect::<Read<_>>()?,
    };
    let wanted = sum.total.metric.dimension();
    for (part, entry) in sum.parts.iter().zip(&all) {
        if !part.metric.dimension().compares_with(wanted) {
            let what = format!(
                "{} cannot be added to {}; fix: name figures of one unit",
                part.metric, sum.total.metric
            );
            return Err(entry.error(what));
        }
    }
    Ok(sum)
}

/// An existing cell, as `ROW/METRIC`.
fn cell_name(entry: &Entry<'_>, study: &Study) -> Read<CellName> {
    let text = entry.text()?;
    // The row's name may contain a slash too.
    let Some((row, metric)) = text.rsplit_once('/') else {
        return Err(entry.invalid("write a row and a metric, e.g. \"scenario 3/time\""));
    };
    let metric: Metric = metric.parse().map_err(|e: String| entry.error(e))?;
    let found = study.row(row).ok_or_else(|| unknown(entry, row, study))?;
    if found.cell(metric).is_none() {
        return Err(entry.error(format!(
            "row '{row}' has no published {metric}; fix: name one that it has, or add it there"
        )));
    }
    Ok(CellName {
        row: row.to_owned(),
        metric,
    })
}
