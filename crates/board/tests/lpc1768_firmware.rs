//! The firmware of the LPC1768, as it would be flashed, on the emulated board: every kind of buffers with every number of
//! descriptors, what its copy loop costs, receiving as a share of its own transmit, and what the wire does to it.

use std::path::PathBuf;

use crate::common;
use wirelab_board::catalogue;
use wirelab_board::image::installed;
use wirelab_board::lpc1768::{ImageChoice, Lpc1768Node, Lpc1768Options};
use wirelab_control::line::crc16;
use wirelab_emulator::emac::Arrival;
use wirelab_emulator::lpc1768::Lpc1768;
use wirelab_trial::{
    Buffers, Cancel, Direction, Extent, Field, FlowObservation, Framing, Layer, Load, Node,
    Observation, Status, Trial, images,
};
use wirelab_wire::{Size, SizeUnit};

/// Ticks of the node's clock: 10 ns, a core clock.
const WIRE_TICKS: u64 = 1538 * 8;
const FRAMES: u64 = 50;

fn image(name: &str) -> Option<PathBuf> {
    let board = catalogue::find("lpc1768").unwrap();
    if let Err(error) = installed(board, board.images[0]) {
        common::skip("firmware", &error.to_string());
        return None;
    }
    let found = images::installed(name);
    Some(found.unwrap_or_else(|_| panic!("{name} is not beside {}", board.images[0])))
}

fn node(name: &str, descriptors: Option<u16>) -> Option<Lpc1768Node> {
    let options = Lpc1768Options {
        image: ImageChoice::File(image(name)?),
        descriptors,
        ..Lpc1768Options::default()
    };
    Some(Lpc1768Node::start("board:lpc1768", &options).unwrap())
}

fn trial(direction: Direction, buffers: Option<Buffers>, length: u32, frames: u64) -> Trial {
    Trial {
        buffers,
        ..Trial::new(
            Framing {
                layer: Layer::Ethernet,
                vlan_tags: 0,
            },
            direction,
            Size::new(SizeUnit::Length, length),
            Load::Max,
            Extent::Frames { frames },
        )
    }
}

fn run(node: &mut Lpc1768Node, trial: &Trial) -> Observation {
    let seen = node.run(trial, &(), &Cancel::new()).unwrap();
    assert_eq!(seen.status, Status::Complete, "{trial:?}");
    seen
}

fn transmit(node: &mut Lpc1768Node, buffers: Buffers) -> Observation {
    run(
        node,
        &trial(Direction::Transmit, Some(buffers), 1514, FRAMES),
    )
}

fn counter(seen: &Observation, name: &str) -> u64 {
    let field = seen.counters.get(&format!("node_{name}"));
    *field
        .and_then(Field::value)
        .unwrap_or_else(|| panic!("the node reports no {name}: {:?}", seen.counters))
}

fn flow(seen: &Observation) -> &FlowObservation {
    &seen.flows[0]
}

fn pin_ticks(seen: &Observation) -> u64 {
    flow(seen).elapsed.value().unwrap().ps / 10_000
}

fn within(one: u64, other: u64, ratio: f64) -> bool {
    (one as f64 / other as f64 - 1.0).abs() <= ratio
}

#[test]
fn every_kind_of_buffers_sends_right_frames_with_two_to_eight_descriptors() {
    for descriptors in 2..=8 {
        let Some(mut node) = node("lpc1768-ram.elf", Some(descriptors)) else {
            return;
        };
        for buffers in [
            Buffers::Prefilled,
            Buffers::Copied,
            Buffers::DmaCopied,
            Buffers::CopiedAhead,
            Buffers::InPlace,
        ] {
            for (length, frames) in [(1514, 12), (60, 30)] {
                let seen = run(
                    &mut node,
                    &trial(Direction::Transmit, Some(buffers), length, frames),
                );
                let counts = flow(&seen).counts.value().unwrap();
                assert_eq!(
                    counts.good_frames, frames,
                    "{buffers} of {length} with {descriptors}"
                );
                // Those that wait for each frame to leave never fill a ring.
                if matches!(buffers, Buffers::Copied | Buffers::DmaCopied) {
                    assert_eq!(counter(&seen, "ring_full_events"), 0);
                }
            }
        }
    }
}

