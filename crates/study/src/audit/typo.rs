//! How a figure may have gone wrong on its way to the page: units of another size, and slips of the digits.
//!
//! If one of several cells must be wrong, a cell that one slip turns into the needed value is the more likely one.

use super::range::Range;
use super::relations::other_units;
use crate::quantity::{Dimension, Quantity};

/// Share of wrong figures that no listed slip explains and that may have any value.
const UNEXPLAINED: f64 = 0.15;
/// Such a figure lies anywhere within this multiple of its needed value.
const ANYWHERE: f64 = 4.0;
/// Fewest digits of a figure whose slips are looked for: a shorter one turns into too many other numbers.
const TELLING_DIGITS: usize = 3;

/// A slip by a factor.
pub struct Factor {
    /// The figure as it was meant.
    pub meant: String,
    /// The slip in a few words.
    pub words: String,
}

/// The relative likelihood that the printed figure stands where one of the `needed` values was meant.
pub fn likelihood(printed: &Quantity, needed: Range) -> f64 {
    let step = 2.0 * printed.half_step() * printed.unit.scale;
    // The others determine the value only to within `needed`, and each step of it is equally likely.
    let share = |meant: &[(f64, f64)]| {
        let hit = |(value, step): &(f64, f64)| match hits(printed, *value, needed) {
            true => 1.0 / (needed.width() / step).max(1.0),
            false => 0.0,
        };
        meant.iter().map(hit).sum::<f64>() / meant.len().max(1) as f64
    };
    let same_step = |meant: Vec<f64>| meant.into_iter().map(|m| (m, step)).collect::<Vec<_>>();
    let units = scaled(printed).into_iter();
    let units = units.map(|factor| (printed.number * factor, step * factor));
    let kinds = [
        units.collect(),
        same_step(dropped(printed)),
        same_step(inserted(printed)),
        same_step(swapped(printed)),
        same_step(replaced(printed)),
    ];
    let slips: f64 =
        kinds.iter().map(|meant: &Vec<_>| share(meant)).sum::<f64>() / kinds.len() as f64;
    let scale = ANYWHERE * needed.middle().abs().max(printed.base().abs());
    let anywhere = if scale > 0.0 {
        (step / scale).min(1.0)
    } else {
        1.0
    };
    (1.0 - UNEXPLAINED) * slips + UNEXPLAINED * anywhere
}

/// The unit, or the place of the point, with which the figure is one of the `needed` values.
pub fn factor(printed: &Quantity, needed: Range) -> Option<Factor> {
    let digits = format!("{:.*}", printed.decimals, printed.number);
    let own = Range::printed(printed);
    let fits = |factor: f64| printed.number != 0.0 && own.scaled(factor).touches(needed);
    let tight = needed.width() < 0.2 * needed.middle().abs();
    if !tight {
        return None;
    }
    // Every unit is a guess; the usual slips come first.
    let mut units: Vec<_> = other_units(printed).collect();
    units.sort_by_key(|unit| rank(unit.scale / printed.unit.scale));
    let unit = units
        .into_iter()
        .find(|u| fits(u.scale / printed.unit.scale));
    if let Some(unit) = unit {
        let of = unit.scale / printed.unit.scale;
        return Some(Factor {
            meant: format!("{digits} {}", unit.name),
            words: format!("a unit that is wrong by {}", in_words(of)),
        });
    }
    if let Some(of) = [10.0, 0.1].into_iter().find(|factor| fits(*factor)) {
        let moved = Quantity {
            number: printed.number * of,
            decimals: if of > 1.0 {
                printed.decimals.saturating_sub(1)
            } else {
                printed.decimals + 1
            },
            ..printed.clone()
        };
        return Some(Factor {
            meant: moved.to_string(),
            words: format!("a point that is wrong by {}", in_words(of)),
        });
    }
    // No unit has that size, but a wrong conversion may have used it.
    let bare = [0.125, 8.0, 1e-3, 1e3, 1.0 / 1024.0, 1024.0];
    let of = bare.into_iter().find(|factor| fits(*factor))?;
    Some(Factor {
        meant: super::show::value(printed.base() * of, printed.unit),
        words: format!("a figure that is wrong by {}", in_words(of)),
    })
}

/// A slip of the digits in a few words, where the figure has enough of them.
pub fn slip(printed: &Quantity, needed: Range) -> Option<String> {
    let text = digits_of(printed);
    let telling = text
        .trim_start_matches(['0', '.'])
        .chars()
        .filter(char::is_ascii_digit);
    if telling.count() < TELLING_DIGITS {
        return None;
    }
    let kinds: [(&str, Vec<f64>); 4] = [
        ("two digits changed places", swapped(printed)),
        ("a digit is missing", dropped(printed)),
        ("a digit too many", inserted(printed)),
        ("one digit is another", replaced(printed)),
    ];
    kinds.into_iter().find_map(|(words, meant)| {
        let found = meant.into_iter().find(|m| hits(printed, *m, needed))?;
        let shown = super::show::number(found, 6);
        Some(format!("{words}: {shown} {} would fit", printed.unit.name).replace("  ", " "))
    })
}

/// How unusual a slip by that factor is.
pub fn rank(factor: f64) -> u32 {
    let of =
        |usual: f64| (factor / usual - 1.0).abs() < 1e-9 || (factor * usual - 1.0).abs() < 1e-9;
    match () {
        () if of(8.0) => 0,
        () if of(1000.0) => 1,
        () if of(1.024) || of(1.048_576) => 2,
        () if of(1024.0) => 3,
        () => 4,
    }
}

