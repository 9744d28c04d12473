//! Peers that are silent, reset, do not read, talk garbage, die or start again: each trial is void, says what happened and
//! what to do, holds no figure, and is one that `--resume` asks again. The node is of use for the next trial.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use wirelab_iperf::v2::{Generation, Server, ServerConfig, ServerReport};
use wirelab_remote::IperfNode;
use wirelab_trial::{
    Cancel, Direction, Extent, Framing, Layer, Load, Node, Observation, Size, SizeUnit, Status,
    Trial, WarningCode,
};

const BOTH: [Layer; 2] = [Layer::TcpIpv4, Layer::UdpIpv4];

fn trial(layer: Layer, direction: Direction) -> Trial {
    let framing = Framing {
        layer,
        vlan_tags: 0,
    };
    let size = Size {
        unit: SizeUnit::Datagram,
        bytes: 1000,
    };
    let load = Load::BitRate { bits_per_s: 4e6 };
    let extent = Extent::Time {
        time_ps: 3_000_000_000_000,
    };
    Trial::new(framing, direction, size, load, extent)
}

/// A node that sends its load without asking first, so that the trial itself meets the peer.
fn opened(address: &SocketAddr) -> IperfNode {
    let node = IperfNode::open("iperf:bad", &address.to_string()).unwrap();
    node.without_probe()
}

