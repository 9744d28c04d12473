//! Attribution of frames: other sockets that also get the flow's frames, or share its port, do not count as the
//! application's.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::thread;
use std::time::Duration;

use crate::rig::{
    HEADER, PORT, RawSocket, accounted, built, datagram, info, lab, node, options, sequences,
    socket, specs, until,
};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, bind, setsockopt, socket as open, sockopt,
};
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_stages::{FlowFilter, Point, Tracer, TracerOptions};
use wirelab_wire::{FrameSpec, Header};

const LONG: Duration = Duration::from_secs(20);
const FRAMES: u32 = 50;

/// The same frames in another network namespace of this host, while the node's wait for their application.
#[test]
fn a_socket_of_another_namespace_is_not_the_applications() {
    let (Some(lab), Some(other)) = (lab(), lab()) else {
        return;
    };
    let tracer = Tracer::attach(&options(&node(&lab))).unwrap();
    let mut room = [0; 2048];
    let labs = [&lab, &other].map(|lab| {
        let (app, tester) = (
            socket(lab, Side::Node, PORT),
            socket(lab, Side::Tester, 4000),
        );
        for sequence in 0..FRAMES {
            let to = SocketAddr::from((lab.address(0, Side::Node), PORT));
            tester.send_to(&datagram(0, sequence, 64), to).unwrap();
        }
        app
    });
    until("the frames", || {
        info(&tracer, Point::InStack).counts.taken == u64::from(FRAMES)
    });
    let [here, there] = labs;
    for _ in 0..FRAMES {
        there.recv_from(&mut room).unwrap();
    }
    assert_eq!(sequences(&tracer, "call", 0), Vec::<u32>::new());
    for _ in 0..FRAMES {
        here.recv_from(&mut room).unwrap();
    }
    let all: Vec<u32> = (0..FRAMES).collect();
    assert_eq!(sequences(&tracer, "call", 0), all);
}

/// A tap that sees every frame first, and an application that reads the same frames from its own packet socket.
#[test]
fn a_packet_socket_beside_is_not_the_applications() {
    let Some(lab) = lab() else { return };
    let here = node(&lab);
    let tap = RawSocket::open(&here, 3);
    let other = RawSocket::open(&here, 0x88B5);
    let application = RawSocket::open(&here, 0x88B5);
    let tester = RawSocket::open(&lab.port(0, Side::Tester).unwrap(), 0x88B6);
    let tracer = Tracer::attach(&TracerOptions {
        filter: FlowFilter {
            ethernet: true,
            stream_in: Some(0),
            ..FlowFilter::default()
        },
        ..options(&here)
    })
    .unwrap();
    tracer.store().set_socket(application.as_fd()).unwrap();
    let plain = FrameSpec {
        destination: lab.mac(0, Side::Node).0,
        ..specs()[0]
    };
    for sequence in 0..FRAMES {
        let frame = built(&plain, &Header { sequence, ..HEADER });
        tester.send(&frame).unwrap();
        // Both others read the frame before the application does.
        for beside in [&tap, &other] {
            let came = |(came, _): (Vec<u8>, _)| came == frame;
            until("the frame beside", || {
                beside.receive(LONG).is_some_and(came)
            });
        }
        for point in ["copy", "call"] {
            let none = sequences(&tracer, point, 0);
            assert!(
                !none.contains(&sequence),
                "{point}: taken of another socket"
            );
        }
        assert_eq!(application.receive(LONG).unwrap().0, frame);
    }
    let all: Vec<u32> = (0..FRAMES).collect();
    for point in ["stack", "copy", "call"] {
        assert_eq!(sequences(&tracer, point, 0), all, "{point}");
    }
    until("the end of the last poll", || {
        accounted(&tracer, Point::InSocket) == u64::from(FRAMES)
    });
    let ready = info(&tracer, Point::InSocket);
    assert_eq!(
        (
            ready.counts.unseen,
            info(&tracer, Point::InStack).counts.unseen
        ),
        (0, 0)
    );
}

