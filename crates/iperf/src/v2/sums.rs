//! Sums the lines of the streams of a test, without I/O: one for each direction and interval.

use std::collections::BTreeMap;

use super::table::{Datagrams, Id, Row};

/// Intervals that may wait for the line of a slow stream; older ones are summed without it.
const MOST_OPEN: usize = 16;

/// Collects the lines of several streams.
#[derive(Clone, Debug)]
pub struct Sums {
    streams: u32,
    open: BTreeMap<(bool, u64), (u32, Row)>,
}

impl Sums {
    /// For `streams` streams in each direction; a single stream has no sum.
    pub const fn new(streams: u32) -> Sums {
        Sums {
            streams,
            open: BTreeMap::new(),
        }
    }

    /// Takes a stream's line; returns the sum, if this was the last line of its interval.
    pub fn take(&mut self, row: &Row) -> Option<Row> {
        if self.streams < 2 {
            return None;
        }
        let back = matches!(row.id, Id::Back(_));
        // Streams start one after the other, and each counts its intervals from its own start.
        let key = (back, (row.start_s * 1e6).round() as u64);
        let (lines, sum) = self
            .open
            .entry(key)
            .and_modify(|(lines, sum)| {
                *lines += 1;
                add(sum, row);
            })
            .or_insert_with(|| (1, start(back, row)));
        if *lines == self.streams {
            let sum = *sum;
            self.open.remove(&key);
            return Some(sum);
        }
        match self.open.len() > MOST_OPEN {
            true => self.open.pop_first().map(|(_, (_, sum))| sum),
            false => None,
        }
    }
}

/// One line for all of the given lines of one direction; `None` for fewer than two.
pub fn sum_of(rows: &[Row]) -> Option<Row> {
    let (first, rest) = rows.split_first()?;
    if rest.is_empty() {
        return None;
    }
    let mut sum = start(matches!(first.id, Id::Back(_)), first);
    for row in rest {
        add(&mut sum, row);
    }
    Some(sum)
}

fn start(back: bool, row: &Row) -> Row {
    let id = if back { Id::SumBack } else { Id::Sum };
    Row { id, ..*row }
}

fn add(sum: &mut Row, row: &Row) {
    sum.start_s = sum.start_s.min(row.start_s);
    sum.end_s = sum.end_s.max(row.end_s);
    sum.bytes += row.bytes;
    sum.streams += row.streams;
    sum.datagrams = match (sum.datagrams, row.datagrams) {
        (Some(a), Some(b)) => Some(Datagrams {
            // Jitter belongs to one flow; a sum shows the worst.
            jitter_ms: a.jitter_ms.max(b.jitter_ms),
            jitter_ps: a.jitter_ps.max(b.jitter_ps),
            received: a.received + b.received,
            lost: a.lost + b.lost,
            total: a.total + b.total,
            out_of_order: a.out_of_order + b.out_of_order,
        }),
        (one, other) => one.or(other),
    };
    sum.more = match (sum.more, row.more) {
        (Some(a), Some(b)) => Some(a.and(&b)),
        (one, other) => one.or(other),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: Id, start_s: f64, bytes: u64) -> Row {
        Row {
            bytes,
            ..Row::new(id, start_s, start_s + 1.0)
        }
    }

    fn both(id: Id, start_s: f64, bytes: u64) -> Row {
        Row {
            streams: 2,
            ..row(id, start_s, bytes)
        }
    }

    #[test]
    fn a_line_when_the_last_stream_has_its_own() {
        let mut sums = Sums::new(2);
        assert_eq!(sums.take(&row(Id::Stream(1), 0.0, 5)), None);
        assert_eq!(sums.take(&row(Id::Back(3), 0.0, 100)), None, "the way back");
        assert_eq!(
            sums.take(&row(Id::Stream(1), 1.0, 6)),
            None,
            "one is ahead of the other"
        );
        assert_eq!(
            sums.take(&row(Id::Stream(2), 0.0, 7)),
            Some(both(Id::Sum, 0.0, 12))
        );
        assert_eq!(
            sums.take(&row(Id::Back(4), 0.0, 1)),
            Some(both(Id::SumBack, 0.0, 101))
        );
        assert_eq!(
            sums.take(&row(Id::Stream(2), 1.0, 8)),
            Some(both(Id::Sum, 1.0, 14))
        );
        assert!(sums.open.is_empty());
    }

    #[test]
    fn a_stream_that_is_gone_holds_nothing_up_for_ever() {
        let mut sums = Sums::new(2);
        let lines: Vec<_> = (0..100)
            .filter_map(|s| sums.take(&row(Id::Stream(1), f64::from(s), 1)))
            .collect();
        assert_eq!(lines.len(), 100 - MOST_OPEN);
        assert_eq!(lines[0], row(Id::Sum, 0.0, 1));
    }

    #[test]
    fn one_stream_has_no_sum() {
        assert_eq!(Sums::new(1).take(&row(Id::Stream(1), 0.0, 5)), None);
        assert_eq!(sum_of(&[row(Id::Stream(1), 0.0, 5)]), None);
    }

    #[test]
    fn datagrams_are_added_and_the_worst_jitter_is_shown() {
        let with = |id, jitter_ms, lost, total| Row {
            datagrams: Some(Datagrams {
                jitter_ms,
                jitter_ps: None,
                received: total - lost,
                lost,
                total,
                out_of_order: 1,
            }),
            ..row(id, 0.0, 10)
        };
        let rows = [
            with(Id::Stream(1), 0.5, 1, 93),
            with(Id::Stream(2), 0.2, 0, 93),
        ];
        let sum = sum_of(&rows).unwrap();
        let d = sum.datagrams.unwrap();
        assert_eq!((d.lost, d.total, d.out_of_order), (1, 186, 2));
        assert_eq!((d.received, d.jitter_ms, sum.bytes), (185, 0.5, 20));
    }
}
