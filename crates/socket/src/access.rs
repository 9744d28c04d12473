//! Who may use a server, and to whom it may send datagrams. Over UDP an address proves nothing: one forged datagram would
//! make a server flood whoever has that address (RFC 8085, 3.1.5 and 6).

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::prefix::{Prefix, links};

/// How long an address counts as proven after it was shown to receive what is sent to it: a test of a minute may begin late
/// in it and ask for traffic back at its end.
pub const PROOF: Duration = Duration::from_secs(180);
/// Addresses whose proof is kept; one more takes the place of the oldest.
const MOST: usize = 64;

/// What a peer has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    /// It receives what is sent to its address: a TCP handshake, or a number that only the receiver knows.
    Receives,
    /// It also has the token of this server.
    Token,
}

/// What the user of a server allows.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Who may use the server; everybody where it is empty.
    pub allow: Vec<Prefix>,
    /// Who gets datagrams back without a proof, beside those of `allow`.
    pub reverse: Vec<Prefix>,
    /// Whether hosts on a link of this host get datagrams back without a proof.
    pub trust_link: bool,
    /// Whether only clients with the server's token may use it.
    pub token: bool,
}

/// The rules of a server, and what its peers have shown lately. Shared by all that listens at one address.
#[derive(Debug, Default)]
pub struct Access {
    rules: Rules,
    proofs: Mutex<Vec<(IpAddr, Proof, Instant)>>,
}

impl Access {
    /// With these rules, and no proof yet.
    pub fn new(rules: Rules) -> Access {
        Access {
            rules,
            proofs: Mutex::default(),
        }
    }

    /// As `iperf -s` serves: everybody, and datagrams go back to hosts on the link and to `reverse`.
    pub fn on_link(reverse: Vec<Prefix>) -> Access {
        Access::new(Rules {
            reverse,
            trust_link: true,
            ..Rules::default()
        })
    }

    /// Whether a host may talk to this server at all.
    pub fn admits(&self, peer: IpAddr) -> bool {
        let allow = &self.rules.allow;
        allow.is_empty() || any(allow, peer.to_canonical())
    }

    /// Whether a host may run tests where the test protocol itself asks for no token.
    pub fn may_test(&self, peer: IpAddr) -> bool {
        let token = || self.shown(peer) == Some(Proof::Token);
        self.admits(peer) && (!self.rules.token || token())
    }

    /// Whether datagrams that nobody asked for by TCP may be sent to a peer in any number. Never to an address of many
    /// hosts.
    pub fn may_send(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        let nobody = peer.is_multicast() || peer.is_unspecified() || peer == Ipv4Addr::BROADCAST;
        if nobody || !self.may_test(peer) {
            return false;
        }
        let links = links();
        let all = |link: &Prefix| link.has(peer) && link.is_of_all(peer);
        if links.iter().any(all) {
            return false;
        }
        let rules = &self.rules;
        any(&rules.allow, peer)
            || any(&rules.reverse, peer)
            || (rules.trust_link && any(&links, peer))
            || self.shown(peer).is_some()
    }

    /// A peer has shown something. What is of no use to it here is not kept: it must not push others' proofs out.
    pub fn note(&self, peer: IpAddr, proof: Proof) {
        if !self.admits(peer) || (self.rules.token && proof < Proof::Token) {
            return;
        }
        let (peer, now) = (peer.to_canonical(), Instant::now());
        let mut proofs = self.lock();
        proofs.retain(|(_, _, at)| now.duration_since(*at) < PROOF);
        // A lesser proof neither takes a better one away nor makes it last longer.
        proofs.retain(|(of, shown, _)| *of != peer || *shown > proof);
        if proofs.len() >= MOST {
            let (lesser, _) = proofs
                .iter()
                .enumerate()
                .min_by_key(|(at, of)| (of.1, *at))
                .unzip();
            proofs.remove(lesser.unwrap_or(0));
        }
        proofs.push((peer, proof, now));
    }

    /// The best that a peer has shown lately.
    fn shown(&self, peer: IpAddr) -> Option<Proof> {
        let (peer, now) = (peer.to_canonical(), Instant::now());
        let proofs = self.lock();
        let of_peer = proofs
            .iter()
            .filter(|(of, _, at)| *of == peer && now.duration_since(*at) < PROOF);
        of_peer.map(|(_, proof, _)| *proof).max()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(IpAddr, Proof, Instant)>> {
        self.proofs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn any(prefixes: &[Prefix], peer: IpAddr) -> bool {
    prefixes.iter().any(|prefix| prefix.has(peer))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRANGER: &str = "203.0.113.9";

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn prefixes(all: &[&str]) -> Vec<Prefix> {
        all.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn who_is_not_on_a_link_is_not_sent_to() {
        let access = Access::on_link(Vec::new());
        assert!(access.may_send(ip("127.0.0.1")), "this host itself");
        assert!(access.may_send(ip("::ffff:127.0.0.1")));
        assert!(!access.may_send(ip(STRANGER)));
        assert!(Access::on_link(prefixes(&["203.0.113.0/24"])).may_send(ip(STRANGER)));
        let all = Access::on_link(prefixes(&["0.0.0.0/0", "::/0"]));
        for nobody in [
            "255.255.255.255",
            "224.0.0.1",
            "0.0.0.0",
            "ff02::1",
            "127.255.255.255",
        ] {
            all.note(ip(nobody), Proof::Token);
            assert!(!all.may_send(ip(nobody)), "{nobody}");
        }
    }

    #[test]
    fn without_trust_in_the_link_a_proof_is_needed_there_too() {
        let access = Access::new(Rules::default());
        assert!(access.may_test(ip("127.0.0.1")) && !access.may_send(ip("127.0.0.1")));
        access.note(ip("127.0.0.1"), Proof::Receives);
        assert!(access.may_send(ip("127.0.0.1")) && !access.may_send(ip("127.0.0.2")));
    }

    #[test]
    fn only_who_is_allowed_is_admitted_and_needs_no_proof() {
        let access = Access::new(Rules {
            allow: prefixes(&["192.0.2.0/24"]),
            ..Rules::default()
        });
        assert!(access.admits(ip("192.0.2.1")) && access.may_send(ip("192.0.2.1")));
        access.note(ip(STRANGER), Proof::Token);
        assert!(!access.admits(ip(STRANGER)) && !access.may_send(ip(STRANGER)));
    }

    #[test]
    fn where_there_is_a_token_a_handshake_is_not_enough() {
        let access = Access::new(Rules {
            token: true,
            allow: prefixes(&["203.0.113.0/24"]),
            ..Rules::default()
        });
        access.note(ip(STRANGER), Proof::Receives);
        assert!(access.admits(ip(STRANGER)) && !access.may_test(ip(STRANGER)));
        assert!(!access.may_send(ip(STRANGER)));
        access.note(ip(STRANGER), Proof::Token);
        access.note(ip(STRANGER), Proof::Receives);
        assert!(access.may_test(ip(STRANGER)) && access.may_send(ip(STRANGER)));
    }

    #[test]
    fn a_flood_of_proofs_stays_in_its_bounds() {
        let access = Access::new(Rules::default());
        access.note(ip(STRANGER), Proof::Token);
        for n in 0..10_000u32 {
            access.note(IpAddr::V4(Ipv4Addr::from_bits(n + 1)), Proof::Receives);
        }
        assert!(access.lock().len() <= MOST);
        assert_eq!(
            access.shown(ip(STRANGER)),
            Some(Proof::Token),
            "the better ones stay"
        );
    }
}
