//! The end of a TCP stream that our end sends: when it was, and what of it the peer took.

use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use super::run::Run;
use super::stream::{DRAIN, RETRANSMISSION};
use crate::v2::progress::Progress;

/// A peer that took nothing for so long does not take the rest of an amount.
const GIVEN_UP: Duration = Duration::from_secs(5);
/// How often to look.
const LOOK: Duration = Duration::from_millis(1);

/// Follow what was written until the peer has it all, takes no more, or the test is over; when that was, in ns. What was under
/// way at the end of the test is followed for a moment more, since a receiver takes it too.
pub(super) fn settle(run: &Run, stream: &TcpStream, progress: &mut Progress) -> u64 {
    let mut stopped: Option<Instant> = None;
    loop {
        if run.stopped() {
            stopped.get_or_insert_with(Instant::now);
        }
        let now_ns = run.now_ns();
        progress.look(stream, now_ns);
        let patience = match stopped {
            Some(_) => RETRANSMISSION,
            None => GIVEN_UP,
        };
        if progress.unacked() == 0
            || u128::from(progress.stalls_for_ns()) > patience.as_nanos()
            || stopped.is_some_and(|since| since.elapsed() > DRAIN)
            // A reset stream takes nothing more.
            || stream.take_error().is_ok_and(|error| error.is_some())
        {
            return now_ns;
        }
        thread::sleep(LOOK);
    }
}