#[test]
fn what_takes_the_time_is_reported_and_adds_up() {
    let Some(mut node) = node("lpc1768-ram.elf", None) else {
        return;
    };
    let prefilled = transmit(&mut node, Buffers::Prefilled);
    let copied = transmit(&mut node, Buffers::Copied);
    let dma = transmit(&mut node, Buffers::DmaCopied);
    let ahead = transmit(&mut node, Buffers::CopiedAhead);
    assert!(within(pin_ticks(&prefilled), FRAMES * WIRE_TICKS, 0.02));
    assert!(within(pin_ticks(&ahead), pin_ticks(&prefilled), 0.01));
    let parts = counter(&copied, "header_ticks") + counter(&copied, "copy_ticks");
    assert!(within(
        pin_ticks(&copied),
        pin_ticks(&prefilled) + parts,
        0.02
    ));
    // The header is built while the DMA copies.
    assert!(counter(&dma, "header_ticks") > 0);
    let parts = counter(&dma, "copy_ticks");
    assert!(within(pin_ticks(&dma), pin_ticks(&prefilled) + parts, 0.02));
    // What the CPU waits is what it does not build, copy and look after.
    for seen in [&prefilled, &copied, &dma, &ahead] {
        assert!(counter(seen, "wait_ticks") < pin_ticks(seen));
    }
    assert_eq!(
        counter(&prefilled, "copy_ticks") + counter(&prefilled, "header_ticks"),
        0
    );
}

#[test]
fn the_loop_of_the_image_decides_what_copied_takes() {
    let images = [
        "lpc1768-ram-words.elf",
        "lpc1768-ram.elf",
        "lpc1768-ram-pointer.elf",
    ];
    let mut took = Vec::new();
    for (name, word) in images.into_iter().zip(["words", "halfwords", "pointer"]) {
        let Some(mut node) = node(name, None) else {
            return;
        };
        let copy = node.describe().setup["copy"].clone();
        assert!(
            copy.split(',').take(2).any(|part| part.contains(word)),
            "{copy}"
        );
        let seen = transmit(&mut node, Buffers::Copied);
        took.push((counter(&seen, "copy_ticks"), pin_ticks(&seen)));
    }
    assert!(
        took.windows(2)
            .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1),
        "{took:?}"
    );
    // Half as many passes of a loop that is the same but for its width.
    assert!(within(2 * took[0].0, took[1].0, 0.05), "{took:?}");
}

#[test]
fn a_reception_is_a_share_of_the_own_transmit() {
    let Some(mut node) = node("lpc1768-ram.elf", None) else {
        return;
    };
    transmit(&mut node, Buffers::Prefilled);
    let seen = run(&mut node, &trial(Direction::Receive, None, 1514, FRAMES));
    assert_eq!(flow(&seen).counts.value().unwrap().good_frames, FRAMES);
    assert!(within(
        counter(&seen, "own_transmit_share_ppm"),
        1_000_000,
        0.005
    ));
    // Of frames of another length it is not a share.
    let seen = run(&mut node, &trial(Direction::Receive, None, 1000, 20));
    assert!(!seen.counters.contains_key("node_own_transmit_share_ppm"));
}

/// Runts, frames with a wrong FCS, oversize ones and one for another host, from `start_ps` on.
fn rubbish(start_ps: u64) -> Vec<Arrival> {
    let frame = |to: u8, length: usize| {
        let mut bytes = vec![0x5A; length];
        bytes[..6].copy_from_slice(&[2, 0, 0x0A, 0x37, 0, to]);
        bytes[12..14].copy_from_slice(&[0x88, 0xB5]);
        bytes
    };
    let mut all = Vec::new();
    for (n, length) in [60, 100, 1514, 1519, 1600, 2000, 4000, 9000]
        .into_iter()
        .enumerate()
    {
        let at_ps = start_ps + 2 * n as u64 * 1_000_000_000;
        all.push(Arrival::good(at_ps, &frame(0x12, length)));
        let mut wrong = Arrival::good(at_ps + 1_000_000_000, &frame(0x12, length));
        wrong.bytes[30] ^= 4;
        all.push(wrong);
    }
    let mut runt = Arrival::good(start_ps + 20_000_000_000, &frame(0x12, 60));
    runt.bytes.truncate(40);
    all.push(runt);
    all.push(Arrival::good(start_ps + 21_000_000_000, &frame(0x99, 200)));
    all
}

