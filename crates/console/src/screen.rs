//! Turns the bytes of a console into lines, as a terminal would show them: escape sequences take effect or vanish, a
//! carriage return moves to the line's start, and everything is bounded.

/// Most bytes of a line; the rest of the line is dropped.
pub const MOST_LINE: usize = 4096;
/// Most bytes of an escape sequence before it counts as text that was lost.
const MOST_ESCAPE: usize = 256;

/// The line under the cursor, and a parser of the sequences that move it.
#[derive(Debug, Default)]
pub struct Screen {
    line: Vec<u8>,
    column: usize,
    state: State,
    arguments: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum State {
    #[default]
    Text,
    Escape,
    /// `ESC [`: until a final byte.
    Control,
    /// `ESC ]`, `ESC P` and others with a text: until BEL or `ESC \`.
    Words,
    WordsEscape,
    /// `ESC (` and others with one more byte.
    One,
}

impl Screen {
    /// Takes bytes, and passes each line that ends to `ended`; `echoed` gets every printable character, even if the
    /// cursor moves meanwhile.
    pub fn take(
        &mut self,
        bytes: &[u8],
        mut ended: impl FnMut(String),
        mut echoed: impl FnMut(u8),
    ) {
        for &byte in bytes {
            if self.state != State::Text {
                self.escaped(byte);
                continue;
            }
            match byte {
                b'\n' => {
                    ended(self.text());
                    self.line.clear();
                    self.column = 0;
                }
                b'\r' => self.column = 0,
                8 => self.column = self.column.saturating_sub(1),
                0x1b => self.state = State::Escape,
                b'\t' => self.put(b'\t'),
                0..0x20 | 0x7f => {}
                byte => {
                    self.put(byte);
                    echoed(byte);
                }
            }
        }
    }

    /// The unfinished line.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.line).into_owned()
    }

    fn put(&mut self, byte: u8) {
        if self.column >= MOST_LINE {
            return;
        }
        match self.line.get_mut(self.column) {
            Some(cell) => *cell = byte,
            None => {
                self.line.resize(self.column, b' ');
                self.line.push(byte);
            }
        }
        self.column += 1;
    }

    fn escaped(&mut self, byte: u8) {
        let next = match (self.state, byte) {
            (State::Escape, b'[') => State::Control,
            (State::Escape, b']' | b'P' | b'^' | b'_' | b'X') => State::Words,
            (State::Escape, b' '..=b'/') => State::One,
            (State::Control, 0x40..=0x7e) => {
                self.moved(byte);
                State::Text
            }
            // A new sequence or a line end: the old sequence was cut.
            (State::Control, 0x1b) | (State::WordsEscape, b'[') => State::Escape,
            (State::Control, b'\r' | b'\n') => State::Text,
            (State::Control, _) => State::Control,
            (State::Words, 7 | b'\n') => State::Text,
            (State::Words, 0x1b) => State::WordsEscape,
            (State::Words, _) => State::Words,
            (State::Escape | State::WordsEscape | State::One | State::Text, _) => State::Text,
        };
        if matches!(next, State::Control | State::Words) && next == self.state {
            self.arguments.push(byte);
            if self.arguments.len() > MOST_ESCAPE {
                self.state = State::Text;
                self.arguments.clear();
                return;
            }
        } else {
            self.arguments.clear();
        }
        self.state = next;
    }

    /// The effect of a control sequence on the line.
    fn moved(&mut self, last: u8) {
        let text = String::from_utf8_lossy(&self.arguments).into_owned();
        let number = text
            .split(';')
            .next()
            .and_then(|n| n.parse::<usize>().ok())
            .map(|n| n.min(MOST_LINE));
        match last {
            b'D' => self.column = self.column.saturating_sub(number.unwrap_or(1).max(1)),
            b'C' => self.column = (self.column + number.unwrap_or(1).max(1)).min(MOST_LINE),
            b'G' => self.column = number.unwrap_or(1).max(1) - 1,
            // To the end of the line or of the screen.
            b'K' | b'J' if number.unwrap_or(0) == 0 => self.line.truncate(self.column),
            b'K' | b'J' if number == Some(2) => self.line.clear(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8]) -> (Vec<String>, String) {
        let (mut screen, mut lines) = (Screen::default(), Vec::new());
        for byte in bytes {
            screen.take(&[*byte], |line| lines.push(line), |_| {});
        }
        (lines, screen.text())
    }

    #[test]
    fn lines_are_those_that_a_terminal_shows() {
        for (bytes, lines, rest) in [
            // NuttX ends its lines with two carriage returns, and erases after its prompt.
            (
                &b"NuttShell (NSH)\r\r\nnsh> \x1b[K"[..],
                &["NuttShell (NSH)"][..],
                "nsh> ",
            ),
            // Zephyr removes its prompt, prints, and shows the prompt again.
            (
                b"\x1b[1;32muart:~$ \x1b[m\x1b[8D\x1b[J[00:00:01] <inf> net: up\r\nuart:~$ ",
                &["[00:00:01] <inf> net: up"],
                "uart:~$ ",
            ),
            // A progress line is overwritten.
            (b"10 %\r20 %\r100 %\n", &["100 %"], ""),
            (b"abc\x08\x08X\n", &["aXc"], ""),
            (b"\x1b]0;title of a window\x07root@x:~# ", &[], "root@x:~# "),
            (b"\x1b[?2004hroot# ", &[], "root# "),
            (b"\x1b[6nA\x1bMB\n", &["AB"], ""),
            (b"a\xff\xfe\n", &["a\u{fffd}\u{fffd}"], ""),
            (b"a\x1b[10Cb\n", &["a          b"], ""),
        ] {
            let (got, end) = shown(bytes);
            assert_eq!(
                (got, &*end),
                (lines.iter().map(|l| l.to_string()).collect(), rest)
            );
        }
    }

    #[test]
    fn hostile_bytes_are_bounded() {
        let endless = vec![b'x'; 100_000];
        assert_eq!(shown(&endless).1.len(), MOST_LINE);
        let mut escape = b"\x1b[".to_vec();
        escape.extend(vec![b'1'; 10_000]);
        assert!(shown(&escape).1.len() < 10_000);
        let mut words = b"\x1b]".to_vec();
        words.extend(vec![b'w'; 10_000]);
        words.extend(b"\nnsh> ");
        assert_eq!(shown(&words).1, "nsh> ");
        assert_eq!(shown(b"\x1b[99999999999999999999Cx\n").0.len(), 1);
    }
}
