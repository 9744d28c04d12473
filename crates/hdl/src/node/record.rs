//! What a joined port counted: a record for scripts, and the same figures in words for a reader.

use serde::Serialize;
use serde_json::{Map, Value};
use wirelab_trial::{CountedRows, Counts, Kind};

use super::joined::Joined;
use super::read::NOT_COUNTED;

/// What a joined port counted.
#[derive(Debug, Serialize)]
pub struct JoinedRecord<'a> {
    generator: Generator,
    checker: Checker,
    interface: Interface<'a>,
    simulated_clocks: u64,
    sticky: &'a [&'static str],
    kind: Kind,
    #[serde(skip)]
    counts: &'a Counts,
}

#[derive(Debug, Serialize)]
struct Generator {
    #[serde(rename = "asked_frames")]
    requested_frames: u64,
    sequences: u64,
    sent_frames: u64,
    injected_faults: u64,
    interrupted: bool,
}

#[derive(Debug, Serialize)]
struct Checker {
    counts: Map<String, Value>,
    sent_frames: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Interface<'a> {
    name: &'a str,
    given_frames: u64,
    kept_back_frames: u64,
    taken_frames: u64,
}

/// The checker's counts by name, without those that it has no register for: an unmeasured count is not 0.
fn counted(counts: &Counts) -> Map<String, Value> {
    let Ok(Value::Object(mut counted)) = serde_json::to_value(counts) else {
        return Map::new();
    };
    counted.retain(|name, _| !NOT_COUNTED.contains(&name.as_str()));
    counted
}

impl<'a> JoinedRecord<'a> {
    /// Of the port at the interface `name`, whose generator was to send `requested_frames`; `sent_frames` is the number of
    /// the flow's sender where it is known.
    pub fn of(
        joined: &'a Joined,
        name: &'a str,
        requested_frames: u64,
        sent_frames: Option<u64>,
    ) -> JoinedRecord<'a> {
        JoinedRecord {
            generator: Generator {
                requested_frames,
                sequences: joined.sequences,
                sent_frames: joined.sent_frames,
                injected_faults: joined.injected_faults,
                interrupted: joined.interrupted,
            },
            checker: Checker {
                counts: counted(&joined.counts),
                sent_frames,
            },
            interface: Interface {
                name,
                given_frames: joined.to_host_frames,
                kept_back_frames: joined.kept_back_frames,
                taken_frames: joined.from_host_frames,
            },
            simulated_clocks: joined.clocks,
            sticky: &joined.sticky,
            kind: Kind::Measured,
            counts: &joined.counts,
        }
    }

    /// The frames of the generator.
    pub fn generator_rows(&self) -> CountedRows {
        let (generator, interface) = (&self.generator, &self.interface);
        let mut rows = vec![(generator.sent_frames, "sent".to_owned())];
        let sequences = generator.sequences;
        if let Some(last) = sequences.checked_sub(1) {
            rows[0].1 = format!("sent (sequences 0 to {last})");
            let given = format!("given to {}; check with --sent {sequences}", interface.name);
            rows.push((interface.given_frames, given));
        }
        let kept_back = "not delivered: a host gets no frame with a wrong FCS";
        let others = [
            (generator.injected_faults, "injected faults".to_owned()),
            (interface.kept_back_frames, kept_back.to_owned()),
        ];
        rows.extend(others.into_iter().filter(|(frames, _)| *frames > 0));
        rows
    }

    /// The frames of the checker.
    pub fn checker_rows(&self) -> CountedRows {
        let counts = self.counts;
        let mut rows = vec![
            (self.interface.taken_frames, "sent by the host".to_owned()),
            (counts.received_frames, "of the flow".to_owned()),
        ];
        rows.extend(counts.verdicts(&[]));
        match self.checker.sent_frames {
            Some(sent) => rows.push(counts.lost_of(sent)),
            None if counts.received_frames > 0 => {
                let what = "lost between two that arrived; losses at the end need the sender's number: give it with --sent";
                rows.push((counts.lost_frames, what.to_owned()));
            }
            None => {}
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_register_counts_is_not_shown_as_0() {
        let joined = Joined {
            sequences: 0,
            sent_frames: 0,
            interrupted: false,
            injected_faults: 0,
            to_host_frames: 0,
            kept_back_frames: 0,
            from_host_frames: 0,
            counts: Counts::default(),
            clocks: 0,
            sticky: Vec::new(),
        };
        let all = serde_json::to_value(joined.counts).unwrap();
        let counts = JoinedRecord::of(&joined, "tap0", 0, None).checker.counts;
        for name in NOT_COUNTED {
            assert!(
                all.get(name).is_some() && counts.get(name).is_none(),
                "{name}"
            );
        }
        assert_eq!(
            counts.len() + NOT_COUNTED.len(),
            all.as_object().unwrap().len()
        );
        assert_eq!(counts["reordered_frames"], 0);
    }
}