#[test]
fn rubbish_on_the_wire_does_not_disturb_it() {
    let Some(mut node) = node("lpc1768-ram.elf", None) else {
        return;
    };
    // While it sleeps.
    let now_ps = node.board().time_ps();
    for arrival in rubbish(now_ps) {
        node.board().arrive(arrival).unwrap();
    }
    let seen = run(
        &mut node,
        &trial(Direction::Transmit, Some(Buffers::CopiedAhead), 1514, 400),
    );
    assert_eq!(flow(&seen).counts.value().unwrap().good_frames, 400);
    let seen = run(&mut node, &trial(Direction::Receive, None, 1514, FRAMES));
    assert_eq!(flow(&seen).counts.value().unwrap().good_frames, FRAMES);
    // While it sends: some 60 ms later it is at it.
    let now_ps = node.board().time_ps();
    for arrival in rubbish(now_ps + 60_000_000_000) {
        node.board().arrive(arrival).unwrap();
    }
    let seen = run(
        &mut node,
        &trial(Direction::Transmit, Some(Buffers::Copied), 1514, 400),
    );
    assert_eq!(flow(&seen).counts.value().unwrap().good_frames, 400);
    assert!(node.board().received().bad > 0);
}

/// A request by hand, and its answer: requests that `Node` sends only between trials can be sent, and the cable pulled, during
/// one.
fn ask(board: &mut Lpc1768, request: &str) -> String {
    let line = format!("{request} *{:04X}\n", crc16(request.as_bytes()));
    assert_eq!(board.send_serial(line.as_bytes()), line.len());
    let mut heard = String::new();
    for _ in 0..500 {
        let until = board.cycle() + 100_000;
        board.run_until(until).unwrap();
        heard.push_str(&String::from_utf8(board.take_serial()).unwrap());
        if heard.ends_with('\n') && heard.contains(&request[1..12]) {
            return heard;
        }
    }
    panic!("no answer to {request}: {heard}");
}

#[test]
fn a_link_that_goes_down_meanwhile_fails_the_trial() {
    let Some(path) = image("lpc1768-ram.elf") else {
        return;
    };
    let mut board = Lpc1768::new();
    board.load(&std::fs::read(path).unwrap()).unwrap();
    // It says that it is up.
    board.run_until(10_000_000).unwrap();
    assert!(board.take_serial().starts_with(b"READY "));
    let hello = ask(&mut board, "?0.1234567890 hello version=1");
    let session = hello.split("session=").nth(1).unwrap();
    let session = session.split(' ').next().unwrap().to_owned();
    let start = "start direction=transmit layer=ethernet length_bytes=1514 load=max peer_mac=02:00:00:00:00:01";
    for (number, pulled) in [(1, false), (2, true), (3, false)] {
        let started = ask(
            &mut board,
            &format!(
                "?{session}.{} {start} frames=400 buffers=copied",
                2 * number
            ),
        );
        assert!(started.contains(&format!(" trial={number} ")), "{started}");
        // The trial takes some 70 ms.
        for plugged in [!pulled, true] {
            let now = board.cycle();
            board.emac(|emac| emac.phy().set_cable(plugged, now));
            board.run_until(now + 2_000_000).unwrap();
        }
        let now = board.cycle();
        board.run_until(now + 10_000_000).unwrap();
        let status = ask(&mut board, &format!("?{session}.{} status", 2 * number + 1));
        let (state, told) = match pulled {
            true => ("state=failed", "link%20went%20down"),
            false => ("state=done", "tx_frames=400"),
        };
        assert!(status.contains(state) && status.contains(told), "{status}");
    }
}
