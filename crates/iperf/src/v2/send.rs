//! The sending end of a UDP flow, without I/O: due datagrams, final datagrams, and the report that comes back.

use std::ops::Range;
use std::time::Duration;

use wirelab_trial::Holds;

use super::amount::{Amount, Rate};
use super::bytes::put_words;
use super::client_header::{ClientHeader, acknowledged_by};
use super::datagram::{Generation, Head, IdWidth, WIDE_LEN};
use super::flags::{SMALL_TRIP_TIMES, fill_digits};
use super::report::ServerReport;
use super::schedule::Schedule;
pub use super::sent::{FINAL_TRIES, Mended, Sent};
use crate::sending::SendOptions;

/// Time that each final datagram waits for its report, in ns: 250 ms.
pub const FINAL_WAIT_NS: u64 = 250_000_000;

/// What a flow sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendPlan {
    /// Bytes of a datagram, at least those of the head.
    pub length_bytes: u32,
    /// The rate.
    pub rate: Rate,
    /// The amount.
    pub amount: Amount,
    /// The layout; with [`Generation::Wide`] and a header, each datagram has the header, as far as it fits.
    pub generation: Generation,
    /// The header.
    pub header: Option<ClientHeader>,
    /// Whether a report is expected; without one, three final datagrams follow each other.
    pub wants_report: bool,
    /// How it is handed to the system.
    pub sending: SendOptions,
}

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendAction {
    /// Send this many bytes from the start of the buffer.
    Send(usize),
    /// The data has ended: take pending answers of the other end ([`Sender::take_answer`]), which show the final
    /// datagram that it understands.
    Hear,
    /// Nothing is due before this time.
    Wait {
        /// In ns of the caller's clock.
        until_ns: u64,
    },
    /// The flow is over.
    Done,
}

/// The sending end. Nothing is allocated after [`Sender::new`].
#[derive(Clone, Debug)]
pub struct Sender {
    plan: SendPlan,
    schedule: Schedule,
    start_ns: u64,
    /// Its latest end, even if some of an amount of bytes is left.
    end_ns: u64,
    last_ns: u64,
    next_id: i64,
    bytes: u64,
    first_len: usize,
    /// Final datagrams sent, and the time of the next.
    finals: u32,
    final_due_ns: u64,
    ended_ns: Option<u64>,
    report: Option<ServerReport>,
    /// The other end's generation, as far as known.
    server: Option<Generation>,
    heard: bool,
    strange_answers: u32,
    refused: u64,
    holds: Holds,
    segmented: bool,
    over: bool,
}

/// Largest datagram over IPv4 in bytes.
pub const MAX_DATAGRAM: usize = 65_507;

impl Sender {
    /// A flow that starts at `now_ns` of any steady clock.
    pub fn new(plan: SendPlan, now_ns: u64) -> Sender {
        let least = plan.generation.ids().head_bytes();
        let length = (plan.length_bytes as usize).clamp(least, MAX_DATAGRAM);
        let plan = SendPlan {
            length_bytes: length as u32,
            ..plan
        };
        // The first datagram is never shorter than the header, from which servers read the request.
        let header = plan
            .header
            .map_or(0, |header| header.bytes_in(plan.generation));
        Sender {
            schedule: Schedule::of(
                now_ns,
                plan.rate.interval_ps(plan.length_bytes),
                plan.sending.strict_gaps,
            ),
            plan,
            start_ns: now_ns,
            end_ns: plan
                .amount
                .ns()
                .map_or(u64::MAX, |ns| now_ns.saturating_add(ns)),
            last_ns: now_ns,
            next_id: plan.generation.first_id(),
            bytes: 0,
            first_len: length.max(header),
            finals: 0,
            final_due_ns: 0,
            ended_ns: None,
            report: None,
            server: None,
            heard: false,
            strange_answers: 0,
            refused: 0,
            holds: Holds::default(),
            segmented: false,
            over: false,
        }
    }

    /// The same flow, which ends after `longest` at the latest: a peer that requests many bytes at a slow rate must not
    /// keep its slot forever.
    #[must_use]
    pub fn within(mut self, longest: Duration) -> Sender {
        let longest_ns = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
        self.end_ns = self.end_ns.min(self.start_ns.saturating_add(longest_ns));
        self
    }

    /// Bytes that the buffer for [`Sender::step`] needs.
    pub const fn buffer_bytes(&self) -> usize {
        self.first_len
    }

