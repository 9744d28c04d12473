//! The node's side: sends test frames back to where they came from.

use std::io;
use std::net::{IpAddr, UdpSocket};

use wirelab_trial::Cancel;
use wirelab_trial::host_clock::now_ns;
use wirelab_trial::job::Judge;
use wirelab_wire::check::classify_data;
use wirelab_wire::{Header, Layer};

use super::Wait;
use crate::flow::{Live, MOST_BYTES, Seen};
use crate::udp::{PATIENCE, is_full, is_not_yet};

/// Empty looks at the socket before the flag that ends all is looked at.
const LOOKS: u32 = 256;

/// Send back what is a test frame, unchanged, until `cancel` is set; with `from`, only what comes from there. What
/// was received is judged after it has been sent back. Nothing is sent but what came, so that nobody can be made a
/// target of more than was sent.
///
/// # Errors
/// What the socket says before anything came. What ends a reflector that runs is in [`Seen::failure`].
pub fn reflect(
    socket: &UdpSocket,
    from: Option<IpAddr>,
    wait: Wait,
    live: &Live,
    cancel: &Cancel,
) -> io::Result<Seen> {
    let header_bytes = match socket.local_addr()?.is_ipv6() {
        true => Layer::UdpIpv6.header_bytes(),
        false => Layer::UdpIpv4.header_bytes(),
    };
    let from = from.map(|ip| ip.to_canonical());
    ready(socket, wait)?;
    let mut buf = vec![0; MOST_BYTES as usize + 1];
    let mut judge = Judge::new(None, 1);
    let (mut stream, mut bytes, mut refused) = (None, 0, 0u64);
    let (mut looks, mut sent_back_frames, mut failure) = (0, 0, None);
    loop {
        let (len, peer) = match socket.recv_from(&mut buf) {
            Ok(came) => came,
            Err(error) if is_not_yet(&error) => {
                looks += 1;
                if wait == Wait::Spin && looks % LOOKS != 0 {
                    std::hint::spin_loop();
                } else if cancel.is_cancelled() {
                    break;
                }
                continue;
            }
            // The peer has gone; another may come.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
            Err(error) => {
                failure = Some(error);
                break;
            }
        };
        let data = &buf[..len];
        let ours = from.is_some_and(|from| peer.ip().to_canonical() == from);
        if from.is_some() && !ours {
            judge.take(wirelab_wire::Verdict::Foreign, 0, None);
            continue;
        }
        if Header::parse(data).is_ok() {
            match socket.send_to(data, peer) {
                Ok(_) => sent_back_frames += 1,
                Err(error) if is_full(&error) => refused += 1,
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => refused += 1,
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        let now = now_ns();
        if stream.is_none() {
            stream = Header::parse(data).ok().map(|header| header.stream);
        }
        let verdict = classify_data(data, stream, ours);
        if judge.take(verdict, len as u64 + u64::from(header_bytes), Some(now)) {
            bytes += len as u64;
            live.tell(judge.received(), bytes, now);
        }
        if cancel.is_cancelled() {
            break;
        }
    }
    let mut report = judge.finish();
    // Sender and reflector need not share a clock, so that what looks like a latency is none.
    report.series.clear();
    report.notes.retain(|note| !note.contains("share a clock"));
    if refused > 0 {
        report
            .notes
            .push(format!("{refused} echoes could not be sent back"));
    }
    Ok(Seen {
        report,
        captures: Vec::new(),
        sent_back_frames,
        failure,
    })
}

/// Make calls wait, for a while, or not at all.
pub(super) fn ready(socket: &UdpSocket, wait: Wait) -> io::Result<()> {
    socket.set_nonblocking(wait == Wait::Spin)?;
    socket.set_read_timeout(Some(PATIENCE))
}
