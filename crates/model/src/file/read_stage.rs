//! Reads `[stage.NAME]`: the resource a stage holds and what it costs.

use wirelab_config::{Entry, Read, Table};

use super::read::{bounded_list, provenance};
use super::{Cost, SizeExpr, SpreadDecl, StageDecl};

const STAGE_KEYS: [&str; 10] = [
    "resource",
    "priority",
    "source",
    "calibrated_from",
    "about",
    "cost",
    "spread",
    "paced",
    "polled",
    "on_missing",
];
const COST_FORMS: &str = "write one of { constant = PARAMETER }, { bytes = SIZE, at = PARAMETER }, \
                          { accesses = SIZE, of = PARAMETER } and { bytes = \"link\", at = \"link\" }";
/// Most terms of a cost.
const MAX_COSTS: usize = 64;

pub(super) fn stage(table: &Table<'_>) -> Read<StageDecl> {
    table.known_keys(&STAGE_KEYS)?;
    if let (Some(_), Some(polled)) = (table.get("paced"), table.get("polled")) {
        return Err(polled.error("the stage is also paced: keep one of the two"));
    }
    Ok(StageDecl {
        resource: table.text("resource")?,
        priority: table
            .get("priority")
            .map_or(Ok(1), |e| e.whole(0, 255).map(|n| n as u8))?,
        provenance: provenance(table)?,
        about: table.text("about")?,
        cost: match table.get("cost") {
            Some(entry) => bounded_list(&entry, MAX_COSTS, cost)?,
            None => Vec::new(),
        },
        scale: 1.0,
        spread: table.get("spread").map(|e| spread(&e)).transpose()?,
        paced: table.text("paced")?,
        polled: table.text("polled")?,
        drops: match table.text("on_missing")?.as_deref() {
            None | Some("wait") => false,
            Some("drop") => true,
            Some(_) => return Err(table.at_key("on_missing", "choose one of \"wait\", \"drop\"")),
        },
    })
}

fn cost(entry: &Entry<'_>) -> Read<Cost> {
    if !entry.is_table() {
        return Err(entry.error(COST_FORMS));
    }
    let table = entry.table()?;
    table.known_keys(&["constant", "bytes", "at", "accesses", "of"])?;
    let keys: Vec<&str> = table.keys().collect();
    Ok(match keys[..] {
        ["constant"] => Cost::Constant {
            parameter: table.need("constant", COST_FORMS)?.text()?,
        },
        ["at", "bytes"] => {
            let bytes = size(&table.need("bytes", COST_FORMS)?)?;
            match table.need("at", COST_FORMS)?.text()? {
                link if link == "link" => Cost::Link { bytes },
                rate => Cost::Bytes { bytes, rate },
            }
        }
        ["accesses", "of"] => Cost::Accesses {
            accesses: size(&table.need("accesses", COST_FORMS)?)?,
            latency: table.need("of", COST_FORMS)?.text()?,
        },
        _ => return Err(table.error_here(COST_FORMS)),
    })
}

/// An expression in quotes, or a plain number.
fn size(entry: &Entry<'_>) -> Read<SizeExpr> {
    if entry.is_text() {
        return SizeExpr::parse(&entry.text()?).map_err(|e| entry.error(e));
    }
    let number = entry.number()?;
    if !(0.0..=1e9).contains(&number) {
        return Err(entry.error("write a number from 0 to 1000000000"));
    }
    Ok(SizeExpr::number(number))
}

fn spread(entry: &Entry<'_>) -> Read<SpreadDecl> {
    let forms = "write { normal = PARAMETER } with its sigma, or { uniform = PARAMETER } with its whole width";
    if !entry.is_table() {
        return Err(entry.error(forms));
    }
    let table = entry.table()?;
    table.known_keys(&["normal", "uniform"])?;
    match (table.text("normal")?, table.text("uniform")?) {
        (Some(name), None) => Ok(SpreadDecl::Normal(name)),
        (None, Some(name)) => Ok(SpreadDecl::Uniform(name)),
        _ => Err(table.error_here(forms)),
    }
}
