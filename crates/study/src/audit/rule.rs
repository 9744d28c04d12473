//! The rules of an audit: one list, from which each has its name.

use std::fmt;

use serde::{Serialize, Serializer};

/// The rules with their names, which are the same in all versions.
macro_rules! rules {
    ($($rule:ident = $name:literal,)+) => {
        /// A rule of an audit; the table of `docs/studies.md` says what it finds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "the table of docs/studies.md describes each")]
        pub enum Rule { $($rule),+ }

        impl Rule {
            /// All rules, in the order of the table of `docs/studies.md`.
            pub const ALL: &[Rule] = &[$(Rule::$rule),+];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Rule::$rule => $name),+ }
            }
        }
    };
}

rules! {
    Limit = "limit",
    Link = "link",
    Share = "share",
    Load = "load",
    Size = "size",
    Negative = "negative",
    Percentiles = "percentiles",
    Row = "row",
    Unit = "unit",
    Offered = "offered",
    Twice = "twice",
    Pace = "pace",
    Claim = "claim",
    Sum = "sum",
    Monotony = "monotony",
    Cost = "cost",
    MinimumSize = "minimum-size",
    WholeClocks = "whole-clocks",
    Identical = "identical",
    Page = "page",
    JitterIsSpacing = "jitter-is-spacing",
    FirstId = "first-id",
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
