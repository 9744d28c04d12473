//! What strangers get: no more bytes than they sent, no more hellos than a rate, and no trial without the token.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use crate::common;
use crate::common::demo::DemoNode;
use crate::common::{Simulated, Weather, World, config, host, transmit};
use wirelab_control::client::Patience;
use wirelab_control::line::{Line, MAX_LINE};
use wirelab_control::serve::{MAX_CONNECTIONS_PER_PEER, SharedServer};
use wirelab_control::token::Token;
use wirelab_control::transport::{TcpTransport, Transport, UdpTransport};
use wirelab_control::{Client, ClientError, Code, LineBuf, Peer, Server};
use wirelab_socket::access::{Access, Rules};

const TOKEN: &[u8] = b"a token of the tests";

fn token() -> Token {
    Token::new(TOKEN).unwrap()
}

/// Time passes, so that the rate of hellos is not a limit.
struct Node {
    server: Server<DemoNode>,
    now: Duration,
}

impl Node {
    fn new() -> Node {
        Node {
            server: Server::new(DemoNode::default(), config()),
            now: Duration::ZERO,
        }
    }

    fn datagram(&mut self, bytes: &[u8], peer: Peer) -> Option<Vec<u8>> {
        self.now += Duration::from_millis(100);
        let mut out = LineBuf::new();
        let answer = self.server.handle_datagram(bytes, peer, self.now, &mut out);
        answer.map(<[u8]>::to_vec)
    }
}

fn hello(nonce: u32, length: usize) -> Vec<u8> {
    let line = format!("?0.{nonce} hello version=1 pad=");
    let fill = length.saturating_sub(line.len() + 1);
    format!("{line}{}\n", "-".repeat(fill)).into_bytes()
}

#[test]
fn no_datagram_outside_a_session_is_answered_with_more_bytes() {
    let mut node = Node::new();
    let mut opened = 0;
    for length in 0..=MAX_LINE {
        let line = hello(length as u32, length);
        let sessions = node.server.sessions();
        let answer = node.datagram(&line, host(1)).unwrap();
        assert!(answer.len() <= line.len(), "{length}");
        if answer.starts_with(b"=") {
            opened += 1;
        } else {
            assert_eq!(Line::parse(&answer, true).unwrap().name, "pad");
            assert_eq!(node.server.sessions(), sessions, "none is opened for it");
        }
    }
    assert!(opened > 50, "{opened}");
}

#[test]
fn mutated_datagrams_get_no_more_than_they_bring() {
    let mut node = Node::new();
    let seeds: Vec<Vec<u8>> = [
        "?0.7 hello version=1",
        "?0.7 hello version=0",
        "?0.7 hello version=1 x=1",
        "?0.7 start direction=transmit layer=udp-ipv4 frame_bytes=64 load=max frames=5",
        "?99.1 status",
        "?99.1 stop trial=1",
        "?99.1 captures trial=1 point=0 from=0",
        "?0.0",
        "?",
        "?0.7 hello version=1 pad=",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    // xorshift64 (Marsaglia 2003)
    let mut state = 88_172_645_463_325_252u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as usize % below
    };
    let (mut answers, mut longest) = (0, 0);
    for n in 0..20_000 {
        let mut bytes = seeds[random(seeds.len())].clone();
        for _ in 0..random(4) {
            match random(3) {
                0 => bytes[0] = b'?',
                1 => {
                    let at = random(bytes.len());
                    bytes[at] ^= 1 << random(8);
                }
                _ => bytes.truncate(1 + random(bytes.len())),
            }
        }
        bytes.extend(std::iter::repeat_n(b'-', random(2) * random(500)));
        if let Some(answer) = node.datagram(&bytes, host((n % 250) as u8)) {
            assert!(answer.len() <= bytes.len(), "{}", bytes.escape_ascii());
            answers += 1;
            longest = longest.max(answer.len());
        }
    }
    assert!(answers > 1000 && longest > 100, "{answers} {longest}");
}

