//! Figures as pages print them: `12,512`, `~7`, `7.1 ± 0.2 ms`, `5–7`, `< 1 %`, `–`, `not tested`, `37 %*`.

use crate::quantity::UNITS;

/// A figure: a token of the short form, and its unit where it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FigureToken {
    /// Without spaces: `7.1`, `~7`, `7.1±0.2`, `5..7`, or `-` where the page has no figure.
    pub token: String,
    /// The unit after it, as in [`UNITS`].
    pub unit: Option<&'static str>,
    /// The tag before it: `RX` of `RX=53`.
    pub tag: Option<String>,
}

impl FigureToken {
    /// A place without a figure.
    pub fn none() -> FigureToken {
        FigureToken {
            token: "-".to_owned(),
            unit: None,
            tag: None,
        }
    }
}

/// Words for a figure that was not taken.
const NOTHING: [&str; 16] = [
    "",
    "-",
    "–",
    "—",
    "--",
    "---",
    "n/a",
    "na",
    "not tested",
    "not measured",
    "not available",
    "not applicable",
    "not supported",
    "untested",
    "tbd",
    "none",
];

/// Footnote marks after a figure.
const MARKS: [char; 12] = ['*', '†', '‡', '§', '¶', '¹', '²', '³', '⁴', '⁵', '⁶', '#'];

/// The figures of a cell: one, or several with tags as in `RX=53 TX=132`.
///
/// # Errors
/// The text, where it is not a figure.
pub fn figures(text: &str) -> Result<Vec<FigureToken>, String> {
    let text = text.trim();
    if NOTHING.contains(&text.to_lowercase().as_str()) {
        return Ok(vec![FigureToken::none()]);
    }
    if text.contains('=') || text.contains(':') {
        if let Some(all) = tagged(text) {
            return Ok(all);
        }
    }
    match one(text) {
        Some(figure) => Ok(vec![figure]),
        None => Err(text.to_owned()),
    }
}

/// `RX=53 TX=132`, `Rx: 53 Mbps, Tx: 132 Mbps`.
fn tagged(text: &str) -> Option<Vec<FigureToken>> {
    let text = text
        .replace([',', ';', '/'], " ")
        .replace([':', '='], " = ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut all = Vec::new();
    let mut rest = words.as_slice();
    while let [tag, "=", after @ ..] = rest {
        let end = after
            .iter()
            .position(|word| *word == "=")
            .map_or(after.len(), |at| at - 1);
        let mut figure = one(&after[..end].join(" "))?;
        figure.tag = Some((*tag).to_owned());
        all.push(figure);
        rest = &after[end..];
    }
    (rest.is_empty() && !all.is_empty()).then_some(all)
}

/// One figure with its unit.
fn one(text: &str) -> Option<FigureToken> {
    let text = without_marks(text);
    let lower = text.to_lowercase();
    let about = ["~", "≈", "approx.", "approx", "ca.", "about"];
    let (about, rest) = match about.iter().find(|word| lower.starts_with(**word)) {
        Some(word) => (true, text.get(word.len()..)?.trim_start()),
        None => (false, text),
    };
    let (below, rest) = match rest.strip_prefix(['<', '≤']) {
        Some(rest) => (true, rest.trim_start_matches('=').trim_start()),
        None => (false, rest),
    };
    let (number, rest) = number(rest)?;
    let rest = rest.trim_start();
    let (token, rest) = if let Some((off, rest)) = least_and_most(&number, rest) {
        (format!("{number}±{off}"), rest)
    } else if below {
        (format!("0..{number}"), rest)
    } else if about {
        (format!("~{number}"), rest)
    } else if let Some(after) = strip_any(rest, &["±", "+/-", "+-", "+/−"]) {
        let (off, rest) = self::number(after.trim_start())?;
        (format!("{number}±{off}"), rest)
    } else if let Some(after) = strip_any(rest, &["..", "…", "–", "—", "-", "to "]) {
        let (high, rest) = self::number(after.trim_start())?;
        let ends = (number.parse::<f64>().ok()?, high.parse::<f64>().ok()?);
        if ends.0 > ends.1 {
            return None;
        }
        (format!("{number}..{high}"), rest)
    } else {
        (number, rest)
    };
    let rest = rest.trim();
    let unit = if rest.is_empty() {
        None
    } else {
        Some(unit(rest)?)
    };
    Some(FigureToken {
        token,
        unit,
        tag: None,
    })
}

/// How far repeats lie from their mean, of `69.11 (min 59.97, max 87.93)`, and what follows.
fn least_and_most<'t>(mean: &str, rest: &'t str) -> Option<(String, &'t str)> {
    let (inner, rest) = rest.strip_prefix('(')?.split_once(')')?;
    let (low, high) = inner.split_once(',')?;
    let end = |text: &str, word: &str| -> Option<f64> {
        let text = text
            .trim()
            .strip_prefix(word)?
            .trim_start_matches([':', '=', ' ']);
        let (number, rest) = number(text)?;
        rest.is_empty().then(|| number.parse().ok())?
    };
    let mean: f64 = mean.parse().ok()?;
    let (low, high) = (end(low, "min")?, end(high, "max")?);
    let off = (mean - low).max(high - mean);
    (low <= mean && mean <= high).then(|| (format!("{}", (off * 1e6).round() / 1e6), rest))
}

