//! Finds the known word that is nearest to a misspelt one.

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

/// The known word that is nearest to `word`, if any is near.
pub fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    known
        .map(|k| (strsim::damerau_levenshtein(k, head(word)), k))
        .min()
        .filter(|(distance, k)| *distance <= k.len().div_ceil(3).max(2))
        .map(|(_, k)| k)
}

/// The first 64 characters: a hostile word may be long.
pub fn head(word: &str) -> &str {
    let end = word.char_indices().nth(64).map_or(word.len(), |(at, _)| at);
    &word[..end]
}