#[test]
fn hellos_of_datagrams_have_a_rate_and_others_none() {
    let mut server = Server::new(DemoNode::default(), config());
    let mut out = LineBuf::new();
    let mut answered = |datagrams: bool| {
        (0..1000u32)
            .filter(|n| {
                let now = Duration::from_millis(u64::from(*n));
                let (line, peer) = (hello(*n, MAX_LINE), host((n % 200) as u8));
                match datagrams {
                    true => server.handle_datagram(&line, peer, now, &mut out).is_some(),
                    false => server.handle(&line, peer, now, &mut out).is_some(),
                }
            })
            .count()
    };
    assert_eq!(answered(true), 32 + 15);
    assert_eq!(answered(false), 1000);
}

#[test]
fn forged_hellos_push_no_tester_out() {
    let mut node = Node::new();
    let answer = node.datagram(&hello(1, MAX_LINE), host(1)).unwrap();
    let line = Line::parse(&answer, true).unwrap();
    let session = line.get("session").unwrap().u64().unwrap();
    let used = |node: &mut Node, number: u32| {
        let line = format!("?{session}.{number} status\n");
        node.datagram(line.as_bytes(), host(1)).unwrap()
    };
    assert!(used(&mut node, 1).starts_with(b"="));
    for nonce in 2..1000 {
        // As if they came from the tester's own address, and from others.
        let from = host(if nonce % 2 == 0 {
            1
        } else {
            (nonce % 200) as u8
        });
        node.datagram(&hello(nonce, MAX_LINE), from);
    }
    assert!(used(&mut node, 2).starts_with(b"="), "its session is there");
}

#[test]
fn without_the_token_nothing_is_done() {
    let world = World::new(Weather::default(), 5);
    world.borrow_mut().server = Server::new(DemoNode::default(), config()).with_token(token());
    let open = |token: Option<&Token>| {
        Client::open_as(Simulated::join(&world, host(1)), Patience::default(), token)
    };
    let missing = open(None).err().unwrap();
    assert!(matches!(missing, ClientError::NeedsToken), "{missing}");
    assert!(missing.to_string().contains("fix:"));
    let other = Token::new(b"another token of the tests").unwrap();
    assert!(matches!(
        open(Some(&other)).err().unwrap(),
        ClientError::WrongToken
    ));
    // Past the client: whatever it asks in a session of its own.
    let mut stranger =
        Client::open_with(Simulated::join(&world, host(2)), Patience::default(), 9).unwrap();
    let refused = |result: Result<(), ClientError>| match result.unwrap_err() {
        ClientError::Refused { refusal, .. } => assert_eq!(refusal.code, Code::Token),
        other => panic!("{other}"),
    };
    refused(stranger.start(transmit(1)).map(drop));
    refused(stranger.status(None).map(drop));
    refused(stranger.stop(1).map(drop));
    refused(stranger.setup().map(drop));
    assert_eq!(world.borrow_mut().server.handler().starts, 0);
    let mut client = open(Some(&token())).unwrap();
    assert_eq!(client.start(transmit(1)).unwrap().trial, 1);
    refused(stranger.counters(1, 0).map(drop));
    refused(stranger.stop(1).map(drop));
}

#[test]
fn an_answer_is_of_no_use_twice() {
    let mut server = Server::new(DemoNode::default(), config()).with_token(token());
    let mut out = LineBuf::new();
    let mut say = |text: &str| {
        let now = Duration::ZERO;
        let answer = server.handle(text.as_bytes(), host(1), now, &mut out);
        String::from_utf8(answer.unwrap().to_vec()).unwrap()
    };
    let opened = |reply: &str| {
        let line = Line::parse(reply.as_bytes(), true).unwrap();
        let text = |key| String::from_utf8(line.get(key).unwrap().bytes().collect()).unwrap();
        (text("session").parse::<u32>().unwrap(), text("challenge"))
    };
    let (one, challenge) = opened(&say("?0.1 hello version=1\n"));
    let response = token().response(one, &challenge);
    let (two, _) = opened(&say("?0.2 hello version=1\n"));
    assert!(say(&format!("?{two}.1 auth response={response}\n")).contains(" token "));
    // A challenge is for one answer: after a wrong one the right one is none either.
    assert!(say(&format!("?{one}.1 auth response=00\n")).contains(" token "));
    assert!(say(&format!("?{one}.2 auth response={response}\n")).contains(" token "));
    assert!(say(&format!("?{one}.3 status\n")).contains(" token "));
    let (three, challenge) = opened(&say("?0.3 hello version=1\n"));
    let response = token().response(three, &challenge);
    assert!(say(&format!("?{three}.1 auth response={response}\n")).starts_with("="));
    assert!(say(&format!("?{three}.2 status\n")).contains(" state=idle"));
}

