//! How figures of a datasheet are written: three significant digits, as on published pages.

use std::borrow::Cow;

use wirelab_trial::{Field, Kind, is_node_busy};

use super::sheet::{Rate, SumParts, Total};
use crate::document::table::{Cell, Head, Shown};
use crate::format;
use crate::loss::Loss;

/// A core that is this busy when idle shows nothing about a trial.
const BUSY_BEFORE: f64 = 0.9;

/// A number to three significant digits, whole numbers never shortened, without zeros at the end, e.g. `24.6`, `5`.
pub fn three(value: f64) -> String {
    if value > 0.0 && value < 0.001 {
        return "<0.001".to_owned();
    }
    let places = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        _ => 3,
    };
    trimmed(format::decimal(value, places))
}

fn trimmed(text: String) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Bit/s in Mbit/s.
pub fn mbit(bits_per_s: f64) -> String {
    three(bits_per_s / 1e6)
}

/// A CPU load in whole percent, below 10 % with one decimal.
pub fn load(ratio: f64) -> String {
    match ratio * 100.0 {
        p if p > 0.0 && p < 0.05 => "<0.1".to_owned(),
        p if p < 9.95 => trimmed(format::decimal(p, 1)),
        p => format::decimal(p, 0),
    }
}

/// A share of lost frames in percent: `0.0` is none at all, and the smallest loss is still seen.
pub fn loss(ratio: f64) -> String {
    match ratio * 100.0 {
        p if p > 0.0 && p < 0.005 => "<0.01".to_owned(),
        p if p > 0.0 && p < 0.095 => format::decimal(p, 2),
        p => format::decimal(p, 1),
    }
}

/// A time in ns.
pub fn ns(ps: u64) -> String {
    let places = if ps < 100_000 { 1 } else { 0 };
    trimmed(format::decimal(ps as f64 / 1e3, places))
}

/// A time in µs.
pub fn us(ps: f64) -> String {
    format::decimal(ps / 1e6, 2)
}

/// A bandwidth in Mbit/s.
pub fn bandwidth(field: &Field<f64>) -> Cell {
    Cell::of(field.clone(), mbit)
}

/// What a rate trial offered, with a note if that is not the requested rate; what arrived, if the offered rate is unknown.
pub fn offered(rate: &Rate) -> Cell {
    match rate.offered_bits_per_s.value() {
        Some(_) => noted(
            bandwidth(&rate.offered_bits_per_s),
            rate,
            "the tester fell behind the requested rate",
        ),
        None => arrived(rate),
    }
}

/// What arrived, with a note where the tester was the limit.
pub fn arrived(rate: &Rate) -> Cell {
    let cell = bandwidth(&rate.bits_per_s);
    if let Some(note) = node_was_busy(rate).filter(|_| !tester_limits(rate)) {
        return cell.with_note(note);
    }
    noted(
        cell,
        rate,
        "the tester was the limit: the node may be faster",
    )
}

/// The note on figures of a node that its host paused.
const NODE_HELD_NOTE: &str =
    "the node's own host held its sender or receiver up: an idle node may be faster and lose less";
/// The note on figures of a node that did other work.
const NODE_BUSY_NOTE: &str =
    "the node's cores were busy before the trial: an idle node may be faster and lose less";

/// The note on a node that did other work, so that an idle one may be faster.
fn node_was_busy(rate: &Rate) -> Option<&'static str> {
    if rate.node_held_up {
        return Some(NODE_HELD_NOTE);
    }
    let idle = rate.cpu_idle_ratio.value().copied();
    let busy = idle.filter(|ratio| is_node_busy(*ratio));
    busy.map(|_| NODE_BUSY_NOTE)
}

/// Whether the tester was the limit of a figure.
pub fn tester_limits(rate: &Rate) -> bool {
    rate.tester_missed_frames || rate.tester_was_limit.value() == Some(&true)
}

/// The note on a figure that is not the node's own.
fn noted(cell: Cell, rate: &Rate, note: &str) -> Cell {
    match tester_limits(rate) {
        true => cell.with_note(note),
        false => cell,
    }
}

/// The note on a CPU load that is not only the node's.
const SHARED: &str = " shared";

/// A column of figures.
pub fn column(name: impl Into<Cow<'static, str>>, unit: &'static str) -> Head {
    Head::figures(name, unit, Shown::Always, 0)
}

/// Where a column of CPU loads says that cores were shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedShown {
    /// In its head, if all loads are of shared cores: that leaves space for other columns.
    InHead,
    /// In each cell.
    InCells,
}

