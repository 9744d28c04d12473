//! A template of the input: a text with `{names}`, and parts in `[ ]` that are left out if one of their names has
//! no value.

use std::collections::BTreeMap;

/// The values of names.
pub type Values = BTreeMap<String, String>;

/// A text to type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Name(String),
    Optional(Vec<Part>),
}

impl Template {
    /// Reads a text; `known` are the names that it may use.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str, known: &[&str]) -> Result<Template, String> {
        let mut chars = text.chars().peekable();
        let parts = parts(&mut chars, known, false)?;
        Ok(Template { parts })
    }

    /// Whether it uses a name, also in an optional part.
    pub fn uses(&self, name: &str) -> bool {
        fn any(parts: &[Part], name: &str) -> bool {
            parts.iter().any(|part| match part {
                Part::Text(_) => false,
                Part::Name(own) => own == name,
                Part::Optional(parts) => any(parts, name),
            })
        }
        any(&self.parts, name)
    }

    /// The text with these values.
    ///
    /// # Errors
    /// The name of a value that is missing.
    pub fn fill(&self, values: &Values) -> Result<String, String> {
        fn add(parts: &[Part], values: &Values, out: &mut String) -> Result<(), String> {
            for part in parts {
                match part {
                    Part::Text(text) => out.push_str(text),
                    Part::Name(name) => {
                        out.push_str(values.get(name).ok_or_else(|| name.clone())?);
                    }
                    Part::Optional(parts) => {
                        let before = out.len();
                        if add(parts, values, out).is_err() {
                            out.truncate(before);
                        }
                    }
                }
            }
            Ok(())
        }
        let mut out = String::new();
        add(&self.parts, values, &mut out)?;
        Ok(out)
    }
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn parts(chars: &mut Chars<'_>, known: &[&str], inside: bool) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut text = String::new();
    loop {
        let next = chars.next();
        match next {
            Some(c @ ('{' | '[' | ']')) if chars.peek() == Some(&c) && !(inside && c == ']') => {
                chars.next();
                text.push(c);
                continue;
            }
            Some('{' | '[' | ']') | None => {}
            Some(c) if c.is_control() && c != '\t' => {
                return Err(format!(
                    "it has the control character {c:?}; fix: leave it out, the line is ended by wirelab"
                ));
            }
            Some(c) => {
                text.push(c);
                continue;
            }
        }
        if !text.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut text)));
        }
        match next {
            Some('{') => {
                let name: String = chars.by_ref().take_while(|c| *c != '}').collect();
                if !known.contains(&&*name) {
                    return Err(format!(
                        "there is no name {{{name}}}; fix: write one of {}, or {{{{ for a brace",
                        known.join(", ")
                    ));
                }
                parts.push(Part::Name(name));
            }
            Some('[') if !inside => parts.push(Part::Optional(self::parts(chars, known, true)?)),
            Some('[') => {
                return Err("a '[' is inside another; fix: write [[ for a bracket".to_owned());
            }
            Some(_) if inside => return Ok(parts),
            Some(_) => return Err("a ']' has no '['; fix: write ]] for a bracket".to_owned()),
            None if inside => {
                return Err("a '[' has no ']'; fix: write [[ for a bracket".to_owned());
            }
            None => return Ok(parts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 3] = ["port", "rate", "time"];

    fn values(of: &[(&str, &str)]) -> Values {
        of.iter()
            .map(|(k, v)| (k.to_string(), v.to_string()))
            .collect()
    }

    #[test]
    fn parts_without_a_value_are_left_out() {
        let template = Template::parse("iperf -p {port}[ -b {rate}] -t {time}", &KNOWN).unwrap();
        let all = values(&[("port", "5001"), ("rate", "1000"), ("time", "2")]);
        assert_eq!(template.fill(&all).unwrap(), "iperf -p 5001 -b 1000 -t 2");
        let some = values(&[("port", "5001"), ("time", "2")]);
        assert_eq!(template.fill(&some).unwrap(), "iperf -p 5001 -t 2");
        assert_eq!(template.fill(&values(&[])).unwrap_err(), "port");
        assert!(template.uses("rate") && !template.uses("size"));
        let braces = Template::parse("awk '{{print}' [[ -f x ]]", &KNOWN).unwrap();
        assert_eq!(braces.fill(&values(&[])).unwrap(), "awk '{print}' [ -f x ]");
    }

    #[test]
    fn what_cannot_be_filled_is_refused_when_it_is_read() {
        for (text, why) in [
            (
                "-p {prt}",
                "there is no name {prt}; fix: write one of port, rate, time",
            ),
            ("-p {port", "there is no name {port}"),
            ("[-b {rate}", "a '[' has no ']'"),
            ("-b]", "a ']' has no '['"),
            ("[a [b]]", "a '[' is inside another"),
            ("reboot\n", "control character"),
        ] {
            match Template::parse(text, &KNOWN) {
                Err(error) => assert!(error.contains(why), "{text}: {error}"),
                // An unclosed name is detected.
                Ok(_) => assert_eq!(text, "-p {port"),
            }
        }
    }
}
