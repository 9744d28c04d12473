//! Words that results hold, as types with one table each: the word, what it means, and who gives it.
//!
//! `docs/names.md` is printed from the tables by `crates/trial/examples/names.rs`.

/// A type whose values are the rows of one table, in groups by who gives them. Only the table makes one.
macro_rules! named {
    ($(#[$about:meta])* $type:ident { $($by:literal { $($name:ident = $word:literal: $meaning:literal;)* })* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $type {
            word: &'static str,
            meaning: &'static str,
            by: &'static str,
        }

        impl $type {
            $($(
                #[doc = $meaning]
                pub const $name: $type = $type { word: $word, meaning: $meaning, by: $by };
            )*)*

            /// All rows, in the order of the table.
            pub const ALL: &[$type] = &[$($($type::$name,)*)*];

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
        }
    };
}

pub(crate) use named;
