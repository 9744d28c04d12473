//! Explains why a run does not proceed.

use super::SimError;
use super::engine::Engine;
use super::frames::NONE;
use super::state::EventKind;

impl Engine<'_> {
    /// Whether the run waits forever: only the end of the time is pending, but a source could still make frames.
    #[inline]
    pub fn waits_for_ever(&self) -> bool {
        if self.events.len() != 1
            || self
                .events
                .peek()
                .is_none_or(|event| event.kind != EventKind::Close)
        {
            return false;
        }
        self.sources
            .iter()
            .any(|source| source.remaining > 0 && source.arrivals.is_none())
    }

    /// The error where no event is pending but frames are left.
    pub fn stuck(&self) -> SimError {
        let waits = |stage: usize| {
            let state = &self.stages[stage];
            let fed = state.source != NONE && self.sources[state.source as usize].is_open()
                || self.links[state.frame_inputs.clone()]
                    .iter()
                    .any(|&place| self.places[place as usize].tokens > 0);
            let rooms = &self.links[state.room_inputs.clone()];
            let inputs = rooms.iter().chain(&self.links[state.frame_inputs.clone()]);
            let mut empty = inputs.filter(|&&place| self.places[place as usize].tokens == 0);
            fed.then(|| empty.next())
                .flatten()
                .map(|&place| (stage, place as usize))
        };
        let found = (0..self.stages.len()).find_map(waits);
        SimError::Stuck {
            at_ps: self.now_ps,
            frames: self.frames.in_flight(),
            stage: found
                .map_or("?", |(stage, _)| &self.net.stages[stage].name)
                .to_owned(),
            place: found
                .map_or("?", |(_, place)| &self.net.places[place].name)
                .to_owned(),
        }
    }

    /// The error where time does not advance.
    pub fn no_progress(&self, events: u64) -> SimError {
        let busiest = (0..self.stages.len())
            .max_by_key(|&stage| self.run.stages[stage].starts)
            .unwrap_or(0);
        let stage = self
            .net
            .stages
            .get(busiest)
            .map_or("?", |stage| &stage.name);
        SimError::NoProgress {
            at_ps: self.now_ps,
            events,
            stage: stage.to_owned(),
        }
    }
}
