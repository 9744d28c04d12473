//! Named points of a frame's path, and the addresses they stand for in an image.

use std::fmt;
use std::str::FromStr;

use super::symbols::Symbols;

/// Where a point is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeLocation {
    /// At an address.
    Address(u64),
    /// At a symbol, plus a number of bytes.
    Symbol {
        /// Its name.
        name: String,
        /// Bytes.
        offset: u64,
    },
    /// After the return of a function to its caller.
    ReturnOf(String),
}

/// How a place after a return is written.
const RETURN_OF: &str = "return of ";

impl FromStr for CodeLocation {
    type Err = String;

    fn from_str(text: &str) -> Result<CodeLocation, String> {
        let wrong = || {
            format!(
                "invalid place '{}'; fix: write a symbol, \"symbol+0x10\", an address such as \"0x8000\", or \"return of symbol\"",
                wirelab_trial::nearest::head(text)
            )
        };
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        let is_name = |name: &str| !name.is_empty() && !name.contains(|c: char| c.is_whitespace());
        if let Some(name) = text.strip_prefix(RETURN_OF) {
            let name = name.trim();
            return is_name(name)
                .then(|| CodeLocation::ReturnOf(name.to_owned()))
                .ok_or_else(wrong);
        }
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return number(text).map(CodeLocation::Address).ok_or_else(wrong);
        }
        let (name, offset) = match text.rsplit_once('+') {
            Some((name, offset)) => (name.trim(), number(offset.trim()).ok_or_else(wrong)?),
            None => (text, 0),
        };
        match is_name(name) {
            true => Ok(CodeLocation::Symbol {
                name: name.to_owned(),
                offset,
            }),
            false => Err(wrong()),
        }
    }
}

/// As written.
impl fmt::Display for CodeLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CodeLocation::Address(at) => write!(f, "{at:#x}"),
            CodeLocation::Symbol { name, offset: 0 } => f.write_str(name),
            CodeLocation::Symbol { name, offset } => write!(f, "{name}+{offset:#x}"),
            CodeLocation::ReturnOf(name) => write!(f, "{RETURN_OF}{name}"),
        }
    }
}

/// Which pass of a point counts, where a frame passes it several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PassChoice {
    /// None: such a frame is not attributed.
    #[default]
    Only,
    /// The first after the previous point.
    First,
    /// The last before the next point.
    Last,
}

/// A point of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachinePoint {
    /// Its name, as in tables.
    pub name: String,
    /// Where it is.
    pub place: CodeLocation,
    /// Which pass counts.
    pub take: PassChoice,
}

/// Where a point is in an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointAddress {
    /// At an instruction.
    At(u64),
    /// After the return of the function at that address.
    ReturnOf(u64),
}

impl CodeLocation {
    /// Finds the place in an image.
    ///
    /// # Errors
    /// The missing symbol, with similar names.
    pub fn find(&self, symbols: &Symbols) -> Result<PointAddress, String> {
        match self {
            CodeLocation::Address(at) => Ok(PointAddress::At(*at)),
            CodeLocation::Symbol { name, offset } => {
                let start = symbol(symbols, name)?;
                let at = start.checked_add(*offset);
                let at = at.ok_or_else(|| {
                    format!("{self} is beyond the end of the memory; fix: take a smaller offset")
                })?;
                let (of, own) = (symbols.function_at(at), symbols.function_at(start));
                match *offset == 0 || of == own {
                    true => Ok(PointAddress::At(at)),
                    false => Err(format!(
                        "{self} is beyond the end of {name}; fix: take a smaller offset (objdump -d shows them)"
                    )),
                }
            }
            CodeLocation::ReturnOf(name) => {
                let start = symbol(symbols, name)?;
                let is_function = symbols.function_at(start).is_some();
                match is_function {
                    true => Ok(PointAddress::ReturnOf(start)),
                    false => Err(format!(
                        "{name} is not a function, so nothing returns from it; fix: name a function (objdump -t shows them)"
                    )),
                }
            }
        }
    }
}

/// The address of a symbol of an image.
///
/// # Errors
/// The missing symbol, with similar names.
pub fn symbol(symbols: &Symbols, name: &str) -> Result<u64, String> {
    let missing = || {
        if symbols.is_stripped() {
            return format!(
                "the image has no symbols, so '{name}' is unknown: it is stripped; fix: take the image from before 'strip', or write addresses"
            );
        }
        let near = symbols.nearest(name);
        let meant = match near.is_empty() {
            true => "fix: 'nm IMAGE' lists its symbols; an inlined function has none".to_owned(),
            false => format!(
                "did you mean {}? fix: name it, or another that 'nm IMAGE' lists",
                near.join(", or ")
            ),
        };
        format!("the image has no symbol '{name}'; {meant}")
    };
    match symbols.addresses(name) {
        [] => Err(missing()),
        [at] => Ok(*at),
        several => Err(format!(
            "{} functions are called '{name}'; fix: write one of {}",
            several.len(),
            symbols.in_files(name).join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_written() {
        let symbol = |name: &str, offset| CodeLocation::Symbol {
            name: name.to_owned(),
            offset,
        };
        for (text, place) in [
            ("ipv4_input", symbol("ipv4_input", 0)),
            ("ipv4_input+0x10", symbol("ipv4_input", 16)),
            ("echo.c:came", symbol("echo.c:came", 0)),
            ("0x8000", CodeLocation::Address(0x8000)),
            (
                "return of udp_input",
                CodeLocation::ReturnOf("udp_input".to_owned()),
            ),
        ] {
            let read: CodeLocation = text.parse().unwrap();
            assert_eq!(read, place);
            assert_eq!(read.to_string(), text);
        }
        for text in ["", "0xZZ", "a b", "return of ", "x+y", "12x"] {
            let error = text.parse::<CodeLocation>().unwrap_err();
            assert!(error.contains("write a symbol"), "{text}: {error}");
        }
    }
}
