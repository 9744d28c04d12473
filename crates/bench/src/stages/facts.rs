//! The facts of a run of stages beside its trials: what measuring costs, notes, and paths of calls.

use wirelab_trial::measuring::Measuring;
use wirelab_trial::{Cancel, Node, Observation, StageSource, WarningCode};

use super::{PathRequest, notes};
use crate::costs;
use crate::paths::overheads;

/// The facts of a run with these observations of frames of `length_bytes`; `known_notes` are the notes so far.
pub fn facts(
    node: &mut dyn Node,
    length_bytes: u32,
    paths: &PathRequest,
    observations: &[Observation],
    known_notes: Vec<String>,
    cancel: &Cancel,
) -> Option<Measuring> {
    if node.stages() != StageSource::Traced {
        let call_paths = node.call_paths();
        return (!call_paths.is_empty()).then(|| Measuring {
            notes: counted_apart(observations),
            call_paths,
            ..Measuring::default()
        });
    }
    let mut all = known_notes;
    all.extend(notes(&node.describe(), observations));
    Some(Measuring {
        overheads: overheads(observations),
        costs: costs::all(node, length_bytes, paths, observations, &mut all, cancel),
        notes: all,
        call_paths: Vec::new(),
    })
}

/// What is counted separately from stages, in a sentence for each trial and direction.
fn counted_apart(observations: &[Observation]) -> Vec<String> {
    let notes = observations.iter().flat_map(|o| {
        let own = o.warnings.iter();
        let own = own.filter(|w| w.is(WarningCode::CAPTURE_NOTES));
        own.map(|w| format!("at length {}: {}", o.sizes.length, w.text))
    });
    notes.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use wirelab_trial::stage::functions::CallPaths;
    use wirelab_trial::{Description, Direction, NodeError, Probes, Progress, Trial};

    use super::*;
    use crate::stages::Offered;

    /// A node that counts, with or without calls.
    struct Counts(bool);

    impl Node for Counts {
        fn describe(&self) -> Description {
            unreachable!("its notes are those of its trials")
        }

        fn run(
            &mut self,
            _: &Trial,
            _: &dyn Progress,
            _: &Cancel,
        ) -> Result<Observation, NodeError> {
            unreachable!("it has run")
        }

        fn stages(&self) -> StageSource {
            StageSource::Counted
        }

        fn call_paths(&mut self) -> Vec<CallPaths> {
            let paths = CallPaths {
                direction: Direction::Receive,
                length_bytes: 64,
                from: "driver".to_owned(),
                to: "application".to_owned(),
                frames: 1,
                instructions: BTreeMap::from([("main".to_owned(), 7)]),
            };
            self.0.then_some(paths).into_iter().collect()
        }
    }

    #[test]
    fn a_node_that_counts_has_its_calls_and_one_without_any_has_no_facts() {
        let paths = PathRequest {
            waits: vec![None],
            rule: None,
            flow: wirelab_trial::Framing::default(),
            background: Offered::Nothing,
            probes: Probes::Auto,
        };
        let of = |calls| {
            facts(
                &mut Counts(calls),
                64,
                &paths,
                &[],
                Vec::new(),
                &Cancel::new(),
            )
        };
        assert_eq!(of(false), None);
        assert_eq!(of(true).unwrap().call_paths[0].instructions["main"], 7);
    }
}
