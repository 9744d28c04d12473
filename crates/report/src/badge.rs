//! A badge: one figure of a run as a small picture (SVG), for the top of a project's page.

use wirelab_trial::{Kind, ResultsFile};

use crate::compare::{figures, value};
use crate::document::escape::{clip, line, xml};

/// Characters that fit each half.
const MOST: usize = 60;
/// Height in pixels.
const HEIGHT: usize = 20;
/// Space beside the text of each half, in pixels.
const MARGIN: usize = 6;
/// Width of a character in pixels at the size of the words; a page without the font stretches the words to it.
const CHARACTER: usize = 7;
/// Figures that an error names.
const NAMED: usize = 8;

/// Why there is no badge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadgeError {
    /// The results have no figure.
    #[error(
        "the results have no figure that a badge could show; fix: measure at least one trial that is not void"
    )]
    Nothing,
    /// No figure has these words.
    #[error("no figure has the words '{words}'; fix: choose one of {there}")]
    NoSuch {
        /// The words.
        words: String,
        /// Figures that are there.
        there: String,
    },
    /// More than one figure has these words.
    #[error(
        "{count} figures have the words '{words}'; fix: add words of the one that is meant: {there}"
    )]
    Several {
        /// Number of figures that fit.
        count: usize,
        /// The words.
        words: String,
        /// Some of them.
        there: String,
    },
}

/// The badge of the one figure whose trial and name hold all of these words.
///
/// # Errors
/// [`BadgeError`] if there is none, or more than one.
pub fn badge(file: &ResultsFile, words: &str) -> Result<String, BadgeError> {
    let all: Vec<figures::Values> = figures::of(file).into_iter().map(|(_, of)| of).collect();
    let name = |of: &figures::Values| format!("{}: {}", of.what.trial, of.what.figure);
    let wanted: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let has = |of: &&figures::Values| {
        let name = name(of).to_lowercase();
        wanted.iter().all(|word| name.contains(word))
    };
    let named = |some: &[&figures::Values]| {
        let names = some.iter().take(NAMED).map(|of| format!("'{}'", name(of)));
        let mut names = names.collect::<Vec<_>>().join(", ");
        if some.len() > NAMED {
            names.push_str(&format!(" and {} more", some.len() - NAMED));
        }
        names
    };
    let found: Vec<&figures::Values> = all.iter().filter(has).collect();
    match found[..] {
        _ if all.is_empty() => Err(BadgeError::Nothing),
        [of] => {
            let summary = of.summary().ok_or(BadgeError::Nothing)?;
            let kind = match of.kind {
                Kind::Measured => String::new(),
                kind => format!(" {}", kind.name()),
            };
            // A reader who sees only the badge must not take the tester's figure for the node's.
            let limit = if of.tester_limited > 0 {
                ", tester limited"
            } else {
                ""
            };
            let shown = format!("{}{kind}{limit}", value(of.what.unit, summary.median));
            Ok(draw(&of.what.figure, &shown, &name(of)))
        }
        [] => Err(BadgeError::NoSuch {
            words: words.to_owned(),
            there: named(&all.iter().collect::<Vec<_>>()),
        }),
        ref several => Err(BadgeError::Several {
            count: several.len(),
            words: words.to_owned(),
            there: named(several),
        }),
    }
}

/// Two halves: what the figure is, and the figure.
fn draw(left: &str, right: &str, title: &str) -> String {
    let [left, right] = [left, right].map(|text| clip(&line(text), MOST));
    let [first, second] = [&left, &right].map(|text| text.chars().count() * CHARACTER + 2 * MARGIN);
    let width = first + second;
    let words = |at: usize, room: usize, text: &str| {
        format!(
            "<text x=\"{}\" y=\"14\" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>\n",
            at + MARGIN,
            room - 2 * MARGIN,
            xml(text)
        )
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{HEIGHT}\" role=\"img\" aria-label=\"{}: {}\">\n\
         <title>{}</title>\n\
         <rect width=\"{width}\" height=\"{HEIGHT}\" rx=\"3\" fill=\"#0b5c8a\"/>\n\
         <path d=\"M3 0h{}v{HEIGHT}H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z\" fill=\"#3c4043\"/>\n\
         <g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">\n{}{}</g>\n</svg>\n",
        xml(&left),
        xml(&right),
        xml(&line(title)),
        first - 3,
        words(0, first, &left),
        words(first, second, &right)
    )
}
