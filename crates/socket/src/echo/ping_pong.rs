//! One frame at a time: the next is sent when the echo of the last has arrived. It is for comparison with other
//! tools. A stalled node gets only one frame, so its stall shows in one sample, however long it was.

use std::io;
use std::net::UdpSocket;

use wirelab_trial::host_clock::{now_ns, wait_until};
use wirelab_trial::job::{CheckReport, Judge, Pace, SendReport};
use wirelab_trial::{Cancel, Clock, FixedSeries, Series, SeriesBuilder};
use wirelab_wire::check::classify_data;
use wirelab_wire::{Layer, Verdict};

use super::Wait;
use super::reflect::{LOOKS, ready};
use crate::flow::{MOST_BYTES, Offer, checked};
use crate::frames::{Frames, Progressing};
use crate::udp::{is_full, is_not_yet};

/// How long to wait for an echo, in ns.
const PATIENCE_NS: u64 = 200_000_000;

/// Whether the wait for the echo of a frame that was sent then is over.
fn given_up(sent_ns: u64, cancel: &Cancel) -> bool {
    cancel.is_cancelled() || now_ns().saturating_sub(sent_ns) > PATIENCE_NS
}

/// The result of a ping-pong.
#[derive(Debug)]
pub struct PingPong {
    /// Frames sent.
    pub sent: SendReport,
    /// Counts of the replies.
    pub received: CheckReport,
    /// From before the sending of each frame to after the receiving of its echo, in ns, by the application's clock.
    pub round_trip: Series,
}

/// Send a test frame on a connected socket, wait for its echo, and repeat; with a pace, not before the next is due.
/// The wait for an echo ends after 200 ms.
///
/// # Errors
/// An invalid size of a test frame, or the socket's error.
pub fn ping_pong(
    socket: &UdpSocket,
    offer: &Offer,
    wait: Wait,
    cancel: &Cancel,
) -> io::Result<PingPong> {
    let bytes = checked(offer.datagram_bytes)?;
    let header_bytes = match socket.local_addr()?.is_ipv6() {
        true => Layer::UdpIpv6.header_bytes(),
        false => Layer::UdpIpv4.header_bytes(),
    };
    ready(socket, wait)?;
    let frames = Frames::new(offer, bytes);
    let mut out = vec![0; bytes];
    let mut back = vec![0; MOST_BYTES as usize + 1];
    let mut judge = Judge::new(None, 1);
    let mut round_trip = SeriesBuilder::new(FixedSeries::FROM_SENDING, Clock::TESTER_NS, 0);
    let mut run = Progressing::new(offer, now_ns());
    while run.left() > 0 && !run.is_over(now_ns()) && !cancel.is_cancelled() {
        let sequence = run.sequences as u32;
        frames.write_content(&mut out, sequence);
        if offer.pace != Pace::Max {
            let Some(due) = run.due_ns() else { break };
            run.start(wait_until(due, cancel));
        }
        let sent_ns = now_ns();
        frames.write_header(&mut out, sequence, sent_ns);
        run.frame(sent_ns);
        match socket.send(&out) {
            Ok(_) => {}
            Err(error) if is_full(&error) => {
                run.report.refused_frames += 1;
                continue;
            }
            Err(error) => return Err(error),
        }
        let mut looks = 0u32;
        loop {
            match socket.recv(&mut back) {
                Ok(len) => {
                    let now = now_ns();
                    let verdict = classify_data(&back[..len], Some(offer.stream), true);
                    judge.take(verdict, len as u64 + u64::from(header_bytes), Some(now));
                    // An echo of an earlier frame whose wait is over is not this frame's.
                    if matches!(verdict, Verdict::Good(header) if header.sequence == sequence) {
                        round_trip.push(now - sent_ns);
                        break;
                    }
                }
                Err(error) if is_not_yet(&error) => {
                    looks = looks.wrapping_add(1);
                    let look = wait == Wait::Sleep || looks % LOOKS == 0;
                    if look && given_up(sent_ns, cancel) {
                        break;
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
    let sent = run.finish(now_ns());
    let received = judge.finish_apart().with_sent(sent.sequences);
    Ok(PingPong {
        sent,
        received,
        round_trip: round_trip.finish(),
    })
}
