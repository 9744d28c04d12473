//! From steps between functions to calls, returns and interrupts: a shadow stack that needs no registers.
//!
//! A step shows where the machine is now and where the block before ended. How that block ended (call, return, jump) is
//! read from the image's code. A step without a causing instruction is an interrupt, which begins at a known entry.

use std::collections::{BTreeSet, HashMap};

use super::ring::{Event, Kinds, RingRecord};
use super::symbols::{Ending, Symbols};

/// Deepest stack: endless recursion must not exhaust memory.
const DEEPEST: usize = 256;
/// Stacks of other threads that are kept.
const MOST_THREADS: usize = 32;
/// Bytes of the longest instruction of the sets that are known.
const LONGEST_INSTRUCTION: u64 = 4;
/// Most instructions of a vector that jumps to a handler.
const LONGEST_VECTOR: u64 = 4;
/// Most different paths.
const MOST_PATHS: usize = 1 << 18;
/// Most ends of blocks that are remembered.
const MOST_ENDINGS: usize = 1 << 20;

/// A function, or code without a name in the image.
pub type FunctionId = Option<u32>;

/// A path of calls: its last function, and the path of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallPath {
    /// `None` at the first function.
    pub caller: Option<u32>,
    /// The running function.
    pub function: FunctionId,
}

/// All paths, each once.
#[derive(Debug, Default)]
pub struct Paths {
    all: Vec<CallPath>,
    known: HashMap<(Option<u32>, FunctionId), u32>,
}

impl Paths {
    fn of(&mut self, caller: Option<u32>, function: FunctionId) -> u32 {
        if let Some(known) = self.known.get(&(caller, function)) {
            return *known;
        }
        if let (true, Some(caller)) = (self.all.len() >= MOST_PATHS, caller) {
            return caller;
        }
        let number = self.all.len() as u32;
        self.all.push(CallPath { caller, function });
        self.known.insert((caller, function), number);
        number
    }

    /// A path by its number.
    pub fn get(&self, number: u32) -> CallPath {
        self.all[number as usize]
    }

    /// The functions of a path, the first caller first.
    pub fn functions(&self, number: u32) -> Vec<FunctionId> {
        let mut functions = Vec::new();
        let mut next = Some(number);
        while let Some(number) = next {
            let path = self.get(number);
            functions.push(path.function);
            next = path.caller;
        }
        functions.reverse();
        functions
    }
}

/// A moment on a frame's path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Instructions before.
    pub count: u64,
    /// The kinds of these instructions.
    pub kinds: Kinds,
}

/// A pass of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The number of the point.
    pub point: u8,
    /// The time of the pass.
    pub moment: Moment,
}

/// An interrupt that returned to where it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// Its first instruction.
    pub from: Moment,
    /// After its last instruction.
    pub to: Moment,
}

/// Instructions of one function without a call, by their counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The path of the function.
    pub path: u32,
    /// The first.
    pub from: u64,
    /// After the last.
    pub to: u64,
}

/// The events while a frame was under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flight {
    /// Passes of points, in their order.
    pub passes: Vec<Pass>,
    /// Interrupts that came back, in the order of their ends.
    pub interruptions: Vec<Interruption>,
    /// The functions that ran, in their order.
    pub segments: Vec<Segment>,
}

/// A function that was called and has not returned.
#[derive(Clone, Copy, Debug)]
struct Level {
    function: FunctionId,
    /// The called function, if it jumped into another at its end.
    called: FunctionId,
    path: u32,
    /// Where it returns to; `None` if unknown.
    back: Option<u64>,
    interrupt: Option<Interrupt>,
}

#[derive(Clone, Copy, Debug)]
struct Interrupt {
    /// The end of the block that it interrupted.
    before: u64,
    since: Moment,
    /// Whether it is a call of the system.
    is_call: bool,
    /// When the last of consecutive interrupts began, and whether that one belongs to no frame.
    last: Moment,
    is_apart: bool,
}

/// The stack of a machine, and the observed part of a flight.
#[derive(Debug)]
pub struct Walker {
    symbols: Symbols,
    interrupts: BTreeSet<u64>,
    /// Functions of interrupts that belong to no frame.
    apart: BTreeSet<u32>,
    /// Points after the return of a function, by the function.
    returns: Vec<(u32, u8)>,
    /// The addresses of the other points, by their numbers.
    points: HashMap<u8, u64>,
    endings: HashMap<u64, Ending>,
    paths: Paths,
    stack: Vec<Level>,
    others: Vec<(Vec<Level>, u64)>,
    mark: u64,
    flight: Flight,
}

