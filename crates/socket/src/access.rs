//! Who may use a server, and to whom it may send datagrams. Over UDP an address proves nothing: one forged datagram
//! could make a server flood the host of that address (RFC 8085, 3.1.5 and 6).

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::prefix::{Prefix, links};

/// How long a proof is valid. A test of a minute may begin late in this time, and request traffic in reverse at its end.
pub const PROOF: Duration = Duration::from_secs(180);
/// Addresses whose proof is kept; a further one replaces the oldest of the weakest proof.
const MOST: usize = 64;

/// What a peer has proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    /// The peer receives what is sent to its address, by a TCP handshake or by returning a number that was sent there.
    Receives,
    /// The peer also has this server's token.
    Token,
}

/// The rules that the user gives a server.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Who may use the server; empty means all hosts.
    pub allow: Vec<Prefix>,
    /// Who gets datagrams without a proof, besides those of `allow`.
    pub reverse: Vec<Prefix>,
    /// Whether hosts on a link of this host get datagrams without a proof.
    pub trust_link: bool,
    /// Whether only clients with the server's token may use it.
    pub token: bool,
}

/// The rules of a server, and its peers' recent proofs. All listeners of one address share it.
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

    /// The rules of `iperf -s`: all hosts may use it, and hosts on the link and in `reverse` get datagrams back.
    pub fn on_link(reverse: Vec<Prefix>) -> Access {
        Access::new(Rules {
            reverse,
            trust_link: true,
            ..Rules::default()
        })
    }

    /// Whether a host may use this server.
    pub fn admits(&self, peer: IpAddr) -> bool {
        let allow = &self.rules.allow;
        allow.is_empty() || any(allow, peer.to_canonical())
    }

    /// Whether a host may run tests if the test protocol itself has no token.
    pub fn may_test(&self, peer: IpAddr) -> bool {
        let token = || self.shown(peer) == Some(Proof::Token);
        self.admits(peer) && (!self.rules.token || token())
    }

    /// Whether a peer may get any number of datagrams that it did not request over TCP. An address of many hosts
    /// never may.
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

    /// Record a peer's proof. A proof that gives no right on this server is not kept, so that it does not displace others.
    pub fn note(&self, peer: IpAddr, proof: Proof) {
        if !self.admits(peer) || (self.rules.token && proof < Proof::Token) {
            return;
        }
        let (peer, now) = (peer.to_canonical(), Instant::now());
        let mut proofs = self.lock();
        proofs.retain(|(_, _, at)| now.duration_since(*at) < PROOF);
        // A lesser proof neither replaces a better one nor extends it.
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

    /// The best recent proof of a peer.
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
