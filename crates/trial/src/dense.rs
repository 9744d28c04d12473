//! JSON that is short to scroll and easy to compare: what fits on a line is on one line.

/// Most characters of a line, unless one value alone is longer.
const WIDTH: usize = 120;
/// Spaces for each level.
const INDENT: usize = 2;

/// Lays out compact JSON, with a newline at the end. Objects and lists that fit on a line stay on it. Longer ones have
/// one entry a line, and lists of numbers fill their lines.
pub(crate) fn dense(compact: &str) -> String {
    let mut widths = widths(compact).into_iter();
    let mut out = Lines::with_capacity(compact.len());
    // Whether each open object or list has its entries on lines of their own.
    let mut open: Vec<bool> = Vec::new();
    let mut rest = compact;
    while let Some(first) = rest.bytes().next() {
        let token = token(rest);
        rest = &rest[token.len()..];
        match first {
            b'{' | b'[' => {
                let width = widths.as_slice().first().copied().unwrap_or(0);
                let is_broken = open.last() != Some(&false) && out.column() + width > WIDTH;
                widths.next();
                open.push(is_broken);
                out.text.push_str(token);
                if is_broken {
                    out.line(open.len());
                }
            }
            b'}' | b']' => {
                if open.pop() == Some(true) {
                    out.line(open.len());
                }
                out.text.push_str(token);
            }
            b',' => {
                out.text.push(',');
                let next = match rest.as_bytes().first() {
                    Some(b'[') => widths.as_slice().first().copied(),
                    Some(b'-' | b'0'..=b'9') => Some(self::token(rest).len()),
                    _ => None,
                };
                let fits = next.is_some_and(|width| out.column() + 2 + width <= WIDTH);
                match open.last() == Some(&true) && !fits {
                    true => out.line(open.len()),
                    false => out.text.push(' '),
                }
            }
            b':' => out.text.push_str(": "),
            _ => out.text.push_str(token),
        }
    }
    out.text.push('\n');
    out.text
}

/// The first token of compact JSON: a sign, a string, or a number or word.
fn token(text: &str) -> &str {
    let bytes = text.as_bytes();
    let end = match bytes[0] {
        b'"' => {
            let mut at = 1;
            while bytes[at] != b'"' {
                at += 1 + usize::from(bytes[at] == b'\\');
            }
            at + 1
        }
        b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
        _ => {
            let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']');
            bytes.iter().position(is_end).unwrap_or(bytes.len())
        }
    };
    &text[..end]
}

/// The width of each object and list on one line, in the order in which they open.
fn widths(compact: &str) -> Vec<usize> {
    let (mut widths, mut open, mut column) = (Vec::new(), Vec::new(), 0);
    let mut rest = compact;
    while let Some(first) = rest.bytes().next() {
        let token = token(rest);
        rest = &rest[token.len()..];
        if matches!(first, b'{' | b'[') {
            open.push(widths.len());
            widths.push(column);
        }
        column += token.len() + usize::from(matches!(first, b',' | b':'));
        if matches!(first, b'}' | b']') {
            let width: &mut usize = &mut widths[open.pop().expect("JSON closes what it opens")];
            *width = column - *width;
        }
    }
    widths
}

/// Text with the place of its last line.
struct Lines {
    text: String,
    begun: usize,
}

impl Lines {
    fn with_capacity(bytes: usize) -> Lines {
        let text = String::with_capacity(bytes + bytes / 4);
        Lines { text, begun: 0 }
    }

    fn column(&self) -> usize {
        self.text.len() - self.begun
    }

    fn line(&mut self, level: usize) {
        self.text.push('\n');
        self.begun = self.text.len();
        self.text.extend(std::iter::repeat_n(' ', INDENT * level));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_fits_is_on_a_line_and_lists_fill_theirs() {
        let value = json!({
            "an": {"absent": "a \"reason\", {with} [signs]: é\\", "of": []},
            "list": (0..60).collect::<Vec<_>>(),
            "pairs": (0..30).map(|n| [n, n * n]).collect::<Vec<_>>(),
            "words": ["w".repeat(70), "x".repeat(70), "y"],
        });
        let text = dense(&value.to_string());
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1],
            r#"  "an": {"absent": "a \"reason\", {with} [signs]: é\\", "of": []},"#
        );
        assert!(
            lines[3].starts_with("    0, 1, 2, 3,") && lines[4].ends_with("58, 59"),
            "{text}"
        );
        assert_eq!(
            (lines[6], &lines[7][..18]),
            (r#"  "pairs": ["#, "    [0, 0], [1, 1]")
        );
        assert_eq!(lines.last(), Some(&"}"));
        assert_eq!(lines.iter().filter(|line| line.contains('w')).count(), 3);
        assert!(lines.iter().all(|line| line.len() <= WIDTH), "{text}");
    }
}
