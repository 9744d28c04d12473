//! Sessions: the last request of each client, and its answer. A table of fixed size.

use std::time::Duration;

use super::Peer;
use crate::line::LineBuf;

/// One client's session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) number: u32,
    pub(crate) peer: Peer,
    nonce: u32,
    /// Number of the last executed request; 0 after the hello that opened the session.
    pub(crate) last: u32,
    heard: Duration,
    /// Reply to the last request.
    pub(crate) reply: LineBuf,
    /// The expected answer of a client with the token; `None` after a wrong answer, or if the node requires no token.
    pub(crate) challenge: Option<String>,
    /// Whether the client has proven that it receives at its address, and that it has the token, if any.
    pub(crate) proven: bool,
}

/// All sessions of a node.
#[derive(Debug)]
pub(crate) struct Sessions {
    table: Vec<Session>,
    max: usize,
    max_per_peer: usize,
    random: Random,
}

/// The source of session numbers.
#[derive(Debug)]
enum Random {
    /// The operating system.
    System,
    /// A seed, for repeatable tests.
    Seed(u64),
}

impl Sessions {
    pub(crate) fn new(max: usize, max_per_peer: usize, seed: Option<u64>) -> Sessions {
        Sessions {
            table: Vec::with_capacity(max),
            max,
            max_per_peer,
            random: seed.map_or(Random::System, Random::Seed),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// The session that an earlier copy of this hello opened, if the client has not used it yet.
    pub(crate) fn opened_by(&mut self, peer: Peer, nonce: u32) -> Option<&mut Session> {
        self.table
            .iter_mut()
            .find(|s| s.peer == peer && s.nonce == nonce && s.last == 0)
    }

    pub(crate) fn get(&mut self, number: u32, peer: Peer, now: Duration) -> Option<&mut Session> {
        let session = self
            .table
            .iter_mut()
            .find(|s| s.number == number && s.peer == peer)?;
        session.heard = now;
        Some(session)
    }

    /// Makes room and opens a session with a [fresh number](Sessions::fresh_number). `None` where all sessions belong
    /// to recently active clients.
    ///
    /// A peer at its limit replaces one of its own sessions, otherwise any peer's: first the oldest unproven one (a
    /// flood of hellos from forged addresses replaces only such), then the oldest idle one. A peer may also replace its
    /// own oldest session. If its address may be forged, that session must have been silent for half of `idle`;
    /// otherwise others could push out the session of a running trial.
    pub(crate) fn open(
        &mut self,
        number: u32,
        peer: Peer,
        nonce: u32,
        now: Duration,
        idle: Duration,
        forgeable: bool,
    ) -> Option<&mut Session> {
        let own = |s: &Session| s.peer == peer;
        let silence = |s: &Session| now.saturating_sub(s.heard);
        let is_idle = |s: &Session| silence(s) >= idle;
        if self.table.iter().filter(|s| own(s)).count() >= self.max_per_peer {
            let removed = self.remove_oldest(|s| own(s) && !s.proven)
                || self.remove_oldest(|s| own(s) && is_idle(s))
                || self.remove_oldest(|s| own(s) && (!forgeable || silence(s) >= idle / 2));
            if !removed {
                return None;
            }
        } else if self.table.len() >= self.max
            && !self.remove_oldest(|s| !s.proven)
            && !self.remove_oldest(is_idle)
        {
            return None;
        }
        self.table.push(Session {
            number,
            peer,
            nonce,
            last: 0,
            heard: now,
            reply: LineBuf::new(),
            challenge: None,
            proven: false,
        });
        self.table.last_mut()
    }

    fn remove_oldest(&mut self, which: impl Fn(&Session) -> bool) -> bool {
        let oldest = self
            .table
            .iter()
            .enumerate()
            .filter(|(_, s)| which(s))
            .min_by_key(|(_, s)| s.heard);
        let at = oldest.map(|(at, _)| at);
        at.map(|at| self.table.swap_remove(at)).is_some()
    }

    /// Session numbers are hard to guess: a client that knows one has received a reply at its address.
    pub(crate) fn fresh_number(&mut self) -> u32 {
        loop {
            let number = self.random.next();
            if number != 0 && self.table.iter().all(|s| s.number != number) {
                return number;
            }
        }
    }
}

impl Random {
    fn next(&mut self) -> u32 {
        match self {
            Random::System => crate::token::random_u32(),
            // SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
            Random::Seed(state) => {
                *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                let mut x = *state;
                x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                ((x ^ (x >> 31)) >> 32) as u32
            }
        }
    }
}
