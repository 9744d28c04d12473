//! Fifteen kinds of error, planted into a table.

use super::random::Random;
use super::tables::{Figure, Table};

/// An error changes its figure by this share of it at least, and by four steps of its last digit.
pub const LEAST: f64 = 0.1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Dropped,
    Doubled,
    Swapped,
    Mistyped,
    Point,
    BitsForBytes,
    Prefix,
    Binary,
    CopiedAbove,
    Order,
    WrongColumn,
    CopiedRow,
    Sum,
    AboveHundred,
    AboveOffered,
}

pub const KINDS: [(Kind, &str); 15] = [
    (Kind::Dropped, "a digit dropped"),
    (Kind::Doubled, "a digit doubled"),
    (Kind::Swapped, "two digits swapped"),
    (Kind::Mistyped, "a digit mistyped"),
    (Kind::Point, "the point moved (10)"),
    (Kind::BitsForBytes, "bits for bytes (8)"),
    (Kind::Prefix, "a prefix (1000)"),
    (Kind::Binary, "1024 for a prefix"),
    (Kind::CopiedAbove, "the figure of the row above"),
    (Kind::Order, "two rows' figures exchanged"),
    (Kind::WrongColumn, "the figure of another column"),
    (Kind::CopiedRow, "the whole row above"),
    (Kind::Sum, "a total of other parts"),
    (Kind::AboveHundred, "a percentage above 100"),
    (Kind::AboveOffered, "received above offered"),
];

/// Cells by row and figure.
pub type Cell = (usize, usize);

/// The changed cells; none where the table has no place for the error.
pub fn plant(
    table: &mut Table,
    kind: Kind,
    random: &mut Random,
    taken: &[usize],
) -> Option<Vec<Cell>> {
    let cells: Vec<Cell> = places(table, kind)
        .into_iter()
        .filter(|c| !taken.contains(&c.0))
        .collect();
    for _ in 0..40 {
        if cells.is_empty() {
            return None;
        }
        let at = *random.pick(&cells);
        if let Some(changed) = change(table, kind, at, random, taken) {
            return Some(changed);
        }
    }
    None
}

/// The cells that something else of the page determines, and that an error of this kind may strike.
fn places(table: &Table, kind: Kind) -> Vec<Cell> {
    if kind == Kind::Sum {
        return table.sums.iter().map(|sum| sum[0]).collect();
    }
    let all = table
        .lines
        .iter()
        .enumerate()
        .flat_map(|(row, line)| (0..line.figures.len()).map(move |figure| (row, figure)));
    let fits = |(row, figure): &Cell| {
        let line = &table.lines[*row];
        let f = &line.figures[*figure];
        match kind {
            Kind::AboveHundred => f.unit == "%",
            Kind::AboveOffered => line.offered.is_some() && f.unit != "%",
            Kind::BitsForBytes | Kind::Binary => unit_of(kind, f.unit).is_some(),
            Kind::Prefix => unit_of(kind, f.unit).is_some(),
            Kind::CopiedRow => *figure == 0 && line.figures.len() > 1,
            _ => true,
        }
    };
    all.filter(fits).collect()
}

fn unit_of(kind: Kind, unit: &str) -> Option<&'static str> {
    let pairs: &[(&str, &str)] = match kind {
        Kind::BitsForBytes => &[
            ("Mbit/s", "MB/s"),
            ("kbit/s", "kB/s"),
            ("MB", "Mbit"),
            ("kB", "kbit"),
        ],
        Kind::Prefix => &[
            ("Mbit/s", "kbit/s"),
            ("kbit/s", "Mbit/s"),
            ("ms", "us"),
            ("us", "ms"),
            ("ns", "us"),
            ("MB", "kB"),
            ("kB", "MB"),
            ("frames/s", "kpps"),
        ],
        _ => &[("MiB", "kB"), ("KiB", "B"), ("MB", "KiB"), ("kB", "B")],
    };
    pairs
        .iter()
        .find(|(from, _)| *from == unit)
        .map(|(_, to)| *to)
}

fn scale(unit: &str) -> f64 {
    match unit {
        "kbit/s" | "kpps" => 1e3,
        "Mbit/s" => 1e6,
        "kB/s" => 8e3,
        "MB/s" => 8e6,
        "us" => 1e-6,
        "ms" => 1e-3,
        "ns" => 1e-9,
        "B" => 8.0,
        "kB" => 8e3,
        "MB" => 8e6,
        "kbit" => 1e3,
        "Mbit" => 1e6,
        "KiB" => 8192.0,
        "MiB" => 8_388_608.0,
        _ => 1.0,
    }
}

fn value(figure: &Figure) -> f64 {
    figure.digits.parse::<f64>().unwrap() * scale(figure.unit)
}

fn step(figure: &Figure) -> f64 {
    let decimals = figure
        .digits
        .split_once('.')
        .map_or(0, |(_, part)| part.len());
    10f64.powi(-(decimals as i32)) * scale(figure.unit)
}

/// A loss beside an offered rate is changed by so many points at least: no tester keeps a rate better than that.
pub const LEAST_LOSS: f64 = 4.0;

/// Whether the change is large enough to matter.
fn matters(before: &Figure, after: &Figure) -> bool {
    let (a, b) = (value(before), value(after));
    let apart = (a - b).abs();
    apart >= LEAST * a.max(b) && apart > 4.0 * step(before).max(step(after))
}