    /// Fills a buffer once, before the first step: the digits and the header.
    pub fn prepare(&self, buf: &mut [u8]) {
        fill_digits(buf, 0);
        if self.plan.generation == Generation::V2010 {
            // Without a header its flags are 0.
            buf.iter_mut()
                .skip(WIDE_LEN)
                .take(4)
                .for_each(|byte| *byte = 0);
        }
        if self.plan.generation == Generation::SmallTripTimes {
            put_words(buf, WIDE_LEN, &[SMALL_TRIP_TIMES]);
        }
        if let Some(header) = &self.plan.header {
            header.emit_into(self.plan.generation, buf);
        }
    }

    /// The action at `now_ns`; `wall` is the sender's wall clock in s and µs, which the datagrams carry. `buf` is the
    /// prepared buffer.
    pub fn step(&mut self, now_ns: u64, wall: (u32, u32), buf: &mut [u8]) -> SendAction {
        if self.over {
            return SendAction::Done;
        }
        if self.ended_ns.is_none() && self.is_enough(now_ns) {
            self.ended_ns = Some(now_ns);
        }
        if self.ended_ns.is_some() {
            if self.plan.wants_report && !std::mem::replace(&mut self.heard, true) {
                return SendAction::Hear;
            }
            return self.final_step(now_ns, wall, buf);
        }
        let due_ns = self.schedule.due_ns();
        if now_ns < due_ns {
            return SendAction::Wait {
                until_ns: due_ns.min(self.end_ns),
            };
        }
        self.schedule.leaves(now_ns);
        self.last_ns = now_ns;
        let len = self.next_bytes();
        self.write(self.next_id, wall, buf);
        self.next_id += 1;
        self.bytes += len as u64;
        SendAction::Send(len.min(buf.len()))
    }

    /// Whether datagrams may be sent together: only at [`Rate::Max`], since they are a burst.
    pub fn is_unpaced(&self) -> bool {
        self.plan.rate.interval_ps(self.plan.length_bytes).is_none()
    }

    /// What the flow sends.
    pub const fn plan(&self) -> &SendPlan {
        &self.plan
    }

    /// Takes the numbers of datagrams that are sent together, at most `most`, each of the plan's length; the caller
    /// writes each with [`Sender::write`] and sends it. `None` where [`Sender::step`] must decide: the sender is paced,
    /// the first or the last datagram is next, or the end is reached.
    pub fn take_together(&mut self, now_ns: u64, most: usize) -> Option<Range<i64>> {
        let over = self.over || self.ended_ns.is_some() || self.is_enough(now_ns);
        if over || self.is_first() || !self.is_unpaced() {
            return None;
        }
        let length = u64::from(self.plan.length_bytes);
        let left = match self.plan.amount {
            Amount::Bytes(all) => all.saturating_sub(self.bytes) / length,
            Amount::Time { .. } => u64::MAX,
        };
        let count = left.min(most as u64);
        if count == 0 {
            return None;
        }
        self.schedule.leave_together(now_ns, count);
        self.last_ns = now_ns;
        self.bytes += count * length;
        let first = self.next_id;
        self.next_id += count as i64;
        Some(first..self.next_id)
    }

    /// Records that the system got several datagrams in one piece.
    pub const fn was_segmented(&mut self) {
        self.segmented = true;
    }

    const fn is_first(&self) -> bool {
        self.next_id == self.plan.generation.first_id()
    }

    /// Bytes of the next datagram: the last one of an amount has the remaining bytes, but at least a head.
    fn next_bytes(&self) -> usize {
        if self.is_first() {
            return self.first_len;
        }
        let length = self.plan.length_bytes as usize;
        match self.plan.amount {
            Amount::Bytes(all) => usize::try_from(all.saturating_sub(self.bytes))
                .unwrap_or(length)
                .clamp(self.plan.generation.ids().head_bytes(), length),
            Amount::Time { .. } => length,
        }
    }

    /// Writes number and time of a datagram into its first bytes.
    pub fn write(&self, id: i64, wall: (u32, u32), buf: &mut [u8]) {
        // The final datagram depends on the actual server, whose layout may not be the requested one.
        let ids = match self.server {
            Some(Generation::V2010) if id < 0 => IdWidth::Flagged,
            _ => self.plan.generation.ids(),
        };
        let head = Head {
            id,
            seconds: wall.0,
            microseconds: wall.1,
        };
        head.emit(buf, ids);
    }

