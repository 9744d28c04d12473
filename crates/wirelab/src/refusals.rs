//! Prints what a server refuses without flooding the terminal: forged datagrams may arrive a thousand times a second.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::terminal::complain;

/// How long a refusal is not repeated, and how many are printed in that time.
const AGAIN: Duration = Duration::from_secs(60);
const MOST: usize = 16;

/// Recent refusals.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<Vec<(IpAddr, String, Instant)>>);

impl Refusals {
    /// Prints in one line that a peer is refused `why`, unless it was printed recently.
    pub fn tell(&self, peer: IpAddr, why: &str) {
        if self.is_new(peer, why, Instant::now()) {
            complain(format_args!("{peer} was refused {why}"));
        }
    }

    fn is_new(&self, peer: IpAddr, why: &str, now: Instant) -> bool {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recent.retain(|(_, _, at)| now.duration_since(*at) < AGAIN);
        let known = |(of, what, _): &(IpAddr, String, _)| *of == peer && what == why;
        let new = recent.len() < MOST && !recent.iter().any(known);
        if new {
            recent.push((peer, why.to_owned(), now));
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_a_few_lines() {
        let refusals = Refusals::default();
        let now = Instant::now();
        let recent = (0..1000u32)
            .filter(|n| refusals.is_new(IpAddr::from((n % 100).to_be_bytes()), "why", now))
            .count();
        assert_eq!(recent, MOST);
        let one = IpAddr::from([1, 2, 3, 4]);
        let later = now + AGAIN;
        assert!(refusals.is_new(one, "why", later) && !refusals.is_new(one, "why", later));
        assert!(refusals.is_new(one, "another reason", later));
    }
}