fn change(
    table: &mut Table,
    kind: Kind,
    at: Cell,
    random: &mut Random,
    taken: &[usize],
) -> Option<Vec<Cell>> {
    let before = table.lines[at.0].figures[at.1].clone();
    match kind {
        Kind::Order => {
            let other = (at.0 + 1, at.1);
            let below = table
                .lines
                .get(other.0)
                .filter(|l| l.column == table.lines[at.0].column)?;
            let after = below.figures.get(at.1)?.clone();
            if after.metric != before.metric
                || taken.contains(&other.0)
                || !matters(&before, &after)
            {
                return None;
            }
            table.lines[at.0].figures[at.1] = after;
            table.lines[other.0].figures[at.1] = before;
            Some(vec![at, other])
        }
        Kind::CopiedRow => {
            let above = above(table, at)?.figures.clone();
            let own = &mut table.lines[at.0].figures;
            let pairs = own.iter().zip(&above);
            let telling =
                pairs.filter(|(a, b)| a.metric == b.metric && !is_loss(a) && matters(a, b));
            let telling = telling.count();
            // A row that is its neighbour's within rounding is not an error; one figure alone is another kind.
            if telling < 2 || own.len() != above.len() {
                return None;
            }
            let changed = own
                .iter()
                .zip(&above)
                .enumerate()
                .filter(|(_, (a, b))| a != b);
            let changed = changed.map(|(figure, _)| (at.0, figure)).collect();
            *own = above;
            Some(changed)
        }
        _ => {
            let after = changed(table, kind, at, random)?;
            let loss = before.metric == "loss" && table.lines[at.0].offered.is_some();
            let little = loss && (value(&before) - value(&after)).abs() < LEAST_LOSS;
            if little || !matters(&before, &after) {
                return None;
            }
            table.lines[at.0].figures[at.1] = after;
            Some(vec![at])
        }
    }
}

/// Losses differ from row to row anyway.
fn is_loss(figure: &Figure) -> bool {
    matches!(figure.metric, "loss" | "lost")
}

fn above(table: &Table, at: Cell) -> Option<&super::tables::Line> {
    let line = table.lines.get(at.0.checked_sub(1)?)?;
    (line.column == table.lines[at.0].column).then_some(line)
}

fn changed(table: &Table, kind: Kind, at: Cell, random: &mut Random) -> Option<Figure> {
    let line = &table.lines[at.0];
    let figure = line.figures[at.1].clone();
    let chars: Vec<char> = figure.digits.chars().collect();
    let places: Vec<usize> = (0..chars.len())
        .filter(|i| chars[*i].is_ascii_digit())
        .collect();
    let with = |chars: Vec<char>| {
        let digits: String = chars.into_iter().collect();
        digits.parse::<f64>().ok()?;
        Some(Figure {
            digits,
            ..figure.clone()
        })
    };
    let mut new = chars.clone();
    match kind {
        Kind::Dropped => {
            if places.len() < 2 {
                return None;
            }
            new.remove(*random.pick(&places));
            if new.last() == Some(&'.') {
                new.pop();
            }
            if new.first() == Some(&'.') {
                new.insert(0, '0');
            }
            with(new)
        }
        Kind::Doubled => {
            let place = *random.pick(&places);
            new.insert(place, chars[place]);
            with(new)
        }
        Kind::Swapped => {
            let pair = random.below(places.len().saturating_sub(1));
            let (a, b) = (*places.get(pair)?, *places.get(pair + 1)?);
            new.swap(a, b);
            with(new)
        }
        Kind::Mistyped => {
            let place = *random.pick(&places);
            new[place] = char::from(b'0' + random.below(10) as u8);
            with(new)
        }
        Kind::Point => {
            let decimals = figure
                .digits
                .split_once('.')
                .map_or(0, |(_, part)| part.len());
            let number: f64 = figure.digits.parse().ok()?;
            let (number, decimals) = if random.chance(0.5) && decimals > 0 {
                (number * 10.0, decimals - 1)
            } else {
                (number / 10.0, decimals + 1)
            };
            Some(Figure {
                digits: format!("{number:.decimals$}"),
                ..figure
            })
        }
        Kind::BitsForBytes | Kind::Prefix | Kind::Binary => {
            let unit = unit_of(kind, figure.unit)?;
            Some(Figure { unit, ..figure })
        }
        Kind::CopiedAbove => {
            let other = above(table, at)?.figures.get(at.1)?.clone();
            (other.metric == figure.metric).then_some(other)
        }
        Kind::WrongColumn => {
            let others = line
                .figures
                .iter()
                .filter(|f| f.metric != figure.metric && (f.unit == "%") == (figure.unit == "%"));
            let others: Vec<&Figure> = others.collect();
            let other = *others.get(random.below(others.len()))?;
            Some(Figure {
                digits: other.digits.clone(),
                ..figure
            })
        }
        Kind::Sum => Some(times(figure, random.between(0.6, 1.6))),
        Kind::AboveHundred => Some(Figure {
            digits: format!("{:.0}", random.between(101.0, 400.0)),
            ..figure
        }),
        Kind::AboveOffered => Some(times(figure, random.between(1.15, 2.0))),
        Kind::Order | Kind::CopiedRow => None,
    }
}

/// The figure times a factor, with as many decimals.
fn times(figure: Figure, factor: f64) -> Figure {
    let number = value(&figure) * factor / scale(figure.unit);
    let part = figure.digits.split_once('.');
    let decimals = part.map_or(0, |(_, part)| part.len());
    Figure {
        digits: format!("{number:.decimals$}"),
        ..figure
    }
}