    fn final_step(&mut self, now_ns: u64, wall: (u32, u32), buf: &mut [u8]) -> SendAction {
        let (tries, wait_ns) = match self.plan.wants_report {
            true => (FINAL_TRIES, FINAL_WAIT_NS),
            false => (3, 0),
        };
        if now_ns < self.final_due_ns {
            return SendAction::Wait {
                until_ns: self.final_due_ns,
            };
        }
        if self.finals == tries {
            self.over = true;
            return SendAction::Done;
        }
        self.finals += 1;
        self.final_due_ns = now_ns + wait_ns;
        // The same number each time: a server that gets only the second must not count a loss for the first.
        self.write(-self.next_id, wall, buf);
        SendAction::Send((self.plan.length_bytes as usize).min(buf.len()))
    }

    fn is_enough(&self, now_ns: u64) -> bool {
        let sent = matches!(self.plan.amount, Amount::Bytes(bytes) if self.bytes >= bytes);
        sent || now_ns >= self.end_ns
    }

    /// Takes an answer of the other end; returns whether it was the report, which ends the flow.
    pub fn take_answer(&mut self, answer: &[u8]) -> bool {
        if let Some(server) = acknowledged_by(answer) {
            self.server = Some(server);
            return false;
        }
        if self.finals == 0 || self.report.is_some() {
            return false;
        }
        let most = self.schedule.packets() + u64::from(self.finals);
        self.report = ServerReport::parse(answer).filter(|report| report.is_of(most));
        if self.report.is_some() {
            // 2.0.13 reports like later versions.
            let layout = ServerReport::layout(answer);
            let known = (self.server, layout) == (Some(Generation::V2013), Some(Generation::Wide));
            self.server = layout.filter(|_| !known).or(self.server);
        }
        self.over |= self.report.is_some();
        self.strange_answers += u32::from(self.report.is_none());
        self.report.is_some()
    }

    /// Records that the system's buffers did not take a datagram.
    pub const fn was_refused(&mut self) {
        self.refused += 1;
    }

    /// Records that the path took nothing for this many ns.
    pub fn was_blocked(&mut self, ns: u64) {
        self.schedule.was_blocked(ns);
    }

    /// Records the pauses of its thread while data was sent. With a rate the schedule shows them.
    pub fn was_held(&mut self, holds: Holds) {
        self.holds = match self.is_unpaced() {
            true => holds,
            false => Holds {
                blocked_ns: holds.blocked_ns,
                ..Holds::default()
            },
        };
    }

    /// Datagrams of data so far, and how many of them the system's buffers did not take.
    pub const fn packets(&self) -> (u64, u64) {
        (self.schedule.packets(), self.refused)
    }

    /// Ends the data now: an interrupt, or the other end is gone.
    pub fn stop(&mut self, now_ns: u64) {
        self.ended_ns.get_or_insert(now_ns);
    }

    /// Ends immediately, without final datagrams.
    pub fn abandon(&mut self, now_ns: u64) {
        self.stop(now_ns);
        self.over = true;
    }

    /// Application bytes so far.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
    /// When the flow started.
    pub const fn start_ns(&self) -> u64 {
        self.start_ns
    }
    /// When its data ended; `None` while it goes on.
    pub const fn ended_ns(&self) -> Option<u64> {
        self.ended_ns
    }

    /// What was sent.
    pub fn sent(&self) -> Sent {
        Sent {
            rate: self.plan.rate,
            datagram_bytes: self.plan.length_bytes,
            mtu_bytes: None,
            fragments: 1,
            strange_answers: self.strange_answers,
            refused: self.refused,
            segmented: self.segmented,
            datagrams: self.schedule.packets(),
            bytes: self.bytes,
            duration_ns: self.ended_ns.unwrap_or(self.last_ns) - self.start_ns,
            report: self.report,
            server: self.server,
            mended: Mended::default(),
            final_tries: self.finals,
            slips: self.schedule.slips(),
            slipped_ns: self.schedule.slipped_ns(),
            longest_burst: self.schedule.longest_burst(),
            holds: self.holds,
            gaps: self.schedule.gaps(),
        }
        .mend(self.plan.generation)
    }
}

#[cfg(test)]
mod tests;
