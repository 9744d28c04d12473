//! Entry points for fuzzing: any bytes, never a panic.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use wirelab_trial::stage;

use crate::assemble::{Assembled, Assembler};
use crate::client::{Client, Patience};
use crate::line::{Kind, Line, LineBuf, MAX_LINE};
use crate::message::{Reply, Request};
use crate::server::demo::DemoNode;
use crate::server::{Config, Peer, Server};
use crate::told::Told;
use crate::transport::Transport;

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
        seed: Some(1),
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
                // Nobody was told a session number as this address: no answer may have more bytes.
                let forged = Peer::Host(IpAddr::V4(Ipv4Addr::new(198, 51, 100, line[0])));
                if let Some(answer) = server.handle_datagram(line, forged, now, &mut out) {
                    assert!(answer.len() <= line.len());
                }
            }
        } else {
            assert!(Line::parse(server.handle_too_long(&mut out), true).is_ok());
        }
        assert!(server.sessions() <= 3);
    });
}

/// What any bytes as the replies of a node make of the times between its capture points: each line of `data` answers one
/// request, whatever it asked, from the name of the command on.
///
/// # Panics
/// If more comes out than was told.
pub fn fuzz_stages(data: &[u8]) {
    let commas = data.iter().filter(|b| **b == b',').count();
    let records = commas + data.split(|b| *b == b'\n').count();
    let mut told = told(data);
    for (_, series) in stage::between(&told.points, &mut told.notes) {
        assert!(series.histogram.count as usize <= records, "{series:?}");
    }
}

fn told(data: &[u8]) -> Told {
    let node = Replies {
        lines: data.split(|b| *b == b'\n'),
        id: Vec::new(),
        greeted: false,
        now: Duration::ZERO,
    };
    let patience = Patience {
        first: Duration::from_millis(1),
        longest: Duration::from_millis(1),
        tries: 1,
    };
    let mut client = Client::open_with(node, patience, 1).expect("the greeting is a node's");
    Told::ask(&mut client, 1, true)
}

/// A node that says what it was told to say.
struct Replies<'a, I: Iterator<Item = &'a [u8]>> {
    lines: I,
    id: Vec<u8>,
    greeted: bool,
    now: Duration,
}

/// The greeting of a node in its shortest form.
const GREETING: &[u8] = b"hello version=1 session=7 name=x setup=0 directions=receive layers=ethernet \
buffers=prefilled traffic=test paths=stack ports=1 min_frame_bytes=64 max_frame_bytes=1518 max_frames=9 \
max_time_ps=9 max_captures=9 idle_ms=9";

impl<'a, I: Iterator<Item = &'a [u8]>> Transport for Replies<'a, I> {
    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        self.id = line[1..]
            .split(|b| *b == b' ')
            .next()
            .unwrap_or_default()
            .to_vec();
        Ok(())
    }

    fn receive(
        &mut self,
        line: &mut [u8; MAX_LINE],
        deadline: Duration,
    ) -> io::Result<Option<usize>> {
        let words = if std::mem::replace(&mut self.greeted, true) {
            self.lines.next()
        } else {
            Some(GREETING)
        };
        let Some(words) = words else {
            self.now = deadline;
            return Ok(None);
        };
        let whole = [b"=", self.id.as_slice(), b" ", words, b"\n"].concat();
        let len = whole.len().min(MAX_LINE);
        line[..len].copy_from_slice(&whole[..len]);
        Ok(Some(len))
    }

    fn now(&self) -> Duration {
        self.now
    }

    fn needs_check(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_corpus_tells_comes_out_as_stages() {
        let whole = include_bytes!("../../../fuzz/corpus/stages/way-in");
        let mut told = told(whole);
        let stages = told.stages_of(0);
        let names: Vec<&str> = stages.iter().map(|s| s.name.as_str()).collect();
        assert!(names.contains(&"wire to interrupt"), "{told:?}");
        assert!(names.contains(&"call to application"), "{names:?}");
        assert!(stages.iter().all(|s| s.histogram.count == 3));
    }
}
