//! Lists that need more than one line: set-up keys, counters and capture records.
//!
//! A page says at which index it begins (`from`), how long the list is (`count`) and at which index the next page
//! begins (`next`, equal to `count` on the last page).

use crate::line::{Line, LineBuf, Value, parse_u64};
use crate::message::Point;
use crate::value::{FieldError, Slot};

/// The longest ` next=4294967295`, kept free until it is known.
const NEXT_BYTES: usize = 16;

/// Where a page lies in its list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Index of the page's first item.
    pub from: u32,
    /// Items of the whole list.
    pub count: u32,
    /// Index of the first item of the next page; `count` on the last.
    pub next: u32,
}

impl Span {
    fn take(line: &Line<'_>) -> Result<Span, FieldError> {
        let span = Span {
            from: Slot::take(line, "from")?,
            count: Slot::take(line, "count")?,
            next: Slot::take(line, "next")?,
        };
        // A page without items is only allowed at the end: a client that follows `next` always gets there.
        if span.next > span.count
            || span.next < span.from
            || (span.next == span.from && span.next < span.count)
        {
            return Err(FieldError::Value("next"));
        }
        Ok(span)
    }

    /// Write the three fields with `next` as it comes out, then the items that fit before it.
    fn put(self, out: &mut LineBuf, items: usize, mut item: impl FnMut(&mut LineBuf, usize)) {
        out.number_field("from", u64::from(self.from));
        out.number_field("count", u64::from(self.count));
        let mut fitted = 0;
        while fitted < items && out.attempt(NEXT_BYTES, |o| item(o, fitted)) {
            fitted += 1;
        }
        out.number_field("next", u64::from(self.from) + fitted as u64);
    }
}

/// One page of set-up keys (`set.KEY=VALUE`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Where the page lies; `next` is computed when the line is written.
    pub span: Span,
    /// Keys and values.
    pub keys: Vec<(String, String)>,
}

impl Setup {
    pub(crate) fn take(line: &Line<'_>) -> Result<Setup, FieldError> {
        let keys = prefixed(line, "set.").map(|(key, value)| {
            String::from_utf8(value.bytes().collect()).map(|text| (key.to_owned(), text))
        });
        let keys = keys
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| FieldError::Value("set"))?;
        Ok(Setup {
            span: counted(line, keys.len())?,
            keys,
        })
    }

    pub(crate) fn put(&self, out: &mut LineBuf) {
        self.span.put(out, self.keys.len(), |o, at| {
            let (key, value) = &self.keys[at];
            o.key(&format!("set.{key}"));
            o.encoded(value.as_bytes());
        });
    }
}

/// One page of counters (`c.NAME=NUMBER`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Number of the trial.
    pub trial: u32,
    /// The node's port, counted from 0.
    pub port: u32,
    /// Where the page lies; `next` is computed when the line is written.
    pub span: Span,
    /// Names and values. A counter that the node does not have is not in the list: it is never 0.
    pub counters: Vec<(String, u64)>,
}

impl Counters {
    pub(crate) fn take(line: &Line<'_>) -> Result<Counters, FieldError> {
        let counters = prefixed(line, "c.")
            .map(|(name, value)| Some((name.to_owned(), value.u64()?)))
            .collect::<Option<Vec<_>>>()
            .ok_or(FieldError::Value("c"))?;
        Ok(Counters {
            trial: Slot::take(line, "trial")?,
            port: Slot::take(line, "port")?,
            span: counted(line, counters.len())?,
            counters,
        })
    }

    pub(crate) fn put(&self, out: &mut LineBuf) {
        out.number_field("trial", u64::from(self.trial));
        out.number_field("port", u64::from(self.port));
        self.span.put(out, self.counters.len(), |o, at| {
            let (name, value) = &self.counters[at];
            o.number_field(&format!("c.{name}"), *value);
        });
    }
}

/// One time taken at a capture point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Sequence of the frame.
    pub sequence: u32,
    /// Ticks of the node's clock, extended to 64 bits.
    pub ticks: u64,
}

/// One page of capture records. In the line, `base_sequence` and `base_ticks` are those of the first record and
/// `data` lists `sequence:ticks` of each, both as differences to the base (modulo 2³² and 2⁶⁴).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The capture point.
    pub point: Point,
    /// Where the page lies; `next` is computed when the line is written.
    pub span: Span,
    /// The records.
    pub records: Vec<Record>,
}

impl Capture {
    pub(crate) fn take(line: &Line<'_>) -> Result<Capture, FieldError> {
        let records = match line.get("data") {
            None => Vec::new(),
            Some(data) => {
                let base_sequence: u32 = Slot::take(line, "base_sequence")?;
                let base_ticks: u64 = Slot::take(line, "base_ticks")?;
                let record = |part: &[u8]| {
                    let colon = part.iter().position(|b| *b == b':')?;
                    let sequence = u32::try_from(parse_u64(&part[..colon])?).ok()?;
                    Some(Record {
                        sequence: base_sequence.wrapping_add(sequence),
                        ticks: base_ticks.wrapping_add(parse_u64(&part[colon + 1..])?),
                    })
                };
                data.raw()
                    .split(|b| *b == b',')
                    .map(record)
                    .collect::<Option<Vec<_>>>()
                    .ok_or(FieldError::Value("data"))?
            }
        };
        Ok(Capture {
            point: Point::take(line)?,
            span: counted(line, records.len())?,
            records,
        })
    }

    pub(crate) fn put(&self, out: &mut LineBuf) {
        self.point.put(out);
        if let Some(base) = self.records.first() {
            out.number_field("base_sequence", u64::from(base.sequence));
            out.number_field("base_ticks", base.ticks);
        }
        self.span.put(out, self.records.len(), |o, at| {
            let (base, record) = (self.records[0], self.records[at]);
            if at == 0 {
                o.key("data");
            } else {
                o.encoded(b",");
            }
            o.number(u64::from(record.sequence.wrapping_sub(base.sequence)));
            o.encoded(b":");
            o.number(record.ticks.wrapping_sub(base.ticks));
        });
    }
}

fn prefixed<'a>(
    line: &Line<'a>,
    prefix: &'static str,
) -> impl Iterator<Item = (&'a str, Value<'a>)> {
    line.fields()
        .filter_map(move |(key, value)| Some((key.strip_prefix(prefix)?, value)))
}

fn counted(line: &Line<'_>, items: usize) -> Result<Span, FieldError> {
    let span = Span::take(line)?;
    if (span.next - span.from) as usize == items {
        Ok(span)
    } else {
        Err(FieldError::Value("next"))
    }
}
