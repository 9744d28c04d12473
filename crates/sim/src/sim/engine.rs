//! The engine: processes the events of an instant, and finds the next instant.

use std::collections::BinaryHeap;

use wirelab_statistics::random::SplitMix64;

use super::frames::{Frames, NONE};
use super::state::{
    Event, EventKind, PlaceState, ResourceState, Source, StageState, Wake, WatchEdge,
};
use super::{SimError, SimRequest, SimResult};
use crate::net::Net;

/// Most events at one instant before the run counts as stuck: several times the most frames in flight.
const AT_ONE_INSTANT_MAX: u64 = 1 << 23;
/// Instants between two checks of the cancel flag.
const CANCEL_EVERY: u64 = 1 << 12;

/// The state of a run.
pub struct Engine<'a> {
    pub net: &'a Net,
    pub ask: &'a SimRequest,
    pub stages: Vec<StageState>,
    pub places: Vec<PlaceState>,
    pub resources: Vec<ResourceState>,
    pub sources: Vec<Source>,
    pub rngs: Vec<SplitMix64>,
    /// Indices of places, to which the stages' ranges refer.
    pub links: Vec<u32>,
    pub marks: Vec<WatchEdge>,
    pub frames: Frames,
    /// Sources that still have frames to make.
    pub open: usize,
    pub samples_kept: usize,
    pub frames_kept: usize,
    pub firings_kept: usize,
    pub events: BinaryHeap<Event>,
    /// Events of the same instant, where there are several.
    pub together: Vec<Event>,
    /// Resources and delays that may be able to start something.
    pub woken: Vec<u32>,
    pub ready_delays: Vec<u32>,
    pub sequence: u64,
    pub now_ps: u64,
    pub run: SimResult,
}