impl SharedShown {
    /// For a column with the loads of these rates.
    pub fn of<'a>(rates: impl IntoIterator<Item = &'a Rate>) -> SharedShown {
        let known = rates
            .into_iter()
            .filter(|rate| rate.cpu_busy_ratio.value().is_some());
        let shared: Vec<bool> = known.map(|rate| rate.cpu_shared).collect();
        match !shared.is_empty() && shared.iter().all(|shared| *shared) {
            true => SharedShown::InHead,
            false => SharedShown::InCells,
        }
    }

    /// The column.
    pub fn column(self) -> Head {
        let unit = match self {
            SharedShown::InHead => "%, shared",
            SharedShown::InCells => "%",
        };
        column("CPU Load", unit)
    }

    /// The CPU load of one of its rates.
    pub fn cpu(self, rate: &Rate) -> Cell {
        cpu(rate, rate.cpu_shared && self == SharedShown::InCells)
    }
}

/// The CPU load, marked where it is not the node's alone, or where the idle node was as busy.
fn cpu(rate: &Rate, says_shared: bool) -> Cell {
    let shared = if says_shared { SHARED } else { "" };
    if let (Some(busy), Some(idle)) = (
        rate.cpu_busy_ratio.value(),
        rate.cpu_idle_ratio
            .value()
            .filter(|idle| **idle >= BUSY_BEFORE),
    ) {
        return Cell::Noted {
            text: format!("{}{shared}", load(*busy)),
            kind: rate.cpu_busy_ratio.kind(),
            note: format!(
                "the node's cores were {} % busy before the trial: other work, or a node that waits by spinning",
                load(*idle)
            ),
            alarm: false,
        };
    }
    Cell::of(rate.cpu_busy_ratio.clone(), |busy| {
        format!("{}{shared}", load(busy))
    })
}

/// A share of frames lost, and its largest possible value.
pub fn loss_range(low: &Field<f64>, at_most: Option<f64>) -> Cell {
    Loss::cell(low.clone().map(|low| Loss::new(low, at_most)), loss)
}

/// The share of frames lost.
pub fn lost(rate: &Rate) -> Cell {
    let cell = loss_range(&rate.loss_ratio, rate.loss_ratio_at_most);
    if matches!(cell, Cell::Noted { .. }) {
        cell
    } else if rate.tester_missed_frames {
        cell.with_note("the tester's own queue dropped frames, which are not in this loss")
    } else if let Some(note) = node_was_busy(rate) {
        cell.with_note(note)
    } else {
        cell
    }
}

/// A sum. If its parts differ in kind, the kinds stand beside it and a note names the parts.
pub fn total(total: &Total) -> Cell {
    match total {
        Total::Absent { absent } => Cell::Absent(absent.clone()),
        Total::Sum {
            value_ps,
            kind,
            parts,
            ..
        } => sum(ns(*value_ps), *kind, parts.as_ref()),
    }
}

/// A figure of one kind, or a sum of the parts named.
pub fn sum(text: String, kind: Kind, parts: Option<&SumParts>) -> Cell {
    match parts {
        None => Cell::Figure {
            text,
            kind,
            alarm: false,
        },
        Some(parts) => Cell::Noted {
            text: format!("{text} ({})", parts.kinds()),
            note: format!("a sum: {parts}"),
            kind: None,
            alarm: false,
        },
    }
}

/// A percentile, with a note if `samples` are too few for it.
pub fn percentile(field: &Field<u64>, share: f64, samples: u64) -> Cell {
    let needed = (1.0 / (1.0 - share)).round();
    let cell = Cell::of(field.clone(), |ps| us(ps as f64));
    if samples as f64 >= needed {
        return cell;
    }
    cell.with_note(format!(
        "the largest of {} samples: the {}th percentile needs {} or more",
        format::integer(samples),
        trimmed(format::decimal(share * 100.0, 2)),
        format::decimal(needed, 0)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_as_datasheets_print_them() {
        for (mbit, text) in [
            (950.0, "950"),
            (24.6, "24.6"),
            (5.0, "5"),
            (4.996, "5"),
            (112.4, "112"),
            (9412.3, "9,412"),
            (0.064, "0.064"),
            (0.0, "0"),
            (1e-9, "<0.001"),
        ] {
            assert_eq!(three(mbit), text);
        }
        assert_eq!(
            [0.0, 1e-6, 4e-4, 0.008, 0.055, 1.0].map(loss),
            ["0.0", "<0.01", "0.04", "0.8", "5.5", "100.0"]
        );
        assert_eq!(
            [0.0, 1e-4, 0.012, 0.24, 1.0].map(load),
            ["0", "<0.1", "1.2", "24", "100"]
        );
        assert_eq!(
            [39_400_000, 193_000, 12_345].map(ns),
            ["39,400", "193", "12.3"]
        );
    }

    #[test]
    fn a_percentile_that_the_samples_are_too_few_for_says_so() {
        let field = Field::measured(5_000_000u64);
        let cell = percentile(&field, 0.9999, 512);
        assert!(
            matches!(&cell, Cell::Noted { text, note, .. } if text == "5.00" && note.contains("10,000")),
            "{cell:?}"
        );
        assert!(matches!(percentile(&field, 0.99, 512), Cell::Figure { .. }));
    }
}
