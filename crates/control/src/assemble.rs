//! Splits a stream of bytes into lines: with bounded memory, and in sync again at the next line feed after any errors.

use crate::line::MAX_LINE;

/// The result of a line feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assembled<'a> {
    /// A line, with its line feed.
    Line(&'a [u8]),
    /// More bytes than a line may have, which are dropped. The flag says whether it began like a request.
    TooLong {
        /// Whether the first byte was `?`, so an answer is due.
        request: bool,
    },
}

/// Collects bytes until a line feed.
#[derive(Clone, Debug)]
pub struct Assembler {
    bytes: [u8; MAX_LINE],
    len: usize,
    dropping: bool,
}

impl Default for Assembler {
    fn default() -> Assembler {
        Assembler {
            bytes: [0; MAX_LINE],
            len: 0,
            dropping: false,
        }
    }
}

impl Assembler {
    /// An empty assembler.
    pub fn new() -> Assembler {
        Assembler::default()
    }

    /// Takes bytes and passes each complete line to `each`.
    pub fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Assembled<'_>)) {
        for byte in bytes {
            if let Some(done) = self.push_byte(*byte) {
                each(done);
            }
        }
    }

    /// Takes one byte, like an interrupt handler.
    pub fn push_byte(&mut self, byte: u8) -> Option<Assembled<'_>> {
        if self.len < MAX_LINE {
            self.bytes[self.len] = byte;
            self.len += 1;
        } else {
            self.dropping = true;
        }
        if byte != b'\n' {
            return None;
        }
        let len = core::mem::take(&mut self.len);
        if core::mem::take(&mut self.dropping) {
            return Some(Assembled::TooLong {
                request: self.bytes[0] == b'?',
            });
        }
        (len > 1).then(|| Assembled::Line(&self.bytes[..len]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<Result<Vec<u8>, bool>> {
        let mut assembler = Assembler::new();
        let mut out = Vec::new();
        for chunk in chunks {
            assembler.push(chunk, |done| {
                out.push(match done {
                    Assembled::Line(line) => Ok(line.to_vec()),
                    Assembled::TooLong { request } => Err(request),
                });
            });
        }
        out
    }

    #[test]
    fn in_step_again_after_a_long_line() {
        let mut long = vec![b'?'; 2000];
        long.push(b'\n');
        assert_eq!(
            lines(&[&long, b"?1.", b"1 st", b"op\n\n"]),
            [Err(true), Ok(b"?1.1 stop\n".to_vec())]
        );
    }

    #[test]
    fn the_longest_line_is_512_bytes() {
        let mut line = vec![b'x'; 511];
        line.push(b'\n');
        assert_eq!(lines(&[&line]), [Ok(line.clone())]);
        line.insert(0, b'x');
        assert_eq!(lines(&[&line, b"y\n"]), [Err(false), Ok(b"y\n".to_vec())]);
    }
}
