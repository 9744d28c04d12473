//! The CPU's work on a frame's path, counted between two points: instructions, fills of cache lines, single accesses.
//!
//! This changes neither the program nor its timing. The duration of each event follows from `rtl/reference` and the
//! pipeline. The node models `nodes/reference-*.toml` consist of both.

mod bus;
mod retired;

use std::ops::{Index, IndexMut};

use super::sys::Trace;
use bus::{Access, Bus, Target};
use retired::{Flow, Retired, Scoreboard};

/// Clocks from a trap or a return from one to the instruction there: the pipeline from fetch to write-back.
const TRAP_CLOCKS: u64 = 5;
/// Clocks without an instruction in the last stage after which a line must have been filled.
const FILL_CLOCKS: u64 = 8;

macro_rules! events {
    ($($name:ident $text:literal $about:literal,)*) => {
        /// An event that takes clocks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Event {
            $(#[doc = $about] $name,)*
        }

        impl Event {
            /// All events.
            pub const ALL: [Event; [$(Event::$name),*].len()] = [$(Event::$name),*];

            /// Its name, as a parameter of the node models.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Event::$name => $text,)*
                }
            }
        }
    };
}

events! {
    Instruction "instruction" "A retired instruction, except those that read past the cache.",
    Jump "jump" "A branch or jump to the target that decode predicted.",
    Turn "turn" "One to another target.",
    Wait "operand-wait" "A clock in which an instruction waits for its operands.",
    Division "division" "A quotient or a remainder.",
    Return "trap-return" "A return from a trap.",
    CodeFill "code-fill" "A line of the instruction cache is filled.",
    DataFill "data-fill" "A line of the data cache is filled.",
    QueuedFill "queued-data-fill" "The same after a line of the instruction cache, which has priority in the memory.",
    Replay "replay" "A load is repeated, because a store to its address was pending.",
    StoreWait "store-wait" "A store finds the write buffer full.",
    ReadWait "read-wait" "A read past the cache finds a store on the bus.",
    MemoryRead "memory-read" "A word of the memory is read past the cache.",
    RegisterRead "register-read" "A register of a block is read.",
    SlotRead "slot-read" "A word behind the bus bridge is read.",
    SlotWrite "slot-write" "A word behind the bus bridge is written.",
    Poll "poll" "A word of the memory is read past the cache while the MAC handles the frame.",
}

/// How often each event occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounts([u64; Event::ALL.len()]);

impl Index<Event> for EventCounts {
    type Output = u64;

    fn index(&self, event: Event) -> &u64 {
        &self.0[event as usize]
    }
}

impl IndexMut<Event> for EventCounts {
    fn index_mut(&mut self, event: Event) -> &mut u64 {
        &mut self.0[event as usize]
    }
}

/// One frame that was received and sent back. Clocks are of 10 ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EchoCounts {
    /// From the end of the frame on line 0 to the MAC's interrupt.
    pub irq_clocks: u64,
    /// From the write that starts the MAC to the first byte on line 0.
    pub line_clocks: u64,
    /// The CPU's work in each stage: up to each receive point, and from each transmit point on.
    pub stages: [EventCounts; EchoCounts::STAGES],
}

impl EchoCounts {
    /// Stages of a frame's path in and out.
    pub const STAGES: usize = 6;
}

/// What handles the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Nobody,
    /// The MAC that received it.
    Receiver,
    /// The CPU, after this many marks in the capture units.
    Software(usize),
    /// The MAC that sends it.
    Sender,
}

/// Writes to the capture units on a frame's path: one for each point; in the middle each unit switches to
/// transmitting.
const WRITES_IN: usize = 3;
const WRITES_TO_TURN: usize = 3;

impl Phase {
    fn stage(self) -> Option<usize> {
        match self {
            Phase::Nobody => None,
            Phase::Receiver => Some(0),
            Phase::Software(writes) if writes < WRITES_IN => Some(writes),
            Phase::Software(writes) => {
                let stage = writes.checked_sub(WRITES_TO_TURN + 1)?;
                (WRITES_IN..EchoCounts::STAGES)
                    .contains(&stage)
                    .then_some(stage)
            }
            Phase::Sender => Some(EchoCounts::STAGES - 1),
        }
    }
}

/// Counts, clock by clock.
#[derive(Debug)]
pub(super) struct Counter {
    /// Whether the CPU waits for a posted write behind the bridge, during which its own work costs nothing.
    waits_for_writes: bool,
    phase: Phase,
    now: EchoCounts,
    /// Since the frame's end, or since the MAC was started.
    clocks: u64,
    done: Vec<EchoCounts>,
    was: Trace,
    receiving: bool,
    sending: bool,
    bus: Bus,
    board: Scoreboard,
    last: Option<Retired>,
    /// Clocks for which the instruction has been in the last stage.
    there_clocks: u64,
    /// Clocks without an instruction there, and whether a line was filled since the last one that had to wait for it.
    empty_clocks: u64,
    has_filled: bool,
    /// Whether the load in the last stage reads past the cache.
    reads: bool,
}

impl Counter {
    /// Nothing is counted yet; `posted` says whether the bus bridge accepts writes without a reply.
    pub(super) fn new(posted: bool) -> Counter {
        Counter {
            waits_for_writes: !posted,
            phase: Phase::Nobody,
            now: EchoCounts::default(),
            clocks: 0,
            done: Vec::new(),
            was: Trace::default(),
            receiving: false,
            sending: false,
            bus: Bus::default(),
            board: Scoreboard::default(),
            last: None,
            there_clocks: 0,
            empty_clocks: 0,
            has_filled: false,
            reads: false,
        }
    }

