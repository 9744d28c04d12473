//! The frames that the tracer takes: every framing of the flow, none that only looks like it, and unreadable ones are
//! counted.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use crate::rig::{
    Dice, HEADER, PORT, RawSocket, accounted, built, datagram, info, lab, lab_of, mutated, node,
    options, send_spliced, sequences, socket, specs, until,
};
use wirelab_port::lab::{LabSpec, Side};
use wirelab_stages::{FlowFilter, Point, Tracer, TracerOptions, Xdp};
use wirelab_wire::{FrameSpec, Header, Transport};

/// The flow's ports in the frames of `specs`.
const PORTS: [u16; 2] = [1026, 5003];

fn is_ours(spec: &FrameSpec) -> bool {
    match spec.transport {
        Transport::Ethernet => true,
        Transport::UdpIpv4 { ports, .. } | Transport::UdpIpv6 { ports, .. } => {
            PORTS.contains(&ports[1])
        }
    }
}

/// Frames that differ from the flow's in one property.
fn lookalikes(spec: &FrameSpec, header: &Header) -> Vec<Vec<u8>> {
    let stream = Header {
        stream: 9,
        ..*header
    };
    let at = spec.header_offset();
    let changed = |at: usize, bits: u8| {
        let mut frame = built(spec, header);
        frame[at] ^= bits;
        frame
    };
    let mut all = vec![
        built(spec, &stream),
        changed(at, 1),
        changed(at + 7, 1),
        changed(at + 16, 0x80),
    ];
    if spec.transport != Transport::Ethernet && spec.framing().vlan_tags == 0 {
        // Another port.
        all.push(changed(at - 6, 0x10));
    }
    if matches!(spec.transport, Transport::UdpIpv4 { .. }) {
        // TCP instead of UDP; a fragment.
        all.push(changed(at - 8 - 20 + 9, 17 ^ 6));
        all.push(changed(at - 8 - 20 + 6, 0x20));
    }
    all
}

#[test]
fn every_framing_of_the_flow_is_taken_and_nothing_that_looks_like_it() {
    let Some(lab) = lab() else { return };
    let tester = RawSocket::open(&lab.port(0, Side::Tester).unwrap(), 0x88B6);
    let tracer = Tracer::attach(&TracerOptions {
        filter: FlowFilter {
            udp_ports: PORTS.to_vec(),
            ethernet: true,
            stream_in: Some(0),
            ..FlowFilter::default()
        },
        ..options(&node(&lab))
    })
    .unwrap();
    let mut ours = BTreeSet::new();
    for (number, spec) in (0u32..).zip(specs()) {
        let header = Header {
            sequence: number,
            ..HEADER
        };
        for frame in lookalikes(&spec, &header) {
            tester.send(&frame).unwrap();
        }
        tester.send(&built(&spec, &header)).unwrap();
        if is_ours(&spec) {
            ours.insert(number);
        }
    }
    assert!(ours.len() >= 9 && ours.len() < specs().len());
    until("all frames of the flow", || {
        info(&tracer, Point::InStack).counts.taken >= ours.len() as u64
    });
    for point in ["driver", "stack"] {
        let taken = sequences(&tracer, point, 0);
        assert_eq!(taken.len(), ours.len(), "{point}: {taken:?}");
        assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), ours, "{point}");
    }
    assert!(tracer.times().iter().all(|t| t.stream == 0));
    // Without a listener, each was dropped or went to no socket.
    until("a count for each of them", || {
        accounted(&tracer, Point::InSocket) == ours.len() as u64
    });
    assert_eq!(info(&tracer, Point::InSocket).counts.taken, 0);
    let [driver, stack] = [Point::InDriver, Point::InStack].map(|point| info(&tracer, point));
    assert_eq!((stack.counts.unreadable, stack.counts.unseen), (0, 0));
    // Both count a damaged header, and attribute it to no flow.
    assert!(driver.counts.corrupt > 0);
    assert_eq!(driver.counts.corrupt, stack.counts.corrupt);
}

