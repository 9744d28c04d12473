//! Writes a line into a fixed buffer. Without I/O or allocation.

use core::fmt;

use crate::line::{Kind, MAX_LINE, RequestId, crc16};

/// The end of every written line: a space, `*`, four hexadecimal digits, a line feed.
const TAIL: usize = 7;

/// A line under construction, with its own buffer.
#[derive(Clone)]
pub struct LineBuf {
    bytes: [u8; MAX_LINE],
    len: usize,
    overflow: bool,
}

impl Default for LineBuf {
    fn default() -> LineBuf {
        LineBuf {
            bytes: [0; MAX_LINE],
            len: 0,
            overflow: false,
        }
    }
}

impl fmt::Debug for LineBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

impl LineBuf {
    /// An empty buffer.
    pub fn new() -> LineBuf {
        LineBuf::default()
    }

    /// The bytes so far; the whole line after [`LineBuf::finish`].
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Starts a new line.
    pub fn begin(&mut self, kind: Kind, id: RequestId, name: &str) {
        self.len = 0;
        self.overflow = false;
        self.push(&[kind.mark()]);
        self.number(u64::from(id.session));
        self.push(b".");
        self.number(u64::from(id.number));
        self.push(b" ");
        self.push(name.as_bytes());
    }

    /// Add a field whose value is a number.
    pub fn number_field(&mut self, key: &str, value: u64) {
        self.key(key);
        self.number(value);
    }

    /// Adds a field with any bytes as its value, encoded where necessary.
    pub fn field(&mut self, key: &str, value: &[u8]) {
        self.key(key);
        self.encoded(value);
    }

    /// Starts a field; its value follows by [`LineBuf::number`] and [`LineBuf::encoded`].
    pub fn key(&mut self, key: &str) {
        self.push(b" ");
        self.push(key.as_bytes());
        self.push(b"=");
    }

    /// Add a decimal number.
    pub fn number(&mut self, mut value: u64) {
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        self.push(&digits[at..]);
    }

    /// Adds bytes of a value, with percent-encoding where necessary.
    pub fn encoded(&mut self, value: &[u8]) {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        for byte in value {
            match byte {
                b'%' | 0..=0x20 | 0x7F..=0xFF => {
                    let (high, low) = (
                        DIGITS[usize::from(byte >> 4)],
                        DIGITS[usize::from(byte & 15)],
                    );
                    self.push(&[b'%', high, low]);
                }
                plain => self.push(&[*plain]),
            }
        }
    }

    /// Tries to add more and leaves `spare` bytes free; what does not fit completely is removed, and the result is
    /// `false`.
    pub fn attempt(&mut self, spare: usize, write: impl FnOnce(&mut LineBuf)) -> bool {
        let before = self.len;
        if self.overflow {
            return false;
        }
        write(self);
        if self.overflow || self.len + spare > MAX_LINE - TAIL {
            self.len = before;
            self.overflow = false;
            return false;
        }
        true
    }

    /// Adds checksum and line feed. `None` where the line would be too long.
    pub fn finish(&mut self) -> Option<&[u8]> {
        if self.overflow {
            return None;
        }
        let crc = crc16(self.as_bytes());
        let digit = |shift: u32| b"0123456789ABCDEF"[usize::from(crc >> shift & 15)];
        let tail = [b' ', b'*', digit(12), digit(8), digit(4), digit(0), b'\n'];
        self.bytes[self.len..self.len + TAIL].copy_from_slice(&tail);
        self.len += TAIL;
        Some(self.as_bytes())
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.overflow || self.len + bytes.len() > MAX_LINE - TAIL {
            self.overflow = true;
            return;
        }
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}