fn in_words(factor: f64) -> String {
    let times = if factor >= 1.0 { factor } else { 1.0 / factor };
    let named = [
        (8.0, "8, bits for bytes"),
        (10.0, "10"),
        (1000.0, "1000, a prefix"),
        (1e6, "1000000, two prefixes"),
        (1024.0, "1024"),
        (1.024, "1.024, 1024 for 1000"),
        (1.048_576, "1.0486, 1024 x 1024 for a million"),
    ];
    let known = named.iter().find(|(of, _)| (times / of - 1.0).abs() < 1e-9);
    known.map_or_else(
        || super::show::number(times, 5),
        |(_, words)| (*words).to_owned(),
    )
}

fn hits(printed: &Quantity, meant: f64, needed: Range) -> bool {
    let half = printed.half_step() * printed.unit.scale;
    let value = meant * printed.unit.scale;
    let around = Range {
        low: value - half,
        high: value + half,
    };
    around.touches(needed)
}

fn digits_of(printed: &Quantity) -> String {
    format!("{:.*}", printed.decimals, printed.number.abs())
}

/// The factors of other units and of a point elsewhere.
fn scaled(printed: &Quantity) -> Vec<f64> {
    let units = other_units(printed).map(|unit| unit.scale / printed.unit.scale);
    let share = printed.unit.dimension == Dimension::Share;
    let points = [10.0, 0.1, if share { 100.0 } else { 1000.0 }];
    let all = units.chain(points).filter(|f| (1e-6..=1e6).contains(f));
    all.collect()
}

fn parsed(chars: impl Iterator<Item = char>) -> Option<f64> {
    chars.collect::<String>().parse().ok()
}

/// The meant figures if a digit was dropped: one digit more, anywhere.
fn dropped(printed: &Quantity) -> Vec<f64> {
    let text = digits_of(printed);
    let mut meant = Vec::new();
    for at in 0..=text.len() {
        for digit in '0'..='9' {
            let chars = text[..at].chars().chain([digit]).chain(text[at..].chars());
            meant.extend(parsed(chars));
        }
    }
    meant
}

/// The meant figures if a digit was inserted: one digit less.
fn inserted(printed: &Quantity) -> Vec<f64> {
    let text = digits_of(printed);
    let digits = text.char_indices().filter(|(_, c)| c.is_ascii_digit());
    digits
        .filter_map(|(at, _)| parsed(text[..at].chars().chain(text[at + 1..].chars())))
        .collect()
}

/// The meant figures if neighbouring digits were swapped.
fn swapped(printed: &Quantity) -> Vec<f64> {
    let chars: Vec<char> = digits_of(printed).chars().collect();
    let places: Vec<usize> = (0..chars.len())
        .filter(|i| chars[*i].is_ascii_digit())
        .collect();
    let pairs = places.windows(2).filter(|w| chars[w[0]] != chars[w[1]]);
    let each = pairs.filter_map(|w| {
        let mut changed = chars.clone();
        changed.swap(w[0], w[1]);
        parsed(changed.into_iter())
    });
    each.collect()
}

/// The meant figures if one digit was replaced.
fn replaced(printed: &Quantity) -> Vec<f64> {
    let chars: Vec<char> = digits_of(printed).chars().collect();
    let mut meant = Vec::new();
    for at in (0..chars.len()).filter(|i| chars[*i].is_ascii_digit()) {
        for digit in ('0'..='9').filter(|d| *d != chars[at]) {
            let mut changed = chars.clone();
            changed[at] = digit;
            meant.extend(parsed(changed.into_iter()));
        }
    }
    meant
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed(text: &str) -> Range {
        Range::rounded(&text.parse().unwrap())
    }

    #[test]
    fn factors_are_named() {
        let of = |printed: &str, need: &str| {
            let found = factor(&printed.parse().unwrap(), needed(need)).unwrap();
            (found.meant, found.words)
        };
        let (meant, words) = of("12.19 Mbit/s", "97.52 Mbit/s");
        assert_eq!(meant, "12.19 MB/s");
        assert!(words.contains("8, bits for bytes"));
        let (meant, words) = of("3.7 %", "37 %");
        assert_eq!(meant, "37 %");
        assert!(words.contains("by 10"));
        let (meant, words) = of("400 Mbit/s", "50.0 Mbit/s");
        assert_eq!(meant, "50 Mbit/s");
        assert!(words.contains("by 8, bits for bytes"));
        assert!(of("95.2 kbit/s", "95.2 Mbit/s").1.contains("1000"));
        assert!(of("11.9 MB", "11.9 MiB").1.contains("1024"));
        assert!(factor(&"37 %".parse().unwrap(), needed("45 %")).is_none());
    }

    #[test]
    fn a_slip_makes_a_cell_more_likely() {
        let of = |printed: &str, need: &str| likelihood(&printed.parse().unwrap(), needed(need));
        assert!(of("8217 frames/s", "8127 frames/s") > 20.0 * of("8217 frames/s", "5550 frames/s"));
        assert!(of("37 %", "73 %") > of("37 %", "81 %"));
        assert!(of("9.52 Mbit/s", "95.2 Mbit/s") > 3.0 * of("9.52 Mbit/s", "81.3 Mbit/s"));
        let words = |printed: &str, need: &str| slip(&printed.parse().unwrap(), needed(need));
        assert!(
            words("8217", "8127")
                .unwrap()
                .contains("changed places: 8127")
        );
        assert!(words("812", "8127").unwrap().contains("missing"));
        assert_eq!(words("37 %", "73 %"), None);
    }
}
