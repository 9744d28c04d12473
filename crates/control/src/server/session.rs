//! Sessions: who asked what last, and the answer it got. A table of fixed size.

use std::time::Duration;

use super::Peer;
use crate::line::LineBuf;

/// One client's session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) number: u32,
    pub(crate) peer: Peer,
    nonce: u32,
    /// Number of the last request done; 0 after the hello that opened the session.
    pub(crate) last: u32,
    heard: Duration,
    /// Reply to the last request.
    pub(crate) reply: LineBuf,
}

/// All sessions of a node.
#[derive(Debug)]
pub(crate) struct Sessions {
    table: Vec<Session>,
    max: usize,
    max_per_peer: usize,
    random: u64,
}

impl Sessions {
    pub(crate) fn new(max: usize, max_per_peer: usize, seed: u64) -> Sessions {
        Sessions {
            table: Vec::with_capacity(max),
            max,
            max_per_peer,
            random: seed,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// The session that this hello opened before, if the client has not used it yet.
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

    /// Make room and open a session. `None` where every place is taken by a client that was heard lately.
    ///
    /// A peer at its limit gives up its own oldest session; else the oldest that was never used after its hello
    /// (a flood of hellos from invented addresses wears out only such), else the oldest idle one.
    pub(crate) fn open(
        &mut self,
        peer: Peer,
        nonce: u32,
        now: Duration,
        idle: Duration,
    ) -> Option<&mut Session> {
        let own = |s: &Session| s.peer == peer;
        if self.table.iter().filter(|s| own(s)).count() >= self.max_per_peer {
            self.remove_oldest(own);
        } else if self.table.len() >= self.max
            && !self.remove_oldest(|s| s.last == 0)
            && !self.remove_oldest(|s| now.saturating_sub(s.heard) >= idle)
        {
            return None;
        }
        let number = self.fresh_number();
        self.table.push(Session {
            number,
            peer,
            nonce,
            last: 0,
            heard: now,
            reply: LineBuf::new(),
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

    /// Session numbers are hard to guess: whoever knows one has received a reply at the address he claims.
    fn fresh_number(&mut self) -> u32 {
        loop {
            // SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
            self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut x = self.random;
            x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            let number = ((x ^ (x >> 31)) >> 32) as u32;
            if number != 0 && self.table.iter().all(|s| s.number != number) {
                return number;
            }
        }
    }
}
