//! Moves frames into stages, from places and from outside, and keeps their times.

use std::ops::Range;

use super::engine::Engine;
use super::frames::NONE;
use super::{FRAMES_IN_FLIGHT_MAX, Firing, FrameTimes, SimError};

impl Engine<'_> {
    /// Takes a stage's tokens: its frame, or a batch where the count is more than one.
    #[inline]
    pub fn take(&mut self, stage: usize) -> Result<(u32, u32), SimError> {
        let count = if self.stages[stage].takes_all {
            self.waiting(stage)
        } else {
            1
        };
        for link in self.stages[stage].room_inputs.clone() {
            let place = &mut self.places[self.links[link] as usize];
            place.tokens -= u64::from(count);
            self.stages[stage].missing += u32::from(place.tokens == 0);
        }
        let mut frame = NONE;
        for link in self.stages[stage].frame_inputs.clone() {
            let taken = self.take_frames(stage, self.links[link] as usize, count);
            if frame == NONE {
                frame = taken;
            } else {
                self.let_go(taken, count);
            }
        }
        if self.stages[stage].source != NONE {
            frame = self.make_frame(stage)?;
        }
        let marks = self.stages[stage].at_start.clone();
        if frame != NONE && !marks.is_empty() {
            for index in 0..count {
                let slot = if count == 1 {
                    frame
                } else {
                    self.frames.of_batch(frame, index)
                };
                self.mark(marks.clone(), slot);
            }
        }
        Ok((frame, count))
    }

    /// Number of firings for which every place has tokens.
    fn waiting(&self, stage: usize) -> u32 {
        let state = &self.stages[stage];
        let inputs = self.links[state.frame_inputs.clone()]
            .iter()
            .chain(&self.links[state.room_inputs.clone()]);
        let least = inputs
            .map(|&place| self.places[place as usize].tokens)
            .min()
            .unwrap_or(1);
        u32::try_from(least).unwrap_or(u32::MAX)
    }

    fn take_frames(&mut self, stage: usize, place: usize, count: u32) -> u32 {
        let place = &mut self.places[place];
        place.tokens -= u64::from(count);
        self.stages[stage].missing += u32::from(place.tokens == 0);
        if count == 1 {
            // A token of a place that carries frames is a frame.
            place.frames.pop_front().unwrap_or(NONE)
        } else {
            self.frames.batch(place.frames.drain(..count as usize))
        }
    }

    /// Where branches join, one token of the frame is left.
    fn let_go(&mut self, frame: u32, count: u32) {
        if count == 1 {
            self.frames.split(frame, 0);
            return;
        }
        for index in 0..count {
            self.frames.split(self.frames.of_batch(frame, index), 0);
        }
        self.frames.end_batch(frame);
    }

    fn make_frame(&mut self, stage: usize) -> Result<u32, SimError> {
        let source = &mut self.sources[self.stages[stage].source as usize];
        let chain = &mut self.run.chains[source.chain];
        let id = match source.waiting.pop_front() {
            Some(id) => id,
            None => {
                source.remaining -= 1;
                source.next_id += 1;
                chain.offered += 1;
                source.next_id - 1
            }
        };
        chain.first_start_ps.get_or_insert(self.now_ps);
        let is_empty = if source.arrivals.is_some() {
            source.waiting.is_empty()
        } else {
            source.remaining == 0
        };
        self.stages[stage].missing += u32::from(is_empty);
        self.open -= usize::from(!source.is_open());
        let slot = self.frames.make(id, self.now_ps);
        if self.frames.in_flight() > FRAMES_IN_FLIGHT_MAX {
            return Err(self.backlog(stage));
        }
        Ok(slot)
    }

    fn backlog(&self, stage: usize) -> SimError {
        SimError::Backlog {
            stage: self.net.stages[stage].name.clone(),
        }
    }

    /// Adds an arriving burst at a source, without the frames lost before the node.
    pub fn burst(&mut self, index: usize) -> Result<(), SimError> {
        let source = &mut self.sources[index];
        // A closed source gets no more frames.
        let Some(clock) = &mut source.arrivals else {
            return Ok(());
        };
        let (had, was_open) = (!source.waiting.is_empty(), source.remaining > 0);
        let frames = u64::from(clock.burst()).min(source.remaining);
        source.remaining -= frames;
        let chain = &mut self.run.chains[source.chain];
        chain.offered += frames;
        for id in source.next_id..source.next_id + frames {
            if clock.next_is_lost() {
                chain.lost_before += 1;
            } else {
                source.waiting.push_back(id);
            }
        }
        source.next_id += frames;
        let stage = source.stage as usize;
        if source.waiting.len() > FRAMES_IN_FLIGHT_MAX {
            return Err(self.backlog(stage));
        }
        let (has, more) = (!source.waiting.is_empty(), source.remaining > 0);
        self.open -= usize::from(was_open && !more && !has);
        if has && !had {
            self.filled(stage);
        }
        if more {
            self.push_arrival(index);
        }
        Ok(())
    }

    /// Closes all sources: none makes frames any more, and none arrive.
    pub fn close(&mut self) {
        for source in &mut self.sources {
            if !source.is_open() {
                continue;
            }
            source.remaining = 0;
            self.stages[source.stage as usize].missing += u32::from(source.arrivals.is_none());
            self.open -= usize::from(!source.is_open());
        }
    }

    /// Starts or ends the watches of a frame at an edge.
    #[inline]
    pub fn mark(&mut self, marks: Range<usize>, slot: u32) {
        for mark in &self.marks[marks] {
            if mark.begins {
                self.frames.begin(slot, mark.watch, self.now_ps);
            } else if let Some(time_ps) = self.frames.since(slot, mark.watch, self.now_ps) {
                let samples = &mut self.run.samples[mark.watch];
                samples.count += 1;
                if samples.kept_ps.len() < self.samples_kept {
                    samples.kept_ps.push(time_ps);
                }
            }
        }
    }

    /// Keeps the times of a frame that leaves its chain.
    #[inline]
    pub fn keep_times(&mut self, chain: usize, slot: u32) {
        let kept = &mut self.run.chains[chain].frames;
        if kept.len() < self.frames_kept {
            let frame = self.frames.get(slot);
            kept.push(FrameTimes {
                id: frame.id,
                start_ps: frame.start_ps,
                end_ps: self.now_ps,
            });
        }
    }

    /// Keeps a firing.
    #[inline]
    pub fn keep_firing(&mut self, stage: usize, frame: u32, count: u32, end_ps: u64) {
        if self.run.firings.len() >= self.firings_kept || self.now_ps < self.ask.firings_from_ps {
            return;
        }
        let first = if count > 1 && frame != NONE {
            self.frames.of_batch(frame, 0)
        } else {
            frame
        };
        self.run.firings.push(Firing {
            stage,
            frame: (first != NONE).then(|| self.frames.get(first).id),
            frames: count,
            start_ps: self.now_ps,
            end_ps,
        });
    }
}