impl Engine<'_> {
    /// Runs to the end.
    pub fn run(mut self) -> Result<SimResult, SimError> {
        self.begin();
        self.start_ready()?;
        let (mut instants, mut at_once) = (0u64, 0u64);
        while self.open > 0 || self.frames.in_flight() > 0 {
            instants += 1;
            if instants % CANCEL_EVERY == 0 && self.ask.cancel.is_cancelled() {
                self.run.end_ps = self.now_ps;
                return Ok(self.run);
            }
            let (before_ps, before_events) = (self.now_ps, self.run.events);
            if !self.next_instant()? {
                return Err(self.stuck());
            }
            let events = self.run.events - before_events;
            at_once = if self.now_ps == before_ps {
                at_once + events
            } else {
                events
            };
            if at_once > AT_ONE_INSTANT_MAX {
                return Err(self.no_progress(at_once));
            }
            if self.run.events > self.ask.events_max {
                return Err(SimError::TooManyEvents(self.ask.events_max));
            }
            self.start_ready()?;
        }
        self.run.end_ps = self.now_ps;
        self.run.complete = true;
        Ok(self.run)
    }

    fn begin(&mut self) {
        if let Some(time_ps) = self.ask.time_ps {
            self.push(time_ps, 0, EventKind::Close);
        }
        for index in 0..self.sources.len() {
            if self.sources[index].remaining > 0 {
                self.push_arrival(index);
            }
        }
        for stage in 0..self.stages.len() {
            if self.stages[stage].missing == 0 {
                self.complete(stage);
            }
        }
    }

    pub fn push(&mut self, time_ps: u64, index: u32, kind: EventKind) {
        self.sequence += 1;
        self.events.push(Event {
            time_ps,
            sequence: self.sequence,
            index,
            kind,
        });
    }

    pub fn push_arrival(&mut self, source: usize) {
        if let Some(clock) = &mut self.sources[source].arrivals {
            let time_ps = clock.next_ps();
            self.push(time_ps, source as u32, EventKind::Arrival);
        }
    }

    /// Handles everything that ends at the next instant: first room is freed, then frames arrive.
    fn next_instant(&mut self) -> Result<bool, SimError> {
        if self.waits_for_ever() {
            return Ok(false);
        }
        let Some(first) = self.events.pop() else {
            return Ok(false);
        };
        self.now_ps = first.time_ps;
        if self
            .events
            .peek()
            .is_none_or(|next| next.time_ps != first.time_ps)
        {
            self.run.events += 1;
            self.free(first);
            self.arrive(first)?;
            return Ok(true);
        }
        let mut together = std::mem::take(&mut self.together);
        together.push(first);
        while self
            .events
            .peek()
            .is_some_and(|next| next.time_ps == first.time_ps)
        {
            together.extend(self.events.pop());
        }
        self.run.events += together.len() as u64;
        together.iter().for_each(|&event| self.free(event));
        together.iter().try_for_each(|&event| self.arrive(event))?;
        together.clear();
        self.together = together;
        Ok(true)
    }

    fn free(&mut self, event: Event) {
        let stage = event.index as usize;
        match event.kind {
            EventKind::End { count, .. } => {
                let resource = self.stages[stage].resource;
                if resource != NONE {
                    self.resources[resource as usize].busy = false;
                    self.wake(resource);
                }
                for link in self.stages[stage].room_outputs.clone() {
                    self.put_room(self.links[link], u64::from(count));
                }
            }
            EventKind::Look if self.stages[stage].missing == 0 => self.ready(stage),
            EventKind::Close => self.close(),
            EventKind::Look | EventKind::Arrival => {}
        }
    }

    fn arrive(&mut self, event: Event) -> Result<(), SimError> {
        match event.kind {
            EventKind::End { frame, count } => self.pass_on(event.index as usize, frame, count),
            EventKind::Arrival => return self.burst(event.index as usize),
            EventKind::Look | EventKind::Close => {}
        }
        Ok(())
    }

    /// Passes the frames of a finished stage on.
    fn pass_on(&mut self, stage: usize, frame: u32, count: u32) {
        let ends = self.stages[stage].ends;
        if ends != NONE {
            let chain = &mut self.run.chains[ends as usize];
            chain.done += u64::from(count);
            chain.first_end_ps.get_or_insert(self.now_ps);
            chain.last_end_ps = Some(self.now_ps);
        }
        if frame == NONE {
            return;
        }
        for index in 0..count {
            let slot = if count == 1 {
                frame
            } else {
                self.frames.of_batch(frame, index)
            };
            self.pass_on_one(stage, slot);
        }
        if count > 1 {
            self.frames.end_batch(frame);
        }
    }

    fn pass_on_one(&mut self, stage: usize, slot: u32) {
        self.mark(self.stages[stage].at_end.clone(), slot);
        let ends = self.stages[stage].ends;
        if ends != NONE {
            self.keep_times(ends as usize, slot);
        }
        let outputs = self.stages[stage].frame_outputs.clone();
        if outputs.len() != 1 {
            self.frames.split(slot, outputs.len() as u32);
        }
        for link in outputs {
            self.put_frame(self.links[link] as usize, slot);
        }
    }

    fn put_frame(&mut self, place: usize, slot: u32) {
        let to = self.places[place].to as usize;
        if self.stages[to].drops && self.lacks_token(to, place) {
            self.lose(to, slot);
            return;
        }
        let state = &mut self.places[place];
        state.frames.push_back(slot);
        state.tokens += 1;
        if state.tokens == 1 {
            self.filled(to);
        }
    }

    /// Whether a frame that arrives by `place` finds a room place without an unclaimed token.
    fn lacks_token(&self, stage: usize, place: usize) -> bool {
        let waiting = self.places[place].tokens;
        let mut rooms = self.links[self.stages[stage].room_inputs.clone()].iter();
        rooms.any(|&room| self.places[room as usize].tokens <= waiting)
    }

    fn lose(&mut self, stage: usize, slot: u32) {
        self.run.stages[stage].lost += 1;
        if self.stages[stage].chain != NONE {
            self.run.chains[self.stages[stage].chain as usize].lost += 1;
        }
        self.frames.split(slot, 0);
        for link in self.stages[stage].freed_by_drop.clone() {
            self.put_room(self.links[link], 1);
        }
    }

    fn put_room(&mut self, place: u32, count: u64) {
        let state = &mut self.places[place as usize];
        let was = state.tokens;
        state.tokens += count;
        if was == 0 {
            let to = state.to as usize;
            self.filled(to);
        }
    }

    /// Records that one more input of a stage has a token.
    pub fn filled(&mut self, stage: usize) {
        self.stages[stage].missing -= 1;
        if self.stages[stage].missing == 0 {
            self.complete(stage);
        }
    }

    /// Handles a stage that has all its tokens.
    pub fn complete(&mut self, stage: usize) {
        let state = &self.stages[stage];
        let at_ps = match state.wake {
            Wake::Tokens => self.now_ps,
            Wake::Paced { .. } => state.next_ps.max(self.now_ps),
            Wake::Polled { period_ps } => self.now_ps.div_ceil(period_ps) * period_ps,
        };
        if at_ps == self.now_ps {
            self.ready(stage);
        } else {
            self.push(at_ps, stage as u32, EventKind::Look);
        }
    }

    fn ready(&mut self, stage: usize) {
        let state = &mut self.stages[stage];
        state.since_ps = self.now_ps;
        if state.resource == NONE {
            self.ready_delays.push(stage as u32);
        } else {
            let resource = state.resource;
            self.resources[resource as usize].ready.push(stage as u32);
            self.wake(resource);
        }
    }

    fn wake(&mut self, resource: u32) {
        let state = &mut self.resources[resource as usize];
        if !state.busy && !state.woken {
            state.woken = true;
            self.woken.push(resource);
        }
    }

    fn start_ready(&mut self) -> Result<(), SimError> {
        loop {
            if let Some(resource) = self.woken.pop() {
                self.resources[resource as usize].woken = false;
                if let Some(stage) = self.choose(resource as usize) {
                    self.resources[resource as usize].busy = true;
                    self.start(stage)?;
                }
            } else if let Some(stage) = self.ready_delays.pop() {
                if self.stages[stage as usize].missing == 0 {
                    self.start(stage as usize)?;
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Removes and returns the first of the stages that are ready for a resource.
    fn choose(&mut self, resource: usize) -> Option<usize> {
        let stages = &self.stages;
        let ready = &mut self.resources[resource].ready;
        // A source that was closed while it waited has nothing to give.
        ready.retain(|&stage| stages[stage as usize].missing == 0);
        let rank = |stage: u32| {
            (
                stages[stage as usize].priority,
                stages[stage as usize].since_ps,
                stage,
            )
        };
        let first = (0..ready.len()).min_by_key(|&index| rank(ready[index]))?;
        Some(ready.swap_remove(first) as usize)
    }

    /// Starts a stage on its resource, which is free; it has all its tokens.
    fn start(&mut self, stage: usize) -> Result<(), SimError> {
        let (frame, count) = self.take(stage)?;
        let state = &mut self.stages[stage];
        if let Wake::Paced { period_ps } = state.wake {
            state.next_ps = self.now_ps + period_ps;
        }
        let cost_ps = super::cost::sample_ps(state.cost_ps, state.spread, &mut self.rngs[stage]);
        let end_ps = self.now_ps.saturating_add(cost_ps);
        if end_ps > i64::MAX as u64 {
            return Err(SimError::TooLong(self.net.stages[stage].name.clone()));
        }
        if state.resource != NONE {
            self.run.busy_ps[state.resource as usize] += cost_ps;
        }
        let done = &mut self.run.stages[stage];
        done.starts += 1;
        done.frames += u64::from(count);
        done.busy_ps = done.busy_ps.saturating_add(cost_ps);
        self.keep_firing(stage, frame, count, end_ps);
        self.push(end_ps, stage as u32, EventKind::End { frame, count });
        if self.stages[stage].missing == 0 {
            self.complete(stage);
        }
        Ok(())
    }
}
