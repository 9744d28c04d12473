//! A figure is observed, with the kind of its value, or absent, with the reason. "Not seen" is never 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a figure comes from; shown wherever the figure is shown.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Seen on a real, emulated or simulated node in this run.
    Measured,
    /// Computed by a model that was not fitted to this figure.
    Predicted,
    /// Computed by a model that was fitted to this figure.
    Calibrated,
    /// Printed by somebody else.
    Published,
}

/// A value with its kind, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Field<T> {
    /// There is a value.
    Observed {
        /// The value, in the unit that the field's name says.
        value: T,
        /// Where it comes from.
        kind: Kind,
    },
    /// There is none.
    Absent {
        /// Why, in words for a reader.
        absent: String,
    },
}

impl<T> Field<T> {
    /// A measured value.
    pub const fn measured(value: T) -> Field<T> {
        Field::Observed {
            value,
            kind: Kind::Measured,
        }
    }

    /// No value, and why.
    pub fn absent(why: impl Into<String>) -> Field<T> {
        Field::Absent { absent: why.into() }
    }

    /// A measured value, or its absence with the reason given.
    pub fn measured_or(value: Option<T>, why: &str) -> Field<T> {
        value.map_or_else(|| Field::absent(why), Field::measured)
    }

    /// The value, if there is one.
    pub const fn value(&self) -> Option<&T> {
        match self {
            Field::Observed { value, .. } => Some(value),
            Field::Absent { .. } => None,
        }
    }

    /// The kind of the value, if there is one.
    pub const fn kind(&self) -> Option<Kind> {
        match self {
            Field::Observed { kind, .. } => Some(*kind),
            Field::Absent { .. } => None,
        }
    }

    /// The same kind or reason with the value changed.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Field<U> {
        match self {
            Field::Observed { value, kind } => Field::Observed {
                value: f(value),
                kind,
            },
            Field::Absent { absent } => Field::Absent { absent },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_is_not_zero_in_json() {
        let zero = serde_json::to_string(&Field::measured(0u64)).unwrap();
        let absent = serde_json::to_string(&Field::<u64>::absent("no counter")).unwrap();
        assert_eq!(zero, r#"{"value":0,"kind":"measured"}"#);
        assert_eq!(absent, r#"{"absent":"no counter"}"#);
        assert_eq!(
            serde_json::from_str::<Field<u64>>(&absent).unwrap(),
            Field::absent("no counter")
        );
        assert_eq!(
            serde_json::from_str::<Field<u64>>(&zero).unwrap(),
            Field::measured(0)
        );
    }
}
