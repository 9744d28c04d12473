//! Boards in QEMU: up on a TAP, on Unix sockets and alone, several at once, reset, and unplugged.

use std::time::Duration;

use crate::common::{can_run, can_tap, unprivileged, until};
use wirelab_board::count::CountNode;
use wirelab_board::{Board, Connect, INTERFACE, Options};
use wirelab_port::wire::FrameWire;
use wirelab_trial::{
    Cancel, Direction, Extent, Framing, Layer, Load, Node, NodeError, Size, SizeUnit, Status,
    Trial, TrialField, TrialOption,
};

const LONG: Duration = Duration::from_secs(30);

fn on_tap(board: &str) -> Board {
    let options = Options {
        connect: Connect::Tap,
        ..Options::default()
    };
    Board::start(board, &options).unwrap()
}

fn pings(board: &Board) -> bool {
    let ip = board.ip().unwrap().to_string();
    let namespace = board.namespace().unwrap().unwrap();
    let ping = || {
        let mut command = std::process::Command::new("ping");
        command.args(["-c1", "-W1", &ip]).output().unwrap()
    };
    namespace.run_in(ping).unwrap().status.success()
}

#[test]
fn two_boards_at_once_answer_ping_each_on_a_tap_of_its_own() {
    if !can_run("zynq7000") || !can_tap() {
        return;
    }
    let boards = [on_tap("zynq7000"), on_tap("zynq7000")];
    assert_ne!(boards[0].ip(), boards[1].ip());
    assert_ne!(boards[0].namespace_name(), boards[1].namespace_name());
    for board in &boards {
        until("a ping", || pings(board).then_some(()));
    }
}

#[test]
fn a_pulled_cable_and_a_reset_are_survived() {
    if !can_run("zynq7000") || !can_tap() {
        return;
    }
    let board = on_tap("zynq7000");
    until("a ping", || pings(&board).then_some(()));
    board.set_link(false).unwrap();
    until("no ping", || (!pings(&board)).then_some(()));
    board.set_link(true).unwrap();
    until("a ping again", || pings(&board).then_some(()));
    assert_eq!(board.starts(), 1);
    board.reset(LONG).unwrap();
    assert_eq!(board.starts(), 2);
    until("a ping after the reset", || pings(&board).then_some(()));
}

/// An ARP request (RFC 826) for the board.
fn who_has(board: &Board) -> Vec<u8> {
    let ends = board.addresses();
    let mut frame = vec![0xFF; 6];
    frame.extend(ends.tester_mac.0);
    frame.extend([0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1]);
    frame.extend(ends.tester_mac.0);
    frame.extend(ends.tester_ip.octets());
    frame.extend([0; 6]);
    frame.extend(ends.ip.octets());
    frame.resize(60, 0);
    frame
}

#[test]
fn without_privilege_frames_go_over_unix_sockets() {
    if !can_run("zynq7000") {
        return;
    }
    let mut board = unprivileged("zynq7000");
    assert!(board.ip().is_none() && board.namespace_name().is_none());
    let wire: Box<dyn FrameWire> = board.frames().unwrap();
    assert!(board.frames().is_none(), "one wire has one end");
    let mut buffer = [0; 2048];
    let answer = until("an ARP answer", || {
        assert!(wire.send(&who_has(&board)).unwrap());
        let length = wire
            .receive(&mut buffer, Duration::from_millis(100))
            .unwrap()?;
        let frame = buffer[..length].to_vec();
        (frame[12..14] == [0x08, 0x06] && frame[21] == 2).then_some(frame)
    });
    assert_eq!(answer[..6], board.addresses().tester_mac.0);
    assert_eq!(answer[22..28], board.mac().0);
}

#[test]
fn a_count_run_comes_up_with_nothing_at_the_other_end() {
    if !can_run("zynq7000") {
        return;
    }
    let options = Options {
        connect: Connect::Open,
        counts: true,
        ..Options::default()
    };
    let board = Board::start("zynq7000", &options).unwrap();
    let (ready, _) = board.console().ready().unwrap();
    assert_eq!(ready.ip, Some(board.addresses().ip));
    assert!(INTERFACE.starts_with("tap"));
}

#[test]
fn a_count_run_has_one_way_and_declines_others_by_name() {
    if !can_run("zynq7000") {
        return;
    }
    let mut node = CountNode::open("board:zynq7000", "zynq7000", &Options::default()).unwrap();
    let plain = Trial::new(
        Framing {
            layer: Layer::UdpIpv4,
            vlan_tags: 0,
        },
        Direction::Both,
        Size::new(SizeUnit::Length, 64),
        Load::Max,
        Extent::Frames { frames: 10 },
    );
    let taken = [TrialOption::Link, TrialOption::StrictGaps];
    for (field, asked) in plain.with_each_but(&taken) {
        let Err(NodeError::Unsupported(no)) = node.run(&asked, &(), &Cancel::new()) else {
            panic!("{field} was accepted");
        };
        assert_eq!(no.field.map(TrialField::name), Some(field));
        assert!(no.why.contains("inside the MAC"), "{no}");
    }
    let seen = node.run(&plain, &(), &Cancel::new()).unwrap();
    assert_eq!(seen.status, Status::Complete);
}
