//! Dates as users type them: a day, a moment, or how long ago. All are in UTC.

/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;
/// What a date may be, for messages.
pub const FORMS: &str =
    "write a date in UTC as 2026-11-26 or 2026-11-26T14:30, or how long ago, as 7d or 12h";

/// The first nanosecond of a day, minute or second, and the first one after it, both since 1970. For a time ago, both are that
/// moment.
pub fn span(text: &str, now_ns: i64) -> Option<(i64, i64)> {
    if let Some(ago) = ago(text) {
        let at = now_ns.checked_sub(ago)?;
        return Some((at, at));
    }
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time.strip_suffix('Z').unwrap_or(time))),
        None => (text, None),
    };
    let mut parts = date.splitn(3, '-');
    let (year, month) = (number(parts.next()?, 4)?, number(parts.next()?, 2)?);
    let days = days(year, month, number(parts.next()?, 2)?)?;
    let (seconds, length) = match time {
        None => (0, 86_400),
        Some(time) => time_of_day(time)?,
    };
    let begin = (days * 86_400 + seconds).checked_mul(SECOND)?;
    Some((begin, begin.checked_add(length * SECOND)?))
}

/// Seconds since midnight, and the length of that minute or second in seconds.
fn time_of_day(text: &str) -> Option<(i64, i64)> {
    let parts: Vec<i64> = text
        .split(':')
        .map(|part| number(part, 2))
        .collect::<Option<_>>()?;
    let (hour, minute, second, length) = match parts[..] {
        [hour, minute] => (hour, minute, 0, 60),
        [hour, minute, second] => (hour, minute, second, 1),
        _ => return None,
    };
    (hour < 24 && minute < 60 && second < 60)
        .then_some((hour * 3600 + minute * 60 + second, length))
}

/// `7d` and the like, in nanoseconds.
fn ago(text: &str) -> Option<i64> {
    let unit = text.chars().last()?;
    let seconds = match unit {
        'w' => 604_800,
        'd' => 86_400,
        'h' => 3600,
        'm' => 60,
        _ => return None,
    };
    let digits = &text[..text.len() - unit.len_utf8()];
    let count = (digits.len() < 7).then(|| number(digits, digits.len()))??;
    count.checked_mul(seconds)?.checked_mul(SECOND)
}

fn number(text: &str, digits: usize) -> Option<i64> {
    let is_number =
        text.len() == digits && !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// Days since 1970 (Howard Hinnant, "chrono-compatible low-level date algorithms", days_from_civil).
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let most = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if year < 1970 || !(1..=most).contains(&day) {
        return None;
    }
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_trial::format::utc;

    #[test]
    fn a_date_is_the_span_that_was_written() {
        for (text, begin, end) in [
            (
                "2026-11-26",
                "2026-11-26 00:00:00 UTC",
                "2026-11-27 00:00:00 UTC",
            ),
            (
                "2024-02-29",
                "2024-02-29 00:00:00 UTC",
                "2024-03-01 00:00:00 UTC",
            ),
            (
                "1999-12-31T23:59",
                "1999-12-31 23:59:00 UTC",
                "2000-01-01 00:00:00 UTC",
            ),
            (
                "2026-01-02 03:04:05",
                "2026-01-02 03:04:05 UTC",
                "2026-01-02 03:04:06 UTC",
            ),
            (
                "2026-01-02T03:04:05Z",
                "2026-01-02 03:04:05 UTC",
                "2026-01-02 03:04:06 UTC",
            ),
        ] {
            let (from, to) = span(text, 0).unwrap();
            assert_eq!(
                (utc(from as u64), utc(to as u64)),
                (begin.to_owned(), end.to_owned())
            );
        }
        let now = 100 * 86_400 * SECOND;
        assert_eq!(
            span("7d", now),
            Some((93 * 86_400 * SECOND, 93 * 86_400 * SECOND))
        );
        for wrong in [
            "",
            "d",
            "7y",
            "2026-13-01",
            "2025-02-29",
            "2026-1-1",
            "26-01-01",
            "2026-01-01T24:00",
            "2026-01-01T1",
            "99999999d",
            "é",
        ] {
            assert_eq!(span(wrong, now), None, "{wrong}");
        }
    }
}
