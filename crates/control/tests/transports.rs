//! The real transports: UDP, TCP, and a Unix socket in place of a UART, with noise, echo and hostile peers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::common::demo::{DemoNode, record};
use crate::common::{config, many_tries, transmit};
use wirelab_control::serve::{MAX_CONNECTIONS_PER_PEER, SharedServer};
use wirelab_control::transport::{StreamTransport, TcpTransport, Transport, UdpTransport};
use wirelab_control::value::{Mac, State};
use wirelab_control::{Client, Config, Server};

const READ: Duration = Duration::from_millis(2);

/// A served node that ends with the test.
struct Node {
    shared: Arc<SharedServer<DemoNode>>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
    to: SocketAddr,
}

impl Drop for Node {
    fn drop(&mut self) {
        self.shared.stop();
        let ended = self.thread.take().unwrap().join();
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

fn node(config: Config) -> Arc<SharedServer<DemoNode>> {
    SharedServer::new(Server::new(DemoNode::default(), config))
}

fn udp_node() -> Node {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = socket.local_addr().unwrap();
    let shared = node(config());
    let served = Arc::clone(&shared);
    Node {
        shared,
        to,
        thread: Some(std::thread::spawn(move || served.serve_udp(&socket))),
    }
}

fn tcp_node() -> Node {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let shared = node(config());
    let served = Arc::clone(&shared);
    Node {
        shared,
        to,
        thread: Some(std::thread::spawn(move || served.serve_tcp(&listener))),
    }
}

/// One trial with every possible request about it.
fn story<T: Transport>(client: &mut Client<T>) {
    assert_eq!(client.setup().unwrap().len(), 40);
    let mut start = transmit(20);
    start.captures = Some(512);
    start.peer_mac = Some(Mac([2, 0, 0, 0, 0, 9]));
    let trial = client.start(start).unwrap().trial;
    while client.status(Some(trial)).unwrap().state == State::Running {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(client.counters(trial, 0).unwrap()["sent_frames"], 20);
    let all = client.captures(trial, 1).unwrap().records;
    assert_eq!(all, (0..512).map(|n| record(1, n)).collect::<Vec<_>>());
}

#[test]
fn a_trial_over_udp() {
    let node = udp_node();
    let mut client = Client::open(UdpTransport::connect(node.to).unwrap(), many_tries()).unwrap();
    // A datagram too long for a line, and one that is none, harm nobody.
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    other.send_to(&[b'?'; 1400], node.to).unwrap();
    other.send_to(b"", node.to).unwrap();
    story(&mut client);
    let mut answer = [0; 600];
    other
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let len = other.recv(&mut answer).unwrap();
    assert!(answer[..len].starts_with(b"!0.0 too-long limit=512 *"));
    assert_eq!(node.shared.with(|s| s.handler().starts), 1);
}

#[test]
fn a_trial_over_tcp_with_a_broken_connection() {
    let node = tcp_node();
    let mut client = Client::open(TcpTransport::connect(node.to).unwrap(), many_tries()).unwrap();
    story(&mut client);
    client.transport().disconnect();
    assert_eq!(
        client.status(None).unwrap().state,
        State::Done,
        "the session outlives its connection"
    );
    story(&mut client);
    assert_eq!(node.shared.with(|s| s.handler().starts), 2);
}

#[test]
fn people_can_type() {
    let node = tcp_node();
    let mut stream = TcpStream::connect(node.to).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    stream.write_all(b"?0.1 hello version=1\r\n").unwrap();
    let mut answer = [0; 512];
    let len = stream.read(&mut answer).unwrap();
    assert!(answer[..len].starts_with(b"=0.1 hello version=1 session="));
}

#[test]
fn hostile_connections_leave_the_node_answering() {
    let node = tcp_node();
    let mut open = Vec::new();
    for n in 0..200 {
        let mut stream = TcpStream::connect(node.to).unwrap();
        let _ = stream.write_all(&[b"?0."[n % 3]; 5000]);
        if n % 2 == 0 {
            open.push(stream);
        }
    }
    // More than the node keeps of one address: some were refused, and closing them makes room again.
    open.clear();
    let mut client = Client::open(TcpTransport::connect(node.to).unwrap(), many_tries()).unwrap();
    story(&mut client);
    assert!(
        node.shared.refused() > 0,
        "200 connections, {MAX_CONNECTIONS_PER_PEER} allowed"
    );
    assert!(node.shared.with(|s| s.sessions()) <= 4);
}

/// A cable between a client and a node that adds noise, echo and console text, and loses bytes.
fn bad_cable(client: UnixStream, node: UnixStream, to_node: bool) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let (mut from, mut to) = if to_node {
            (client, node)
        } else {
            (node, client)
        };
        let mut echo = from.try_clone().unwrap();
        let mut bytes = [0; 256];
        let mut passed = 0usize;
        while let Ok(len @ 1..) = from.read(&mut bytes) {
            let mut out = Vec::new();
            for byte in &bytes[..len] {
                passed += 1;
                match passed % 1009 {
                    0 => {}
                    1 => out.push(byte ^ 0x10),
                    2 => out.extend([*byte, 0xFF, b'?']),
                    _ => out.push(*byte),
                }
                if *byte == b'\n' && !to_node {
                    out.extend(b"console: 17 % free\r\n");
                }
            }
            if to.write_all(&out).is_err() || (to_node && echo.write_all(&bytes[..len]).is_err()) {
                return;
            }
        }
    })
}

#[test]
fn a_trial_over_a_noisy_uart_with_echo() {
    let (client, client_end) = UnixStream::pair().unwrap();
    let (node_end, board) = UnixStream::pair().unwrap();
    let cables = [
        bad_cable(
            client_end.try_clone().unwrap(),
            node_end.try_clone().unwrap(),
            true,
        ),
        bad_cable(client_end, node_end, false),
    ];
    board.set_read_timeout(Some(READ)).unwrap();
    client.set_read_timeout(Some(READ)).unwrap();
    let shared = node(config());
    let served = Arc::clone(&shared);
    let thread = std::thread::spawn(move || served.serve_stream(board, 0));
    let hangup = client.try_clone().unwrap();
    let mut client = Client::open(StreamTransport::new(client).unwrap(), many_tries()).unwrap();
    story(&mut client);
    let counts = client.counts();
    assert!(
        counts.repeated > 0 && counts.unreadable > 100,
        "{counts:?}: the cable was not bad"
    );
    assert_eq!(shared.with(|s| s.handler().starts), 1);
    shared.stop();
    thread.join().unwrap().unwrap();
    hangup.shutdown(std::net::Shutdown::Both).unwrap();
    drop((client, hangup));
    for cable in cables {
        cable.join().unwrap();
    }
}
