//! Datagrams sent one by one, each when it is due, with the application's own time of each.

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::Ordering;

use wirelab_trial::host_clock::{now_ns, wait_until};
use wirelab_trial::{Cancel, Wait};

use super::ApplicationTime;
use crate::flow::{FlowProgress, MOST_CAPTURES, Offer, Sent, checked};
use crate::frames::{Frames, Progressing};
use crate::udp::{PATIENCE, is_full};

/// Send a flow of test frames on a connected socket, one for each call, until its extent is reached or `cancel` is
/// set. It records the application's time of the first `captures`. A sleeping sender spins for the last 60 µs before
/// a frame is due; a spinning one always spins. Without a pace it sends as fast as calls return.
///
/// # Errors
/// An invalid size of a test frame, or the socket's error before the first frame. A later error is in
/// [`Sent::failure`].
pub fn send(
    socket: &UdpSocket,
    offer: &Offer,
    wait: Wait,
    captures: u32,
    live: &FlowProgress,
    cancel: &Cancel,
) -> io::Result<(Sent, Vec<ApplicationTime>)> {
    let bytes = checked(offer.datagram_bytes)?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let frames = Frames::new(offer, bytes);
    let wanted = captures.min(MOST_CAPTURES) as usize;
    let mut passed = Vec::with_capacity(wanted);
    let mut buf = vec![0; bytes];
    let mut failure = None;
    // Last, so that the schedule starts when everything is ready.
    let mut run = Progressing::new(offer, now_ns());
    while !cancel.is_cancelled() {
        let sequence = run.sequences as u32;
        frames.write_content(&mut buf, sequence);
        let Some(now) = turn(&run, wait, cancel) else {
            break;
        };
        run.start(now);
        frames.write_header(&mut buf, sequence, now);
        let application_ns = now_ns();
        match socket.send(&buf) {
            Ok(_) if passed.len() < wanted => passed.push(ApplicationTime {
                sequence,
                wire_ns: None,
                application_ns,
            }),
            Ok(_) => {}
            // It is not retried, because its time has passed.
            Err(error) if is_full(&error) => run.report.refused_frames += 1,
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
        run.frame(now);
        let sent = run.sequences - run.report.refused_frames;
        live.tell(sent, sent * bytes as u64, now);
    }
    let sent = Sent {
        report: run.finish(now_ns()),
        failure,
        ..Sent::default()
    };
    live.last_ns
        .fetch_max(sent.report.last_ns, Ordering::Relaxed);
    Ok((sent, passed))
}

/// Wait until the next frame is due; `None` if there is none, or the trial is over.
fn turn(run: &Progressing, wait: Wait, cancel: &Cancel) -> Option<u64> {
    let due = run.due_or_now(now_ns())?;
    let now = match wait {
        Wait::Sleep => wait_until(due, cancel),
        Wait::Spin => spin_until(due, cancel),
    };
    (now >= due).then_some(now)
}

/// Spin until CLOCK_MONOTONIC reaches `due_ns` or the run is cancelled; returns the time then.
pub fn spin_until(due_ns: u64, cancel: &Cancel) -> u64 {
    loop {
        let now = now_ns();
        if now >= due_ns || cancel.is_cancelled() {
            return now;
        }
        std::hint::spin_loop();
    }
}
