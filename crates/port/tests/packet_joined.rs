//! The portable path on a host that joins frames before the checker (GRO): missing frames are then not certainly
//! lost.

use std::net::UdpSocket;

use crate::common::lab;
use crate::rig::{DRAIN, Rig, job, sizes};
use nix::sys::socket::{setsockopt, sockopt};
use wirelab_port::job::SendJob;
use wirelab_port::lab::Side;
use wirelab_port::packet::{SendOptions, send};
use wirelab_trial::Cancel;
use wirelab_wire::{FrameSpec, Transport, header};

const FRAMES: u64 = 20_000;

#[test]
fn frames_that_the_host_joined_are_not_lost_for_certain() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    lab.set_threaded_napi(0, Side::Tester, true).unwrap();
    // The kernel joins datagrams for a socket that requests it.
    let namespace = rig.tester.netns().unwrap();
    let socket = namespace.run_in(|| UdpSocket::bind(("0.0.0.0", header::UDP_PORT)));
    let socket = socket.unwrap().unwrap();
    setsockopt(&socket, sockopt::UdpGroSegment, &true).unwrap();
    let ports = [header::UDP_PORT; 2];
    let addresses = [[198, 18, 0, 1].into(), [198, 18, 0, 2].into()];
    let spec = FrameSpec {
        transport: Transport::UdpIpv4 { addresses, ports },
        ..rig.spec
    };
    for frame in [72, 256, 1518] {
        let checker = rig.start();
        let job = SendJob {
            sizes: sizes(&spec, frame),
            ..job(spec, 72, FRAMES)
        };
        let sent = send(&rig.node, &job, &SendOptions::default(), &Cancel::new()).unwrap();
        let seen = checker.finish(DRAIN).unwrap();
        let arrived = seen.counts.distinct_sequences;
        let seen = seen.with_sent(sent.sequences_left(arrived));
        let c = seen.counts;
        assert!(arrived < FRAMES * 9 / 10, "{frame}: it joined: {seen:?}");
        assert_eq!(c.lost_frames, 0, "{frame}: {seen:?}");
        assert!(c.lost_or_missed_frames > 0, "{frame}: {seen:?}");
        let told = seen.notes.iter().any(|note| note.contains("gro off"));
        assert!(told, "{frame}: {:?}", seen.notes);
    }
}
