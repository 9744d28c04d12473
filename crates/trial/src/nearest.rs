//! Finds the known word that is nearest to a misspelt one.

/// Shortest beginning or part of a word that means this word.
const LEAST_PART: usize = 3;

/// `did you mean 'x'? ` where one of the known words is near, else an empty text.
pub fn did_you_mean<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> String {
    nearest(word, known).map_or(String::new(), |k| format!("did you mean '{k}'? "))
}

/// The refusal of a word that is none of a fixed set: `unknown WHAT 'word'; did you mean 'x'? fix: write one of x, y`.
pub fn unknown<'k>(what: &str, word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let meant = did_you_mean(word, known.iter().copied());
    let shown = head(word).escape_debug();
    let all = known.join(", ");
    format!("unknown {what} '{shown}'; {meant}fix: write one of {all}")
}

/// The known word that is nearest to `word`, if any is near: one that begins with it, that it begins with, or that has it as a
/// part, else one that differs in few letters. Case does not count.
pub fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let word = head(word).to_ascii_lowercase();
    let known = known.map(|k| (k.to_ascii_lowercase(), k));
    // Of two that are as near, the one that begins as the word does.
    let differs = |lower: &str| lower.chars().next() != word.chars().next();
    known
        .filter_map(|(lower, k)| Some((apart(&word, &lower)?, differs(&lower), k.len(), k)))
        .min()
        .map(|(.., k)| k)
}

/// How far a word is from a known one: less for a beginning and a part of it than for two other letters; `None` if far.
fn apart(word: &str, known: &str) -> Option<usize> {
    let is_long = word.chars().count() >= LEAST_PART;
    let letters = strsim::damerau_levenshtein(known, word);
    match () {
        () if letters <= 1 => Some(letters),
        () if is_long && known.starts_with(word) => Some(2),
        () if known.chars().count() >= LEAST_PART && word.starts_with(known) => Some(2),
        () if is_long && known.split('-').any(|part| part == word) => Some(3),
        () if is_long && known.split('-').any(|part| is_a_letter_off(part, word)) => Some(4),
        () if is_long && is_short_for(word, known) => Some(5),
        () => (letters <= known.len() / 3).then_some(2 + letters),
    }
}

fn is_a_letter_off(part: &str, word: &str) -> bool {
    part.chars().count() >= LEAST_PART && strsim::damerau_levenshtein(part, word) <= 1
}

/// Whether a word is a known one with letters left out, such as `rcv` for `receive`.
fn is_short_for(word: &str, known: &str) -> bool {
    let mut left = known.chars();
    word.chars().next() == known.chars().next()
        && word.chars().all(|letter| left.any(|l| l == letter))
}

/// The first 64 characters: a hostile word may be long.
pub fn head(word: &str) -> &str {
    let end = word.char_indices().nth(64).map_or(word.len(), |(at, _)| at);
    &word[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_or_a_part_of_a_word_means_it_and_other_letters_do_not() {
        let models = [
            "lpc1768",
            "reference-dma",
            "zynq-emaclite",
            "zynq-emaclite-so",
            "zynq-gem",
        ];
        let of = |word: &str| nearest(word, models.into_iter());
        for (word, right) in [
            ("zynq", "zynq-gem"),
            ("Zynq-Ema", "zynq-emaclite"),
            ("zynq-gen", "zynq-gem"),
            ("dma", "reference-dma"),
            ("lpc1786", "lpc1768"),
            ("LPC1768", "lpc1768"),
            ("emaclit", "zynq-emaclite"),
            ("rfrncdma", "reference-dma"),
        ] {
            assert_eq!(of(word), Some(right), "{word}");
        }
        for word in ["", "zy", "gem5000", "stm32", "dmz9", "pc1"] {
            assert_eq!(of(word), None, "{word}");
        }
        assert_eq!(nearest("fsh", ["zsh", "fish"].into_iter()), Some("fish"));
        let short = ["auto", "stack", "BE", "EF", "AF41"];
        let of = |word: &str| nearest(word, short.into_iter());
        assert_eq!((of("stak"), of("ef")), (Some("stack"), Some("EF")));
        for word in ["XX", "AF9", "oath"] {
            assert_eq!(of(word), None, "{word}");
        }
    }
}