fn strip_any<'t>(text: &'t str, words: &[&str]) -> Option<&'t str> {
    words.iter().find_map(|word| text.strip_prefix(word))
}

/// The text without marks of footnotes at its end: `37*`, `37 (1)`, `37 [2]`, `37 %¹`.
fn without_marks(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let bare = text.trim_end_matches(MARKS).trim_end();
        let bare = note(bare, '(', ')')
            .or_else(|| note(bare, '[', ']'))
            .unwrap_or(bare);
        if bare.len() == text.len() {
            return text;
        }
        text = bare;
    }
}

/// The text before a footnote's number in brackets.
fn note(text: &str, open: char, close: char) -> Option<&str> {
    let (before, inner) = text.strip_suffix(close)?.rsplit_once(open)?;
    let mark = inner.len() <= 2 && inner.chars().all(|c| c.is_ascii_alphanumeric());
    (mark && !inner.is_empty() && unit(inner).is_none()).then(|| before.trim_end())
}

/// A number at the start of a text, with a point for decimals and nothing between thousands; and what follows.
pub fn number(text: &str) -> Option<(String, &str)> {
    let separates = |c: char| {
        matches!(
            c,
            ',' | '.' | '\'' | '’' | '\u{a0}' | '\u{2009}' | '\u{202f}'
        )
    };
    let negative = text.strip_prefix(['-', '−']);
    let text = negative.unwrap_or(text);
    let mut end = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, c)| *c);
        let digit_next = next.is_some_and(|c| c.is_ascii_digit());
        // A plain space separates thousands only before exactly three digits.
        let three = || {
            let after: String = text[at + c.len_utf8()..].chars().take(4).collect();
            let digits = after.chars().take_while(char::is_ascii_digit).count();
            digits == 3
        };
        let inside = c.is_ascii_digit()
            || (at > 0 && separates(c) && digit_next)
            || (at > 0 && at <= 3 && c == ' ' && three());
        if !inside {
            break;
        }
        end = at + c.len_utf8();
    }
    let (digits, rest) = text.split_at(end);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || digits.len() > 40 {
        return None;
    }
    let plain = plain(digits)?;
    Some((
        if negative.is_some() {
            format!("-{plain}")
        } else {
            plain
        },
        rest,
    ))
}

