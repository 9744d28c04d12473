//! Words that results hold, as types with one table each: the word, what it means, who gives it, and of which kind it is.
//!
//! `docs/names.md` is printed from the tables by `crates/trial/examples/names.rs`.

/// A type whose values are the rows of one table, in groups by who gives them and of one kind each. Only the table makes one.
macro_rules! named {
    ($(#[$about:meta])* $type:ident of $kind:ty { $($by:literal, $of:expr => { $($name:ident = $word:literal: $meaning:literal;)* })* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $type {
            word: &'static str,
            meaning: &'static str,
            by: &'static str,
            kind: $kind,
        }

        impl $type {
            $($(
                #[doc = $meaning]
                pub const $name: $type = $type { word: $word, meaning: $meaning, by: $by, kind: $of };
            )*)*

            /// All rows, in the order of the table.
            pub const ALL: &[$type] = &[$($($type::$name,)*)*];

            /// The row of a word, if it has one.
            pub fn of(word: &str) -> Option<$type> {
                $type::ALL.iter().copied().find(|row| row.word == word)
            }

            /// The word in results.
            pub const fn word(self) -> &'static str {
                self.word
            }

            /// What it means.
            pub const fn meaning(self) -> &'static str {
                self.meaning
            }

            /// Who gives it.
            pub const fn by(self) -> &'static str {
                self.by
            }

            /// Its kind.
            pub const fn kind(self) -> $kind {
                self.kind
            }
        }
    };
}

pub(crate) use named;