/// Two parsers read the headers of a frame: that of the XDP program, and that of the tracing programs. Their results
/// for intact and damaged frames of every framing must be the same.
#[test]
fn the_driver_and_the_stack_say_the_same_of_every_frame() {
    const ROUNDS: u32 = 200;
    let Some(lab) = lab() else { return };
    let tester = RawSocket::open(&lab.port(0, Side::Tester).unwrap(), 0x88B6);
    let attach = |xdp| {
        Tracer::attach(&TracerOptions {
            filter: FlowFilter {
                udp_ports: PORTS.to_vec(),
                ethernet: true,
                ..FlowFilter::default()
            },
            xdp,
            ..options(&node(&lab))
        })
        .unwrap()
    };
    // One beside the driver's program, and one alone.
    let (both, alone) = (attach(Xdp::Auto), attach(Xdp::Off));
    let mut dice = Dice(0x5EED);
    let (mut sequence, mut sent) = (0, 0);
    for _ in 0..ROUNDS {
        for spec in specs() {
            let header = Header { sequence, ..HEADER };
            let frame = mutated(&built(&spec, &header), &mut dice);
            sequence += 1;
            // The lab's own limit: a longer frame is refused at its sender.
            sent += u64::from(tester.send(&frame).is_ok());
        }
    }
    let last = Header { sequence, ..HEADER };
    tester.send(&built(&specs()[0], &last)).unwrap();
    until("the last frame", || {
        sequences(&alone, "stack", 0).last() == Some(&sequence)
    });
    let times = |tracer: &Tracer, point: &str| {
        let mut all: Vec<(u8, u32)> = Vec::new();
        for t in tracer.times().iter().filter(|t| t.name == point) {
            all.extend(t.times.iter().map(|(sequence, _)| (t.stream, *sequence)));
        }
        all.sort_unstable();
        all
    };
    let driver = times(&both, "driver");
    println!("{sent} frames sent, {} are the flow's", driver.len());
    assert!(driver.len() as u64 > sent / 10 && (driver.len() as u64) < sent);
    assert_eq!(times(&both, "stack"), driver);
    assert_eq!(times(&alone, "stack"), driver);
    let of = |tracer, point| info(tracer, point);
    let corrupt = of(&both, Point::InDriver).counts.corrupt;
    assert!(corrupt > 0);
    for tracer in [&both, &alone] {
        let stack = of(tracer, Point::InStack);
        assert_eq!(
            (stack.counts.corrupt, stack.counts.unreadable),
            (corrupt, 0),
            "{stack:?}"
        );
    }
}

#[test]
fn frames_of_a_packet_socket_have_every_time() {
    const FRAMES: u32 = 50;
    let Some(lab) = lab() else { return };
    let here = node(&lab);
    let application = RawSocket::open(&here, 0x88B5);
    let tester = RawSocket::open(&lab.port(0, Side::Tester).unwrap(), 0x88B6);
    let tracer = Tracer::attach(&TracerOptions {
        filter: FlowFilter {
            ethernet: true,
            stream_in: Some(0),
            stream_out: Some(1),
            ..FlowFilter::default()
        },
        ..options(&here)
    })
    .unwrap();
    let plain = FrameSpec {
        destination: lab.mac(0, Side::Node).0,
        ..specs()[0]
    };
    for sequence in 0..FRAMES {
        let header = Header { sequence, ..HEADER };
        tester.send(&built(&plain, &header)).unwrap();
        let (frame, _) = application.receive(Duration::from_secs(20)).unwrap();
        assert_eq!(frame, built(&plain, &header), "untouched");
        let answer = Header {
            stream: 1,
            ..header
        };
        application.send(&built(&plain, &answer)).unwrap();
    }
    let all: Vec<u32> = (0..FRAMES).collect();
    for point in ["driver", "stack", "copy", "call"] {
        assert_eq!(sequences(&tracer, point, 0), all, "{point}");
    }
    for point in ["call", "queue", "driver"] {
        assert_eq!(sequences(&tracer, point, 1), all, "{point}");
    }
    until("the end of the last poll", || {
        accounted(&tracer, Point::InSocket) == u64::from(FRAMES)
    });
}

/// Data in a separate page after the headers: sent, and received if no driver program linearises them.
#[test]
fn frames_in_several_pieces_are_counted_as_unreadable() {
    const FRAMES: u32 = 10;
    let spec = LabSpec {
        offloads: true,
        ..LabSpec::unique("wlp", 1)
    };
    let Some(lab) = lab_of(&spec) else { return };
    let (here, tester) = (
        socket(&lab, Side::Node, PORT),
        socket(&lab, Side::Tester, 4000),
    );
    let tracer = Tracer::attach(&TracerOptions {
        xdp: Xdp::Off,
        ..options(&node(&lab))
    })
    .unwrap();
    here.connect(SocketAddr::from((lab.address(0, Side::Tester), 4000)))
        .unwrap();
    tester
        .connect(SocketAddr::from((lab.address(0, Side::Node), PORT)))
        .unwrap();
    let (from, to) = nix::unistd::pipe().unwrap();
    let mut pipe = (from.into(), to.into());
    let mut room = [0; 256];
    for sequence in 0..FRAMES {
        send_spliced(&mut pipe, &here, &datagram(1, sequence, 64));
        tester.recv(&mut room).unwrap();
        send_spliced(&mut pipe, &tester, &datagram(0, sequence, 64));
        here.recv(&mut room).unwrap();
    }
    let pieces = [Point::OutQueue, Point::OutDriver, Point::InStack];
    for point in pieces {
        let info = info(&tracer, point);
        assert_eq!(
            info.counts.taken + info.counts.unreadable,
            u64::from(FRAMES),
            "{info:?}"
        );
        println!("{info:?}");
    }
    let unreadable = info(&tracer, Point::OutQueue).counts.unreadable;
    if splices() {
        assert_eq!(unreadable, u64::from(FRAMES));
    }
    let told = tracer.notes().join("; ");
    assert_eq!(
        told.contains("with headers in several pieces"),
        unreadable > 0
    );
}

/// Whether this kernel keeps spliced UDP data in their page: Linux 6.5 and newer do.
fn splices() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map(|n| n.parse::<u32>());
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (6, 5),
        _ => false,
    }
}