/// A UDP socket with a port that others may share (SO_REUSEPORT).
fn shared(lab: &EphemeralLab) -> UdpSocket {
    let make = || -> io::Result<UdpSocket> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let made = open(AddressFamily::Inet, SockType::Datagram, flags, None)?;
        setsockopt(&made, sockopt::ReusePort, &true)?;
        let address = std::net::SocketAddrV4::new(lab.address(0, Side::Node), PORT);
        bind(
            std::os::fd::AsRawFd::as_raw_fd(&made),
            &SockaddrIn::from(address),
        )?;
        Ok(UdpSocket::from(made))
    };
    lab.netns(Side::Node)
        .unwrap()
        .run_in(make)
        .unwrap()
        .unwrap()
}

#[test]
fn of_several_sockets_of_one_port_one_is_the_applications() {
    let Some(lab) = lab() else { return };
    let sockets = [shared(&lab), shared(&lab)];
    let tracer = Tracer::attach(&options(&node(&lab))).unwrap();
    tracer.store().set_socket(sockets[0].as_fd()).unwrap();
    let to = SocketAddr::from((lab.address(0, Side::Node), PORT));
    // The sender's port decides which of both gets a frame.
    for sequence in 0..FRAMES {
        let tester = socket(&lab, Side::Tester, 4000 + sequence as u16);
        tester.send_to(&datagram(0, sequence, 64), to).unwrap();
    }
    until("every frame", || {
        accounted(&tracer, Point::InSocket) == u64::from(FRAMES)
    });
    let mut read = [0u64; 2];
    for (socket, read) in sockets.iter().zip(&mut read).rev() {
        socket.set_nonblocking(true).unwrap();
        while socket.recv(&mut [0; 256]).is_ok() {
            *read += 1;
        }
    }
    assert_eq!(read.iter().sum::<u64>(), u64::from(FRAMES));
    assert!(read.iter().all(|frames| *frames > 0), "{read:?}");
    let ready = info(&tracer, Point::InSocket);
    if ready.function != "sched_waking" {
        assert_eq!(
            (ready.counts.taken, ready.counts.unmatched),
            (read[0], read[1])
        );
    }
    assert_eq!(info(&tracer, Point::InCall).counts.taken, read[0]);
}

/// Without a given socket the port decides; a TCP port of the same number is another.
#[test]
fn a_stream_of_the_same_port_is_not_the_flow() {
    let Some(lab) = lab() else { return };
    let app = socket(&lab, Side::Node, PORT);
    let tester = socket(&lab, Side::Tester, 4000);
    let to = SocketAddr::from((lab.address(0, Side::Node), PORT));
    let listen = || TcpListener::bind(to).unwrap();
    let listener = lab.netns(Side::Node).unwrap().run_in(listen).unwrap();
    let connect = || TcpStream::connect(to).unwrap();
    let stream = lab.netns(Side::Tester).unwrap().run_in(connect).unwrap();
    let (mut end, _) = listener.accept().unwrap();
    let tracer = Tracer::attach(&options(&node(&lab))).unwrap();
    let bytes = 64 * u64::from(FRAMES);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut whole = io::Read::take(&mut end, bytes);
            assert_eq!(io::copy(&mut whole, &mut io::sink()).unwrap(), bytes);
        });
        for sequence in 0..FRAMES {
            io::Write::write_all(&mut &stream, &[0x5A; 64]).unwrap();
            tester.send_to(&datagram(0, sequence, 64), to).unwrap();
            app.recv(&mut [0; 256]).unwrap();
        }
    });
    until("every frame", || {
        accounted(&tracer, Point::InSocket) == u64::from(FRAMES)
    });
    let all: Vec<u32> = (0..FRAMES).collect();
    assert_eq!(sequences(&tracer, "call", 0), all);
    for (before, after) in [("stack", "socket"), ("socket", "call")] {
        let of = |name: &str| {
            let times = tracer.times();
            let found = times.iter().find(|t| t.name == name && t.stream == 0);
            found.map_or_else(Vec::new, |t| t.times.clone())
        };
        let (before, after) = (of(before), of(after));
        for (sequence, ns) in after {
            let earlier = before.iter().find(|(s, _)| *s == sequence);
            assert!(earlier.is_none_or(|(_, was)| *was <= ns), "{sequence}");
        }
    }
}