impl Walker {
    /// A walker through an image, with the entries of interrupts, functions whose interrupts belong to no frame, points
    /// at addresses, and points after returns of the functions at addresses.
    pub fn new(
        symbols: Symbols,
        interrupts: BTreeSet<u64>,
        apart: &BTreeSet<u64>,
        points: HashMap<u8, u64>,
        returns: &[(u64, u8)],
    ) -> Walker {
        let returns = returns.iter().filter_map(|(at, point)| {
            let function = symbols.function_at(*at)?;
            Some((function as u32, *point))
        });
        let apart = apart.iter().filter_map(|at| symbols.function_at(*at));
        Walker {
            apart: apart.map(|f| f as u32).collect(),
            returns: returns.collect(),
            symbols,
            interrupts,
            points,
            endings: HashMap::new(),
            paths: Paths::default(),
            stack: Vec::new(),
            others: Vec::new(),
            mark: 0,
            flight: Flight::default(),
        }
    }

    /// The image.
    pub const fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// The paths seen so far.
    pub const fn paths(&self) -> &Paths {
        &self.paths
    }

    /// The records since the last call; the next record begins another flight.
    pub fn end(&mut self) -> Flight {
        self.stack.clear();
        self.others.clear();
        std::mem::take(&mut self.flight)
    }

    /// The flight so far.
    pub const fn flight(&self) -> &Flight {
        &self.flight
    }

    /// Takes a record into account.
    pub fn take(&mut self, record: &RingRecord) {
        let now = Moment {
            count: record.count,
            kinds: record.kinds,
        };
        match record.event {
            Event::Point(point) => {
                if self.stack.is_empty() {
                    let at = self.points.get(&point).copied().unwrap_or(0);
                    self.begin(at);
                    self.mark = now.count;
                }
                self.flight.passes.push(Pass { point, moment: now });
            }
            Event::Step { at, from } => {
                if self.stack.is_empty() {
                    self.begin(at);
                } else {
                    self.segment(now.count);
                    self.step(at, from, now);
                }
                self.mark = now.count;
            }
        }
    }

    fn segment(&mut self, to: u64) {
        let Some(top) = self.stack.last().filter(|_| to > self.mark) else {
            return;
        };
        self.flight.segments.push(Segment {
            path: top.path,
            from: self.mark,
            to,
        });
    }

    fn function_at(&self, at: u64) -> FunctionId {
        self.symbols.function_at(at).map(|f| f as u32)
    }

    fn is_start(&self, at: u64, function: FunctionId) -> bool {
        let start = function.map(|f| self.symbols.functions()[f as usize].start);
        start == Some(at)
    }

    fn ending(&mut self, end: u64) -> Ending {
        if let Some(known) = self.endings.get(&end) {
            return *known;
        }
        let ending = self.symbols.ending(end);
        if self.endings.len() < MOST_ENDINGS {
            self.endings.insert(end, ending);
        }
        ending
    }

    /// A stack of one function: its caller is unknown.
    fn begin(&mut self, at: u64) {
        self.stack.clear();
        self.push(self.function_at(at), None, None);
    }

    fn push(&mut self, function: FunctionId, back: Option<u64>, interrupt: Option<Interrupt>) {
        if self.stack.len() >= DEEPEST {
            // Endless recursion would also make endless paths.
            self.stack.clear();
        }
        let caller = self.stack.last().map(|level| level.path);
        self.stack.push(Level {
            function,
            called: function,
            path: self.paths.of(caller, function),
            back,
            interrupt,
        });
    }

    /// Replaces the running function by another one.
    fn jump(&mut self, function: FunctionId) {
        let caller = self
            .stack
            .len()
            .checked_sub(2)
            .map(|at| self.stack[at].path);
        let path = self.paths.of(caller, function);
        if let Some(top) = self.stack.last_mut() {
            (top.function, top.path) = (function, path);
        }
    }

    fn step(&mut self, at: u64, from: u64, now: Moment) {
        let ending = self.ending(from);
        let function = self.function_at(at);
        let Some(top) = self.stack.last().copied() else {
            return self.begin(at);
        };
        if self.is_entry(at, top.function) || ending == Ending::SystemCall {
            // One interrupt may follow another before the machine resumes where the first
            // began. A vector may jump to its handler.
            let since = top.interrupt.map(|interrupt| interrupt.since.count);
            let is_vector = since.is_some_and(|since| now.count <= since + LONGEST_VECTOR);
            let is_return = matches!(ending, Ending::Return | Ending::InterruptReturn);
            if top.interrupt.is_some() && (is_return || is_vector) {
                if !is_vector {
                    self.chain(now);
                }
                self.jump(function);
            } else {
                let interrupt = Interrupt {
                    before: from,
                    since: now,
                    is_call: ending == Ending::SystemCall,
                    last: now,
                    is_apart: false,
                };
                self.push(function, None, Some(interrupt));
            }
            return self.mark_apart(function);
        }
        match ending {
            Ending::Call => {
                self.push(function, Some(from), None);
                self.mark_apart(function);
            }
            Ending::Return | Ending::InterruptReturn => self.back(at, from, now),
            Ending::SystemCall | Ending::Other => {
                let is_return = !self.is_start(at, function) && function != top.function;
                if is_return && self.return_to(at, now) {
                    return;
                }
                if function != top.function {
                    self.jump(function);
                }
            }
        }
    }

