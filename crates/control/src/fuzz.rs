//! Entry points for fuzzing: any bytes, never a panic.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use crate::assemble::{Assembled, Assembler};
use crate::line::{Kind, Line, LineBuf};
use crate::message::{Reply, Request};
use crate::server::demo::DemoNode;
use crate::server::{Config, Peer, Server};

/// Read any bytes as a line; what can be read must come out the same when it is written and read again.
pub fn fuzz_line(data: &[u8]) {
    for need_check in [false, true] {
        let Ok(line) = Line::parse(data, need_check) else {
            continue;
        };
        let mut out = LineBuf::new();
        if line.kind == Kind::Request {
            let Ok(request) = Request::parse(&line) else {
                continue;
            };
            // The canonical form may be longer than a line that carried no check.
            let Some(again) = request.emit(line.id, &mut out) else {
                continue;
            };
            assert_eq!(
                Line::parse(again, true).map(|l| Request::parse(&l)),
                Ok(Ok(request))
            );
        } else if let Ok(reply) = Reply::parse(&line) {
            let _ = reply.emit(line.id, &mut out);
        }
    }
}

/// Feed any bytes to a node as what comes from a UART and as lines from two hosts, and let time pass between.
pub fn fuzz_server(data: &[u8]) {
    let config = Config {
        max_sessions: 3,
        max_sessions_per_peer: 2,
        seed: 1,
    };
    let mut server = Server::new(DemoNode::default(), config);
    let mut assembler = Assembler::new();
    let mut out = LineBuf::new();
    let mut now = Duration::ZERO;
    assembler.push(data, |done| {
        now += Duration::from_millis(700);
        if let Assembled::Line(line) = done {
            for peer in [
                Peer::Serial(0),
                Peer::Host(IpAddr::V4(Ipv4Addr::new(192, 0, 2, line[0]))),
                Peer::Serial(1),
            ] {
                if let Some(answer) = server.handle(line, peer, now, &mut out) {
                    assert!(Line::parse(answer, true).is_ok_and(|l| l.kind != Kind::Request));
                }
            }
        } else {
            assert!(Line::parse(server.handle_too_long(&mut out), true).is_ok());
        }
        assert!(server.sessions() <= 3);
    });
}
