//! Follows what the other end of a TCP stream acknowledged, its longest stall, and its first words.

use std::net::TcpStream;
use std::os::fd::AsRawFd;

use nix::sys::socket::{MsgFlags, recv};
use wirelab_socket::unacked_bytes;

use super::bytes::be32;

/// Time between checks, in ns.
const EVERY_NS: u64 = 10_000_000;
/// Pauses of the other end shorter than this (in ns) are not reported.
const LEAST_STALL_NS: u64 = 500_000_000;

/// A pause in which the other end took nothing, although there was data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// Its start, in ns from the start of the flow.
    pub from_ns: u64,
    /// Its duration, in ns.
    pub lasted_ns: u64,
}

impl Stall {
    /// Text for the reader.
    pub fn note(&self) -> String {
        format!(
            "a stall: the peer took nothing for {:.1} s, from {:.1} s on; it is part of the time that counts here",
            self.lasted_ns as f64 / 1e9,
            self.from_ns as f64 / 1e9
        )
    }
}

/// The meaning of the other end's first words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstReply {
    /// The answer of an iperf 2 server to a header.
    Answer,
    /// The state of an iperf3 server that wants parameters, or that serves another client.
    Iperf3,
    /// Words that no iperf 2 server sends.
    Strange,
}

impl FirstReply {
    /// Interprets the first words.
    pub fn of(words: &[u8]) -> FirstReply {
        match (words, be32(words, 0)) {
            // CLIENTHDRACK of iperf 2; PARAM_EXCHANGE and ACCESS_DENIED of iperf3.
            (_, Some(2)) => FirstReply::Answer,
            ([9 | 0xFF], _) => FirstReply::Iperf3,
            _ => FirstReply::Strange,
        }
    }
}

/// Follows one stream.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    start_ns: u64,
    looked_ns: u64,
    written: u64,
    unacked: u64,
    acked: u64,
    /// The last time at which it made progress, or had everything.
    took_ns: u64,
    longest: Stall,
    said: Option<FirstReply>,
    ended: bool,
}

impl Progress {
    /// A stream that begins at `now_ns`.
    pub fn start(now_ns: u64) -> Progress {
        Progress {
            start_ns: now_ns,
            looked_ns: now_ns,
            written: 0,
            unacked: 0,
            acked: 0,
            took_ns: now_ns,
            longest: Stall::default(),
            said: None,
            ended: false,
        }
    }

    /// Records that this end closed the stream, which uses a sequence number (RFC 9293, FIN).
    pub fn ended(&mut self) {
        self.ended = true;
    }

    /// Records written bytes.
    pub fn wrote(&mut self, bytes: usize) {
        self.written += bytes as u64;
    }

    /// Checks the progress if a check is due.
    pub fn tick(&mut self, stream: &TcpStream, now_ns: u64) {
        if now_ns.saturating_sub(self.looked_ns) >= EVERY_NS {
            self.look(stream, now_ns);
        }
    }

    /// Checks what was acknowledged and received so far.
    pub fn look(&mut self, stream: &TcpStream, now_ns: u64) {
        let unacked = unacked_bytes(stream).unwrap_or(0);
        let unacked = unacked.saturating_sub(self.ended.into());
        self.take(unacked.min(self.written), now_ns);
        if self.said.is_none() {
            let mut words = [0; 4];
            let peek = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
            if let Ok(len @ 1..) = recv(stream.as_raw_fd(), &mut words, peek) {
                self.heard(&words[..len]);
            }
        }
    }

    /// Records words of the other end.
    pub fn heard(&mut self, words: &[u8]) {
        self.said.get_or_insert_with(|| FirstReply::of(words));
    }

    fn take(&mut self, unacked: u64, now_ns: u64) {
        self.looked_ns = now_ns;
        let acked = self.written - unacked;
        self.unacked = unacked;
        if acked > self.acked || unacked == 0 {
            (self.acked, self.took_ns) = (acked, now_ns);
            return;
        }
        let lasted_ns = now_ns.saturating_sub(self.took_ns);
        if lasted_ns > self.longest.lasted_ns {
            self.longest = Stall {
                from_ns: self.took_ns.saturating_sub(self.start_ns),
                lasted_ns,
            };
        }
    }

    /// For how long it has taken nothing although there is data, until the last check, in ns.
    pub const fn stalls_for_ns(&self) -> u64 {
        self.looked_ns.saturating_sub(self.took_ns)
    }

    /// Bytes not acknowledged at the last check.
    pub const fn unacked(&self) -> u64 {
        self.unacked
    }

    /// The longest pause, if it is long enough to report.
    pub fn stall(&self) -> Option<Stall> {
        (self.longest.lasted_ns >= LEAST_STALL_NS).then_some(self.longest)
    }

    /// The pause at the last check, if it is long enough to report and longer than the time before it: the other end
    /// does not read.
    pub fn unread(&self) -> Option<Stall> {
        let lasted_ns = self.stalls_for_ns();
        let from_ns = self.took_ns.saturating_sub(self.start_ns);
        let names = self.unacked > 0 && lasted_ns >= LEAST_STALL_NS && lasted_ns > from_ns;
        names.then_some(Stall { from_ns, lasted_ns })
    }

    /// The first words of the other end, if it sent any.
    pub const fn said(&self) -> Option<FirstReply> {
        self.said
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    const MS: u64 = 1_000_000;

    #[test]
    fn a_pause_with_nothing_to_take_is_no_stall() {
        let mut progress = Progress::start(0);
        progress.wrote(1000);
        progress.take(0, 10 * MS);
        progress.take(0, 5_000 * MS);
        assert_eq!((progress.stall(), progress.stalls_for_ns()), (None, 0));
        progress.wrote(1000);
        progress.take(1000, 5_100 * MS);
        progress.take(1000, 5_700 * MS);
        let stall = Stall {
            from_ns: 5_000 * MS,
            lasted_ns: 700 * MS,
        };
        assert_eq!(progress.stall(), Some(stall));
        progress.take(400, 5_800 * MS);
        assert_eq!((progress.unacked(), progress.stalls_for_ns()), (400, 0));
        assert_eq!(progress.stall(), Some(stall), "the longest is kept");
    }

    #[test]
    fn who_does_not_read_takes_nothing_for_most_of_the_time() {
        let mut progress = Progress::start(0);
        progress.wrote(1000);
        progress.take(400, 100 * MS);
        progress.take(400, 500 * MS);
        assert_eq!(progress.unread(), None, "too short to be named");
        progress.take(400, 700 * MS);
        let unread = Stall {
            from_ns: 100 * MS,
            lasted_ns: 600 * MS,
        };
        assert_eq!(progress.unread(), Some(unread));
        progress.take(300, 2_000 * MS);
        progress.take(300, 2_900 * MS);
        assert_eq!(
            progress.unread(),
            None,
            "it read for longer than it did not"
        );
        progress.take(0, 9_000 * MS);
        assert_eq!(progress.unread(), None);
    }

    #[test]
    fn first_words() {
        assert_eq!(FirstReply::of(&[9]), FirstReply::Iperf3);
        assert_eq!(FirstReply::of(&[0xFF]), FirstReply::Iperf3);
        assert_eq!(FirstReply::of(&[0, 0, 0, 2]), FirstReply::Answer);
        for strange in [&b"HTTP"[..], b"SSH-", &[9, 0], &[0xFF, 0xFD], &[0, 0, 0, 9]] {
            assert_eq!(FirstReply::of(strange), FirstReply::Strange, "{strange:?}");
        }
    }
}
