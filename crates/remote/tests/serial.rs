//! A node on a serial line: a board in QEMU, whose UART is at a pseudo-terminal, and whose frames a port of this host
//! hears; bad days of the line.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use crate::common;
use crate::serial_common::Pty;
use wirelab_board::{Board, BoardError, Connect, Options};
use wirelab_port::pcapng::{VerifyOptions, verify};
use wirelab_remote::SERIAL;
use wirelab_trial::{
    Cancel, Direction, Extent, Layer, Load, Node, NodeError, OpenError, OpenOptions, Size,
    SizeUnit, Status, Trial,
};

/// The board with its UART's socket; `None`, and a word for the test runner, where it is not available.
fn board() -> Option<(Board, PathBuf)> {
    if !wirelab_port::netns::may_test() {
        return None;
    }
    let options = Options {
        connect: Connect::Tap,
        patience: common::PATIENCE,
        ..Options::default()
    };
    let (feature, why) = match Board::start("mps2-an385", &options) {
        Ok(board) => {
            let uart = board.about().uart;
            return Some((board, uart));
        }
        Err(error @ BoardError::NoQemu { .. }) => ("qemu", error),
        Err(error @ BoardError::NoImage { .. }) => ("firmware", error),
        Err(error @ BoardError::Tap(_)) => ("tun", error),
        Err(error) => panic!("{error}"),
    };
    let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP {feature}: {why}");
    None
}

fn open(name: &str) -> Result<Box<dyn Node>, OpenError> {
    (SERIAL.open)(&name.parse().unwrap(), &OpenOptions::default())
}

fn trial(direction: Direction) -> Trial {
    Trial {
        extent: Extent::Frames { frames: 100 },
        load: Load::FrameRate {
            // The board's FIFO holds what comes while its host keeps the emulator waiting for 150 ms.
            frames_per_s: 200.0,
        },
        size: Size::new(SizeUnit::Length, 256),
        ..common::trial(Layer::Ethernet, direction)
    }
}

#[test]
fn a_board_is_measured_over_its_uart_at_a_port() {
    let Some((board, uart)) = board() else { return };
    // Lines are repeated where the UART loses a byte.
    for lost in [0, 701] {
        let pty = Pty::before(UnixStream::connect(&uart).unwrap(), lost);
        let namespace = board.namespace().unwrap().unwrap();
        namespace
            .run_in(|| {
                let mut node = open(&pty.name(",115200,port=tap0")).unwrap();
                let told = node.describe();
                assert_eq!(told.node_type, "serial");
                assert_eq!(told.capabilities.layers, [Layer::Ethernet]);
                assert!(told.setup["serial_line"].ends_with(", 115200 Bd"));
                for direction in [
                    Direction::Transmit,
                    Direction::Receive,
                    Direction::Both,
                    Direction::Echo,
                ] {
                    let observation = node.run(&trial(direction), &(), &Cancel::new()).unwrap();
                    assert_eq!(observation.status, Status::Complete, "{observation:#?}");
                    for flow in &observation.flows {
                        assert_eq!(
                            flow.sent_frames.value(),
                            Some(&100),
                            "{direction} {lost}: {flow:#?}"
                        );
                        assert_eq!(
                            flow.loss_ratio.value(),
                            Some(&0.0),
                            "{direction} {lost}: {flow:#?}"
                        );
                    }
                }
                let stack = Trial {
                    framing: wirelab_trial::Framing {
                        layer: Layer::UdpIpv4,
                        vlan_tags: 0,
                    },
                    ..trial(Direction::Receive)
                };
                let refused = node.run(&stack, &(), &Cancel::new()).unwrap_err();
                assert!(
                    refused.to_string().contains("use --layer ethernet"),
                    "{refused}"
                );
            })
            .unwrap();
    }
}

#[test]
fn what_the_board_sends_is_captured() {
    let Some((board, uart)) = board() else { return };
    let pty = Pty::before(UnixStream::connect(&uart).unwrap(), 0);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seen.pcapng");
    let namespace = board.namespace().unwrap().unwrap();
    let frames = namespace
        .run_in(|| {
            let mut node = open(&pty.name(",port=tap0")).unwrap();
            node.start_capture(&file).unwrap();
            let observation = node
                .run(&trial(Direction::Transmit), &(), &Cancel::new())
                .unwrap();
            assert_eq!(observation.status, Status::Complete);
            node.end_capture().unwrap()
        })
        .unwrap();
    assert!(frames.is_some_and(|frames| frames >= 100), "{frames:?}");
    let options = VerifyOptions {
        sent: Some(100),
        ..VerifyOptions::default()
    };
    let report = verify(&file, &options).unwrap();
    assert!(report.is_clean(), "{report:#?}");
    assert_eq!(report.test_frames(), 100);
}

#[test]
fn without_a_port_or_an_answer_the_fix_is_named() {
    let Some((board, uart)) = board() else { return };
    let pty = Pty::before(UnixStream::connect(&uart).unwrap(), 0);
    let mut node = open(&pty.name("")).unwrap();
    let refused = node
        .run(&trial(Direction::Transmit), &(), &Cancel::new())
        .unwrap_err();
    assert!(matches!(refused, NodeError::Unsupported(_)), "{refused:?}");
    assert!(refused.to_string().contains("e.g. ,port=eth1"), "{refused}");
    assert!(
        node.start_capture(std::path::Path::new("x.pcapng"))
            .is_err()
    );
    drop((node, pty, board));
    let (silent, _kept) = UnixStream::pair().unwrap();
    let pty = Pty::before(silent, 0);
    let told = open(&pty.name(",9600")).err().unwrap().to_string();
    assert!(
        told.contains("at 9600 Bd: ")
            && told.contains("fix: give the board firmware")
            && told.matches("fix:").count() == 1,
        "{told}"
    );
}