/// A peer that does something with its sockets until the test is over.
struct Peer {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Peer {
    fn new(does: impl FnOnce(TcpListener, UdpSocket, &AtomicBool) + Send + 'static) -> Peer {
        let (listener, socket) = loop {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            if let Ok(socket) = UdpSocket::bind(listener.local_addr().unwrap()) {
                break (listener, socket);
            }
        };
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(10)))
            .unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&over);
        let thread = std::thread::spawn(move || does(listener, socket, &flag));
        Peer {
            address,
            over,
            thread: Some(thread),
        }
    }

    /// One that answers each datagram so, and treats each connection so until that gives `false`.
    fn talking(
        datagram: impl Fn(&UdpSocket, SocketAddr) + Send + 'static,
        mut connection: impl FnMut(&mut TcpStream) -> bool + Send + 'static,
    ) -> Peer {
        Peer::new(move |listener, socket, over| {
            let (mut buf, mut open) = ([0; 2000], Vec::new());
            while !over.load(Ordering::Relaxed) {
                if let Ok((_, from)) = socket.recv_from(&mut buf) {
                    datagram(&socket, from);
                }
                if let Ok((stream, _)) = listener.accept() {
                    stream
                        .set_read_timeout(Some(Duration::from_millis(5)))
                        .unwrap();
                    open.push(stream);
                }
                open.retain_mut(&mut connection);
            }
        })
    }

    fn asked(&self, layer: Layer, direction: Direction) -> Observation {
        let mut node = opened(&self.address);
        node.run(&trial(layer, direction), &(), &Cancel::new())
            .unwrap()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

/// Why a trial is void; nothing of it may be read as a figure.
fn void(observation: &Observation, what: &str) -> String {
    let Status::Void { why } = &observation.status else {
        panic!("{what}: {observation:#?}");
    };
    assert!(why.contains("fix: "), "{what}: {why}");
    let again = |w: &wirelab_trial::Warning| w.is(WarningCode::NODE_FAILED);
    assert!(
        observation.warnings.iter().any(again),
        "{what}: {observation:#?}"
    );
    for flow in &observation.flows {
        assert!(flow.goodput_bits_per_s.value().is_none(), "{what}");
        assert!(flow.frames_per_s.value().is_none(), "{what}");
        assert!(flow.loss_ratio.value().is_none(), "{what}");
    }
    why.clone()
}

fn read_on(stream: &mut TcpStream) -> bool {
    let mut buf = [0; 100_000];
    match stream.read(&mut buf) {
        Ok(len) => len > 0,
        Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
    }
}

#[test]
fn silent_ones() {
    // Datagrams are taken and not answered; a connection is accepted and never read.
    for layer in BOTH {
        let peer = Peer::talking(|_, _| (), |_| true);
        let mut asked = trial(layer, Direction::Receive);
        asked.load = Load::Max;
        let mut node = opened(&peer.address);
        let observation = node.run(&asked, &(), &Cancel::new()).unwrap();
        let why = void(&observation, &format!("{layer:?}"));
        let expected = match layer {
            Layer::TcpIpv4 => "does not read",
            _ => "sent no report",
        };
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn a_plain_sink_gets_no_load() {
    for (layer, words) in [
        (Layer::TcpIpv4, "as any sink would"),
        (Layer::UdpIpv4, "as any sink would"),
    ] {
        let taken = Arc::new(AtomicU64::new(0));
        let (of_udp, of_tcp) = (Arc::clone(&taken), Arc::clone(&taken));
        let peer = Peer::talking(
            move |_, _| _ = of_udp.fetch_add(1, Ordering::Relaxed),
            move |stream| {
                let mut buf = [0; 100_000];
                match stream.read(&mut buf) {
                    Ok(len) => {
                        of_tcp.fetch_add(len as u64, Ordering::Relaxed);
                        len > 0
                    }
                    Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
                }
            },
        );
        let asked = trial(layer, Direction::Receive);
        let mut node = IperfNode::open("iperf:bad", &peer.address.to_string()).unwrap();
        let refused = node
            .run(&asked, &(), &Cancel::new())
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains(words) && refused.contains("fix: "),
            "{refused}"
        );
        assert!(refused.contains("iperf:HOST,silent"), "{refused}");
        // Headers and final datagrams; the trial itself has 1.5 MB, or 1500 datagrams.
        let few = taken.load(Ordering::Relaxed);
        assert!(few > 0 && few < 1000, "{layer:?}: {few}");
    }
}

#[test]
fn a_sink_that_is_named_silent_is_measured_and_says_so() {
    let peer = Peer::talking(|_, _| (), read_on);
    let observation = peer.asked(Layer::TcpIpv4, Direction::Receive);
    assert_eq!(observation.status, Status::Complete);
    assert!(observation.node.setup["answers"].contains("silent"));
}

#[test]
fn resetting_ones() {
    let begun = Instant::now();
    let peer = Peer::talking(
        |_, _| (),
        move |stream| {
            read_on(stream);
            // What is unread makes the end of the connection a reset.
            begun.elapsed() < Duration::from_millis(700)
        },
    );
    let why = void(&peer.asked(Layer::TcpIpv4, Direction::Receive), "reset");
    assert!(why.contains("went away during the trial"), "{why}");
}

#[test]
fn talkers_of_garbage() {
    for layer in BOTH {
        let mut said = false;
        let peer = Peer::talking(
            |socket, from| {
                let _ = socket.send_to(&[0x5A; 128], from);
            },
            move |stream| {
                if !std::mem::replace(&mut said, true) {
                    let _ = stream.write_all(
                        b"\x01\x02garbage\xFF\x00\x80and more of it, which is not an answer of iperf",
                    );
                }
                read_on(stream)
            },
        );
        let why = void(
            &peer.asked(layer, Direction::Receive),
            &format!("{layer:?}"),
        );
        assert!(
            why.contains("no iperf 2 server") || why.contains("unknown layout"),
            "{why}"
        );
    }
}

#[test]
fn other_programs() {
    for (words, expected) in [
        (&[9][..], "iperf3"),
        (b"SSH-2.0-x\r\n", "no iperf 2 server"),
    ] {
        let mut said = false;
        let peer = Peer::talking(
            |_, _| (),
            move |stream| {
                if !std::mem::replace(&mut said, true) {
                    let _ = stream.write_all(words);
                }
                read_on(stream)
            },
        );
        let why = void(&peer.asked(Layer::TcpIpv4, Direction::Receive), expected);
        assert!(why.contains(expected), "{why}");
    }
}

/// A trial as short as those of a quick datasheet.
fn short(layer: Layer) -> Trial {
    Trial {
        extent: Extent::Time {
            time_ps: 500_000_000_000,
        },
        ..trial(layer, Direction::Receive)
    }
}

#[test]
fn a_short_flow_of_which_the_peer_saw_a_part() {
    let peer = Peer::talking(
        |socket, from| {
            let report = ServerReport {
                bytes: 50_000,
                duration_us: 100_000,
                datagrams: 50,
                ..ServerReport::default()
            };
            let _ = socket.send_to(&report.emit(Generation::Wide, &[]), from);
        },
        |_| false,
    );
    let mut node = opened(&peer.address);
    let asked = short(Layer::UdpIpv4);
    let why = void(&node.run(&asked, &(), &Cancel::new()).unwrap(), "short");
    assert!(why.contains("the peer saw 0.1 s of a flow of"), "{why}");
}

/// What a TCP peer makes of a trial that its system's buffers take as a whole.
fn of_a_little(peer: &Peer) -> Observation {
    let mut node = opened(&peer.address);
    let little = Trial {
        load: Load::BitRate { bits_per_s: 4e5 },
        ..short(Layer::TcpIpv4)
    };
    node.run(&little, &(), &Cancel::new()).unwrap()
}

#[test]
fn one_that_does_not_read_what_its_system_took() {
    let peer = Peer::talking(|_, _| (), |_| true);
    let why = void(&of_a_little(&peer), "unread");
    assert!(why.contains("did not read to the end"), "{why}");
}

#[test]
fn one_that_refuses_this_host() {
    let peer = Peer::talking(|_, _| (), |_| false);
    // A busy machine may hold the peer for longer than "at once" is; the trial is void either way.
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let mut asked = short(Layer::TcpIpv4);
        asked.load = Load::Max;
        let mut node = opened(&peer.address);
        let why = void(&node.run(&asked, &(), &Cancel::new()).unwrap(), "refused");
        if why.contains("closed the connection at once; fix: allow this host there (--allow)") {
            break;
        }
        assert!(Instant::now() < until, "{why}");
    }
}

/// A server of iperf that is there for some time, and perhaps again after a while.
fn short_lived(back_after: Option<Duration>) -> Peer {
    Peer::new(move |listener, socket, over| {
        let address = listener.local_addr().unwrap();
        drop((listener, socket));
        let quick = || ServerConfig::default();
        let server = Server::start(address, quick(), Arc::new(|_| ())).unwrap();
        // From the first datagram or connection on it would be better; it lasts for less than a trial either way.
        std::thread::sleep(Duration::from_millis(1500));
        drop(server);
        let Some(after) = back_after else {
            while !over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(10));
            }
            return;
        };
        std::thread::sleep(after);
        let _again = Server::start(address, quick(), Arc::new(|_| ())).unwrap();
        while !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
    })
}

#[test]
fn dying_ones() {
    for layer in BOTH {
        for direction in [Direction::Receive, Direction::Transmit] {
            let peer = short_lived(None);
            std::thread::sleep(Duration::from_millis(200));
            void(
                &peer.asked(layer, direction),
                &format!("{layer:?} {direction}"),
            );
        }
    }
}

#[test]
fn starting_ones_serve_the_next_trial() {
    for layer in BOTH {
        let peer = short_lived(Some(Duration::from_millis(300)));
        std::thread::sleep(Duration::from_millis(200));
        let mut node = opened(&peer.address);
        let asked = trial(layer, Direction::Receive);
        let first = node.run(&asked, &(), &Cancel::new()).unwrap();
        void(&first, &format!("{layer:?}"));
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let next = node.run(&asked, &(), &Cancel::new());
            if next
                .as_ref()
                .is_ok_and(|next| next.status == Status::Complete)
            {
                break;
            }
            assert!(Instant::now() < until, "{layer:?}: {next:#?}");
        }
    }
}
