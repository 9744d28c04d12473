//! Datagrams that the system gets in one buffer, over a lab: each arrives once, with its own number and every byte.

use std::net::UdpSocket;
use std::time::Duration;

use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_socket::{Batch, Receiver, lengthen_queue};

const DATAGRAMS: u32 = 10_000;
/// Datagrams that are sent before the receiver reads: far less than its queue holds.
const ROUND: usize = 200;

/// A lab with a socket on each side, the first connected to the second.
fn sockets(offloads: bool) -> Option<(EphemeralLab, UdpSocket, UdpSocket)> {
    if !wirelab_port::netns::may_test() {
        return None;
    }
    let spec = LabSpec {
        offloads,
        ..LabSpec::unique("segmented", 1)
    };
    let lab = EphemeralLab::up(&spec).unwrap();
    let [from, to] = [Side::Tester, Side::Node].map(|side| {
        let address = (lab.address(0, side), 0);
        let bind = || UdpSocket::bind(address).unwrap();
        lab.netns(side).unwrap().run_in(bind).unwrap()
    });
    from.connect(to.local_addr().unwrap()).unwrap();
    to.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    lengthen_queue(&to, 8 << 20);
    Some((lab, from, to))
}

/// The bytes of datagram `number`: its number, then bytes derived from number and offset.
fn write(number: u32, out: &mut [u8]) {
    for (at, byte) in out.iter_mut().enumerate() {
        *byte = (number as usize * 31 + at * 7) as u8;
    }
    out[..4].copy_from_slice(&number.to_be_bytes());
}

fn each_arrives_once(offloads: bool, joining: bool, bytes: usize) {
    let Some((lab, from, to)) = sockets(offloads) else {
        return;
    };
    let mut batch = Batch::new(bytes, ROUND, true);
    let mut receiver = match joining {
        true => Receiver::joining(&to, 16),
        false => Receiver::new(16, 2048),
    };
    let (mut next, mut expected) = (0, 0);
    let mut wanted = vec![0; bytes];
    while expected < DATAGRAMS {
        for at in 0..ROUND {
            write(next + at as u32, batch.slot_mut(at));
        }
        let mut sent = 0;
        while sent < ROUND {
            sent += batch.send(&from, None, sent..ROUND).unwrap();
        }
        next += ROUND as u32;
        while expected < next {
            for datagram in receiver.receive(&to).unwrap() {
                write(expected, &mut wanted);
                assert_eq!(datagram.bytes, wanted, "datagram {expected}");
                expected += 1;
            }
        }
    }
    to.set_nonblocking(true).unwrap();
    assert!(receiver.receive(&to).is_err(), "nothing came twice");
    assert!(batch.segmented(), "offloads {offloads}, {bytes} bytes");
    lab.down().unwrap();
}

#[test]
fn datagrams_of_one_piece_that_are_never_cut() {
    each_arrives_once(true, true, 1470);
    each_arrives_once(true, true, 64);
}

#[test]
fn datagrams_of_one_piece_that_the_system_cuts() {
    // At the receiver, which does not take joined datagrams.
    each_arrives_once(true, false, 1470);
    // Before the link, which takes only single packets.
    each_arrives_once(false, true, 1470);
    each_arrives_once(false, false, 64);
}

#[test]
fn a_link_too_narrow_for_the_datagrams_gets_them_one_by_one() {
    let Some((lab, from, to)) = sockets(false) else {
        return;
    };
    let mut batch = Batch::new(4000, 3, true);
    for number in 0..3 {
        write(number, batch.slot_mut(number as usize));
    }
    let mut sent = 0;
    while sent < 3 {
        sent += batch.send(&from, None, sent..3).unwrap();
    }
    let mut receiver = Receiver::joining(&to, 4);
    let (mut wanted, mut expected) = (vec![0; 4000], 0);
    while expected < 3 {
        for datagram in receiver.receive(&to).unwrap() {
            write(expected, &mut wanted);
            assert_eq!(datagram.bytes, wanted);
            expected += 1;
        }
    }
    assert!(!batch.segmented());
    lab.down().unwrap();
}
