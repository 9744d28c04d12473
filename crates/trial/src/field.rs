//! A figure is observed, with the kind of its value, or absent, with the reason. An unknown value is never 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The origin of a figure; shown wherever the figure is shown.
///
/// From the strongest to the weakest: observed, on the hardware or on an emulation that a busy host slows; computed by
/// a model on its own, or by one that was fitted to it; and neither observed nor computed here.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Observed in this run on a node, in simulated time, or as a count of instructions: no figure depends on the speed
    /// of a host that is not part of the measurement.
    Measured,
    /// Timed in this run on an emulated target. It depends on the emulating host, and is not a figure of the hardware.
    Emulated,
    /// Computed by a model that was not fitted to this figure.
    Predicted,
    /// Computed by a model that was fitted to this figure.
    Calibrated,
    /// Printed in a document.
    Published,
}

impl Kind {
    /// All kinds, from the strongest to the weakest.
    pub const ALL: [Kind; 5] = [
        Kind::Measured,
        Kind::Emulated,
        Kind::Predicted,
        Kind::Calibrated,
        Kind::Published,
    ];

    /// The word for a reader, as results files have it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Measured => "measured",
            Kind::Emulated => "emulated",
            Kind::Predicted => "predicted",
            Kind::Calibrated => "calibrated",
            Kind::Published => "published",
        }
    }

    /// The short form of the word, for use beside a figure.
    pub const fn short(self) -> &'static str {
        match self {
            Kind::Measured => "meas.",
            Kind::Emulated => "emul.",
            Kind::Predicted => "pred.",
            Kind::Calibrated => "calib.",
            Kind::Published => "publ.",
        }
    }

    /// The weakest of several: the kind of a figure computed from them. `None` for an empty list.
    pub fn weakest(kinds: impl IntoIterator<Item = Kind>) -> Option<Kind> {
        kinds.into_iter().max()
    }

    /// The kind of a figure computed from two: the weaker of a model's two kinds; otherwise kinds do not mix, and the
    /// result is `None`.
    pub fn joined(self, other: Kind) -> Option<Kind> {
        let of_a_model = |kind| matches!(kind, Kind::Predicted | Kind::Calibrated);
        (self == other || (of_a_model(self) && of_a_model(other))).then(|| self.max(other))
    }

    /// Whether a node or an emulation was used, so that a tester took part.
    pub const fn was_seen(self) -> bool {
        matches!(self, Kind::Measured | Kind::Emulated)
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A value with its kind, or the reason for its absence.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Field<T> {
    /// There is a value.
    Observed {
        /// The value, in the unit of the field's name.
        value: T,
        /// Its origin.
        kind: Kind,
    },
    /// There is no value.
    Absent {
        /// The reason, in words for a reader.
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

    /// An absent value, with the reason.
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
    fn a_sum_is_of_the_weakest_kind_of_its_parts() {
        assert!(Kind::ALL.is_sorted());
        assert_eq!(Kind::weakest([]), None);
        for (parts, sum) in [
            ([Kind::Measured, Kind::Published], Kind::Published),
            ([Kind::Emulated, Kind::Measured], Kind::Emulated),
            ([Kind::Predicted, Kind::Calibrated], Kind::Calibrated),
            ([Kind::Predicted, Kind::Predicted], Kind::Predicted),
        ] {
            assert_eq!(Kind::weakest(parts), Some(sum));
        }
        assert_eq!(
            Kind::Predicted.joined(Kind::Calibrated),
            Some(Kind::Calibrated)
        );
        assert_eq!(Kind::Measured.joined(Kind::Emulated), None);
        assert_eq!(Kind::Measured.joined(Kind::Predicted), None);
    }

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