    /// Whether an interrupt enters at an address. If it arrives at an I/O instruction, QEMU with -icount runs its first
    /// instruction before the plugin sees it.
    fn is_entry(&self, at: u64, from: FunctionId) -> bool {
        let near = self.interrupts.range(..=at).next_back();
        let Some(entry) = near.filter(|entry| at - **entry <= LONGEST_INSTRUCTION) else {
            return false;
        };
        let function = self.function_at(at);
        at == *entry || (function != from && function == self.function_at(*entry))
    }

    /// If one of the functions in `apart` begins, the running interrupt belongs to no frame.
    fn mark_apart(&mut self, function: FunctionId) {
        if !function.is_some_and(|f| self.apart.contains(&f)) {
            return;
        }
        let mut interrupts = self
            .stack
            .iter_mut()
            .rev()
            .map(|level| &mut level.interrupt);
        if let Some(interrupt) = interrupts.find_map(Option::as_mut) {
            interrupt.is_apart = true;
        }
    }

    /// Another interrupt follows the one on top.
    fn chain(&mut self, now: Moment) {
        let Some(interrupt) = self.stack.last_mut().and_then(|top| top.interrupt.as_mut()) else {
            return;
        };
        if interrupt.is_apart {
            self.flight.interruptions.push(Interruption {
                from: interrupt.last,
                to: now,
            });
        }
        (interrupt.last, interrupt.is_apart) = (now, false);
    }

    /// Pops the functions above the one that continues at an address, if one of them returns there. A function below an
    /// interrupt cannot return before the interrupt, even if both continue at the same address.
    fn return_to(&mut self, at: u64, now: Moment) -> bool {
        let interrupt = self.stack.iter().rposition(|l| l.interrupt.is_some());
        let level = self.stack.iter().rposition(|l| l.back == Some(at));
        let Some(level) =
            level.filter(|level| interrupt.is_none_or(|interrupt| interrupt < *level))
        else {
            return false;
        };
        self.pop_to(level, now);
        if self.stack.is_empty() {
            self.begin(at);
        }
        true
    }

    /// Pops all levels from one on: these functions have returned.
    fn pop_to(&mut self, level: usize, now: Moment) {
        for popped in self.stack.drain(level..).rev() {
            let of = [popped.function, popped.called];
            let is = |(function, _): &&(u32, u8)| of.contains(&Some(*function));
            for (_, point) in self.returns.iter().filter(is) {
                self.flight.passes.push(Pass {
                    point: *point,
                    moment: now,
                });
            }
        }
    }

    fn back(&mut self, at: u64, from: u64, now: Moment) {
        let ending = self.ending(from);
        if ending == Ending::Return && self.return_to(at, now) {
            return;
        }
        let level = self.stack.iter().rposition(|l| l.interrupt.is_some());
        let Some(level) = level else {
            if self.stack.len() == 1 {
                self.pop_to(0, now);
                return self.begin(at);
            }
            return self.switch(at, from, now);
        };
        let interrupt = self.stack[level].interrupt;
        self.pop_to(level, now);
        let (Some(interrupt), false) = (interrupt, self.stack.is_empty()) else {
            return self.begin(at);
        };
        let goes_on = self.goes_on(at, interrupt.before, now);
        let from = match (goes_on && !interrupt.is_call, interrupt.is_apart) {
            (true, _) => Some(interrupt.since),
            (false, true) => Some(interrupt.last),
            (false, false) => None,
        };
        let apart = from.map(|from| Interruption { from, to: now });
        self.flight.interruptions.extend(apart);
        if !goes_on {
            self.switch(at, interrupt.before, now);
        }
    }

    /// Whether the machine continues where it was, after a block that ended at `before`; the stack is then the earlier one.
    fn goes_on(&mut self, at: u64, before: u64, now: Moment) -> bool {
        let function = self.function_at(at);
        let own = self
            .stack
            .last()
            .is_some_and(|top| top.function == function);
        if own && !self.is_start(at, function) {
            return true;
        }
        match self.ending(before) {
            Ending::Call if self.is_start(at, function) => {
                self.push(function, Some(before), None);
                true
            }
            Ending::Return => self.return_to(at, now),
            Ending::Other if self.is_start(at, function) => {
                self.jump(function);
                true
            }
            _ => own,
        }
    }

    /// Another thread continues, with its stack if that is known.
    fn switch(&mut self, at: u64, before: u64, now: Moment) {
        if self.others.len() >= MOST_THREADS {
            self.others.remove(0);
        }
        let left = std::mem::take(&mut self.stack);
        self.others.push((left, before));
        // The thread that was just left is the last to continue.
        for n in (0..self.others.len()).rev() {
            let (stack, before) = self.others[n].clone();
            self.stack = stack;
            if self.goes_on(at, before, now) || self.return_to(at, now) {
                self.others.remove(n);
                return;
            }
        }
        self.begin(at);
    }
}

#[cfg(test)]
mod tests;