/// Thousands joined, and a point before decimals.
fn plain(digits: &str) -> Option<String> {
    let digits: String = digits
        .chars()
        .map(|c| {
            if c.is_ascii_digit() || c == '.' || c == ',' {
                c
            } else {
                '_'
            }
        })
        .collect();
    let points = digits.matches('.').count();
    let commas = digits.matches(',').count();
    let (whole, part) = digits.split_once('.').unwrap_or((&digits, ""));
    let in_threes = || {
        let mut parts = whole.split(',');
        let first = parts
            .next()
            .is_some_and(|p| (1..=3).contains(&p.len()) && p != "0");
        first && whole.contains(',') && !part.contains(',') && parts.all(|p| p.len() == 3)
    };
    let in_threes = in_threes();
    let digits = digits.replace('_', "");
    match (points, commas) {
        (_, 0) if points <= 1 => Some(digits),
        (0 | 1, _) if in_threes => Some(digits.replace(',', "")),
        (0, 1) => Some(digits.replace(',', ".")),
        // 1.234,5
        (_, 1) if digits.rfind(',') > digits.rfind('.') => {
            Some(digits.replace('.', "").replace(',', "."))
        }
        (_, 0) => {
            let parts: Vec<&str> = digits.split('.').collect();
            parts[1..]
                .iter()
                .all(|p| p.len() == 3)
                .then(|| parts.concat())
        }
        _ => None,
    }
}

/// Units as pages write them, in small letters, and as studies do. Their `B` already distinguishes bytes from bits.
const SPELLINGS: &[(&str, &str)] = &[
    ("%", "%"),
    ("percent", "%"),
    ("pct", "%"),
    ("ps", "ps"),
    ("ns", "ns"),
    ("nsec", "ns"),
    ("nanoseconds", "ns"),
    ("us", "us"),
    ("usec", "us"),
    ("µsec", "us"),
    ("microseconds", "us"),
    ("ms", "ms"),
    ("msec", "ms"),
    ("milliseconds", "ms"),
    ("s", "s"),
    ("sec", "s"),
    ("secs", "s"),
    ("seconds", "s"),
    ("pps", "frames/s"),
    ("fps", "frames/s"),
    ("packets/s", "frames/s"),
    ("packets/sec", "frames/s"),
    ("frames/s", "frames/s"),
    ("frames/sec", "frames/s"),
    ("kpps", "kpps"),
    ("kfps", "kpps"),
    ("mpps", "Mpps"),
    ("hz", "Hz"),
    ("khz", "kHz"),
    ("mhz", "MHz"),
    ("ghz", "GHz"),
];

/// The unit that a page writes in this way, as in [`UNITS`].
pub fn unit(text: &str) -> Option<&'static str> {
    let text = text.trim().trim_end_matches('.');
    if text.is_empty() || text.len() > 24 {
        return None;
    }
    if let Some(known) = UNITS
        .iter()
        .find(|unit| !unit.name.is_empty() && unit.name == text)
    {
        return Some(known.name);
    }
    let lower = text.to_lowercase().replace(['μ', 'µ'], "u");
    if let Some((_, unit)) = SPELLINGS.iter().find(|(word, _)| *word == lower) {
        return UNITS
            .iter()
            .find(|known| known.name == *unit)
            .map(|known| known.name);
    }
    data(text, &lower)
}

