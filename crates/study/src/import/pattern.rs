//! Finds the figures of sentences: words of the page with `{METRIC UNIT}` where a figure stands.

use super::figure::number;

/// The text of a document with each run of white space as one space, and the line of each byte.
pub struct RunningText {
    text: String,
    /// Where each line begins, and its number.
    starts: Vec<(usize, usize)>,
}

/// A figure of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentenceFigure {
    /// What the pattern calls it: `METRIC UNIT`.
    pub column: String,
    /// The number.
    pub token: String,
    /// Its line.
    pub line: usize,
}

impl RunningText {
    /// The running text of some lines.
    pub fn new(lines: &[(usize, String)]) -> RunningText {
        let mut running = RunningText {
            text: String::new(),
            starts: Vec::new(),
        };
        for (line, text) in lines {
            running.starts.push((running.text.len(), *line));
            running.text.push_str(text);
            running.text.push(' ');
        }
        running
    }

    fn line(&self, at: usize) -> usize {
        let after = self.starts.partition_point(|(start, _)| *start <= at);
        self.starts
            .get(after.saturating_sub(1))
            .map_or(0, |(_, line)| *line)
    }

    /// The first place of a pattern: its line, and its figures.
    ///
    /// # Errors
    /// The part of the pattern that the text does not have.
    pub fn find(&self, pattern: &str) -> Result<(usize, Vec<SentenceFigure>), String> {
        let parts = parts(pattern);
        let Some(Part::Words(first)) = parts.first() else {
            return Err("it begins with a figure; fix: begin with words of the page".to_owned());
        };
        let mut nearest = first.clone();
        for (at, _) in self.text.match_indices(first.as_str()) {
            match self.matches(at, &parts) {
                Ok(found) => return Ok((self.line(at), found)),
                Err(words) => nearest = words,
            }
        }
        Err(format!(
            "the document does not have the words '{nearest}'; fix: copy them from it"
        ))
    }

    /// The figures of a pattern that begins here, or the words that are missing.
    fn matches(&self, at: usize, parts: &[Part]) -> Result<Vec<SentenceFigure>, String> {
        let mut found = Vec::new();
        let mut at = at;
        for part in parts {
            let rest = &self.text[at..];
            match part {
                Part::Words(words) => {
                    if !rest.starts_with(words.as_str()) {
                        return Err(words.clone());
                    }
                    at += words.len();
                }
                Part::Figure(column) => {
                    let (token, after) = number(rest).ok_or_else(|| format!("{{{column}}}"))?;
                    if column != "-" {
                        let (column, line) = (column.clone(), self.line(at));
                        found.push(SentenceFigure {
                            column,
                            token,
                            line,
                        });
                    }
                    at += rest.len() - after.len();
                }
            }
        }
        Ok(found)
    }
}

enum Part {
    Words(String),
    Figure(String),
}

fn parts(pattern: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = pattern.split_whitespace().collect::<Vec<_>>().join(" ");
    while let Some((before, after)) = rest.split_once('{') {
        let Some((figure, after)) = after.split_once('}') else {
            break;
        };
        if !before.is_empty() {
            parts.push(Part::Words(before.to_owned()));
        }
        parts.push(Part::Figure(figure.trim().to_owned()));
        rest = after.to_owned();
    }
    if !rest.is_empty() {
        parts.push(Part::Words(rest));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_sentence_have_their_lines() {
        let lines = [
            (
                324,
                "reception delay of 64 Bytes and 256 Bytes to 1.51 us and".to_owned(),
            ),
            (326, "2.85 us , respectively".to_owned()),
        ];
        let running = RunningText::new(&lines);
        let (line, found) = running
            .find("Bytes to {latency us} us and {latency us} us")
            .unwrap();
        assert_eq!(line, 324);
        let of = |f: &SentenceFigure| (f.token.clone(), f.line);
        assert_eq!(of(&found[0]), ("1.51".to_owned(), 324));
        assert_eq!(of(&found[1]), ("2.85".to_owned(), 326));
        assert_eq!(
            running.find("Bytes to {latency us} ms"),
            Err("the document does not have the words ' ms'; fix: copy them from it".to_owned())
        );
    }
}
