//! The vectors of `spec/vectors/node-control.txt`, which firmware checks as well.

use crate::common::demo::DemoNode;
use std::path::Path;

use wirelab_control::line::{Fault, Kind, Line, LineBuf};
use wirelab_control::{Code, Config, Peer, Reply, Request, Server};

/// A block of lines, each a keyword and the rest.
type Block = Vec<(String, String)>;

fn blocks() -> Vec<Block> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/node-control.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let mut blocks = vec![Block::new()];
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        match line.split_once(' ') {
            Some((word, rest)) => blocks
                .last_mut()
                .unwrap()
                .push((word.to_owned(), rest.to_owned())),
            None if line.is_empty() => blocks.push(Block::new()),
            None => blocks
                .last_mut()
                .unwrap()
                .push((line.to_owned(), String::new())),
        }
    }
    blocks.retain(|b| !b.is_empty());
    blocks
}

fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (c, if c == '\\' { rest.next() } else { None }) {
            ('\\', Some('n')) => out.push(b'\n'),
            ('\\', Some('r')) => out.push(b'\r'),
            ('\\', Some('\\')) => out.push(b'\\'),
            ('\\', Some('x')) => {
                let digits: String = rest.by_ref().take(2).collect();
                out.push(u8::from_str_radix(&digits, 16).unwrap());
            }
            ('\\', other) => panic!("no escape: {other:?}"),
            (plain, _) => out.push(u8::try_from(plain).unwrap()),
        }
    }
    out
}

fn describe(line: &Line<'_>) -> Vec<(String, String)> {
    let kind = match line.kind {
        Kind::Request => "request",
        Kind::Reply => "reply",
        Kind::Error => "error",
    };
    let checked = if line.checked { "checked" } else { "plain" };
    let mut out = vec![(
        "line".to_owned(),
        format!("{kind} {} {} {checked}", line.id, line.name),
    )];
    for (key, value) in line.fields() {
        let text = String::from_utf8(value.bytes().collect()).unwrap();
        out.push(("field".to_owned(), format!("{key} {text}")));
    }
    out
}

/// What this implementation makes of the bytes, in the words of the file.
fn outcome(bytes: &[u8], need_check: bool) -> Vec<(String, String)> {
    let line = match Line::parse(bytes, need_check) {
        Err(error) => {
            let code = match error.fault {
                Fault::NotALine => return vec![("silence".to_owned(), String::new())],
                Fault::TooLong => Code::TooLong,
                Fault::BadCheck => Code::BadCheck,
                Fault::NoCheck => Code::NoCheck,
                Fault::Syntax(_) => Code::BadLine,
            };
            return vec![("error".to_owned(), format!("{} {}", code.word(), error.id))];
        }
        Ok(line) => line,
    };
    let mut out = describe(&line);
    if line.kind == Kind::Request {
        if let Err(refusal) = Request::parse(&line) {
            let field = refusal.field.unwrap_or_else(|| "-".to_owned());
            out.push((
                "refused".to_owned(),
                format!("{} {field}", refusal.code.word()),
            ));
        }
    } else if let Reply::Captures(page) = Reply::parse(&line).unwrap() {
        out.extend(
            page.records
                .iter()
                .map(|r| ("record".to_owned(), format!("{} {}", r.sequence, r.ticks))),
        );
    }
    out
}

#[test]
fn every_vector_gives_what_it_says() {
    let blocks = blocks();
    assert!(blocks.len() >= 50, "{} vectors", blocks.len());
    for block in blocks {
        let [(n, name), (i, input), (c, check), expected @ ..] = &block[..] else {
            panic!("{block:?}")
        };
        assert_eq!(
            (n.as_str(), i.as_str(), c.as_str()),
            ("name", "in", "check"),
            "{name}"
        );
        let need_check = check == "needed";
        assert_eq!(outcome(&unescape(input), need_check), expected, "{name}");
    }
}

#[test]
fn what_can_be_read_is_written_the_same() {
    let mut checked = 0;
    for block in blocks().iter().filter(|b| {
        b.iter()
            .any(|(w, r)| w == "line" && r.ends_with(" checked"))
    }) {
        let mut bytes = unescape(&block[1].1);
        if bytes.len() == 512 {
            // A list is cut before a line is quite full, as the length of `next` is not known yet.
            continue;
        }
        let line = Line::parse(&bytes, true).unwrap();
        let mut out = LineBuf::new();
        let again = match line.kind {
            Kind::Request => Request::parse(&line).unwrap().emit(line.id, &mut out),
            _ => Reply::parse(&line).unwrap().emit(line.id, &mut out),
        };
        let again = again.unwrap().to_vec();
        if bytes.last() != Some(&b'\n') {
            bytes.push(b'\n');
        }
        bytes.retain(|b| *b != b'\r');
        assert_eq!(again, bytes, "{}", block[0].1);
        checked += 1;
    }
    assert!(checked >= 9, "{checked} lines with a check");
}

#[test]
fn a_server_answers_refusals_as_the_vectors_say() {
    let mut seen = 0;
    for block in blocks() {
        let input = unescape(&block[1].1);
        let peer = match block[2].1.as_str() {
            "needed" => Peer::Serial(0),
            _ => Peer::Host([192, 0, 2, 1].into()),
        };
        let mut server = Server::new(
            DemoNode::default(),
            Config {
                max_sessions: 2,
                max_sessions_per_peer: 2,
                seed: Some(7),
            },
        );
        let mut out = LineBuf::new();
        let answer = server
            .handle(&input, peer, core::time::Duration::ZERO, &mut out)
            .map(<[u8]>::to_vec);
        match block[3].0.as_str() {
            "silence" => assert_eq!(answer, None, "{}", block[0].1),
            // Long lines and noise that is not a request have no answer either.
            "error" if input.first() == Some(&b'?') => {
                let answer = answer.unwrap();
                let line = Line::parse(&answer, true).unwrap();
                assert_eq!(
                    format!("{} {}", line.name, line.id),
                    block[3].1,
                    "{}",
                    block[0].1
                );
                seen += 1;
            }
            _ => {}
        }
    }
    assert!(seen >= 20, "{seen} errors");
}