    /// The completed frames, oldest first.
    pub(super) fn take(&mut self) -> Vec<EchoCounts> {
        std::mem::take(&mut self.done)
    }

    fn add(&mut self, event: Event, count: u64) {
        let is_hidden =
            self.waits_for_writes && event != Event::SlotWrite && self.bus.writes_slot();
        let is_of_the_mac = self.phase == Phase::Sender && event != Event::Poll;
        if let Some(stage) = self.phase.stage().filter(|_| !is_hidden && !is_of_the_mac) {
            self.now.stages[stage][event] += count;
        }
    }

    /// One clock: the CPU's work in it, and whether line 0 carries a byte to and from the node.
    pub(super) fn clock(&mut self, trace: Trace, receiving: bool, sending: bool) {
        if self.receiving && !receiving {
            self.phase = Phase::Receiver;
            self.now = EchoCounts::default();
            self.clocks = 0;
        }
        self.clocks += 1;
        if trace.mac_irq != 0 && self.was.mac_irq == 0 && self.phase == Phase::Receiver {
            self.now.irq_clocks = self.clocks;
        }
        let begun = self.bus.begins(trace);
        self.pipeline(trace);
        if trace.fetch != 0 && self.was.fetch == 0 {
            self.add(Event::CodeFill, 1);
            self.has_filled = true;
        }
        if let Some(access) = begun {
            self.access(access);
            self.point(access);
        }
        if self.phase == Phase::Sender && sending && !self.sending {
            self.now.line_clocks = self.clocks;
            self.done.push(self.now);
            self.phase = Phase::Nobody;
        }
        self.bus.ends(trace);
        self.was = trace;
        self.receiving = receiving;
        self.sending = sending;
    }

    fn access(&mut self, access: Access) {
        let event = match (access.target, access.write) {
            (Target::Memory, false) if self.was.fetch != 0 => Event::QueuedFill,
            (Target::Memory, false) => Event::DataFill,
            (Target::Uncached, false) => Event::MemoryRead,
            (Target::Slot, false) => Event::SlotRead,
            (Target::Block, false) => Event::RegisterRead,
            (Target::Slot, true) => Event::SlotWrite,
            (_, true) => return,
        };
        if self.phase == Phase::Sender {
            self.add(Event::Poll, u64::from(event == Event::MemoryRead));
            return;
        }
        self.add(event, 1);
        self.reads = !access.write && access.target != Target::Memory;
        // The access follows one clock after the load, unless the bus is busy.
        if self.reads && self.there_clocks > 2 {
            self.add(Event::ReadWait, 1);
        }
    }

    /// The points of the path are accesses.
    fn point(&mut self, access: Access) {
        match self.phase {
            Phase::Receiver if access.is_mark() => self.phase = Phase::Software(1),
            Phase::Software(writes) if access.is_mark() => {
                self.phase = Phase::Software(writes + 1);
            }
            Phase::Software(writes)
                if access.starts_mac() && writes == EchoCounts::STAGES + WRITES_TO_TURN =>
            {
                // The MAC takes it in its first clock, so the rest need not be awaited.
                let last = &mut self.now.stages[EchoCounts::STAGES - 1];
                last[Event::SlotWrite] -= u64::from(access.target == Target::Slot);
                self.phase = Phase::Sender;
                self.clocks = 0;
            }
            _ => {}
        }
    }

    fn pipeline(&mut self, trace: Trace) {
        let here = Retired {
            pc: trace.pc,
            word: trace.instruction,
        };
        let was_held = self.was.valid != 0 && self.was.retires == 0;
        let stays = was_held && trace.valid != 0 && trace.pc == self.was.pc;
        if was_held && !stays && !self.bus.fills() {
            self.add(Event::Replay, 1);
        }
        self.there_clocks = if stays {
            self.there_clocks + 1
        } else {
            u64::from(trace.valid)
        };
        if self.there_clocks == 1 {
            self.reads = false;
            if trace.retires == 0 && here.is_store() {
                self.add(Event::StoreWait, 1);
            }
        }
        if trace.retires != 0 {
            self.retire(here);
            self.empty_clocks = 0;
        } else {
            self.empty_clocks += u64::from(trace.valid == 0);
        }
    }

    fn retire(&mut self, here: Retired) {
        let flow = self.last.map_or(Flow::On, |last| last.flow(here));
        self.last = Some(here);
        if flow == Flow::Trap && self.phase == Phase::Receiver {
            self.phase = Phase::Software(0);
        }
        if self.has_filled && self.empty_clocks >= FILL_CLOCKS {
            self.board.pass(self.empty_clocks);
            self.has_filled = false;
        }
        self.board.pass(match flow {
            Flow::On => 0,
            Flow::Jump => retired::JUMP_CLOCKS,
            Flow::Turn => retired::TURN_CLOCKS,
            Flow::Return | Flow::Trap => TRAP_CLOCKS,
        });
        let waited = self.board.next(here);
        if !matches!(self.phase, Phase::Software(_)) {
            return;
        }
        let event = match flow {
            Flow::Jump => Some(Event::Jump),
            Flow::Turn => Some(Event::Turn),
            Flow::Return => Some(Event::Return),
            Flow::On | Flow::Trap => None,
        };
        if let Some(event) = event {
            self.add(event, 1);
        }
        self.add(Event::Wait, waited);
        self.add(Event::Instruction, u64::from(!self.reads));
        self.add(Event::Division, u64::from(here.is_division()));
    }
}