/// Amounts and rates of data: `Mbps`, `Mb/s`, `Mbits/sec`, `MBytes/s`, `KB`.
fn data(text: &str, lower: &str) -> Option<&'static str> {
    let per_second = ["ps", "/sec", "/s", "/second", " per second"];
    let rate = per_second.iter().find_map(|end| lower.strip_suffix(end));
    let stem = rate.unwrap_or(lower);
    let own = text.get(..stem.len())?;
    let (prefix, rest) = match stem.chars().next()? {
        'k' => ("k", &own[1..]),
        'm' => ("M", &own[1..]),
        'g' => ("G", &own[1..]),
        _ => ("", own),
    };
    let binary = rest
        .strip_prefix(['i', 'I'])
        .filter(|rest| rest.starts_with(['B', 'b']));
    let rest = binary.unwrap_or(rest);
    let bytes = match rest.to_lowercase().as_str() {
        "bit" | "bits" => false,
        "byte" | "bytes" | "octets" | "octet" => true,
        // MBPS in capitals is a spelling of Mbps; B alone is bytes.
        "b" => {
            rest == "B" && !(rate.is_some() && text == text.to_uppercase() && text.ends_with("PS"))
        }
        _ => return None,
    };
    let name = match (binary.is_some() && bytes, bytes, rate.is_some()) {
        (true, _, true) => format!("{}iB/s", prefix.to_uppercase()),
        (true, _, false) => format!("{}iB", prefix.to_uppercase()),
        (_, true, true) => format!("{prefix}B/s"),
        (_, true, false) => format!("{prefix}B"),
        (_, false, true) => format!("{prefix}bit/s"),
        (_, false, false) => format!("{prefix}bit"),
    };
    UNITS
        .iter()
        .find(|unit| unit.name == name)
        .map(|unit| unit.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match figures(text) {
            Ok(all) => all
                .iter()
                .map(|f| {
                    let tag = f.tag.as_ref().map(|t| format!("{t}:")).unwrap_or_default();
                    format!("{tag}{} {}", f.token, f.unit.unwrap_or(""))
                        .trim_end()
                        .to_owned()
                })
                .collect::<Vec<_>>()
                .join(" | "),
            Err(text) => format!("no: {text}"),
        }
    }

    #[test]
    fn figures_are_read_as_pages_print_them() {
        for (printed, wanted) in [
            ("37", "37"),
            ("37%", "37 %"),
            ("37 %", "37 %"),
            ("0.0", "0.0"),
            ("12,512", "12512"),
            ("1,234,567.8 pps", "1234567.8 frames/s"),
            ("12,5", "12.5"),
            ("0,512", "0.512"),
            ("1.234.567", "1234567"),
            ("1.234,5", "1234.5"),
            ("12 512", "12512"),
            ("12\u{202f}512", "12512"),
            ("12'512", "12512"),
            ("~7", "~7"),
            ("approx. 95 Mbps", "~95 Mbit/s"),
            ("7.1 ± 0.2 ms", "7.1±0.2 ms"),
            ("69.11 (min 59.97, max 87.93)", "69.11±18.82"),
            ("5.0 (min 4.9, max 5.2) us", "5.0±0.2 us"),
            ("5 (min 6, max 7)", "no: 5 (min 6, max 7)"),
            ("7.1 +/- 0.2", "7.1±0.2"),
            ("5-7", "5..7"),
            ("5 – 7 us", "5..7 us"),
            ("5 to 7", "5..7"),
            ("<1 %", "0..1 %"),
            ("–", "-"),
            ("", "-"),
            ("Not tested", "-"),
            ("N/A", "-"),
            ("37*", "37"),
            ("37 %¹", "37 %"),
            ("37 (1)", "37"),
            ("37 [2]", "37"),
            ("94.9 Mbps", "94.9 Mbit/s"),
            ("94.9Mb/s", "94.9 Mbit/s"),
            ("11.8 MB/s", "11.8 MB/s"),
            ("11.8 MBytes/sec", "11.8 MB/s"),
            ("94 MBPS", "94 Mbit/s"),
            ("3.85 MiB", "3.85 MiB"),
            ("148.8 kpps", "148.8 kpps"),
            ("3.4 µs", "3.4 us"),
            ("-3 us", "-3 us"),
            ("RX=53 TX=132", "RX:53 | TX:132"),
            ("Rx: 53 Mbps, Tx: 132 Mbps", "Rx:53 Mbit/s | Tx:132 Mbit/s"),
            ("FreeRTOS", "no: FreeRTOS"),
            ("R5F", "no: R5F"),
            ("7 to 5", "no: 7 to 5"),
            ("12 apples", "no: 12 apples"),
        ] {
            assert_eq!(read(printed), wanted, "{printed}");
        }
    }
}
