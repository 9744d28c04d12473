//! The reflector of the link layer: frames of the peer go back with their addresses swapped, and no others.

use std::io;
use std::sync::atomic::Ordering;

use wirelab_socket::flow::Reception;
use wirelab_trial::host_clock::now_ns;
use wirelab_trial::job::Judge;
use wirelab_wire::header::{ETHERTYPE, Header};
use wirelab_wire::{Flow, Verdict, classify};

use super::EthernetTrial;
use super::link::{TestSocket, is_not_yet};
use crate::engine::{Work, WorkReport};
use crate::meter::stamp;

/// Where the test header begins: after the addresses and the EtherType.
const HEADER: usize = 14;
/// The longest frame that is reflected.
const LONGEST: usize = 9300;

/// The work of an echo trial.
pub fn work(trial: &EthernetTrial) -> io::Result<Work> {
    let link = TestSocket::open(&trial.interface)?;
    let (own, peer) = (trial.interface.mac.0, trial.peer.0);
    let flow = Flow {
        stream: trial.echo_stream,
        ..Flow::default()
    };
    Ok(Box::new(move |live, cancel| {
        let mut frame = vec![0; LONGEST];
        let mut received = Reception::default();
        let mut judge = Judge::new(None, 1);
        while !cancel.is_cancelled() {
            let len = match link.receive(&mut frame) {
                Ok(taken) => taken.len,
                Err(error) if is_not_yet(&error) => continue,
                Err(error) => {
                    received.failure = Some(error);
                    break;
                }
            };
            if !is_for_us(&frame[..len], own, peer) {
                judge.take(Verdict::Foreign, 0, None);
                continue;
            }
            frame[..6].copy_from_slice(&peer);
            frame[6..12].copy_from_slice(&own);
            // A frame for which the driver has no space is lost, as in any node.
            received.sent_back_frames += u64::from(link.send(&frame[..len]).is_ok());
            let verdict = classify(&frame[..len], &flow);
            if verdict == Verdict::Foreign {
                judge.take_of_another_run();
                continue;
            }
            let payload = (len - HEADER) as u64;
            judge.take(verdict, payload, Some(now_ns()));
            stamp(live);
            live.frames.fetch_add(1, Ordering::Relaxed);
            live.bytes.fetch_add(payload, Ordering::Relaxed);
        }
        received.report = judge.finish();
        Ok(WorkReport::echoed(received))
    }))
}

/// Whether it is a test frame from the peer to this node. Frames to a group address are not answered.
fn is_for_us(frame: &[u8], own: [u8; 6], peer: [u8; 6]) -> bool {
    frame.len() > HEADER
        && frame[..6] == own
        && frame[6..12] == peer
        && frame[12..HEADER] == ETHERTYPE.to_be_bytes()
        && Header::parse(&frame[HEADER..]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_wire::{Flags, FrameSpec, Size, SizeUnit, Transport};

    const OWN: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const PEER: [u8; 6] = [2, 0, 0, 0, 0, 2];

    fn frame(destination: [u8; 6], source: [u8; 6]) -> Vec<u8> {
        let spec = FrameSpec {
            destination,
            source,
            vlans: [None, None],
            transport: Transport::Ethernet,
            dscp: 0,
        };
        let sizes = Size::new(SizeUnit::Frame, 64)
            .resolve_test(spec.framing())
            .unwrap();
        let header = Header {
            flags: Flags::NONE,
            stream: 0,
            sequence: 1,
            time_ns: 0,
            lfsr_len: 0,
        };
        let mut out = vec![0; 60];
        spec.build(&sizes, &header, &mut out);
        out
    }

    #[test]
    fn only_test_frames_from_the_peer_to_this_node_come_back() {
        assert!(is_for_us(&frame(OWN, PEER), OWN, PEER));
        assert!(!is_for_us(&frame([0xff; 6], PEER), OWN, PEER));
        assert!(!is_for_us(&frame(OWN, OWN), OWN, PEER));
        for at in [12, 14, 16, 31] {
            let mut other = frame(OWN, PEER);
            other[at] ^= 0x10;
            assert!(!is_for_us(&other, OWN, PEER), "byte {at}");
        }
        assert!(!is_for_us(&frame(OWN, PEER)[..14], OWN, PEER));
        assert!(!is_for_us(&[], OWN, PEER));
    }
}
