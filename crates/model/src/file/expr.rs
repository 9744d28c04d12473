//! Expressions of sizes: how many bytes or accesses a frame takes, e.g. `ceil(length/4) + 1`.

use std::fmt;

use wirelab_wire::{Overhead, Sizes};

/// Longest accepted expression, in characters.
const MAX_CHARS: usize = 200;
/// Largest number in an expression.
const MAX_NUMBER: f64 = 1e9;
const FORM: &str = "write a sum of numbers and sizes, e.g. \"ceil(length/4) + 1\", \"2 * frame\" or \"payload/2 + 6.5\"; \
                    the sizes are frame, length, payload, datagram and link";

/// Which size of a frame, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameBytes {
    Frame,
    Length,
    Payload,
    Datagram,
    Link,
}

/// `factor`, or `factor * size / divisor`; `ceil` rounds the quotient up.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Term {
    factor: f64,
    size: Option<FrameBytes>,
    divisor: f64,
    ceil: bool,
}

/// A sum of numbers and sizes of the frame.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeExpr {
    text: String,
    terms: Vec<Term>,
}

impl SizeExpr {
    /// Parses the expression `text`.
    ///
    /// # Errors
    /// A text that names the part that is invalid, and the form.
    pub fn parse(text: &str) -> Result<SizeExpr, String> {
        if text.chars().count() > MAX_CHARS {
            return Err(format!("longer than {MAX_CHARS} characters; fix: {FORM}"));
        }
        let terms: Result<Vec<Term>, String> = text
            .split('+')
            .map(|term| parse_term(term.trim()))
            .collect();
        Ok(SizeExpr {
            text: text.trim().to_owned(),
            terms: terms?,
        })
    }

    /// A plain number.
    pub fn number(n: f64) -> SizeExpr {
        let term = Term {
            factor: n,
            size: None,
            divisor: 1.0,
            ceil: false,
        };
        SizeExpr {
            text: n.to_string(),
            terms: vec![term],
        }
    }

    /// Its value for a frame of these sizes.
    ///
    /// # Errors
    /// A text, where it counts a datagram and the layer has none.
    pub fn value(&self, sizes: &Sizes) -> Result<f64, String> {
        let mut sum = 0.0;
        for term in &self.terms {
            let Some(which) = term.size else {
                sum += term.factor;
                continue;
            };
            let bytes = match which {
                FrameBytes::Frame => u64::from(sizes.frame),
                FrameBytes::Length => u64::from(sizes.length),
                FrameBytes::Payload => u64::from(sizes.payload),
                FrameBytes::Datagram => u64::from(sizes.datagram.ok_or_else(|| {
                    format!("'{}' counts a datagram, and an Ethernet frame has none; fix: count length or payload", self.text)
                })?),
                FrameBytes::Link => Overhead::default().link_bytes(sizes),
            };
            let quotient = bytes as f64 / term.divisor;
            sum += term.factor * if term.ceil { quotient.ceil() } else { quotient };
        }
        Ok(sum)
    }
}

impl fmt::Display for SizeExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn parse_term(term: &str) -> Result<Term, String> {
    let unreadable = || format!("cannot read '{term}'; fix: {FORM}");
    if let Some(factor) = number(term) {
        return Ok(Term {
            factor,
            size: None,
            divisor: 1.0,
            ceil: false,
        });
    }
    let (factor, rest) = match term.split_once('*') {
        Some((factor, rest)) => (number(factor.trim()).ok_or_else(unreadable)?, rest.trim()),
        None => (1.0, term),
    };
    let inner = rest
        .strip_prefix("ceil")
        .map(str::trim)
        .and_then(|r| r.strip_prefix('(')?.strip_suffix(')'));
    let (size, divisor) = match inner.unwrap_or(rest).split_once('/') {
        Some((size, divisor)) => {
            let divisor = number(divisor.trim())
                .filter(|n| *n > 0.0)
                .ok_or_else(unreadable)?;
            (size.trim(), divisor)
        }
        None => (inner.unwrap_or(rest).trim(), 1.0),
    };
    let size = match size {
        "frame" => FrameBytes::Frame,
        "length" => FrameBytes::Length,
        "payload" => FrameBytes::Payload,
        "datagram" => FrameBytes::Datagram,
        "link" => FrameBytes::Link,
        _ => return Err(unreadable()),
    };
    Ok(Term {
        factor,
        size: Some(size),
        divisor,
        ceil: inner.is_some(),
    })
}

/// A number of digits with at most one point. The standard parser also accepts e.g. `inf` and `1e9`.
fn number(text: &str) -> Option<f64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    text.parse().ok().filter(|n| *n <= MAX_NUMBER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_wire::{Framing, Layer, Size, SizeUnit};

    fn value(text: &str, layer: Layer, bytes: u32) -> Result<f64, String> {
        let sizes = Size::new(SizeUnit::Length, bytes)
            .resolve(Framing {
                layer,
                vlan_tags: 0,
            })
            .unwrap();
        SizeExpr::parse(text)?.value(&sizes)
    }

    #[test]
    fn sums_of_sizes() {
        let cases = [
            ("length", 1514.0),
            ("frame", 1518.0),
            ("link", 1538.0),
            ("payload", 1500.0),
            ("6.5", 6.5),
            ("ceil(length/4) + 1", 380.0),
            ("length/4+1", 379.5),
            ("2 * frame", 3036.0),
            ("1.5*ceil( payload / 2 ) + 3 + link", 2666.0),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text, Layer::Ethernet, 1514), Ok(expected), "{text}");
        }
        assert_eq!(value("datagram", Layer::UdpIpv4, 64), Ok(22.0));
    }

    #[test]
    fn what_cannot_be_read_says_what_can() {
        for bad in [
            "",
            "+",
            "segments",
            "length/0",
            "length/x",
            "ceil(length",
            "-1",
            "1e9",
            "inf",
            "2 * 3",
            "frame frame",
            "length - 4",
            "ceil(4)",
            "99999999999",
        ] {
            let error = SizeExpr::parse(bad).unwrap_err();
            assert!(error.ends_with(FORM), "{bad}: {error}");
        }
        assert!(SizeExpr::parse(&"1+".repeat(5_000)).unwrap_err().len() < 300);
        assert_eq!(
            value("datagram", Layer::Ethernet, 64).unwrap_err(),
            "'datagram' counts a datagram, and an Ethernet frame has none; fix: count length or payload"
        );
    }
}
