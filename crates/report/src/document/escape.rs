//! Text from a results file is hostile: what it may hold is made harmless here, for each output.

/// Whether a character could move, recolour or reverse what a reader sees: control characters and the
/// overrides of writing direction.
fn deceives(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// One line of harmless characters for a reader: as [`harmless`], and an arrow is one sign.
pub fn line(text: &str) -> String {
    harmless(text).replace(" -> ", " → ")
}

/// Line ends and tabs become spaces, whatever else deceives becomes U+FFFD.
fn harmless(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' => ' ',
            c if deceives(c) => '\u{FFFD}',
            c => c,
        })
        .collect()
}

/// The first `max` characters of a line, with an ellipsis in place of the last where some were left out.
pub fn clip(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(max.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// A line in which a number stays with what it counts: the space between them is one that does not break.
pub fn keep_numbers(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut number = false;
    for c in line.chars() {
        match c {
            ' ' if number => out.push('\u{A0}'),
            c => out.push(c),
        }
        number = c.is_ascii_digit();
    }
    out
}

/// Text for XML 1.0 and HTML, in elements and in attributes.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            '\t' | '\r' => out.push(' '),
            // XML 1.0 section 2.2 has no place for these, escaped or not.
            '\u{FFFE}' | '\u{FFFF}' => out.push('\u{FFFD}'),
            c if deceives(c) => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}

/// JSON, as `serde_json` writes it, for a script element of HTML that is well-formed XML: no text in it ends the element or
/// begins another, and none deceives a reader.
pub fn json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut chars = json.chars();
    while let Some(c) = chars.next() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            // Only control characters are written with these letters.
            '\\' => match chars.next() {
                Some('n' | 'r' | 't') => out.push(' '),
                Some('u') => {
                    chars.by_ref().take(4).for_each(drop);
                    out.push('\u{FFFD}');
                }
                Some('b' | 'f') => out.push('\u{FFFD}'),
                escaped => out.extend(std::iter::once('\\').chain(escaped)),
            },
            '\n' => out.push('\n'),
            '\u{FFFE}' | '\u{FFFF}' => out.push('\u{FFFD}'),
            c if deceives(c) => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}

/// Text for a table cell or a list item of GitHub Flavored Markdown.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in line(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// Text for a field of CSV, which its writer quotes. A spreadsheet takes text that begins with `=`, `+`, `-` or `@` for a
/// formula, so an apostrophe goes before it.
pub fn disarmed(text: &str) -> String {
    let clean = harmless(text);
    match clean.starts_with(['=', '+', '-', '@']) {
        true => format!("'{clean}"),
        false => clean,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hostile_passes() {
        let hostile = "a\x1b[31m\u{202e}<script>&\"'\0\n|`=";
        assert_eq!(
            line(hostile),
            "a\u{FFFD}[31m\u{FFFD}<script>&\"'\u{FFFD} |`="
        );
        assert_eq!(
            xml(hostile),
            "a\u{FFFD}[31m\u{FFFD}&lt;script&gt;&amp;&quot;&#39;\u{FFFD}\n|`="
        );
        assert_eq!(markdown("a|b<i>*x*"), "a\\|b&lt;i&gt;\\*x\\*");
        assert_eq!(markdown("![x](y)"), "\\!\\[x\\](y)");
        assert_eq!(markdown("a -> b"), "a → b");
    }

    #[test]
    fn json_stays_json_and_ends_no_script() {
        let hostile = "a\x1b\u{202e}\u{8}\n</script><!--&]]>\"\\u0041\u{FFFE}";
        let text = json(&serde_json::to_string(&[hostile]).unwrap());
        assert!(!text.contains(['<', '>', '&']), "{text}");
        let read: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(
            read,
            ["a\u{FFFD}\u{FFFD}\u{FFFD} </script><!--&]]>\"\\u0041\u{FFFD}"]
        );
    }

    #[test]
    fn formulas_are_disarmed() {
        assert_eq!(disarmed("a,b"), "a,b");
        assert_eq!(disarmed("=1+1"), "'=1+1");
        assert_eq!(disarmed("a -> b"), "a -> b", "data stay as they are");
    }

    #[test]
    fn clipping_counts_characters() {
        assert_eq!(clip("µµµ", 3), "µµµ");
        assert_eq!(clip("µµµµ", 3), "µµ…");
    }
}
