//! A figure is observed, with the kind of its value, or absent, with the reason. An unknown value is never 0.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The origin of a figure; shown wherever the figure is shown.
///
/// From the strongest to the weakest: observed, on the hardware or on an emulation that a busy host slows; computed by
/// a model on its own, or by one that was fitted to it; and neither observed nor computed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Observed in this run on a node, in simulated time, or as a count of instructions: no figure depends on the speed
    /// of a host that is not part of the measurement.
    Measured,
    /// Timed in this run on an emulated board. It depends on the emulating host, and is not a figure of the hardware.
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
    pub const fn is_of_node(self) -> bool {
        matches!(self, Kind::Measured | Kind::Emulated)
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A value with its kind, or the reason for its absence.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Field<T> {
    /// The value is known.
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

/// By hand: a derived reader of an untagged enum copies each value before it tries the variants. That takes half of the time to
/// open a long file, and its error does not say what is wrong with the value.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Field<T>, D::Error> {
        #[derive(Deserialize)]
        #[serde(field_identifier, rename_all = "snake_case")]
        enum Key {
            Value,
            Kind,
            Absent,
            #[serde(other)]
            Other,
        }
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = Field<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a figure: its value and kind, or why it is absent")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Field<T>, A::Error> {
                let (mut value, mut kind, mut absent) = (None, None, None);
                while let Some(key) = map.next_key()? {
                    match key {
                        Key::Value => value = Some(map.next_value()?),
                        Key::Kind => kind = Some(map.next_value()?),
                        Key::Absent => absent = Some(map.next_value()?),
                        Key::Other => drop(map.next_value::<serde::de::IgnoredAny>()?),
                    }
                }
                match (value, kind, absent) {
                    (Some(value), Some(kind), _) => Ok(Field::Observed { value, kind }),
                    (_, _, Some(absent)) => Ok(Field::Absent { absent }),
                    (Some(_), None, None) => Err(A::Error::missing_field("kind")),
                    (None, _, None) => Err(A::Error::missing_field("value")),
                }
            }
        }
        deserializer.deserialize_map(Either(PhantomData))
    }
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

    /// Why there is no value, if there is none.
    pub fn absence(&self) -> Option<&str> {
        match self {
            Field::Observed { .. } => None,
            Field::Absent { absent } => Some(absent),
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
