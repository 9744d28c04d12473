//! Types whose values are words, on the command line and in files.

/// `Display` and `FromStr` of a type by the words of its values; `|` precedes another word for the same value.
macro_rules! words {
    ($type:ty, $what:literal, $($text:literal $(| $alias:literal)* => $value:path),+ $(,)?) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(match self { $($value => $text),+ })
            }
        }
        impl std::str::FromStr for $type {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($text $(| $alias)* => Ok($value),)+
                    _ => Err($crate::nearest::unknown($what, text, [$($text $(, $alias)*),+])),
                }
            }
        }
    };
}

pub(crate) use words;
