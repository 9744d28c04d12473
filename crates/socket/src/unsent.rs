//! Whether a TCP stream had something to send all along: then nothing waited for its sender, whatever kept that from running.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;

use wirelab_trial::HoldWatch;

use crate::sys;

/// How often to ask the system, in ns: a sender of small writes does not ask before each.
const EVERY_NS: u64 = 100_000;

/// Bytes that were written into a stream and that its peer has not acknowledged.
///
/// # Errors
/// What the system says.
pub fn unacked_bytes(stream: &TcpStream) -> io::Result<u64> {
    sys::unacked_bytes(stream.as_fd())
}

/// Follows how much of what was written has not been sent yet.
#[derive(Debug, Default)]
pub struct Unsent {
    asked_ns: u64,
    wrote_bytes: u64,
}

impl Unsent {
    /// The sender wrote so many bytes.
    pub fn wrote(&mut self, bytes: usize) {
        self.wrote_bytes += bytes as u64;
    }

    /// Tells `watch`, at `now_ns` of any steady clock and before a write, whether the stream had something to send since
    /// the last time.
    pub fn tell(&mut self, watch: &mut HoldWatch, stream: &TcpStream, now_ns: u64) {
        if now_ns.saturating_sub(self.asked_ns) < EVERY_NS {
            return;
        }
        let left = sys::unsent_bytes(stream.as_fd()).unwrap_or(0);
        watch.behind(self.never_ran_dry(left, now_ns));
    }

    /// With `left_bytes` unsent now. A sender that was held up inside a write may have filled the queue again behind it: then
    /// only a queue that holds more than was written since the last time did not run dry.
    fn never_ran_dry(&mut self, left_bytes: u64, now_ns: u64) -> bool {
        let lasted_ns = now_ns.saturating_sub(self.asked_ns);
        let was_held = lasted_ns >= HoldWatch::SENDER.as_nanos() as u64;
        let wrote = std::mem::take(&mut self.wrote_bytes);
        self.asked_ns = now_ns;
        left_bytes > if was_held { wrote } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    #[test]
    fn a_hold_behind_which_the_queue_was_filled_again_is_no_full_queue() {
        let mut unsent = Unsent::default();
        unsent.wrote(1000);
        assert!(!unsent.never_ran_dry(0, 200_000), "nothing is left");
        unsent.wrote(1000);
        assert!(unsent.never_ran_dry(1, 400_000));
        unsent.wrote(1000);
        assert!(!unsent.never_ran_dry(1000, 4_400_000), "held in a write");
        unsent.wrote(1000);
        assert!(unsent.never_ran_dry(1001, 8_400_000));
    }

    #[test]
    fn what_a_peer_does_not_read_is_unsent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _peer = listener.accept().unwrap();
        assert_eq!(sys::unsent_bytes(stream.as_fd()).unwrap(), 0);
        stream.set_nonblocking(true).unwrap();
        while (&stream).write(&[0; 65536]).is_ok() {}
        assert!(sys::unsent_bytes(stream.as_fd()).unwrap() > 0);
    }
}
