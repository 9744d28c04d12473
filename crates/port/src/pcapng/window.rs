//! A buffer that slides over a source of bytes: large reads, and slices without a copy.
//!
//! It uses plain reads and not a memory map: a map of a file that shrinks kills the reader (SIGBUS), reads also work
//! on pipes, and `docs/captures.md` shows that they are fast enough.

use std::io::{self, ErrorKind, Read};

/// Bytes of one read: large enough for few calls, small enough for a level 2 cache.
const CAPACITY: usize = 256 * 1024;

/// A sliding buffer over `source`.
pub(super) struct Window<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    at_end: bool,
}

impl<R: Read> Window<R> {
    pub(super) fn new(source: R) -> Window<R> {
        Window {
            source,
            buffer: vec![0; CAPACITY],
            start: 0,
            end: 0,
            offset: 0,
            at_end: false,
        }
    }

    /// Offset in bytes of the current position from the start of the source.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The buffered bytes from the current position on.
    #[inline]
    pub(super) fn available(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Make at least `n` bytes available; `false` if the source ends before.
    #[inline]
    pub(super) fn need(&mut self, n: usize) -> io::Result<bool> {
        if self.end - self.start >= n {
            return Ok(true);
        }
        self.fill(n)
    }

    #[cold]
    fn fill(&mut self, n: usize) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < n && !self.at_end {
            if self.end == self.buffer.len() {
                // Grow with what arrives, so that a length field alone cannot allocate memory.
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(got) => self.end += got,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.end >= n)
    }

    /// Advance by `n` available bytes.
    #[inline]
    pub(super) fn advance(&mut self, n: usize) {
        debug_assert!(n <= self.end - self.start);
        self.start += n;
        self.offset += n as u64;
    }

    /// Skip `n` bytes, available or not; `false` if the source ends before.
    pub(super) fn skip(&mut self, mut n: u64) -> io::Result<bool> {
        loop {
            let step = (self.end - self.start).min(usize::try_from(n).unwrap_or(usize::MAX));
            self.advance(step);
            n -= step as u64;
            if n == 0 {
                return Ok(true);
            }
            if !self.need(1)? {
                return Ok(false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a few bytes at a time, as a pipe does.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(out.len()).min(3);
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn slides_over_more_than_it_holds() {
        let bytes: Vec<u8> = (0..CAPACITY * 3).map(|i| (i % 251) as u8).collect();
        let mut window = Window::new(&bytes[..]);
        for chunk in bytes.chunks(1000) {
            assert!(window.need(chunk.len()).unwrap());
            assert_eq!(window.available()[..chunk.len()], *chunk);
            window.advance(chunk.len());
        }
        assert_eq!(window.offset(), bytes.len() as u64);
        assert!(!window.need(1).unwrap());
    }

    #[test]
    fn grows_for_a_block_larger_than_itself() {
        let bytes = vec![7; CAPACITY * 5 + 1];
        let mut window = Window::new(&bytes[..]);
        window.need(1).unwrap();
        window.advance(1);
        assert!(window.need(CAPACITY * 5).unwrap());
        assert!(!window.need(CAPACITY * 5 + 1).unwrap());
    }

    #[test]
    fn skips_what_was_never_buffered_and_says_where_the_end_is() {
        let bytes: Vec<u8> = (0..100).collect();
        let mut window = Window::new(Drip(&bytes));
        assert!(window.skip(77).unwrap());
        assert!(window.need(1).unwrap());
        assert_eq!(window.available()[0], 77);
        assert!(!window.skip(24).unwrap());
        assert_eq!(window.offset(), 100);
    }
}
