//! Reads members of a peer's JSON, whose numbers have several spellings.

use serde_json::Value;

/// A count: any spelling of a whole number, `None` where it is absent or −1 (also as 2⁶⁴ − 1, as iperf3 prints it).
pub(super) fn count(object: &Value, key: &str) -> Option<u64> {
    let value = object.get(key)?;
    match value.as_u64() {
        Some(u64::MAX) => None,
        Some(number) => Some(number),
        // cJSON prints large numbers as floating point.
        None => value
            .as_f64()
            .filter(|number| (0.0..1.8e19).contains(number))
            .map(|number| number as u64),
    }
}

/// A figure; `None` where it is not a finite number.
pub(super) fn figure(object: &Value, key: &str) -> Option<f64> {
    object
        .get(key)?
        .as_f64()
        .filter(|number| number.is_finite())
}

/// A flag: `true`, or a number that is not 0.
pub(super) fn flag(object: &Value, key: &str) -> bool {
    match object.get(key) {
        Some(Value::Bool(set)) => *set,
        Some(value) => value.as_f64().is_some_and(|number| number != 0.0),
        None => false,
    }
}

/// A text.
pub(super) fn text(object: &Value, key: &str) -> Option<String> {
    object.get(key)?.as_str().map(str::to_owned)
}
