//! A line: its checked view, and the checksum at its end. Without I/O or allocation.
//!
//! `spec/node-control.md` defines the grammar, which fits a hundred lines of C.

use core::fmt;

pub use crate::linebuf::LineBuf;

/// Longest line in bytes, with its line feed.
pub const MAX_LINE: usize = 512;
/// Longest key and name in bytes.
pub const MAX_KEY: usize = 32;

/// The type of a line, by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `?`: a request of the client.
    Request,
    /// `=`: the node executed it.
    Reply,
    /// `!`: the node did not execute it, and says why.
    Error,
}

impl Kind {
    pub(crate) const fn mark(self) -> u8 {
        match self {
            Kind::Request => b'?',
            Kind::Reply => b'=',
            Kind::Error => b'!',
        }
    }
}

/// Session and number, which a request and its reply share. `0.0` means unreadable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RequestId {
    /// Assigned by the node in its first hello; 0 requests one.
    pub session: u32,
    /// Incremented with each request of the session.
    pub number: u32,
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.session, self.number)
    }
}

/// Why bytes are not a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The first byte is none of `?`, `=` and `!`: noise, which gets no answer.
    NotALine,
    /// More than [`MAX_LINE`] bytes.
    TooLong,
    /// The checksum does not match.
    BadCheck,
    /// The checksum is missing, and this transport requires one.
    NoCheck,
    /// A syntax error; the text says where.
    Syntax(&'static str),
}

/// A [`Fault`] and the id, as far as it is trustworthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineError {
    /// What is wrong.
    pub fault: Fault,
    /// `0.0` where it is unreadable.
    pub id: RequestId,
}

/// A line in which every byte conforms to the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Request, reply or error.
    pub kind: Kind,
    /// Which request it belongs to.
    pub id: RequestId,
    /// The command, or the code of an error.
    pub name: &'a str,
    /// Whether it had a (correct) checksum.
    pub checked: bool,
    fields: &'a [u8],
}

impl<'a> Line<'a> {
    /// Checks a line, with or without its line feed.
    ///
    /// # Errors
    /// [`LineError`]: the first broken rule. Where `need_check` is set, nothing of a line without a correct checksum is
    /// used, not even its id.
    pub fn parse(bytes: &'a [u8], need_check: bool) -> Result<Line<'a>, LineError> {
        let fail = |fault| LineError {
            fault,
            id: RequestId::default(),
        };
        if bytes.len() > MAX_LINE {
            return Err(fail(Fault::TooLong));
        }
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let kind = match bytes.first() {
            Some(b'?') => Kind::Request,
            Some(b'=') => Kind::Reply,
            Some(b'!') => Kind::Error,
            _ => return Err(fail(Fault::NotALine)),
        };
        let (body, checked) = split_check(bytes).map_err(fail)?;
        if need_check && !checked {
            return Err(fail(Fault::NoCheck));
        }
        let (head, rest) = split_at_space(&body[1..]);
        let id = parse_id(head).ok_or(fail(Fault::Syntax("id")))?;
        let fail = |place| LineError {
            fault: Fault::Syntax(place),
            id,
        };
        let (name, fields) = split_at_space(rest.ok_or(fail("name"))?);
        let name = word(name).ok_or(fail("name"))?;
        let fields = fields.unwrap_or_default();
        if rest.is_some_and(|r| r.ends_with(b" ")) {
            return Err(fail("space at the end"));
        }
        let line = Line {
            kind,
            id,
            name,
            checked,
            fields,
        };
        line.check_fields().map_err(fail)?;
        Ok(line)
    }

    fn check_fields(&self) -> Result<(), &'static str> {
        if self.fields.is_empty() {
            return Ok(());
        }
        for (at, part) in self.fields.split(|b| *b == b' ').enumerate() {
            let (key, value) = split_field(part).ok_or("field without =")?;
            word(key).ok_or("key")?;
            if !is_value(value) {
                return Err("value");
            }
            if self.parts().take(at).any(|(other, _)| other == key) {
                return Err("key twice");
            }
        }
        Ok(())
    }

    fn parts(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        self.fields.split(|b| *b == b' ').filter_map(split_field)
    }

    /// All fields in the order of the line.
    pub fn fields(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> + use<'a> {
        self.parts()
            .filter_map(|(key, value)| Some((core::str::from_utf8(key).ok()?, Value(value))))
    }

    /// The value of `key`, if the line has it.
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        self.parts()
            .find(|(k, _)| *k == key.as_bytes())
            .map(|(_, value)| Value(value))
    }
}

/// A value as in the line, with its percent-encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a>(&'a [u8]);

impl<'a> Value<'a> {
    /// As written.
    pub fn raw(self) -> &'a [u8] {
        self.0
    }

    /// The decoded bytes.
    pub fn bytes(self) -> impl Iterator<Item = u8> + use<'a> {
        let mut rest = self.0.iter();
        core::iter::from_fn(move || match rest.next()? {
            b'%' => Some(hex(*rest.next()?)? << 4 | hex(*rest.next()?)?),
            byte => Some(*byte),
        })
    }

    /// An unsigned decimal number that fits 64 bits, without sign and leading zeros.
    pub fn u64(self) -> Option<u64> {
        parse_u64(self.0)
    }
}