/// A node on sockets, over UDP and TCP, that ends with the test.
fn served(
    server: Server<DemoNode>,
    access: Access,
) -> (Arc<SharedServer<DemoNode>>, [std::net::SocketAddr; 2]) {
    let shared = SharedServer::for_those(server, Arc::new(access));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = [socket.local_addr().unwrap(), listener.local_addr().unwrap()];
    let (udp, tcp) = (Arc::clone(&shared), Arc::clone(&shared));
    std::thread::spawn(move || udp.serve_udp(&socket).unwrap());
    std::thread::spawn(move || tcp.serve_tcp(&listener).unwrap());
    (shared, at)
}

#[test]
fn a_token_over_real_transports() {
    let server = Server::new(DemoNode::default(), config()).with_token(token());
    let (shared, [udp, tcp]) = served(server, Access::default());
    fn story(transport: impl Transport) {
        let mut client = Client::open_as(transport, common::many_tries(), Some(&token())).unwrap();
        client.setup().unwrap();
        client.status(None).unwrap();
    }
    story(UdpTransport::connect(udp).unwrap());
    story(TcpTransport::connect(tcp).unwrap());
    shared.stop();
}

#[test]
fn connections_that_only_talk_make_room_for_one_with_the_token() {
    let server = Server::new(DemoNode::default(), config()).with_token(token());
    let (shared, [_, tcp]) = served(server, Access::default());
    let mut held = Vec::new();
    for _ in 0..MAX_CONNECTIONS_PER_PEER {
        // It opens a session, and asks without the token.
        let transport = TcpTransport::connect(tcp).unwrap();
        let mut client =
            Client::open_with(transport, common::many_tries(), held.len() as u32).unwrap();
        assert!(client.status(None).is_err());
        held.push(client);
    }
    let transport = TcpTransport::connect(tcp).unwrap();
    let mut client = Client::open_as(transport, common::many_tries(), Some(&token())).unwrap();
    for _ in 0..2 * MAX_CONNECTIONS_PER_PEER {
        held.push(
            Client::open_with(
                TcpTransport::connect(tcp).unwrap(),
                common::many_tries(),
                held.len() as u32,
            )
            .unwrap(),
        );
    }
    client.start(transmit(1)).unwrap();
    shared.stop();
}

#[test]
fn who_is_not_allowed_is_not_answered() {
    let rules = Rules {
        allow: vec!["192.0.2.0/24".parse().unwrap()],
        ..Rules::default()
    };
    let server = Server::new(DemoNode::default(), config());
    let (shared, [udp, tcp]) = served(server, Access::new(rules));
    let few = Patience {
        first: Duration::from_millis(50),
        longest: Duration::from_millis(50),
        tries: 3,
    };
    let over_udp = Client::open(UdpTransport::connect(udp).unwrap(), few);
    assert!(matches!(over_udp.err(), Some(ClientError::Silent { .. })));
    use std::io::Read;
    let mut stream = TcpStream::connect(tcp).unwrap();
    let came = stream.read(&mut [0; 16]);
    assert!(came.is_err() || came.is_ok_and(|len| len == 0), "closed");
    assert_eq!(shared.with(|server| server.sessions()), 0);
    shared.stop();
}
