//! Types whose values are words, on the command line and in files.

/// `WORDS`, `Display` and `FromStr` of a type by the words of its values; `|` precedes another word for the same value.
macro_rules! words {
    ($type:ty, $what:literal, $($text:literal $(| $alias:literal)* => $value:path),+ $(,)?) => {
        impl $type {
            /// Its words, in the order of refusals.
            pub const WORDS: &[&str] = &[$($text $(, $alias)*),+];
        }
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
                    _ => Err($crate::nearest::unknown($what, text, Self::WORDS.iter().copied())),
                }
            }
        }
    };
}

/// A type with `ALL` of its values and the `name` of each.
macro_rules! options {
    ($(#[$about:meta])* enum $type:ident { $($(#[$doc:meta])* $option:ident $name:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type { $($(#[$doc])* $option,)+ }

        impl $type {
            /// All of them.
            pub const ALL: &[$type] = &[$($type::$option),+];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $($type::$option => $name,)+ }
            }
        }
    };
}

pub(crate) use {options, words};