/// Parse a canonical decimal number: digits alone, no leading zero, at most 2⁶⁴−1.
pub fn parse_u64(text: &[u8]) -> Option<u64> {
    if text.is_empty() || (text[0] == b'0' && text.len() > 1) {
        return None;
    }
    text.iter().try_fold(0u64, |n, digit| {
        if !digit.is_ascii_digit() {
            return None;
        }
        n.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}

fn parse_id(text: &[u8]) -> Option<RequestId> {
    let dot = text.iter().position(|b| *b == b'.')?;
    let number = |t| parse_u64(t).and_then(|n| u32::try_from(n).ok());
    Some(RequestId {
        session: number(&text[..dot])?,
        number: number(&text[dot + 1..])?,
    })
}

fn split_at_space(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|b| *b == b' ') {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

fn split_field(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = part.iter().position(|b| *b == b'=')?;
    Some((&part[..at], &part[at + 1..]))
}

/// A key or name: a small letter, then small letters, digits, `_`, `-` and `.`, at most [`MAX_KEY`] bytes.
pub fn word(text: &[u8]) -> Option<&str> {
    let good = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-.".contains(b);
    if text.len() > MAX_KEY || !text.first()?.is_ascii_lowercase() || !text.iter().all(good) {
        return None;
    }
    core::str::from_utf8(text).ok()
}

fn is_value(text: &[u8]) -> bool {
    let mut at = 0;
    while at < text.len() {
        at += match text[at] {
            b'%' => match text.get(at + 1..at + 3) {
                Some(digits) if digits.iter().all(|d| hex(*d).is_some()) => 3,
                _ => return false,
            },
            0x21..=0x7E => 1,
            _ => return false,
        };
    }
    true
}

const fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// Removes the checksum from the end; `false` where the line has none.
fn split_check(bytes: &[u8]) -> Result<(&[u8], bool), Fault> {
    let last = bytes
        .iter()
        .rposition(|b| *b == b' ')
        .map(|at| (at, &bytes[at + 1..]));
    let Some((at, [b'*', digits @ ..])) = last else {
        return Ok((bytes, false));
    };
    let sum = digits
        .iter()
        .try_fold(0u16, |sum, d| Some(sum << 4 | u16::from(hex(*d)?)));
    if digits.len() == 4 && sum == Some(crc16(&bytes[..at])) {
        Ok((&bytes[..at], true))
    } else {
        Err(Fault::BadCheck)
    }
}

/// CRC-16/IBM-3740 ("CCITT-FALSE"): polynomial 0x1021, initial value 0xFFFF, no reflection, no final inversion;
/// check value of "123456789": 0x29B1 (catalogue of parametrised CRC algorithms).
pub fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0xFFFF, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            if crc & 0x8000 != 0 {
                (crc << 1) ^ 0x1021
            } else {
                crc << 1
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: &[u8] = b"?0.2596069104 hello version=1 *5340\n";

    #[test]
    fn check_value_of_the_catalogue() {
        assert_eq!(crc16(b"123456789"), 0x29B1);
    }

    #[test]
    fn literal_line_read_and_written() {
        let line = Line::parse(HELLO, true).unwrap();
        assert_eq!(
            (line.kind, line.name, line.checked),
            (Kind::Request, "hello", true)
        );
        assert_eq!(
            line.id,
            RequestId {
                session: 0,
                number: 2_596_069_104
            }
        );
        assert_eq!(line.get("version").unwrap().u64(), Some(1));
        assert_eq!(line.get("versio"), None);
        let mut out = LineBuf::new();
        out.begin(line.kind, line.id, line.name);
        out.number_field("version", 1);
        assert_eq!(out.finish().unwrap(), HELLO);
    }

    #[test]
    fn every_damaged_bit_is_found() {
        for bit in 0..(HELLO.len() - 1) * 8 {
            let mut bytes = HELLO.to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Line::parse(&bytes, true).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn odd_bytes_are_encoded() {
        let mut out = LineBuf::new();
        out.begin(
            Kind::Reply,
            RequestId {
                session: 7,
                number: 1,
            },
            "hello",
        );
        out.field("set.stack", "lwIP 2.2 50% µ=*".as_bytes());
        let bytes = out.finish().unwrap();
        assert_eq!(
            bytes,
            b"=7.1 hello set.stack=lwIP%202.2%2050%25%20%C2%B5=* *58E9\n"
        );
        let value = Line::parse(bytes, true).unwrap().get("set.stack").unwrap();
        assert_eq!(
            value.bytes().collect::<Vec<_>>(),
            "lwIP 2.2 50% µ=*".as_bytes()
        );
    }

    #[test]
    fn too_much_is_taken_back() {
        let mut out = LineBuf::new();
        out.begin(Kind::Reply, RequestId::default(), "x");
        let mut fitted = 0;
        while out.attempt(0, |o| o.number_field("key", 12_345)) {
            fitted += 1;
        }
        assert_eq!(fitted, (512 - 7 - 6) / 10);
        assert!(
            Line::parse(out.finish().unwrap(), true).is_err(),
            "the same key again and again"
        );
        out.begin(Kind::Reply, RequestId::default(), "x");
        out.field("key", &[b'a'; 600]);
        assert_eq!(out.finish(), None);
    }
}
